/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "arena.h"
#include "map.h"
#include "scratch.h"

/* Enough keys for collisions in 32 bits of their hashes. */
#define KEYS 200000

TEST(small)
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
TEST(many)
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
TEST(lengths)
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

TEST(nomem)
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
