/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import.c - read a dataset from an archive.
 *
 * Every entry is written to a temporary file beside its target, and its
 * checksum is computed.  Only when the manifest, the last entry, has confirmed
 * all entries are the files renamed: first the data, then the metadata that
 * name them.
 */
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
#include "catalogue/export.h"
#include "container/manifest.h"
#include "error.h"
#include "hash.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "meta/filemap.h"
#include "meta/index.h"
#include "meta/redset.h"
#include "meta/summary.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "transfer/target.h"
#include "work.h"

#define BLOCK ((size_t)1 << 20)

#define SHOWN_MAX 512

/* The directory of metadata in an archive. */
#define META_DIR ".scr/scr.dataset."

struct imported {
	const char *path;
	char sum[HASH_TEXT];
	bool same; /* an identical file exists: nothing to write */
};

struct importing {
	struct catalogue *c;
	const struct catalogue_options *o;
	bool force;
	struct export_result *out;
	struct ark_in *ark;
	struct hash *hash;
	unsigned char *block;
	struct arena *arena;
	struct targets targets; /* target i is list[i] */
	struct imported *list;
	struct attr *attrs; /* by entry: targets borrow them */
	size_t count, cap;
	struct manifest *manifest;
};

/* --- What an entry is --- */

/* Is this a metadata file allowed in an archive?  *kind: when it is renamed. */
static bool
meta_kind(const char *name, enum target_kind *kind)
{
	switch (dataset_dir_kind(name, NULL)) {
	case DATASET_DIR_RANK2FILE:
	case DATASET_DIR_SUMMARY:
		*kind = TARGET_MAP;
		return true;
	case DATASET_DIR_RANK2FILE_PART:
		*kind = TARGET_DESCRIPTOR;
		return true;
	case DATASET_DIR_FILEMAP:
	case DATASET_DIR_REDUNDANCY:
	case DATASET_DIR_DESCRIPTOR:
	case DATASET_DIR_KEPT:
		*kind = TARGET_REDUNDANCY;
		return true;
	default:
		return false;
	}
}

/* Allow all metadata of one dataset, and nothing else below .scr. */
static int
classify(struct importing *x, const char *path, enum target_kind *kind,
	 struct error *err)
{
	const char *dir = path + strlen(".scr/"), *name = path_base(path);
	char shown[SHOWN_MAX], text[64];
	int64_t id = -1;

	*kind = TARGET_FILE;
	if (path_below(path, SCR_DIR) == NULL)
		return 0;
	if (str_starts(path, META_DIR) && (size_t)(name - dir) < sizeof(text) &&
	    name > dir) {
		snprintf(text, sizeof(text), "%.*s", (int)(name - dir - 1),
			 dir);
		id = dataset_dir_id(text);
	}
	if (id <= 0 || !meta_kind(name, kind))
		return error_set(err, ERROR_UNSAFE,
				 "%s: has no place in an archive of a dataset",
				 str_printable(shown, sizeof(shown), path));
	if (x->out->id > 0 && x->out->id != id)
		return error_set(err, ERROR_CORRUPT,
				 "%s: the archive is of dataset %" PRId64,
				 str_printable(shown, sizeof(shown), path),
				 x->out->id);
	x->out->id = id;
	return 0;
}

/* --- Reading --- */

static int
grow(struct importing *x, struct error *err)
{
	size_t cap = x->cap ? 2 * x->cap : 64;
	void *p = NULL;

	if (x->count < x->cap)
		return 0;
	p = mem_realloc(x->list, cap, sizeof(*x->list));
	if (p == NULL)
		return error_no_memory(err);
	x->list = p;
	x->cap = cap;
	return 0;
}

/* The bytes of an entry into its temporary file. */
static int
fill(struct importing *x, const struct target *t, uint64_t *size,
     struct error *err)
{
	int fd = path_open_beneath(t->dirfd, t->temp, O_WRONLY | O_NOFOLLOW, 0,
				   err);
	size_t got = 0;
	int rc = fd < 0 ? -1 : 0;

