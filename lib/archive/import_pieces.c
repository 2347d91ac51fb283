/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_pieces.c - make a dataset of the pieces of an archive that were
 * imported, in any order, by one run or many.
 *
 * Each piece has put its files in place, and its metadata, with the manifest of
 * the piece, into DATASET_DIR_IMPORT.  The last piece has brought the manifest
 * of all files there.  When it finds all of them, the metadata are moved to the
 * directory of the dataset, those last that name the files.  An interrupted
 * move is continued by the next run: the manifest stays behind until the
 * dataset is in the index.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/import_impl.h"
#include "archive/manifest.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "lock.h"
#include "map.h"
#include "mem.h"
#include "meta/attr.h"
#include "meta/rank2file.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "work.h"

/* --- What this run has imported --- */

struct import_seen {
	struct arena *arena;
	struct map *by_path;
	struct seen {
		char sum[HASH_TEXT];
		struct attr attr;
	} * list;
	size_t count, cap;
};

struct import_seen *
import_seen_new(void)
{
	struct import_seen *s = mem_calloc(1, sizeof(*s));

	s->arena = arena_new();
	s->by_path = map_new();
	return s;
}

void
import_seen_free(struct import_seen *s)
{
	if (s == NULL)
		return;
	map_free(s->by_path);
	arena_free(s->arena);
	mem_free(s->list);
	mem_free(s);
}

void
import_note(struct import_seen *s, const char *path, const char *sum,
	    const struct attr *a)
{
	if (a == NULL || !a->has_times)
		return;
	(void)MEM_ROOM(s->list, s->count, s->cap);
	s->list[s->count].attr = *a;
	memcpy(s->list[s->count].sum, sum, HASH_TEXT);
	map_put(s->by_path, path, s->count++);
}

/* --- Comparing --- */

/* Of a file of the manifest of all files. */
struct found {
	enum state { GONE, WRONG, RIGHT } state;
	bool waits;    /* metadata that are not in their place yet */
	bool conflict; /* other metadata are in their place */
};

struct finishing {
	struct catalogue *c;
	const struct import_options *io;
	struct export_result *out;
	struct arena *arena;
	int stage, dir; /* DATASET_DIR_IMPORT; the dataset's, or -1 */
	struct manifest *manifest;
	struct imported *list; /* by entry of the manifest */
	struct found *found;
};

/* Compare the open file with its sum. */
static int
compare(struct finishing *x, size_t i, int fd, enum state *to,
	struct error *err)
{
	const size_t step = (size_t)1 << 20;
	struct imported *f = &x->list[i];
	const struct import_seen *seen = x->io->seen;
	const char *want = x->manifest->entries[i].sum;
	const size_t at = map_get(seen->by_path, f->path);
	struct hash *h = NULL;
	unsigned char *block = NULL;
	struct stat st;
	ssize_t n = 0;
	int rc = 0;

	*to = WRONG;
	if (fstat(fd, &st) < 0)
		return error_sys(err, "%s: cannot stat", f->path);
	f->size = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (at != MAP_NONE && str_eq(seen->list[at].sum, want) &&
	    attr_unchanged(&seen->list[at].attr, &st)) {
		*to = RIGHT;
		return 0;
	}
	h = hash_new(HASH_SHA256, err);
	block = mem_alloc(step, 1);
	rc = h == NULL ? -1 : 0;
	while (rc == 0 && (n = read(fd, block, step)) > 0) {
		hash_update(h, block, (size_t)n);
		progress_add(x->io->look->work.progress, (uint64_t)n);
		rc = work_go_on(&x->io->look->work, err);
	}
	if (n < 0)
		rc = error_sys(err, "%s: cannot read", f->path);
	if (rc == 0) {
		hash_text(h, f->sum);
		*to = str_eq(f->sum, want) ? RIGHT : WRONG;
	}
	hash_free(h);
	mem_free(block);
	return rc;
}

/* Metadata may have been moved, and other ones may be in their place. */
static int
check_file(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct finishing *x = arg;
	const struct imported *f = &x->list[i];
	const bool meta = f->meta != DATASET_DIR_FOREIGN;
	const char *path = meta ? path_base(f->path) : f->path;
	const int first = meta ? x->stage : catalogue_prefix_fd(x->c);
	enum state is[] = { GONE, GONE };
	int rc = 0;

	(void)worker;
	for (int k = meta && x->dir >= 0; rc == 0 && k >= 0; k--) {
		struct error why = ERROR_INIT;
		const int fd = path_open_beneath(k == 0 ? first : x->dir, path,
						 O_RDONLY, 0, &why);

		if (fd >= 0)
			rc = compare(x, i, fd, &is[k], err);
		else if (why.kind != ERROR_ABSENT)
			rc = error_pass(err, &why);
		io_close(fd);
	}
	x->found[i] = (struct found){
		.state = is[0] != GONE ? is[0] : is[1],
		.waits = meta && is[0] != GONE,
		.conflict = is[0] != GONE && is[1] == WRONG,
	};
	return rc;
}

