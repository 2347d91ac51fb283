/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobfiles.h - the small files in PREFIX/.scr that a job leaves and batch
 * scripts query: the flush file and the nodes file.  Also their removal before
 * the next job starts.
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

/* Open PREFIX/.scr.  If `make`, it is created with all missing directories
 * above it.  Returns a descriptor to close, or -1. */
int jobfiles_open(const char *prefix, bool make, struct error *err);

/* The flush file (scr-dataset(5)): its entries, ids ascending. */
struct jobfiles_flush {
	struct kvtree *tree;
	struct flush_entry *all; /* borrowed from `tree` */
	size_t count;
};

/* Read the flush file, for jobfiles_flush_free().  ERROR_ABSENT: no flush file;
 * ERROR_CORRUPT.  A struct that is all zero may be freed, too. */
int jobfiles_flush_read(const char *prefix, struct jobfiles_flush *out,
			struct error *err);
void jobfiles_flush_free(struct jobfiles_flush *f);

/* The entry of dataset `id`, or NULL. */
const struct flush_entry *jobfiles_flush_find(const struct jobfiles_flush *f,
					      int64_t id);

/* To which prefix the files of a dataset in a cache belong. */
enum jobfiles_origin {
	JOBFILES_HERE,	    /* to this one; or nothing is recorded */
	JOBFILES_ELSEWHERE, /* to another one, which exists */
	JOBFILES_GONE,	    /* to one that was moved or deleted */
};

/*
 * `place` is the directory that a filemap records for a file of the dataset
 * (PATH), or NULL.  The prefix of the file is the closest directory above it
 * with metadata of datasets; *other becomes its path if that is not `prefix`,
 * under whatever name.  ERROR_NOMEM leaves *other failed.
 */
enum jobfiles_origin jobfiles_origin(const char *prefix, const char *place,
				     struct buf *other);

/* The job that wrote the flush file: that of the newest dataset that names one.
 * "": unknown, or there is no flush file. */
struct jobfiles_owner {
	char id[128], user[128];
};

void jobfiles_owner(const char *prefix, struct jobfiles_owner *out);

/*
 * Append the locations of a dataset, separated by blanks, in the order
 * SYNC_FLUSHING FLUSHING PFS CACHE.  If `first`, only the first of them, as
 * LLNL's tool prints it.  NONE if it has no location, or `e` is NULL.
 */
void jobfiles_location(const struct flush_entry *e, bool first,
		       struct buf *out);

/* All entries, as a JSON array. */
struct json *jobfiles_flush_json(const struct jobfiles_flush *f);

/* The number of nodes of the last run, from the nodes file; 0: not recorded.
 * ERROR_ABSENT: no nodes file; ERROR_CORRUPT. */
int jobfiles_nodes(const char *prefix, int64_t *count, struct error *err);

/* Restarts from one dataset in a row that began and did not end: libscr counts
 * them in this file of PREFIX/.scr, and gives the dataset up in the end. */
#define JOBFILES_RESTARTS "restart.scr"

struct jobfiles_restarts {
	uint64_t id, created, count;
};

/* Read the file in directory `scr`.  No file, or one that cannot be read, which
 * is an error: all zero. */
int jobfiles_restarts(int scr, struct jobfiles_restarts *out,
		      struct error *err);

/* The action of jobfiles_prepare() on the files of earlier jobs. */
enum jobfiles_left {
	JOBFILES_NONE, /* no files found */
	/* All their datasets are on the file system, or superseded by newer
	 * checkpoints. */
	JOBFILES_REMOVED,
	/* Flush file renamed to flush.scr.bak: it cannot be read, or a dataset
	 * was in cache only. */
	JOBFILES_ASIDE,
	JOBFILES_OURS,	  /* of this job: kept */
	JOBFILES_RUNNING, /* of a job that runs or may run: kept */
};

struct jobfiles_prepared {
	enum jobfiles_left left;
	char owner[128]; /* job of the flush file; "": unknown */
	int64_t unsaved; /* JOBFILES_ASIDE: its id; 0: cannot be read */
	bool may_run;	 /* JOBFILES_RUNNING: unknown whether it runs */
};

/* The job that is about to start. */
struct jobfiles_job {
	const char *id; /* NULL: unknown */
	/* Does job `id` run?  1, 0, or -1: unknown.  NULL: always unknown. */
	int (*runs)(void *arg, const char *id);
	void *arg;
	bool force;   /* remove or rename the files of any other job */
	bool dry_run; /* decide, and change nothing */
};

/*
 * Prepare PREFIX/.scr, created if missing, for the first run of `job`: remove
 * or rename the flush file and nodes file of an earlier job.  Files of this job
 * stay (a script may prepare twice), and, without job->force, so do those of a
 * job that runs or may run.  The halt file stays.
 */
int jobfiles_prepare(const char *prefix, const struct jobfiles_job *job,
		     struct jobfiles_prepared *out, struct error *err);

#endif /* SITE_JOBFILES_H */
