/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Allocations that may still succeed; negative: no limit.  The only state of
 * the library that outlives a call: a test has no other way to reach
 * allocations deep inside a module. */
static atomic_long fail_after = -1;

/* May this allocation go ahead?  Costs one relaxed load in normal use. */
static bool
allowed(void)
{
	long left = atomic_load_explicit(&fail_after, memory_order_relaxed);

	while (left > 0)
		if (atomic_compare_exchange_weak(&fail_after, &left, left - 1))
			return true;
	return left < 0;
}

/* count * size, at least 1 so that NULL always means failure; 0: refused. */
static size_t
product(size_t count, size_t size)
{
	size_t bytes = 0;

	if (__builtin_mul_overflow(count, size, &bytes) || !allowed()) {
		errno = ENOMEM;
		return 0;
	}
	return bytes > 0 ? bytes : 1;
}

void *
mem_alloc(size_t count, size_t size)
{
	size_t bytes = product(count, size);

	return bytes > 0 ? malloc(bytes) : NULL;
}

void *
mem_calloc(size_t count, size_t size)
{
	size_t bytes = product(count, size);

	return bytes > 0 ? calloc(1, bytes) : NULL;
}

void *
mem_realloc(void *p, size_t count, size_t size)
{
	size_t bytes = product(count, size);

	return bytes > 0 ? realloc(p, bytes) : NULL;
}

void *
mem_aligned(size_t align, size_t size)
{
	size_t bytes = product(1, size);
	void *p = NULL;

	assert(align > 0 && (align & (align - 1)) == 0);
	if (bytes == 0)
		return NULL;
	if (align < sizeof(void *)) /* posix_memalign() takes no less */
		align = sizeof(void *);
	if (posix_memalign(&p, align, bytes) != 0) {
		errno = ENOMEM;
		return NULL;
	}
	return p;
}

char *
mem_strdup(const char *s)
{
	size_t size = strlen(s) + 1;
	char *copy = mem_alloc(size, 1);

	return copy != NULL ? memcpy(copy, s, size) : NULL;
}

void
mem_free(void *p)
{
	free(p);
}

long
mem_fail_after(long after)
{
	return atomic_exchange(&fail_after, after < 0 ? -1 : after);
}
