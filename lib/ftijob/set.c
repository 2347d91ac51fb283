/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set.c - group the files of a tree into checkpoints, and find the geometry.
 */
#include "ftijob/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "fti/ini.h"
#include "fti/posix.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "str.h"

/* No job is larger; a larger rank in a name is not believed. */
#define RANKS_MAX ((uint32_t)1 << 24)

const struct fti_set_state_facts fti_set_states[] = {
	[FTI_SET_WHOLE] = { "whole", ERROR_NONE },
	[FTI_SET_REFUSED] = { "refused", ERROR_DAMAGED },
	[FTI_SET_REBUILDABLE] = { "rebuildable", ERROR_DAMAGED },
	[FTI_SET_LOST] = { "lost", ERROR_LOST },
	[FTI_SET_UNKNOWN] = { "unknown", ERROR_SYSTEM },
};

const char *const fti_state_names[] = {
	[FTI_STATE_GOOD] = "good",	 [FTI_STATE_REFUSED] = "refused",
	[FTI_STATE_DAMAGED] = "damaged", [FTI_STATE_MISSING] = "missing",
	[FTI_STATE_UNKNOWN] = "unknown", [FTI_STATE_FOREIGN] = "foreign",
};

/* --- Geometry --- */

/* Is it the file of a rank that jobs have? */
static bool
is_of_rank(const struct fti_entry *e)
{
	return fti_name_is_of_rank(e->name.kind) && e->name.rank < RANKS_MAX;
}

/* Do all files in directories node<k> agree with `size` ranks of a node? */
static bool
fits_nodes(const struct fti_tree *t, size_t first, size_t end, uint32_t size)
{
	for (size_t i = first; i < end; i++) {
		const struct fti_entry *e = &t->list[i];

		if (is_of_rank(e) && e->node >= 0 &&
		    e->name.rank / size != (uint64_t)e->node)
			return false;
	}
	return true;
}

/* Does a node of `size` ranks have one directory, whatever its name, and each
 * directory of a level one node? */
static bool
fits_dirs(const struct fti_tree *t, size_t first, size_t end, uint32_t size)
{
	const struct fti_entry *last = NULL;
	bool several = false;

	for (size_t i = first; i < end; i++) {
		const struct fti_entry *e = &t->list[i];
		bool same = false;

		if (e->level > FTI_L3 || !is_of_rank(e))
			continue;
		if (last != NULL && last->level == e->level &&
		    last->name.id == e->name.id &&
		    last->name.kind == e->name.kind) {
			same = fti_tree_beside(last->path, e->path);
			if (same !=
			    (last->name.rank / size == e->name.rank / size))
				return false;
			several = several || !same;
		}
		last = e;
	}
	return several;
}

/* Has no first rank of a node of `size` ranks a file? */
static bool
are_heads(const struct fti_tree *t, size_t first, size_t end, uint32_t size)
{
	for (size_t i = first; i < end; i++)
		if (is_of_rank(&t->list[i]) && t->list[i].name.rank % size == 0)
			return false;
	return true;
}

/* Infer from the files first ... end - 1 of an execution what is not known. */
static void
infer(const struct fti_tree *t, size_t first, size_t end,
      struct fti_geometry *g)
{
	uint32_t top = 0, groups = 0, last = 0, only = 0;
	uint32_t sectors = 0, members = 0;
	int64_t node = -1;
	bool any = false;

