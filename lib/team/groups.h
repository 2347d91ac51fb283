/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groups.h - failure groups: ranks that fail together (scrkit.conf(5)).  The
 * groups NODE, the ranks of one host, and WORLD, all ranks, always exist;
 * GROUPS lines of the configuration add others.
 *
 * Every rank has the table of a group, one number for each rank.  So each rank
 * can compute all redundancy sets alone (sets.h).
 */
#ifndef TEAM_GROUPS_H
#define TEAM_GROUPS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct conf;
struct error;
struct team;

#define GROUPS_NODE "NODE"
#define GROUPS_WORLD "WORLD"

struct group {
	const char *name;
	const uint32_t *of; /* by rank: lowest rank of its group */
	uint32_t count;	    /* number of groups */
};

struct groups {
	size_t count;
	struct group *list;
};

/*
 * Find all groups; `host` is that of this rank.  A group that some host does
 * not define is left out, and rank 0 warns.  Memory comes from `a`. Collective.
 * ERROR_NOMEM.
 */
int groups_make(struct groups *g, const struct team *world, const char *host,
		const struct conf *c, struct arena *a, struct error *err);

/* Make *out, except its name, from one key per rank: ranks with the same key
 * are a group.  Pure.  O(n log n).  ERROR_NOMEM. */
int groups_table(const uint64_t *keys, uint32_t n, struct arena *a,
		 struct group *out, struct error *err);

/* The group of this rank as a team, for team_free(), in memory of `a`.
 * Collective.  ERROR_NOMEM. */
int groups_team(const struct group *g, const struct team *world,
		struct arena *a, struct team *out, struct error *err);

/* The group of this name, or NULL. */
const struct group *groups_find(const struct groups *g, const char *name);

#endif /* TEAM_GROUPS_H */
