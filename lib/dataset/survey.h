/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * survey.h - what lies here?  For commands that take whatever path the user
 * has at hand: a metadata file, a prefix, a dataset, a cache.  And an overview
 * of a prefix: every dataset that index, directories and flush.scr know of.
 *
 * Looking changes nothing on disk.
 */
#ifndef DATASET_SURVEY_H
#define DATASET_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "dataset/catalogue.h"
#include "meta/halt.h"
#include "meta/index.h"

struct arena;
struct error;
struct index;
struct kvtree;
struct plan;

/* --- Paths --- */

enum survey_kind {
	SURVEY_FILE,	/* not a directory */
	SURVEY_PREFIX,	/* has a .scr; or is that .scr */
	SURVEY_DATASET, /* PREFIX/.scr/scr.dataset.ID */
	SURVEY_CACHE,	/* .../scr.dataset.ID of a cache, with a .scr in it */
	SURVEY_OTHER,	/* a directory that is none of these */
};

struct survey_place {
	enum survey_kind kind;
	const char *prefix; /* PREFIX, DATASET: the prefix directory */
	int64_t id;	    /* DATASET, CACHE */
};

/* What `path` is; strings go to `a`.  ERROR_ABSENT: nothing of that name. */
int survey_look(const char *path, struct arena *a, struct survey_place *out,
		struct error *err);

/* Directories of one dataset in the caches of one or more nodes. */
struct survey_group {
	int64_t id;
	const char *job; /* name of the directory above, "scr.1000" */
	size_t ndirs, cap;
	const char **dirs;
};

struct survey_caches {
	struct arena *arena; /* owns all strings */
	size_t count, cap;
	struct survey_group *groups; /* by id, then job */
};

int survey_caches_init(struct survey_caches *c, struct error *err);
void survey_caches_fini(struct survey_caches *c);

/*
 * Add the dataset directories of caches at or below `path`, a few levels deep:
 * it may be a dataset directory itself, a job's (CACHE/USER/scr.JOB), or a
 * whole cache.  Directories of the same dataset and job, wherever they lie,
 * come together.  *found counts the ones added.
 */
int survey_caches_add(struct survey_caches *c, const char *path,
		      size_t *found, struct error *err);

/* --- A prefix --- */

/* One dataset; strings are borrowed from the survey. */
struct survey_entry {
	int64_t id;
	const char *name;    /* NULL: nowhere recorded */
	struct dataset desc; /* of index, summary or flush.scr; id 0: none */
	bool indexed;	     /* the index has it: */
	bool valid, current;
	bool finished; /* its COMPLETE is 1 */
	const char *reason; /* why it is not valid; "" */
	bool has_dir;	    /* PREFIX/.scr/scr.dataset.ID is there */
	bool in_cache, on_pfs, flushing; /* as flush.scr says */
};

struct survey {
	struct catalogue *catalogue;
	struct index *index;   /* NULL: none */
	const char *no_index;  /* why not */
	struct arena *arena;
	size_t count;
	struct survey_entry *entries; /* by id */
	struct kvtree *halt_tree;
	struct halt halt; /* valid if has_halt */
	bool has_halt;
	int64_t nodes;	     /* of the last run; -1: not known */
	struct buf notes; /* lines: files that could not be read */
};

/* Look at prefix directory `path`.  For survey_fini(), in any case. */
int survey_init(struct survey *s, const char *path, struct error *err);
void survey_fini(struct survey *s);

/* The entry a user means by `text`, a name or a number; NULL: ERROR_ABSENT. */
const struct survey_entry *survey_find(const struct survey *s,
				       const char *text, struct error *err);

/* What a look at one dataset gave. */
struct survey_health {
	int status; /* STATUS_OK, _DAMAGED, _LOST; _FAILED: `why` */
	bool absent; /* it is not on the prefix, and the index does not say so:
			never flushed, or not to the end */
	struct plan *plan;	     /* NULL: only a rank2file tells its files */
	struct verify_result verify; /* valid without a plan */
	struct buf problems;	     /* the same, a line each */
	char why[1024]; /* one sentence where status is not OK; else "" */
};

/* Check dataset `e`: a plan where there are filemaps (with PLAN_* `flags`),
 * else the files that rank2file names.  -1 only for lack of memory. */
int survey_check(struct survey *s, const struct survey_entry *e,
		 unsigned flags, const struct catalogue_options *o,
		 struct survey_health *out, struct error *err);
void survey_health_fini(struct survey_health *h);

/*
 * STATUS_OK, _DAMAGED or _LOST of what matters: a plan that calls a set lost
 * because its redundancy is gone is only damaged while all its data are there.
 */
int survey_plan_status(const struct plan *p);

#endif /* DATASET_SURVEY_H */
