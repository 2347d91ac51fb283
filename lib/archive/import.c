/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import.c - read a dataset from an archive.
 *
 * Every entry is written to a temporary file beside its target, and its
 * checksum is computed.  Only when the manifest, the last entry, has confirmed
 * all entries are the files renamed: first the data, then the metadata that
 * name them.  Those of a piece of an archive are put aside: import_pieces.c.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/import_impl.h"
#include "archive/manifest.h"
#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "error.h"
#include "hash.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "path.h"
#include "progress.h"
#include "room.h"
#include "str.h"
#include "transfer/put.h"
#include "work.h"

/* A file is read in steps of this size. */
#define STEP ((size_t)1 << 20)

/* The directory of metadata in an archive. */
#define META_DIR ".scr/scr.dataset."

struct importing {
	struct catalogue *c;
	const struct catalogue_options *o;
	struct export_result *out;
	struct ark_in *ark;
	struct hash *hash;
	unsigned char *block; /* STEP bytes */
	struct arena *arena;
	struct put *put;
	struct pathcache *parents; /* of existing files */
	struct imported *list;
	size_t count, cap;
	struct manifest *manifest;
	struct owners_guard *owners;
	struct import_seen *seen;
	const char *own; /* of a piece: the name of its manifest; else NULL */
};

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

/* Read the next bytes of the entry into the block.  *got is less than STEP only
 * at the end of the entry. */
static int
read_block(struct importing *x, size_t *got, struct error *err)
{
	size_t n = 0;

	for (*got = 0; *got < STEP; *got += n) {
		if (work_go_on(&x->o->work, err) < 0 ||
		    ark_in_read(x->ark, x->block + *got, STEP - *got, &n, err) <
			    0)
			return -1;
		if (n == 0)
			break;
		progress_add(x->o->work.progress, n);
	}
	return 0;
}

/* Write the bytes of the entry to the file that was added last. */
static int
take_bytes(struct importing *x, uint64_t size, struct error *err)
{
	struct imported *f = &x->list[x->count - 1];
	const int fd = put_open(f->put, err);
	size_t got = STEP;

	/* A sparse entry of any size fits into a small archive. */
	if (fd < 0 || (size > STEP && room_check(catalogue_prefix_fd(x->c),
						 size, f->path, err) < 0))
		return -1;
	for (; got == STEP; f->size += got) {
		if (read_block(x, &got, err) < 0 ||
		    put_pwrite(f->put, fd, x->block, got, f->size, err) < 0)
			return -1;
		hash_update(x->hash, x->block, got);
	}
	hash_text(x->hash, f->sum);
	return put_wrote(f->put, f->size, err);
}

/* Read a file into memory, where it is kept until the commit.  Parse the
 * manifest. */
static int
take_image(struct importing *x, struct imported *f, struct put_what *what,
	   struct error *err)
{
	const bool manifest = f->meta == DATASET_DIR_KEPT;
	const size_t max = manifest ? MANIFEST_MAX : KVTREE_MAX_ENCODED;
	struct buf raw = BUF_INIT;
	size_t got = 0;
	int rc = 0;

	do {
		rc = read_block(x, &got, err);
		if (rc == 0)
			buf_add(&raw, x->block, got);
		if (rc == 0 && raw.len > max)
			rc = error_set(err, ERROR_CORRUPT,
				       "%s: longer than the limit of %zu bytes",
				       what->path, max);
	} while (rc == 0 && got == STEP);
	if (rc == 0 && manifest && x->manifest == NULL &&
	    (x->own == NULL || str_eq(path_base(f->path), x->own)))
		x->manifest = manifest_parse(raw.data, raw.len, err);
	if (rc == 0)
		rc = hash_bytes(raw.data, raw.len, f->sum, err);
	what->image =
		arena_strndup(x->arena, raw.len > 0 ? raw.data : "", raw.len);
	what->image_size = what->size = raw.len;
	buf_free(&raw);
	return rc < 0 || err->kind != ERROR_NONE ? -1 : 0;
}

