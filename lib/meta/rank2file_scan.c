/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_scan.c - read parts of a rank2file: without a tree, in one pass:
 * the map of a packed dataset has a dozen keys per file, and millions of files.
 * Unwanted files are skipped.
 *
 * Only the form of all known writers is accepted: anything else (a duplicate
 * key or file, another number format, a count beyond the image) is damage.
 * Unknown keys are skipped, and lists may be empty.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "kvtree/kvstream.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "map.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"

/* Up to this many paths of a rank are compared pairwise; above, use a map. */
#define PATHS_FEW 16

#define SEGS_MAX (1u << 20)

/* How far below the root are the keys of what. */
enum { LEVEL_TOP = 1, LEVEL_RANK = 3, LEVEL_FILE = 5, LEVEL_SEG = 7 };

struct scan {
	struct kvstream *from;
	struct kvscan *in; /* of `from` */
	const struct rank2file_reader *to;
	/* The last container's name, including its NUL.  The next segment
	 * almost always has the same name. */
	const char *name;
	size_t name_size;
	bool failed;	 /* no memory, or to->take() failed */
	bool seen;	 /* RANK, which comes once */
	uint32_t *ranks; /* set so far, to be reset on failure */
	size_t nranks;
};

static void *
alloc(struct scan *s, size_t count, size_t size)
{
	void *p = arena_alloc(s->to->arena, count, size);

	if (p == NULL)
		s->failed = s->in->irregular = true;
	return p;
}

/* Copy the last key, `text`, if it is in a window, which does not last. */
static const char *
keep(struct scan *s, const char *text)
{
	if (s->from->fd < 0)
		return text;
	text = arena_strndup(s->to->arena, text, s->in->len);
	if (text == NULL)
		s->failed = s->in->irregular = true;
	return text;
}

/* Skip a key that is `level` levels below the root, with everything below it,
 * but none of those that come once. */
static void
skip_unknown(struct scan *s, size_t level)
{
	static const char *const known[][4] = {
		[LEVEL_TOP] = { "RANKS", "LEVEL", "RANK" },
		[LEVEL_RANK] = { "FILES", "FILE" },
		[LEVEL_FILE] = { "SIZE", "CRC", "SEG" },
		[LEVEL_SEG] = { "FILE", "OFFSET", "LENGTH" },
	};
	struct kvscan *in = s->in;
	const char *key = kvscan_key(in);
	/* Keys that are still to come, by the level above them. */
	uint32_t left[KVTREE_MAX_DEPTH];
	size_t at = level;

	for (const char *const *k = known[level]; *k != NULL; k++)
		if (strcmp(key, *k) == 0)
			in->irregular = true;
	left[at] = kvscan_count(in);
	while (at >= level && !in->irregular) {
		uint32_t n = 0;

		if (left[at] == 0) {
			at--;
			continue;
		}
		left[at]--;
		kvstream_more(s->from);
		kvscan_key(in);
		n = kvscan_count(in);
		if (n == 0)
			continue;
		/* No deeper than kvtree_decode() reads. */
		if (++at == KVTREE_MAX_DEPTH)
			in->irregular = true;
		else
			left[at] = n;
	}
}

static const char *
container(struct scan *s)
{
	if (s->name_size > 0 && kvscan_takes(s->in, s->name, s->name_size)) {
		kvscan_leaf(s->in);
		return s->name;
	}
	s->name = keep(s, kvscan_text(s->in));
	s->name_size = s->in->len + 1;
	return s->name;
}

static void
scan_segs(struct scan *s, struct rank2file_file *f)
{
	struct kvscan *in = s->in;
	const uint32_t n = kvscan_count(in);
	struct rank2file_seg *segs = NULL;

	/* The smallest segment has 40 bytes. */
	if (n > SEGS_MAX || n > kvstream_left(s->from) / 40)
		in->irregular = true;
	segs = in->irregular || n == 0 ? NULL : alloc(s, n, sizeof(*segs));
	if (segs == NULL)
		return;
	for (uint32_t i = 0; i < n && !in->irregular; i++) {
		struct rank2file_seg *to = NULL;
		uint64_t number = 0;
		uint32_t keys = 0;
		unsigned seen = 0;

		kvstream_more(s->from);
		number = kvscan_number(in);
		keys = kvscan_count(in);
		if (number >= n)
			in->irregular = true;
		if (in->irregular)
			break;
		to = &segs[number];
		if (to->file != NULL)
			in->irregular = true;
		for (uint32_t k = 0; k < keys && !in->irregular; k++) {
			kvstream_more(s->from);
			if (!(seen & 1) && KVSCAN_ONE(in, "FILE")) {
				to->file = container(s);
				seen |= 1;
			} else if (!(seen & 2) && KVSCAN_ONE(in, "OFFSET")) {
				to->off = kvscan_u64(in);
				seen |= 2;
			} else if (!(seen & 4) && KVSCAN_ONE(in, "LENGTH")) {
				to->len = kvscan_u64(in);
				seen |= 4;
			} else {
				skip_unknown(s, LEVEL_SEG);
			}
		}
		if (seen != 7)
			in->irregular = true;
	}
	f->segs = segs;
	f->nsegs = n;
}

