/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/levels.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf.h"
#include "error.h"
#include "mem.h"
#include "path.h"
#include "scr/run.h"
#include "scr/scr.h"
#include "team/say.h"

/* The scheme if SCR_COPY_TYPE names none and no line is usable. */
#define DEFAULT_TYPE REDSET_XOR

/* A configured descriptor, the same on all ranks. */
struct asked {
	struct level level;
	const struct group *group;
	uint64_t size, failures;
};

struct making {
	struct levels *l;
	struct run *run;
	struct asked *list;
	size_t count;
};

/* REDSET_TYPES: unknown. */
static enum redset_type
type_of(const char *name)
{
	for (int t = 0; t < REDSET_TYPES; t++)
		if (strcasecmp(redset_type_name((enum redset_type)t), name) ==
		    0)
			return (enum redset_type)t;
	return REDSET_TYPES;
}

/* --- From the configuration --- */

/* The store of the path of a line, or NULL. */
static struct store *
store_of(const struct run *run, const char *path)
{
	path = path_normal_in(run->arena, "", path, NULL);
	return path != NULL ? stores_find(&run->stores, path) : NULL;
}

/* The descriptor from SCR_COPY_TYPE and related parameters. */
static struct asked
implied(const struct run *run)
{
	const struct params *p = &run->p;
	struct asked a = {
		.level = {
			.word = "0",
			.interval = 1,
			.bypass = p->cache_bypass,
			.store = store_of(run, p->cache_base),
			.type = type_of(p->copy_type),
			.members = TEAM_INIT,
		},
		.group = groups_find(&run->groups, p->group),
		.size = p->set_size,
		.failures = p->set_failures,
	};

	if (a.level.type == REDSET_TYPES)
		a.level.type = DEFAULT_TYPE;
	return a;
}

/* Read the properties into *a. -1: the line is unusable because of *why. */
static int
read_line(const struct run *run, const struct conf_group *line, struct asked *a,
	  struct error *why)
{
	const char *store = conf_property(line, "STORE");
	const char *type = conf_property(line, "TYPE");
	const char *group = conf_property(line, "GROUP");
	uint64_t interval = 1;

	a->level.word = line->value;
	if (store != NULL)
		a->level.store = store_of(run, store);
	else
		store = run->p.cache_base;
	if (type != NULL)
		a->level.type = type_of(type);
	if (group != NULL)
		a->group = groups_find(&run->groups, group);
	else
		group = run->p.group;
	if (conf_property_u64(line, "INTERVAL", 1, &interval, why) < 0 ||
	    conf_property_bool(line, "OUTPUT", false, &a->level.output, why) <
		    0 ||
	    conf_property_bool(line, "BYPASS", a->level.bypass,
			       &a->level.bypass, why) < 0 ||
	    conf_property_u64(line, "SET_SIZE", a->size, &a->size, why) < 0 ||
	    conf_property_u64(line, "SET_FAILURES", a->failures, &a->failures,
			      why) < 0)
		return -1;
	a->level.interval = (uint32_t)interval;
	if (interval < 1 || interval > UINT32_MAX)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: INTERVAL: expected 1 or more",
				 line->value);
	if (a->level.type == REDSET_TYPES)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: TYPE: \"%s\": expected SINGLE, "
				 "PARTNER, XOR or RS",
				 line->value, type);
	if (a->level.store == NULL || !a->level.store->enabled)
		return error_set(why, ERROR_USAGE, "CKPT=%s: STORE: \"%s\": %s",
				 line->value, store,
				 a->level.store == NULL
					 ? "no such store"
					 : "this store is not used");
	if (a->group == NULL)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: GROUP: \"%s\": no such group",
				 line->value, group);
	return 0;
}

/* Are the numbers of a scheme valid?  RS: a set has up to 2 * size - 1 members,
 * and the number of members plus check blocks is limited. */
