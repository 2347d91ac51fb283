/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delete.c - scr_index --delete.
 *
 * The order makes an interruption harmless.  First, the index marks the dataset
 * as not complete.  Then the summary is removed, from which a rebuilt index
 * would take the dataset, then the files, then the metadata that name them, and
 * finally the index entry.  If half of the metadata are removed, the files can
 * no longer be determined; therefore a mark is written first, which records
 * that the files are removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/export.h"
#include "container/hidden.h"
#include "container/packed.h"
#include "container/segmap.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "lock.h"
#include "mem.h"
#include "meta/copied.h"
#include "meta/filemap.h"
#include "meta/index.h"
#include "meta/redset.h"
#include "meta/summary.h"
#include "str.h"
#include "work.h"

struct deletion {
	struct catalogue *c;
	const struct catalogue_options *o;
	struct delete_result *out;
	int64_t id;
	struct catalogue_dir dir; /* fd -1: no directory */
	int containers;		  /* their directory, while open */
	bool in_index;
};

/* --- The index entry --- */

/* Set COMPLETE = 0, so that no job restarts from the dataset. */
static int
mark_entry(struct index *ix, void *arg, struct error *err)
{
	struct deletion *d = arg;
	struct index_entry e;

	d->in_index = index_find_id(ix, d->id, &e, NULL) == 0;
	if (!d->in_index)
		return 1;
	if (e.complete == 0 && !e.current)
		return 1;
	return index_retire(ix, d->id, err);
}

static int
remove_entry(struct index *ix, void *arg, struct error *err)
{
	const struct deletion *d = arg;
	struct index_entry e;

	if (index_find_id(ix, d->id, &e, NULL) < 0)
		return 1;
	return catalogue_forget(ix, d->id, err);
}

/* --- The metadata directory --- */

