/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export.c - write a dataset to an archive.
 */
#include "archive/export_impl.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/manifest.h"
#include "arena.h"
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

/* --- One entry --- */

/* Copy an entry from its file, or from containers. */
static int
put_entry(struct exported *a, const struct export_entry *e, struct error *err)
{
	const struct packed *p = a->x->p;
	const struct work *work = a->x->eo->work;
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
			a->arena, &from, err) < 0)
		return -1;
	rc = ark_out_begin(a->ark, ARK_FILE, e->path, e->size, &e->attr, err);
	for (uint64_t off = 0; rc == 0 && off < e->size; off += STEP) {
		const size_t len =
			e->size - off < STEP ? (size_t)(e->size - off) : STEP;

		if (work_go_on(work, err) < 0 ||
		    stripe_read(&from, a->cache, off, a->block, len, err) < 0 ||
		    ark_out_data(a->ark, a->block, len, err) < 0)
			rc = -1;
		hash_update(a->hash, a->block, len);
		crc = crc_update(crc, a->block, len);
		work_moved(work, len);
	}
	stripe_cache_drop(a->cache); /* before the parts, which it uses */
	if (rc < 0)
		return -1;
	hash_text(a->hash, sum);
	if (ark_out_end(a->ark, err) < 0 ||
	    manifest_add(&a->manifest, sum, e->path, err) < 0)
		return -1;
	return e->data && e->file->has_crc && e->size > 0 && e->file->crc != crc
		       ? segmap_wrong_sum(e->file, crc, err)
		       : 0;
}

/* --- The files --- */

static struct export_entry *
add_entry(struct exporting *x, const char *path, const struct segmap_file *file)
{
	(void)MEM_ROOM(x->list, x->count, x->cap);
	x->list[x->count] = (struct export_entry){
		.path = path,
		.file = file,
	};
	return &x->list[x->count++];
}

static int
list_data(struct exporting *x, struct error *err)
{
	struct packed *p = x->p;
	struct pathcache *parents = pathcache_new(p->file_fd);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->map.nfiles; i++) {
		struct segmap_file *f = &p->map.files[i];
		struct export_entry *e = add_entry(x, f->path, f);

		e->data = true;
		rc = packed_attr(p, i, parents, &e->attr, err);
		if (!f->has_size && f->nsegs == 0 && e->attr.has_size)
			f->size = e->attr.size;
		e->size = f->size;
	}
	pathcache_free(parents);
	return rc;
}

