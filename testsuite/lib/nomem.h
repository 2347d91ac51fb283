/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nomem.h - call a function with failing allocations.
 */
#ifndef NOMEM_H
#define NOMEM_H

#include <stdbool.h>

#include "error.h"

/*
 * Run the block, which sets m.rc and fills m.err, with its 1st, 2nd ...
 * allocation and all later ones failing, until no allocation fails: it may
 * succeed with less memory, but fail only as ERROR_NOMEM.  Checks that, and
 * that the block needs at least `least` allocations.  Beyond 96 allocations
 * only a sample of them fails, but all with SCRKIT_SLOW.
 *
 *	without_memory (m, 2, "reading without memory")
 *		m.rc = thing_read(&thing, &m.err);
 *
 * without_memory_after() evaluates `redo` before each try.
 */
#define without_memory(m, least, what) \
	without_memory_after (m, (void)0, least, what)
#define without_memory_after(m, redo, least, what) \
	for (struct nomem m = { .n = -1 }; \
	     nomem_next(&m, (least), (what), __FILE__, __LINE__) && \
	     (redo, nomem_begin(&m));)

struct nomem {
	int rc;
	struct error err;
	long n; /* the allocation that fails; -1: before the first try */
};

bool nomem_next(struct nomem *m, long least, const char *what, const char *file,
		int line);

bool nomem_begin(struct nomem *m);

#endif /* NOMEM_H */