static int
check_numbers(struct asked *a, struct error *why)
{
	const uint32_t limit = redset_format(a->level.type)->limit;

	if (a->size < 1 || a->size > REDSET_MAX_RANKS)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: SET_SIZE: %llu: expected 1 or more",
				 a->level.word, (unsigned long long)a->size);
	if (a->level.type != REDSET_RS) {
		a->failures = 1;
		return 0;
	}
	if (a->failures < 1 || a->failures > a->size || a->failures > limit / 2)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: SET_FAILURES: %llu: expected a "
				 "number from 1 to the SET_SIZE, %llu",
				 a->level.word, (unsigned long long)a->failures,
				 (unsigned long long)a->size);
	if (2 * a->size - 1 + a->failures > limit)
		a->size = (limit + 1 - a->failures) / 2;
	if (a->failures == 1)
		a->level.type = REDSET_XOR;
	return 0;
}

/* Add the descriptor without a line, with defaults in place of invalid
 * values. */
static int
take_implied(struct making *m, struct error *err)
{
	const struct params *p = &m->run->p;
	struct asked a = implied(m->run);
	struct error why = ERROR_INIT;

	if (a.level.store == NULL || !a.level.store->enabled)
		return error_set(err, ERROR_USAGE,
				 "%s: no cache directory can be made here: set "
				 "SCR_CACHE_BASE to storage of the nodes",
				 p->cache_base);
	if (a.group == NULL) {
		say_warn_first("SCR_GROUP: \"%s\": no such group: %s is used",
			       p->group, GROUPS_NODE);
		a.group = groups_find(&m->run->groups, GROUPS_NODE);
	}
	if (check_numbers(&a, &why) < 0) {
		say_warn_first("%s: %s is used", why.text,
			       redset_type_name(REDSET_XOR));
		a.level.type = REDSET_XOR;
		a.size = a.size < 1 ? 8 : a.size;
		a.failures = 1;
	}
	m->list[m->count++] = a;
	return 0;
}

static bool
has_first(const struct making *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].level.interval == 1)
			return true;
	return false;
}

/* As LLNL's library sorts them: the numbers are text. */
static int
by_word(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return strcmp(x->level.word, y->level.word);
}

/* Output uses one line: the first with OUTPUT=1. */
static void
warn_outputs(const struct making *m)
{
	const struct asked *first = NULL;

	for (size_t i = 0; i < m->count; i++) {
		const struct asked *a = &m->list[i];

		if (a->level.output && first != NULL)
			say_warn_first(
				"CKPT=%s: OUTPUT=1 is ignored: CKPT=%s has it, "
				"and sorts first as text",
				a->level.word, first->level.word);
		else if (a->level.output)
			first = a;
	}
}

static int
read_all(struct making *m, struct error *err)
{
	const struct run *run = m->run;
	const struct conf_group *lines = NULL;
	const size_t n = conf_groups(run->conf, "CKPT", &lines);
	const bool use = type_of(run->p.copy_type) == REDSET_TYPES;

	m->list = mem_calloc(n + 1, sizeof(*m->list));
	m->l->list = mem_calloc(n + 1, sizeof(*m->l->list));
	if (m->list == NULL || m->l->list == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n && use; i++) {
		struct asked a = implied(m->run);
		struct error why = ERROR_INIT;
		bool enabled = true;

		/* Add a usable line to the list. */
		if (conf_property_bool(&lines[i], "ENABLED", true, &enabled,
				       &why) < 0 ||
		    read_line(m->run, &lines[i], &a, &why) < 0 ||
		    check_numbers(&a, &why) < 0) {
			if (enabled)
				say_warn_first("%s: the line is left out",
					       why.text);
		} else if (enabled) {
			m->list[m->count++] = a;
		}
	}
	if (n > 0 && !use)
		say_warn_first(
			"%zu CKPT %s ignored: SCR_COPY_TYPE=FILE uses them", n,
			n == 1 ? "line is" : "lines are");
	if (!has_first(m)) {
		if (use)
			say_warn_first(
				"SCR_COPY_TYPE=%s: no usable CKPT line has "
				"INTERVAL=1: %s is used",
				run->p.copy_type,
				redset_type_name(DEFAULT_TYPE));
		if (take_implied(m, err) < 0)
			return -1;
	}
	qsort(m->list, m->count, sizeof(*m->list), by_word);
	warn_outputs(m);
	return 0;
}