	for (size_t i = first; i < end; i++) {
		const struct fti_entry *e = &t->list[i];

		/* Of MPI-IO only metadata say how many ranks there are. */
		if (e->name.kind == FTI_NAME_SECTOR && g->group_size > 0 &&
		    e->name.sector < RANKS_MAX / g->group_size &&
		    (e->name.sector + 1) * g->group_size > sectors)
			sectors = (e->name.sector + 1) * g->group_size;
		if (e->name.kind == FTI_NAME_SECTOR && e->name.rank >= members)
			members = e->name.rank + 1;
		if (!is_of_rank(e))
			continue;
		any = true;
		top = e->name.rank > top ? e->name.rank : top;
		if (e->node > node && e->node < RANKS_MAX)
			node = e->node;
	}
	if (!any && g->node_size == 0 && members < RANKS_MAX)
		g->node_size = members + (g->head > 0);
	if (!any && g->nodes == 0)
		g->nodes = sectors;
	if (!any)
		return;
	/* The largest size that fits: files of a node may be missing. */
	for (uint32_t s = top + 1; g->node_size == 0 && node > 0 && s > 0; s--)
		if (fits_nodes(t, first, end, s))
			g->node_size = s;
	/* The smallest: some node has all its files. */
	for (uint32_t s = 1; g->node_size == 0 && node < 0 && s <= top; s++)
		if (fits_dirs(t, first, end, s))
			g->node_size = s;
	if (g->node_size == 0 && node <= 0 && g->nodes > 0)
		g->node_size = (top + g->nodes) / g->nodes;
	if (g->node_size == 0 && node == 0)
		g->node_size = top + 1;
	last = g->node_size > 0 ? top / g->node_size + 1 : 0;
	if (node >= 0 && (uint64_t)node + 1 > last)
		last = (uint32_t)node + 1;
	if (g->nodes < last)
		g->nodes = last;
	if (g->head < 0 && g->node_size > 0)
		g->head = g->node_size > 1 &&
			  are_heads(t, first, end, g->node_size);
	/* The nodes are a multiple of the group. */
	for (uint32_t k = 2; k < 32 && k <= g->nodes; k++)
		if (g->nodes % k == 0) {
			groups++;
			only = k;
		}
	if (g->group_size == 0 && groups == 1)
		g->group_size = only;
	if (g->group_size > 1)
		g->nodes = (g->nodes + g->group_size - 1) / g->group_size *
			   g->group_size;
}

/* --- Ranks --- */

/* The places of all ranks that should have files. */
static void
make_ranks(struct fti_sets *s, struct fti_set *set, uint32_t top)
{
	const struct fti_geometry *g = &set->geometry;
	const uint64_t all = (uint64_t)g->node_size * g->nodes;
	const uint32_t k = all > RANKS_MAX ? 0 : g->group_size;
	uint32_t total = top + 1;

	/* Groups of more ranks than any job has are not believed. */
	set->geometry.group_size = k;
	if (all > total && all <= RANKS_MAX)
		total = (uint32_t)all;
	set->ranks = arena_alloc(s->arena, total, sizeof(*set->ranks));

	for (uint32_t r = 0; r < total; r++) {
		struct fti_rank *to = &set->ranks[set->nranks];

		/* A head writes no files. */
		if (g->head > 0 && g->node_size > 0 && r % g->node_size == 0)
			continue;
		set->nranks++;
		to->rank = r;
		for (int p = 0; p < FTI_PARTS; p++)
			to->parts[p].state = FTI_STATE_MISSING;
		if (g->node_size == 0)
			continue;
		to->node = r / g->node_size;
		if (k == 0)
			continue;
		to->member = to->node % k;
		to->group = to->node / k * g->node_size + r % g->node_size;
		if (to->group + 1 > set->groups)
			set->groups = to->group + 1;
	}
}

struct fti_rank *
fti_set_rank(struct fti_set *set, uint32_t rank)
{
	return set->nranks == 0 ? NULL
				: bsearch(&rank, set->ranks, set->nranks,
					  sizeof(*set->ranks), num_by_u32);
}

struct fti_rank *
fti_set_member(struct fti_set *set, uint32_t group, uint32_t member)
{
	const struct fti_geometry *g = &set->geometry;
	const uint64_t node =
		(uint64_t)(group / g->node_size) * g->group_size + member;
	const uint64_t rank = node * g->node_size + group % g->node_size;

	return rank > UINT32_MAX ? NULL : fti_set_rank(set, (uint32_t)rank);
}

struct fti_rank *
fti_set_neighbour(struct fti_set *set, const struct fti_rank *r, bool left)
{
	const uint32_t k = set->geometry.group_size;

	return !fti_set_is_grouped(set)
		       ? NULL
		       : fti_set_member(set, r->group,
					(r->member + (left ? k - 1 : 1)) % k);
}

bool
fti_set_has(const struct fti_set *set, enum fti_part part)
{
	return part == FTI_OWN ||
	       set->level == (part == FTI_COPY ? FTI_L2 : FTI_L3);
}

bool
fti_set_is_grouped(const struct fti_set *set)
{
	return set->geometry.group_size > 1 && set->geometry.node_size > 0;
}

