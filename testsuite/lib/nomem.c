/* SPDX-License-Identifier: BSD-3-Clause */
#include "nomem.h"
#include "mem.h"
#include "tap.h"

/* The allocation to fail after the n-th one.  Of many allocations most are of
 * the same places, for one rank or file after the other: a sample will do.  The
 * sanitizers see others than the plain build. */
static long
after(long n)
{
	return getenv("SCRKIT_SLOW") != NULL || n < 96 + SANITIZED
		       ? n + 1
		       : n + 1 + n / 32;
}

bool
nomem_next(struct nomem *m, long least, const char *what, const char *file,
	   int line)
{
	const long left = m->n < 0 ? 0 : mem_fail_after(-1);
	const bool bad = m->rc < 0 && m->err.kind != ERROR_NOMEM;

	if (bad)
		printf("# allocation %ld: %s\n", m->n, m->err.text);
	if (bad || m->n >= 100000 || (m->n >= 0 && m->rc == 0 && left > 0)) {
		tap_ok(!bad && m->n >= least, file, line, what);
		return false;
	}
	m->n = m->n < 0 ? 0 : after(m->n);
	return true;
}

bool
nomem_begin(struct nomem *m)
{
	error_clear(&m->err);
	mem_fail_after(m->n);
	return true;
}
