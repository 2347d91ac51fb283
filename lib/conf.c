/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "arena.h"
#include "conf_impl.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "num.h"
#include "str.h"

/* Set by the makefile. */
#ifndef SCRKIT_SYSCONF
#define SCRKIT_SYSCONF "/usr/local/etc/scr.conf"
#endif

/* Bytes of a bad value that are quoted in a message. */
#define QUOTE_MAX 80

/* No notices are added once there are this many bytes: a file of a million bad
 * lines is not a configuration file. */
#define NOTICE_MAX ((size_t)16 << 10)

/* --- One source --- */

/* Make room for one more object of `size` bytes in an array in the arena.
 * NULL: no memory. */
static void *
grow(struct arena *a, void *old, size_t count, size_t *cap, size_t size)
{
	size_t more = *cap > 0 ? 2 * *cap : 1;
	void *new = NULL;

	if (count < *cap)
		return old;
	new = arena_alloc(a, more, size);
	if (new == NULL)
		return NULL;
	if (count > 0)
		memcpy(new, old, count * size);
	*cap = more;
	return new;
}

/* The entry of `key`, created if missing.  NULL: no memory. */
static struct conf_key *
enter(struct conf *c, struct conf_source *s, const char *key)
{
	struct conf_key *keys = NULL;
	size_t at = 0;

	if (s->map == NULL)
		s->map = map_new();
	if (s->map == NULL)
		return NULL;
	at = map_get(s->map, key);
	if (at != MAP_NONE)
		return &s->keys[at];
	keys = grow(c->arena, s->keys, s->count, &s->cap, sizeof(*keys));
	if (keys == NULL)
		return NULL;
	s->keys = keys;
	if (map_put(s->map, key, s->count) < 0)
		return NULL;
	keys[s->count] = (struct conf_key){ .name = key };
	return &keys[s->count++];
}

int
conf_add(struct conf *c, struct conf_source *s, const char *key,
	 const struct conf_group *g)
{
	struct conf_key *k = enter(c, s, key);
	struct conf_group *groups = NULL;

	if (k == NULL)
		return -1;
	groups = grow(c->arena, k->groups, k->count, &k->cap, sizeof(*groups));
	if (groups == NULL)
		return -1;
	k->groups = groups;
	groups[k->count++] = *g;
	return 0;
}

const struct conf_key *
conf_find(const struct conf_source *s, const char *key)
{
	size_t at = s->map != NULL ? map_get(s->map, key) : MAP_NONE;

	return at != MAP_NONE ? &s->keys[at] : NULL;
}

/* --- Reading --- */

/* Read the SCR_ variables.  Their values may contain other variables (libscr.md
 * 3.2); an unset one is replaced by nothing, as in a shell. */
static int
read_environment(struct conf *c, struct error *err)
{
	struct conf_source *s = &c->sources[CONF_ENVIRONMENT];
	struct conf_group g = { .value = NULL };
	struct buf text = BUF_INIT;
	const char *equals = NULL, *key = NULL, *unset = NULL;
	size_t len = 0;
	int rc = -1;

	s->name = "environment";
	for (char **e = environ; e != NULL && *e != NULL; e++) {
		equals = strchr(*e, '=');
		if (!str_starts(*e, "SCR_") || equals == NULL)
			continue;
		buf_clear(&text);
		if (conf_expand(equals + 1, *e + strlen(*e), false, &text,
				&unset, &len) < 0)
			goto out;
		if (text.len == 0)
			continue;
		key = arena_strndup(c->arena, *e, (size_t)(equals - *e));
		g.value = arena_strdup(c->arena, text.data);
		if (key == NULL || g.value == NULL ||
		    conf_add(c, s, key, &g) < 0)
			goto out;
	}
	rc = 0;
out:
	buf_free(&text);
	return rc < 0 ? error_no_memory(err) : 0;
}

/* The value of `key` in one source.  Used for the keys that say where the other
 * files are, before those files are read. */
static const char *
early(const struct conf *c, enum conf_level level, const char *key)
{
	const struct conf_key *k = conf_find(&c->sources[level], key);

	return k != NULL ? k->groups[0].value : NULL;
}

