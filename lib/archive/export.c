/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export.c - write a dataset to an archive.
 */
#include "archive/export.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/manifest.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "container/extract.h"
#include "crc.h"
#include "dir.h"
#include "error.h"
#include "hash.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "path.h"
#include "progress.h"
#include "room.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

/* A file is read in steps of this size. */
#define STEP ((size_t)1 << 20)

/* One file of the archive, to be read from files or containers: a user's file,
 * a file of the metadata directory, or a packed one. */
struct entry {
	const char *path;		/* in the archive */
	const struct segmap_file *file; /* of a map; NULL: a metadata file */
	bool data;			/* a user's file */
	struct attr attr;
	uint64_t size;
};

struct exporting {
	const struct packed *p;
	const struct export_options *eo;
	struct export_result *out;
	struct ark_out *ark;
	struct hash *hash;
	struct buf manifest;
	unsigned char *block; /* STEP bytes */
	struct arena *arena;
	struct entry *list;
	size_t count, cap;
	struct pathcache *parents;
	struct stripe_cache *cache;
};

/* --- One entry --- */

/* Write a metadata file whose bytes are in memory. */
static int
put_bytes(struct exporting *x, const char *path, const void *bytes, size_t len,
	  struct error *err)
{
	const struct attr none = { .has_owner = false };

	return ark_out_begin(x->ark, ARK_FILE, path, len, &none, err) < 0 ||
			       ark_out_data(x->ark, bytes, len, err) < 0
		       ? -1
		       : ark_out_end(x->ark, err);
}

/* Copy an entry from its file, or from containers. */
static int
put_entry(struct exporting *x, const struct entry *e, struct error *err)
{
	const struct packed *p = x->p;
	struct stripe_part own = {
		.len = e->size,
		.dirfd = p->meta_fd,
		.path = path_base(e->path),
		.sum = STRIPE_NO_SUM,
	};
	struct stripe from = { e->size > 0, &own };
	char sum[HASH_TEXT];
	uint32_t crc = 0;
	int rc = 0;

	if (e->file != NULL &&
	    packed_file(p, e->data ? &p->map : &p->hidden.map, e->file,
			x->arena, &from, err) < 0)
		return -1;
	rc = ark_out_begin(x->ark, ARK_FILE, e->path, e->size, &e->attr, err);
	for (uint64_t off = 0; rc == 0 && off < e->size; off += STEP) {
		const size_t len =
			e->size - off < STEP ? (size_t)(e->size - off) : STEP;

		if (work_go_on(x->eo->work, err) < 0 ||
		    stripe_read(&from, x->cache, off, x->block, len, err) < 0 ||
		    ark_out_data(x->ark, x->block, len, err) < 0)
			rc = -1;
		hash_update(x->hash, x->block, len);
		crc = crc_update(crc, x->block, len);
		progress_add(x->eo->work->progress, len);
	}
	stripe_cache_drop(x->cache); /* before the parts, which it uses */
	if (rc < 0)
		return -1;
	hash_text(x->hash, sum);
	if (ark_out_end(x->ark, err) < 0 ||
	    manifest_add(&x->manifest, sum, e->path, err) < 0)
		return -1;
	return e->data && e->file->has_crc && e->size > 0 && e->file->crc != crc
		       ? segmap_wrong_sum(e->file, crc, err)
		       : 0;
}

/* --- The files --- */

static struct entry *
add_entry(struct exporting *x, const char *path, const struct segmap_file *file)
{
	(void)MEM_ROOM(x->list, x->count, x->cap);
	x->list[x->count] = (struct entry){ .path = path, .file = file };
	return &x->list[x->count++];
}

/* List the users' files and, if requested, the redundancy, with attributes and
 * sizes.  A size that is not recorded is taken from the file.  Report now if
 * the archive format cannot hold one of them. */