/* Remove one container.  Other files in the directory are kept. */
static int
remove_container(void *arg, const char *name, struct error *err)
{
	struct deletion *d = arg;
	struct stat st;
	int rc = 0;

	if (!segmap_is_container(name) ||
	    fstatat(d->containers, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	d->out->files++;
	d->out->bytes += (uint64_t)st.st_size;
	if (!d->o->work.dry_run && unlinkat(d->containers, name, 0) < 0 &&
	    errno != ENOENT)
		rc = error_sys(err, "%s/%s/%s: cannot remove", d->dir.name,
			       SEGMAP_DIR, name);
	return rc;
}

/* Remove the containers and their directory. */
static int
remove_containers(struct deletion *d, struct error *err)
{
	int rc = 0;

	d->containers = openat(d->dir.fd, SEGMAP_DIR,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d->containers < 0)
		return 0; /* no containers */
	rc = dir_each(d->containers, SEGMAP_DIR, remove_container, d, err);
	close(d->containers);
	if (rc == 0 && !d->o->work.dry_run)
		(void)unlinkat(d->dir.fd, SEGMAP_DIR, AT_REMOVEDIR);
	return rc;
}

struct listing {
	struct arena *arena;
	const char **names;
	size_t count, cap;
	size_t foreign;
	char first[256]; /* name of the first foreign file */
};

static int
list_name(void *arg, const char *name, struct error *err)
{
	struct listing *l = arg;

	switch (dataset_dir_kind(name, NULL)) {
	case DATASET_DIR_LOCK:
	case DATASET_DIR_DELETED:
	case DATASET_DIR_CONTAINERS:
		return 0; /* removed earlier or later */
	case DATASET_DIR_FOREIGN:
		if (l->foreign++ == 0)
			str_printable(l->first, sizeof(l->first), name);
		return 0;
	default:
		break;
	}
	if (!MEM_ROOM(l->names, l->count, l->cap))
		return error_no_memory(err);
	l->names[l->count] = arena_strdup(l->arena, name);
	if (l->names[l->count] == NULL)
		return error_no_memory(err);
	l->count++;
	return 0;
}

/* Unlink `name` in the dataset's directory, if it exists. */
static int
remove_name(struct deletion *d, const char *name, struct error *err)
{
	/* EISDIR: a directory of this name is not ours. */
	if (unlinkat(d->dir.fd, name, 0) == 0 || errno == ENOENT ||
	    errno == EISDIR)
		return 0;
	return error_sys(err, "%s/%s: cannot remove", d->dir.name, name);
}

static int
remove_names(struct deletion *d, const struct listing *l, struct error *err)
{
	for (size_t i = 0; i < l->count; i++)
		if (remove_name(d, l->names[i], err) < 0)
			return -1;
	if (remove_name(d, DATASET_DIR_GONE, err) < 0)
		return -1;
	if (l->foreign > 0) {
		work_say(&d->o->work,
			 "%s stays: it holds %zu %s that no dataset has, "
			 "such as %s",
			 d->dir.name, l->foreign,
			 str_plural(l->foreign, "file"), l->first);
		return 0;
	}
	if (remove_name(d, LOCK_FILE, err) < 0)
		return -1;
	if (unlinkat(d->c->scr_fd, d->dir.name, AT_REMOVEDIR) == 0)
		d->out->dirs++;
	else if (errno == ENOTEMPTY || errno == EEXIST)
		work_say(&d->o->work, "%s stays: it is not empty", d->dir.name);
	else if (errno != ENOENT)
		return error_sys(err, "%s: cannot remove", d->dir.name);
	return 0;
}

/* Record that the files are removed. */
static int
put_mark(struct deletion *d, struct error *err)
{
	int fd = openat(d->dir.fd, DATASET_DIR_GONE,
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);

	if (fd < 0)
		return error_sys(err, "%s/%s: cannot make", d->dir.name,
				 DATASET_DIR_GONE);
	close(fd);
	return io_sync_dir(d->dir.fd, d->dir.name, err);
}

static int
remove_meta(struct deletion *d, struct error *err)
{
	struct listing l = { .arena = arena_new() };
	int rc = -1;

	if (l.arena == NULL)
		return error_no_memory(err);
	rc = dir_each(d->dir.fd, d->dir.name, list_name, &l, err);
	if (rc == 0 && !d->o->work.dry_run) {
		rc = put_mark(d, err);
		if (rc == 0)
			rc = remove_names(d, &l, err);
	} else if (rc == 0 && l.foreign == 0)
		d->out->dirs++;
	mem_free(l.names);
	arena_free(l.arena);
	return rc;
}

/* --- The files --- */

static int
remove_files(struct deletion *d, const struct catalogue_claims *k,
	     struct error *err)
{
	size_t shared = 0;
	int rc = catalogue_erase(d->c->prefix_fd, k, d->out, err);

	for (size_t i = 0; i < k->count; i++)
		shared += k->list[i].shared;
	d->out->kept += shared + k->refused;
	if (shared > 0)
		work_say(&d->o->work,
			 "%s: %zu %s another dataset, too, left alone",
			 d->dir.name, shared,
			 shared == 1 ? "file belongs to" : "files belong to");
	return rc;
}

/* Make the dataset invalid in the index, and remove its summary. */
static int
announce(struct deletion *d, struct error *err)
{
	if (catalogue_change(d->c, mark_entry, d, err) < 0)
		return -1;
	if (d->dir.fd < 0)
		return 0;
	if (unlinkat(d->dir.fd, SUMMARY_FILE, 0) < 0) {
		if (errno == ENOENT)
			return 0;
		return error_sys(err, "%s/%s: cannot remove", d->dir.name,
				 SUMMARY_FILE);
	}
	return io_sync_dir(d->dir.fd, d->dir.name, err);
}

/* Remove everything but the index entry. */
static int
remove_dataset(struct deletion *d, const struct index *ix, struct error *err)
{
	struct error why = ERROR_INIT;
	struct catalogue_claims k;
	int rc = -1;

	/* On failure `k` is empty.  This is right if the mark exists, because
	 * the files are already removed. */
	if (catalogue_claims_init(d->c, &d->dir, d->o, &k, &why) < 0 &&
	    (why.kind != ERROR_CORRUPT ||
	     faccessat(d->dir.fd, DATASET_DIR_GONE, F_OK, AT_SYMLINK_NOFOLLOW) <
		     0))
		return error_pass(err, &why);
	if (catalogue_claims_share(d->c, d->id, ix, d->o, &k, err) == 0 &&
	    (d->o->work.dry_run || announce(d, err) == 0) &&
	    remove_files(d, &k, err) == 0 && remove_containers(d, err) == 0 &&
	    remove_meta(d, err) == 0)
		rc = 0;
	catalogue_claims_fini(&k);
	return rc;
}

/* --- Entry point --- */

/* Open the directory if it exists. */
static int
open_dataset(struct deletion *d, struct error *err)
{
	struct error why = ERROR_INIT;

	if (catalogue_dir_open(d->c, d->id, &d->dir, &why) == 0) {
		if (d->o->work.dry_run)
			return 0;
		return catalogue_dir_lock(d->c, &d->dir, d->o, err);
	}
	if (why.kind == ERROR_ABSENT)
		return 0;
	return error_pass(err, &why);
}

static int
delete_all(struct deletion *d, const struct index *ix, struct error *err)
{
	struct index_entry e;

	if (d->dir.fd < 0) {
		if (ix == NULL || index_find_id(ix, d->id, &e, NULL) < 0)
			return error_set(err, ERROR_ABSENT,
					 "dataset %" PRId64
					 ": there is no such dataset",
					 d->id);
		if (e.name != NULL && packed_is_old(d->c->prefix_fd, e.name))
			return error_set(err, ERROR_USAGE,
					 "%s: in the layout of SCR 1.1.8, in a "
					 "directory of its own: remove that by "
					 "hand, and then the entry with --drop",
					 e.name);
		work_say(&d->o->work,
			 "dataset %" PRId64
			 ": its metadata are gone: files it may have had "
			 "are left alone",
			 d->id);
	} else if (remove_dataset(d, ix, err) < 0) {
		return -1;
	}
	if (d->o->work.dry_run || ix == NULL)
		return 0;
	return catalogue_change(d->c, remove_entry, d, err);
}

int
catalogue_delete(struct catalogue *c, int64_t id,
		 const struct catalogue_options *o, struct delete_result *out,
		 struct error *err)
{
	struct deletion d = {
		.c = c,
		.o = o,
		.out = out,
		.id = id,
		.dir = CATALOGUE_DIR_INIT,
	};
	struct error why = ERROR_INIT;
	struct index *ix = NULL;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (open_dataset(&d, err) < 0)
		goto out;
	/* A rebuilt index is sufficient here. */
	ix = catalogue_read(c, &why);
	if (ix == NULL && why.kind != ERROR_ABSENT) {
		error_pass(err, &why);
		goto out;
	}
	rc = delete_all(&d, ix, err);
out:
	index_free(ix);
	catalogue_dir_close(&d.dir);
	return rc;
}
