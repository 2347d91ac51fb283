/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delete.c - scr_index --delete and --prune.
 *
 * The order makes an interruption harmless.  First, the index marks the dataset
 * as not complete, then it is removed, and finally its index entry.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "catalogue/catalogue_impl.h"
#include "container/packed.h"
#include "container/segmap.h"
#include "dir.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/index.h"
#include "num.h"
#include "room.h"
#include "str.h"
#include "work.h"

/*
 * Each change of the index marks, and later removes, the entries of this number
 * of datasets, as its cost grows with the length of the index.  These datasets
 * are locked meanwhile, with two descriptors each.
 */
#define GROUP 128

/* Files of a dataset that no job fetches. */
#define SPARE_KINDS \
	(CATALOGUE_KIND(REDUNDANCY) | CATALOGUE_KIND(DESCRIPTOR) | \
	 CATALOGUE_KIND(TEMP))

/* Up to this number of paths of the first group are kept in memory. */
#define PATHS_HELD ((size_t)1 << 18)

/* Maximum number of refused paths of a dataset that are reported. */
#define REPORTED_MAX 5

/* One dataset. */
struct deletion {
	struct catalogue *c;
	const struct catalogue_options *o;
	int64_t id;
	struct catalogue_dir dir; /* fd -1: no directory, or not open */
	struct catalogue_claims claims;
	struct catalogue_names names; /* that the claims borrow from */
	struct map *by_path;	      /* of the claims */
	bool held;		      /* the claims are read */
	struct delete_result out;
	bool begun, deleted;
	/* The index entry before it was marked: */
	bool marked, current;
	int complete;
};

/* All datasets. */
struct deletions {
	struct catalogue *c;
	const struct catalogue_options *o;
	const struct delete_listener *listener;
	const struct index *ix; /* as it was before; NULL: none */
	struct owners *paths;	/* of the datasets that go */
	struct deletion *list;
	size_t count;
	size_t good; /* datasets before the first one that cannot be deleted */
	struct error why; /* why it cannot */
	size_t held;	  /* paths of the claims that are held */
	size_t from, to;  /* the group */
	/* the index entries of datasets before this one are final */
	size_t listed;
	bool announced; /* the index was changed */
};

/* --- Files that several datasets have --- */

/* The files of dataset `id` are unknown because of *why.  This is an error if
 * the dataset is valid, else a message. */
static int
doubt(const struct deletions *all, int64_t id, const struct error *why,
      struct error *err)
{
	struct index_entry e;

	if (!catalogue_is_verdict(why))
		return error_pass(err, why);
	if (all->ix != NULL && index_find_id(all->ix, id, &e, NULL) == 0 &&
	    index_entry_valid(&e))
		return error_set(err, ERROR_CORRUPT,
				 "dataset %" PRId64
				 ": cannot check whether it shares files: %s; "
				 "--build or --drop it first",
				 id, why->text);
	work_say(&all->o->work,
		 "dataset %" PRId64
		 ": cannot check whether it shares files: %s",
		 id, why->text);
	return 0;
}

/* --- One dataset --- */

/* What a link leads to would be forgotten. */
static int
refuse_link(const struct deletion *d, int dirfd, const char *name,
	    const char *below, struct error *err)
{
	struct stat st;

	if (dir_stat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISLNK(st.st_mode))
		return 0;
	return error_set(err, ERROR_UNSAFE,
			 "%s/%s/%s%s: a symbolic link: remove what it leads "
			 "to, then the link",
			 d->c->path, SCR_DIR, d->dir.name, below);
}

/* Open the directory if it exists; with `lock`, lock it. */
static int
open_dataset(struct deletion *d, bool lock, struct error *err)
{
	struct error why = ERROR_INIT;

	if (catalogue_dir_open(d->c, d->id, &d->dir, &why) < 0)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	/* It may be that of another prefix. */
	if (refuse_link(d, d->c->scr_fd, d->dir.name, "", err) < 0 ||
	    refuse_link(d, d->dir.fd, SEGMAP_DIR, "/" SEGMAP_DIR, err) < 0)
		return -1;
	return lock ? catalogue_dir_lock(d->c, &d->dir, d->o, err) : 0;
}