/* PREFIX/name, allocated in the arena.  NULL: no memory. */
static const char *
below_prefix(struct conf *c, const struct conf_where *w, const char *name)
{
	const char *prefix = w->prefix;

	if (prefix == NULL)
		prefix = early(c, CONF_ENVIRONMENT, "SCR_PREFIX");
	if (prefix == NULL)
		prefix = ".";
	return arena_printf(c->arena, "%s%s%s", prefix,
			    str_ends(prefix, "/") ? "" : "/", name);
}

/* The path of the file of `level`, allocated in the arena.  *named: the user
 * chose it, so a missing file is worth a notice.  NULL: no memory. */
static const char *
find_file(struct conf *c, const struct conf_where *w, enum conf_level level,
	  bool *named)
{
	const char *path = w->user_file;

	*named = false;
	if (level == CONF_APP)
		return below_prefix(c, w, ".scr/app.conf");
	if (level == CONF_SYSTEM) {
		path = w->system_file != NULL ? w->system_file
					      : getenv("SCRKIT_SYSTEM_CONF");
		if (path == NULL || *path == '\0')
			path = SCRKIT_SYSCONF;
		return arena_strdup(c->arena, path);
	}
	if (path == NULL)
		path = early(c, CONF_ENVIRONMENT, "SCR_CONF_FILE");
	if (path == NULL)
		path = early(c, CONF_APP, "SCR_CONF_FILE");
	*named = path != NULL;
	return path != NULL ? arena_strdup(c->arena, path)
			    : below_prefix(c, w, ".scrconf");
}

int
conf_fetch(struct conf *c, const struct conf_where *where,
	   enum conf_level level, struct buf *out, struct error *err)
{
	const bool must = level == CONF_USER && where->user_file != NULL;
	struct error why = ERROR_INIT;
	bool named = false;
	const char *path = find_file(c, where, level, &named);

	if (path == NULL)
		return error_no_memory(err);
	c->sources[level].name = path;
	if (io_read_file(AT_FDCWD, path, CONF_FILE_MAX, out, &why) == 0)
		return 0;
	buf_clear(out);
	if (must || why.kind == ERROR_NOMEM)
		return error_pass(err, &why);
	/* "/dev/null" is the usual way to say "no file". */
	if (!str_eq(path, "/dev/null") &&
	    (named || (why.kind != ERROR_ABSENT && why.errnum != ENOTDIR)))
		conf_complain(c, "%s; the settings in it are not used",
			      why.text);
	return 0;
}

struct conf *
conf_new(struct error *err)
{
	struct conf *c = mem_calloc(1, sizeof(*c));

	if (c != NULL)
		c->arena = arena_new();
	if (c == NULL || c->arena == NULL)
		error_no_memory(err);
	else if (read_environment(c, err) == 0)
		return c;
	conf_close(c);
	return NULL;
}

struct conf *
conf_open(const struct conf_where *where, struct error *err)
{
	static const enum conf_level files[] = { CONF_FILES };
	struct conf *c = conf_new(err);
	struct buf data = BUF_INIT;
	int rc = c != NULL ? 0 : -1;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && rc == 0;
	     i++) {
		rc = conf_fetch(c, where, files[i], &data, err);
		if (rc == 0)
			rc = conf_add_bytes(c, files[i], conf_file(c, files[i]),
					    data.data, data.len, err);
	}
	buf_free(&data);
	if (rc == 0)
		return c;
	conf_close(c);
	return NULL;
}

void
conf_close(struct conf *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < CONF_LEVELS; i++)
		map_free(c->sources[i].map);
	buf_free(&c->notice);
	arena_free(c->arena);
	mem_free(c);
}

/* --- Look-up --- */

/* The value by precedence, and its source. */
static const char *
get(const struct conf *c, const char *key, const char **source)
{
	const struct conf_key *k = NULL;

	for (size_t i = 0; i < CONF_LEVELS; i++) {
		k = conf_find(&c->sources[i], key);
		if (k != NULL) {
			*source = c->sources[i].name;
			return k->groups[0].value;
		}
	}
	*source = "built in";
	return conf_find_builtin(key);
}

