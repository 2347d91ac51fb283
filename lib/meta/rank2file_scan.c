/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_scan.c - parts of a rank2file read without a tree, in one pass:
 * the map of a packed dataset has a dozen keys for each file, and millions of
 * files.
 *
 * It only knows what is plain.  Whatever else there is (an unknown key, a key
 * or file twice, a number in another form, a count that leaves the image) is
 * left to the reader that makes a tree of it, which also has the messages.
 */
#include <endian.h>
#include <stdatomic.h>
#include <string.h>

#include "arena.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"

/* Paths of a rank are compared each with each: more are left to the tree. */
#define FILES_MAX 64

#define SEGS_MAX (1u << 20)

struct scan {
	const unsigned char *p, *end;
	struct rank2file *out;
	struct arena *arena;
	_Atomic unsigned char *claimed;
	size_t len; /* of the key read last */
	bool odd, no_memory;
};

/* What was set on the way, to be taken back. */
struct undo {
	uint32_t *ranks;
	size_t count;
};

static uint32_t
count(struct scan *s)
{
	const unsigned char *p = s->p;

	if (s->end - p < 4) {
		s->odd = true;
		return 0;
	}
	s->p += 4;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/*
 * The next key; s->len: its length.  Nearly all are shorter than eight bytes,
 * which is seen at once: a byte of `zero` has its highest bit set where (and,
 * up to the first such, only where) that of `word` is 0.
 */
static const char *
key(struct scan *s)
{
	const unsigned char *p = s->p, *nul = NULL;
	uint64_t word = 0, zero = 0;

	if (s->end - p >= 8) {
		memcpy(&word, p, 8);
		word = le64toh(word);
		zero = (word - 0x0101010101010101u) & ~word &
		       0x8080808080808080u;
		if (zero != 0)
			nul = p + __builtin_ctzll(zero) / 8;
	}
	if (nul == NULL)
		nul = memchr(p, 0, (size_t)(s->end - p));
	if (nul == NULL) {
		s->odd = true;
		s->len = 0;
		return "";
	}
	s->len = (size_t)(nul - p);
	s->p = nul + 1;
	return (const char *)p;
}

/* Is key `k`, just read, that word? */
#define IS(s, k, word) \
	((s)->len == sizeof(word) - 1 && \
	 memcmp((k), (word), sizeof(word) - 1) == 0)

/* A decimal number as it is written: no sign, no leading zero. */
static uint64_t
decimal(struct scan *s, const char *text)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; text[i] >= '0' && text[i] <= '9' && i < 18; i++)
		n = n * 10 + (uint64_t)(text[i] - '0');
	if (i == 0 || text[i] != '\0' || (text[0] == '0' && i > 1))
		s->odd = true;
	return n;
}

/* "0x1f" of at most 32 bits, or "0": how a CRC is written. */
static uint32_t
hexadecimal(struct scan *s, const char *text)
{
	uint32_t n = 0;
	size_t i = 2;

	if (text[0] == '0' && text[1] == '\0')
		return 0;
	if (text[0] != '0' || text[1] != 'x') {
		s->odd = true;
		return 0;
	}
	for (; i < 10; i++) {
		char c = text[i];

		if (c >= '0' && c <= '9')
			n = n << 4 | (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uint32_t)(c - 'a' + 10);
		else
			break;
	}
	if (i == 2 || text[i] != '\0')
		s->odd = true;
	return n;
}

/* The one value of a key. */
static const char *
value(struct scan *s)
{
	const char *v = NULL;

	if (count(s) != 1) {
		s->odd = true;
		return "";
	}
	v = key(s);
	if (count(s) != 0)
		s->odd = true;
	return v;
}

static void
scan_seg(struct scan *s, struct rank2file_seg *segs, uint32_t nsegs)
{
	uint64_t number = decimal(s, key(s));
	struct rank2file_seg *to = NULL;
	unsigned seen = 0;

	if (count(s) != 3 || number >= nsegs)
		s->odd = true;
	if (s->odd)
		return;
	to = &segs[number];
	if (to->file != NULL)
		s->odd = true;
	for (int i = 0; i < 3 && !s->odd; i++) {
		const char *k = key(s);

		if (IS(s, k, "FILE")) {
			to->file = value(s);
			seen |= 1;
		} else if (IS(s, k, "OFFSET")) {
			to->off = decimal(s, value(s));
			seen |= 2;
		} else if (IS(s, k, "LENGTH")) {
			to->len = decimal(s, value(s));
			seen |= 4;
		}
	}
	if (seen != 7)
		s->odd = true;
}

