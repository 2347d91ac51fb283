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
static struct device *
store_of(const struct run *run, const char *path)
{
	path = path_normal_in(run->arena, "", path, NULL);
	return path != NULL ? stores_find(&run->stores, path) : NULL;
}

/* The descriptor from SCR_COPY_TYPE and related parameters. */
static struct level
implied(const struct run *run)
{
	const struct params *p = &run->p;
	struct level l = {
		.word = "0",
		.interval = 1,
		.bypass = p->cache_bypass,
		.store = store_of(run, p->cache_base),
		.type = type_of(p->copy_type),
		.group = groups_find(&run->groups, p->group),
		.size = p->set_size,
		.failures = p->set_failures,
		.members = TEAM_INIT,
	};

	if (l.type == REDSET_TYPES)
		l.type = DEFAULT_TYPE;
	return l;
}

/* Read the properties into *l. -1: the line is unusable because of *why. */
static int
read_line(const struct run *run, const struct conf_group *line, struct level *l,
	  struct error *why)
{
	const char *store = conf_property(line, "STORE");
	const char *type = conf_property(line, "TYPE");
	const char *group = conf_property(line, "GROUP");
	uint64_t interval = 1;

	l->word = line->value;
	if (store != NULL)
		l->store = store_of(run, store);
	else
		store = run->p.cache_base;
	if (type != NULL)
		l->type = type_of(type);
	if (group != NULL)
		l->group = groups_find(&run->groups, group);
	else
		group = run->p.group;
	if (conf_property_u64(line, "INTERVAL", 1, &interval, why) < 0 ||
	    conf_property_bool(line, "OUTPUT", false, &l->output, why) < 0 ||
	    conf_property_bool(line, "BYPASS", l->bypass, &l->bypass, why) <
		    0 ||
	    conf_property_u64(line, "SET_SIZE", l->size, &l->size, why) < 0 ||
	    conf_property_u64(line, "SET_FAILURES", l->failures, &l->failures,
			      why) < 0)
		return -1;
	l->interval = (uint32_t)interval;
	if (interval < 1 || interval > UINT32_MAX)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: INTERVAL: expected 1 or more",
				 line->value);
	if (l->type == REDSET_TYPES)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: TYPE: \"%s\": expected SINGLE, "
				 "PARTNER, XOR or RS",
				 line->value, type);
	if (l->store == NULL || !l->store->enabled)
		return error_set(why, ERROR_USAGE, "CKPT=%s: STORE: \"%s\": %s",
				 line->value, store,
				 l->store == NULL ? "no such store"
						  : "this store is not used");
	if (l->group == NULL)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: GROUP: \"%s\": no such group",
				 line->value, group);
	return 0;
}

/* Are the numbers of a scheme valid?  RS: a set has up to 2 * size - 1 members,
 * and the number of members plus check blocks is limited. */
static int
check_numbers(struct level *l, struct error *why)
{
	const uint32_t limit = redset_format(l->type)->limit;

	if (l->size < 1 || l->size > REDSET_MAX_RANKS)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: SET_SIZE: %llu: expected 1 or more",
				 l->word, (unsigned long long)l->size);
	if (l->type != REDSET_RS) {
		l->failures = 1;
		return 0;
	}
	if (l->failures < 1 || l->failures > l->size || l->failures > limit / 2)
		return error_set(why, ERROR_USAGE,
				 "CKPT=%s: SET_FAILURES: %llu: expected a "
				 "number from 1 to the SET_SIZE, %llu",
				 l->word, (unsigned long long)l->failures,
				 (unsigned long long)l->size);
	if (2 * l->size - 1 + l->failures > limit)
		l->size = (limit + 1 - l->failures) / 2;
	if (l->failures == 1)
		l->type = REDSET_XOR;
	return 0;
}

/* Add the descriptor without a line, with defaults in place of invalid
 * values. */
static int
take_implied(struct run *run, struct error *err)
{
	const struct params *p = &run->p;
	struct level l = implied(run);
	struct error why = ERROR_INIT;

	if (l.store == NULL || !l.store->enabled)
		return error_set(err, ERROR_USAGE,
				 "%s: no cache directory can be made here: set "
				 "SCR_CACHE_BASE to storage of the nodes",
				 p->cache_base);
	if (l.group == NULL) {
		say_warn_first("SCR_GROUP: \"%s\": no such group: %s is used",
			       p->group, GROUPS_NODE);
		l.group = groups_find(&run->groups, GROUPS_NODE);
	}
	if (check_numbers(&l, &why) < 0) {
		say_warn_first("%s: %s is used", why.text,
			       redset_type_name(REDSET_XOR));
		l.type = REDSET_XOR;
		l.size = l.size < 1 ? 8 : l.size;
		l.failures = 1;
	}
	run->levels.list[run->levels.count++] = l;
	return 0;
}