/* Is it the first entry of a piece?  Its metadata go to a directory where
 * nobody takes the dataset for whole. */
static bool
begins_piece(struct importing *x, const struct imported *f, uint64_t size)
{
	const char *name = path_base(f->path);

	if (x->count > 0 || x->own != NULL || size > 0 ||
	    !dataset_dir_piece(name, &x->out->piece, &x->out->pieces))
		return false;
	x->own = name;
	return true;
}

static int
read_file(struct importing *x, const struct ark_entry *e, struct error *err)
{
	struct put_what what = { .dirfd = catalogue_prefix_fd(x->c) };
	struct attr *a = arena_alloc(x->arena, 1, sizeof(*a));
	struct imported *f = NULL;

	(void)MEM_ROOM(x->list, x->count, x->cap);
	f = &x->list[x->count];
	*f = (struct imported){ .path = arena_strdup(x->arena, e->path) };
	if (import_classify(f, &x->out->id, err) < 0)
		return -1;
	*a = e->attr;
	if (begins_piece(x, f, a->size))
		return 0;
	what.kind = f->kind;
	what.path = f->path;
	if (x->own != NULL && f->meta != DATASET_DIR_FOREIGN) {
		/* The manifest comes last: it says that the piece is there. */
		what.kind = str_eq(path_base(f->path), x->own) ? PUT_MAP
							       : PUT_REDUNDANCY;
		what.path = arena_printf(x->arena, DATASET_DIR_IMPORT "/%s",
					 x->out->id, path_base(f->path));
	}
	what.size = a->size;
	what.attr = a->has_owner || a->has_times ? a : NULL;
	/* The import depends on these: they are read into memory. */
	if ((f->meta == DATASET_DIR_KEPT ||
	     (x->own == NULL && (f->meta == DATASET_DIR_RANK2FILE ||
				 f->meta == DATASET_DIR_RANK2FILE_PART))) &&
	    take_image(x, f, &what, err) < 0)
		return -1;
	f->put = put_add(x->put, &what, NULL);
	x->count++;
	f->size = what.image_size;
	if (what.image == NULL && take_bytes(x, a->size, err) < 0)
		return -1;
	if (f->kind == PUT_FILE) {
		x->out->files++;
		x->out->bytes += f->size;
	} else {
		x->out->hidden++;
	}
	return 0;
}

/* --- Comparing --- */

/* Check that every file is in the manifest with the same checksum, and every
 * line of the manifest in the archive. */
static int
compare(struct importing *x, struct error *err)
{
	size_t left = 0;
	bool *seen = NULL;

	if (x->manifest == NULL)
		return error_set(err, ERROR_CORRUPT,
				 "has no %s: not an archive of a dataset, or "
				 "cut off",
				 DATASET_DIR_MANIFEST);
	left = x->manifest->count;
	seen = arena_alloc(x->arena, left + 1, sizeof(*seen));
	for (size_t i = 0; i < x->count; i++) {
		const struct imported *f = &x->list[i];
		size_t at = map_get(x->manifest->by_path, f->path);

		if (at == MAP_NONE && f->meta == DATASET_DIR_KEPT)
			continue;
		if (at == MAP_NONE)
			return error_set(err, ERROR_CORRUPT,
					 "%s: is not in the manifest",
					 str_shown(f->path));
		if (!str_eq(x->manifest->entries[at].sum, f->sum))
			return error_set(
				err, ERROR_CORRUPT,
				"%s: differs from the manifest: SHA-256 is %s",
				str_shown(f->path), f->sum);
		if (seen[at])
			return error_set(err, ERROR_CORRUPT, "%s: occurs twice",
					 str_shown(f->path));
		seen[at] = true;
		left--;
	}
	return left == 0 ? 0
			 : error_set(err, ERROR_CORRUPT,
				     "lacks %zu %s of its manifest",
				     str_count(left, "file"));
}

/* --- Existing files --- */

/* Find existing files at the targets.  Identical ones are counted; others are
 * refused without --force. */
