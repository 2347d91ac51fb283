/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remove.c - remove everything of one dataset but its index entry.
 *
 * First the summary, from which a rebuilt index would take the dataset, then
 * the files, then the metadata that name them.  If half of the metadata are
 * removed, the files can no longer be determined; therefore a mark is written
 * first, which records that the files are removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/claims.h"
#include "container/segmap.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "lock.h"
#include "mem.h"
#include "room.h"
#include "str.h"
#include "work.h"

struct removal {
	struct catalogue *c;
	const struct catalogue_options *o;
	struct catalogue_dir *dir;
	int containers; /* their directory, while open */
	struct delete_result *out;
};

/* --- The metadata directory --- */

/* Remove one container.  Other files in the directory are kept. */
static int
remove_container(void *arg, const char *name, struct error *err)
{
	struct removal *d = arg;
	struct stat st;
	int rc = 0;

	if (!segmap_is_container(name) ||
	    dir_stat(d->containers, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISREG(st.st_mode)) {
		d->out->kept++;
		work_say(&d->o->work, "%s/%s/%s: not a plain file, not removed",
			 d->dir->name, SEGMAP_DIR, name);
		return 0;
	}
	d->out->files++;
	d->out->bytes += (uint64_t)st.st_size;
	if (!d->o->work.dry_run && unlinkat(d->containers, name, 0) < 0 &&
	    errno != ENOENT)
		rc = error_sys(err, "%s/%s/%s: cannot remove", d->dir->name,
			       SEGMAP_DIR, name);
	return rc;
}

/* Remove the containers and their directory. */
static int
remove_containers(struct removal *d, struct error *err)
{
	int rc = 0;

	d->containers = dir_open_plain(d->dir->fd, SEGMAP_DIR);
	if (d->containers < 0)
		return 0; /* no containers */
	rc = dir_each(d->containers, SEGMAP_DIR, remove_container, d, err);
	close(d->containers);
	if (rc == 0 && !d->o->work.dry_run)
		(void)unlinkat(d->dir->fd, SEGMAP_DIR, AT_REMOVEDIR);
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

static int
remove_names(struct removal *d, const struct listing *l, struct error *err)
{
	for (size_t i = 0; i < l->count; i++)
		if (catalogue_dir_unlink(d->dir, l->names[i], err) < 0)
			return -1;
	if (catalogue_dir_unlink(d->dir, DATASET_DIR_GONE, err) < 0)
		return -1;
	if (l->foreign > 0) {
		work_say(&d->o->work,
			 "%s is kept: it holds %zu %s that belong to no "
			 "dataset, such as %s",
			 d->dir->name, l->foreign,
			 str_plural(l->foreign, "file"), l->first);
		return 0;
	}
	/* NFS keeps a removed file in the directory as long as it is open. */
	lock_give(d->dir->fd, d->dir->lock);
	d->dir->lock = -1;
	if (catalogue_dir_unlink(d->dir, LOCK_FILE, err) < 0)
		return -1;
	if (unlinkat(d->c->scr_fd, d->dir->name, AT_REMOVEDIR) == 0)
		d->out->dirs++;
	else if (errno == ENOTEMPTY || errno == EEXIST)
		work_say(&d->o->work, "%s is kept: it is not empty",
			 d->dir->name);
	else if (errno != ENOENT)
		return error_sys(err, "%s: cannot remove", d->dir->name);
	return 0;
}

/* Record that the files are removed.  If there is no room for the mark, one of
 * the metadata files becomes it. */
static int
put_mark(struct removal *d, const struct listing *l, struct error *err)
{
	struct error why = ERROR_INIT;
	int fd = io_open(d->dir->fd, DATASET_DIR_GONE, O_WRONLY | O_CREAT, 0666,
			 &why);

	if (fd < 0 && room_is_short(&why) && l->count > 0 &&
	    renameat(d->dir->fd, l->names[0], d->dir->fd, DATASET_DIR_GONE) ==
		    0)
		return io_sync_dir(d->dir->fd, d->dir->name, err);
	if (fd < 0)
		return error_as(err, &why, "%s/%s", d->dir->name, why.text);
	close(fd);
	return io_sync_dir(d->dir->fd, d->dir->name, err);
}

static int
remove_meta(struct removal *d, struct error *err)
{
	struct listing l = { .arena = arena_new() };
	int rc = -1;

	if (l.arena == NULL)
		return error_no_memory(err);
	rc = dir_each(d->dir->fd, d->dir->name, list_name, &l, err);
	if (rc == 0 && !d->o->work.dry_run) {
		rc = put_mark(d, &l, err);
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
remove_files(struct removal *d, const struct catalogue_claims *k,
	     struct error *err)
{
	size_t shared = 0;
	int rc = catalogue_erase(d->c->prefix_fd, k, d->out, err);

	for (size_t i = 0; i < k->count; i++)
		shared += k->list[i].shared;
	d->out->kept += shared + k->refused;
	if (shared > 0)
		work_say(&d->o->work,
			 "%s: %zu %s another dataset, too, not removed",
			 d->dir->name, shared,
			 shared == 1 ? "file belongs to" : "files belong to");
	return rc;
}

int
catalogue_remove(struct catalogue *c, struct catalogue_dir *dir,
		 const struct catalogue_claims *k,
		 const struct catalogue_options *o, struct delete_result *out,
		 struct error *err)
{
	struct removal d = { .c = c, .o = o, .dir = dir, .out = out };

	/* A rebuilt index would take the dataset from its summary. */
	if (!o->work.dry_run &&
	    (catalogue_dir_unlink(dir, SUMMARY_FILE, err) < 0 ||
	     io_sync_dir(dir->fd, dir->name, err) < 0))
		return -1;
	if (remove_files(&d, k, err) < 0 || remove_containers(&d, err) < 0)
		return -1;
	return remove_meta(&d, err);
}
