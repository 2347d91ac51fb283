/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>

#include "map.h"
#include "scratch.h"

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

static jmp_buf ended;

static void
end(void)
{
	longjmp(ended, 1);
}

TEST(exhausted)
{
	volatile int times = 0;

	mem_exhausted(end);
	if (setjmp(ended) == 0) {
		mem_fail_after(0);
		mem_free(mem_alloc(1, 1));
	} else if (++times < 2) {
		mem_fail_after(-1);
		mem_free(mem_alloc(SIZE_MAX, 2));
	} else if (times == 2) {
		mem_missing();
	}
	mem_exhausted(NULL);
	mem_fail_after(-1);
	is_int(times, 3,
	       "a command ends when an allocation fails, also of a library");
}

/* --- Buffers --- */

TEST(buf_add)
{
	struct buf b = BUF_INIT, same = BUF_INIT;

	buf_clear(&b);
	ok(buf_equal(&b, &same), "two empty ones are equal");
	ok(b.data == NULL, "an empty buf has no memory, also if cleared");
	buf_free(&b);
	is_int(buf_add(&b, NULL, 0), 0, "nothing can be added");
	is_str(b.data, "", "which makes it an empty string");
	ok(buf_add_str(&b, "one") == 0 && buf_add_char(&b, ' ') == 0 &&
		   buf_printf(&b, "%d", 2) == 0 && buf_add(&b, "\0x", 2) == 0,
	   "texts, characters, bytes");
	is_mem(b.data, "one 2\0x", 8, "all is there, with a NUL behind it");
	is_int(b.len, 7, "len does not count that NUL");
	ok(buf_add_str(&same, "one 2") == 0 && !buf_equal(&b, &same),
	   "others are longer,");
	ok(buf_add(&same, "\0y", 2) == 0 && !buf_equal(&b, &same),
	   "or have other bytes,");
	same.data[6] = 'x';
	ok(buf_equal(&b, &same), "or are equal");
	buf_free(&same);
	buf_clear(&b);
	is_str(b.data, "", "buf_clear() makes it an empty string");
	ok(b.cap > 0, "and keeps the memory");
	buf_free(&b);
	ok(b.data == NULL && b.len == 0 && b.cap == 0,
	   "buf_free(): back to start");
}

/* Append one byte at a time, and texts of every length. */
TEST(buf_growth)
{
	struct buf b = BUF_INIT;
	char text[1000];
	bool good = true;
	size_t grown = 0, cap = 0;

	for (size_t i = 0; i < 100000; i++) {
		good = good && buf_add_char(&b, (char)('a' + i % 26)) == 0 &&
		       b.data[b.len] == '\0';
		grown += b.cap != cap;
		cap = b.cap;
	}
	for (size_t i = 0; i < 100000; i++)
		good = good && b.data[i] == (char)('a' + i % 26);
	ok(good && b.len == 100000, "100000 bytes, one by one");
	ok(grown < 20, "take few allocations");
	buf_free(&b);
	for (size_t len = 0; len < sizeof(text); len++) {
		memset(text, 'x', len);
		text[len] = '\0';
		good = good && buf_add_str(&b, "<") == 0 &&
		       buf_printf(&b, "%s>", text) == 0 &&
		       strlen(b.data) == b.len && b.len == len + 2 &&
		       strcmp(b.data + 1 + len, ">") == 0;
		buf_free(&b);
	}
	ok(good, "buf_printf() of every length");
}

TEST(buf_reserve)
{
	auto_buf b = BUF_INIT;
	char *data = NULL;

	is_int(buf_reserve(&b, 1000), 0, "buf_reserve()");
	is_str(b.data, "", "leaves a string");
	ok(b.cap == 1001, "gets what was asked for and a NUL");
	data = b.data;
	memset(b.data, 'x', 1000);
	b.len = 1000;
	b.data[1000] = '\0';
	ok(buf_reserve(&b, 0) == 0 && b.data == data, "no more: nothing moves");
	ok(buf_reserve(&b, 1) == 0 && b.cap >= 2002, "one more: it doubles");
	for (size_t i = 0; i < 2; i++) {
		errno = 0;
		ok(buf_reserve(&b, SIZE_MAX - 1000 * i) == -1 &&
			   errno == ENOMEM,
		   "the largest; a sum that wraps");
	}
	is_int(strlen(b.data), 1000, "and the buf is unchanged");
}

TEST(buf_nomem)
{
	auto_buf b = BUF_INIT;
	char text[200] = "";

	memset(text, 'x', sizeof(text) - 1);
	mem_fail_after(0);
	errno = 0;
	ok(buf_add_char(&b, 'x') == -1 && errno == ENOMEM &&
		   buf_printf(&b, "x") == -1,
	   "no memory for the first byte, nor for a text");
	ok(b.data == NULL && b.cap == 0, "and the buf is unchanged");
	refuses(buf_check(&b, &why), ERROR_NOMEM, NULL,
		"but for what buf_check() tells");
	buf_clear(&b);
	is_int(buf_check(&b, NULL), 0, "until it is cleared");
	mem_fail_after(1);
	is_int(buf_add_str(&b, "begin"), 0, "memory for some bytes");
	is_int(buf_add_str(&b, text), -1, "none for more");
	is_int(buf_printf(&b, "%s", text), -1, "none for a text");
	is_str(b.data, "begin", "the string is unchanged");
	is_int(b.len, 5, "and its length");
	is_int(buf_add_str(&b, "!"), 0, "what needs no memory succeeds");
	mem_fail_after(-1);
	ok(buf_printf(&b, "%s", text) == 0 && b.len == 5 + 1 + 199,
	   "all is well with memory");
}

