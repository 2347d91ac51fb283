/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomem.h - call a function with failing allocations.
 */
#ifndef NOMEM_H
#define NOMEM_H

#include <stdbool.h>

struct error;

/*
 * Call fn(arg) with its 1st, 2nd ... allocation and all later ones failing,
 * until it succeeds.  Returns the number of failures, or -1 if one was not
 * ERROR_NOMEM.
 */
long fail_each_alloc(int (*fn)(void *arg, struct error *err), void *arg);

/* The same until no allocation fails, for functions that can succeed with less
 * memory.  Beyond 48 allocations only a sample of them fails, but all with
 * SCRKIT_SLOW.  True if each call failed properly and the function needs at
 * least two allocations.  redo(arg), if not NULL, runs before each call to
 * restore its state. */
bool fails_well(int (*fn)(void *arg, struct error *err),
		void (*redo)(void *arg), void *arg);

#endif /* NOMEM_H */