static int
look_around(struct importing *x, struct error *err)
{
	char sum[HASH_TEXT];
	struct put_file *meta = NULL; /* metadata with other contents */
	struct stat st;

	for (size_t i = 0; i < x->count; i++) {
		const struct imported *f = &x->list[i];
		const bool aside =
			x->own != NULL && f->meta != DATASET_DIR_FOREIGN;
		const int there =
			aside ? 0
			      : pathcache_look(x->parents, f->path, &st, err);
		bool same = false;
		ssize_t n = 0;
		int fd = -1;

		if (there < 0)
			return -1;
		if (there == 0)
			continue;
		put_what(f->put)->kept = true;
		if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == f->size) {
			fd = path_open_beneath(catalogue_prefix_fd(x->c),
					       f->path, O_RDONLY | O_NONBLOCK,
					       0, err);
			while (fd >= 0 && (n = read(fd, x->block, STEP)) > 0)
				hash_update(x->hash, x->block, (size_t)n);
			if (n < 0)
				error_sys(err, "%s: cannot read", f->path);
			io_close(fd);
			if (fd < 0 || n < 0)
				return -1;
			hash_text(x->hash, sum);
			same = str_eq(sum, f->sum);
		}
		if (same)
			x->out->same += f->kind == PUT_FILE;
		else if (!x->o->replace || !S_ISREG(st.st_mode))
			return error_set(err, ERROR_SYSTEM,
					 "%s: exists with other contents "
					 "(--force replaces it)",
					 str_shown(f->path));
		else if (f->kind == PUT_FILE)
			put_what(f->put)->replaces = true;
		else
			meta = f->put;
	}
	/* Metadata that differ although no file is the same are those of
	 * another dataset with the same number. */
	if (meta != NULL && x->out->same == 0)
		put_what(meta)->replaces = true;
	return 0;
}

int
import_check_ranks(const struct imported *list, size_t count,
		   const struct rank2file_image *images, size_t nimages,
		   struct error *err)
{
	struct rank2file r = { .nranks = 0 };
	bool *named = mem_calloc(count + 1, sizeof(*named));
	struct map *by = map_new();
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		map_put(by, list[i].path, i);
	rc = rank2file_load_images(images, nimages, RANK2FILE_FILE, &r, err);
	for (size_t i = 0; i < r.nranks && rc == 0; i++)
		for (size_t k = 0; k < r.ranks[i].nfiles && rc == 0; k++) {
			const struct rank2file_file *f = &r.ranks[i].files[k];
			const size_t at = map_get(by, f->path);

			if (at == MAP_NONE)
				rc = error_set(err, ERROR_CORRUPT,
					       "%s: named by its rank2file, "
					       "but missing from the archive",
					       str_shown(f->path));
			else if (f->nsegs > 0 ||
				 (f->has_size && f->size != list[at].size))
				rc = error_set(err, ERROR_CORRUPT,
					       "%s: differs from its rank2file",
					       str_shown(f->path));
			else
				named[at] = true;
		}
	for (size_t i = 0; i < count && rc == 0; i++)
		if (list[i].kind == PUT_FILE && !named[i])
			rc = error_set(err, ERROR_UNSAFE,
				       "%s: not in its rank2file",
				       str_shown(list[i].path));
	rank2file_free(&r);
	mem_free(named);
	map_free(by);
	return rc;
}

/* The same for an archive that was read. */
static int
check_ranks(const struct importing *x, struct error *err)
{
	struct rank2file_image *images =
		mem_calloc(x->count + 1, sizeof(*images));
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < x->count; i++) {
		const struct put_what *what = put_what(x->list[i].put);

		if (what->image != NULL)
			images[n++] = (struct rank2file_image){
				path_base(what->path),
				what->image,
				what->image_size,
			};
	}
	rc = import_check_ranks(x->list, x->count, images, n, err);
	mem_free(images);
	return rc;
}

/* --- All --- */

