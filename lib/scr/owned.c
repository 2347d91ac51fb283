/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "dir.h"
#include "error.h"
#include "lock.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "path.h"
#include "scr/lists.h"
#include "scr/onprefix.h"
#include "scr/run.h"
#include "work.h"

struct retired {
	int64_t id, by;
};

struct owned {
	struct arena *arena;
	struct map *ids; /* by path below the prefix */
	bool foreign;	 /* another number of ranks wrote some datasets */
	int64_t learned; /* dataset for which the lists of all were read */
	struct retired *retired; /* datasets that are marked already */
	size_t count, cap;
};

void
owned_free(struct owned *o)
{
	if (o == NULL)
		return;
	map_free(o->ids);
	arena_free(o->arena);
	mem_free(o->retired);
	mem_free(o);
}

int
owned_add(struct owned *o, const char *rel, int64_t id, struct error *err)
{
	if (o == NULL)
		return 0;
	if (map_get(o->ids, rel) == MAP_NONE)
		rel = arena_strdup(o->arena, rel);
	if (rel == NULL || map_put(o->ids, rel, (size_t)id) < 0)
		return error_no_memory(err);
	return 0;
}

/* --- Datasets on the prefix --- */

/* The ids of the valid datasets, oldest first. */
static int
find_ids(struct catalogue *c, struct buf *out, struct error *err)
{
	struct catalogue_entries all;
	const int rc = catalogue_entries(c, &all, err);

	for (size_t i = all.count; i-- > 0;)
		if (index_entry_valid(&all.list[i]))
			(void)buf_add(out, &all.list[i].id,
				      sizeof(all.list[i].id));
	catalogue_entries_free(&all);
	return rc < 0 ? -1 : buf_check(out, err);
}

/* Add the files of this rank in dataset `id`. An unreadable dataset has no
 * files to protect. */
static int
add_dataset(struct run *run, int64_t id, struct error *err)
{
	struct error why = ERROR_INIT;
	struct arena *a = arena_new();
	struct lists l = { .count = 0 };
	const struct dataset d = { .id = id };
	int rc = team_agree(&run->world, a == NULL ? error_no_memory(err) : 0,
			    err);

	if (rc == 0 && lists_read(run, &d, false, a, &l, &why) < 0) {
		l.count = 0;
		run->owned->foreign |= why.kind == ERROR_USAGE;
		rc = why.kind == ERROR_NOMEM ? error_pass(err, &why) : 0;
	}
	for (size_t i = 0; rc == 0 && i < l.count; i++)
		if (l.files[i].nsegs == 0)
			rc = owned_add(run->owned, l.files[i].path, id, err);
	arena_free(a);
	return rc;
}

int
owned_begin(struct run *run, struct error *err)
{
	const struct team *world = &run->world;
	struct owned *o = NULL;
	struct buf ids = BUF_INIT;
	int64_t id = 0;
	int rc = 0, local = 0;

	if (run->owned != NULL)
		return 0;
	o = run->owned = mem_calloc(1, sizeof(*o));
	if (o == NULL || (o->arena = arena_new()) == NULL ||
	    (o->ids = map_new()) == NULL)
		rc = error_no_memory(err);
	if (rc == 0 && world->rank == 0) {
		struct catalogue *c = catalogue_open(run->p.prefix, err);

		rc = c == NULL ? -1 : find_ids(c, &ids, err);
		catalogue_close(c);
	}
	rc = team_share(world, 0, rc, &ids, err);
	for (size_t at = 0; rc == 0 && at < ids.len; at += sizeof(id)) {
		memcpy(&id, ids.data + at, sizeof(id));
		if (local == 0)
			local = add_dataset(run, id, err);
		else
			(void)add_dataset(run, id, NULL);
	}
	buf_free(&ids);
	if (rc == 0)
		rc = team_agree(world, local, err);
	if (rc < 0) {
		owned_free(run->owned);
		run->owned = NULL;
	}
	return rc;
}

/* --- Files of other ranks --- */

/* Read the lists of all ranks, once for each dataset. */
static int
learn(const struct run *run, int64_t id, struct error *err)
{
	struct catalogue *c = NULL;
	int64_t of = 0;
	int rc = -1;

	if (run->owned->learned == id)
		return 0;
	c = catalogue_open(run->p.prefix, err);
	if (c != NULL) {
		const struct rank2file_file *f = NULL;
		struct catalogue_options o;
		struct buf ids = BUF_INIT;

		/* Add the files of all ranks in the valid datasets; the newest
		 * last, as it owns the bytes at a path. */
		rc = find_ids(c, &ids, err);
		onprefix_options(&o);
		for (size_t at = 0; rc == 0 && at < ids.len; at += sizeof(of)) {
			struct error why = ERROR_INIT;
			struct catalogue_names n;

			memcpy(&of, ids.data + at, sizeof(of));
			if (catalogue_names_of(c, of, &o, &n, &why) == 0)
				while (rc == 0 &&
				       (f = catalogue_names_next(&n)) != NULL)
					if (f->path != NULL && f->nsegs == 0)
						rc = owned_add(run->owned,
							       f->path, of,
							       err);
			catalogue_names_free(&n);
			if (why.kind == ERROR_NOMEM)
				rc = error_pass(err, &why);
		}
		buf_free(&ids);
	}
	catalogue_close(c);
	if (rc == 0)
		run->owned->learned = id;
	return rc;
}

