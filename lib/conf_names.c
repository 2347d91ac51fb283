/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf_names.c - names that are no parameters, and what they may be meant for.
 */
#include <string.h>

#include "conf.h"
#include "conf_impl.h"
#include "str.h"

/* The parameter that `name` may be meant for, or NULL. */
static const char *
nearest(const char *name)
{
	const size_t len = strlen(name);
	size_t best = len / 3;
	const struct conf_param *p = NULL;
	const char *found = NULL;

	for (size_t i = 0; (p = conf_param_at(i)) != NULL; i++)
		if (str_is_nearer(name, len, p->name, &best))
			found = p->name;
	return found;
}

/* --- Properties --- */

static const char *const of_store[] = { "GROUP", "COUNT", "ENABLED", "MKDIR",
					"FLUSH", "VIEW",  "BYTES",   NULL };
static const char *const of_ckpt[] = { "ENABLED", "INTERVAL", "OUTPUT",
				       "BYPASS",  "STORE",    "TYPE",
				       "GROUP",	  "SET_SIZE", "SET_FAILURES",
				       NULL };

/* Complain about a property that is none of `known`. */
static void
check_property(struct conf *c, const char *place, const struct conf_group *g,
	       const struct conf_pair *pair, const char *const *known)
{
	const char *near = str_meant(pair->key, known);

	if (near != NULL && str_eq(near, pair->key))
		return;
	conf_complain(c, "%s: %s=%s: unknown property %s%s%s%s", place, g->key,
		      str_quoted(g->value), str_quoted(pair->key),
		      near != NULL ? "; did you mean " : "",
		      near != NULL ? near : "", near != NULL ? "?" : "");
}

static void
check_list(struct conf *c, const char *key, const char *const *known)
{
	const struct conf_group *g = NULL;
	const size_t count = conf_groups(c, key, &g);
	const char *source = conf_source(c, key);
	const bool lines = conf_line(c, key) > 0;
	char place[CONF_PLACE_MAX];

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0;
		     k < g[i].npairs && c->notice.len <= CONF_NOTICE_MAX; k++)
			check_property(c,
				       conf_place_at(source,
						     lines ? g[i].number : 0,
						     place),
				       &g[i], &g[i].pairs[k], known);
}

/* --- Names --- */

/* The lines of a source are sorted, so equal names are neighbours.  A name that
 * an earlier source sets was checked there. */
void
conf_check_names(struct conf *c)
{
	const char *last = NULL, *near = NULL;
	char at[CONF_PLACE_MAX];

	for (size_t s = 0; s < CONF_LEVELS; s++) {
		const struct conf_source *from = &c->sources[s];

		for (size_t i = 0;
		     i < from->count && c->notice.len <= CONF_NOTICE_MAX; i++) {
			const char *key = from->lines[i].key;

			if (!str_starts(key, "SCR_") ||
			    conf_param(key) != NULL ||
			    (last != NULL && str_eq(last, key)) ||
			    !str_eq(conf_source(c, key), from->name))
				continue;
			last = key;
			near = nearest(key);
			conf_complain(c, "%s: unknown parameter %s%s%s%s",
				      conf_place(c, key, at), str_quoted(key),
				      near != NULL ? "; did you mean " : "",
				      near != NULL ? near : "",
				      near != NULL ? "?" : "");
		}
	}
	check_list(c, "STORE", of_store);
	check_list(c, "CKPT", of_ckpt);
}
