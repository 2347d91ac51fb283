/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks fail together, are members of a set, and share cores. */
#include "scratch.h"
#include "team/cores.h"
#include "team/groups.h"
#include "team/sets.h"

/* --- Groups --- */

TEST(groups)
{
	const uint64_t keys[] = { 9, UINT64_MAX, 9, 4, UINT64_MAX, 9 };
	const uint32_t want[] = { 0, 1, 0, 3, 1, 0 };
	auto_arena *a = arena_new();
	struct group g;

	is_int(groups_table(keys, 6, a, &g, NULL), 0, "a table of 6 ranks");
	is_int(g.count, 3, "... groups");
	is_mem(g.of, want, sizeof(want), "... the lowest rank of each");
	is_int(groups_table(keys, 1, a, &g, NULL), 0, "one rank");
	ok(g.count == 1 && g.of[0] == 0, "... is a group");
	without_memory (m, 3, "no memory") {
		auto_arena *b = arena_new();

		m.rc = b == NULL ? error_no_memory(&m.err)
				 : groups_table(keys, 6, b, &g, &m.err);
	}
}

/* --- Sets --- */

static const char *
sets_text(const struct sets_job *j, struct sets_mine *last)
{
	static char text[4096];
	auto_arena *a = arena_new();
	uint32_t sets = 1;
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t set = 0; set < sets; set++) {
		bool shown = false;

		for (uint32_t r = 0; r < j->nranks; r++) {
			struct sets_mine m;

			arena_reset(a);
			if (sets_find(j, r, a, &m, NULL) < 0)
				return "no memory";
			sets = m.sets;
			*last = m;
			if (m.ranks[m.member] != r || m.set >= m.sets)
				return "a rank is not in its set";
			if (m.set != set || shown)
				continue;
			if (m.member != 0)
				return "not the first member";
			shown = true;
			for (uint32_t i = 0; i < m.members; i++)
				len += (size_t)snprintf(
					text + len, sizeof(text) - len, "%s%u",
					i > 0	   ? ","
					: set == 0 ? ""
						   : " ",
					m.ranks[i]);
			if (m.type == REDSET_SINGLE)
				len += (size_t)snprintf(
					text + len, sizeof(text) - len, "!");
		}
		if (!shown)
			return "a set without members";
	}
	return text;
}