bool
fti_set_reads(const struct fti_set *set, uint32_t group)
{
	return set->data_read && (set->proven == NULL || !set->proven[group]);
}

/* --- Files --- */

const struct fti_entry **
fti_set_files(const struct fti_set *set, const struct fti_tree *t,
	      size_t *count)
{
	const struct fti_entry **list = mem_calloc(
		set->nranks + set->nmetadata + 1, sizeof(struct fti_entry *));

	*count = 0;
	for (size_t i = 0; i < set->nranks; i++)
		if (set->ranks[i].parts[FTI_OWN].entry != NULL &&
		    (i == 0 || set->whole == NULL))
			list[(*count)++] = set->ranks[i].parts[FTI_OWN].entry;
	for (size_t i = 0; i < set->nmetadata; i++) {
		const struct fti_entry *e = &t->list[set->metadata + i];

		/* The entries of an archive are of several checkpoints. */
		if (e->name.kind == FTI_NAME_SECTOR &&
		    (e->level != FTI_ARCHIVE || e->name.id == set->id))
			list[(*count)++] = e;
	}
	return list;
}

/* --- Directories --- */

/* `dir` with the directory `to` instead of `from`.  NULL: it has no such part.
 */
static const char *
other_node(struct arena *a, const char *dir, const char *from, const char *to)
{
	const size_t len = strlen(from);
	const char *at = dir;

	while (strncmp(at, from, len) != 0 ||
	       (at[len] != '/' && at[len] != '\0')) {
		at = strchr(at, '/');
		if (at == NULL)
			return NULL;
		at++;
	}
	return arena_printf(a, "%.*s%s%s", (int)(at - dir), dir, to, at + len);
}

/* Directories with the names of their hosts, which Topology.fti has. */
static void
name_by_hosts(const struct fti_sets *s, const struct fti_set *set,
	      const char **dirs, uint32_t nodes)
{
	const struct fti_tree *t = &s->tree;
	const char *of = NULL, *known = NULL;
	struct fti_ini *ini = NULL;

	for (size_t i = 0; ini == NULL && i < t->count; i++)
		if (t->list[i].name.kind == FTI_NAME_TOPOLOGY &&
		    str_eq(t->list[i].exec, set->exec))
			ini = fti_ini_read(t->fd, t->list[i].path, NULL);
	for (uint32_t n = 0; ini != NULL && known == NULL && n < nodes; n++) {
		of = fti_ini_get(ini, "topology", num_str(n));
		if (of != NULL && dirs[n] != NULL &&
		    other_node(s->arena, dirs[n], of, of) != NULL)
			known = dirs[n];
	}
	for (uint32_t n = 0; known != NULL && n < nodes; n++) {
		const char *host = fti_ini_get(ini, "topology", num_str(n));

		if (dirs[n] == NULL && host != NULL &&
		    strchr(host, '/') == NULL && path_is_clean(host))
			dirs[n] = other_node(s->arena, known, of, host);
	}
	fti_ini_free(ini);
}

