/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_order.c - the order in which the files of a dataset are packed.
 */
#include <stdlib.h>
#include <string.h>

#include "container/container_impl.h"
#include "dir.h"
#include "error.h"
#include "mem.h"
#include "meta/redset.h"
#include "work.h"

/* A file, its node and its index in the list. */
struct item {
	const struct segmap_file *file;
	uint32_t node;
	size_t at;
};

/* By node, then by rank. */
static int
by_node(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->file->rank != y->file->rank)
		return x->file->rank < y->file->rank ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int
by_name(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return strcmp(x->file->path, y->file->path);
}

/*
 * No file records which ranks shared a node.  But the members of a redundancy
 * set are all on different nodes.  If all sets have the same size, equal to the
 * number of nodes, then the n-th members of all sets shared a node.  The names
 * of the redundancy files give set and member.
 */
struct nodes {
	uint32_t *node; /* by rank: member; UINT32_MAX: unknown */
	uint32_t *set;	/* by rank: number of its set; 0: unknown */
	size_t nranks, known;
	uint32_t size; /* members of each set */
	bool differ;
};

static void
note_name(struct nodes *n, const char *name)
{
	struct redset_name r;

	if (!redset_name_parse(name, &r, NULL) || r.descriptor || r.map ||
	    r.rank >= n->nranks)
		return;
	n->differ = n->differ || r.members < 2 ||
		    (n->size != 0 && r.members != n->size);
	n->size = r.members;
	if (r.members < 2)
		return;
	n->known += n->node[r.rank] == UINT32_MAX;
	n->node[r.rank] = r.member;
	n->set[r.rank] = r.set;
}

static int
note_entry(void *arg, const char *name, struct error *err)
{
	(void)err;
	note_name(arg, name);
	return 0;
}

static int
find_nodes(struct packing *w, uint32_t *node, bool *known, struct error *err)
{
	const struct packed *p = w->p;
	struct nodes n = { .node = node,
			   .set = w->set,
			   .nranks = p->r2f.nranks };

	memset(node, 0xff, n.nranks * sizeof(*node));
	/* A repack has moved the packed names to w->hidden. */
	for (size_t i = 0; i < w->hidden.nfiles; i++)
		note_name(&n, w->hidden.files[i].name);
	if (dir_each(p->meta_fd, p->dir, note_entry, &n, err) < 0)
		return -1;
	*known = n.known == n.nranks && !n.differ;
	return 0;
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
		return error_no_memory(err);
	for (size_t i = 0; i < n; i++)
		to[i] = w->hidden.attrs[w->from[i]];
	mem_free(w->hidden.attrs);
	w->hidden.attrs = to;
	return 0;
}

/* --- Sets in different containers --- */

/*
 * Members with the same number, of all sets, make a group, so that no container
 * has data of two members of a set.  A repack without a new order keeps the
 * groups only if the files are sorted by them.
 */
static void
set_groups(struct packing *w, const uint32_t *node)
{
	struct segmap *m = &w->map;
	uint32_t last = 0;

	w->spread = true;
	for (size_t i = 0; i < m->nfiles; i++) {
		m->files[i].group = node[m->files[i].rank];
		if (m->files[i].size == 0)
			continue;
		w->spread = w->spread && last <= m->files[i].group;
		last = m->files[i].group;
	}
	for (size_t i = 0; i < m->nfiles && !w->spread; i++)
		m->files[i].group = 0;
}

/* A container, the set and the rank that were seen in it last. */
struct seen {
	uint32_t set, rank;
};

/* Files by set, then by rank. */
struct seated {
	uint32_t set;
	const struct segmap_file *file;
};

static int
by_set(const void *a, const void *b)
{
	const struct seated *x = a, *y = b;

	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	return x->file->rank < y->file->rank ? -1
					     : x->file->rank > y->file->rank;
}

