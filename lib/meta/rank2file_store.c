/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "crc.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/kvwrite.h"
#include "kvtree/value.h"
#include "map.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"
#include "num.h"
#include "str.h"

int
rank2file_build_file(struct kvtree *t, const struct rank2file_file *f,
		     struct error *err)
{
	struct kvtree *table = NULL;

	if (f->node != NULL)
		return kvtree_merge(t, f->node, err);
	if (f->has_size)
		kvtree_set_u64(t, "SIZE", f->size, err);
	if (f->has_crc)
		kvtree_set_crc(t, "CRC", f->crc, err);
	/* Add the segments of a file, in the order of container-format(5). */
	if (f->nsegs > 0)
		table = kvtree_put(t, "SEG", err);
	for (size_t i = 0; i < f->nsegs; i++) {
		const struct rank2file_seg *s = &f->segs[i];
		struct kvtree *seg = kvtree_put(table, num_str(i), err);

		kvtree_set(seg, "FILE", s->file, err);
		kvtree_set_u64(seg, "OFFSET", s->off, err);
		kvtree_set_u64(seg, "LENGTH", s->len, err);
	}
	return kvtree_check(t, err);
}

/* --- Parts: encoded without a tree, as a job may have millions of files --- */

/* Write a path and the entry that rank2file_build_file() makes. */
static void
put_file(struct kvwrite *w, const struct rank2file_file *f)
{
	const unsigned keys =
		(unsigned)f->has_size + f->has_crc + (f->nsegs > 0);

	if (f->node != NULL) {
		kvtree_put_tree(w, f->path, f->node);
		return;
	}
	kvwrite_key(w, f->path, keys);
	if (f->has_size)
		kvwrite_u64(w, "SIZE", f->size);
	if (f->has_crc)
		kvwrite_crc(w, "CRC", f->crc);
	if (f->nsegs > 0) {
		/* In the order of a tree's keys. */
		kvwrite_key(w, "SEG", (uint32_t)f->nsegs);
		for (size_t i = 0; i < f->nsegs; i++) {
			kvwrite_key(w, num_str(i), 3);
			kvwrite_text(w, "FILE", f->segs[i].file);
			kvwrite_u64(w, "OFFSET", f->segs[i].off);
			kvwrite_u64(w, "LENGTH", f->segs[i].len);
		}
	}
}

/* Write one rank: FILES, FILE.  If a path occurs twice, its last entry is
 * written in place of the first one. */
static int
put_rank(struct kvwrite *w, const struct rank2file *job, size_t rank,
	 struct error *err)
{
	const struct rank2file_rank *r = &job->ranks[rank];
	const size_t written = MAP_NONE - 1;
	struct map *last = NULL;
	size_t count = r->nfiles;

	if (!job->distinct && rank2file_distinct(r) != 1) {
		last = map_new();
		for (size_t i = 0; last != NULL && i < r->nfiles; i++)
			if (map_put(last, r->files[i].path, i) < 0) {
				map_free(last);
				last = NULL;
			}
		if (last == NULL)
			return error_no_memory(err);
		count = map_count(last);
	}
	kvwrite_key(w, num_str(rank), (count > 0) + !job->uncounted);
	if (!job->uncounted)
		kvwrite_u64(w, "FILES",
			    count < r->expected ? r->expected : count);
	if (count > 0)
		kvwrite_key(w, "FILE", (uint32_t)count);
	for (size_t i = 0; i < r->nfiles; i++) {
		const char *path = r->files[i].path;
		size_t at = last == NULL ? i : map_get(last, path);

		if (at == written)
			continue;
		put_file(w, &r->files[at]);
		if (last != NULL)
			map_put(last, path, written);
	}
	map_free(last);
	return 0;
}

int
rank2file_put_part(struct kvwrite *w, const struct rank2file *r, size_t first,
		   size_t count, struct error *err)
{
	uint32_t present = 0;

	if (first > r->nranks)
		first = r->nranks;
	if (count > r->nranks - first)
		count = r->nranks - first;
	for (size_t i = first; i < first + count; i++)
		present += r->ranks[i].present;
	/* A single part has the number of its own ranks, as with LLNL's
	 * scr_index. */
	kvwrite_u64(w, "RANKS", count < r->nranks ? r->nranks : present);
	kvwrite_key(w, "RANK", present);
	for (size_t i = first + count; i-- > first;)
		if (r->ranks[i].present && put_rank(w, r, i, err) < 0)
			return -1;
	kvwrite_u64(w, "LEVEL", 0);
	return 0;
}

