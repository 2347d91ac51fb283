/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "io.h"
#include "meta/kvtree.h"
#include "meta/kvwrite.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"
#include "meta/value.h"
#include "str.h"

/* Where the bytes of a file lie, in the order of containers.md 1. */
static int
build_segs(struct kvtree *t, const struct rank2file_file *f, struct error *err)
{
	struct kvtree *table = NULL, *seg = NULL;
	char key[VALUE_NUMBER];
	size_t i = 0;

	if (f->nsegs == 0)
		return 0;
	table = kvtree_put(t, "SEG", err);
	for (i = 0; table != NULL && i < f->nsegs; i++) {
		const struct rank2file_seg *s = &f->segs[i];

		seg = kvtree_put(table, value_text(key, i), err);
		if (seg == NULL || kvtree_set(seg, "FILE", s->file, err) < 0 ||
		    kvtree_set_u64(seg, "OFFSET", s->off, err) < 0 ||
		    kvtree_set_u64(seg, "LENGTH", s->len, err) < 0)
			return -1;
	}
	return table == NULL ? -1 : 0;
}

int
rank2file_build_file(struct kvtree *t, const struct rank2file_file *f,
		     struct error *err)
{
	if (f->node != NULL)
		return kvtree_merge(t, f->node, err);
	if (f->has_size && kvtree_set_u64(t, "SIZE", f->size, err) < 0)
		return -1;
	if (f->has_crc && kvtree_set_crc(t, "CRC", f->crc, err) < 0)
		return -1;
	return build_segs(t, f, err);
}

/* The files of one rank: FILES, FILE. */
static int
build_rank(struct kvtree *t, const struct rank2file_rank *r, bool counted,
	   struct error *err)
{
	struct kvtree *list = NULL, *file = NULL;
	uint64_t count = 0;
	size_t i = 0;

	/* To have its place; how many there are is known below. */
	if (counted && kvtree_set_u64(t, "FILES", 0, err) < 0)
		return -1;
	if (r->nfiles > 0) {
		list = kvtree_put(t, "FILE", err);
		if (list == NULL)
			return -1;
	}
	for (i = 0; i < r->nfiles; i++) {
		file = kvtree_put(list, r->files[i].path, err);
		if (file == NULL ||
		    rank2file_build_file(file, &r->files[i], err) < 0)
			return -1;
	}
	if (!counted)
		return 0;
	/* The same path twice is one file. */
	count = list == NULL ? 0 : kvtree_count(list);
	if (count < r->expected)
		count = r->expected;
	return kvtree_set_u64(t, "FILES", count, err);
}

struct kvtree *
rank2file_build_part(const struct rank2file *r, size_t first, size_t count,
		     struct error *err)
{
	struct kvtree *t = kvtree_new(err), *table = NULL, *rank = NULL;
	char key[VALUE_NUMBER];
	size_t i = 0, ranks = 0;

	if (t == NULL)
		return NULL;
	if (first > r->nranks)
		first = r->nranks;
	if (count > r->nranks - first)
		count = r->nranks - first;
	for (i = first; i < first + count; i++)
		ranks += r->ranks[i].present;
	/* One part alone counts its own ranks, as LLNL's scr_index does. */
	if (count < r->nranks)
		ranks = r->nranks;
	if (kvtree_set_u64(t, "RANKS", ranks, err) < 0)
		goto fail;
	table = kvtree_put(t, "RANK", err);
	if (table == NULL)
		goto fail;
	for (i = first + count; i-- > first;) {
		if (!r->ranks[i].present)
			continue;
		rank = kvtree_put(table, value_text(key, i), err);
		if (rank == NULL ||
		    build_rank(rank, &r->ranks[i], !r->uncounted, err) < 0)
			goto fail;
	}
	if (kvtree_set_u64(t, "LEVEL", 0, err) < 0)
		goto fail;
	return t;
fail:
	kvtree_free(t);
	return NULL;
}

/* "<stem>.0.<first><suffix>" into `out`; the second set of names has the next
 * number. */
static int
part_file(const struct rank2file_base *b, size_t first, unsigned generation,
	  struct buf *out, struct error *err)
{
	buf_clear(out);
	if (buf_printf(out, "%s.0.%zu%s", b->stem.data, first + generation,
		       b->suffix) < 0)
		return error_no_memory(err);
	return 0;
}

/* Entry of one part in the top file: OFFSET, FILE. */
static int
build_entry(struct kvtree *table, const struct rank2file_base *b, size_t first,
	    unsigned generation, struct buf *name, struct error *err)
{
	const size_t writer = first + generation;
	char key[VALUE_NUMBER];
	struct kvtree *entry = kvtree_put(table, value_text(key, first), err);
	int rc = 0;

	if (entry == NULL || kvtree_set_u64(entry, "OFFSET", 0, err) < 0)
		return -1;
	buf_clear(name);
	if (*b->suffix == '\0')
		rc = buf_printf(name, ".0.%zu", writer);
	else
		rc = buf_printf(name, RANK2FILE_OLD_DIR "%s.0.%zu%s",
				b->stem.data, writer, b->suffix);
	if (rc < 0)
		return error_no_memory(err);
	return kvtree_set(entry, "FILE", name->data, err);
}

