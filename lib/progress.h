/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - how far a long job is.  The library only counts
 * (progress_add, any thread, no system call); the command shows it: on a
 * terminal once a second with rate and time left, on SIGUSR1 always, in a
 * pipe or file never.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress; /* opaque */

/*
 * Show "what  42 % 1.2 GiB of 3.0 GiB, 800.0 MiB/s, 2 s left" on stderr while
 * it lives.  `quiet`: only on SIGUSR1, which stays blocked until the same
 * thread calls progress_end().  NULL: ENOMEM.
 */
struct progress *progress_start(const char *what, bool quiet);

/* Erase the line and end.  NULL is ignored. */
void progress_end(struct progress *p);

/* More bytes to do, known now; more bytes done.  NULL is ignored. */
void progress_expect(struct progress *p, uint64_t bytes);
void progress_add(struct progress *p, uint64_t bytes);

/*
 * The line as text, as it would be shown `seconds` after the start: the part
 * that tests look at.  Always ended with NUL; where `size` is too small
 * `what` is cut, the numbers last.  Returns its length.
 */
int progress_text(const char *what, uint64_t done, uint64_t total,
		  double seconds, char *to, unsigned size);

#endif /* PROGRESS_H */