static void
scan_file(struct scan *s, struct rank2file_file *f)
{
	struct kvscan *in = s->in;
	uint32_t n = kvscan_count(in);
	bool segs = false;

	for (uint32_t i = 0; i < n && !in->irregular; i++) {
		kvstream_more(s->from);
		if (!f->has_size && KVSCAN_ONE(in, "SIZE")) {
			f->has_size = true;
			f->size = kvscan_u64(in);
		} else if (!f->has_crc && KVSCAN_ONE(in, "CRC")) {
			f->has_crc = true;
			f->crc = kvscan_crc(in);
		} else if (!segs && KVSCAN_KEY(in, "SEG")) {
			segs = true;
			scan_segs(s, f);
		} else {
			skip_unknown(s, LEVEL_FILE);
		}
	}
}

int
rank2file_distinct(const struct rank2file_rank *r)
{
	struct map *seen = NULL;
	int distinct = 1;

	if (r->nfiles <= PATHS_FEW) {
		for (size_t i = 0; i < r->nfiles; i++)
			for (size_t k = 0; k < i; k++)
				if (strcmp(r->files[k].path,
					   r->files[i].path) == 0)
					return 0;
		return 1;
	}
	seen = map_new();
	if (seen == NULL)
		return -1;
	for (size_t i = 0; i < r->nfiles && distinct == 1; i++) {
		if (map_put(seen, r->files[i].path, i) < 0)
			distinct = -1;
		else if (map_count(seen) != i + 1)
			distinct = 0;
	}
	map_free(seen);
	return distinct;
}

static void
scan_files(struct scan *s, struct rank2file_rank *r)
{
	const struct rank2file_filter *wanted = s->to->wanted;
	struct kvscan *in = s->in;
	uint32_t n = kvscan_count(in);
	size_t room = wanted == NULL ? n : 0;
	struct rank2file_file *more = NULL;
	int distinct = 0;

	/* The smallest file entry has six bytes. */
	if (n > kvstream_left(s->from) / 6)
		in->irregular = true;
	r->files = in->irregular || room == 0
			   ? NULL
			   : alloc(s, room, sizeof(*r->files));
	for (uint32_t i = 0; i < n && !in->irregular; i++) {
		const char *path = NULL;

		kvstream_more(s->from);
		path = kvscan_key(in);
		if (wanted != NULL && !wanted->wants(wanted->arg, path)) {
			kvstream_skip(s->from);
			continue;
		}
		if (r->nfiles == room) {
			room = 2 * room + 1;
			more = alloc(s, room, sizeof(*more));
			if (more == NULL)
				break;
			if (r->nfiles > 0)
				memcpy(more, r->files,
				       r->nfiles * sizeof(*more));
			r->files = more;
		}
		r->files[r->nfiles] = (struct rank2file_file){
			.path = keep(s, path),
		};
		scan_file(s, &r->files[r->nfiles++]);
	}
	distinct = in->irregular ? 1 : rank2file_distinct(r);
	s->failed = s->failed || distinct < 0;
	in->irregular = in->irregular || distinct != 1;
}