enum pack_spare
pack_judge(const struct packing *w, const struct segmap *m)
{
	struct seated *list = mem_calloc(m->nfiles + 1, sizeof(*list));
	struct seen *seen = mem_calloc(m->ncontainers + 1, sizeof(*seen));
	enum pack_spare spare = PACK_SPARE_ONE;

	if (list == NULL || seen == NULL || w->set == NULL)
		spare = PACK_SPARE_UNKNOWN;
	for (size_t i = 0; i < m->nfiles && spare == PACK_SPARE_ONE; i++)
		list[i] = (struct seated){ w->set[m->files[i].rank],
					   &m->files[i] };
	if (spare == PACK_SPARE_ONE)
		qsort(list, m->nfiles, sizeof(*list), by_set);
	for (size_t i = 0; i < m->nfiles && spare >= PACK_SPARE_MAYBE; i++) {
		const struct segmap_file *f = list[i].file;

		for (size_t k = 0; k < f->nsegs; k++) {
			struct seen *s = &seen[m->segs[f->first + k].container];

			if (list[i].set == 0)
				spare = PACK_SPARE_NONE;
			else if (s->set == list[i].set && s->rank != f->rank)
				spare = PACK_SPARE_MAYBE;
			*s = (struct seen){ list[i].set, f->rank };
		}
	}
	mem_free(seen);
	mem_free(list);
	return m->ncontainers == 0 ? PACK_SPARE_UNKNOWN : spare;
}

/* --- All steps --- */

/* Sort the files by name, by node and rank, or by rank. */
static int
sort_items(struct packing *w, enum pack_order order, const uint32_t *node,
	   struct error *err)
{
	const struct segmap *old = &w->p->map;
	const size_t n = old->nfiles;
	struct item *items = mem_calloc(n + 1, sizeof(*items));

	if (items == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const struct segmap_file *f = &old->files[i];
		const uint32_t at = order == PACK_NODE ? node[f->rank] : 0;

		items[i] = (struct item){ f, at, i };
	}
	qsort(items, n, sizeof(*items), order == PACK_NAME ? by_name : by_node);
	for (size_t i = 0; i < n; i++)
		w->from[i] = items[i].at;
	mem_free(items);
	return 0;
}

int
pack_sort(struct packing *w, struct error *err)
{
	const struct segmap *old = &w->p->map;
	const size_t nranks = w->p->r2f.nranks;
	const bool spread = w->po->redundancy || w->hidden.nfiles > 0;
	const enum pack_order order =
		w->po->order == PACK_AS_IS && !w->p->is_packed ? PACK_NODE
							       : w->po->order;
	uint32_t *node = mem_calloc(nranks + 1, sizeof(*node));
	bool known = false;
	int rc = -1;

	w->from = mem_calloc(old->nfiles + 1, sizeof(*w->from));
	w->set = mem_calloc(nranks + 1, sizeof(*w->set));
	if (node == NULL || w->from == NULL || w->set == NULL) {
		error_no_memory(err);
		goto out;
	}
	if (segmap_init(&w->map, old->nfiles, err) < 0 ||
	    find_nodes(w, node, &known, err) < 0)
		goto out;
	if (order == PACK_NODE && !known && !spread) {
		/* Treat all ranks as those of one node. */
		memset(node, 0, nranks * sizeof(*node));
		work_detail(w->po->work,
			    "the metadata do not record which ranks shared a "
			    "node: packed by rank");
	}
	if ((order == PACK_AS_IS ? segmap_sort(old, false, w->from, err)
				 : sort_items(w, order, node, err)) < 0)
		goto out;
	for (; w->map.nfiles < old->nfiles; w->map.nfiles++)
		w->map.files[w->map.nfiles] =
			old->files[w->from[w->map.nfiles]];
	if (spread && order != PACK_NAME && order != PACK_RANK)
		set_groups(w, node);
	rc = sort_attrs(w, err);
out:
	mem_free(node);
	return rc;
}
