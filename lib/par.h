/* SPDX-License-Identifier: BSD-3-Clause */
/* par.h - a pool of threads that work through a list. */
#ifndef PAR_H
#define PAR_H

#include <stddef.h>

struct error;
struct par; /* opaque: a pool */

/*
 * A pool of `threads` workers, including the calling thread (1: no thread is
 * created, everything runs in the caller).  It has fewer if a limit of
 * processes lets no more start.  NULL: ERROR_NOMEM, ERROR_SYSTEM.
 * For all other functions a NULL pool means the calling thread alone.
 */
struct par *par_new(unsigned threads, struct error *err);
/* Each thread but the calling one first calls begin(arg, worker), for instance
 * to be bound to a core; `arg` must live until par_free().  NULL: nothing. */
struct par *par_new_begin(unsigned threads,
			  void (*begin)(void *arg, unsigned worker), void *arg,
			  struct error *err);
void par_free(struct par *p);
unsigned par_threads(const struct par *p);

/* Processors this process may use (affinity and cgroup quota), at least 1. */
unsigned par_cpus(void);

/* The quota of the control groups in processors, rounded up; 0: none.  Exported
 * for tests: `root` is put before /proc and /sys, else "". */
unsigned par_quota(const char *root);

/*
 * Call fn(arg, i, worker, err) for i = 0 ... count-1, roughly in that order, on
 * all workers. worker < par_threads() identifies the thread, for per-thread
 * memory.  Each thread takes `batch` numbers at a time (0: one), or fewer if
 * some threads would get none.  After the first call that returns -1 no more
 * numbers are taken, and par_for() returns -1 with that call's error.  Not
 * re-entrant.  With a NULL pool the caller does all calls, in order.
 */
int par_for(struct par *p, size_t count, size_t batch,
	    int (*fn)(void *arg, size_t i, unsigned worker, struct error *err),
	    void *arg, struct error *err);

#endif /* PAR_H */