/* As LLNL's library sorts them: the numbers are text. */
static int
by_word(const void *a, const void *b)
{
	const struct level *x = a, *y = b;

	return strcmp(x->word, y->word);
}

/* The configured descriptors: the same on all ranks. */
static int
read_all(struct run *run, struct error *err)
{
	struct levels *l = &run->levels;
	const struct conf_group *lines = NULL;
	const size_t n = conf_groups(run->conf, "CKPT", &lines);
	const bool use = type_of(run->p.copy_type) == REDSET_TYPES;
	const char *output = NULL;
	bool first = false; /* one has INTERVAL=1 */

	l->list = mem_calloc(n + 1, sizeof(*l->list));
	if (l->list == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n && use; i++) {
		struct level is = implied(run);
		struct error why = ERROR_INIT;
		bool enabled = true;

		if (conf_property_bool(&lines[i], "ENABLED", true, &enabled,
				       &why) < 0 ||
		    read_line(run, &lines[i], &is, &why) < 0 ||
		    check_numbers(&is, &why) < 0) {
			if (enabled)
				say_warn_first("%s: the line is left out",
					       why.text);
		} else if (enabled) {
			l->list[l->count++] = is;
			first |= is.interval == 1;
		}
	}
	if (n > 0 && !use)
		say_warn_first(
			"%zu CKPT %s ignored: SCR_COPY_TYPE=FILE uses them", n,
			n == 1 ? "line is" : "lines are");
	if (!first && use)
		say_warn_first("SCR_COPY_TYPE=%s: no usable CKPT line has "
			       "INTERVAL=1: %s is used",
			       run->p.copy_type,
			       redset_type_name(DEFAULT_TYPE));
	if (!first && take_implied(run, err) < 0)
		return -1;
	qsort(l->list, l->count, sizeof(*l->list), by_word);
	/* Output uses one line: the first with OUTPUT=1. */
	for (size_t i = 0; i < l->count; i++) {
		if (l->list[i].output && output != NULL)
			say_warn_first(
				"CKPT=%s: OUTPUT=1 is ignored: CKPT=%s has it, "
				"and sorts first as text",
				l->list[i].word, output);
		else if (l->list[i].output)
			output = l->list[i].word;
	}
	return 0;
}

/* --- Sets --- */

/* One warning about the ranks that are protected less than configured. */
static void
warn_weak(const struct run *run, const struct level *l)
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
			l->word, type, l->group->name);
	else if (s->alone > 0)
		say_warn_first(
			"CKPT=%s: %u of %u ranks are not protected by %s: "
			"their group %s has more ranks than the job has sets",
			l->word, s->alone, run->world.size, type,
			l->group->name);
	if (s->weaker > 0)
		say_warn_first(
			"CKPT=%s: %u of %u ranks tolerate fewer than %llu "
			"losses: their sets span too few of the %u groups %s",
			l->word, s->weaker, run->world.size,
			(unsigned long long)l->failures, l->group->count,
			l->group->name);
}

int
levels_make(struct run *run, struct error *err)
{
	struct levels *all = &run->levels;
	int rc = 0;

	*all = (struct levels){ .count = 0 };
	rc = team_agree(&run->world, read_all(run, err), err);
	for (size_t i = 0; rc == 0 && i < all->count; i++) {
		struct level *l = &all->list[i];
		const bool together = l->store->group->count == 1 &&
				      run->nodes > 1 && !l->store->global;
		struct sets_job job = {
			.group = l->group->of,
			.nranks = run->world.size,
			.size = (uint32_t)l->size,
			.failures = (uint32_t)l->failures,
		};

		if (together && redset_is_redundant(l->type)) {
			say_debug("CKPT=%s: SINGLE is used: all ranks share "
				  "store %s",
				  l->word, l->store->base);
			l->type = REDSET_SINGLE;
		}
		job.type = l->type;
		rc = sets_find(&job, run->world.rank, run->arena, &l->set, err);
		rc = team_agree(&run->world, rc, err);
		if (rc < 0)
			break;
		warn_weak(run, l);
		if (l->group->count == 1)
			l->type = REDSET_SINGLE;
		team_part(&run->world, l->set.ranks, l->set.members,
			  &l->members);
	}
	if (rc < 0)
		levels_free(all);
	return rc;
}

void
levels_free(struct levels *l)
{
	for (size_t i = 0; i < l->count; i++)
		team_free(&l->list[i].members);
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
