/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import.c - read a dataset from an archive.
 *
 * Every entry is written to a temporary file beside its target, and its
 * checksum is computed.  Only when the manifest, the last entry, has confirmed
 * all entries are the files renamed: first the data, then the metadata that
 * name them.  Pieces are read one after the other, as a single archive.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/import_impl.h"
#include "archive/manifest.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "hash.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "progress.h"
#include "room.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

/* The directory of metadata in an archive. */
#define META_DIR ".scr/scr.dataset."

/* --- Classifying entries --- */

int
import_classify(struct imported *f, int64_t *of, struct error *err)
{
	static const enum put_kind kinds[] = {
		[DATASET_DIR_SUMMARY] = PUT_MAP,
		[DATASET_DIR_RANK2FILE] = PUT_MAP,
		[DATASET_DIR_RANK2FILE_PART] = PUT_DESCRIPTOR,
		[DATASET_DIR_FILEMAP] = PUT_REDUNDANCY,
		[DATASET_DIR_REDUNDANCY] = PUT_REDUNDANCY,
		[DATASET_DIR_DESCRIPTOR] = PUT_REDUNDANCY,
		[DATASET_DIR_KEPT] = PUT_REDUNDANCY,
		[DATASET_DIR_LEFT] = PUT_FILE, /* as all others */
	};
	const char *path = f->path, *name = path_base(path);
	const char *dir = path + strlen(".scr/");
	int64_t id = -1;

	f->kind = PUT_FILE;
	f->meta = DATASET_DIR_FOREIGN;
	if (dataset_dir_is_data(path))
		return 0;
	if (str_starts(path, META_DIR) && name - dir < 64 && name > dir) {
		id = dataset_dir_id(
			str_printed(64, "%.*s", (int)(name - dir - 1), dir));
		f->meta = dataset_dir_kind(name, NULL);
	}
	f->kind = kinds[f->meta];
	if (id <= 0 || f->kind == PUT_FILE)
		return error_set(
			err, ERROR_UNSAFE,
			"%s: unexpected file in the archive of a dataset",
			str_shown(path));
	if (*of > 0 && *of != id)
		return error_set(err, ERROR_CORRUPT,
				 "%s: the archive is of dataset %" PRId64,
				 str_shown(path), *of);
	*of = id;
	return 0;
}

/* --- Reading --- */

/* Read the entry into `image`, up to its limit, or if that is NULL, into its
 * file. */
static int
read_bytes(struct import *x, struct imported *f, struct buf *image,
	   struct error *err)
{
	const size_t max =
		f->meta == DATASET_DIR_KEPT ? MANIFEST_MAX : KVTREE_MAX_ENCODED;
	const int fd = image == NULL ? put_open(f->put, err) : -1;
	size_t got = IMPORT_STEP;
	int rc = image != NULL || fd >= 0 ? 0 : -1;

	for (; rc == 0 && got == IMPORT_STEP; f->size += got) {
		if (work_go_on(&x->o->work, err) < 0 ||
		    ark_in_read(x->ark, x->block, IMPORT_STEP, &got, err) < 0)
			return -1;
		work_moved(&x->o->work, got);
		hash_update(x->hash, x->block, got);
		if (image == NULL)
			rc = put_pwrite(f->put, fd, x->block, got, f->size,
					err);
		else if (buf_add(image, x->block, got), image->len > max)
			rc = error_set(err, ERROR_CORRUPT,
				       "%s: longer than the limit of %zu bytes",
				       f->path, max);
	}
	hash_text(x->hash, f->sum);
	return rc < 0 || image != NULL ? rc : put_wrote(f->put, f->size, err);
}

/* Is it the first entry of a piece?  1; 0: the archive is whole. */
static int
begins_piece(struct import *x, const struct imported *f, uint64_t size,
	     struct error *err)
{
	uint64_t k = 0, n = 0;

	if (f->meta != DATASET_DIR_KEPT || size > 0 ||
	    !dataset_dir_piece(path_base(f->path), &k, &n))
		return x->out.pieces == 0
			       ? 0
			       : error_set(err, ERROR_CORRUPT,
					   "not a piece of the archive, as the "
					   "others: import it alone");
	if (x->out.pieces == 0) {
		x->given = arena_alloc(x->arena, n + 1, sizeof(*x->given));
		x->out.pieces = n;
	}
	if (x->out.pieces != n)
		return error_set(err, ERROR_CORRUPT,
				 "is one of %" PRIu64
				 " pieces, the others are of %" PRIu64
				 ": import the pieces of one archive",
				 n, x->out.pieces);
	if (x->given[k])
		return error_set(err, ERROR_CORRUPT,
				 "piece %" PRIu64 " is given twice", k);
	x->given[k] = true;
	x->piece = k;
	x->own_name = f->path;
	x->out.piece = x->count > 0 ? 0 : k;
	return 1;
}