/* The top file: RANKS, RANK highest part first, LEVEL; and CTR. */
static struct kvtree *
build_top(const struct rank2file_base *b, const struct rank2file *r,
	  struct buf *name, struct error *err)
{
	struct kvtree *t = kvtree_new(err), *table = NULL;
	const size_t nranks = r->nranks;
	size_t first = 0;

	if (t == NULL)
		return NULL;
	if (kvtree_set_u64(t, "RANKS", nranks, err) < 0)
		goto fail;
	table = kvtree_put(t, "RANK", err);
	if (table == NULL)
		goto fail;
	if (nranks > 0)
		first = (nranks - 1) / RANK2FILE_PART_RANKS *
				RANK2FILE_PART_RANKS +
			RANK2FILE_PART_RANKS;
	while (first > 0) {
		first -= RANK2FILE_PART_RANKS;
		if (build_entry(table, b, first, r->generation, name, err) < 0)
			goto fail;
	}
	if (kvtree_set_u64(t, "LEVEL", 1, err) < 0)
		goto fail;
	if (r->containers != NULL) {
		table = kvtree_put(t, "CTR", err);
		if (table == NULL ||
		    kvtree_merge(table, r->containers, err) < 0)
			goto fail;
	}
	return t;
fail:
	kvtree_free(t);
	return NULL;
}

/* Is this one of the parts that rank2file `r` has? */
static bool
is_ours(uint64_t level, uint64_t writer, const struct rank2file *r)
{
	return level == 0 && writer < r->nranks + r->generation &&
	       writer % RANK2FILE_PART_RANKS == r->generation;
}

/*
 * Remove parts of an earlier rank2file: nothing points to them any more, but
 * LLNL's serial reader takes every part it finds in the directory (formats.md
 * 1.6).
 */
static int
remove_stale(int dirfd, const struct rank2file_base *b,
	     const struct rank2file *r, struct error *err)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e = NULL;
	int rc = -1;

	if (dir == NULL) {
		error_sys(err, "%s: cannot read the directory", b->base);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (errno = 0; (e = readdir(dir)) != NULL; errno = 0) {
		uint64_t level = 0, writer = 0;

		if (!str_starts(e->d_name, b->stem.data) ||
		    !rank2file_part_scan(b, e->d_name + b->stem.len, &level,
					 &writer) ||
		    is_ours(level, writer, r))
			continue;
		if (unlinkat(dirfd, e->d_name, 0) < 0 && errno != ENOENT) {
			error_sys(err, "%s: cannot remove", e->d_name);
			goto out;
		}
	}
	rc = errno == 0
		     ? 0
		     : error_sys(err, "%s: cannot read the directory", b->base);
out:
	closedir(dir);
	return rc;
}