	*size = 0;
	while (rc == 0) {
		if (work_stopped(&x->o->work)) {
			errno = EINTR;
			rc = error_sys(err, "stopped");
			break;
		}
		rc = ark_in_read(x->ark, x->block, BLOCK, &got, err);
		if (rc < 0 || got == 0)
			break;
		if (hash_update(x->hash, x->block, got, err) < 0 ||
		    io_pwrite(fd, t->temp, x->block, got, *size, err) < 0)
			rc = -1;
		else
			io_write_behind(fd, *size, got, false);
		*size += got;
		progress_add(x->o->work.progress, got);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static int
read_file(struct importing *x, const struct ark_entry *e, struct error *err)
{
	struct target t = { .dirfd = catalogue_prefix_fd(x->c) };
	struct attr *a = arena_alloc(x->arena, 1, sizeof(*a));
	struct imported *f = NULL;
	uint64_t size = 0;

	if (grow(x, err) < 0)
		return -1;
	f = &x->list[x->count];
	*f = (struct imported){ .path = arena_strdup(x->arena, e->path) };
	if (a == NULL || f->path == NULL)
		return error_no_memory(err);
	if (classify(x, f->path, &t.kind, err) < 0)
		return -1;
	*a = e->attr;
	t.path = f->path;
	t.attr = a->has_owner || a->has_times ? a : NULL;
	if (targets_add(&x->targets, &t, err) == NULL ||
	    targets_prepare_one(&x->targets, x->count, err) < 0)
		return -1;
	x->count++;
	if (fill(x, &x->targets.list[x->count - 1], &size, err) < 0 ||
	    hash_text(x->hash, f->sum, err) < 0)
		return -1;
	if (e->attr.has_size && e->attr.size != size)
		return error_set(err, ERROR_CORRUPT,
				 "%s: ends after %" PRIu64 " bytes of %" PRIu64,
				 f->path, size, e->attr.size);
	x->targets.list[x->count - 1].size = size;
	if (t.kind == TARGET_FILE) {
		x->out->files++;
		x->out->bytes += size;
	} else {
		x->out->hidden++;
	}
	return 0;
}

static int
read_all(struct importing *x, struct error *err)
{
	struct ark_entry e;
	int rc = 0;

	while ((rc = ark_in_next(x->ark, &e, err)) > 0)
		if (e.kind == ARK_FILE && read_file(x, &e, err) < 0)
			return -1;
	return rc;
}

/* --- Comparing --- */

static int
read_manifest(struct importing *x, struct error *err)
{
	struct buf raw = BUF_INIT;
	const struct target *t = NULL;
	int rc = -1;

	for (size_t i = 0; i < x->count; i++)
		if (x->targets.list[i].kind != TARGET_FILE &&
		    str_eq(path_base(x->list[i].path), DATASET_DIR_MANIFEST))
			t = &x->targets.list[i];
	if (t == NULL)
		return error_set(err, ERROR_CORRUPT,
				 "no %s in it: not an archive of a dataset, or "
				 "it was cut",
				 DATASET_DIR_MANIFEST);
	if (io_read_file(t->dirfd, t->temp, MANIFEST_MAX, &raw, err) == 0)
		x->manifest = manifest_parse(raw.data, raw.len, err);
	if (x->manifest != NULL)
		rc = 0;
	buf_free(&raw);
	return rc;
}

/* Every file in the manifest, with that sum; every line of it a file. */
static int
compare(struct importing *x, struct error *err)
{
	char shown[SHOWN_MAX];
	size_t matched = 0;

	for (size_t i = 0; i < x->count; i++) {
		const struct imported *f = &x->list[i];
		size_t at = manifest_find(x->manifest, f->path);

		if (at == MANIFEST_NONE &&
		    x->targets.list[i].kind != TARGET_FILE &&
		    str_eq(path_base(f->path), DATASET_DIR_MANIFEST))
			continue;
		str_printable(shown, sizeof(shown), f->path);
		if (at == MANIFEST_NONE)
			return error_set(err, ERROR_CORRUPT,
					 "%s: is not in the manifest", shown);
		if (!str_eq(manifest_at(x->manifest, at)->sum, f->sum))
			return error_set(err, ERROR_CORRUPT,
					 "%s: is not what the manifest says: "
					 "SHA-256 is %s",
					 shown, f->sum);
		matched++;
	}
	if (matched == manifest_count(x->manifest))
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%zu files of the manifest are not in it, or some "
			 "are in it twice",
			 manifest_count(x->manifest) - matched);
}

/* Compute the checksum of an existing file. */
static int
sum_there(struct importing *x, const char *path, char sum[static HASH_TEXT],
	  struct error *err)
{
	int fd = path_open_beneath(catalogue_prefix_fd(x->c), path,
				   O_RDONLY | O_NONBLOCK, 0, err);
	ssize_t n = 0;
	int rc = fd < 0 ? -1 : 0;

