/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_crew.c - how the pieces of a plan are cut into parts.
 */
#include "site/crew.h"

#include "scratch.h"

#define NODES 64
#define PIECES 1000

static uint64_t bytes[PIECES];
static size_t from[NODES], to[NODES];

/* The bytes of the largest part of `n`, or UINT64_MAX if a piece with bytes is
 * in none of them, or in two. */
static uint64_t
largest(size_t count, size_t n)
{
	const struct crew_task t = { .bytes = bytes, .count = count };
	uint64_t most = 0;
	size_t next = 0;

	crew_cut(&t, n, from, to);
	for (size_t k = 0; k < n; k++) {
		uint64_t part = 0;

		if (from[k] > to[k])
			continue;
		for (; next < from[k]; next++)
			if (bytes[next] > 0)
				return UINT64_MAX;
		for (; next <= to[k]; next++)
			part += bytes[next];
		most = part > most ? part : most;
	}
	for (; next < count; next++)
		if (bytes[next] > 0)
			return UINT64_MAX;
	return most;
}

TEST(cut)
{
	uint64_t seed = 7;
	bool good = true;

	for (size_t i = 0; i < 8; i++)
		bytes[i] = 10;
	is_int(largest(8, 1), 80, "one node has all");
	is_int(largest(8, 2), 40, "two have half of it each");
	is_int(largest(8, 3), 30, "three as even as it can be");
	is_int(largest(8, 4), 20, "four");
	is_int(largest(8, 8), 10, "each has one");
	is_int(largest(8, 64), 10, "more nodes than pieces");
	bytes[0] = bytes[3] = bytes[7] = 0;
	is_int(largest(8, 5), 10, "pieces without work are in no part");
	ok(from[0] == 1 && to[4] == 6, "nor at its ends");
	memset(bytes, 0, sizeof(bytes));
	ok(largest(8, 4) == 0 && from[0] > to[0] && from[3] > to[3],
	   "nothing to do");
	bytes[5] = UINT64_MAX / 2;
	bytes[6] = UINT64_MAX / 2;
	ok(largest(8, 2) == UINT64_MAX / 2, "sums that do not fit");
	/* No part is larger than its share and one piece. */
	for (int round = 0; round < 500; round++) {
		const size_t n = 1 + (size_t)round % NODES;
		uint64_t total = 0, max = 0;

		for (size_t i = 0; i < PIECES; i++) {
			seed = seed * 6364136223846793005u +
			       1442695040888963407u;
			bytes[i] = (seed >> 33) % 5 == 0 ? 0 : seed >> 40;
			total += bytes[i];
			max = bytes[i] > max ? bytes[i] : max;
		}
		good &= largest(PIECES, n) <= total / n + max + 1;
	}
	ok(good, "random pieces: each in one part, parts about equal");
}

TEST(part)
{
	static const char *const none[] = { "3-2:a", "3-4", "-4:a", "",
					    "99999999999999999999-4:a" };
	struct crew_part p;

	ok(crew_part("3-17:abc", &p) && p.from == 3 && p.to == 17 &&
		   strcmp(p.digest, "abc") == 0,
	   "a part and its digest");
	for (size_t i = 0; i < COUNT(none); i++)
		ok(!crew_part(none[i], &p), none[i]);
}

int
main(void)
{
	return tap_run();
}