/* The parts, one in memory at a time. */
static int
each_part(const struct rank2file_base *b, const struct rank2file *r,
	  int (*fn)(void *arg, const char *name, const struct kvtree *t,
		    struct error *err),
	  void *arg, struct buf *name, struct error *err)
{
	struct kvtree *t = NULL;
	size_t first = 0;
	int rc = 0;

	for (first = 0; first < r->nranks; first += RANK2FILE_PART_RANKS) {
		if (part_file(b, first, r->generation, name, err) < 0)
			return -1;
		t = rank2file_build_part(r, first, RANK2FILE_PART_RANKS, err);
		if (t == NULL)
			return -1;
		rc = fn(arg, name->data, t, err);
		kvtree_free(t);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int
rank2file_each(const struct rank2file *r, const char *base,
	       int (*fn)(void *arg, const char *name, const struct kvtree *t,
			 struct error *err),
	       void *arg, struct error *err)
{
	struct rank2file_base b = { .stem = BUF_INIT };
	struct buf name = BUF_INIT;
	struct kvtree *top = NULL;
	int rc = -1;

	if (rank2file_base_split(&b, base) < 0) {
		error_no_memory(err);
		goto out;
	}
	if (each_part(&b, r, fn, arg, &name, err) < 0)
		goto out;
	top = build_top(&b, r, &name, err);
	if (top != NULL)
		rc = fn(arg, base, top, err);
out:
	kvtree_free(top);
	buf_free(&name);
	buf_free(&b.stem);
	return rc;
}

/* --- Without a tree --- */

/* Are ranks `first` to `end` such that a part can be written straight off? */
static bool
is_plain(const struct rank2file *r, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct rank2file_rank *k = &r->ranks[i];

		if (k->nfiles > 1 && !r->distinct)
			return false;
		for (size_t j = 0; j < k->nfiles; j++)
			if (k->files[j].node != NULL)
				return false;
	}
	return true;
}

/* build_segs(), rank2file_build_file(), build_rank() and
 * rank2file_build_part() once more, the same keys in the same order. */
static void
put_segs(struct kvwrite *w, const struct rank2file_file *f)
{
	char text[VALUE_NUMBER];

	kvwrite_key(w, "SEG", (uint32_t)f->nsegs);
	for (size_t i = 0; i < f->nsegs; i++) {
		kvwrite_key(w, value_text(text, i), 3);
		kvwrite_text(w, "FILE", f->segs[i].file);
		kvwrite_u64(w, "OFFSET", f->segs[i].off);
		kvwrite_u64(w, "LENGTH", f->segs[i].len);
	}
}

static void
put_file(struct kvwrite *w, const struct rank2file_file *f)
{
	const unsigned keys =
		(unsigned)f->has_size + f->has_crc + (f->nsegs > 0);

	kvwrite_key(w, f->path, keys);
	if (f->has_size)
		kvwrite_u64(w, "SIZE", f->size);
	if (f->has_crc)
		kvwrite_crc(w, "CRC", f->crc);
	if (f->nsegs > 0)
		put_segs(w, f);
}

static void
put_rank(struct kvwrite *w, size_t rank, const struct rank2file_rank *r,
	 bool counted)
{
	const uint64_t count =
		r->nfiles < r->expected ? r->expected : r->nfiles;
	char text[VALUE_NUMBER];

	kvwrite_key(w, value_text(text, rank), (r->nfiles > 0) + counted);
	if (counted)
		kvwrite_u64(w, "FILES", count);
	if (r->nfiles > 0)
		kvwrite_key(w, "FILE", (uint32_t)r->nfiles);
	for (size_t i = 0; i < r->nfiles; i++)
		put_file(w, &r->files[i]);
}

static int
put_part(const struct rank2file *r, size_t first, size_t end, struct buf *out,
	 struct error *err)
{
	struct kvwrite w;
	uint32_t present = 0;

	for (size_t i = first; i < end; i++)
		present += r->ranks[i].present;
	kvtree_begin(&w, out, 3);
	kvwrite_u64(&w, "RANKS", end - first < r->nranks ? r->nranks : present);
	kvwrite_key(&w, "RANK", present);
	for (size_t i = end; i-- > first;)
		if (r->ranks[i].present)
			put_rank(&w, i, &r->ranks[i], !r->uncounted);
	kvwrite_u64(&w, "LEVEL", 0);
	return kvtree_seal(&w, err);
}

static int
write_part(int dirfd, const char *name, const struct rank2file *r, size_t first,
	   struct error *err)
{
	const size_t end = r->nranks - first < RANK2FILE_PART_RANKS
				   ? r->nranks
				   : first + RANK2FILE_PART_RANKS;
	struct buf image = BUF_INIT;
	struct kvtree *t = NULL;
	int rc = -1;

	if (is_plain(r, first, end)) {
		rc = put_part(r, first, end, &image, err);
	} else {
		t = rank2file_build_part(r, first, end - first, err);
		if (t != NULL)
			rc = kvtree_encode(t, &image, err);
		kvtree_free(t);
	}
	if (rc < 0)
		error_wrap(err, "%s", name);
	else
		rc = io_replace(dirfd, name, image.data, image.len, 0666, err);
	buf_free(&image);
	return rc;
}

static int
write_all(int dirfd, const struct rank2file_base *b, const struct rank2file *r,
	  struct error *err)
{
	struct buf name = BUF_INIT;
	struct kvtree *top = NULL;
	int rc = 0;

	for (size_t first = 0; rc == 0 && first < r->nranks;
	     first += RANK2FILE_PART_RANKS) {
		rc = part_file(b, first, r->generation, &name, err);
		if (rc == 0)
			rc = write_part(dirfd, name.data, r, first, err);
	}
	if (rc == 0) {
		top = build_top(b, r, &name, err);
		rc = top == NULL ? -1
				 : kvtree_write_file(top, dirfd, b->base, err);
	}
	kvtree_free(top);
	buf_free(&name);
	return rc;
}

int
rank2file_store(int dirfd, const char *base, const struct rank2file *r,
		struct error *err)
{
	struct rank2file_base b = { .stem = BUF_INIT };
	int rc = -1;

	if (rank2file_base_split(&b, base) < 0)
		error_no_memory(err);
	else if (write_all(dirfd, &b, r, err) == 0)
		rc = remove_stale(dirfd, &b, r, err);
	buf_free(&b.stem);
	return rc;
}
