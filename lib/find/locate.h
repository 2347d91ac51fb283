/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locate.h - classify a path given by the user: a metadata file, a prefix, a
 * dataset or a cache.  Also find the dataset directories in caches below a
 * path.
 *
 * Nothing on disk is changed.
 */
#ifndef FIND_LOCATE_H
#define FIND_LOCATE_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

enum locate_kind {
	LOCATE_FILE,	/* not a directory */
	LOCATE_PREFIX,	/* has a .scr, or is that .scr */
	LOCATE_DATASET, /* PREFIX/.scr/scr.dataset.ID */
	LOCATE_CACHE,	/* .../scr.dataset.ID of a cache, containing a .scr */
	LOCATE_OTHER,	/* any other directory */
};

struct locate_place {
	enum locate_kind kind;
	const char *prefix; /* PREFIX, DATASET: the prefix directory */
	int64_t id;	    /* DATASET, CACHE */
};

/* Classify `path`; strings are allocated in `a`.  ERROR_ABSENT: no such
 * path. */
int locate_path(const char *path, struct arena *a, struct locate_place *out,
		struct error *err);

/* Directories of one dataset in the caches of one or more nodes. */
struct locate_group {
	int64_t id;
	const char *job; /* base name of the job's directory, "scr.1000" */
	size_t ndirs, cap;
	const char **dirs;
};

struct locate_caches {
	struct arena *arena; /* owns all strings */
	size_t count, cap;
	struct locate_group *groups; /* sorted by id, then job */
};

void locate_caches_init(struct locate_caches *c);
void locate_caches_fini(struct locate_caches *c);

/*
 * Add the dataset directories of caches at or a few levels below `path`, which
 * may be a dataset directory, a job's directory (CACHE/USER/scr.JOB), or a
 * whole cache.  Directories of the same dataset and job form one group,
 * wherever they are.  *found counts the directories added.
 */
int locate_caches_add(struct locate_caches *c, const char *path, size_t *found,
		      struct error *err);

#endif /* FIND_LOCATE_H */