/* Are all files of the manifest there?  If so, compare them.  *bad: one that is
 * not right, or SIZE_MAX. */
static int
check_all(struct finishing *x, size_t *bad, struct error *err)
{
	const struct manifest *m = x->manifest;
	struct pathcache *parents = pathcache_new(catalogue_prefix_fd(x->c));
	uint64_t bytes = 0;
	struct stat st;
	int there = 0, rc = 0;

	*bad = SIZE_MAX;
	x->list = arena_alloc(x->arena, m->count + 1, sizeof(*x->list));
	x->found = arena_alloc(x->arena, m->count + 1, sizeof(*x->found));
	for (size_t i = 0; rc == 0 && i < m->count; i++) {
		struct imported *f = &x->list[i];

		f->path = m->entries[i].path;
		rc = import_classify(f, &x->out->id, err);
		if (rc < 0 || f->meta != DATASET_DIR_FOREIGN)
			continue;
		there = pathcache_look(parents, f->path, &st, err);
		if (there < 0)
			rc = -1;
		else if (there == 0 || !S_ISREG(st.st_mode))
			*bad = i;
		else
			bytes += (uint64_t)st.st_size;
	}
	pathcache_free(parents);
	if (rc < 0 || *bad < SIZE_MAX)
		return rc;
	progress_phase(x->io->look->work.progress, "comparing", bytes);
	rc = par_for(x->io->look->work.par, m->count, 1, check_file, x, err);
	for (size_t i = 0; rc == 0 && i < m->count; i++)
		if (x->found[i].state != RIGHT)
			*bad = i;
	return rc;
}

/* --- What is missing --- */

static struct manifest *
read_manifest(struct finishing *x, const char *name, struct error *err)
{
	struct manifest *m = NULL;
	struct buf raw = BUF_INIT;

	if (io_read_file(x->stage, name, MANIFEST_MAX, &raw, err) == 0)
		m = manifest_parse(raw.data, raw.len, err);
	buf_free(&raw);
	return m;
}

/* Write which pieces are missing, as "3, 5-7"; if none is, which piece has brought
 * the file `bad` that is not right. */
static int
say_missing(struct finishing *x, const char *bad, struct buf *to,
	    struct error *err)
{
	const uint64_t all = x->out->pieces;
	struct buf list = BUF_INIT;
	uint64_t from = 0, has = 0;
	struct stat st;

	for (uint64_t k = 1; k <= all + 1; k++) {
		const char *name = str_printed(64, DATASET_DIR_PIECE, k, all);
		const bool is =
			k <= all && fstatat(x->stage, name, &st, 0) == 0;

		if (k <= all && !is && errno != ENOENT)
			error_sys(err, "%s: cannot stat", name);
		if (is && bad != NULL && has == 0) {
			struct manifest *m = read_manifest(x, name, NULL);

			if (m != NULL && map_get(m->by_path, bad) != MAP_NONE)
				has = k;
			manifest_free(m);
		}
		if (k <= all && !is && from == 0)
			from = k;
		if ((k > all || is) && from > 0) {
			buf_printf(&list, "%s%" PRIu64,
				   list.len > 0 ? ", " : "", from);
			if (from < k - 1)
				buf_printf(&list, "-%" PRIu64, k - 1);
			from = 0;
		}
	}
	if (list.len > 0)
		buf_add(to, list.data, list.len);
	else
		error_set(err, ERROR_CORRUPT,
			  "%s: missing, or changed since piece %s was "
			  "imported: import that piece again",
			  bad != NULL ? str_shown(bad) : DATASET_DIR_MANIFEST,
			  has > 0 ? str_printed(32, "%" PRIu64, has) : "?");
	buf_free(&list);
	return err->kind != ERROR_NONE ? -1 : 0;
}

/* --- All --- */

static int
check_names(struct finishing *x, struct error *err)
{
	struct rank2file_image *images =
		arena_alloc(x->arena, x->manifest->count + 1, sizeof(*images));
	size_t n = 0;

	for (size_t i = 0; i < x->manifest->count; i++) {
		const struct imported *f = &x->list[i];
		const char *name = path_base(f->path);
		size_t len = 0;
		int fd = -1;

		if (f->meta != DATASET_DIR_RANK2FILE &&
		    f->meta != DATASET_DIR_RANK2FILE_PART)
			continue;
		fd = io_open_read(x->found[i].waits ? x->stage : x->dir, name,
				  err);
		if (fd < 0)
			return -1;
		images[n].name = name;
		images[n].data =
			io_read_arena(fd, name, f->size, x->arena, &len, err);
		images[n].len = len;
		io_close(fd);
		if (images[n++].data == NULL)
			return -1;
	}
	return import_check_ranks(x->list, x->manifest->count, images, n, err);
}