static int
by_path(const void *a, const void *b)
{
	const struct export_entry *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int
list_redundancy(struct exporting *x, struct error *err)
{
	const struct packed *p = x->p;
	const struct segmap *h = &p->hidden.map;
	const size_t first = x->count;
	struct export_entry *e = NULL;
	const char *name = NULL;
	struct dir_walk w;
	struct stat st;
	int rc = dir_walk(&w, p->meta_fd, p->dir, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		if (!dataset_dir_is_recovery(name))
			continue;
		if (dir_stat(p->meta_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			rc = error_sys(err, "%s: cannot stat", name);
		} else if (S_ISREG(st.st_mode)) {
			e = add_entry(
				x,
				arena_printf(x->arena, "%s/%s", p->dir, name),
				NULL);
			attr_from_stat(&e->attr, &st);
			e->size = e->attr.size;
		}
	}
	if (dir_done(&w, rc, err) < 0)
		return -1;
	/* All who write pieces need the same order. */
	if (x->eo->split > 0 && x->count > first)
		qsort(x->list + first, x->count - first, sizeof(*x->list),
		      by_path);
	for (size_t i = 0; i < h->nfiles; i++) {
		const struct segmap_file *f = &h->files[i];

		if (f->tree != NULL || dir_stat(p->meta_fd, f->path, &st,
						AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		e = add_entry(
			x, arena_printf(x->arena, "%s/%s", p->dir, f->path), f);
		e->attr = f->attr;
		e->size = f->size;
	}
	return 0;
}

int
export_list(struct exporting *x, struct error *err)
{
	uint64_t bytes = 0;

	*x->out = (struct export_result){ .id = x->p->id };
	x->arena = arena_new();
	if (packed_refuse_marked(x->p, 0, x->p->map.nfiles, NULL, err) < 0 ||
	    packed_renew(x->p, err) < 0 || list_data(x, err) < 0 ||
	    (x->eo->redundancy && list_redundancy(x, err) < 0))
		return -1;
	for (size_t i = 0; i < x->count; i++) {
		const struct export_entry *e = &x->list[i];

		if (ark_fits(e->path, e->size, err) < 0)
			return -1;
		x->out->files += e->data;
		x->out->bytes += e->data ? e->size : 0;
		x->out->hidden += !e->data;
		bytes += e->size;
	}
	progress_phase(x->eo->work->progress, "exporting", bytes);
	return 0;
}

void
export_list_free(struct exporting *x)
{
	mem_free(x->list);
	arena_free(x->arena);
}

int
export_entries(struct exported *a, size_t from, size_t to, struct error *err)
{
	const struct exporting *x = a->x;
	const struct packed *p = x->p;
	struct packed_dirs dirs;
	bool *only = NULL;

	if (to - from < x->count)
		only = arena_alloc(a->arena, p->map.nfiles + 1, sizeof(*only));
	for (size_t i = from; i < to; i++) {
		const struct export_entry *e = &x->list[i];

		if (put_entry(a, e, err) < 0)
			return -1;
		if (only != NULL && e->data)
			only[e->file - p->map.files] = true;
	}
	/* Pieces are written on the threads of `par`. */
	if (packed_dirs(p, only,
			x->eo->split == 0
				? work_waiting(x->eo->work, p->file_fd)
				: NULL,
			a->arena, &dirs, err) < 0)
		return -1;
	for (size_t i = 0; i < dirs.count; i++)
		if (ark_out_begin(a->ark, ARK_DIR, dirs.list[i].path, 0,
				  &dirs.list[i].attr, err) < 0 ||
		    ark_out_end(a->ark, err) < 0)
			return -1;
	return 0;
}

/* --- Metadata --- */

int
export_bytes(struct exported *a, const char *name, const struct buf *bytes,
	     struct error *err)
{
	const struct attr none = { .has_owner = false };
	const char *path = arena_printf(a->arena, "%s/%s", a->x->p->dir, name);

	a->bound += ark_bound(path, bytes->len);
	if (a->ark == NULL)
		return 0;
	return ark_out_begin(a->ark, ARK_FILE, path, bytes->len, &none, err) <
				       0 ||
			       ark_out_data(a->ark, bytes->data, bytes->len,
					    err) < 0
		       ? -1
		       : ark_out_end(a->ark, err);
}

int
export_image(void *archive, const char *name, const struct buf *image,
	     struct error *err)
{
	struct exported *a = archive;
	const char *path = arena_printf(a->arena, "%s/%s", a->x->p->dir, name);
	char sum[HASH_TEXT];

	if (export_bytes(a, name, image, err) < 0 ||
	    hash_bytes(image->data, image->len, sum, err) < 0 ||
	    manifest_add(&a->manifest, sum, path, err) < 0)
		return -1;
	a->x->out->hidden +=
		a->ark != NULL && !str_eq(name, DATASET_DIR_MANIFEST);
	return 0;
}

static int
put_tree(struct exported *a, const char *name, const struct kvtree *t,
	 struct error *err)
{
	struct buf raw = BUF_INIT;
	int rc = kvtree_encode(t, &raw, err);

	if (rc == 0)
		rc = export_image(a, name, &raw, err);
	buf_free(&raw);
	return rc;
}

/* The redundancy that is packed as trees, unless a file with the same name
 * exists; the summary; the rank2file of the unpacked dataset. */
int
export_metadata(struct exported *a, struct error *err)
{
	const struct packed *p = a->x->p;
	const struct segmap *h = &p->hidden.map;
	struct kvtree *summary = NULL;
	struct rank2file r;
	struct stat st;
	int rc = -1;

	for (size_t i = 0; a->x->eo->redundancy && i < h->nfiles; i++)
		if (h->files[i].tree != NULL &&
		    dir_stat(p->meta_fd, h->files[i].path, &st,
			     AT_SYMLINK_NOFOLLOW) < 0 &&
		    put_tree(a, h->files[i].path, h->files[i].tree, err) < 0)
			return -1;
	summary = p->layout == 1
			  ? catalogue_old_summary(p, err)
			  : kvtree_read_file(p->meta_fd, SUMMARY_FILE, err);
	if (summary != NULL)
		rc = put_tree(a, SUMMARY_FILE, summary, err);
	kvtree_free(summary);
	if (rc < 0)
		return error_wrap(err, "%s", p->dir);
	if (segmap_write(&p->map, p->r2f.nranks, true, &r, err) < 0)
		return -1;
	rc = rank2file_each(&r, RANK2FILE_FILE, export_image, a, err);
	rank2file_free(&r);
	return rc;
}

/* --- One archive --- */

int
export_begin(struct exported *a, int fd, const char *name, struct error *err)
{
	const struct export_options *eo = a->x->eo;

	a->arena = arena_new();
	a->block = mem_aligned(4096, STEP);
	a->hash = hash_new(HASH_SHA256, err);
	a->cache = stripe_cache_new(16, false, NULL);
	if (a->hash != NULL)
		a->ark = ark_out_new(fd, name, eo->filter, eo->threads,
				     eo->work->stop, err);
	return a->ark == NULL ? -1 : 0;
}

void
export_end(struct exported *a)
{
	stripe_cache_free(a->cache);
	ark_out_free(a->ark);
	buf_free(&a->manifest);
	hash_free(a->hash);
	mem_free(a->block);
	arena_free(a->arena);
}

/*
 * Write the dataset (one of SCR 1.1.8: packed_renew()) as an archive to the
 * descriptor `fd`, which may be a pipe; `name` is for messages.  Checksums are
 * compared while reading.  ERROR_DAMAGED: a file is missing or damaged, and the
 * archive is unusable.
 */
static int
write_all(struct exporting *x, int fd, const char *name, struct error *err)
{
	struct exported a = { .x = x, .manifest = BUF_INIT };
	int rc = -1;

	if (export_begin(&a, fd, name, err) == 0 &&
	    export_entries(&a, 0, x->count, err) == 0 &&
	    export_metadata(&a, err) == 0 &&
	    export_bytes(&a, DATASET_DIR_MANIFEST, &a.manifest, err) == 0)
		rc = ark_out_close(a.ark, &x->out->written, err);
	export_end(&a);
	return rc;
}

/* --- Files --- */

int
export_parent(const char *file, struct error *err)
{
	char parent[PATH_MAX];
	int dir = -1;

	snprintf(parent, sizeof(parent), "%.*s", (int)(path_base(file) - file),
		 file);
	dir = open(parent[0] != '\0' ? parent : ".",
		   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir >= 0 ? dir : error_sys(err, "%s: cannot make", file);
}

int
export_file(const char *file, bool shared,
	    int (*fn)(void *arg, int fd, uint64_t *written, struct error *err),
	    void *arg, struct error *err)
{
	struct put *put = NULL;
	struct put_file *f = NULL;
	uint64_t written = 0;
	int dir = -1, fd = -1, rc = -1;

	if (io_check_output(file, err) < 0)
		return -1;
	dir = export_parent(file, err);
	if (dir < 0)
		return -1;
	put = put_new(&(struct put_options){ .unlocked = shared }, NULL);
	f = put_add(put,
		    &(struct put_what){ .dirfd = dir,
					.path = path_base(file),
					.size = UINT64_MAX },
		    NULL);
	fd = put_open(f, err);
	if (fd >= 0)
		rc = fn(arg, fd, &written, err);
	if (rc == 0) {
		put_what(f)->size = written;
		rc = put_wrote(f, written, err);
	}
	if (rc == 0)
		rc = put_commit(put, err);
	if (rc < 0)
		room_explain(dir, 0, err);
	put_free(put);
	close(dir);
	return rc;
}

static int
write_file(void *arg, int fd, uint64_t *written, struct error *err)
{
	struct exporting *x = arg;
	const int rc = write_all(x, fd, x->name, err);

	*written = x->out->written;
	return rc;
}

int
export_to(struct packed *p, const char *file, const struct export_options *eo,
	  struct export_result *out, struct error *err)
{
	struct exporting x = { .p = p, .eo = eo, .out = out, .name = file };
	int rc = -1;

	if (eo->split > 0)
		return export_split(p, file, eo, out, err);
	if (export_list(&x, err) == 0)
		rc = file == NULL || str_eq(file, "-")
			     ? write_all(&x, STDOUT_FILENO, "standard output",
					 err)
			     : export_file(file, false, write_file, &x, err);
	export_list_free(&x);
	return rc;
}