static int
claim(struct deletion *d, const char *path, struct error *err)
{
	struct catalogue_claims *k = &d->claims;

	/* Other paths mean that the metadata are wrong or malicious. */
	if (path == NULL || !dataset_dir_is_data(path)) {
		if (k->refused++ < REPORTED_MAX)
			work_say(&d->o->work,
				 "%s: not below the prefix, not removed",
				 str_shown(path != NULL ? path : "?"));
		return 0;
	}
	if (map_get(d->by_path, path) != MAP_NONE)
		return 0;
	if (!MEM_ROOM(k->paths, k->count, k->cap) ||
	    map_put(d->by_path, path, k->count) < 0)
		return error_no_memory(err);
	k->paths[k->count++] = path;
	return 0;
}

static void
drop_claims(struct deletion *d)
{
	if (!d->held)
		return;
	map_free(d->by_path);
	mem_free(d->claims.paths);
	catalogue_names_free(&d->names);
	d->claims = (struct catalogue_claims){ .count = 0 };
	d->by_path = NULL;
	d->held = false;
}

/* List all files that the rank2file or the filemaps name. */
static int
read_claims(struct deletion *d, struct error *err)
{
	const struct rank2file_file *f = NULL;
	struct error why = ERROR_INIT;
	int rc = 0;

	if (d->dir.fd < 0 || d->held)
		return 0;
	d->held = true;
	d->by_path = map_new();
	rc = catalogue_names_read(d->c, &d->dir, true, d->o, &d->names, &why);
	if (rc > 0) {
		work_say(&d->o->work,
			 "%s: its segment map is lost: only files in this "
			 "directory are removed",
			 d->dir.name);
		return 0;
	}
	if (rc < 0 && catalogue_is_verdict(&why)) {
		/* If the mark exists, no file is right, because they are
		 * already removed. */
		if (faccessat(d->dir.fd, DATASET_DIR_GONE, F_OK,
			      AT_SYMLINK_NOFOLLOW) < 0)
			return error_set(err, ERROR_CORRUPT,
					 "%s: cannot list its files: %s",
					 d->dir.name, why.text);
		return 0;
	}
	if (rc < 0)
		return error_pass(err, &why);
	while ((f = catalogue_names_next(&d->names)) != NULL)
		if (claim(d, f->path, err) < 0)
			return -1;
	/* They would be forgotten. */
	if (d->names.plan != NULL && d->names.plan->was != NULL)
		return error_set(err, ERROR_UNSAFE,
				 "dataset %" PRId64
				 ": %s: missing; %s looks like it: rename it "
				 "back first",
				 d->id, str_shown(d->names.plan->was),
				 str_shown(d->names.plan->is));
	return 0;
}

/* Remove everything but the index entry. */
static int
delete_one(struct deletions *all, struct deletion *d, struct error *err)
{
	struct catalogue_claims *k = &d->claims;

	if (work_stopped(&d->o->work))
		return error_set(err, ERROR_SYSTEM, "interrupted");
	if (d->dir.fd < 0) {
		work_say(&d->o->work,
			 "dataset %" PRId64
			 ": its metadata are missing: files that it may have "
			 "had are kept",
			 d->id);
		return 0;
	}
	if (read_claims(d, err) < 0)
		return -1;
	/* Leave the claims to another dataset that has them, one that stays or
	 * one that is deleted later.  A path that was not there when the
	 * dataset was examined may belong to any dataset. */
	for (size_t i = 0; i < k->count; i++) {
		struct owned *at = owners_find(all->paths, k->paths[i]);

		if (at == NULL || (at->left > 0 && --at->left > 0) || at->kept)
			k->shared++;
		else
			k->paths[i - k->shared] = k->paths[i];
	}
	k->count -= k->shared;
	if (catalogue_erasable(d->c->prefix_fd, k, err) < 0)
		return -1;
	d->begun = true;
	return catalogue_remove(d->c, &d->dir, k, d->o, &d->out, err);
}

/* --- The index --- */

/* Remove the entries of the datasets deleted so far, restore those of the last
 * group that are not, and mark those of the group with COMPLETE = 0, so that no
 * job restarts from them. */