static void
scan_ranks(struct scan *s)
{
	const struct rank2file_reader *to = s->to;
	struct kvscan *in = s->in;
	const uint32_t count = kvscan_count(in);

	/* The smallest rank has a digit, NUL and a count. */
	if (count > kvstream_left(s->from) / 6 || count > to->out->nranks)
		in->irregular = true;
	s->seen = true;
	if (!in->irregular && to->take == NULL)
		s->ranks = alloc(s, count + 1, sizeof(*s->ranks));
	for (uint32_t k = 0; k < count && !in->irregular; k++) {
		struct rank2file_rank one = { .present = false }, *r = &one;
		bool counted = false, listed = false;
		uint64_t number = 0, files = 0;
		uint32_t n = 0;

		kvstream_more(s->from);
		number = kvscan_number(in);
		n = kvscan_count(in);
		if (in->irregular || number >= to->out->nranks ||
		    atomic_exchange(&to->claimed[number], 1) != 0) {
			in->irregular = true;
			break;
		}
		if (s->ranks != NULL) { /* no `take` */
			r = &to->out->ranks[number];
			s->ranks[s->nranks++] = (uint32_t)number;
		}
		r->present = true;
		for (uint32_t i = 0; i < n && !in->irregular; i++) {
			kvstream_more(s->from);
			if (!counted && KVSCAN_ONE(in, "FILES")) {
				counted = true;
				files = kvscan_u64(in);
			} else if (!listed && KVSCAN_KEY(in, "FILE")) {
				listed = true;
				scan_files(s, r);
			} else {
				skip_unknown(s, LEVEL_RANK);
			}
		}
		if (counted && files < r->nfiles)
			in->irregular = true;
		r->expected = counted ? files : r->nfiles;
		if (to->take == NULL || in->irregular)
			continue;
		if (to->take(to->arg, (size_t)number, r) < 0)
			s->failed = in->irregular = true;
		arena_reset(to->arena);
		s->name_size = 0;
	}
}

int
rank2file_scan(const struct rank2file_reader *to, struct kvstream *from,
	       uint64_t *said)
{
	struct kvscan *in = &from->in;
	struct scan s = { .from = from, .in = in, .to = to };

	struct rank2file_rank *all = to->out->ranks;
	bool ranks = false, level = false;
	uint32_t n = kvscan_count(in);

	*said = 0;
	for (uint32_t i = 0; i < n && !in->irregular; i++) {
		kvstream_more(from);
		if (!ranks && KVSCAN_ONE(in, "RANKS")) {
			ranks = true;
			*said = kvscan_u64(in);
			if (*said > to->out->nranks)
				in->irregular = true;
		} else if (!level && KVSCAN_ONE(in, "LEVEL")) {
			level = true;
			if (kvscan_u64(in) != 0)
				in->irregular = true;
		} else if (!s.seen && KVSCAN_KEY(in, "RANK")) {
			scan_ranks(&s);
		} else {
			skip_unknown(&s, LEVEL_TOP);
		}
	}
	if (!level)
		in->irregular = true;
	if (kvstream_good(from))
		return 0;
	for (size_t i = 0; i < s.nranks; i++) {
		memset(&all[s.ranks[i]], 0, sizeof(*all));
		to->claimed[s.ranks[i]] = 0;
	}
	return s.failed ? -1 : 1;
}

/* --- The entry of a file as a tree --- */

int
rank2file_read_file(const struct kvtree *k, struct arena *arena,
		    struct rank2file_file *f, struct error *err)
{
	const struct kvtree *size = kvtree_get(k, "SIZE");
	const struct kvtree *crc = kvtree_get(k, "CRC");
	const struct kvtree *table = kvtree_get(k, "SEG"), *seg = NULL;
	const size_t count = table == NULL ? 0 : kvtree_count(table);
	struct rank2file_seg *segs = NULL;

	*f = (struct rank2file_file){ .path = kvtree_key(k) };
	f->has_size = size != NULL;
	f->has_crc = crc != NULL;
	if ((size != NULL && value_u64(size, INT64_MAX, &f->size, err) < 0) ||
	    (crc != NULL && value_u32(crc, UINT32_MAX, &f->crc, err) < 0))
		return -1;
	if (count == 0)
		return 0;
	/* The segments are numbered from 0 without gaps. */
	segs = arena_alloc(arena, count, sizeof(*segs));
	if (segs == NULL)
		return error_no_memory(err);
	kvtree_foreach (seg, table) {
		const struct kvtree *v = NULL;
		unsigned seen = 0;
		uint64_t n = 0;
		int rc = 0;

		if (!value_number(kvtree_key(seg), count - 1, &n))
			return value_bad(err, kvtree_key(seg),
					 "no number of a segment");
		kvtree_foreach (v, seg) {
			const char *key = kvtree_key(v);

			if (strcmp(key, "FILE") == 0 && ++seen)
				rc = value_str(v, &segs[n].file, err);
			else if (strcmp(key, "OFFSET") == 0 && ++seen)
				rc = value_u64(v, INT64_MAX, &segs[n].off, err);
			else if (strcmp(key, "LENGTH") == 0 && ++seen)
				rc = value_u64(v, INT64_MAX, &segs[n].len, err);
			if (rc < 0)
				return -1;
		}
		if (seen != 3)
			return value_bad(err, "SEG", "incomplete");
	}
	f->segs = segs;
	f->nsegs = count;
	return 0;
}
