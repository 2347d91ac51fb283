/* SPDX-License-Identifier: BSD-3-Clause */
/* t_cores.c - which cores are a rank's, on nodes that do not exist. */
#include "team/cores.h"

#include "scratch.h"

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

int
main(void)
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
	return tap_done();
}
