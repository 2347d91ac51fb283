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

/* An archive that is written. */
struct exported {
	const struct exporting *x;
	struct ark_out *ark;
	struct hash *hash;
	struct buf *manifest;
	unsigned char *block; /* STEP bytes */
	struct arena *arena;
	struct stripe_cache *cache;
};

/* --- The list --- */

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

/* The same of the file `name` beside the metadata. */
static struct export_entry *
add_hidden(struct exporting *x, const char *name,
	   const struct segmap_file *file)
{
	return add_entry(x, arena_printf(x->arena, "%s/%s", x->p->dir, name),
			 file);
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

/* Does a file with the name of a packed one exist beside the metadata? */
static bool
is_there(const struct packed *p, const char *name)
{
	struct stat st;

	return dir_stat(p->meta_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
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
			e = add_hidden(x, name, NULL);
			attr_from_stat(&e->attr, &st);
			e->size = e->attr.size;
		}
	}
	if (dir_done(&w, rc, err) < 0)
		return -1;
	/* All who write pieces need the same order. */
	if (x->count > first)
		qsort(x->list + first, x->count - first, sizeof(*x->list),
		      by_path);
	for (size_t i = 0; i < h->nfiles; i++) {
		const struct segmap_file *f = &h->files[i];

		if (f->tree != NULL || is_there(p, f->path))
			continue;
		e = add_hidden(x, f->path, f);
		e->attr = f->attr;
		e->size = f->size;
	}
	return 0;
}

static int
add_image(void *exporting, const char *name, const struct buf *image,
	  struct error *err)
{
	struct exporting *x = exporting;
	struct export_entry *e = add_hidden(x, name, NULL);

	(void)err;
	e->image = arena_strndup(x->arena, image->data, image->len);
	e->size = image->len;
	return 0;
}

static int
add_tree(struct exporting *x, const char *name, const struct kvtree *t,
	 struct error *err)
{
	struct buf raw = BUF_INIT;
	int rc = kvtree_encode(t, &raw, err);

	if (rc == 0)
		rc = add_image(x, name, &raw, err);
	buf_free(&raw);
	return rc;
}

/* The redundancy that is packed as trees, unless a file with the same name
 * exists; the summary; the rank2file of the unpacked dataset. */
static int
list_metadata(struct exporting *x, struct error *err)
{
	const struct packed *p = x->p;
	const struct segmap *h = &p->hidden.map;
	struct kvtree *summary = NULL;
	struct rank2file r;
	int rc = -1;

	for (size_t i = 0; x->eo->redundancy && i < h->nfiles; i++)
		if (h->files[i].tree != NULL &&
		    !is_there(p, h->files[i].path) &&
		    add_tree(x, h->files[i].path, h->files[i].tree, err) < 0)
			return -1;
	summary = p->layout == 1
			  ? catalogue_old_summary(p, err)
			  : kvtree_read_file(p->meta_fd, SUMMARY_FILE, err);
	if (summary != NULL)
		rc = add_tree(x, SUMMARY_FILE, summary, err);
	kvtree_free(summary);
	if (rc < 0)
		return error_wrap(err, "%s", p->dir);
	if (segmap_write(&p->map, p->r2f.nranks, true, &r, err) < 0)
		return -1;
	rc = rank2file_each(&r, RANK2FILE_FILE, add_image, x, err);
	rank2file_free(&r);
	return rc;
}

int
export_list(struct exporting *x, struct error *err)
{
	uint64_t bytes = 0;

	if (packed_refuse_marked(x->p, 0, x->p->map.nfiles, NULL, err) < 0 ||
	    packed_renew(x->p, err) < 0 || list_data(x, err) < 0 ||
	    (x->eo->redundancy && list_redundancy(x, err) < 0))
		return -1;
	x->images = x->count;
	if (list_metadata(x, err) < 0)
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

/* --- One archive --- */

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
		.mem = (unsigned char *)e->image,
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
	    manifest_add(a->manifest, sum, e->path, err) < 0)
		return -1;
	return e->data && e->file->has_crc && e->size > 0 && e->file->crc != crc
		       ? segmap_wrong_sum(e->file, crc, err)
		       : 0;
}

/* Write bytes as a file of the metadata directory. */
static int
put_bytes(struct exported *a, const char *name, const struct buf *bytes,
	  struct error *err)
{
	const struct export_entry e = {
		.path = arena_printf(a->arena, "%s/%s", a->x->p->dir, name),
		.image = bytes->data,
		.size = bytes->len,
	};

	return put_entry(a, &e, err);
}

/* Write the files of the piece, and behind the users' their directories. */
static int
put_entries(struct exported *a, const struct export_piece *piece,
	    struct error *err)
{
	const struct exporting *x = a->x;
	const struct packed *p = x->p;
	const bool split = x->eo->split > 0;
	struct packed_dirs dirs;
	bool *only =
		split ? arena_alloc(a->arena, p->map.nfiles + 1, sizeof(*only))
		      : NULL;
	size_t i = piece->from;

	for (; i < piece->to && i < x->images; i++) {
		const struct export_entry *e = &x->list[i];

		if (put_entry(a, e, err) < 0)
			return -1;
		if (only != NULL && e->data)
			only[e->file - p->map.files] = true;
	}
	/* Pieces are written on the threads of `par`. */
	if (packed_dirs(p, only,
			split ? NULL : work_waiting(x->eo->work, p->file_fd),
			a->arena, &dirs, err) < 0)
		return -1;
	for (size_t k = 0; k < dirs.count; k++)
		if (ark_out_begin(a->ark, ARK_DIR, dirs.list[k].path, 0,
				  &dirs.list[k].attr, err) < 0 ||
		    ark_out_end(a->ark, err) < 0)
			return -1;
	for (; i < piece->to; i++)
		if (put_entry(a, &x->list[i], err) < 0)
			return -1;
	return 0;
}