int
rank2file_encode_part(const struct rank2file *r, size_t first, size_t count,
		      struct buf *out, struct error *err)
{
	struct kvwrite w;

	kvtree_begin(&w, out, RANK2FILE_PART_KEYS);
	if (rank2file_put_part(&w, r, first, count, err) < 0)
		return -1;
	return kvtree_seal(&w, err);
}

/* Encode the top file: RANKS, RANK (highest part first), LEVEL; and CTR. */
static int
encode_top(const struct rank2file_base *b, const struct rank2file *r,
	   const struct kvtree *copy, struct buf *out, struct error *err)
{
	const size_t parts = r->nranks / RANK2FILE_PART_RANKS +
			     (r->nranks % RANK2FILE_PART_RANKS != 0);
	char name[RANK2FILE_NAME_SIZE], file[RANK2FILE_NAME_SIZE];
	struct kvwrite w;

	kvtree_begin(&w, out, 3 + (r->containers != NULL));
	kvwrite_u64(&w, "RANKS", r->nranks);
	kvwrite_key(&w, "RANK", (uint32_t)parts);
	for (size_t i = parts; i-- > 0;) {
		const size_t first = i * RANK2FILE_PART_RANKS;

		rank2file_part_name(b, first + r->generation, name);
		kvwrite_key(&w, num_str(first), 2);
		kvwrite_u64(&w, "OFFSET", 0);
		kvwrite_text(&w, "FILE", rank2file_part_file(b, name, file));
	}
	kvwrite_u64(&w, "LEVEL", 1);
	if (r->containers != NULL) {
		const struct kvtree *k = NULL;
		const struct kvtree *old = kvtree_get(r->containers, "COPY");

		/* Write CTR, with the checksums of the parts as COPY (NULL:
		 * without). */
		kvwrite_key(&w, "CTR",
			    (uint32_t)kvtree_count(r->containers) -
				    (old != NULL) + (copy != NULL));
		kvtree_foreach (k, r->containers)
			if (k != old)
				kvtree_put_tree(&w, kvtree_key(k), k);
		if (copy != NULL)
			kvtree_put_tree(&w, "COPY", copy);
	}
	return kvtree_seal(&w, err);
}

bool
rank2file_has_copies(const struct rank2file *r)
{
	return r->containers != NULL && !r->uncounted;
}

/* Remove the parts and copies in the directory that do not belong to the
 * map. */
static int
remove_stale(int dirfd, const struct rank2file_base *b,
	     const struct rank2file *r, struct error *err)
{
	const bool copies = rank2file_has_copies(r);
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, dirfd, b->base, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		char plain[NAME_MAX + 1];
		const bool is_copy = dataset_dir_is_copy(name, plain);
		uint64_t level = 0, writer = 0;
		bool stale = is_copy && !copies;

		if (rank2file_part_scan(b, plain, &level, &writer))
			stale = stale || level > 0 ||
				writer >= r->nranks + r->generation ||
				writer % RANK2FILE_PART_RANKS != r->generation;
		else
			stale = stale && str_eq(plain, b->base);
		if (stale && unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
			rc = error_sys(err, "%s: cannot remove", name);
	}
	return dir_done(&w, rc, err);
}

struct kvtree *
rank2file_set_sum(struct kvtree *list, const char *name,
		  const struct buf *image, struct error *err)
{
	struct kvtree *k = kvtree_put(list, name, err);
	const uint32_t crc = crc_update(0, image->data, image->len);

	return k != NULL && kvtree_set_crc(k, "CRC", crc, err) == 0 ? k : NULL;
}

bool
rank2file_has_sum(const struct kvtree *k, const void *data, size_t len)
{
	const struct kvtree *crc = kvtree_get(k, "CRC");
	uint32_t want = 0;

	return crc != NULL && value_u32(crc, UINT32_MAX, &want, NULL) == 0 &&
	       want == crc_update(0, data, len);
}

/* Encode the parts, one in memory at a time, then the top file.  `copy` is an
 * empty tree for the checksums of the parts, or NULL. */
static int
each_file(const struct rank2file_base *b, const struct rank2file *r,
	  struct kvtree *copy, rank2file_fn *fn, void *arg, struct error *err)
{
	char name[RANK2FILE_NAME_SIZE];
	struct buf image = BUF_INIT;
	int rc = 0;

