/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_crew.c - how the pieces of a plan are cut into parts, and what many nodes
 * cost who shares them out.
 */
#include "site/crew.h"

#include <sys/resource.h>

#include "error.h"
#include "mem.h"
#include "scratch.h"
#include "work.h"

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

/* --- What it costs --- */

#define MANY_PIECES 1000000

struct cost {
	size_t digests, digested, answers, done;
	double seconds; /* of the processor, here */
	long memory;	/* KiB, at most so far */
};

static const char *
count_digest(void *arg, size_t first, size_t last, struct arena *a,
	     struct error *err)
{
	struct cost *c = arg;

	(void)a;
	(void)err;
	c->digests++;
	c->digested += last - first + 1;
	return "digest";
}

static bool
count_answer(void *arg, size_t first, const struct json_value *j)
{
	(void)first;
	(void)j;
	((struct cost *)arg)->answers++;
	return true;
}

static double
used(struct rusage *u)
{
	must(getrusage(RUSAGE_SELF, u) == 0);
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

/* Share the pieces out to `n` nodes, which are processes here. */
static struct cost
share(size_t n)
{
	static const char *const argv[] = {
		"sh", "-c", "echo progress 1 9; echo '{\"status\": 0}'", NULL
	};
	struct cost cost = { .digests = 0 };
	const struct remote_options local = { .kind = REMOTE_LOCAL };
	uint64_t *sizes = mem_alloc(MANY_PIECES, sizeof(*sizes));
	bool *done = mem_calloc(MANY_PIECES, sizeof(*done));
	const struct work work = { .memory = 0 };
	const struct crew_task t = {
		.argv = argv,
		.bytes = sizes,
		.count = MANY_PIECES,
		.digest = count_digest,
		.done = done,
		.work = &work,
		.answer = count_answer,
		.arg = &cost,
	};
	size_t lost = 0, failed = 0;
	struct rusage u;
	struct crew c;

	for (size_t i = 0; i < MANY_PIECES; i++)
		sizes[i] = 4096;
	crew_take(&c, &local);
	must(hostlist_add(&c.nodes, fmt("n[1-%zu]", n), NULL) == 0);
	cost.seconds = -used(&u);
	is_int(crew_work(&c, &t, &lost, &failed, NULL), 0, fmt("%zu nodes", n));
	cost.seconds += used(&u);
	cost.memory = u.ru_maxrss;
	ok(lost == 0 && failed == 0 && c.nodes.count == n, "none is lost");
	for (size_t i = 0; i < MANY_PIECES; i++)
		cost.done += done[i];
	crew_close(&c);
	mem_free(done);
	mem_free(sizes);
	return cost;
}

TEST(cost)
{
	const char *slow = getenv("SCRKIT_SLOW");
	const size_t n = slow != NULL && *slow != '\0' ? 2000 : 250;
	const struct cost one = share(n), two = share(2 * n);

	ok(one.done == MANY_PIECES && two.done == MANY_PIECES, "all is done");
	ok(one.digests == n && one.digested == MANY_PIECES &&
		   two.digests == 2 * n && two.digested == MANY_PIECES,
	   "each piece is summed once, however many nodes");
	ok(one.answers == n && two.answers == 2 * n, "an answer from each");
	printf("# %zu nodes: %.2f s; twice: %.2f s, %ld KiB more\n", n,
	       one.seconds, two.seconds, two.memory - one.memory);
	ok(two.seconds < 3 * one.seconds + 0.1,
	   "twice the nodes take about twice the time");
	/* A sanitizer keeps what was freed. */
	ok(SANITIZED || two.memory - one.memory < 16 * (long)n,
	   "and at most 16 KiB each");
}

int
main(void)
{
	return tap_run();
}
