/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/groups.h"

#include "arena.h"
#include "scratch.h"

static int
make(void *arg, struct error *err)
{
	const uint64_t keys[] = { 9, UINT64_MAX, 9, 4, UINT64_MAX, 9 };
	struct group *g = arg;
	auto_arena *a = arena_new();

	return a == NULL ? error_no_memory(err)
			 : groups_table(keys, 6, a, g, err);
}

int
main(void)
{
	const uint64_t keys[] = { 9, UINT64_MAX, 9, 4, UINT64_MAX, 9 };
	const uint32_t want[] = { 0, 1, 0, 3, 1, 0 };
	struct arena *a = arena_new();
	struct group g;

	is_int(groups_table(keys, 6, a, &g, NULL), 0, "a table of 6 ranks");
	is_int(g.count, 3, "... groups");
	is_mem(g.of, want, sizeof(want), "... the lowest rank of each");
	is_int(groups_table(keys, 1, a, &g, NULL), 0, "one rank");
	ok(g.count == 1 && g.of[0] == 0, "... is a group");
	arena_free(a);
	is_int(fail_each_alloc(make, &g), 3, "no memory");
	return tap_done();
}