TEST(sets_examples)
{
	static const struct {
		const char *what, *groups, *sets;
		enum redset_type type;
		uint32_t size, failures, alone, weaker;
	} table[] = {
#define ROW(what, groups, sets, type, ...) \
	{ what, groups, sets, REDSET_##type, __VA_ARGS__ }
		ROW("4 nodes", "0123", "0,1,2,3", XOR, 8, 1, 0, 0),
		ROW("blocks of 2", "00112233", "0,2,4,6 1,3,5,7", XOR, 8, 1, 0,
		    0),
		ROW("cyclic", "01230123", "0,1,2,3 4,5,6,7", XOR, 8, 1, 0, 0),
		ROW("7 by 3", "0123456", "0,1,2,3 4,5,6", XOR, 3, 1, 0, 0),
		ROW("8 by 3", "01234567", "0,1,2,3 4,5,6,7", XOR, 3, 1, 0, 0),
		ROW("9 by 4", "012345678", "0,1,2,3,4 5,6,7,8", RS, 4, 2, 0, 0),
		ROW("SINGLE", "0123", "0! 1! 2! 3!", SINGLE, 8, 1, 0, 0),
		ROW("one node", "0000", "0! 1! 2! 3!", XOR, 8, 1, 4, 0),
		ROW("PARTNER of 2", "0011", "0,2 1,3", PARTNER, 8, 1, 0, 0),
		ROW("one rank too many", "00112", "0,2,4 1,3", XOR, 8, 1, 0, 0),
		ROW("nobody to protect it", "0001", "0,3 1! 2!", XOR, 8, 1, 2,
		    0),
		ROW("left over, another set has room", "0012345",
		    "0,2,3 1,4,5,6", XOR, 3, 1, 0, 0),
		ROW("RS of two nodes survives one", "0011", "0,2 1,3", RS, 8, 2,
		    0, 4),
		ROW("RS, a short set", "00112", "0,2,4 1,3", RS, 8, 2, 0, 2),
#undef ROW
	};
	each (t, table) {
		uint32_t group[16];
		struct sets_job j = { group, (uint32_t)strlen(t->groups),
				      t->type, t->size, t->failures };
		struct sets_mine m = { .sets = 0 };

		for (uint32_t r = 0; r < j.nranks; r++)
			group[r] = (uint32_t)(t->groups[r] - '0');
		is_str(sets_text(&j, &m), t->sets, t->what);
		is_int(m.alone, t->alone, "... not protected");
		is_int(m.weaker, t->weaker, "... weaker than asked");
	}
}

/* Each set of each layout: no two members of a group, and no larger limit than
 * the code has. */
TEST(sets_layouts)
{
	auto_arena *a = arena_new();
	size_t bad = 0, tried = 0;
	unsigned seed = 1;

	for (int round = 0; round < 300; round++) {
		uint32_t group[40];
		struct sets_job j = { group, 1 + (uint32_t)rand_r(&seed) % 40,
				      REDSET_RS,
				      1 + (uint32_t)rand_r(&seed) % 9,
				      1 + (uint32_t)rand_r(&seed) % 3 };
		const uint32_t groups = 1 + (uint32_t)rand_r(&seed) % j.nranks;

		for (uint32_t r = 0; r < j.nranks; r++)
			group[r] = (uint32_t)rand_r(&seed) % groups;
		for (uint32_t r = 0; r < j.nranks; r++) {
			struct sets_mine m;

			arena_reset(a);
			if (sets_find(&j, r, a, &m, NULL) < 0)
				bad++;
			tried++;
			bad += m.type != REDSET_SINGLE &&
			       (m.members < 2 || m.failures >= m.members);
			for (uint32_t i = 0; i < m.members; i++)
				for (uint32_t k = 0; k < i; k++)
					bad += group[m.ranks[i]] ==
					       group[m.ranks[k]];
		}
	}
	is_int(bad, 0, "no two members of a set fail together");
	ok(tried > 1000, "... in many layouts");
}

TEST(sets_limit)
{
	auto_arena *a = arena_new();
	auto_mem uint32_t *group = mem_alloc(700, sizeof(*group));
	struct sets_job j = { group, 700, REDSET_RS, 250, 3 };
	struct sets_mine m;
	uint32_t most = 0;

	/* 500 nodes of one rank, the last of 200. */
	for (uint32_t r = 0; r < 700; r++)
		group[r] = r < 500 ? r : 499;
	for (uint32_t r = 0; r < 700; r++) {
		arena_reset(a);
		sets_find(&j, r, a, &m, NULL);
		if (m.members > most)
			most = m.members;
	}
	ok(most + 3 <= 256, "a set has no more members than the code allows");
}

TEST(sets_no_memory)
{
	uint32_t group[6] = { 0, 0, 1, 1, 2, 0 };
	struct sets_job j = { group, 6, REDSET_XOR, 8, 1 };
	without_memory (n, 2, "no memory") {
		auto_arena *a = arena_new();
		struct sets_mine m;

		n.rc = a == NULL ? error_no_memory(&n.err)
				 : sets_find(&j, 0, a, &m, &n.err);
	}
}

/* --- Cores, on nodes that do not exist --- */

#define RANKS 9

static hwloc_topology_t topology;

static void
node(const char *synthetic)
{
	if (topology != NULL)
		hwloc_topology_destroy(topology);
	must(hwloc_topology_init(&topology) == 0 &&
	     hwloc_topology_set_synthetic(topology, synthetic) == 0 &&
	     hwloc_topology_load(topology) == 0);
}

/* What each of the ranks gets, which are bound to these units: "0-3 4" for two
 * ranks. */
static const char *
shares(const char *bound)
{
	static char all[256];
	hwloc_bitmap_t is[RANKS], mine = hwloc_bitmap_alloc();
	char copy[256], *rest = copy, *word = NULL, *text = NULL;
	struct error err = ERROR_INIT;
	uint32_t n = 0;

	snprintf(copy, sizeof(copy), "%s", bound);
	while ((word = strsep(&rest, " ")) != NULL) {
		is[n] = hwloc_bitmap_alloc();
		hwloc_bitmap_list_sscanf(is[n++], word);
	}
	all[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		must(cores_share(topology, is, n, i, mine, &err) == 0);
		hwloc_bitmap_list_asprintf(&text, mine);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			 i > 0 ? " " : "", *text != '\0' ? text : "-");
		free(text);
	}
	while (n > 0)
		hwloc_bitmap_free(is[--n]);
	hwloc_bitmap_free(mine);
	return all;
}

TEST(cores)
{
	node("numa:2 core:4 pu:1");
	is_str(shares("0-7"), "0-7", "one rank, bound to nothing: all cores");
	is_str(shares("0-7 0-7"), "0-3 4-7", "two: a NUMA node each");
	is_str(shares("0-7 0-7 0-7"), "0-2 3-5 6-7", "three");
	is_str(shares("0-7 0-7 0-7 0-7 0-7 0-7 0-7 0-7 0-7"),
	       "0 1 2 3 4 5 6 7 -", "more ranks than cores");
	is_str(shares("1"), "0-3", "bound to a core: those of its NUMA node");
	is_str(shares("1 2"), "0-1 2-3", "two there share the free ones");
	is_str(shares("1 6"), "0-3 4-7", "one in each");
	is_str(shares("0 1 2 3"), "0 1 2 3", "none is free");
	is_str(shares("0-3 0-3"), "0-1 2-3", "two bound to the same cores");
	is_str(shares("0-1 2-3 4"), "0-1 2-3 4-7", "each its own, and free");
	is_str(shares("4 0-7"), "4 0-3,5-7", "one bound, one that is not");

	node("numa:1 core:2 pu:2");
	is_str(shares("0-3"), "0,2", "one unit of each core");
	is_str(shares("0-1 2-3"), "0 2", "... for each of two ranks");
	is_str(shares("3"), "0,2", "bound to the second unit of a core");

	is_str(shares(""), "-", "not known what it is bound to");
	hwloc_topology_destroy(topology);
}
