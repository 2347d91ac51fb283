/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.h - how to work: with which threads and how much memory, who is told of
 * progress and events, who may stop it.  A command fills it in once; every room
 * that does long work takes it.
 */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct par;
struct progress;
struct waiting; /* opaque */

struct work {
	struct par *par; /* threads that compute; NULL: only the caller's */
	struct waiting *waiting; /* for work_waiting(); NULL: par does both */
	uint64_t memory; /* for buffers, in bytes; 0: the room's default */
	bool dry_run;	 /* report what would be done, and change nothing */
	struct progress *progress; /* of bytes; or NULL */
	bool (*stop)(void); /* polled, by any thread; true: stop cleanly with
			       ERROR_SYSTEM; NULL: never */
	/* One line per event, without newline: what the user should know, and
	 * details for those who ask (-v).  NULL: nobody listens. */
	void (*log)(void *arg, const char *line);
	void (*detail)(void *arg, const char *line);
	void *log_arg; /* of both */
};

/* `w`, or for NULL the defaults: the caller's thread, and nobody listens. */
const struct work *work_or_default(const struct work *w);
/*
 * The threads for work on `jobs` threads; 0: as many as processors for
 * computing, and for waiting as work_waiting() finds right.  work_end() frees
 * them.
 */
int work_start(struct work *w, unsigned jobs, struct error *err);
void work_end(struct work *w);

/*
 * The threads for work that mostly waits for a file system: where a call takes
 * long, many more than there are processors.  The first call measures how long
 * it takes to look for a name in directory `dirfd` (-1: nothing is measured),
 * and decides.  For one thread at a time.  NULL: only the caller's (also where
 * `w` is NULL).
 */
struct par *work_waiting(const struct work *w, int dirfd);

/* Should the work stop? */
bool work_stopped(const struct work *w);

/* A formatted line for w->log, or for w->detail. */
void work_say(const struct work *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void work_detail(const struct work *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* WORK_H */
