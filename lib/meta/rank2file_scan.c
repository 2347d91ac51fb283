/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_scan.c - read parts of a rank2file: without a tree, in one pass:
 * the map of a packed dataset has a dozen keys per file, and millions of files.
 * Unwanted files are skipped.
 *
 * Only the plain form is accepted.  For anything else (an unknown key, a
 * duplicate key or file, another number format, a count beyond the image) the
 * caller builds a tree, which also reports errors.
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
#include "str.h"

/* Up to this many paths of a rank are compared pairwise; above, use a map. */
#define PATHS_FEW 16

#define SEGS_MAX (1u << 20)

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
	if (n == 0 || n > SEGS_MAX || n > kvstream_left(s->from) / 40)
		in->irregular = true;
	segs = in->irregular ? NULL : alloc(s, n, sizeof(*segs));
	if (segs == NULL)
		return;
	for (uint32_t i = 0; i < n && !in->irregular; i++) {
		struct rank2file_seg *to = NULL;
		uint64_t number = 0;
		unsigned seen = 0;

		kvstream_more(s->from);
		number = kvscan_number(in);
		if (kvscan_count(in) != 3 || number >= n)
			in->irregular = true;
		if (in->irregular)
			break;
		to = &segs[number];
		if (to->file != NULL)
			in->irregular = true;
		for (int k = 0; k < 3 && !in->irregular; k++) {
			if (KVSCAN_ONE(in, "FILE")) {
				to->file = container(s);
				seen |= 1;
			} else if (KVSCAN_ONE(in, "OFFSET")) {
				to->off = kvscan_u64(in);
				seen |= 2;
			} else if (KVSCAN_ONE(in, "LENGTH")) {
				to->len = kvscan_u64(in);
				seen |= 4;
			} else {
				in->irregular = true;
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

	for (uint32_t i = 0; i < n && !in->irregular; i++) {
		kvstream_more(s->from);
		if (!f->has_size && KVSCAN_ONE(in, "SIZE")) {
			f->has_size = true;
			f->size = kvscan_u64(in);
		} else if (!f->has_crc && KVSCAN_ONE(in, "CRC")) {
			f->has_crc = true;
			f->crc = kvscan_crc(in);
		} else if (f->nsegs == 0 && KVSCAN_KEY(in, "SEG")) {
			scan_segs(s, f);
		} else {
			in->irregular = true;
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
	if (n == 0 || n > kvstream_left(s->from) / 6)
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
				in->irregular = true;
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
			in->irregular = true;
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

/* --- As a tree --- */

int
rank2file_read_file(const struct kvtree *k, struct arena *arena,
		    struct rank2file_file *f, struct error *err)
{
	const struct kvtree *size = kvtree_get(k, "SIZE");
	const struct kvtree *crc = kvtree_get(k, "CRC");
	const struct kvtree *table = kvtree_get(k, "SEG"), *seg = NULL;
	const size_t count = table == NULL ? 0 : kvtree_count(table);
	struct rank2file_seg *segs = NULL;

	*f = (struct rank2file_file){ .node = k };
	f->path = kvtree_key(k);
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

/* Read child `k` of RANK: one rank and its files. */
static int
read_rank(struct rank2file *out, const struct kvtree *k, struct error *err)
{
	const struct kvtree *count = kvtree_get(k, "FILES"), *f = NULL;
	const struct kvtree *list = kvtree_get(k, "FILE");
	const size_t have = list == NULL ? 0 : kvtree_count(list);
	struct rank2file_rank *r = NULL;
	uint64_t n = 0;

	if (!value_number(kvtree_key(k), RANK2FILE_MAX_RANKS, &n) ||
	    n >= out->nranks)
		return value_bad(err, kvtree_key(k), "no rank of the job");
	r = &out->ranks[n];
	if (r->present)
		return value_bad(err, kvtree_key(k), "rank in two parts");
	r->present = true;
	if (count != NULL && value_u64(count, INT64_MAX, &n, err) < 0)
		return -1;
	if (count != NULL && n < have)
		return value_bad(err, "FILES", "less than the files listed");
	r->expected = count != NULL ? n : have;
	if (have == 0)
		return 0;
	r->files = arena_alloc(out->arena, have, sizeof(*r->files));
	if (r->files == NULL)
		return error_no_memory(err);
	kvtree_foreach (f, list)
		if (rank2file_read_file(f, out->arena, &r->files[r->nfiles++],
					err) < 0)
			return -1;
	return 0;
}

/* RANKS is that of the job, or that of the part if LLNL's scr_index wrote
 * it. */
int
rank2file_read_part(struct rank2file *out, const struct kvtree *part,
		    uint64_t *said, struct error *err)
{
	const struct kvtree *ranks = kvtree_get(part, "RANKS"), *k = NULL;

	*said = 0;
	if (ranks != NULL && value_u64(ranks, out->nranks, said, err) < 0)
		return -1;
	kvtree_foreach (k, kvtree_get(part, "RANK"))
		if (read_rank(out, k, err) < 0)
			return error_wrap(err, "rank %s",
					  str_quoted(kvtree_key(k)));
	return 0;
}