/* Move the metadata, those last that name the files. */
static int
move_all(struct finishing *x, struct error *err)
{
	const char *dir = dataset_dir_str(x->out->id);
	const int scr = catalogue_scr_fd(x->c);

	if (create_dir(scr, dir, 0777, create_owner(scr)) < 0 &&
	    errno != EEXIST)
		return error_sys(err, SCR_DIR "/%s: cannot make", dir);
	io_close(x->dir);
	x->dir = path_open_dir(scr, dir, err);
	for (int last = 0; last < 2 && x->dir >= 0; last++) {
		for (size_t i = 0; i < x->manifest->count; i++) {
			const char *name = path_base(x->list[i].path);

			if (x->found[i].waits &&
			    (x->list[i].kind == PUT_MAP) == last &&
			    renameat(x->stage, name, x->dir, name) < 0)
				return error_sys(err, "%s: cannot move",
						 x->list[i].path);
		}
		if (io_sync_dir(x->dir, dir, err) < 0)
			return -1;
	}
	return x->dir < 0 ? -1 : io_sync_dir(scr, SCR_DIR, err);
}

/* Remove what is left beside the manifest. */
static int
clear(struct finishing *x, struct error *err)
{
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, x->stage, "the directory of pieces", err);

	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if (!str_eq(name, DATASET_DIR_MANIFEST) &&
		    !str_eq(name, LOCK_FILE) && unlinkat(x->stage, name, 0) < 0)
			rc = error_sys(err, "%s: cannot remove", name);
	return dir_done(&w, rc, err);
}

static int
finish(struct finishing *x, struct buf *missing, struct error *err)
{
	const struct catalogue_options *o = x->io->look;
	struct error why = ERROR_INIT;
	struct build_result b;
	size_t bad = SIZE_MAX;
	bool conflict = false;

	x->manifest = read_manifest(x, DATASET_DIR_MANIFEST, &why);
	if (x->manifest == NULL)
		return why.kind == ERROR_ABSENT
			       ? say_missing(x, NULL, missing, err)
			       : error_pass(err, &why);
	if (check_all(x, &bad, err) < 0)
		return -1;
	if (bad < SIZE_MAX)
		return say_missing(x, x->list[bad].path, missing, err);
	for (size_t i = 0; i < x->manifest->count; i++)
		conflict = conflict || x->found[i].conflict;
	if (conflict && !o->replace)
		return error_set(err, ERROR_SYSTEM,
				 "%s: has other metadata (--force replaces "
				 "them)",
				 dataset_dir_str(x->out->id));
	if (check_names(x, err) < 0 ||
	    (conflict &&
	     catalogue_supersede(x->c, x->out->id, true, o, err) < 0) ||
	    move_all(x, err) < 0 ||
	    catalogue_build(x->c, x->out->id, o, &b, err) < 0)
		return -1;
	if (clear(x, err) < 0)
		return -1;
	if (renameat(x->stage, DATASET_DIR_MANIFEST, x->dir,
		     DATASET_DIR_MANIFEST) < 0)
		return error_sys(err, "%s: cannot move", DATASET_DIR_MANIFEST);
	memcpy(x->out->name, b.name, sizeof(x->out->name));
	x->out->files = x->out->bytes = 0;
	for (size_t i = 0; i < x->manifest->count; i++)
		if (x->list[i].meta == DATASET_DIR_FOREIGN) {
			x->out->files++;
			x->out->bytes += x->list[i].size;
		}
	return 1;
}

int
import_finish(struct catalogue *c, const struct import_options *io,
	      struct export_result *out, struct buf *missing, struct error *err)
{
	const char *stage = str_printed(64, DATASET_DIR_IMPORT, out->id);
	const int prefix = catalogue_prefix_fd(c);
	struct finishing x = {
		.c = c,
		.io = io,
		.out = out,
		.stage = path_open_dir(prefix, stage, err),
		.dir = -1,
	};
	struct error why = ERROR_INIT;
	int lock = -2, rc = -1;

	x.arena = arena_new();
	if (x.stage >= 0)
		lock = lock_take(x.stage, stage, &io->look->work, err);
	x.dir = path_open_dir(catalogue_scr_fd(c), dataset_dir_str(out->id),
			      &why);
	if (x.stage >= 0 && lock != -1) {
		rc = x.dir < 0 && why.kind != ERROR_ABSENT
			     ? error_pass(err, &why)
			     : finish(&x, missing, err);
	} else if (err->kind == ERROR_ABSENT &&
		   catalogue_may_list(c, out->id)) {
		/* Another process has imported the other pieces. */
		error_clear(err);
		snprintf(out->name, sizeof(out->name), "%s",
			 dataset_dir_str(out->id));
		rc = 1;
	}
	lock_give(x.stage, lock);
	if (rc > 0)
		(void)unlinkat(prefix, stage, AT_REMOVEDIR);
	io_close(x.dir);
	io_close(x.stage);
	manifest_free(x.manifest);
	arena_free(x.arena);
	return rc;
}