/*
 * Write the archive, or one of its pieces (of SCR 1.1.8: packed_renew()), to
 * the descriptor `fd`, which may be a pipe.  Checksums are compared while
 * reading.  ERROR_DAMAGED: a file is missing or damaged, and the archive is
 * unusable.
 */
static int
write_piece(struct exporting *x, size_t i, int fd, struct buf *manifest,
	    struct error *err)
{
	const struct export_options *eo = x->eo;
	struct export_piece *p = &x->pieces[i];
	const bool split = eo->split > 0;
	const unsigned threads = eo->threads / (unsigned)x->npieces;
	struct exported a = {
		.x = x,
		.manifest = manifest,
		.hash = hash_new(HASH_SHA256, err),
		.block = mem_aligned(4096, STEP),
		.arena = arena_new(),
		.cache = stripe_cache_new(16, false, NULL),
	};
	const struct buf nothing = BUF_INIT;
	char own[64] = DATASET_DIR_MANIFEST;
	size_t len = 0;
	int rc = -1;

	if (split)
		str_print(own, sizeof(own), DATASET_DIR_PIECE, (uint64_t)i + 1,
			  (uint64_t)x->npieces);
	if (a.hash != NULL)
		a.ark = ark_out_new(
			fd, p->path != NULL ? p->path : "standard output",
			eo->filter, threads > 0 ? threads : 1, eo->work->stop,
			err);
	if (a.ark == NULL || (split && put_bytes(&a, own, &nothing, err) < 0))
		goto out;
	buf_clear(manifest);
	if (put_entries(&a, p, err) < 0)
		goto out;
	if (split && i == x->npieces - 1) {
		buf_add(&x->all, manifest->data, manifest->len);
		if (put_bytes(&a, DATASET_DIR_MANIFEST, &x->all, err) < 0)
			goto out;
	}
	len = manifest->len;
	if (put_bytes(&a, own, manifest, err) == 0)
		rc = ark_out_close(a.ark, &p->written, err);
	manifest->len = len; /* it does not list itself */
out:
	stripe_cache_free(a.cache);
	ark_out_free(a.ark);
	hash_free(a.hash);
	mem_free(a.block);
	arena_free(a.arena);
	return rc;
}

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
export_piece(struct exporting *x, size_t i, struct buf *manifest,
	     struct error *err)
{
	const struct put_options how = { .unlocked = x->eo->split > 0 };
	const struct export_piece *p = &x->pieces[i];
	struct put *put = NULL;
	struct put_file *f = NULL;
	int dir = -1, fd = -1, rc = -1;

	if (p->path == NULL)
		return write_piece(x, i, STDOUT_FILENO, manifest, err);
	if (io_check_output(p->path, err) < 0)
		return -1;
	dir = export_parent(p->path, err);
	if (dir < 0)
		return -1;
	put = put_new(&how, NULL);
	f = put_add(put,
		    &(struct put_what){ .dirfd = dir,
					.path = path_base(p->path),
					.size = UINT64_MAX },
		    NULL);
	fd = put_open(f, err);
	if (fd >= 0)
		rc = write_piece(x, i, fd, manifest, err);
	if (rc == 0 && i < x->npieces - 1 && export_is_done(x, i, NULL))
		rc = 1;
	if (rc == 0 && p->note != NULL)
		(void)unlink(p->note); /* of what is about to be replaced */
	if (rc == 0) {
		put_what(f)->size = p->written;
		rc = put_wrote(f, p->written, err);
	}
	if (rc == 0)
		rc = put_commit(put, err);
	if (rc < 0)
		room_explain(dir, 0, err);
	put_free(put);
	close(dir);
	return rc;
}

struct export_piece *
export_add_piece(struct exporting *x, size_t from)
{
	(void)MEM_ROOM(x->pieces, x->npieces, x->pieces_cap);
	x->pieces[x->npieces] = (struct export_piece){
		.path = x->file,
		.from = from,
		.to = from,
	};
	return &x->pieces[x->npieces++];
}

int
export_to(struct packed *p, const char *file, const struct export_options *eo,
	  struct export_result *out, struct error *err)
{
	struct exporting x = {
		.p = p,
		.eo = eo,
		.out = out,
		.file = file == NULL || str_eq(file, "-") ? NULL : file,
		.arena = arena_new(),
		.all = BUF_INIT,
	};
	struct buf manifest = BUF_INIT;
	int rc = -1;

	*out = (struct export_result){ .id = p->id };
	if (export_list(&x, err) < 0) {
		rc = -1;
	} else if (eo->split > 0) {
		rc = export_split(&x, err);
		out->pieces = x.npieces;
	} else {
		export_add_piece(&x, 0)->to = x.count;
		rc = export_piece(&x, 0, &manifest, err);
	}
	for (size_t i = 0; i < x.npieces; i++)
		out->written += x.pieces[i].written;
	buf_free(&manifest);
	buf_free(&x.all);
	mem_free(x.pieces);
	mem_free(x.list);
	arena_free(x.arena);
	return rc;
}
