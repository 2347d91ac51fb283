/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "arena.h"
#include "scratch.h"

static bool
is_zero(const unsigned char *p, size_t len)
{
	while (len > 0 && *p == 0) {
		p++;
		len--;
	}
	return len == 0;
}

/* Sizes for every path: zero, small, larger than a chunk. */
static size_t
size_of(size_t i)
{
	static const size_t sizes[] = { 0,  1,	 8,    15,   16,    17,
					40, 700, 2000, 5000, 70000, 24 };

	return sizes[i % 12];
}

/*
 * Allocate `count` objects and strings in `a`, each filled with its own byte:
 * are they zeroed, aligned and disjoint?
 */
static void
fill(struct arena *a, size_t count, const char *what)
{
	unsigned char **objects = mem_calloc(count, sizeof(*objects));
	char **strings = mem_calloc(count, sizeof(*strings));
	bool zeroed = true, aligned = true, apart = true;
	char text[256];

	for (size_t i = 0; i < count; i++) {
		objects[i] = arena_alloc(a, 1, size_of(i));
		zeroed = zeroed && is_zero(objects[i], size_of(i));
		aligned = aligned && (uintptr_t)objects[i] % 16 == 0;
		memset(objects[i], (int)(i % 255 + 1), size_of(i));
		memset(text, (int)(i % 255 + 1), i % 255);
		strings[i] = arena_strndup(a, text, i % 255);
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < size_of(i); j++)
			apart = apart && objects[i][j] == i % 255 + 1;
		memset(text, (int)(i % 255 + 1), i % 255);
		apart = apart && memcmp(strings[i], text, i % 255) == 0 &&
			strings[i][i % 255] == '\0';
	}
	ok(zeroed && aligned && apart,
	   fmt("objects are zeroed, aligned and disjoint%s", what));
	mem_free(strings);
	mem_free(objects);
}

TEST(fill)
{
	auto_arena *a = arena_new();
	size_t before = 0;

	fill(a, 1200, "");
	before = arena_bytes(a);
	ok(before > 1200 / 12 * 78000, "arena_bytes() counts what is held");
	arena_reset(a);
	ok(arena_bytes(a) < before, "arena_reset() gives memory back");
	ok(arena_bytes(a) >= (size_t)1 << 20, "but keeps the largest chunk");
	fill(a, 1200, " after a reset");
	arena_reset(a);
	arena_reset(a);
	fill(a, 5, " after two resets");
	arena_free(NULL);
}

/* A reset wipes the used bytes of the chunk that it keeps: the largest, which
 * is not always the newest. */
TEST(reset)
{
	const size_t large = (size_t)3 << 20;
	struct arena *a = arena_new();
	unsigned char *p = NULL;

	arena_reset(a);
	ok(arena_alloc(a, 1, 1) != NULL, "an empty arena can be reset");
	memset(arena_alloc(a, 300, 1), 1, 300);
	arena_strdup(a, "some text");
	arena_reset(a);
	p = arena_alloc(a, 256, 16);
	ok(is_zero(p, 4096), "few objects are wiped");
	memset(arena_alloc(a, 1, large), 1, large);
	arena_reset(a);
	ok(arena_bytes(a) > large, "a large object's chunk is kept");
	p = arena_alloc(a, 1, large);
	ok(is_zero(p, large), "and wiped");
	arena_free(a);

	a = arena_new();
	memset(arena_alloc(a, 1, 100000), 1, 100000);
	p = arena_alloc(a, 1, 100);
	ok(is_zero(p, 100), "an arena may begin with a large object");
	arena_reset(a);
	p = arena_alloc(a, 1, 100000);
	ok(is_zero(p, 100000), "and be reset after it");
	arena_free(a);
}

/* A million nodes and names need little more memory than their own size. */
TEST(waste)
{
	auto_arena *a = arena_new();
	bool good = true;
	size_t net = 0;

	for (size_t i = 0; i < 100000; i++) {
		good = good && arena_alloc(a, 3, 16) != NULL &&
		       arena_strdup(a, "rank_123") != NULL;
		net += 48 + 9;
	}
	ok(good, "100000 objects with names");
	ok(arena_bytes(a) < net + ((size_t)2 << 20), "waste at most 2 MiB");
}

TEST(strings)
{
	auto_arena *a = arena_new();
	char long_text[5000] = "", *s = arena_strdup(a, "");
	bool same = true;

	is_str(arena_strdup(a, "word"), "word", "arena_strdup()");
	is_str(s, "", "arena_strdup() of nothing");
	is_str(arena_strndup(a, "word", 2), "wo", "arena_strndup()");
	is_mem(arena_strndup(a, "a\0b", 3), "a\0b", 4,
	       "arena_strndup() copies any bytes, and a NUL");
	is_str(arena_strndup(a, NULL, 0), "", "arena_strndup() of no bytes");
	is_str(arena_printf(a, "%s-%d", "x", 5), "x-5", "arena_printf()");
	for (size_t len = 100; len < 4999; len += len < 200 ? 1 : 499) {
		memset(long_text, 'y', len);
		s = arena_printf(a, "%s", long_text);
		same = same && s != NULL && strcmp(s, long_text) == 0;
	}
	ok(same, "arena_printf() of any length");
}

/* Did the allocation fail with ENOMEM? */
static bool
fails(const void *p)
{
	bool good = p == NULL && errno == ENOMEM;

	errno = 0;
	return good;
}

TEST(misuse)
{
	auto_arena *a = arena_new();

	errno = 0;
	ok(fails(arena_alloc(a, SIZE_MAX, 2)), "a product that wraps");
	ok(fails(arena_alloc(a, 1, SIZE_MAX)), "a size near the end");
	ok(fails(arena_alloc(a, 1, SIZE_MAX - 20)),
	   "a size that leaves no room for the chunk");
	ok(fails(arena_strndup(a, "", SIZE_MAX)), "a string of all memory");
	ok(arena_alloc(a, 1, 10) != NULL, "the arena still works");
}

/* Returns false if any allocation fails. */
static bool
use(struct arena *a)
{
	char text[4200] = "";

	memset(text, 'x', sizeof(text) - 1);
	return arena_alloc(a, 10, 10) != NULL &&
	       arena_alloc(a, 1, 5000) != NULL &&
	       arena_strdup(a, "abc") != NULL &&
	       arena_alloc(a, 60, 60) != NULL &&
	       arena_printf(a, "%s", text) != NULL &&
	       arena_strndup(a, text, 200) != NULL;
}

TEST(nomem)
{
	bool failed = true, good = true;
	long n = 0;

	for (n = 0; failed && n < 100; n++) {
		auto_arena *a = NULL;

		mem_fail_after(n);
		errno = 0;
		a = arena_new();
		failed = a == NULL || !use(a);
		good = good && (!failed || errno == ENOMEM);
		mem_fail_after(-1);
		good = good && (a == NULL || use(a));
	}
	ok(n > 3 && !failed, "the n-th allocation fails, until none does");
	ok(good, "each failure is ENOMEM, and the arena works after it");
}
