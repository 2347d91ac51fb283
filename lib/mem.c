/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Size of a huge page on x86-64 and arm64, and the least allocation that is
 * advised to use them.  With another page size the advice has no effect. */
#define LARGE_PAGE ((uintptr_t)2 << 20)
#define LARGE ((size_t)4 << 20)

/* Allocations that may still succeed; negative: no limit.  This state is
 * static, as a test has no other way to reach allocations deep inside a
 * module. */
static atomic_long fail_after = -1;

/* What ends the process; NULL: the caller handles a failure. */
static void (*end_process)(void);

/* `p`, or if it is NULL, the end of the process or ENOMEM. */
static void *
checked(void *p)
{
	if (p == NULL) {
		if (end_process != NULL)
			end_process();
		errno = ENOMEM;
	}
	return p;
}

void
mem_exhausted(void (*end)(void))
{
	end_process = end;
}

void
mem_missing(void)
{
	(void)checked(NULL);
}

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

/* count * size, at least 1 so that NULL always means failure.  0: overflow, or
 * a test wants a failure. */
static size_t
product(size_t count, size_t size)
{
	size_t bytes = 0;

	if (__builtin_mul_overflow(count, size, &bytes) || !allowed())
		return 0;
	return bytes > 0 ? bytes : 1;
}

/* Advise huge pages for tables of many megabytes, so that filling them does not
 * fault once for every 4 KiB.  A failure does not matter. */
static void *
advise(void *p, size_t bytes)
{
	uintptr_t start = ((uintptr_t)p + LARGE_PAGE - 1) & -LARGE_PAGE;
	uintptr_t end = ((uintptr_t)p + bytes) & -LARGE_PAGE;
	int saved = errno;

	if (p != NULL && bytes >= LARGE && start < end) {
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
		errno = saved;
	}
	return p;
}

void *
mem_alloc(size_t count, size_t size)
{
	size_t bytes = product(count, size);

	return checked(bytes > 0 ? advise(malloc(bytes), bytes) : NULL);
}

void *
mem_calloc(size_t count, size_t size)
{
	size_t bytes = product(count, size);

	return checked(bytes > 0 ? advise(calloc(1, bytes), bytes) : NULL);
}

void *
mem_realloc(void *p, size_t count, size_t size)
{
	size_t bytes = product(count, size);

	return checked(bytes > 0 ? advise(realloc(p, bytes), bytes) : NULL);
}

bool
mem_double(void *list, size_t *cap, size_t size)
{
	const size_t more = *cap > 0 ? *cap * 2 : 16;
	void *p = NULL;

	memcpy(&p, list, sizeof(p));
	p = mem_realloc(p, more, size);
	if (p == NULL)
		return false;
	memcpy(list, &p, sizeof(p));
	*cap = more;
	return true;
}

void *
mem_aligned(size_t align, size_t size)
{
	size_t bytes = product(1, size);
	void *p = NULL;

	assert(align > 0 && (align & (align - 1)) == 0);
	if (align < sizeof(void *)) /* posix_memalign() takes no less */
		align = sizeof(void *);
	if (bytes >= LARGE && align < LARGE_PAGE)
		align = LARGE_PAGE;
	if (bytes == 0 || posix_memalign(&p, align, bytes) != 0)
		p = NULL;
	return checked(advise(p, bytes));
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
