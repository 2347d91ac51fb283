/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf_params.c - the table of all parameters, their values as numbers, and
 * names that are none.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "buf.h"
#include "conf.h"
#include "conf_impl.h"
#include "error.h"
#include "num.h"
#include "str.h"

/* The types that LLNL's library accepts on any hardware.  All mean the same
 * here. */
static const char *const flush_types[] = { "SYNC", "PTHREAD", "DEFAULT",
					   "NATIVE", NULL };

/* The first arguments are the name, and the unit of numbers. */
#define TEXT(...) { .kind = CONF_TEXT, .name = __VA_ARGS__ },
#define WORD(...) { .kind = CONF_WORD, .name = __VA_ARGS__ },
#define BOOL(...) { .kind = CONF_BOOL, .name = __VA_ARGS__ },
#define NUMBER(called, ...) \
	{ .kind = CONF_NUMBER, .name = called, .unit = __VA_ARGS__ },
#define SIGNED(called, ...) \
	{ .kind = CONF_SIGNED, .name = called, .unit = __VA_ARGS__ },
#define BYTES(...) { .kind = CONF_BYTES, .unit = "bytes", .name = __VA_ARGS__ },
#define PERCENT(...) \
	{ .kind = CONF_PERCENT, .unit = "percent", .name = __VA_ARGS__ },
#define IS(text) .value = text
#define MIN_MAX(least, most) .min = least, .max = most
#define IGNORED .ignored = true

/*
 * Built-in values as in LLNL's SCR (scrkit.conf(5)).  If its guide and its code
 * disagree, the code counts.  SCR_FLUSH_ASYNC_BW differs: LLNL's 200 MB have
 * never had an effect.  In alphabetical order, for bsearch.
 */
