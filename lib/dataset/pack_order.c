/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_order.c - in which order the files of a dataset are packed.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "dataset/catalogue_impl.h"
#include "dataset/pack_impl.h"
#include "error.h"
#include "mem.h"
#include "str.h"

/* A file, its node and its place in the list as it is. */
struct item {
	struct segmap_file file;
	uint32_t node;
	size_t at;
	const char *container; /* where it begins, or the one behind it */
	size_t turn;	       /* of this one, where names do not tell */
	uint64_t off;
};

static int
by_node(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->file.rank != y->file.rank)
		return x->file.rank < y->file.rank ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* By number: "ctr.9.scr" before "ctr.10.scr". */
static int
by_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c = 0;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	if (x->container != NULL && y->container != NULL)
		c = str_natural(x->container, y->container);
	if (c != 0)
		return c;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int
by_name(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return strcmp(x->file.path, y->file.path);
}

/*
 * Which ranks shared a node no file says.  The members of a redundancy set are
 * all on different nodes, though, and where all sets are of one size, and as
 * large as there were nodes, the n-th members of all sets were together.
 */
static bool
nodes_of_sets(const struct plan *plan, uint32_t *node, size_t nranks)
{
	uint32_t size = 0;

	if (plan == NULL || (size_t)plan->nranks != nranks)
		return false;
	for (size_t i = 0; i < nranks; i++) {
		const struct plan_rank *r = &plan->ranks[i];
		const struct plan_set *s = NULL;

		if (r->data_set == PLAN_NONE)
			return false;
		s = &plan->sets[r->data_set];
		if (s->n < 2 || (size != 0 && s->n != size))
			return false;
		size = s->n;
		node[i] = r->data_member;
	}
	return size > 0;
}

static int
find_nodes(struct packing *w, uint32_t *node, struct error *err)
{
	const struct packed *p = w->p;
	const struct catalogue_options *o = w->po->o;
	struct catalogue *c = NULL;
	struct plan *plan = NULL;
	char path[64];

	(void)err;
	if (p->layout != 3)
		return 0;
	/* By descriptor: the directory may have another name by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->prefix_fd);
	c = catalogue_open(path, NULL);
	if (c != NULL)
		plan = catalogue_plan(c, p->id, PLAN_HEADERS, o, NULL);
	if (!nodes_of_sets(plan, node, p->r2f.nranks)) {
		memset(node, 0, p->r2f.nranks * sizeof(*node));
		if (o->detail != NULL)
			o->detail(o->log_arg,
				  "nothing tells which ranks shared a node: "
				  "packed by rank");
	}
	plan_free(plan);
	catalogue_close(c);
	return 0;
}

/* Where the files lie now; an empty one with the next.  In the midst of a
 * repack those that have moved are the first, and in containers with the
 * highest numbers: then these count as they are listed. */
static void
find_places(const struct packed *p, struct item *items)
{
	const char *container = NULL;
	size_t turn = 0;
	uint64_t off = 0;

	for (size_t i = p->map.nfiles; i-- > 0;) {
		const struct segmap_file *f = &p->map.files[i];

		if (f->nsegs > 0) {
			const struct segment *s = &p->map.segs[f->first];

			container = p->map.containers[s->container].name;
			turn = p->map.moving ? s->container : 0;
			off = s->off;
		}
		items[i].container = container;
		items[i].turn = turn;
		items[i].off = off;
	}
}

static int
sort_attrs(struct packing *w, struct error *err)
{
	const size_t n = w->map.nfiles;
	struct attr *to = NULL;

	if (w->hidden.nattrs != n || n == 0)
		return 0;
	to = mem_calloc(n, sizeof(*to));
	if (to == NULL)
		return pack_no_memory(err);
	for (size_t i = 0; i < n; i++)
		to[i] = w->hidden.attrs[w->from[i]];
	mem_free(w->hidden.attrs);
	w->hidden.attrs = to;
	return 0;
}

int
pack_sort(struct packing *w, struct error *err)
{
	const size_t n = w->map.nfiles, nranks = w->p->r2f.nranks;
	struct item *items = mem_calloc(n + 1, sizeof(*items));
	uint32_t *node = mem_calloc(nranks + 1, sizeof(*node));
	enum pack_order order = w->po->order;
	int rc = -1;

	w->from = mem_calloc(n + 1, sizeof(*w->from));
	if (items == NULL || node == NULL || w->from == NULL) {
		pack_no_memory(err);
		goto out;
	}
	if (order == PACK_AS_IS && !w->p->is_packed)
		order = PACK_NODE;
	if (order == PACK_NODE && find_nodes(w, node, err) < 0)
		goto out;
	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){
			.file = w->map.files[i],
			.node = node[w->map.files[i].rank],
			.at = i,
		};
	if (order == PACK_AS_IS)
		find_places(w->p, items);
	qsort(items, n, sizeof(*items),
	      order == PACK_NAME    ? by_name
	      : order == PACK_AS_IS ? by_place
				    : by_node);
	for (size_t i = 0; i < n; i++) {
		w->map.files[i] = items[i].file;
		w->from[i] = items[i].at;
	}
	rc = sort_attrs(w, err);
out:
	mem_free(node);
	mem_free(items);
	return rc;
}
