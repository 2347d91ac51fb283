/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared.h - for the applications app_*.c: options on the command line, and
 * files whose bytes are computed from a number.  Linked with them, so that
 * they need nothing but libscr.so.
 */
#ifndef MPI_SHARED_H
#define MPI_SHARED_H

extern int rank;

/* Call first in main(): MPI_Init(), the rank, lines that are printed at once,
 * and the options of the command line. */
void start(int argc, char **argv);

/* Abort the job if a call of SCR failed. */
void need(int rc, const char *call);

/* The value of the first argument OPTION=VALUE (borrowed), or `otherwise`. */
const char *text(const char *option, const char *otherwise);
long number(const char *option, long otherwise);

/* Write a file of `size` bytes, which differ by `seed`.  Returns 1, or 0 with a
 * message. */
int write_bytes(const char *path, unsigned seed, long size);

/* Has the file these bytes, and no more?  Returns 1, or 0 with a message. */
int verify_bytes(const char *path, unsigned seed, long size);

#endif /* MPI_SHARED_H */
