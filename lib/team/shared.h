/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.h - find the paths that several ranks of a team have. */
#ifndef TEAM_SHARED_H
#define TEAM_SHARED_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct team;

struct shared_path {
	const char *path;
	bool other; /* result: a lower rank has it, too */
};

/*
 * Set `other` of the `count` paths of this rank.  *any: a rank has such a path.
 * Each path is sent to one rank, selected by its hash, which sees all ranks
 * that have it; no rank sees all paths.  `rc` and *err are as for team_agree().
 * Collective.  -1: the error of a rank, or ERROR_NOMEM.
 */
int shared_find(const struct team *t, int rc, struct shared_path *paths,
		size_t count, bool *any, struct error *err);

#endif /* TEAM_SHARED_H */