const char **
fti_set_dirs(const struct fti_sets *s, struct fti_set *set)
{
	const uint32_t nodes =
		set->nranks == 0 ? 0 : set->ranks[set->nranks - 1].node + 1;
	const char **dirs = mem_calloc((size_t)nodes + 1, sizeof(*dirs));
	const struct fti_entry *any = NULL;
	const struct fti_rank *first = NULL;
	bool one = true; /* all are in the same directory */
	bool several = set->geometry.node_size == 0 || set->level == FTI_L4;
	size_t lacking = 0;

	if (set->dirs != NULL) {
		memcpy(dirs, set->dirs, nodes * sizeof(*dirs));
		return dirs;
	}
	for (size_t i = 0; i < set->nranks * FTI_PARTS; i++) {
		const struct fti_rank *of = &set->ranks[i / FTI_PARTS];
		const struct fti_entry *e = of->parts[i % FTI_PARTS].entry;

		if (e == NULL)
			continue;
		one = one &&
		      (any == NULL || fti_tree_beside(any->path, e->path));
		any = e;
		if (i % FTI_PARTS == FTI_COPY)
			of = fti_set_neighbour(set, of, false);
		/* Else it is not known of which node the file is. */
		several = several || (of != NULL && first != NULL &&
				      of->node != first->node);
		first = first != NULL ? first : of;
		if (of != NULL && set->geometry.node_size > 0 &&
		    dirs[of->node] == NULL)
			dirs[of->node] = fti_tree_dir(s->arena, e->path);
	}
	for (uint32_t n = 0; n < nodes; n++) {
		char from[32], to[32];

		if (dirs[n] == NULL && any != NULL && any->node >= 0 &&
		    set->geometry.node_size > 0) {
			snprintf(from, sizeof(from), "node%" PRIi64, any->node);
			snprintf(to, sizeof(to), "node%" PRIu32, n);
			dirs[n] = other_node(s->arena,
					     fti_tree_dir(s->arena, any->path),
					     from, to);
		}
		lacking += dirs[n] == NULL;
	}
	if (lacking > 0)
		name_by_hosts(s, set, dirs, nodes);
	/* All are in one directory, which is not that of one node. */
	for (uint32_t n = 0;
	     any != NULL && any->node < 0 && one && several && n < nodes; n++)
		if (dirs[n] == NULL)
			dirs[n] = fti_tree_dir(s->arena, any->path);
	return dirs;
}

/* --- Checkpoints --- */

/* The entries of an execution at a level. */
struct span {
	size_t first, end;
	bool sectors, layers; /* they have files of these kinds */
};

/* The checkpoint of entries first ... end - 1, if they have files of ranks. */
static void
add_set(struct fti_sets *s, size_t first, size_t end,
	const struct fti_geometry *g, const struct span *levels)
{
	const struct fti_entry *list = s->tree.list;
	const struct fti_entry *whole = NULL;
	const enum fti_level level = list[first].level;
	/* Sector files of differential checkpoints, and of a head's replica,
	 * are at L4. */
	const struct span *from =
		&levels[level == FTI_DCP || level == FTI_REPLICA ? FTI_L4
								 : level];
	struct fti_set *set = NULL;
	uint32_t top = 0;
	bool any = false;

	for (size_t i = first; i < end; i++)
		if (list[i].name.kind == FTI_NAME_MPIIO)
			whole = &list[i];
		else if (is_of_rank(&list[i])) {
			any = true;
			if (list[i].name.rank > top)
				top = list[i].name.rank;
		}
	if (!any && whole == NULL)
		return;
	(void)MEM_ROOM(s->list, s->count, s->room);
	set = &s->list[s->count++];
	*set = (struct fti_set){
		.exec = list[first].exec,
		.level = level,
		.id = list[first].name.id,
		.posix = levels[level].layers ||
			 (from->sectors && level != FTI_DCP),
		.metadata = from->first,
		.geometry = *g,
		.first = first,
		.count = end - first,
	};
	make_ranks(s, set, top);
	if (set->posix)
		set->nmetadata = from->end - from->first;
	if (!any) {
		set->whole = whole;
		set->bytes = whole->size;
		set->written = whole->mtime;
		set->found = set->nranks;
	}
	for (size_t i = first; i < end; i++) {
		const struct fti_entry *e = &list[i];
		struct fti_rank *r = fti_set_rank(set, e->name.rank);
		enum fti_part part = FTI_OWN;

		if (!fti_name_is_of_rank(e->name.kind))
			continue;
		set->flat = set->flat || e->flat;
		if (e->name.kind == FTI_NAME_PARITY)
			part = FTI_PARITY;
		if (e->name.kind == FTI_NAME_COPY) {
			part = FTI_COPY;
			r = r == NULL ? NULL : fti_set_neighbour(set, r, true);
		}
		if (r == NULL)
			continue;
		/* FTI begins a new file of layers from time to time. */
		if (r->parts[part].entry != NULL &&
		    e->name.kind != FTI_NAME_LAYERS) {
			set->left_out =
				set->left_out == NULL ? e : set->left_out;
			continue;
		}
		set->found += part == FTI_OWN && r->parts[part].entry == NULL;
		r->parts[part].entry = e;
		set->bytes += e->size;
		if (e->mtime > set->written)
			set->written = e->mtime;
	}
}

