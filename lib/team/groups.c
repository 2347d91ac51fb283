/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/groups.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "error.h"
#include "fnv.h"
#include "mem.h"
#include "str.h"
#include "team/say.h"
#include "team/team.h"

/* --- A table from one key a rank --- */

struct keyed {
	uint64_t key;
	uint32_t rank;
};

static int
by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

int
groups_table(const uint64_t *keys, uint32_t n, struct arena *a,
	     struct group *out, struct error *err)
{
	struct keyed *list = mem_alloc(n, sizeof(*list));
	uint32_t *of = arena_alloc(a, n, sizeof(*of));

	out->of = of;
	out->count = 0;
	if (list == NULL || of == NULL) {
		mem_free(list);
		return error_no_memory(err);
	}
	for (uint32_t r = 0; r < n; r++)
		list[r] = (struct keyed){ keys[r], r };
	qsort(list, n, sizeof(*list), by_key);
	for (uint32_t i = 0; i < n; i++) {
		const bool first = i == 0 || list[i].key != list[i - 1].key;

		of[list[i].rank] = first ? list[i].rank : of[list[i - 1].rank];
		out->count += first;
	}
	mem_free(list);
	return 0;
}

/* --- Names and values --- */

/* The value of group `name` in the GROUPS lines of `host`, or NULL. */
static const char *
value_of(const struct conf *c, const char *host, const char *name)
{
	const struct conf_group *lines = NULL;
	const size_t n = conf_groups(c, "GROUPS", &lines);
	const char *value = NULL;

	for (size_t i = 0; i < n && value == NULL; i++)
		if (str_eq(lines[i].value, host))
			value = conf_property(&lines[i], name);
	return value;
}

/* --- Making them --- */

struct making {
	struct groups *g;
	const struct team *world;
	struct arena *arena;
	uint64_t *keys; /* by rank */
	int rc;		/* of this rank, so far */
};

/* Add group `name`; `value` of this rank, NULL: none.  Collective. */
static void
add(struct making *m, const char *name, const char *value, struct error *err)
{
	struct group *group = &m->g->list[m->g->count];
	uint64_t key = value != NULL ? fnv_text(value) : 0;

	/* 0 is none.  In a job with 100,000 values, the probability that two
	 * have the same number is 10^-9. */
	if (value != NULL && key == 0)
		key = 1;
	team_gather64(m->world, key, m->keys);
	for (uint32_t r = 0; r < m->world->size; r++) {
		if (m->keys[r] != 0)
			continue;
		say_warn_first("group %s: left out: no GROUPS line defines "
			       "it for the host of rank %u",
			       name, r);
		return;
	}
	m->g->count++;
	group->name = arena_strdup(m->arena, name);
	if (group->name == NULL)
		m->rc = error_no_memory(err);
	if (groups_table(m->keys, m->world->size, m->arena, group, err) < 0)
		m->rc = -1;
}

int
groups_make(struct groups *g, const struct team *world, const char *host,
	    const struct conf *c, struct arena *a, struct error *err)
{
	struct making m = { .g = g, .world = world, .arena = a };
	const struct conf_group *lines = NULL;
	struct buf names = BUF_INIT; /* each ended by a NUL */
	size_t n = 0;
	int rc = 0;

	*g = (struct groups){ .count = 0 };
	if (world->rank == 0)
		n = conf_groups(c, "GROUPS", &lines);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < lines[i].npairs; k++) {
			const struct conf_pair *p = &lines[i].pairs[k];

			/* The first of that name for this host. */
			if (str_eq(lines[i].value, host) &&
			    value_of(c, host, p->key) == p->value &&
			    !str_eq(p->key, GROUPS_NODE) &&
			    !str_eq(p->key, GROUPS_WORLD))
				(void)buf_add(&names, p->key,
					      strlen(p->key) + 1);
		}
	rc = team_share(world, 0, buf_check(&names, err), &names, err);
	if (rc == 0) {
		n = 2;
		for (size_t at = 0; at < names.len; at++)
			n += names.data[at] == '\0';
		m.keys = mem_alloc(world->size, sizeof(*m.keys));
		g->list = arena_alloc(a, n, sizeof(*g->list));
		if (m.keys == NULL || g->list == NULL)
			rc = error_no_memory(err);
		rc = team_agree(world, rc, err);
	}
	if (rc == 0) {
		add(&m, GROUPS_NODE, host, err);
		add(&m, GROUPS_WORLD, GROUPS_WORLD, err);
		for (size_t at = 0; at < names.len;
		     at += strlen(names.data + at) + 1)
			add(&m, names.data + at,
			    value_of(c, host, names.data + at), err);
		rc = team_agree(world, m.rc, err);
	}
	mem_free(m.keys);
	buf_free(&names);
	return rc;
}

int
groups_team(const struct group *g, const struct team *world, struct arena *a,
	    struct team *out, struct error *err)
{
	const uint32_t mine = g->of[world->rank];
	uint32_t *ranks = NULL, n = 0;

	for (uint32_t r = mine; r < world->size; r++)
		n += g->of[r] == mine;
	ranks = arena_alloc(a, n, sizeof(*ranks));
	if (team_agree(world, ranks == NULL ? error_no_memory(err) : 0, err) <
	    0)
		return -1;
	n = 0;
	for (uint32_t r = mine; r < world->size; r++)
		if (g->of[r] == mine)
			ranks[n++] = r;
	team_part(world, ranks, n, out);
	return 0;
}

const struct group *
groups_find(const struct groups *g, const char *name)
{
	for (size_t i = 0; i < g->count; i++)
		if (str_eq(g->list[i].name, name))
			return &g->list[i];
	return NULL;
}
