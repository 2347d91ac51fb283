/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_impl.h - shared by the files of module flushing. */
#ifndef SCR_FLUSHING_IMPL_H
#define SCR_FLUSHING_IMPL_H

#include "scr/flushing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "meta/attr.h"

struct arena;
struct held_set;
struct put;
struct put_file;
struct run;

struct flush_file {
	const char *from; /* absolute, in cache; with bypass on the prefix */
	const char *rel;  /* below the prefix */
	struct attr attr;
	bool has_crc; /* from the filemap, or computed during the copy */
	uint32_t crc;
	struct put_file *to; /* NULL: it is in place */
};

struct flushing {
	struct run *run;
	struct held_set *s;
	bool resume;   /* an interrupted flush may have put files in place */
	bool replaces; /* files on the prefix */
	double since;  /* clock_seconds() */
	int prefix_fd;
	struct arena *arena;
	struct put *put; /* NULL with bypass */
	size_t nfiles;
	struct flush_file *files;
	/* In the background (flushing_async.c). */
	struct flushing *next; /* the one that began after it */
	int ended;	       /* 1: its transfers have; -1: failed */
	struct error why;
	/* Of the paths that all ranks write, those that have their home here,
	 * each with its NUL; NULL: not known yet. */
	char *homed;
	size_t homed_len;
};

/* Begin to flush: log it, and plan.  `resume`: an interrupted run may have
 * begun before.  ERROR_LOST, ERROR_ABSENT: a file in cache does not match its
 * filemap.  NULL: the flush has failed. */
struct flushing *flushing_begin(struct run *run, struct held_set *s,
				bool resume, struct error *err);

/* The plan. */
struct flushing *flushing_plan(struct run *run, struct held_set *s, bool resume,
			       struct error *err);

/* stop(), if not NULL, is asked by any thread. */
int flushing_transfer(struct flushing *f, bool (*stop)(void *arg), void *arg,
		      struct error *err);

/* With the result of the transfers, commit or give up.  Frees `f`. */
int flushing_end(struct flushing *f, int rc, struct error *err);

void flushing_free(struct flushing *f); /* NULL is ignored */

/* Flush in the background.  False, reported: it cannot begin. */
bool flushing_start(struct run *run, struct held_set *s, bool resume);

/* Rank 0 reports why the dataset stays in the cache. */
void flushing_say(const struct run *run, int64_t id, const struct error *why);

#endif /* SCR_FLUSHING_IMPL_H */
