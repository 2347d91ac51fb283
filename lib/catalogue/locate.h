/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locate.h - what a path is that a user has at hand: a metadata file, a prefix,
 * a dataset, a cache; and the dataset directories in caches below it.
 *
 * Looking changes nothing on disk.
 */
#ifndef CATALOGUE_LOCATE_H
#define CATALOGUE_LOCATE_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

enum locate_kind {
	LOCATE_FILE,	/* not a directory */
	LOCATE_PREFIX,	/* has a .scr; or is that .scr */
	LOCATE_DATASET, /* PREFIX/.scr/scr.dataset.ID */
	LOCATE_CACHE,	/* .../scr.dataset.ID of a cache, with a .scr in it */
	LOCATE_OTHER,	/* a directory that is none of these */
};

struct locate_place {
	enum locate_kind kind;
	const char *prefix; /* PREFIX, DATASET: the prefix directory */
	int64_t id;	    /* DATASET, CACHE */
};

/* What `path` is; strings go to `a`.  ERROR_ABSENT: nothing of that name. */
int locate_path(const char *path, struct arena *a, struct locate_place *out,
		struct error *err);

/* Directories of one dataset in the caches of one or more nodes. */
struct locate_group {
	int64_t id;
	const char *job; /* name of the directory above, "scr.1000" */
	size_t ndirs, cap;
	const char **dirs;
};

struct locate_caches {
	struct arena *arena; /* owns all strings */
	size_t count, cap;
	struct locate_group *groups; /* by id, then job */
};

int locate_caches_init(struct locate_caches *c, struct error *err);
void locate_caches_fini(struct locate_caches *c);

/*
 * Add the dataset directories of caches at or below `path`, a few levels deep:
 * it may be a dataset directory itself, a job's (CACHE/USER/scr.JOB), or a
 * whole cache.  Directories of the same dataset and job, wherever they lie,
 * come together.  *found counts the ones added.
 */
int locate_caches_add(struct locate_caches *c, const char *path, size_t *found,
		      struct error *err);

#endif /* CATALOGUE_LOCATE_H */
