/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work.h - the environment of long work: threads, memory, rate, progress, log,
 * and a way to stop it.  A command fills it in once; every module that does
 * long work takes it.
 */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct pace;
struct par;
struct progress;
struct transfer_help;
struct waiting; /* opaque */

struct work {
	struct par *par; /* threads that compute; NULL: the caller only */
	struct waiting *waiting; /* for work_waiting(); NULL: use par */
	uint64_t memory;   /* for buffers, in bytes; 0: the module's default */
	uint64_t rate;	   /* at most, of the bytes per second; 0: no limit */
	struct pace *pace; /* that keeps it: of work_start(); or NULL */
	struct transfer_help *help; /* for transfer(); NULL: none */
	bool dry_run; /* report what would be done, and change nothing */
	struct progress *progress; /* of bytes; or NULL */
	/* Polled by any thread; true: stop cleanly with ERROR_SYSTEM; NULL:
	 * never. */
	bool (*stop)(void);
	/* Called with one line per event, without newline: log() with what the
	 * user should know, detail() with details (-v).  May be NULL. */
	void (*log)(void *arg, const char *line);
	void (*detail)(void *arg, const char *line);
	void *log_arg; /* of both */
};

/* `w`, or for NULL the defaults: the caller's thread, no log. */
const struct work *work_or_default(const struct work *w);
/*
 * Start `jobs` threads for `w`.  0: one thread per processor for computing, and
 * a number chosen by work_waiting() for waiting.  Errors: ERROR_NOMEM,
 * ERROR_SYSTEM.  Call work_end() afterwards, also after a failure.
 */
int work_start(struct work *w, unsigned jobs, struct error *err);
void work_end(struct work *w);

/*
 * The threads for work that mostly waits for a file system: many more than
 * there are processors if a system call takes long.  The first call measures
 * how long it takes to look up a name in directory `dirfd` (-1: no measurement)
 * and decides.  Not thread-safe.  The result is borrowed; NULL: the caller's
 * thread only, also if `w` is NULL.
 */
struct par *work_waiting(const struct work *w, int dirfd);

/* The option that sets `rate`, of which each node gets a share, and its least
 * value. */
#define WORK_RATE "limit-rate"
#define WORK_RATE_LEAST 1024

/* Call after each block that was read or written: wait as long as the rate
 * says, or until a stop is requested.  The first function also adds the bytes
 * to the progress.  `w` may be NULL. */
void work_moved(const struct work *w, uint64_t bytes);
void work_pace(const struct work *w, uint64_t bytes);

/* Was a stop requested? */
bool work_stopped(const struct work *w);

/* -1: a stop was requested; ERROR_SYSTEM with EINTR.  `w` may be NULL. */
int work_go_on(const struct work *w, struct error *err);

/* Pass a formatted line to w->log, or to w->detail. */
void work_say(const struct work *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void work_say_lines(const struct work *w, const char *text); /* each line */
void work_detail(const struct work *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* WORK_H */