/* clang-format off */
static const struct conf_param params[] = {
	BOOL("SCR_AXL_MKDIR", IGNORED)
	TEXT("SCR_CACHE_BASE", IS("/dev/shm"))
	BOOL("SCR_CACHE_BYPASS", IS("1"))
	BOOL("SCR_CACHE_PURGE", IS("0"))
	NUMBER("SCR_CACHE_SIZE", "datasets", IS("1"))
	TEXT("SCR_CHECKPOINT_DIR_PATTERN")
	NUMBER("SCR_CHECKPOINT_INTERVAL", "calls", IS("0"))
	PERCENT("SCR_CHECKPOINT_OVERHEAD", IS("0.0"))
	TEXT("SCR_CHECKPOINT_PATTERN")
	TEXT("SCR_CHECKPOINT_PATTERN_TOKEN")
	NUMBER("SCR_CHECKPOINT_SECONDS", "seconds", IS("0"))
	TEXT("SCR_CLUSTER_NAME")
	TEXT("SCR_CNTL_BASE", IS("/dev/shm"))
	TEXT("SCR_CONF_FILE")
	BYTES("SCR_CONTAINER_ALIGN", IS("1"), MIN_MAX(1, (uint64_t)1 << 30))
	BOOL("SCR_CONTAINER_REDUNDANCY", IS("0"))
	BYTES("SCR_CONTAINER_SIZE", IS("107374182400"),
	      MIN_MAX(0, (uint64_t)1 << 62))
	BOOL("SCR_COPY_METADATA", IS("1"))
	TEXT("SCR_COPY_TYPE", IS("XOR"))
	BOOL("SCR_CRC_ON_COPY", IS("0"), IGNORED)
	BOOL("SCR_CRC_ON_DELETE", IS("0"), IGNORED)
	BOOL("SCR_CRC_ON_FLUSH", IS("1"))
	TEXT("SCR_CURRENT")
	NUMBER("SCR_DEBUG", "level", IS("0"), .max = INT_MAX)
	BOOL("SCR_DISTRIBUTE", IS("1"))
	BOOL("SCR_DROP_AFTER_CURRENT", IS("0"))
	BOOL("SCR_ENABLE", IS("1"))
	SIGNED("SCR_END_TIME", "seconds since 1970")
	TEXT("SCR_EXCLUDE_NODES")
	BOOL("SCR_FETCH", IS("1"))
	BOOL("SCR_FETCH_BYPASS", IS("0"))
	TEXT("SCR_FETCH_TYPE", IGNORED)
	NUMBER("SCR_FETCH_WIDTH", "ranks", IS("256"), MIN_MAX(1, UINT32_MAX))
	BYTES("SCR_FILE_BUF_SIZE", IS("33554432"), MIN_MAX(512, (uint64_t)1 << 40))
	NUMBER("SCR_FLUSH", "checkpoints", IS("10"), .max = UINT32_MAX)
	BOOL("SCR_FLUSH_ASYNC", IS("0"))
	BYTES("SCR_FLUSH_ASYNC_BW", IS("0"))
	PERCENT("SCR_FLUSH_ASYNC_PERCENT", IS("0.0"))
	NUMBER("SCR_FLUSH_ASYNC_USLEEP", "microseconds", IS("1000"), IGNORED)
	BOOL("SCR_FLUSH_ON_RESTART", IS("0"))
	BOOL("SCR_FLUSH_POSTSTAGE", IS("0"))
	WORD("SCR_FLUSH_TYPE", IS("SYNC"), .words = flush_types)
	NUMBER("SCR_FLUSH_WIDTH", "ranks", IS("256"), MIN_MAX(1, UINT32_MAX))
	BOOL("SCR_GLOBAL_RESTART", IS("0"))
	TEXT("SCR_GROUP", IS("NODE"))
	BOOL("SCR_HALT_EXIT", IS("0"))
	NUMBER("SCR_HALT_SECONDS", "seconds", IS("0"))
	TEXT("SCR_INTERPOSE_DIR_PATTERN")
	TEXT("SCR_INTERPOSE_PATTERN")
	TEXT("SCR_INTERPOSE_TEMPORARY")
	TEXT("SCR_INTERPOSE_TOKEN")
	TEXT("SCR_JOB_ID")
	TEXT("SCR_JOB_NAME")
	BOOL("SCR_LOG_DB_DEBUG", IS("0"), IGNORED)
	BOOL("SCR_LOG_DB_ENABLE", IS("0"))
	TEXT("SCR_LOG_DB_HOST", IGNORED)
	TEXT("SCR_LOG_DB_NAME")
	TEXT("SCR_LOG_DB_PASS", IGNORED)
	TEXT("SCR_LOG_DB_USER", IGNORED)
	BOOL("SCR_LOG_ENABLE", IS("0"))
	BOOL("SCR_LOG_SYSLOG_ENABLE", IS("1"))
	BOOL("SCR_LOG_TXT_ENABLE", IS("1"))
	NUMBER("SCR_MIN_NODES", "nodes")
	BYTES("SCR_MPI_BUF_SIZE", IS("1048576"), MIN_MAX(512, (uint64_t)1 << 30))
	TEXT("SCR_NODELIST")
	TEXT("SCR_NODE_TESTS")
	TEXT("SCR_NODE_TESTS_FILE", IGNORED)
	NUMBER("SCR_NODE_TIMEOUT", "seconds", IS("20"), MIN_MAX(1, 86400))
	TEXT("SCR_PREFIX")
	BOOL("SCR_PREFIX_PURGE", IS("0"))
	NUMBER("SCR_PREFIX_SIZE", "checkpoints", IS("0"))
	TEXT("SCR_REMOTE")
	TEXT("SCR_RESOURCE_MANAGER")
	NUMBER("SCR_RESOURCE_MANAGER_TIMEOUT", "seconds")
	BOOL("SCR_RESTART_ANY_RANKS", IS("0"))
	NUMBER("SCR_RESTART_ATTEMPTS", "restarts", IS("3"), MIN_MAX(1, UINT32_MAX))
	NUMBER("SCR_RETRIES", "runs")
	SIGNED("SCR_RUNS", "runs", IS("1"))
	TEXT("SCR_RUN_NODES")
	NUMBER("SCR_SET_FAILURES", "members", IS("2"), MIN_MAX(1, 255))
	NUMBER("SCR_SET_SIZE", "ranks", IS("8"), MIN_MAX(1, UINT32_MAX))
	BOOL("SCR_START_OVER", IS("0"))
	TEXT("SCR_USER_NAME")
	BOOL("SCR_USE_CONTAINERS", IS("0"))
	BOOL("SCR_WATCHDOG", IS("0"))
	NUMBER("SCR_WATCHDOG_TIMEOUT", "seconds")
	NUMBER("SCR_WATCHDOG_TIMEOUT_PFS", "seconds")
};
/* clang-format on */

#define PARAMS (sizeof(params) / sizeof(params[0]))

static int
compare_param(const void *key, const void *entry)
{
	return strcmp(key, ((const struct conf_param *)entry)->name);
}

const struct conf_param *
conf_param(const char *name)
{
	return bsearch(name, params, PARAMS, sizeof(params[0]), compare_param);
}

const struct conf_param *
conf_param_at(size_t i)
{
	return i < PARAMS ? &params[i] : NULL;
}

const char *
conf_default(const char *key)
{
	const struct conf_param *p = conf_param(key);

	return p != NULL ? p->value : NULL;
}

const char *
conf_list_at(size_t i)
{
	static const char *const lists[] = { "STORE",	"CKPT",	 "GROUPS",
					     "CNTLDIR", "CACHE", "CACHEDIR" };

	return i < sizeof(lists) / sizeof(lists[0]) ? lists[i] : NULL;
}

bool
conf_repeats(const char *key)
{
	const char *name = NULL;

	for (size_t i = 0; (name = conf_list_at(i)) != NULL; i++)
		if (str_eq(key, name))
			return true;
	return false;
}

/* --- Values --- */

static int
parse_word(const struct conf_param *p, const char *text, const char **out,
	   struct error *err)
{
	struct buf known = BUF_INIT;

