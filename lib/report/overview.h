/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overview.h - what lies here?  For commands that take whatever path the user
 * has at hand: a metadata file, a prefix, a dataset, a cache.  And an overview
 * of a prefix: every dataset that index, directories and flush.scr know of.
 *
 * Looking changes nothing on disk.
 */
#ifndef REPORT_OVERVIEW_H
#define REPORT_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "meta/haltfile.h"
#include "meta/index.h"
#include "rescue/deep.h"

struct arena;
struct containers;
struct index;
struct json;
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
int survey_caches_add(struct survey_caches *c, const char *path, size_t *found,
		      struct error *err);

/* --- A prefix --- */

/* One dataset; strings are borrowed from the survey. */
struct survey_entry {
	int64_t id;
	const char *name;    /* NULL: nowhere recorded */
	struct dataset desc; /* of index, summary or flush.scr; id 0: none */
	bool indexed;	     /* the index has it: */
	bool valid, current;
	bool finished;	    /* its COMPLETE is 1 */
	const char *reason; /* why it is not valid; "" */
	bool has_dir;	    /* PREFIX/.scr/scr.dataset.ID is there */
	bool in_cache, on_pfs, flushing; /* as flush.scr says */
};

struct survey {
	struct catalogue *catalogue;
	struct index *index;  /* NULL: none */
	const char *no_index; /* why not */
	bool remade;	      /* index.scr is damaged, this one is made from the
			dataset directories */
	struct arena *arena;
	size_t count;
	struct survey_entry *entries; /* by id */
	struct kvtree *halt_tree;
	struct halt halt; /* valid if has_halt */
	bool has_halt;
	int64_t nodes;	  /* of the last run; -1: not known */
	struct buf notes; /* lines: files that could not be read */
};

/* Look at prefix directory `path`.  For survey_fini(), in any case. */
int survey_init(struct survey *s, const char *path, struct error *err);
void survey_fini(struct survey *s);

/* The entry a user means by `text`, a name or a number; NULL: ERROR_ABSENT. */
const struct survey_entry *survey_find(const struct survey *s, const char *text,
				       struct error *err);

/* --- How a dataset is --- */

/* What a look at one dataset gave. */
struct survey_health {
	int64_t id;
	const struct survey_entry *entry; /* on a prefix; else NULL */
	const struct survey_group *group; /* in caches; else NULL */
	int status;  /* STATUS_OK, _DAMAGED, _LOST; _FAILED: could not look */
	bool absent; /* it is not on the prefix, and the index does not say so:
			never flushed, or not to the end */
	struct plan *plan; /* NULL: only a rank2file tells its files */
	struct verify_result verify; /* valid without a plan */
	struct buf problems;	     /* the same, a line each */
	struct deep_result deep;     /* valid if deep_done */
	bool deep_done;
	struct containers *containers; /* NULL: not packed, or not looked at */
	char why[ERROR_TEXT_MAX];      /* one sentence where status is not OK */
};

/*
 * Check dataset `e`: a plan with all headers where there are filemaps, else
 * the files that rank2file names; o->checksums and o->deep also read the data.
 * What is wrong with the dataset goes to *out; -1: lack of memory, failing
 * reads.  For survey_health_fini(), in any case.
 */
int survey_check(struct survey *s, const struct survey_entry *e,
		 const struct catalogue_options *o, struct survey_health *out,
		 struct error *err);

/*
 * After survey_check(): see how the containers are if the dataset is packed,
 * and its map can be read.  They may turn out to be worse than what the files
 * need, so that out->status changes.
 */
int survey_check_containers(struct survey *s, const struct catalogue_options *o,
			    struct survey_health *out, struct error *err);

/*
 * The same as both for a packed dataset in the layout of SCR 1.1.8 (packed.h),
 * which is none of the survey's entries.  ERROR_ABSENT as survey_find().
 */
int survey_check_old(struct survey *s, const char *name,
		     const struct catalogue_options *o,
		     struct survey_health *out, struct error *err);

/* The same for a dataset in caches. */
int survey_check_group(const struct survey_group *g,
		       const struct catalogue_options *o,
		       struct survey_health *out, struct error *err);
void survey_health_fini(struct survey_health *h);

/* "whole", "damaged", "lost", "unknown", "in cache", "not complete". */
const char *survey_state(const struct survey_health *h);

/*
 * STATUS_OK, _DAMAGED or _LOST of what matters: a plan that calls a set lost
 * because its redundancy is gone is only damaged while all its data are there.
 */
int survey_plan_status(const struct plan *p);

/* --- JSON (scr_inspect(1)) --- */

/* One dataset; `detail`: with its plan, `all_files`: and all files of it. */
struct json *survey_json(const struct survey_health *h, bool detail,
			 bool all_files);

/* The prefix, taking over `datasets`, an array of the above. */
struct json *survey_prefix_json(const struct survey *s, struct json *datasets);

#endif /* REPORT_OVERVIEW_H */