/* Is it the manifest of the piece? */
static bool
is_own(const struct import *x, const struct imported *f)
{
	return x->own_name != NULL && str_eq(f->path, x->own_name);
}

/* Read a manifest: that of the piece, which is not kept, or that of all
 * files. */
static int
take_manifest(struct import *x, const struct imported *f, const struct buf *raw,
	      struct error *err)
{
	const bool own = is_own(x, f);
	struct manifest **to = own ? &x->own : &x->manifest;

	if (!own && (!str_eq(path_base(f->path), DATASET_DIR_MANIFEST) ||
		     (x->own_name != NULL && x->piece < x->out.pieces)))
		return error_set(err, ERROR_UNSAFE,
				 "%s: unexpected manifest in the archive",
				 str_shown(f->path));
	if (*to != NULL)
		return error_set(err, ERROR_CORRUPT, "%s: occurs twice",
				 f->path);
	*to = manifest_parse(raw->data, raw->len, err);
	return *to == NULL ? -1 : 0;
}

static int
read_file(struct import *x, const struct ark_entry *e, struct error *err)
{
	const int prefix = catalogue_prefix_fd(x->c);
	struct imported f = { .path = arena_strdup(x->arena, e->path) };
	struct attr *a = arena_alloc(x->arena, 1, sizeof(*a));
	struct put_what what = {
		.dirfd = prefix,
		.path = f.path,
		.size = e->attr.size,
		.attr = e->attr.has_owner || e->attr.has_times ? a : NULL,
	};
	struct buf raw = BUF_INIT;
	int rc = 0;

	*a = e->attr;
	if (import_classify(&f, &x->out.id, err) < 0)
		return -1;
	if (!x->begun) {
		x->begun = true;
		rc = begins_piece(x, &f, e->attr.size, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
	}
	if (map_get(x->by_path, f.path) != MAP_NONE)
		return error_set(err, ERROR_CORRUPT, "%s: occurs twice",
				 str_shown(f.path));
	/* What the commit depends on is kept in memory. */
	if (f.meta == DATASET_DIR_KEPT || f.meta == DATASET_DIR_RANK2FILE ||
	    f.meta == DATASET_DIR_RANK2FILE_PART) {
		rc = read_bytes(x, &f, &raw, err);
		if (rc == 0 && f.meta == DATASET_DIR_KEPT)
			rc = take_manifest(x, &f, &raw, err);
		if (rc == 0)
			what.image = arena_strndup(
				x->arena, raw.len > 0 ? raw.data : "", raw.len);
		what.image_size = what.size = raw.len;
		buf_free(&raw);
		if (rc < 0 || is_own(x, &f))
			return rc;
	}
	what.kind = f.kind;
	f.put = put_add(x->put, &what, NULL);
	/* A sparse entry of any size fits into a small archive. */
	if (what.image == NULL &&
	    ((what.size > IMPORT_STEP &&
	      room_check(prefix, what.size, f.path, err) < 0) ||
	     read_bytes(x, &f, NULL, err) < 0))
		return -1;
	map_put(x->by_path, f.path, x->count);
	(void)MEM_ROOM(x->list, x->count, x->cap);
	x->list[x->count++] = f;
	x->out.files += f.kind == PUT_FILE;
	x->out.bytes += f.kind == PUT_FILE ? f.size : 0;
	x->out.hidden += f.kind != PUT_FILE;
	return 0;
}

/* --- Comparing --- */

/* Check that every file of the archive is in its manifest with the same
 * checksum, and every line of the manifest in the archive. */
static int
compare(struct import *x, struct error *err)
{
	const struct manifest *m = x->own_name != NULL ? x->own : x->manifest;
	size_t left = 0;

	if (m == NULL)
		return error_set(err, ERROR_CORRUPT,
				 "has no %s: not an archive of a dataset, or "
				 "cut off",
				 x->own_name != NULL ? path_base(x->own_name)
						     : DATASET_DIR_MANIFEST);
	left = m->count;
	for (size_t i = x->first; i < x->count; i++) {
		const struct imported *f = &x->list[i];

		if (f->meta == DATASET_DIR_KEPT && x->own_name == NULL)
			continue;
		if (import_compare(m, f, err) < 0)
			return -1;
		left--;
	}
	return left == 0 ? 0
			 : error_set(err, ERROR_CORRUPT,
				     "lacks %zu %s of its manifest",
				     str_count(left, "file"));
}

int
import_compare(const struct manifest *m, const struct imported *f,
	       struct error *err)
{
	const size_t at = map_get(m->by_path, f->path);

	if (at == MAP_NONE)
		return error_set(err, ERROR_CORRUPT,
				 "%s: is not in the manifest",
				 str_shown(f->path));
	return str_eq(m->entries[at].sum, f->sum)
		       ? 0
		       : error_set(err, ERROR_CORRUPT,
				   "%s: differs from the manifest: SHA-256 is "
				   "%s",
				   str_shown(f->path), f->sum);
}

/* --- All --- */

struct import *
import_new(struct catalogue *c, const struct catalogue_options *o,
	   struct error *err)
{
	struct import *x = mem_calloc(1, sizeof(*x));
	const struct put_options how = {
		.par = work_waiting(&o->work, catalogue_prefix_fd(c)),
		.alone = true,
		.unlocked = true,
		.tidy = true,
		.guard = { import_make_way, x, import_take_back },
		.work = &o->work,
	};

	x->c = c;
	x->o = o;
	x->out.id = -1;
	x->arena = arena_new();
	x->by_path = map_new();
	x->block = mem_aligned(4096, IMPORT_STEP);
	x->put = put_new(&how, NULL);
	x->parents = pathcache_new(catalogue_prefix_fd(c));
	x->hash = hash_new(HASH_SHA256, err);
	x->made_scr = catalogue_scr_fd(c) < 0;
	if (x->hash == NULL || catalogue_open_scr(c, true, err) < 0) {
		import_free(x);
		return NULL;
	}
	return x;
}

int
import_read(struct import *x, int fd, const char *name, struct error *err)
{
	struct ark_in *ark = ark_in_new(fd, name, x->o->work.stop, err);
	bool last = false;
	struct ark_entry e;
	int rc = ark == NULL ? -1 : 1;

	x->ark = ark;
	x->begun = false;
	x->own_name = NULL;
	x->first = x->count;
	while (rc > 0 && (rc = ark_in_next(ark, &e, err)) > 0) {
		if (e.kind == ARK_FILE && read_file(x, &e, err) < 0)
			rc = error_wrap(err, "%s", name);
		if (e.kind == ARK_DIR && dataset_dir_is_data(e.path)) {
			(void)MEM_ROOM(x->dirs, x->ndirs, x->dirs_cap);
			x->dirs[x->ndirs].path = arena_strdup(x->arena, e.path);
			x->dirs[x->ndirs++].attr = e.attr;
		}
	}
	last = x->out.pieces > 0 && x->piece == x->out.pieces;
	if (rc == 0 && compare(x, err) < 0)
		rc = error_wrap(err, "%s", name);
	if (rc == 0 && last && x->manifest == NULL)
		rc = error_set(err, ERROR_CORRUPT,
			       "%s: has no " DATASET_DIR_MANIFEST
			       ": not the last piece of an archive",
			       name);
	if (rc == 0 && last)
		x->last = arena_strdup(x->arena, name);
	if (rc < 0)
		room_explain(catalogue_prefix_fd(x->c), 0, err);
	manifest_free(x->own);
	x->own = NULL;
	ark_in_free(ark);
	x->ark = NULL;
	return rc;
}

uint64_t
import_pieces(const struct import *x)
{
	return x == NULL ? 0 : x->out.pieces;
}

void
import_free(struct import *x)
{
	if (x == NULL)
		return;
	put_free(x->put);
	if (!x->done && x->asked) {
		work_say(&x->o->work,
			 "nodes may have put files in place, which are in no "
			 "index: the next import takes them up");
		catalogue_rollback(x->c, x->out.id, x->o);
	}
	if (!x->done && x->made_scr)
		(void)unlinkat(catalogue_prefix_fd(x->c), SCR_DIR,
			       AT_REMOVEDIR);
	pathcache_free(x->parents);
	manifest_free(x->manifest);
	hash_free(x->hash);
	map_free(x->by_path);
	mem_free(x->block);
	mem_free(x->dirs);
	mem_free(x->list);
	arena_free(x->arena);
	mem_free(x);
}
