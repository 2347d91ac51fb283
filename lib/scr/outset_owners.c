/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outset_owners.c - find files that several ranks have routed.  Each path is
 * sent to one rank, selected by its hash, which sees all ranks that have it.
 * No rank sees all paths.
 */
#include "scr/outset_impl.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "scr/run.h"

/* A path and the rank responsible for it. */
struct asked {
	uint32_t home;
	size_t file; /* place in o->files */
};

static int
by_home(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Write one note for each responsible rank: the paths, each with its NUL. */
static int
write_questions(const struct outset *o, struct asked *list, struct arena *a,
		struct team_mail *out, struct error *err)
{
	struct buf paths = BUF_INIT;

	for (size_t i = 0; i < o->nfiles; i++)
		list[i] = (struct asked){
			team_home(o->files[i].path, o->run->world.size), i
		};
	if (o->nfiles > 0)
		qsort(list, o->nfiles, sizeof(*list), by_home);
	out->notes = arena_alloc(a, o->nfiles, sizeof(*out->notes));
	for (size_t i = 0; out->notes != NULL && i < o->nfiles;) {
		struct team_note *n = &out->notes[out->count++];
		const uint32_t home = list[i].home;

		buf_clear(&paths);
		for (; i < o->nfiles && list[i].home == home; i++) {
			const char *path = o->files[list[i].file].path;

			buf_add(&paths, path, strlen(path) + 1);
		}
		n->rank = home;
		n->len = paths.len;
		n->data = paths.failed
				  ? NULL
				  : arena_strndup(a, paths.data, paths.len);
		if (n->data == NULL)
			out->notes = NULL;
	}
	buf_free(&paths);
	return out->notes == NULL ? error_no_memory(err) : 0;
}

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
mark(struct outset *o, const struct asked *list, const struct team_mail *in)
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
				o->files[list[first + number].file].other =
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
	struct asked *list = NULL;
	int rc = 0;

	if (a != NULL)
		list = arena_alloc(a, o->nfiles, sizeof(*list));
	rc = list == NULL ? error_no_memory(err)
			  : write_questions(o, list, a, &out, err);
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