bool
owned_elsewhere(const struct owned *o, const char *rel, int64_t id)
{
	const size_t is = map_get(o->ids, rel);

	return o->foreign || (is != MAP_NONE && (int64_t)is != id);
}

/* --- Before a file is replaced --- */

/* Mark a dataset, unless another rank has; one node at a time, by a lock in its
 * metadata.  *by: the dataset that replaces its files. */
static int
retire(const struct run *run, int64_t id, int64_t *by, struct error *err)
{
	struct catalogue *c = catalogue_open(run->p.prefix, err);
	struct catalogue_options o;
	const char *name = dataset_dir_str(id);
	struct error why = ERROR_INIT;
	struct work quiet = { .log = NULL };
	int64_t done = 0;
	int fd = -1, lock = -2, rc = -1;

	if (c == NULL)
		return -1;
	onprefix_options(&o);
	/* If each dataset of a run replaces the one before, one warning will
	 * do. */
	if (run->first_id != 0 && id > run->first_id)
		o.work.log = NULL;
	fd = path_open_dir(catalogue_scr_fd(c), name, &why);
	if (fd >= 0)
		lock = lock_take(fd, name, &quiet, err);
	else if (why.kind != ERROR_ABSENT)
		(void)error_pass(err, &why);
	if (lock != -1 && (fd >= 0 || why.kind == ERROR_ABSENT))
		rc = catalogue_replaced(c, id, &o, &done, err);
	if (rc == 0 && done == 0)
		rc = catalogue_retire(c, id, *by, &o, err);
	else if (rc == 0)
		*by = done;
	if (fd >= 0) {
		lock_give(fd, lock);
		close(fd);
	}
	catalogue_close(c);
	return rc;
}

/* Mark dataset `was`, once; ranks of a node one after the other.  *by: the
 * dataset that replaces its files:  `id`, or an older one. */
static int
make_way(const struct run *run, int64_t was, int64_t id, int metafd,
	 int64_t *by, struct error *err)
{
	struct owned *o = run->owned;
	struct work quiet = { .log = NULL };
	int lock = -1, rc = 0;

	for (size_t i = o->count; i-- > 0;)
		if (o->retired[i].id == was) {
			*by = o->retired[i].by;
			return 0;
		}
	*by = id;
	if (!MEM_ROOM(o->retired, o->count, o->cap))
		return error_no_memory(err);
	lock = lock_take(metafd, dataset_dir_str(id), &quiet, err);
	if (lock == -1)
		return -1;
	rc = retire(run, was, by, err);
	lock_give(metafd, lock);
	if (rc == 0)
		o->retired[o->count++] = (struct retired){ was, *by };
	return rc;
}

int
owned_make_way(const struct run *run, const char *rel, int64_t id, int metafd,
	       struct error *err)
{
	struct owned *o = run->owned;
	size_t was = o != NULL ? map_get(o->ids, rel) : (size_t)id;
	struct buf path = BUF_INIT;
	struct stat st;
	bool done = false;
	int64_t by = id;
	int rc = 0;

	if (was == (size_t)id)
		return 0;
	if (was == MAP_NONE) {
		/* Is there a file?  Its time does not show whether it is older
		 * than the dataset, as the clocks of file servers differ from
		 * ours. */
		rc = path_join(&path, run->p.prefix, rel, err);
		if (rc == 0 && dir_stat(AT_FDCWD, path.data, &st,
					AT_SYMLINK_NOFOLLOW) < 0) {
			done = errno == ENOENT;
			rc = done ? 0 : error_sys(err, "%s", path.data);
		}
		buf_free(&path);
	} else {
		rc = make_way(run, (int64_t)was, id, metafd, &by, err);
		done = by == id;
	}
	if (rc < 0 || done)
		return rc;
	/* Another rank may have written it. */
	if (learn(run, id, err) < 0)
		return -1;
	was = map_get(o->ids, rel);
	return was == MAP_NONE
		       ? 0
		       : make_way(run, (int64_t)was, id, metafd, &by, err);
}
