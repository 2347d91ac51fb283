/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - progress of a long job.  The library names its phases and counts
 * bytes (progress_add, in any thread, without a system call).  The command
 * shows a line with rate and time left of the phase: once a second if stderr is
 * a terminal, and on each SIGUSR1.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress; /* opaque */

/* Called every so many seconds, in another thread. */
struct progress_beat {
	unsigned seconds;
	void (*call)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/*
 * Show "what: subject, phase  42 % 1.2 GiB of 3.0 GiB, 800.0 MiB/s, 2 s left"
 * on stderr until progress_end(); if `quiet`, only on SIGUSR1.  SIGUSR1 stays
 * blocked in the calling thread, which must be the one that calls
 * progress_end().  `beat` may be NULL, and is valid until then.  NULL: ENOMEM.
 */
struct progress *progress_start(const char *what, bool quiet,
				const struct progress_beat *beat);

/* Erase the line and free `p`.  NULL is ignored. */
void progress_end(struct progress *p);

/* Name what the next phases work on, such as "dataset 5", if there are several.
 * NULL is ignored. */
void progress_subject(struct progress *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Begin a phase of so many bytes: "copying".  The bytes done are counted from 0
 * again.  Not while another thread counts.  NULL is ignored. */
void progress_phase(struct progress *p, const char *phase, uint64_t bytes);

/* Add to the bytes done.  NULL is ignored. */
void progress_add(struct progress *p, uint64_t bytes);

/* Get the bytes done and expected in this phase; 0 if `p` is NULL. */
void progress_get(const struct progress *p, uint64_t *done, uint64_t *total);

/*
 * Write the line as it would be shown `seconds` after the start, ended with
 * NUL.  Exported for tests.  If `size` is too small, `what` is cut first, then
 * the numbers.  Returns the length.
 */
int progress_text(const char *what, uint64_t done, uint64_t total,
		  double seconds, char *to, unsigned size);

#endif /* PROGRESS_H */
