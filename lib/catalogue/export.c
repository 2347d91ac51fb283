/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export.c - write a dataset to an archive.
 */
#include "catalogue/export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue_impl.h"
#include "container/manifest.h"
#include "dir.h"
#include "error.h"
#include "hash.h"
#include "io.h"
#include "mem.h"
#include "meta/filemap.h"
#include "meta/kvtree.h"
#include "meta/redset.h"
#include "meta/summary.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "work.h"

#define BLOCK ((size_t)1 << 20)

#define SHOWN_MAX 512

struct exporting {
	const struct packed *p;
	const struct export_options *eo;
	struct export_result *out;
	struct ark_out *ark;
	struct hash *hash;
	struct buf manifest;
	unsigned char *block;
	struct arena *arena;
};

/* --- One entry --- */

/* Begin an entry of the archive.  Follow with data() and end(). */
static int
begin(struct exporting *x, const char *path, uint64_t size,
      const struct attr *a, struct error *err)
{
	static const struct attr none = { .has_owner = false };

	return ark_out_begin(x->ark, path, size, a != NULL ? a : &none, err);
}

static int
data(struct exporting *x, const void *bytes, size_t len, struct error *err)
{
	if (hash_update(x->hash, bytes, len, err) < 0)
		return -1;
	return ark_out_data(x->ark, bytes, len, err);
}

static int
end(struct exporting *x, const char *path, struct error *err)
{
	char sum[HASH_TEXT];

	if (ark_out_end(x->ark, err) < 0 || hash_text(x->hash, sum, err) < 0)
		return -1;
	return manifest_add(&x->manifest, sum, path, err);
}

static int
put_image(struct exporting *x, const char *path, const struct attr *a,
	  const void *image, size_t len, struct error *err)
{
	if (begin(x, path, len, a, err) < 0 || data(x, image, len, err) < 0)
		return -1;
	return end(x, path, err);
}

static int
put_string(struct exporting *x, const char *path, const struct attr *a,
	   const struct stripe *s, uint64_t size, struct stripe_sum *sum,
	   struct error *err)
{
	const struct work *work = x->eo->work;
	struct stripe_cache *cache =
		stripe_cache_new(16, false, sum->size > 0 ? sum : NULL);
	int rc = -1;

	if (cache == NULL)
		return error_no_memory(err);
	if (begin(x, path, size, a, err) < 0)
		goto out;
	for (uint64_t off = 0; off < size; off += BLOCK) {
		size_t len = size - off < BLOCK ? (size_t)(size - off) : BLOCK;

		if (work_stopped(work)) {
			errno = EINTR;
			error_sys(err, "stopped");
			goto out;
		}
		if (stripe_read(s, cache, off, x->block, len, err) < 0 ||
		    data(x, x->block, len, err) < 0)
			goto out;
		progress_add(work->progress, len);
	}
	rc = end(x, path, err);
out:
	stripe_cache_free(cache);
	return rc;
}

/* --- The files --- */

static int
put_file(struct exporting *x, size_t i, struct error *err)
{
	const struct segmap_file *f = &x->p->map.files[i];
	struct stripe_sum sum = { .size = f->size };
	struct stripe s = { 0, NULL };
	struct attr a;

	if (packed_attr(x->p, i, &a, err) < 0 ||
	    packed_file(x->p, i, x->arena, &s, err) < 0 ||
	    put_string(x, f->path, &a, &s, f->size, &sum, err) < 0)
		return -1;
	arena_reset(x->arena);
	if (f->has_crc && f->size > 0 && sum.crc != f->crc)
		return segmap_wrong_sum(f, sum.crc, err);
	x->out->files++;
	x->out->bytes += f->size;
	return 0;
}

/* Sizes that nothing records are taken from the files; what an archive cannot
 * hold is told now. */
static int
check_files(struct exporting *x, struct error *err)
{
	for (size_t i = 0; i < x->p->map.nfiles; i++) {
		struct segmap_file *f = &x->p->map.files[i];
		struct attr a;

		if (packed_attr(x->p, i, &a, err) < 0)
			return -1;
		if (!f->has_size && f->nsegs == 0 && a.has_size)
			f->size = a.size;
		if (ark_fits(f->path, f->size, err) < 0)
			return -1;
		progress_expect(x->eo->work->progress, f->size);
	}
	return 0;
}

/* --- Metadata --- */

static int
put_meta(void *arg, const char *name, const struct buf *image,
	 struct error *err)
{
	struct exporting *x = arg;
	struct buf path = BUF_INIT;
	int rc = -1;

	if (path_join(&path, x->p->dir, name, err) == 0)
		rc = put_image(x, path.data, NULL, image->data, image->len,
			       err);
	buf_free(&path);
	x->out->hidden += rc == 0;
	return rc;
}

static int
put_tree(struct exporting *x, const char *name, const struct kvtree *t,
	 struct error *err)
{
	struct buf raw = BUF_INIT;
	int rc = kvtree_encode(t, &raw, err);

	if (rc == 0)
		rc = put_meta(x, name, &raw, err);
	buf_free(&raw);
	return rc;
}

/* Write the rank2file of the unpacked dataset. */
static int
put_ranks(struct exporting *x, struct error *err)
{
	struct rank2file r;
	int rc = segmap_write(&x->p->map, x->p->r2f.nranks, true, &r, err);

	if (rc < 0)
		return -1;
	rc = rank2file_each(&r, RANK2FILE_FILE, put_meta, x, err);
	rank2file_free(&r);
	return rc;
}

