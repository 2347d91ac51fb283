/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/numa.h"

#include <hwloc.h>
#include <stddef.h>

#include "mem.h"

struct numa {
	hwloc_topology_t topology;
	unsigned count;
};

struct numa *
numa_open(void)
{
	struct numa *n = mem_calloc(1, sizeof(*n));
	int count = 0;

	if (n == NULL)
		return NULL;
	if (hwloc_topology_init(&n->topology) == 0) {
		if (hwloc_topology_load(n->topology) == 0)
			count = hwloc_get_nbobjs_by_type(n->topology,
							 HWLOC_OBJ_NUMANODE);
		if (count > 0) {
			n->count = (unsigned)count;
			return n;
		}
		hwloc_topology_destroy(n->topology);
	}
	mem_free(n);
	return NULL;
}

void
numa_close(struct numa *n)
{
	if (n == NULL)
		return;
	(void)hwloc_set_membind(
		n->topology, hwloc_topology_get_topology_nodeset(n->topology),
		HWLOC_MEMBIND_DEFAULT,
		HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
	hwloc_topology_destroy(n->topology);
	mem_free(n);
}

unsigned
numa_count(const struct numa *n)
{
	return n == NULL ? 1 : n->count;
}

unsigned
numa_use(struct numa *n, unsigned i)
{
	hwloc_obj_t node = NULL;

	if (n != NULL)
		node = hwloc_get_obj_by_type(n->topology, HWLOC_OBJ_NUMANODE,
					     i);
	if (node == NULL)
		return 0;
	/* Without HWLOC_MEMBIND_STRICT, a full node is no error. */
	(void)hwloc_set_membind(n->topology, node->nodeset, HWLOC_MEMBIND_BIND,
				HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
	return node->os_index;
}
