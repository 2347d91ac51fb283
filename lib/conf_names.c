/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf_names.c - the names of all parameters, so that a misspelt one is found.
 */
#include <string.h>

#include "conf.h"
#include "conf_impl.h"
#include "str.h"

/* Longer names are not compared. */
#define NAME_MAX_BYTES 48

/* Those without a built-in value: of the library, of our commands, of LLNL's
 * scripts and wrappers. */
static const char *const others[] = {
	"SCR_AXL_MKDIR",
	"SCR_CHECKPOINT_DIR_PATTERN",
	"SCR_CHECKPOINT_PATTERN",
	"SCR_CHECKPOINT_PATTERN_TOKEN",
	"SCR_CLUSTER_NAME",
	"SCR_CONF_FILE",
	"SCR_CURRENT",
	"SCR_END_TIME",
	"SCR_EXCLUDE_NODES",
	"SCR_FETCH_TYPE",
	"SCR_JOB_ID",
	"SCR_JOB_NAME",
	"SCR_LOG_DB_HOST",
	"SCR_LOG_DB_NAME",
	"SCR_LOG_DB_PASS",
	"SCR_LOG_DB_USER",
	"SCR_MIN_NODES",
	"SCR_NODELIST",
	"SCR_NODE_TESTS",
	"SCR_NODE_TESTS_FILE",
	"SCR_PREFIX",
	"SCR_REMOTE",
	"SCR_RESOURCE_MANAGER",
	"SCR_RESOURCE_MANAGER_TIMEOUT",
	"SCR_RETRIES",
	"SCR_USER_NAME",
	"SCR_WATCHDOG_TIMEOUT",
	"SCR_WATCHDOG_TIMEOUT_PFS",
};

#define OTHERS (sizeof(others) / sizeof(others[0]))

const char *
conf_name(size_t i)
{
	const char *value = NULL;

	if (i < OTHERS)
		return others[i];
	return conf_builtin(i - OTHERS, &value);
}

bool
conf_repeats(const char *key)
{
	static const char *const list[] = { "STORE",   "CKPT",	"GROUPS",
					    "CNTLDIR", "CACHE", "CACHEDIR" };

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (str_eq(key, list[i]))
			return true;
	return false;
}

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
	const char *found = NULL, *known = NULL;

	if (len > NAME_MAX_BYTES)
		return NULL;
	for (size_t i = 0; (known = conf_name(i)) != NULL; i++) {
		const size_t d = distance(name, known);

		if (d < best) {
			best = d;
			found = known;
		}
	}
	return found;
}

static bool
is_known(const char *key)
{
	const char *known = NULL;

	for (size_t i = 0; (known = conf_name(i)) != NULL; i++)
		if (str_eq(key, known))
			return true;
	return false;
}

/* The lines of a source are sorted, so that equal names are neighbours.  What
 * another source hides was seen there. */
void
conf_check_names(struct conf *c)
{
	const char *last = NULL, *near = NULL;
	char shown[2 * NAME_MAX_BYTES];

	for (size_t s = 0; s < CONF_LEVELS; s++) {
		const struct conf_source *from = &c->sources[s];

		for (size_t i = 0; i < from->count; i++) {
			const char *key = from->lines[i].key;

			if (!str_starts(key, "SCR_") || is_known(key) ||
			    (last != NULL && str_eq(last, key)) ||
			    !str_eq(conf_source(c, key), from->name))
				continue;
			last = key;
			near = conf_nearest(key);
			conf_complain(c, "%s: %s is no parameter%s%s%s",
				      from->name,
				      str_printable(shown, sizeof(shown), key),
				      near != NULL ? "; did you mean " : "",
				      near != NULL ? near : "",
				      near != NULL ? "?" : "");
		}
	}
}