/* --- Arenas --- */

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

TEST(arena_fill)
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
TEST(arena_reset)
{
	const size_t large = (size_t)3 << 20;
	auto_arena *a = arena_new();
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
}

/* A million nodes and names need little more memory than their own size. */
TEST(arena_waste)
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

TEST(arena_strings)
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

TEST(arena_misuse)
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

TEST(arena_nomem)
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

/* --- Maps --- */

#define KEYS 200000

TEST(map_small)
{
	auto_map *m = map_new();
	char same[] = "one";

	is_int(map_count(m), 0, "a new map is empty");
	ok(map_get(m, "one") == MAP_NONE, "and has no key");
	ok(map_get(m, "") == MAP_NONE, "not even the empty one");
	is_int(map_put(m, "one", 1), 0, "map_put()");
	is_int(map_put(m, "", 2), 0, "map_put() of the empty key");
	is_int(map_get(m, "one"), 1, "map_get()");
	is_int(map_get(m, ""), 2, "map_get() of the empty key");
	is_int(map_get(m, same), 1, "the text counts");
	is_int(map_put(m, same, 0), 0, "a key is put again");
	is_int(map_get(m, "one"), 0, "its value is replaced");
	is_int(map_count(m), 2, "and it counts once");
	is_int(map_put(m, "big", MAP_NONE - 1), 0, "the largest value");
	ok(map_get(m, "big") == MAP_NONE - 1, "comes back");
	ok(map_get(m, "on") == MAP_NONE && map_get(m, "onee") == MAP_NONE,
	   "a part of a key is no key");
	map_free(NULL);
}

/* Keys that differ at one end only, as file names do. */
TEST(map_many)
{
	auto_arena *a = arena_new();
	auto_map *m = map_new();
	const char **keys = mem_calloc(KEYS, sizeof(*keys));
	bool put = true, got = true, none = true, replaced = true;
	char other[64];

	for (size_t i = 0; i < KEYS; i++)
		keys[i] = i % 2 ? arena_printf(a, "rank_%zu.ckpt", i)
				: arena_printf(a, "ckpt/0000/rank_%zu", i);
	for (size_t i = 0; i < KEYS; i++)
		put = put && map_put(m, keys[i], i) == 0 &&
		      map_count(m) == i + 1;
	ok(put, "many keys are put");
	for (size_t i = 0; i < KEYS; i++) {
		snprintf(other, sizeof(other), "rank_%zu.ckpt", i);
		got = got && map_get(m, keys[i]) == i;
		none = none && map_get(m, other) == (i % 2 ? i : MAP_NONE);
	}
	ok(got, "each is found");
	ok(none, "others are not");
	for (size_t i = 0; i < KEYS; i += 3)
		replaced = replaced && map_put(m, keys[i], i + KEYS) == 0;
	for (size_t i = 0; i < KEYS; i++)
		replaced = replaced &&
			   map_get(m, keys[i]) == (i % 3 ? i : i + KEYS);
	ok(replaced, "every third is replaced");
	is_int(map_count(m), KEYS, "none is counted twice");
	mem_free(keys);
}

/* Every length up to several words of the hash, and every byte of it. */
TEST(map_lengths)
{
	static char text[100];
	auto_map *m = map_new();
	bool good = true;

	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i < 99; i++)
		good = good && map_put(m, text + i, i) == 0;
	for (size_t i = 0; i < 99; i++)
		good = good && map_get(m, text + i) == i;
	ok(good && map_count(m) == 99, "keys of 1 to 99 equal bytes");
}

TEST(map_nomem)
{
	static char text[200];
	struct map *m = NULL;
	bool whole = true;
	size_t i = 0, done = 0;
	long n = 0;

	memset(text, 'y', sizeof(text) - 1);
	for (n = 0; done < 199 && n < 100; n++) {
		mem_fail_after(n);
		errno = 0;
		m = map_new();
		for (done = 0; m != NULL && done < 199; done++)
			if (map_put(m, text + done, done) < 0)
				break;
		if (done < 199)
			whole = whole && errno == ENOMEM;
		for (i = 0; m != NULL && i < 199; i++)
			whole = whole && map_get(m, text + i) ==
						 (i < done ? i : MAP_NONE);
		/* With memory again, the map accepts the next keys. */
		mem_fail_after(-1);
		for (; m != NULL && done < 199 && i > 0; i--)
			whole = whole && map_put(m, text + i - 1, i - 1) == 0;
		whole = whole && (m == NULL || map_count(m) == 199);
		map_free(m);
	}
	ok(done == 199 && n > 5, "the n-th allocation fails, until none does");
	ok(whole, "a map that could not grow is unchanged");
}
