/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_order.c - which files of a dataset are packed, in which order.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/container_impl.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/redset.h"
#include "work.h"

/* A file, its node or its set, and its index in the list. */
struct item {
	const struct segmap_file *file;
	uint32_t node;
	size_t at;
};

/* By node or set, then by rank. */
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

enum pack_spare
pack_judge(const struct packing *w, const struct segmap *m)
{
	struct item *list = mem_calloc(m->nfiles + 1, sizeof(*list));
	struct seen *seen = mem_calloc(m->ncontainers + 1, sizeof(*seen));
	enum pack_spare spare = PACK_SPARE_ONE;

	for (size_t i = 0; i < m->nfiles; i++)
		list[i] = (struct item){ &m->files[i], w->set[m->files[i].rank],
					 i };
	qsort(list, m->nfiles, sizeof(*list), by_node);
	for (size_t i = 0; i < m->nfiles && spare >= PACK_SPARE_MAYBE; i++) {
		const struct segmap_file *f = list[i].file;

		for (size_t k = 0; k < f->nsegs; k++) {
			struct seen *s = &seen[m->segs[f->first + k].container];

			if (list[i].node == 0)
				spare = PACK_SPARE_NONE;
			else if (s->set == list[i].node && s->rank != f->rank)
				spare = PACK_SPARE_MAYBE;
			*s = (struct seen){ list[i].node, f->rank };
		}
	}
	mem_free(seen);
	mem_free(list);
	return m->ncontainers == 0 ? PACK_SPARE_UNKNOWN : spare;
}

/* --- All steps --- */

/* Sort the files by name, by node and rank, or by rank. */
static void
sort_items(struct packing *w, enum pack_order order, const uint32_t *node)
{
	const struct segmap *old = &w->p->map;
	const size_t n = old->nfiles;
	struct item *items = mem_calloc(n + 1, sizeof(*items));

	for (size_t i = 0; i < n; i++) {
		const struct segmap_file *f = &old->files[i];
		const uint32_t at = order == PACK_NODE ? node[f->rank] : 0;

		items[i] = (struct item){ f, at, i };
	}
	qsort(items, n, sizeof(*items), order == PACK_NAME ? by_name : by_node);
	for (size_t i = 0; i < n; i++)
		w->from[i] = items[i].at;
	mem_free(items);
}

int
pack_sort(struct packing *w, struct error *err)
{
	const struct segmap *old = &w->p->map;
	const size_t nranks = w->p->r2f.nranks;
	const bool spread = w->po->redundancy || w->hidden.map.nfiles > 0;
	const enum pack_order order =
		w->po->order == PACK_AS_IS && !w->p->is_packed ? PACK_NODE
							       : w->po->order;
	uint32_t *node = arena_alloc(w->arena, nranks + 1, sizeof(*node));
	struct nodes n = { .node = node, .nranks = nranks };
	const char *name = NULL;
	struct dir_walk walk;
	int rc = 0;

	w->from = arena_alloc(w->arena, old->nfiles + 1, sizeof(*w->from));
	w->set = n.set = arena_alloc(w->arena, nranks + 1, sizeof(*w->set));
	memset(node, 0xff, nranks * sizeof(*node));
	/* A repack has moved the packed names to w->hidden. */
	for (size_t i = 0; i < w->hidden.map.nfiles; i++)
		note_name(&n, w->hidden.map.files[i].path);
	rc = dir_walk(&walk, w->p->meta_fd, w->p->dir, err);
	while (rc == 0 && (name = dir_next(&walk)) != NULL)
		note_name(&n, name);
	if (dir_done(&walk, rc, err) < 0)
		return -1;
	if (order == PACK_NODE && !spread &&
	    (n.known != n.nranks || n.differ)) {
		/* Treat all ranks as those of one node. */
		memset(node, 0, nranks * sizeof(*node));
		work_detail(w->po->work,
			    "the metadata do not record which ranks shared a "
			    "node: packed by rank");
	}
	if (order == PACK_AS_IS)
		(void)segmap_sort(old, false, w->from, NULL);
	else
		sort_items(w, order, node);
	(void)segmap_init(&w->map, old->nfiles, NULL);
	for (; w->map.nfiles < old->nfiles; w->map.nfiles++)
		w->map.files[w->map.nfiles] =
			old->files[w->from[w->map.nfiles]];
	if (spread && order != PACK_NAME && order != PACK_RANK)
		set_groups(w, node);
	return 0;
}

/* --- Metadata --- */

/* A scavenge leaves nine files for each rank: small kvtree files are packed as
 * trees, the others go into containers of their own. */

static int
by_group(const void *a, const void *b)
{
	const struct segmap_file *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->path, y->path);
}

int
pack_hidden_list(struct packing *w, uint64_t size, struct error *err)
{
	struct hidden *h = &w->hidden;
	struct segmap_file *list = NULL;
	size_t count = 0, cap = 0;
	const char *name = NULL;
	struct dir_walk walk;
	int rc = 0;

	if (w->p->layout != 3)
		return error_set(err, ERROR_USAGE,
				 "%s: this layout has no redundancy",
				 w->p->name);
	rc = dir_walk(&walk, w->p->meta_fd, w->p->dir, err);
	while (rc == 0 && (name = dir_next(&walk)) != NULL) {
		struct segmap_file e = { .rank = 0 };
		const enum dataset_dir_kind kind =
			dataset_dir_kind(name, &e.rank);
		struct redset_name red;

		if (!dataset_dir_is_recovery(name))
			continue;
		if (kind == DATASET_DIR_REDUNDANCY && w->spread &&
		    redset_name_parse(name, &red, NULL))
			e.group = red.member;
		e.path = arena_strdup(w->arena, name);
		(void)MEM_ROOM(list, count, cap);
		list[count++] = e;
	}
	rc = dir_done(&walk, rc, err);
	if (count > 0)
		qsort(list, count, sizeof(*list), by_group);
	w->red_stats = arena_alloc(w->arena, count + 1, sizeof(*w->red_stats));
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = hidden_take(h, w->p->meta_fd, list[i], &w->red_stats[i],
				 err);
	if (rc == 0)
		rc = segmap_cut(&h->map, SEGMAP_REDUNDANCY, size, 0, err);
	mem_free(list);
	return rc;
}