static int
work(struct importing *x, struct error *err)
{
	struct build_result b;
	struct error why = ERROR_INIT;
	struct index_entry e;
	struct index *ix = NULL;
	struct ark_entry entry;
	struct stat st;
	bool listed = false;
	int rc = 0;

	while ((rc = ark_in_next(x->ark, &entry, err)) > 0) {
		if (entry.kind == ARK_FILE && read_file(x, &entry, err) < 0)
			return -1;
		if (entry.kind == ARK_DIR && dataset_dir_is_data(entry.path))
			put_dir(x->put, catalogue_prefix_fd(x->c), entry.path,
				&entry.attr);
	}
	if (rc < 0 || compare(x, err) < 0)
		return -1;
	if (x->out->id <= 0)
		return error_set(err, ERROR_CORRUPT,
				 "the archive has no metadata of a dataset");
	ix = catalogue_read(x->c, &why);
	listed = ix != NULL && index_find_id(ix, x->out->id, &e, NULL) == 0;
	index_free(ix);
	/* A run that was interrupted may have come that far. */
	if (x->own != NULL &&
	    path_stat_beneath(catalogue_prefix_fd(x->c),
			      arena_printf(x->arena,
					   DATASET_DIR_IMPORT
					   "/" DATASET_DIR_MANIFEST,
					   x->out->id),
			      &st, NULL) == 0)
		listed = false;
	if (listed && !x->o->replace)
		return error_set(err, ERROR_SYSTEM,
				 "the index has a dataset %" PRId64
				 " already (--force replaces it)",
				 x->out->id);
	if ((x->own == NULL && check_ranks(x, err) < 0) ||
	    look_around(x, err) < 0)
		return -1;
	if (x->o->work.dry_run)
		return 0;
	x->owners->id = x->out->id;
	if (put_commit(x->put, err) < 0 ||
	    (x->own == NULL &&
	     catalogue_build(x->c, x->out->id, x->o, &b, err) < 0)) {
		/* A dataset that the index may list keeps its files. */
		if (!catalogue_may_list(x->c, x->out->id))
			put_undo(x->put);
		return -1;
	}
	if (x->own == NULL)
		memcpy(x->out->name, b.name, sizeof(x->out->name));
	for (size_t i = 0; x->own != NULL && i < x->count; i++)
		if (x->list[i].meta == DATASET_DIR_FOREIGN)
			import_note(x->seen, x->list[i].path, x->list[i].sum,
				    put_what(x->list[i].put)->attr);
	return 0;
}

int
import_dataset(struct catalogue *c, int fd, const char *name,
	       const struct import_options *io, struct export_result *out,
	       struct error *err)
{
	const struct catalogue_options *o = io->look;
	struct importing x = {
		.c = c,
		.o = o,
		.out = out,
		.seen = io->seen,
		.arena = arena_new(),
	};
	struct owners_guard owners = { c, 0, o, true, false };
	const struct put_options how = {
		.par = work_waiting(&o->work, catalogue_prefix_fd(c)),
		.alone = true,
		.guard = { owners_ask, &owners, owners_failed },
		.work = &o->work,
	};
	bool made = false;
	int rc = -1;

	x.owners = &owners;
	*out = (struct export_result){ .id = -1 };
	made = catalogue_scr_fd(c) < 0;
	x.block = mem_aligned(4096, STEP);
	x.hash = hash_new(HASH_SHA256, err);
	x.put = put_new(&how, NULL);
	x.parents = pathcache_new(catalogue_prefix_fd(c));
	if (x.hash != NULL && catalogue_open_scr(c, true, err) == 0)
		x.ark = ark_in_new(fd, name, o->work.stop, err);
	if (x.ark != NULL)
		rc = work(&x, err);
	if (rc < 0)
		room_explain(catalogue_prefix_fd(c), 0, err);
	put_free(x.put);
	/* A failed import leaves nothing. */
	if ((rc < 0 || o->work.dry_run) && made)
		(void)unlinkat(catalogue_prefix_fd(c), SCR_DIR, AT_REMOVEDIR);
	pathcache_free(x.parents);
	ark_in_free(x.ark);
	manifest_free(x.manifest);
	hash_free(x.hash);
	mem_free(x.block);
	mem_free(x.list);
	arena_free(x.arena);
	return rc;
}
