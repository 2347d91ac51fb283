/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redundancy.c - the redundancy sets of a generated dataset.
 *
 * content_fill() can compute any part of a file, so the parity covers the files
 * of lost nodes, too, and no file is read back.
 */

#include "arena.h"
#include "gen/gen.h"
#include "redwrite.h"
#include "scratch.h"

/* A set that is being written. */
struct work {
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
	const struct work *w = arg;
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

static int
write_part(void *arg, uint32_t member, bool descriptor, uint64_t off,
	   const void *data, size_t len, struct error *err)
{
	const struct work *w = arg;
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
	char text[128];

	redset_name_format(text, sizeof(text), &name, NULL);
	if (descriptor)
		return place_meta(w->g, d->rank, text, data, len, NULL, err);
	if (off == 0 &&
	    place_create(w->g, d->rank, NULL, text, &w->files[member], err) < 0)
		return -1;
	w->files[member].name = "redundancy file";
	return place_write(&w->files[member], data, len, off, err);
}

int
redundancy_write(const struct gen *g, bool map, struct error *err)
{
	struct arena *arena = arena_new();
	int rc = 0;

	must(arena != NULL);
	for (uint32_t s = 0; rc == 0 && s < g->nsets; s++) {
		const struct gen_set *set = &g->sets[s];
		struct work w = { .g = g, .set = set, .map = map };
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
		rc = redwrite(&red, err);
		for (uint32_t m = 0; rc == 0 && m < set->n; m++)
			rc = place_done(&w.files[m], NULL, err);
		arena_reset(arena);
	}
	arena_free(arena);
	return rc;
}
