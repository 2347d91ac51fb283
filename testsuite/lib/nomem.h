/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomem.h - a function tried with less and less memory missing.
 */
#ifndef NOMEM_H
#define NOMEM_H

#include <stdbool.h>

struct error;

/*
 * Call fn(arg) with its 1st, 2nd ... allocation and all later ones failing,
 * until it succeeds: how often it failed; -1 if ever with something else than
 * ERROR_NOMEM.
 */
long fail_each_alloc(int (*fn)(void *arg, struct error *err), void *arg);

/* The same until it needs no more, as it may succeed with less: true if each
 * call was right and it needs two allocations or more.  redo(arg), if not NULL,
 * puts things right before each. */
bool fails_well(int (*fn)(void *arg, struct error *err),
		void (*redo)(void *arg), void *arg);

#endif /* NOMEM_H */
