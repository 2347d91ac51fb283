/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/cores.h"

#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "team/say.h"
#include "team/team.h"

struct cores {
	hwloc_topology_t topology;
	hwloc_bitmap_t units; /* one for each thread */
	bool apart;	      /* no rank is bound to these */
};

/* --- Sharing the cores --- */

struct sharing {
	hwloc_topology_t t;
	hwloc_bitmap_t const *bound; /* by rank */
	hwloc_bitmap_t *near;	     /* by rank: all units of its NUMA nodes */
	hwloc_bitmap_t taken;	     /* a rank is bound to them */
	uint32_t n, me;
};

/* Count the ranks that may use a core, and how many of them come before this
 * rank.  Returns whether this rank may use it. */
static bool
claimed(const struct sharing *s, hwloc_const_bitmap_t core, uint32_t *count,
	uint32_t *before)
{
	const bool taken = hwloc_bitmap_intersects(s->taken, core);
	bool mine = false;

	*count = *before = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!hwloc_bitmap_intersects(taken ? s->bound[i] : s->near[i],
					     core))
			continue;
		++*count;
		*before += i < s->me;
		mine |= i == s->me;
	}
	return mine;
}

/* Add the share of this rank in the cores that `claims` ranks may use.  The
 * cores of a rank are neighbours. */
static void
deal(const struct sharing *s, uint32_t claims, hwloc_bitmap_t out)
{
	hwloc_obj_t core = NULL;
	uint64_t total = 0, at = 0;
	uint32_t count = 0, before = 0;

	while ((core = hwloc_get_next_obj_by_type(s->t, HWLOC_OBJ_CORE,
						  core)) != NULL)
		total += claimed(s, core->cpuset, &count, &before) &&
			 count == claims;
	while ((core = hwloc_get_next_obj_by_type(s->t, HWLOC_OBJ_CORE,
						  core)) != NULL) {
		if (!claimed(s, core->cpuset, &count, &before) ||
		    count != claims)
			continue;
		if (at++ * count / total == before)
			hwloc_bitmap_set(out, (unsigned)hwloc_bitmap_first(
						      core->cpuset));
	}
}

int
cores_share(hwloc_topology_t t, hwloc_bitmap_t const *bound, uint32_t n,
	    uint32_t me, hwloc_bitmap_t out, struct error *err)
{
	struct sharing s = { .t = t, .bound = bound, .n = n, .me = me };
	hwloc_obj_t node = NULL;
	int rc = -1;

	s.taken = hwloc_bitmap_alloc();
	s.near = mem_calloc(n, sizeof(*s.near));
	if (s.taken == NULL || s.near == NULL)
		goto out;
	for (uint32_t i = 0; i < n; i++) {
		s.near[i] = hwloc_bitmap_alloc();
		if (s.near[i] == NULL ||
		    hwloc_bitmap_or(s.taken, s.taken, bound[i]) < 0)
			goto out;
		/* All units of the NUMA nodes in which it has one. */
		while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE,
							  node)) != NULL)
			if (hwloc_bitmap_intersects(node->cpuset, bound[i]) &&
			    hwloc_bitmap_or(s.near[i], s.near[i],
					    node->cpuset) < 0)
				goto out;
	}
	hwloc_bitmap_zero(out);
	for (uint32_t claims = 1; claims <= n; claims++)
		deal(&s, claims, out);
	rc = 0;
out:
	for (uint32_t i = 0; s.near != NULL && i < n; i++)
		hwloc_bitmap_free(s.near[i]);
	mem_free(s.near);
	hwloc_bitmap_free(s.taken);
	return rc < 0 ? error_no_memory(err) : 0;
}

/* --- This node --- */

/* Load only cores and NUMA nodes, as the kernel reports them.  A whole topology
 * takes much longer, and hwloc's component for x86 moves the rank from core to
 * core. */
static hwloc_topology_t
load(void)
{
	hwloc_topology_t t = NULL;

	if (hwloc_topology_init(&t) < 0)
		return NULL;
	(void)hwloc_topology_set_components(
		t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	(void)hwloc_topology_set_all_types_filter(t,
						  HWLOC_TYPE_FILTER_KEEP_NONE);
	(void)hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE,
					     HWLOC_TYPE_FILTER_KEEP_ALL);
	if (hwloc_topology_load(t) == 0 &&
	    hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE) > 0)
		return t;
	hwloc_topology_destroy(t);
	return NULL;
}