	for (const char *const *w = p->words; *w != NULL; w++) {
		if (strcasecmp(text, *w) == 0) {
			*out = *w;
			buf_free(&known);
			return 0;
		}
		(void)buf_printf(&known, "%s%s",
				 w == p->words	? ""
				 : w[1] != NULL ? ", "
						: " or ",
				 *w);
	}
	error_set(err, ERROR_USAGE, "\"%s\": expected %s", str_quoted(text),
		  known.len > 0 ? known.data : "another word");
	buf_free(&known);
	return -1;
}

int
conf_parse(const struct conf_param *p, const char *text, union conf_value *out,
	   struct error *err)
{
	const uint64_t max = p->max > 0 ? p->max : UINT64_MAX;

	switch (p->kind) {
	case CONF_TEXT:
		out->text = text;
		return 0;
	case CONF_WORD:
		return parse_word(p, text, &out->text, err);
	case CONF_BOOL:
		return conf_truth(text, &out->on, err);
	case CONF_PERCENT:
		return num_decimal(text, &out->percent, err);
	case CONF_SIGNED:
		return num_i64(text, INT64_MIN, INT64_MAX, &out->number, err);
	case CONF_NUMBER:
		return num_u64(text, p->min, max, &out->count, err);
	case CONF_BYTES:
		break;
	}
	if (num_bytes(text, max, &out->count, err) < 0)
		return -1;
	return out->count >= p->min
		       ? 0
		       : error_set(err, ERROR_USAGE,
				   "\"%s\": expected at least %u bytes", text,
				   (unsigned)p->min);
}

bool
conf_in_force(struct conf *c, const struct conf_param *p, union conf_value *out)
{
	const char *text = conf_get(c, p->name);
	struct error why = ERROR_INIT;

	*out = (union conf_value){ .text = NULL };
	if (text == NULL || conf_parse(p, text, out, &why) == 0)
		return true;
	conf_complain(c, "%s from %s: %s; %s is used instead", p->name,
		      conf_place(c, p->name), why.text,
		      p->value != NULL ? p->value : "nothing");
	if (p->value != NULL)
		(void)conf_parse(p, p->value, out, NULL);
	return false;
}

/* --- Names that are no parameters, and what they may be meant for --- */

/* --- Properties --- */

static const char *const of_store[] = { "GROUP", "COUNT", "ENABLED", "MKDIR",
					"FLUSH", "VIEW",  "BYTES",   "TYPE",
					"SIZE",	 "POOL",  "SPILL",   NULL };
static const char *const of_ckpt[] = { "ENABLED", "INTERVAL", "OUTPUT",
				       "BYPASS",  "STORE",    "TYPE",
				       "GROUP",	  "SET_SIZE", "SET_FAILURES",
				       NULL };

/* Complain about properties of the lines of `key` that are none of `known`. */
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
		     k < g[i].npairs && c->notice.len <= CONF_NOTICE_MAX; k++) {
			const char *word = g[i].pairs[k].key;
			const char *near = str_meant(word, known);

			if (near != NULL && str_eq(near, word))
				continue;
			conf_complain(c, "%s: %s=%s: unknown property %s%s%s%s",
				      conf_place_at(source,
						    lines ? g[i].number : 0,
						    place),
				      g[i].key, str_quoted(g[i].value),
				      str_quoted(word),
				      near != NULL ? "; did you mean " : "",
				      near != NULL ? near : "",
				      near != NULL ? "?" : "");
		}
}

/* --- Names --- */

/* The lines of a source are sorted, so equal names are neighbours.  A name that
 * an earlier source sets was checked there. */
void
conf_check_names(struct conf *c)
{
	const struct conf_param *p = NULL;
	const char *last = NULL, *near = NULL;
	size_t best = 0;

	for (size_t s = 0; s < CONF_LEVELS; s++) {
		const struct conf_source *from = &c->sources[s];

		for (size_t i = 0;
		     i < from->count && c->notice.len <= CONF_NOTICE_MAX; i++) {
			const char *key = from->lines[i].key;

			if (!str_starts(key, "SCR_") ||
			    /* variables of libscr_preload.so */
			    str_eq(key, "SCR_INTERPOSE") ||
			    str_eq(key, "SCR_STORE") ||
			    str_eq(key, "SCR_STORE_STATS") ||
			    conf_param(key) != NULL ||
			    (last != NULL && str_eq(last, key)) ||
			    !str_eq(conf_source(c, key), from->name))
				continue;
			last = key;
			near = NULL;
			best = strlen(key) / 3;
			for (size_t k = 0; (p = conf_param_at(k)) != NULL; k++)
				if (str_is_nearer(key, strlen(key), p->name,
						  &best))
					near = p->name;
			conf_complain(c, "%s: unknown parameter %s%s%s%s",
				      conf_place(c, key), str_quoted(key),
				      near != NULL ? "; did you mean " : "",
				      near != NULL ? near : "",
				      near != NULL ? "?" : "");
		}
	}
	check_list(c, "STORE", of_store);
	check_list(c, "CKPT", of_ckpt);
}
