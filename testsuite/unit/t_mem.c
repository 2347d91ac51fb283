/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>

#include "scratch.h"

TEST(alloc)
{
	static const char zero[300];
	char *p = mem_calloc(30, 10);

	must(p != NULL);
	is_mem(p, zero, 300, "mem_calloc() gives zeroes");
	memcpy(p, "0123456789", 10);
	p = mem_realloc(p, 1000, 10);
	is_mem(p, "0123456789", 10, "mem_realloc() keeps the contents");
	mem_free(p);
	p = mem_realloc(NULL, 2, 3);
	ok(p != NULL, "mem_realloc() of NULL allocates");
	mem_free(p);
	mem_free(NULL);
	p = mem_strdup("word");
	is_str(p, "word", "mem_strdup()");
	mem_free(p);
	p = mem_alloc(0, 8);
	ok(p != NULL, "no objects: not NULL");
	p = mem_realloc(p, 0, 0);
	ok(p != NULL, "resizing to nothing does not free");
	mem_free(p);
	p = mem_calloc(8, 0);
	ok(p != NULL, "objects of no size: not NULL");
	mem_free(p);
}

TEST(room)
{
	size_t count = 0, cap = 0;
	auto_mem int *list = NULL;
	bool room = true, right = true;

	for (int i = 0; i < 1000; i++) {
		room = room && MEM_ROOM(list, count, cap);
		list[count++] = i;
	}
	for (int i = 0; i < 1000; i++)
		right = right && list[i] == i;
	ok(room && right && cap == 1024, "a list that grows keeps what it has");
	count = cap;
	mem_fail_after(0);
	ok(!MEM_ROOM(list, count, cap) && cap == 1024 && list[999] == 999,
	   "... also where there is no memory");
	mem_fail_after(-1);
}

/* Did the allocation fail with ENOMEM? */
static bool
fails(const void *p)
{
	bool good = p == NULL && errno == ENOMEM;

	errno = 0;
	return good;
}

TEST(sizes)
{
	char *p = mem_strdup("abc"), *q = NULL;
	bool good = true;

	errno = 0;
	ok(fails(mem_alloc(SIZE_MAX / 2, 3)), "mem_alloc() of too much");
	ok(fails(mem_calloc((size_t)1 << 33, (size_t)1 << 33)),
	   "mem_calloc() of too much");
	q = mem_realloc(p, SIZE_MAX, 2);
	ok(fails(q), "mem_realloc() of too much");
	is_str(p, "abc", "leaves the old memory alone");
	mem_free(p);
	for (size_t align = 1; align <= 1 << 20; align *= 2) {
		p = mem_aligned(align, 100);
		good = good && p != NULL && (uintptr_t)p % align == 0;
		if (p != NULL)
			memset(p, 1, 100);
		mem_free(p);
	}
	ok(good, "mem_aligned() aligns");
}

TEST(fail)
{
	void *p = NULL, *q = NULL;

	is_int(mem_fail_after(1), -1, "by default nothing fails");
	p = mem_alloc(1, 1);
	ok(p != NULL, "the first still succeeds");
	errno = 0;
	q = mem_realloc(p, 2, 1);
	ok(fails(q), "mem_realloc() fails");
	ok(fails(mem_alloc(1, 1)) && fails(mem_calloc(1, 1)) &&
		   fails(mem_aligned(64, 1)) && fails(mem_strdup("x")),
	   "so do all others");
	is_int(mem_fail_after(5), 0, "none is left");
	is_int(mem_fail_after(-7), 5, "the previous value is told");
	is_int(mem_fail_after(-1), -1, "any negative value means never");
	mem_free(p);
}

static void *
allocate(void *count)
{
	for (size_t i = 0; i < 1000; i++) {
		auto_mem void *p = mem_alloc(1, 1);

		*(size_t *)count += p != NULL;
	}
	return NULL;
}

/* All threads share one limit, and none exceeds it. */
TEST(threads)
{
	size_t counts[4] = { 0 }, sum = 0;
	pthread_t threads[4];

	mem_fail_after(2500);
	for (size_t i = 0; i < 4; i++)
		must(pthread_create(&threads[i], NULL, allocate, &counts[i]) ==
		     0);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		sum += counts[i];
	}
	is_int(sum, 2500, "as many succeeded as were allowed");
	is_int(mem_fail_after(-1), 0, "none is left");
}