static int
update_index(struct deletions *all, struct index *ix, struct error *err)
{
	struct index_entry e;
	bool changed = false;

	for (size_t i = all->listed; i < all->from; i++) {
		struct deletion *d = &all->list[i];

		if (index_find_id(ix, d->id, &e, NULL) < 0)
			continue;
		if (d->deleted) {
			changed = true;
			if (catalogue_forget(ix, d->id, err) < 0)
				return -1;
		} else if (d->marked && !d->begun && d->complete == 1 &&
			   e.complete == 0) {
			changed = true;
			if (index_set_extra(ix, d->id, "COMPLETE", "1", err) <
				    0 ||
			    (d->current &&
			     index_set_current(ix, e.name, err) < 0))
				return -1;
		}
	}
	for (size_t i = all->from; i < all->to; i++) {
		struct deletion *d = &all->list[i];

		if (index_find_id(ix, d->id, &e, NULL) < 0 ||
		    (e.complete == 0 && !e.current))
			continue;
		d->marked = changed = true;
		d->complete = e.complete;
		d->current = e.current;
		if (index_retire(ix, d->id, err) < 0)
			return -1;
	}
	return changed ? 0 : 1;
}

static int
try_change(struct deletions *all, struct error *err)
{
	struct catalogue_change t;
	int rc = catalogue_begin(all->c, &t, err);

	if (rc == 0)
		rc = update_index(all, t.ix, err);
	return catalogue_end(&t, rc, err);
}

/*
 * There is no room to write the index.  Free space by removing parts of the
 * datasets of the group: first their redundancy, without which they stay valid,
 * then their summaries, without which no job can fetch them.
 */
static int
change_full_index(struct deletions *all, struct error *err)
{
	for (int summary = 0; summary < 2; summary++)
		for (size_t i = all->from; i < all->to; i++) {
			const struct catalogue_dir *d = &all->list[i].dir;
			struct error why = ERROR_INIT;

			if (d->fd < 0)
				continue;
			if ((summary ? catalogue_dir_unlink(d, SUMMARY_FILE,
							    err)
				     : catalogue_dir_clear(d, SPARE_KINDS,
							   err)) < 0)
				return -1;
			if (try_change(all, &why) == 0)
				return 0;
			if (!room_is_short(&why))
				return error_pass(err, &why);
		}
	return -1;
}

static int
change_index(struct deletions *all, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = 0;

	if (all->o->work.dry_run)
		return 0;
	rc = try_change(all, &why);
	/* Also set if only the last step of the change failed; not set if the
	 * wait for the lock was stopped. */
	all->announced |= rc == 0 || why.errnum != EINTR;
	if (rc < 0 && room_is_short(&why))
		rc = change_full_index(all, &why);
	if (rc < 0)
		return error_pass(err, &why);
	all->listed = all->from;
	return 0;
}

/* --- All datasets --- */

/* Read the files of dataset `i`, to know which are shared.  Those of the first
 * group, which is locked, are kept. */
static int
examine(struct deletions *all, size_t i, struct error *err)
{
	struct deletion *d = &all->list[i];
	const bool first = i < all->to;
	int rc = first ? 0 : open_dataset(d, false, err);
	struct index_entry e;

	if (rc == 0 && d->dir.fd >= 0)
		rc = read_claims(d, err);
	/* Without a directory, only its entry can be removed. */
	else if (rc == 0 && (all->ix == NULL ||
			     index_find_id(all->ix, d->id, &e, NULL) < 0))
		rc = error_set(err, ERROR_ABSENT,
			       "dataset %" PRId64 ": no such dataset", d->id);
	else if (rc == 0 && e.name != NULL &&
		 packed_is_old(d->c->prefix_fd, e.name))
		rc = error_set(err, ERROR_USAGE,
			       "%s: a dataset of SCR 1.1.8: remove its "
			       "directory by hand, then its entry with "
			       "--drop",
			       e.name);
	for (size_t k = 0; rc == 0 && k < d->claims.count; k++) {
		struct owned *at =
			owners_add(all->paths, d->claims.paths[k], err);

		rc = at == NULL ? -1 : 0;
		if (at != NULL)
			at->left++; /* datasets still to be deleted */
	}
	all->held += d->claims.count;
	if (rc < 0 || !first || all->held > PATHS_HELD)
		drop_claims(d);
	if (!first)
		catalogue_dir_close(&d->dir);
	return rc;
}

/* Mark the files of all other datasets: of those that stay, and of those after
 * the first one that cannot be deleted. */
