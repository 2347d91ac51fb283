/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_view.c - convert the tree of a part to ranks, files and segments;
 * restore one of which both copies are lost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"
#include "str.h"

/* --- A part, from the same tables in packed.N.scr --- */

/* Read file `name`, which must be sound, and have the checksum in `list`. */
static struct kvtree *
read_sound(int dirfd, const char *file, const char *name,
	   const struct kvtree *list)
{
	struct buf raw = BUF_INIT;
	struct kvtree *t = NULL;

	if (io_read_file(dirfd, file, KVTREE_MAX_ENCODED, &raw, NULL) == 0 &&
	    (list == NULL ||
	     rank2file_has_sum(kvtree_get(list, name), raw.data, raw.len)))
		t = kvtree_decode(raw.data, raw.len, NULL, NULL);
	buf_free(&raw);
	return t;
}

int
rank2file_make_part(const struct rank2file_base *base, int dirfd,
		    const char *name, const struct kvtree *list,
		    struct buf *out)
{
	char file[sizeof(RANK2FILE_COPY) + RANK2FILE_SPARE_NAME];
	const char *first = file + strlen(RANK2FILE_COPY);
	uint64_t level = 0, writer = 0;
	struct kvtree *t = NULL;
	int rc = -1;

	if (!rank2file_part_scan(base, name, &level, &writer) || level > 0)
		return -1;
	snprintf(file, sizeof(file), RANK2FILE_COPY RANK2FILE_SPARE_FMT,
		 writer);
	t = read_sound(dirfd, first, first, list);
	if (t == NULL)
		t = read_sound(dirfd, file, first, list);
	buf_clear(out);
	if (kvtree_get(t, RANK2FILE_SPARE) != NULL)
		rc = kvtree_encode(kvtree_get(t, RANK2FILE_SPARE), out, NULL);
	kvtree_free(t);
	return rc;
}

/* --- Its tree --- */

/* Read entry `k` of a SEG table into the element of *segs with its number. */
static int
read_seg(const struct kvtree *k, struct rank2file_seg *segs, size_t count,
	 struct error *err)
{
	const struct kvtree *v = NULL;
	struct rank2file_seg *s = NULL;
	uint64_t n = 0;
	unsigned seen = 0;
	int rc = 0;

	if (!value_number(kvtree_key(k), count - 1, &n))
		return value_bad(err, kvtree_key(k), "no number of a segment");
	s = &segs[n];
	kvtree_foreach (v, k) {
		const char *key = kvtree_key(v);

		if (strcmp(key, "FILE") == 0 && ++seen)
			rc = value_str(v, &s->file, err);
		else if (strcmp(key, "OFFSET") == 0 && ++seen)
			rc = value_u64(v, INT64_MAX, &s->off, err);
		else if (strcmp(key, "LENGTH") == 0 && ++seen)
			rc = value_u64(v, INT64_MAX, &s->len, err);
		if (rc < 0)
			return -1;
	}
	return seen == 3 ? 0 : value_bad(err, "SEG", "incomplete");
}

/* Read the segments of one file.  They are numbered from 0 without gaps. */
static int
read_segs(const struct kvtree *table, struct arena *arena,
	  struct rank2file_file *f, struct error *err)
{
	const size_t count = table == NULL ? 0 : kvtree_count(table);
	struct rank2file_seg *segs = NULL;
	const struct kvtree *k = NULL;

	if (count == 0)
		return 0;
	segs = arena_alloc(arena, count, sizeof(*segs));
	if (segs == NULL)
		return error_no_memory(err);
	kvtree_foreach (k, table)
		if (read_seg(k, segs, count, err) < 0)
			return -1;
	f->segs = segs;
	f->nsegs = count;
	return 0;
}

int
rank2file_read_file(const struct kvtree *k, struct arena *arena,
		    struct rank2file_file *f, struct error *err)
{
	const struct kvtree *size = kvtree_get(k, "SIZE");
	const struct kvtree *crc = kvtree_get(k, "CRC");

	*f = (struct rank2file_file){ .node = k };
	f->path = kvtree_key(k);
	f->has_size = size != NULL;
	f->has_crc = crc != NULL;
	if (size != NULL && value_u64(size, INT64_MAX, &f->size, err) < 0)
		return -1;
	if (crc != NULL && value_u32(crc, UINT32_MAX, &f->crc, err) < 0)
		return -1;
	return read_segs(kvtree_get(k, "SEG"), arena, f, err);
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