static int
list_entries(struct exporting *x, struct error *err)
{
	const struct packed *p = x->p;
	const struct segmap *h = &p->hidden.map;
	struct dir_walk w;
	const char *name = NULL;
	struct entry *e = NULL;
	uint64_t bytes = 0;
	struct stat st;
	int rc = 0;

	for (size_t i = 0; i < p->map.nfiles; i++) {
		struct segmap_file *f = &p->map.files[i];

		e = add_entry(x, f->path, f);
		e->data = true;
		if (packed_attr(p, i, x->parents, &e->attr, err) < 0)
			return -1;
		if (!f->has_size && f->nsegs == 0 && e->attr.has_size)
			f->size = e->attr.size;
		e->size = f->size;
	}
	if (x->eo->redundancy) {
		rc = dir_walk(&w, p->meta_fd, p->dir, err);
		while (rc == 0 && (name = dir_next(&w)) != NULL) {
			if (!dataset_dir_is_recovery(name))
				continue;
			if (dir_stat(p->meta_fd, name, &st,
				     AT_SYMLINK_NOFOLLOW) < 0) {
				rc = error_sys(err, "%s: cannot stat", name);
			} else if (S_ISREG(st.st_mode)) {
				e = add_entry(x,
					      arena_printf(x->arena, "%s/%s",
							   p->dir, name),
					      NULL);
				attr_from_stat(&e->attr, &st);
				e->size = e->attr.size;
			}
		}
		if (dir_done(&w, rc, err) < 0)
			return -1;
	}
	for (size_t i = 0; x->eo->redundancy && i < h->nfiles; i++) {
		const struct segmap_file *f = &h->files[i];

		if (f->tree != NULL || dir_stat(p->meta_fd, f->path, &st,
						AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		e = add_entry(
			x, arena_printf(x->arena, "%s/%s", p->dir, f->path), f);
		e->attr = f->attr;
		e->size = f->size;
	}
	for (size_t i = 0; i < x->count; i++) {
		if (ark_fits(x->list[i].path, x->list[i].size, err) < 0)
			return -1;
		bytes += x->list[i].size;
	}
	progress_phase(x->eo->work->progress, "exporting", bytes);
	return 0;
}

/* --- Metadata --- */

static int
put_meta(void *arg, const char *name, const struct buf *image,
	 struct error *err)
{
	struct exporting *x = arg;
	const char *path = arena_printf(x->arena, "%s/%s", x->p->dir, name);
	char sum[HASH_TEXT];

	if (put_bytes(x, path, image->data, image->len, err) < 0 ||
	    hash_bytes(image->data, image->len, sum, err) < 0 ||
	    manifest_add(&x->manifest, sum, path, err) < 0)
		return -1;
	x->out->hidden++;
	return 0;
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

/* Write the metadata: the redundancy that is packed as trees, unless a file
 * with the same name exists; the summary; the rank2file of the unpacked
 * dataset; and the manifest. */
static int
put_metadata(struct exporting *x, struct error *err)
{
	const struct packed *p = x->p;
	const struct segmap *h = &p->hidden.map;
	struct kvtree *summary = NULL;
	struct rank2file r;
	struct stat st;
	int rc = -1;

	for (size_t i = 0; x->eo->redundancy && i < h->nfiles; i++)
		if (h->files[i].tree != NULL &&
		    dir_stat(p->meta_fd, h->files[i].path, &st,
			     AT_SYMLINK_NOFOLLOW) < 0 &&
		    put_tree(x, h->files[i].path, h->files[i].tree, err) < 0)
			return -1;
	summary = p->layout == 1
			  ? catalogue_old_summary(p, err)
			  : kvtree_read_file(p->meta_fd, SUMMARY_FILE, err);
	if (summary != NULL)
		rc = put_tree(x, SUMMARY_FILE, summary, err);
	kvtree_free(summary);
	if (rc < 0)
		return error_wrap(err, "%s", p->dir);
	if (segmap_write(&p->map, p->r2f.nranks, true, &r, err) < 0)
		return -1;
	rc = rank2file_each(&r, RANK2FILE_FILE, put_meta, x, err);
	rank2file_free(&r);
	if (rc < 0)
		return -1;
	return put_bytes(
		x, arena_printf(x->arena, "%s/" DATASET_DIR_MANIFEST, p->dir),
		x->manifest.data, x->manifest.len, err);
}

static int
put_all(struct exporting *x, struct error *err)
{
	const struct packed *p = x->p;
	struct packed_dirs dirs;

	for (size_t i = 0; i < x->count; i++) {
		const struct entry *e = &x->list[i];

		x->out->files += e->data;
		x->out->bytes += e->data ? e->size : 0;
		x->out->hidden += !e->data;
		if (put_entry(x, e, err) < 0)
			return -1;
	}
	if (packed_dirs(p, NULL, work_waiting(x->eo->work, p->file_fd),
			x->arena, &dirs, err) < 0)
		return -1;
	for (size_t i = 0; i < dirs.count; i++)
		if (ark_out_begin(x->ark, ARK_DIR, dirs.list[i].path, 0,
				  &dirs.list[i].attr, err) < 0 ||
		    ark_out_end(x->ark, err) < 0)
			return -1;
	return put_metadata(x, err) < 0
		       ? -1
		       : ark_out_close(x->ark, &x->out->written, err);
}

/*
 * Write dataset `p` (one of SCR 1.1.8: packed_renew()) as an archive to the
 * descriptor `fd`, which may be a pipe; `name` is for messages.  Checksums are
 * compared while reading.  ERROR_DAMAGED: a file is missing or damaged, and the
 * archive is unusable.  ERROR_USAGE: an archive cannot hold one of the files;
 * reported before anything is written.
 */
static int
export_dataset(struct packed *p, int fd, const char *name,
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
	if (packed_refuse_marked(p, 0, p->map.nfiles, NULL, err) < 0 ||
	    packed_renew(p, err) < 0)
		return -1;
	x.arena = arena_new();
	x.block = mem_aligned(4096, STEP);
	x.hash = hash_new(HASH_SHA256, err);
	x.parents = pathcache_new(p->file_fd);
	x.cache = stripe_cache_new(16, false, NULL);
	if (x.hash != NULL && list_entries(&x, err) == 0)
		x.ark = ark_out_new(fd, name, eo->filter, eo->threads,
				    eo->work->stop, err);
	if (x.ark != NULL)
		rc = put_all(&x, err);
	pathcache_free(x.parents);
	stripe_cache_free(x.cache);
	ark_out_free(x.ark);
	buf_free(&x.manifest);
	hash_free(x.hash);
	mem_free(x.block);
	mem_free(x.list);
	arena_free(x.arena);
	return rc;
}

int
export_to(struct packed *p, const char *file, const struct export_options *eo,
	  struct export_result *out, struct error *err)
{
	char parent[PATH_MAX];
	const char *base = NULL;
	struct put *put = NULL;
	struct put_file *f = NULL;
	int dir = -1, fd = -1, rc = -1;

	if (file == NULL || str_eq(file, "-"))
		return export_dataset(p, STDOUT_FILENO, "standard output", eo,
				      out, err);
	if (io_check_output(file, err) < 0)
		return -1;
	base = path_base(file);
	snprintf(parent, sizeof(parent), "%.*s", (int)(base - file), file);
	dir = open(parent[0] != '\0' ? parent : ".",
		   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_sys(err, "%s: cannot make", file);
	put = put_new(&(struct put_options){ .par = NULL }, NULL);
	f = put_add(put,
		    &(struct put_what){
			    .dirfd = dir, .path = base, .size = UINT64_MAX },
		    NULL);
	fd = put_open(f, err);
	if (fd >= 0 && export_dataset(p, fd, file, eo, out, err) == 0) {
		put_what(f)->size = out->written;
		if (put_wrote(f, out->written, err) == 0)
			rc = put_commit(put, err);
	}
	if (rc < 0)
		room_explain(dir, 0, err);
	put_free(put);
	close(dir);
	return rc;
}
