/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sets.c - assign ranks to redundancy sets (formats.md 6), and write their
 * redundancy.  content_fill() can compute any part of a file, so the parity
 * covers the files of lost nodes, too, and no file is read back.
 */
#include "gen/gen.h"
#include "redwrite.h"
#include "scratch.h"

/* Add a set of `count` ranks. */
static void
add_set(struct gen *g, const uint32_t *ranks, uint32_t count)
{
	struct gen_set *set = &g->sets[g->nsets++];

	set->n = count;
	set->ranks = gen_alloc(g->arena, count, sizeof(*ranks));
	memcpy(set->ranks, ranks, count * sizeof(*ranks));
}

static int
by_first_rank(const void *a, const void *b)
{
	const struct gen_set *x = a, *y = b;

	return x->ranks[0] < y->ranks[0] ? -1 : x->ranks[0] > y->ranks[0];
}

/* Make all sets, unordered: ranks that have the same number on their nodes are
 * split, in order, into sets of set_size or slightly more. */
static void
make_sets(struct gen *g)
{
	uint32_t *on_node = gen_alloc(g->arena, g->nnodes, sizeof(*on_node));
	uint32_t *local = gen_alloc(g->arena, g->nranks, sizeof(*local));
	uint32_t *across = gen_alloc(g->arena, g->nranks, sizeof(*across));
	uint32_t count = 1;

	for (uint32_t r = 0; r < g->nranks; r++)
		local[r] = on_node[g->ranks[r].node]++;
	for (uint32_t l = 0; count > 0; l++) {
		uint32_t size = g->set_size, base = 0, larger = 0, n = 0;

		count = 0;
		for (uint32_t r = 0; r < g->nranks; r++)
			if (local[r] == l)
				across[count++] = r;
		base = count < size ? count : count / (count / size);
		larger = count > 0 ? count % base : 0;
		for (uint32_t at = 0; at < count; at += n) {
			n = base + (larger > 0);
			larger -= larger > 0;
			add_set(g, across + at, n);
		}
	}
}

int
sets_assign(struct gen *g, struct error *err)
{
	uint32_t least = g->none || g->type == REDSET_SINGLE ? 1
			 : g->type == REDSET_RS		     ? g->failures + 1
							     : 2;

	for (uint32_t r = 0; r < g->nranks; r++)
		g->ranks[r].node = g->cyclic
					   ? r % g->nnodes
					   : (uint32_t)((uint64_t)r *
							g->nnodes / g->nranks);
	g->sets = gen_alloc(g->arena, g->nranks, sizeof(*g->sets));
	if (g->type == REDSET_SINGLE || g->none)
		for (uint32_t r = 0; r < g->nranks; r++)
			add_set(g, &r, 1);
	else
		make_sets(g);
	qsort(g->sets, g->nsets, sizeof(*g->sets), by_first_rank);
	for (uint32_t s = 0; s < g->nsets; s++) {
		const struct gen_set *set = &g->sets[s];

		if (set->n < least)
			return error_set(err, ERROR_USAGE,
					 "a set of %u is too small for %s",
					 set->n, redset_type_name(g->type));
		if (g->type == REDSET_RS && set->n + g->failures > 256)
			return error_set(err, ERROR_USAGE,
					 "a set of %u is too large", set->n);
		for (uint32_t m = 0; m < set->n; m++) {
			g->ranks[set->ranks[m]].set = s;
			g->ranks[set->ranks[m]].member = m;
		}
	}
	return 0;
}

void
sets_desc(const struct gen *g, uint32_t set, uint32_t member,
	  struct redset_desc *out)
{
	*out = (struct redset_desc){
		.type = g->type,
		.enabled = true,
		.set = set,
		.sets = g->nsets,
		.member = member,
		.members = g->sets[set].n,
		.rank = g->sets[set].ranks[member],
		.ranks = g->nranks,
		.failures = g->failures,
	};
}

/* --- Redundancy --- */

/* A set that is being written. */
struct set_files {
	const struct gen *g;
	const struct gen_set *set;
	bool map;
	struct redset_member *members;
	struct place_file *files; /* redundancy files */
};

static void
read_string(void *arg, uint32_t member, uint64_t off, size_t len,
	    unsigned char *to)
{
	const struct set_files *w = arg;
	const uint32_t rank = w->set->ranks[member];
	const struct gen_rank *r = &w->g->ranks[rank];
	uint64_t size = 0, part = 0;

	for (uint32_t i = 0; len > 0; i++) {
		size = w->members[member].files[i].attr.size;
		if (off >= size) {
			off -= size;
			continue;
		}
		part = size - off < len ? size - off : len;
		if (w->map)
			memcpy(to, (const char *)r->map + off, part);
		else
			content_fill(w->g->seed, rank, i, off, part, to);
		to += part;
		len -= part;
		off = 0;
	}
}

static void
write_part(void *arg, uint32_t member, bool descriptor, uint64_t off,
	   const void *data, size_t len)
{
	const struct set_files *w = arg;
	const struct redset_desc *d = &w->members[member].desc;
	const struct redset_name name = {
		.map = w->map,
		.descriptor = descriptor,
		.rank = d->rank,
		.type = d->type,
		.set = d->set + 1,
		.sets = d->sets,
		.member = member + 1,
		.members = d->members,
	};
	struct place_file whole, *f = descriptor ? &whole : &w->files[member];
	char text[128];

	redset_name_format(text, sizeof(text), &name, NULL);
	if (off == 0)
		place_create(w->g, d->rank, NULL, text, f);
	f->name = "redundancy file";
	place_write(f, data, len, off);
	if (descriptor)
		place_done(f, NULL);
}

void
redundancy_write(const struct gen *g, bool map)
{
	auto_arena *arena = arena_new();

	must(arena != NULL);
	for (uint32_t s = 0; s < g->nsets; s++) {
		const struct gen_set *set = &g->sets[s];
		struct set_files w = { .g = g, .set = set, .map = map };
		struct redwrite red = {
			.ranks = set->ranks,
			.arg = &w,
			.read = read_string,
			.write = write_part,
		};

		red.members = w.members =
			gen_alloc(arena, set->n, sizeof(*w.members));
		w.files = gen_alloc(arena, set->n, sizeof(*w.files));
		for (uint32_t i = 0; i < set->n; i++) {
			const struct gen_rank *r = &g->ranks[set->ranks[i]];
			struct redset_member *m = &w.members[i];

			m->known = true;
			sets_desc(g, s, i, &m->desc);
			m->nfiles = map ? 1 : g->nfiles;
			m->files =
				gen_alloc(arena, m->nfiles, sizeof(*m->files));
			for (size_t k = 0; k < m->nfiles; k++) {
				m->files[k].path = map ? r->map_path
						       : r->files[k].cache_path;
				m->files[k].attr =
					map ? r->map_attr : r->files[k].attr;
				m->bytes += m->files[k].attr.size;
			}
		}
		redwrite(&red);
		for (uint32_t m = 0; m < set->n; m++)
			place_done(&w.files[m], NULL);
		arena_reset(arena);
	}
}
