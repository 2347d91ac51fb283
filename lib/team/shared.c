/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/shared.h"

#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "map.h"
#include "team/team.h"

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

int
shared_find(const struct team *t, int rc, struct shared_path *paths,
	    size_t count, bool *any, struct error *err)
{
	struct arena *a = arena_new();
	struct team_mail out = { 0, NULL }, in = { 0, NULL };
	struct team_mail answers = { 0, NULL };
	struct team_path *list = NULL;
	size_t first = 0;
	uint32_t number = 0;

	if (rc == 0 && a != NULL)
		list = arena_alloc(a, count, sizeof(*list));
	for (size_t i = 0; list != NULL && i < count; i++)
		list[i] = (struct team_path){ team_home(paths[i].path, t->size),
					      i, paths[i].path };
	if (rc == 0)
		rc = list == NULL ? error_no_memory(err)
				  : team_paths(list, count, a, &out, err);
	rc = team_notes(t, rc, &out, a, &in, err);
	if (rc == 0) {
		rc = write_answers(&in, a, &answers, err);
		rc = team_agree(t, rc, err);
	}
	*any = rc == 0 && team_any(t, answers.count > 0);
	if (*any)
		rc = team_notes(t, 0, &answers, a, &in, err);
	for (size_t i = 0; *any && rc == 0 && i < in.count; i++) {
		const struct team_note *n = &in.notes[i];

		/* Both lists are sorted by rank. */
		while (first < count && list[first].home != n->rank)
			first++;
		for (size_t k = 0; k + sizeof(number) <= n->len;
		     k += sizeof(number)) {
			memcpy(&number, (const char *)n->data + k,
			       sizeof(number));
			if (number < count - first)
				paths[list[first + number].number].other = true;
		}
	}
	arena_free(a);
	return rc;
}