static int
mark_others(struct deletions *all, struct error *err)
{
	int64_t *dirs = NULL, *going = NULL;
	size_t ndirs = 0;
	int rc = 0;

	if (all->good == 0)
		return 0;
	going = mem_alloc(all->good, sizeof(*going));
	if (going == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < all->good; i++)
		going[i] = all->list[i].id;
	qsort(going, all->good, sizeof(*going), num_by_id);
	dirs = catalogue_dirs(all->c, &ndirs, err);
	if (ndirs == (size_t)-1)
		rc = -1;
	for (size_t i = 0; rc == 0 && i < ndirs; i++) {
		struct error why = ERROR_INIT;
		size_t found = 0;

		if (bsearch(&dirs[i], going, all->good, sizeof(*going),
			    num_by_id) == NULL &&
		    owners_mark(all->c, dirs[i], all->o, all->paths, &found,
				&why) < 0)
			rc = doubt(all, dirs[i], &why, err);
	}
	mem_free(dirs);
	mem_free(going);
	return rc;
}

static int
open_group(struct deletions *all, struct error *err)
{
	for (size_t i = all->from; i < all->to; i++)
		if (open_dataset(&all->list[i], !all->o->work.dry_run, err) < 0)
			return -1;
	return 0;
}

/* Report dataset `i`, and free what it holds. */
static void
finish(struct deletions *all, size_t i, const struct error *why)
{
	struct deletion *d = &all->list[i];

	all->listener->done(all->listener->arg, d->id, &d->out, why);
	d->deleted = why == NULL;
	drop_claims(d);
	catalogue_dir_close(&d->dir);
}

/* The end of the group that begins at `from`. */
static size_t
group_end(size_t from, size_t count)
{
	return count - from > GROUP ? from + GROUP : count;
}

/* `err` is not NULL. */
static int
delete_all(struct deletions *all, struct error *err)
{
	struct error why = ERROR_INIT;
	size_t next = 0;
	int rc = -1;

	all->to = group_end(0, all->count);
	/* Examine the datasets up to the first one that cannot be deleted. */
	if (open_group(all, err) == 0)
		for (rc = 0; all->good < all->count; all->good++)
			if (examine(all, all->good, &all->why) < 0)
				break;
	/* ERROR_ABSENT, ERROR_USAGE: no directory, so it names no files. */
	if (rc == 0 && all->good > 0 && all->good < all->count &&
	    all->why.kind != ERROR_ABSENT && all->why.kind != ERROR_USAGE)
		rc = doubt(all, all->list[all->good].id, &all->why, err);
	if (rc == 0)
		rc = mark_others(all, err);
	all->to = group_end(0, all->good);
	while (rc == 0 && next < all->good) {
		if (next > 0)
			rc = open_group(all, err);
		if (rc == 0)
			rc = change_index(all, err);
		for (; rc == 0 && next < all->to; next++) {
			rc = delete_one(all, &all->list[next], err);
			if (rc < 0)
				break;
			finish(all, next, NULL);
		}
		if (rc == 0) {
			all->from = next;
			all->to = group_end(next, all->good);
		}
	}
	if (rc == 0 && next < all->count)
		rc = error_pass(err, &all->why);
	if (rc < 0)
		finish(all, next, err);
	all->from = all->to; /* also those marked but not deleted */
	if (!all->announced || change_index(all, &why) == 0)
		return rc;
	if (rc == 0)
		return error_pass(err, &why);
	work_say(&all->o->work, "%s", why.text);
	return -1;
}

int
catalogue_delete_all(struct catalogue *c, const int64_t *ids, size_t count,
		     const struct catalogue_options *o,
		     const struct delete_listener *listener, struct error *err)
{
	struct deletions all = { .c = c, .o = o, .listener = listener };
	struct error why = ERROR_INIT;
	struct index *ix = NULL;
	int rc = -1;

	if (count == 0)
		return 0;
	all.list = mem_calloc(count, sizeof(*all.list));
	if (all.list == NULL)
		return error_no_memory(err);
	all.count = count;
	for (size_t i = 0; i < count; i++)
		all.list[i] = (struct deletion){
			.c = c, .o = o, .id = ids[i], .dir = CATALOGUE_DIR_INIT
		};
	/* A rebuilt index is sufficient here. */
	all.ix = ix = catalogue_read(c, &why);
	if (ix != NULL || why.kind == ERROR_ABSENT) {
		error_clear(&why);
		all.paths = owners_new(&why);
		rc = all.paths != NULL ? delete_all(&all, &why) : -1;
	}
	if (rc < 0)
		error_pass(err, &why);
	for (size_t i = 0; i < count; i++) {
		drop_claims(&all.list[i]);
		catalogue_dir_close(&all.list[i].dir);
	}
	owners_free(all.paths);
	mem_free(all.list);
	index_free(ix);
	return rc;
}