static int
put_summary(struct exporting *x, struct error *err)
{
	struct kvtree *t = kvtree_read_file(x->p->meta_fd, SUMMARY_FILE, err);
	int rc = t == NULL ? -1 : put_tree(x, SUMMARY_FILE, t, err);

	kvtree_free(t);
	return rc < 0 ? error_wrap(err, "%s", x->p->dir) : 0;
}

static int
put_packed(struct exporting *x, const struct hidden_file *f, struct error *err)
{
	const struct packed *p = x->p;
	const struct segmap_file *s = &p->hidden.red.files[f->at];
	struct stripe_sum sum = { .size = 0 };
	struct stripe from = { 0, NULL };
	struct buf path = BUF_INIT;
	int rc = -1;

	if (f->tree != NULL)
		return put_tree(x, f->name, f->tree, err);
	if (packed_hidden(p, f, x->arena, &from, err) == 0 &&
	    path_join(&path, p->dir, f->name, err) == 0)
		rc = put_string(x, path.data, &f->attr, &from, s->size, &sum,
				err);
	arena_reset(x->arena);
	buf_free(&path);
	x->out->hidden += rc == 0;
	return rc;
}

/* One name of the directory: filemaps, descriptors, redundancy. */
static int
put_name(void *arg, const char *name, struct error *err)
{
	struct exporting *x = arg;
	struct stripe_part part = { .dirfd = x->p->meta_fd, .path = name };
	const struct stripe s = { 1, &part };
	struct stripe_sum sum = { .size = 0 };
	struct buf path = BUF_INIT;
	struct attr a;
	struct stat st;
	int rc = -1;

	if (!dataset_dir_is_recovery(name))
		return 0;
	if (fstatat(x->p->meta_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "%s: cannot stat", name);
	if (!S_ISREG(st.st_mode))
		return 0;
	attr_from_stat(&a, &st);
	part.len = a.size;
	part.sum = STRIPE_NO_SUM;
	if (path_join(&path, x->p->dir, name, err) == 0)
		rc = put_string(x, path.data, &a, &s, a.size, &sum, err);
	buf_free(&path);
	x->out->hidden += rc == 0;
	return rc;
}

static int
put_redundancy(struct exporting *x, struct error *err)
{
	const struct hidden *h = &x->p->hidden;
	struct stat st;

	if (dir_each(x->p->meta_fd, x->p->dir, put_name, x, err) < 0)
		return -1;
	for (size_t i = 0; i < h->nfiles; i++)
		if (fstatat(x->p->meta_fd, h->files[i].name, &st,
			    AT_SYMLINK_NOFOLLOW) < 0 &&
		    put_packed(x, &h->files[i], err) < 0)
			return -1;
	return 0;
}

static int
put_manifest(struct exporting *x, struct error *err)
{
	struct buf path = BUF_INIT, text = x->manifest;
	int rc = -1;

	if (path_join(&path, x->p->dir, DATASET_DIR_MANIFEST, err) == 0 &&
	    begin(x, path.data, text.len, NULL, err) == 0 &&
	    ark_out_data(x->ark, text.data, text.len, err) == 0)
		rc = ark_out_end(x->ark, err);
	buf_free(&path);
	return rc;
}

static int
put_all(struct exporting *x, struct error *err)
{
	for (size_t i = 0; i < x->p->map.nfiles; i++)
		if (put_file(x, i, err) < 0)
			return -1;
	if ((x->eo->redundancy && put_redundancy(x, err) < 0) ||
	    put_summary(x, err) < 0 || put_ranks(x, err) < 0 ||
	    put_manifest(x, err) < 0)
		return -1;
	return ark_out_close(x->ark, err);
}

int
export_dataset(const struct packed *p, int fd, const char *name,
	       const struct export_options *eo, struct export_result *out,
	       struct error *err)
{
	struct exporting x = {
		.p = p,
		.eo = eo,
		.out = out,
		.manifest = BUF_INIT,
	};
	int rc = -1;

	*out = (struct export_result){ .id = p->id };
	if (p->layout != 3)
		return error_set(err, ERROR_USAGE,
				 "%s: only datasets of the newer layout can be "
				 "exported",
				 p->name);
	if (packed_refuse_marked(p, err) < 0)
		return -1;
	x.arena = arena_new();
	x.block = mem_aligned(4096, BLOCK);
	x.hash = hash_new(err);
	if (x.arena == NULL || x.block == NULL)
		error_no_memory(err);
	else if (x.hash != NULL && check_files(&x, err) == 0)
		x.ark = ark_out_new(fd, name, eo->filter, eo->threads, err);
	if (x.ark != NULL)
		rc = put_all(&x, err);
	if (x.ark != NULL)
		out->written = ark_out_bytes(x.ark);
	ark_out_free(x.ark);
	buf_free(&x.manifest);
	hash_free(x.hash);
	mem_free(x.block);
	arena_free(x.arena);
	return rc;
}

int
export_to(const struct packed *p, const char *file,
	  const struct export_options *eo, struct export_result *out,
	  struct error *err)
{
	struct buf temp = BUF_INIT;
	int fd = -1, rc = -1;

	if (file == NULL || str_eq(file, "-"))
		return export_dataset(p, STDOUT_FILENO, "standard output", eo,
				      out, err);
	if (buf_printf(&temp, "%s.part", file) < 0)
		return error_no_memory(err);
	fd = open(temp.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		error_sys(err, "%s: cannot make", temp.data);
		goto out;
	}
	if (export_dataset(p, fd, file, eo, out, err) < 0 ||
	    io_fsync(fd, temp.data, err) < 0)
		goto out;
	rc = rename(temp.data, file) < 0
		     ? error_sys(err, "%s: cannot rename", temp.data)
		     : 0;
out:
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && rc < 0)
		(void)unlink(temp.data);
	buf_free(&temp);
	return rc;
}
