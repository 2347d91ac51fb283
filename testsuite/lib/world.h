/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h - a redundancy set in memory, for the tests of solve and compute.
 */
#ifndef WORLD_H
#define WORLD_H

#include "scheme/compute.h"
#include "scheme/solve.h"
#include "scratch.h"
#include "transfer/stripe.h"

/* A member. */
struct string {
	unsigned char *data, *body;
	/* The bytes that remain, and those that were computed again. */
	unsigned char *left, *left_body;
	struct solve_range lost[8];
	struct stripe_part parts[9], new_parts[8]; /* of the data */
	struct stripe_part body_part;
};

struct world {
	enum redset_type type;
	unsigned n, k;
	uint64_t chunk;
	struct arena *arena;
	/* By member. */
	struct string *s;
	struct solve_member *member;
	struct stripe *d, *b, *od, *ob;
	struct solution solution;
};

/* Make a set with `all` bytes in each data string, or 0: random ones.  An old
 * one is freed. */
void world_make(struct world *w, enum redset_type type, unsigned n, unsigned k,
		uint64_t all);
void world_end(struct world *w);

/* Lose bytes of a member, its redundancy file, or all of it. */
void world_lose(struct world *w, unsigned m, uint64_t from, uint64_t to);
void world_lose_body(struct world *w, unsigned m);
void world_lose_member(struct world *w, unsigned m);

struct solve_set world_set(const struct world *w);

/* Solve: the strings to read are those of the remaining bytes. */
struct compute_set world_solved(struct world *w);

/* Are all bytes right that are not called lost? */
bool world_came_back(struct world *w);

#endif /* WORLD_H */
