/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outset_owners.c - find files that several ranks have routed.  Each path is
 * sent to one rank, selected by its hash, which sees all ranks that have it.
 * No rank sees all paths.
 */
#include "scr/outset_impl.h"

#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "map.h"
#include "scr/run.h"

/* Reply to each rank with the numbers of the paths that a lower rank has. */
static int
write_answers(const struct team_mail *in, struct arena *a,
	      struct team_mail *out, struct error *err)
{
	struct map *seen = map_new();
	struct buf numbers = BUF_INIT;
	int rc = seen == NULL ? -1 : 0;

	out->notes = arena_alloc(a, in->count, sizeof(*out->notes));
	if (out->notes == NULL)
		rc = -1;
	for (size_t i = 0; rc == 0 && i < in->count; i++) {
		const char *at = in->notes[i].data,
			   *end = at + in->notes[i].len;
		struct team_note *n = &out->notes[out->count];

		buf_clear(&numbers);
		for (uint32_t k = 0; at < end; k++, at += strlen(at) + 1)
			if (map_get(seen, at) != MAP_NONE)
				buf_add(&numbers, &k, sizeof(k));
			else if (map_put(seen, at, 0) < 0)
				rc = -1;
		if (numbers.len == 0)
			continue;
		n->rank = in->notes[i].rank;
		n->len = numbers.len;
		n->data = arena_strndup(a, numbers.data, numbers.len);
		if (n->data == NULL || numbers.failed)
			rc = -1;
		out->count++;
	}
	buf_free(&numbers);
	map_free(seen);
	return rc < 0 ? error_no_memory(err) : 0;
}

static void
mark(struct outset *o, const struct team_path *list, const struct team_mail *in)
{
	size_t first = 0; /* both lists are sorted by rank */

	for (size_t i = 0; i < in->count; i++) {
		const struct team_note *n = &in->notes[i];

		while (first < o->nfiles && list[first].home != n->rank)
			first++;
		for (size_t k = 0; k + sizeof(uint32_t) <= n->len;
		     k += sizeof(uint32_t)) {
			uint32_t number = 0;

			memcpy(&number, (const char *)n->data + k,
			       sizeof(number));
			if (number < o->nfiles - first)
				o->files[list[first + number].number].other =
					true;
		}
	}
}

int
outset_owners(struct outset *o, bool *shared, struct error *err)
{
	const struct team *t = &o->run->world;
	struct arena *a = arena_new();
	struct team_mail out = { 0, NULL }, in = { 0, NULL };
	struct team_mail answers = { 0, NULL };
	struct team_path *list = NULL;
	int rc = 0;

	if (a != NULL)
		list = arena_alloc(a, o->nfiles, sizeof(*list));
	for (size_t i = 0; list != NULL && i < o->nfiles; i++)
		list[i] = (struct team_path){ team_home(o->files[i].path,
							t->size),
					      i, o->files[i].path };
	rc = list == NULL ? error_no_memory(err)
			  : team_paths(list, o->nfiles, a, &out, err);
	rc = team_notes(t, rc, &out, a, &in, err);
	if (rc == 0) {
		rc = write_answers(&in, a, &answers, err);
		rc = team_agree(t, rc, err);
	}
	*shared = rc == 0 && team_any(t, answers.count > 0);
	if (*shared) {
		rc = team_notes(t, 0, &answers, a, &in, err);
		if (rc == 0)
			mark(o, list, &in);
	}
	arena_free(a);
	return rc;
}