	while (rc == 0 && (n = read(fd, x->block, BLOCK)) > 0)
		rc = hash_update(x->hash, x->block, (size_t)n, err);
	if (rc == 0 && n < 0)
		rc = error_sys(err, "%s: cannot read", path);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? -1 : hash_text(x->hash, sum, err);
}

/* Find existing files that are in the way. */
static int
look_around(struct importing *x, struct error *err)
{
	char sum[HASH_TEXT], shown[SHOWN_MAX];
	struct stat st;

	for (size_t i = 0; i < x->count; i++) {
		struct imported *f = &x->list[i];

		if (path_stat_beneath(catalogue_prefix_fd(x->c), f->path, &st,
				      NULL) < 0)
			continue;
		if (S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_size == x->targets.list[i].size) {
			if (sum_there(x, f->path, sum, err) < 0)
				return -1;
			f->same = str_eq(sum, f->sum);
		}
		x->out->same +=
			f->same && x->targets.list[i].kind == TARGET_FILE;
		if (f->same || (x->force && S_ISREG(st.st_mode)))
			continue;
		errno = EEXIST;
		return error_sys(err,
				 "%s: is there, and not what is in the archive "
				 "(--force replaces files)",
				 str_printable(shown, sizeof(shown), f->path));
	}
	return 0;
}

/* Refuse if the index already has a dataset with this id. */
static int
check_index(struct importing *x, struct error *err)
{
	struct error why = ERROR_INIT;
	struct index *ix = catalogue_read(x->c, &why);
	struct index_entry e;
	int rc = 0;

	if (x->out->id <= 0)
		rc = error_set(err, ERROR_CORRUPT,
			       "no metadata of a dataset in it");
	else if (ix != NULL && !x->force &&
		 index_find_id(ix, x->out->id, &e, NULL) == 0) {
		errno = EEXIST;
		rc = error_sys(err,
			       "the index has a dataset %" PRId64
			       " already (--force replaces it)",
			       x->out->id);
	}
	index_free(ix);
	return rc;
}

/* --- All --- */

static int
work(struct importing *x, struct error *err)
{
	struct build_result b;

	if (read_all(x, err) < 0 || read_manifest(x, err) < 0 ||
	    compare(x, err) < 0 || check_index(x, err) < 0 ||
	    look_around(x, err) < 0)
		return -1;
	if (targets_commit(&x->targets, x->o->work.par, err) < 0)
		return -1;
	if (catalogue_build(x->c, x->out->id, x->o, &b, err) < 0)
		return -1;
	memcpy(x->out->name, b.name, sizeof(x->out->name));
	return 0;
}

int
import_dataset(struct catalogue *c, int fd, const char *name, bool force,
	       const struct catalogue_options *o, struct export_result *out,
	       struct error *err)
{
	struct importing x = {
		.c = c,
		.o = o,
		.force = force,
		.out = out,
		.arena = arena_new(),
	};
	int rc = -1;

	*out = (struct export_result){ .id = -1 };
	if (targets_init(&x.targets, err) < 0) {
		arena_free(x.arena);
		return -1;
	}
	x.block = mem_aligned(4096, BLOCK);
	x.hash = hash_new(err);
	if (x.arena == NULL || x.block == NULL)
		error_no_memory(err);
	else if (x.hash != NULL && catalogue_open_scr(c, true, err) == 0)
		x.ark = ark_in_new(fd, name, err);
	if (x.ark != NULL)
		rc = work(&x, err);
	targets_discard(&x.targets);
	targets_fini(&x.targets);
	ark_in_free(x.ark);
	manifest_free(x.manifest);
	hash_free(x.hash);
	mem_free(x.block);
	mem_free(x.list);
	arena_free(x.arena);
	return rc;
}