/* All checkpoints of the execution that entries first ... end - 1 belong to. */
static void
add_exec(struct fti_sets *s, size_t first, size_t end,
	 const struct fti_geometry *given)
{
	const struct fti_entry *list = s->tree.list;
	struct span levels[FTI_NO_LEVEL + 1] = { { .first = 0 } };
	struct fti_geometry g = *given;
	const size_t before = s->count;
	const char *topology = NULL;
	struct fti_ini *ini = NULL;

	for (size_t i = first; i < end; i++) {
		struct span *l = &levels[s->tree.list[i].level];

		if (l->end == 0)
			l->first = i;
		l->end = i + 1;
		l->sectors |= s->tree.list[i].name.kind == FTI_NAME_SECTOR;
		l->layers |= s->tree.list[i].name.kind == FTI_NAME_LAYERS;
	}
	for (size_t i = first; i < end; i++)
		if (list[i].name.kind == FTI_NAME_TOPOLOGY) {
			/* One that is empty is enough for FTI. */
			uint32_t n = 0;

			topology = list[i].path;
			ini = fti_ini_read(s->tree.fd, topology, NULL);
			while (ini != NULL && n < RANKS_MAX &&
			       fti_ini_get(ini, "topology", num_str(n)) != NULL)
				n++;
			g.nodes = g.nodes == 0 ? n : g.nodes;
			fti_ini_free(ini);
		}
	/* Where the files are says more than a configuration. */
	if (g.node_size > 0 && !s->size_given &&
	    !fits_nodes(&s->tree, first, end, g.node_size))
		g.node_size = 0;
	infer(&s->tree, first, end, &g);
	for (size_t i = first, k = first; i < end; i = k) {
		/* One id at one level; of differential ones the names have
		 * none. */
		while (k < end && list[k].level == list[i].level &&
		       (list[k].name.id == list[i].name.id ||
			list[k].level == FTI_DCP))
			k++;
		add_set(s, i, k, &g, levels);
	}
	for (size_t i = before; i < s->count; i++)
		s->list[i].has_topology = topology != NULL;
	if (topology != NULL || s->count == before || s->meta_dir == NULL)
		return;
	topology = arena_printf(s->arena, "%s/%s/Topology.fti", s->meta_dir,
				list[first].exec);
	for (size_t i = before; i < s->count; i++)
		s->list[i].no_topology = topology;
}

int
fti_sets_open(struct fti_sets *s, const char *root,
	      const struct fti_geometry *given, const struct work *w,
	      struct error *err)
{
	const struct fti_tree *t = &s->tree;
	struct fti_geometry g = *given;
	struct fti_config c = { .ini = NULL };
	struct buf dir = BUF_INIT;
	int rc = 0;

	*s = (struct fti_sets){ .size_given = given->node_size > 0 };
	if (fti_tree_open(&s->tree, root, w, err) < 0)
		return -1;
	s->arena = arena_new();
	/* What the user does not say of the geometry, config.fti does; and the
	 * directory of metadata, if it is below the root. */
	if (t->config != NULL)
		rc = fti_config_open(&c, t->fd, t->config, err);
	if (g.node_size == 0 && c.node_size > 0)
		g.node_size = (uint32_t)c.node_size;
	if (g.group_size == 0 && c.group_size > 0)
		g.group_size = (uint32_t)c.group_size;
	if (c.ini != NULL && g.head < 0)
		g.head = (int)c.head;
	if (c.meta_dir != NULL && c.meta_dir[0] != '/' &&
	    fti_config_beneath(c.meta_dir, &dir, NULL) == 0)
		s->meta_dir = fti_tree_join(
			s->arena, fti_tree_dir(s->arena, t->config), dir.data);
	fti_config_close(&c);
	buf_free(&dir);
	for (size_t i = 0, k = 0; rc == 0 && i < t->count; i = k) {
		while (k < t->count && str_eq(t->list[i].exec, t->list[k].exec))
			k++;
		add_exec(s, i, k, &g);
	}
	return rc;
}

void
fti_sets_free(struct fti_sets *s)
{
	for (size_t i = 0; i < s->ninis; i++)
		fti_posix_free(s->inis[i]);
	mem_free(s->inis);
	mem_free(s->list);
	arena_free(s->arena);
	fti_tree_close(&s->tree);
	*s = (struct fti_sets){ .count = 0 };
}
