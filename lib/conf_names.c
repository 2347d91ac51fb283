/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf_names.c - names that are no parameters, and what they may be meant for.
 */
#include <string.h>

#include "conf.h"
#include "conf_impl.h"
#include "str.h"

/* Longer names are not compared. */
#define NAME_MAX_BYTES 48

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Characters to be inserted, removed or replaced to make `b` of `a`. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_BYTES + 1], before = 0, above = 0;
	const size_t len = strlen(b);

	for (size_t k = 0; k <= len; k++)
		row[k] = k;
	for (size_t i = 0; a[i] != '\0'; i++) {
		before = row[0]++;
		for (size_t k = 1; k <= len; k++) {
			above = row[k];
			row[k] = least(least(above, row[k - 1]) + 1,
				       before + (a[i] != b[k - 1]));
			before = above;
		}
	}
	return row[len];
}

const char *
conf_nearest(const char *name)
{
	const size_t len = strlen(name);
	size_t best = len / 3;
	const struct conf_param *p = NULL;
	const char *found = NULL;

	if (len > NAME_MAX_BYTES)
		return NULL;
	for (size_t i = 0; (p = conf_param_at(i)) != NULL; i++) {
		const size_t d = distance(name, p->name);

		if (d < best) {
			best = d;
			found = p->name;
		}
	}
	return found;
}

/* The lines of a source are sorted, so that equal names are neighbours.  What
 * another source hides was seen there. */
void
conf_check_names(struct conf *c)
{
	const char *last = NULL, *near = NULL;
	char shown[2 * NAME_MAX_BYTES], at[CONF_PLACE_MAX];

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
			near = conf_nearest(key);
			conf_complain(c, "%s: %s is no parameter%s%s%s",
				      conf_place(c, key, at),
				      str_printable(shown, sizeof(shown), key),
				      near != NULL ? "; did you mean " : "",
				      near != NULL ? near : "",
				      near != NULL ? "?" : "");
		}
	}
}