/* --- Sets --- */

/* One warning about the ranks that are protected less than configured. */
static void
warn_weak(const struct run *run, const struct level *l, const struct asked *a)
{
	const struct sets_mine *s = &l->set;
	const char *type = redset_type_name(l->type);

	/* The files are on the prefix. */
	if (l->bypass)
		return;
	if (s->alone == run->world.size)
		say_warn_first(
			"CKPT=%s: no rank is protected by %s: all ranks are "
			"in one group %s, which fails together",
			l->word, type, a->group->name);
	else if (s->alone > 0)
		say_warn_first(
			"CKPT=%s: %u of %u ranks are not protected by %s: "
			"their group %s has more ranks than the job has sets",
			l->word, s->alone, run->world.size, type,
			a->group->name);
	if (s->weaker > 0)
		say_warn_first(
			"CKPT=%s: %u of %u ranks tolerate fewer than %llu "
			"losses: their sets span too few of the %u groups %s",
			l->word, s->weaker, run->world.size,
			(unsigned long long)a->failures, a->group->count,
			a->group->name);
}

static int
make_level(struct making *m, const struct asked *a, struct error *err)
{
	struct run *run = m->run;
	struct level *l = &m->l->list[m->l->count];
	const bool together = a->level.store->group->count == 1 &&
			      run->nodes > 1 && !a->level.store->global;
	struct sets_job job = {
		.group = a->group->of,
		.nranks = run->world.size,
		.size = (uint32_t)a->size,
		.failures = (uint32_t)a->failures,
	};
	int rc = 0;

	*l = a->level;
	if (together && redset_is_redundant(l->type)) {
		say_debug("CKPT=%s: SINGLE is used: all ranks share store %s",
			  l->word, l->store->base);
		l->type = REDSET_SINGLE;
	}
	job.type = l->type;
	rc = sets_find(&job, run->world.rank, run->arena, &l->set, err);
	if (team_agree(&run->world, rc, err) < 0)
		return -1;
	warn_weak(run, l, a);
	if (a->group->count == 1)
		l->type = REDSET_SINGLE;
	team_part(&run->world, l->set.ranks, l->set.members, l->set.member,
		  &l->members);
	m->l->count++;
	return 0;
}

int
levels_make(struct levels *l, struct run *run, struct error *err)
{
	struct making m = { .l = l, .run = run };
	int rc = 0;

	*l = (struct levels){ .count = 0 };
	rc = team_agree(&run->world, read_all(&m, err), err);
	for (size_t i = 0; i < m.count && rc == 0; i++)
		rc = make_level(&m, &m.list[i], err);
	mem_free(m.list);
	if (rc < 0)
		levels_free(l);
	return rc;
}

void
levels_free(struct levels *l)
{
	mem_free(l->list);
	*l = (struct levels){ .count = 0 };
}

const struct level *
levels_choose(const struct levels *l, int flags, int64_t ckpt)
{
	const struct level *best = NULL;

	if (flags & SCR_FLAG_OUTPUT)
		for (size_t i = 0; i < l->count; i++)
			if (l->list[i].output)
				return &l->list[i];
	for (size_t i = 0; i < l->count; i++) {
		const uint32_t every = l->list[i].interval;
		const bool fits = flags & SCR_FLAG_CHECKPOINT
					  ? ckpt % every == 0
					  : every == 1;

		if (fits && (best == NULL || every > best->interval))
			best = &l->list[i];
	}
	return best;
}