/* Compute the share of this rank from the lines of all ranks. */
static int
share(const struct team *node, char *lines, struct cores *c, struct error *err)
{
	const uint32_t n = node->size;
	hwloc_bitmap_t *bound = mem_calloc(n, sizeof(*bound));
	char *rest = lines;
	int rc = bound == NULL ? error_no_memory(err) : 0;

	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		const char *line = strsep(&rest, "\n");

		bound[i] = hwloc_bitmap_alloc();
		if (bound[i] == NULL)
			rc = error_no_memory(err);
		else if (line != NULL)
			(void)hwloc_bitmap_sscanf(bound[i], line);
	}
	if (rc == 0)
		rc = cores_share(c->topology, bound, n, node->rank, c->units,
				 err);
	c->apart = rc == 0 && !hwloc_bitmap_iszero(c->units);
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		c->apart &= !hwloc_bitmap_intersects(bound[i], c->units);
	for (uint32_t i = 0; bound != NULL && i < n; i++)
		hwloc_bitmap_free(bound[i]);
	mem_free(bound);
	return rc;
}

int
cores_find(const struct team *world, const struct team *node, bool wants,
	   struct cores **out, struct error *err)
{
	struct buf lines = BUF_INIT;
	struct cores *c = NULL;
	char *units = NULL;
	int rc = 0;

	*out = NULL;
	if (!wants)
		return 0;
	*out = c = mem_calloc(1, sizeof(*c));
	rc = team_agree(world, c == NULL ? error_no_memory(err) : 0, err);
	if (rc == 0) {
		c->topology = load();
		c->units = hwloc_bitmap_alloc();
		/* At first the units to which this rank is bound, for a line.
		 * The empty set: unknown. */
		if (c->units != NULL && c->topology != NULL &&
		    hwloc_get_cpubind(c->topology, c->units,
				      HWLOC_CPUBIND_THREAD) < 0)
			hwloc_bitmap_zero(c->units);
		if (c->units == NULL ||
		    hwloc_bitmap_asprintf(&units, c->units) < 0 ||
		    buf_printf(&lines, "%s\n", units) < 0)
			rc = error_no_memory(err);
		else
			hwloc_bitmap_zero(c->units);
		mem_free(units);
		units = NULL;
		rc = team_join(node, rc, &lines, err);
		if (rc == 0 && c->topology != NULL)
			rc = share(node, lines.data, c, err);
		while (rc == 0 && hwloc_bitmap_weight(c->units) > CORES_MOST)
			hwloc_bitmap_clr(c->units,
					 (unsigned)hwloc_bitmap_last(c->units));
		/* The node of rank 0 stands for all. */
		if (rc == 0 && !hwloc_bitmap_iszero(c->units) &&
		    team_member(node, 0) < node->size &&
		    hwloc_bitmap_list_asprintf(&units, c->units) >= 0)
			say_debug("%d threads copy the files of this rank, on "
				  "processing units %s",
				  hwloc_bitmap_weight(c->units), units);
	}
	mem_free(units);
	buf_free(&lines);
	return team_agree(world, rc, err);
}

void
cores_free(struct cores *c)
{
	if (c == NULL)
		return;
	hwloc_bitmap_free(c->units);
	if (c->topology != NULL)
		hwloc_topology_destroy(c->topology);
	mem_free(c);
}

/* --- Threads --- */

/* Bind a thread to the unit of its number, and its memory to the NUMA node of
 * that unit.  If the system refuses, the thread runs anywhere. */
static void
bind(void *arg, unsigned worker)
{
	const struct cores *c = arg;
	hwloc_bitmap_t one = hwloc_bitmap_alloc();
	int unit = hwloc_bitmap_first(c->units);

	for (unsigned i = 0; i < worker && unit >= 0; i++)
		unit = hwloc_bitmap_next(c->units, unit);
	if (one != NULL && unit >= 0 &&
	    hwloc_bitmap_only(one, (unsigned)unit) == 0) {
		(void)hwloc_set_cpubind(c->topology, one, HWLOC_CPUBIND_THREAD);
		(void)hwloc_set_membind(c->topology, one, HWLOC_MEMBIND_BIND,
					HWLOC_MEMBIND_THREAD);
	}
	hwloc_bitmap_free(one);
}

bool
cores_enter(const struct cores *c)
{
	return c != NULL && !hwloc_bitmap_iszero(c->units) &&
	       hwloc_set_cpubind(c->topology, c->units, HWLOC_CPUBIND_THREAD) ==
		       0 &&
	       c->apart;
}

struct par *
cores_pool(const struct cores *c)
{
	const int units = c == NULL ? 0 : hwloc_bitmap_weight(c->units);
	struct error why = ERROR_INIT;
	struct par *par = NULL;

	if (units < 2)
		return NULL;
	par = par_new_begin((unsigned)units, bind, (void *)c, &why);
	if (par == NULL)
		say_debug("files are copied without threads: %s", why.text);
	return par;
}
