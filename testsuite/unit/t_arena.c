/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "arena.h"
#include "mem.h"
#include "tap.h"

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
	size_t i = 0, j = 0;

	for (i = 0; i < count; i++) {
		objects[i] = arena_alloc(a, 1, size_of(i));
		zeroed = zeroed && is_zero(objects[i], size_of(i));
		aligned = aligned && (uintptr_t)objects[i] % 16 == 0;
		memset(objects[i], (int)(i % 255 + 1), size_of(i));
		memset(text, (int)(i % 255 + 1), i % 255);
		strings[i] = arena_strndup(a, text, i % 255);
	}
	for (i = 0; i < count; i++) {
		for (j = 0; j < size_of(i); j++)
			apart = apart && objects[i][j] == i % 255 + 1;
		for (j = 0; j < i % 255; j++)
			apart = apart &&
				(unsigned char)strings[i][j] == i % 255 + 1;
		apart = apart && strings[i][j] == '\0';
	}
	ok(zeroed, what);
	ok(aligned, "and aligned");
	ok(apart, "and do not overlap");
	mem_free(strings);
	mem_free(objects);
}

static void
test_fill(void)
{
	struct arena *a = arena_new();
	size_t before = 0;

	fill(a, 1200, "objects are zeroed");
	before = arena_bytes(a);
	ok(before > 1200 / 12 * 78000, "arena_bytes() counts what is held");
	arena_reset(a);
	ok(arena_bytes(a) < before, "arena_reset() gives memory back");
	ok(arena_bytes(a) >= (size_t)1 << 20, "but keeps the largest chunk");
	fill(a, 1200, "objects are zeroed after a reset");
	arena_reset(a);
	arena_reset(a);
	fill(a, 5, "objects are zeroed after two resets");
	arena_free(a);
	arena_free(NULL);
}

/* A reset wipes the used bytes of the chunk that it keeps: the largest, which
 * is not always the newest. */
static void
test_reset(void)
{
	struct arena *a = arena_new();
	char *p = NULL;

	arena_reset(a);
	ok(arena_alloc(a, 1, 1) != NULL, "an empty arena can be reset");
	p = arena_alloc(a, 300, 1);
	memset(p, 1, 300);
	arena_strdup(a, "some text");
	arena_reset(a);
	p = arena_alloc(a, 256, 16);
	ok(is_zero((unsigned char *)p, 4096), "few objects are wiped");
	p = arena_alloc(a, 1, (size_t)3 << 20);
	memset(p, 1, (size_t)3 << 20);
	arena_reset(a);
	ok(arena_bytes(a) > (size_t)3 << 20, "a large object's chunk is kept");
	p = arena_alloc(a, 1, (size_t)3 << 20);
	ok(is_zero((unsigned char *)p, (size_t)3 << 20), "and wiped");
	arena_free(a);

	a = arena_new();
	p = arena_alloc(a, 1, 100000);
	memset(p, 1, 100000);
	p = arena_alloc(a, 1, 100);
	ok(is_zero((unsigned char *)p, 100),
	   "an arena may begin with a large object");
	arena_reset(a);
	p = arena_alloc(a, 1, 100000);
	ok(is_zero((unsigned char *)p, 100000), "and be reset after it");
	arena_free(a);
}

/* A million nodes and names need little more memory than their own size. */
static void
test_waste(void)
{
	struct arena *a = arena_new();
	bool good = true;
	size_t i = 0, net = 0;

	for (i = 0; i < 100000; i++) {
		good = good && arena_alloc(a, 3, 16) != NULL &&
		       arena_strdup(a, "rank_123") != NULL;
		net += 48 + 9;
	}
	ok(good, "100000 objects with names");
	ok(arena_bytes(a) < net + ((size_t)2 << 20), "waste at most 2 MiB");
	arena_free(a);
}

static void
test_strings(void)
{
	struct arena *a = arena_new();
	char long_text[5000], *s = NULL, *t = NULL;
	size_t len = 0;
	bool same = true;

	s = arena_strdup(a, "");
	t = arena_strdup(a, "word");
	is_str(s, "", "arena_strdup() of nothing");
	is_str(t, "word", "arena_strdup()");
	is_str(arena_strndup(a, "word", 2), "wo", "arena_strndup()");
	is_mem(arena_strndup(a, "a\0b", 3), "a\0b", 4,
	       "arena_strndup() copies any bytes, and a NUL");
	is_str(arena_strndup(a, NULL, 0), "", "arena_strndup() of no bytes");
	is_str(arena_printf(a, "%s-%d", "x", 5), "x-5", "arena_printf()");
	for (len = 100; len < 4999; len += len < 200 ? 1 : 499) {
		memset(long_text, 'y', len);
		long_text[len] = '\0';
		s = arena_printf(a, "%s", long_text);
		same = same && s != NULL && strcmp(s, long_text) == 0;
	}
	ok(same, "arena_printf() of any length");
	arena_free(a);
}

static void
test_misuse(void)
{
	struct arena *a = arena_new();

	errno = 0;
	ok(arena_alloc(a, SIZE_MAX, 2) == NULL, "a product that wraps");
	is_int(errno, ENOMEM, "is ENOMEM");
	errno = 0;
	ok(arena_alloc(a, 1, SIZE_MAX) == NULL, "a size near the end");
	is_int(errno, ENOMEM, "is ENOMEM");
	errno = 0;
	ok(arena_alloc(a, 1, SIZE_MAX - 20) == NULL,
	   "a size that leaves no room for the chunk");
	is_int(errno, ENOMEM, "is ENOMEM");
	errno = 0;
	ok(arena_strndup(a, "", SIZE_MAX) == NULL, "a string of all memory");
	is_int(errno, ENOMEM, "is ENOMEM");
	ok(arena_alloc(a, 1, 10) != NULL, "the arena still works");
	arena_free(a);
}

/* Returns false if any allocation fails. */
static bool
use(struct arena *a)
{
	char text[300];

	memset(text, 'x', 299);
	text[299] = '\0';
	return arena_alloc(a, 10, 10) != NULL &&
	       arena_alloc(a, 1, 5000) != NULL &&
	       arena_strdup(a, "abc") != NULL &&
	       arena_alloc(a, 60, 60) != NULL &&
	       arena_printf(a, "%s%s%s%s%s%s%s%s%s%s%s%s%s%s", text, text, text,
			    text, text, text, text, text, text, text, text,
			    text, text, text) != NULL &&
	       arena_strndup(a, text, 200) != NULL;
}

static void
test_nomem(void)
{
	struct arena *a = NULL;
	bool failed = true, told = true;
	long n = 0;

	for (n = 0; failed && n < 100; n++) {
		mem_fail_after(n);
		errno = 0;
		a = arena_new();
		failed = a == NULL || !use(a);
		told = told && (!failed || errno == ENOMEM);
		mem_fail_after(-1);
		ok(a == NULL || use(a), "works after a failure");
		arena_free(a);
	}
	ok(n > 3 && !failed, "the n-th allocation fails, until none does");
	ok(told, "each failure is ENOMEM");
}

int
main(void)
{
	test_fill();
	test_reset();
	test_waste();
	test_strings();
	test_misuse();
	test_nomem();
	return tap_done();
}
