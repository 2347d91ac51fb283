/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * par.h - a bounded number of threads that work through a list.
 */
#ifndef PAR_H
#define PAR_H

#include <stddef.h>

struct error;
struct par; /* opaque: a pool */

/*
 * A pool of `threads` workers, the calling thread counted (1: no thread is
 * made, all runs in the caller).  NULL: ERROR_NOMEM, ERROR_SYSTEM.  All other
 * functions take NULL for a pool of the calling thread alone.
 */
struct par *par_new(unsigned threads, struct error *err);
void par_free(struct par *p);
unsigned par_threads(const struct par *p);

/* Processors this process may use (affinity and cgroup quota), at least 1. */
unsigned par_cpus(void);

/* The part of it that tests look at: the control groups' quota, in processors
 * rounded up; 0: none.  `root` stands before /proc and /sys; "" in earnest. */
unsigned par_quota(const char *root);

/*
 * Call fn(arg, i, worker, err) for i = 0 ... count-1, in about that order, on
 * all workers; worker < par_threads() is stable within one thread, for
 * per-thread memory.  Small items are handed out in batches of `batch` (0: one
 * at a time).  The first call that returns -1 stops the handing out; par_for()
 * then returns -1 with that call's error.  Not re-entrant.  No pool (NULL) is
 * the caller alone, in order.
 */
int par_for(struct par *p, size_t count, size_t batch,
	    int (*fn)(void *arg, size_t i, unsigned worker, struct error *err),
	    void *arg, struct error *err);

#endif /* PAR_H */