static void
scan_segs(struct scan *s, struct rank2file_file *f)
{
	uint32_t n = count(s);
	struct rank2file_seg *segs = NULL;

	/* Each has 40 bytes at least. */
	if (n == 0 || n > SEGS_MAX || n > (size_t)(s->end - s->p) / 40)
		s->odd = true;
	if (s->odd)
		return;
	segs = arena_alloc(s->arena, n, sizeof(*segs));
	if (segs == NULL) {
		s->no_memory = s->odd = true;
		return;
	}
	memset(segs, 0, n * sizeof(*segs));
	for (uint32_t i = 0; i < n && !s->odd; i++)
		scan_seg(s, segs, n);
	f->segs = segs;
	f->nsegs = n;
}

static void
scan_file(struct scan *s, struct rank2file_file *f)
{
	uint32_t n = 0;

	*f = (struct rank2file_file){ .path = key(s) };
	n = count(s);
	for (uint32_t i = 0; i < n && !s->odd; i++) {
		const char *k = key(s);

		if (!f->has_size && IS(s, k, "SIZE")) {
			f->has_size = true;
			f->size = decimal(s, value(s));
		} else if (!f->has_crc && IS(s, k, "CRC")) {
			f->has_crc = true;
			f->crc = hexadecimal(s, value(s));
		} else if (f->nsegs == 0 && IS(s, k, "SEG")) {
			scan_segs(s, f);
		} else {
			s->odd = true;
		}
	}
}

static void
scan_files(struct scan *s, struct rank2file_rank *r)
{
	uint32_t n = count(s);

	if (n == 0 || n > FILES_MAX)
		s->odd = true;
	if (s->odd)
		return;
	r->files = arena_alloc(s->arena, n, sizeof(*r->files));
	if (r->files == NULL) {
		s->no_memory = s->odd = true;
		return;
	}
	for (; r->nfiles < n && !s->odd; r->nfiles++) {
		scan_file(s, &r->files[r->nfiles]);
		for (size_t i = 0; i < r->nfiles; i++)
			if (strcmp(r->files[i].path,
				   r->files[r->nfiles].path) == 0)
				s->odd = true;
	}
}

static void
scan_rank(struct scan *s, struct undo *undo)
{
	uint64_t number = decimal(s, key(s)), files = 0;
	struct rank2file_rank *r = NULL;
	bool counted = false;
	uint32_t n = count(s);

	if (s->odd || number >= s->out->nranks ||
	    atomic_exchange(&s->claimed[number], 1) != 0) {
		s->odd = true;
		return;
	}
	r = &s->out->ranks[number];
	r->present = true;
	undo->ranks[undo->count++] = (uint32_t)number;
	for (uint32_t i = 0; i < n && !s->odd; i++) {
		const char *k = key(s);

		if (!counted && IS(s, k, "FILES")) {
			counted = true;
			files = decimal(s, value(s));
		} else if (r->files == NULL && IS(s, k, "FILE")) {
			scan_files(s, r);
		} else {
			s->odd = true;
		}
	}
	if (counted && files < r->nfiles)
		s->odd = true;
	r->expected = counted ? files : r->nfiles;
}

/* Each rank has at least a digit, NUL and a count. */
static void
scan_ranks(struct scan *s, struct undo *undo)
{
	uint32_t n = count(s);

	if (n > (size_t)(s->end - s->p) / 6 || n > s->out->nranks)
		s->odd = true;
	if (s->odd)
		return;
	undo->ranks = arena_alloc(s->arena, n + 1, sizeof(*undo->ranks));
	if (undo->ranks == NULL) {
		s->no_memory = s->odd = true;
		return;
	}
	for (uint32_t i = 0; i < n && !s->odd; i++)
		scan_rank(s, undo);
}

static void
scan_part(struct scan *s, struct undo *undo)
{
	bool ranks = false, level = false;
	uint32_t n = count(s);

	for (uint32_t i = 0; i < n && !s->odd; i++) {
		const char *k = key(s);

		if (!ranks && IS(s, k, "RANKS")) {
			ranks = true;
			if (decimal(s, value(s)) > s->out->nranks)
				s->odd = true;
		} else if (!level && IS(s, k, "LEVEL")) {
			level = true;
			if (decimal(s, value(s)) != 0)
				s->odd = true;
		} else if (undo->ranks == NULL && IS(s, k, "RANK")) {
			scan_ranks(s, undo);
		} else {
			s->odd = true;
		}
	}
	if (!level || s->p != s->end)
		s->odd = true;
}

int
rank2file_scan(struct rank2file *out, struct arena *arena,
	       _Atomic unsigned char *claimed, const char *body, size_t len)
{
	struct scan s = {
		.p = (const unsigned char *)body,
		.end = (const unsigned char *)body + len,
		.out = out,
		.arena = arena,
		.claimed = claimed,
	};
	struct undo undo = { .count = 0 };

	scan_part(&s, &undo);
	if (!s.odd)
		return 0;
	for (size_t i = 0; i < undo.count; i++)
		memset(&out->ranks[undo.ranks[i]], 0, sizeof(*out->ranks));
	for (size_t i = 0; i < undo.count; i++)
		claimed[undo.ranks[i]] = 0;
	return s.no_memory ? -1 : 1;
}