const char *
conf_get(const struct conf *c, const char *key)
{
	const char *source = NULL;

	return get(c, key, &source);
}

const char *
conf_source(const struct conf *c, const char *key)
{
	const char *source = NULL;

	return get(c, key, &source) != NULL ? source : NULL;
}

bool
conf_is_set(const struct conf *c, const char *key)
{
	for (size_t i = 0; i < CONF_LEVELS; i++)
		if (conf_find(&c->sources[i], key) != NULL)
			return true;
	return false;
}

const char *
conf_property(const struct conf_group *g, const char *key)
{
	for (size_t i = 0; i < g->npairs; i++)
		if (str_eq(g->pairs[i].key, key))
			return g->pairs[i].value;
	return NULL;
}

size_t
conf_groups(const struct conf *c, const char *key,
	    const struct conf_group **out)
{
	const struct conf_key *k = NULL;

	*out = NULL;
	for (size_t i = CONF_ENVIRONMENT + 1; i < CONF_LEVELS; i++) {
		k = conf_find(&c->sources[i], key);
		if (k == NULL)
			continue;
		*out = k->groups;
		return k->count;
	}
	return 0;
}

/* Put "SCR_RUNS from .scrconf: " before the sentence of num.h. */
static int
blame(const struct conf *c, const char *key, struct error *err)
{
	return error_wrap(err, "%s from %s", key, conf_source(c, key));
}

int
conf_u64(const struct conf *c, const char *key, uint64_t otherwise,
	 uint64_t *out, struct error *err)
{
	const char *value = conf_get(c, key);

	*out = otherwise;
	if (value != NULL && num_u64(value, 0, UINT64_MAX, out, err) < 0)
		return blame(c, key, err);
	return 0;
}

int
conf_i64(const struct conf *c, const char *key, int64_t otherwise, int64_t *out,
	 struct error *err)
{
	const char *value = conf_get(c, key);

	*out = otherwise;
	if (value != NULL && num_i64(value, INT64_MIN, INT64_MAX, out, err) < 0)
		return blame(c, key, err);
	return 0;
}

int
conf_bytes(const struct conf *c, const char *key, uint64_t otherwise,
	   uint64_t *out, struct error *err)
{
	const char *value = conf_get(c, key);

	*out = otherwise;
	if (value != NULL && num_bytes(value, UINT64_MAX, out, err) < 0)
		return blame(c, key, err);
	return 0;
}

int
conf_bool(const struct conf *c, const char *key, bool otherwise, bool *out,
	  struct error *err)
{
	static const char *const words[] = { "no",  "off", "false",
					     "yes", "on",  "true" };
	const char *value = conf_get(c, key);
	char quote[QUOTE_MAX];
	uint64_t n = 0;

	*out = otherwise;
	if (value == NULL)
		return 0;
	if (num_u64(value, 0, UINT64_MAX, &n, NULL) == 0) {
		*out = n != 0;
		return 0;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(value, words[i]) != 0)
			continue;
		*out = i >= 3;
		return 0;
	}
	error_set(err, ERROR_USAGE, "\"%s\": expected 1 or 0, yes or no",
		  str_printable(quote, sizeof(quote), value));
	return blame(c, key, err);
}

/* --- Notices --- */

const char *
conf_notice(const struct conf *c)
{
	return c->notice.len > 0 ? c->notice.data : NULL;
}

void
conf_complain(struct conf *c, const char *fmt, ...)
{
	char line[ERROR_TEXT_MAX];
	const size_t before = c->notice.len;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (before > NOTICE_MAX)
		return; /* enough to see what is wrong */
	if (buf_add_str(&c->notice, line) == 0 &&
	    buf_add_char(&c->notice, '\n') == 0)
		return;
	c->notice.len = before;
	if (c->notice.data != NULL)
		c->notice.data[before] = '\0';
}

const char *
conf_file(const struct conf *c, enum conf_level level)
{
	return c->sources[level].name;
}
