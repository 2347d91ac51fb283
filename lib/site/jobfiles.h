/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobfiles.h - the small files in PREFIX/.scr that a job leaves and batch
 * scripts ask about, flush file and nodes file; and what has to become of them
 * before the next job starts.
 */
#ifndef SITE_JOBFILES_H
#define SITE_JOBFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;
struct flush_entry;
struct json;
struct kvtree;

/* Open PREFIX/.scr, made with all above it if `make`.  Returns a descriptor to
 * close, or -1. */
int jobfiles_open(const char *prefix, bool make, struct error *err);

/* The flush file (formats.md 3.5): its entries, ids ascending. */
struct jobfiles_flush {
	struct kvtree *tree;
	struct flush_entry *all; /* what they point to is in `tree` */
	size_t count;
};

/* ERROR_ABSENT: no flush file; ERROR_CORRUPT.  jobfiles_flush_free() is for
 * both a read one and one of zeros. */
int jobfiles_flush_read(const char *prefix, struct jobfiles_flush *out,
			struct error *err);
void jobfiles_flush_free(struct jobfiles_flush *f);

/* The entry of dataset `id`, or NULL. */
const struct flush_entry *jobfiles_flush_find(const struct jobfiles_flush *f,
					      int64_t id);

/*
 * Where a dataset is: all places, with blanks between them, in the order
 * SYNC_FLUSHING FLUSHING PFS CACHE; or, if `first`, only the first of these,
 * as LLNL's tool has it.  NONE if there are none, or `e` is NULL.
 */
int jobfiles_location(const struct flush_entry *e, bool first, struct buf *out);

/* All entries, a JSON array. */
struct json *jobfiles_flush_json(const struct jobfiles_flush *f);

/* Nodes of the last run, from the nodes file; 0: it does not say.
 * ERROR_ABSENT: there is none; ERROR_CORRUPT. */
int jobfiles_nodes(const char *prefix, int64_t *count, struct error *err);

/* What jobfiles_prepare() did with the files of earlier jobs. */
enum jobfiles_left {
	JOBFILES_NONE,	  /* there were none */
	JOBFILES_REMOVED, /* all that they tell of is on the file system */
	JOBFILES_ASIDE,	  /* renamed to flush.scr.bak: it tells of datasets that
			     were in cache only, or it cannot be read */
	JOBFILES_OURS,	  /* they are of this very job: kept */
	JOBFILES_RUNNING, /* of a job that runs, or may run: kept */
};

struct jobfiles_prepared {
	enum jobfiles_left left;
	char owner[128]; /* the job the flush file tells of; "" unknown */
	bool may_run;	 /* JOBFILES_RUNNING: nobody could tell whether it is */
};

/* The job that is about to run. */
struct jobfiles_job {
	const char *id; /* NULL: unknown */
	/* Does a job run?  1, 0, or -1: unknown.  NULL: always unknown. */
	int (*runs)(void *arg, const char *id);
	void *arg;
	bool force; /* put the files away, whosever they are */
};

/*
 * Before the first run of `job`: make PREFIX/.scr, and put away flush file and
 * nodes file of earlier jobs, but never those of this job (a script may prepare
 * twice) nor of one that runs, or may run, unless job->force.  The halt file
 * stays.
 */
int jobfiles_prepare(const char *prefix, const struct jobfiles_job *job,
		     struct jobfiles_prepared *out, struct error *err);

#endif /* SITE_JOBFILES_H */