	for (size_t first = 0; rc == 0 && first < r->nranks;
	     first += RANK2FILE_PART_RANKS) {
		rank2file_part_name(b, first + r->generation, name);
		buf_clear(&image);
		if (rank2file_encode_part(r, first, RANK2FILE_PART_RANKS,
					  &image, err) < 0)
			rc = error_wrap(err, "%s", name);
		else if (copy != NULL &&
			 rank2file_set_sum(copy, name, &image, err) == NULL)
			rc = -1;
		else
			rc = fn(arg, name, &image, err);
	}
	if (rc == 0) {
		buf_clear(&image);
		if (encode_top(b, r, copy, &image, err) < 0)
			rc = error_wrap(err, "%s", b->base);
		else
			rc = fn(arg, b->base, &image, err);
	}
	buf_free(&image);
	return rc;
}

int
rank2file_each(const struct rank2file *r, const char *base, rank2file_fn *fn,
	       void *arg, struct error *err)
{
	const struct rank2file_base b = rank2file_base_split(base);

	return each_file(&b, r, NULL, fn, arg, err);
}

int
rank2file_write(int dirfd, const char *name, const struct buf *image,
		bool twice, struct error *err)
{
	char copy[NAME_MAX + 1];

	if (io_replace(dirfd, name, image->data, image->len, 0666, err) < 0)
		return -1;
	if (!twice)
		return 0;
	snprintf(copy, sizeof(copy), RANK2FILE_COPY "%s", name);
	return io_replace(dirfd, copy, image->data, image->len, 0666, err);
}

struct storing {
	int dirfd;
	bool copies; /* write second copies */
};

static int
write_file(void *arg, const char *name, const struct buf *image,
	   struct error *err)
{
	const struct storing *s = arg;

	return rank2file_write(s->dirfd, name, image, s->copies, err);
}

int
rank2file_store(int dirfd, const char *base, const struct rank2file *r,
		struct error *err)
{
	const struct rank2file_base b = rank2file_base_split(base);
	struct storing to = { dirfd, rank2file_has_copies(r) };
	struct kvtree *copy = to.copies ? kvtree_new(err) : NULL;
	int rc = -1;

	/* The top file no longer names parts of an earlier rank2file, but
	 * LLNL's serial reader reads every part in the directory
	 * (kvtree(5)). */
	if (to.copies && copy == NULL)
		return -1;
	if (each_file(&b, r, copy, write_file, &to, err) == 0)
		rc = remove_stale(dirfd, &b, r, err);
	kvtree_free(copy);
	return rc;
}

/* --- By several processes --- */

/* Write a file of the map; one with copies replaces the old one at once. */
static int
store_file(int dirfd, const struct rank2file *r, const char *name,
	   const struct buf *image, struct error *err)
{
	if (rank2file_has_copies(r))
		return rank2file_write(dirfd, name, image, true, err);
	return io_replace_lazy(dirfd, name, image->data, image->len, 0666, err);
}

int
rank2file_store_part(int dirfd, const struct rank2file *r, size_t first,
		     struct kvtree *copy, struct error *err)
{
	const struct rank2file_base b = rank2file_base_split(RANK2FILE_FILE);
	char name[RANK2FILE_NAME_SIZE];
	struct buf image = BUF_INIT;
	int rc = rank2file_encode_part(r, first, RANK2FILE_PART_RANKS, &image,
				       err);

	rank2file_part_name(&b, first, name);
	if (rc == 0 && rank2file_has_copies(r) &&
	    rank2file_set_sum(copy, name, &image, err) == NULL)
		rc = -1;
	if (rc == 0)
		rc = store_file(dirfd, r, name, &image, err);
	buf_free(&image);
	return rc;
}

int
rank2file_store_top(int dirfd, const struct rank2file *r,
		    const struct kvtree *copy, struct error *err)
{
	const struct rank2file_base b = rank2file_base_split(RANK2FILE_FILE);
	struct buf image = BUF_INIT;
	int rc = encode_top(&b, r, copy, &image, err);

	if (rc == 0)
		rc = store_file(dirfd, r, RANK2FILE_FILE, &image, err);
	if (rc == 0)
		rc = remove_stale(dirfd, &b, r, err);
	buf_free(&image);
	return rc;
}
