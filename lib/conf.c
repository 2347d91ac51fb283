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
#include "dir.h"
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

/* --- One source --- */

/* By key, and the lines of a key in the order in which they were read. */
static int
compare_lines(const void *a, const void *b)
{
	const struct conf_group *x = a, *y = b;
	const int order = strcmp(x->key, y->key);

	if (order != 0)
		return order;
	return (x->number > y->number) - (x->number < y->number);
}

int
conf_add(struct conf_source *s, const struct conf_group *g)
{
	if (!MEM_ROOM(s->lines, s->count, s->cap))
		return -1;
	s->lines[s->count++] = *g;
	return 0;
}

void
conf_sort(struct conf_source *s)
{
	if (s->count > 1)
		qsort(s->lines, s->count, sizeof(*s->lines), compare_lines);
}

/* The lines of `key` in one source, and their number.  NULL: none. */
static const struct conf_group *
lines_in(const struct conf_source *s, const char *key, size_t *count)
{
	size_t first = 0, end = s->count, middle = 0;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (strcmp(s->lines[middle].key, key) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	while (end < s->count && str_eq(s->lines[end].key, key))
		end++;
	*count = end - first;
	return *count > 0 ? &s->lines[first] : NULL;
}

/* Keep the first of the lines with the same value. */
static int
merge(struct conf *c, struct conf_source *s, struct conf_group *g, size_t count,
      struct map *by)
{
	char place[CONF_PLACE_MAX];
	struct conf_group *end = g + count, *to = g;

	for (const struct conf_group *from = g; from < end; from++) {
		const size_t at = map_get(by, from->value);
		struct conf_pair *all = NULL;
		size_t n = 0;

		if (at == MAP_NONE) {
			if (map_put(by, from->value, (size_t)(to - g)) < 0)
				return -1;
			*to++ = *from;
			continue;
		}
		/* Add the properties that the first line lacks. */
		n = g[at].npairs;
		all = arena_alloc(c->arena, n + from->npairs + 1, sizeof(*all));
		if (all == NULL)
			return -1;
		for (size_t i = 0; i < n; i++)
			all[i] = g[at].pairs[i];
		for (size_t i = 0; i < from->npairs; i++)
			if (conf_property(&g[at], from->pairs[i].key) == NULL)
				all[n++] = from->pairs[i];
		g[at].pairs = all;
		g[at].npairs = n;
		if (c->notice.len <= CONF_NOTICE_MAX)
			conf_complain(
				c,
				"%s: %s=%s: line %zu has this word, too: only "
				"properties that it lacks are taken from here",
				conf_place_at(s->name, from->number, place),
				from->key, str_quoted(from->value),
				g[at].number);
	}
	memmove(to, end,
		(size_t)(s->lines + s->count - end) * sizeof(*s->lines));
	s->count -= (size_t)(end - to);
	return 0;
}

int
conf_merge(struct conf *c, struct conf_source *s, const char *key)
{
	struct map *by = map_new();
	size_t count = 0;
	const struct conf_group *g = lines_in(s, key, &count);
	int rc = 0;

	if (count > 1)
		rc = merge(c, s, s->lines + (g - s->lines), count, by);
	map_free(by);
	return rc;
}

/* The lines of a key in the first source that has one. */
struct hit {
	const struct conf_group *lines; /* NULL: none */
	size_t count;
	enum conf_level level; /* the source */
};

static struct hit
find(const struct conf *c, const char *key, enum conf_level from)
{
	struct hit h = { .level = from };

	for (; h.level < CONF_LEVELS && h.lines == NULL;
	     h.level += h.lines == NULL)
		h.lines = lines_in(&c->sources[h.level], key, &h.count);
	return h;
}

/* --- Reading --- */

/* Read the SCR_ variables.  Their values may contain other variables
 * (scrkit.conf(5)); an unset one is replaced by nothing, as in a shell. */
static int
read_environment(struct conf *c, struct error *err)
{
	struct conf_source *s = &c->sources[CONF_ENVIRONMENT];
	struct conf_group g = { .value = NULL };
	struct buf text = BUF_INIT;
	const char *equals = NULL, *unset = NULL;
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
		g.number = s->count + 1;
		g.key = arena_strndup(c->arena, *e, (size_t)(equals - *e));
		g.value = arena_strdup(c->arena, text.data);
		if (g.key == NULL || g.value == NULL || conf_add(s, &g) < 0)
			goto out;
	}
	conf_sort(s);
	rc = 0;
out:
	buf_free(&text);
	return rc < 0 ? error_no_memory(err) : 0;
}

/* The path of the file of `level`; NULL: `*below` is its path below the prefix.
 * *named: the user chose it, so a missing file is worth a notice. */
static const char *
find_file(struct conf *c, const struct conf_where *w, enum conf_level level,
	  const char **below, bool *named)
{
	const char *path = w->user_file;

	*named = false;
	*below = level == CONF_APP ? ".scr/app.conf" : CONF_PREFIX_FILE;
	if (level == CONF_APP)
		return NULL;
	if (level == CONF_SYSTEM) {
		path = w->system_file != NULL ? w->system_file
					      : getenv("SCRKIT_SYSTEM_CONF");
		return path != NULL && *path != '\0' ? path : SCRKIT_SYSCONF;
	}
	/* So far only the environment and app.conf have been read. */
	if (path == NULL)
		path = conf_get(c, "SCR_CONF_FILE");
	*named = path != NULL;
	return path;
}

int
conf_fetch(struct conf *c, const struct conf_where *where,
	   enum conf_level level, struct buf *out, struct error *err)
{
	const bool must = level == CONF_USER && where->user_file != NULL;
	const char *prefix = where->prefix, *below = NULL;
	const struct conf_group *g = NULL;
	struct error why = ERROR_INIT, is = ERROR_INIT;
	bool named = false;
	const char *path = find_file(c, where, level, &below, &named);
	size_t count = 0;
	int fd = -1, rc = -1;

	/* A file does not move the prefix below which it was found. */
	if (prefix == NULL) {
		g = lines_in(&c->sources[CONF_ENVIRONMENT], "SCR_PREFIX",
			     &count);
		prefix = g != NULL ? g->value : ".";
	}
	c->sources[level].is_file = true;
	c->sources[level].name =
		path != NULL
			? arena_strdup(c->arena, path)
			: arena_printf(c->arena, "%s%s%s", prefix,
				       str_ends(prefix, "/") ? "" : "/", below);
	if (c->sources[level].name == NULL)
		return error_no_memory(err);
	if (path != NULL) {
		rc = io_read_file(AT_FDCWD, path, CONF_FILE_MAX, out, &why);
	} else if ((fd = dir_open(AT_FDCWD, prefix)) < 0) {
		error_sys(&why, "%s/%s: cannot open", prefix, below);
	} else {
		/* Whoever may write below the prefix must not make us read
		 * another file: links out of it are refused. */
		rc = io_read_file(fd, below, CONF_FILE_MAX, out, &is);
		close(fd);
		if (rc < 0)
			error_as(&why, &is, "%s/%s", prefix, is.text);
	}
	if (rc == 0)
		return 0;
	buf_clear(out);
	if (must || why.kind == ERROR_NOMEM)
		return error_pass(err, &why);
	/* "/dev/null" is the usual way to say "no file". */
	if ((path == NULL || !str_eq(path, "/dev/null")) &&
	    (named || (why.kind != ERROR_ABSENT && why.errnum != ENOTDIR)))
		conf_complain(c, "%s; the settings in it are not used",
			      why.text);
	return 0;
}

struct conf *
conf_new(struct error *err)
{
	struct conf *c = mem_calloc(1, sizeof(*c));

	if (c == NULL)
		return error_no_memory_null(err);
	c->arena = arena_new();
	if (read_environment(c, err) == 0)
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
	if (rc == 0) {
		conf_check_names(c);
		return c;
	}
	conf_close(c);
	return NULL;
}

void
conf_close(struct conf *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < CONF_LEVELS; i++)
		mem_free(c->sources[i].lines);
	buf_free(&c->notice);
	arena_free(c->arena);
	mem_free(c);
}

/* --- Look-up --- */

const char *
conf_get(const struct conf *c, const char *key)
{
	const struct hit h = find(c, key, CONF_ENVIRONMENT);

	return h.lines != NULL ? h.lines->value : conf_default(key);
}

const char *
conf_source(const struct conf *c, const char *key)
{
	const struct hit h = find(c, key, CONF_ENVIRONMENT);

	return h.lines != NULL		   ? c->sources[h.level].name
	       : conf_default(key) != NULL ? "built in"
					   : NULL;
}

size_t
conf_line(const struct conf *c, const char *key)
{
	const struct hit h = find(c, key, CONF_ENVIRONMENT);

	return h.lines != NULL && c->sources[h.level].is_file ? h.lines->number
							      : 0;
}

const char *
conf_place_at(const char *source, size_t line, char to[static CONF_PLACE_MAX])
{
	if (line == 0)
		snprintf(to, CONF_PLACE_MAX, "%s", source);
	else
		snprintf(to, CONF_PLACE_MAX, "%.*s:%zu", CONF_PLACE_MAX - 24,
			 source, line);
	return to;
}

const char *
conf_place_of(const struct conf *c, const char *key,
	      char to[static CONF_PLACE_MAX])
{
	const char *source = conf_source(c, key);

	return source != NULL ? conf_place_at(source, conf_line(c, key), to)
			      : NULL;
}

bool
conf_is_set(const struct conf *c, const char *key)
{
	return find(c, key, CONF_ENVIRONMENT).lines != NULL;
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
	const struct hit h = find(c, key, CONF_ENVIRONMENT + 1);

	*out = h.lines;
	return h.lines != NULL ? h.count : 0;
}

/* Put "SCR_RUNS from .scrconf: " before the sentence of num.h. */
static int
blame(const struct conf *c, const char *key, struct error *err)
{
	return error_wrap(err, "%s from %s", key, conf_place(c, key));
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
conf_truth(const char *value, bool *out, struct error *err)
{
	static const char *const words[] = { "no",  "off", "false",
					     "yes", "on",  "true" };
	uint64_t n = 0;

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
	return error_set(err, ERROR_USAGE, "\"%s\": expected 1 or 0, yes or no",
			 str_quoted(value));
}

int
conf_bool(const struct conf *c, const char *key, bool otherwise, bool *out,
	  struct error *err)
{
	const char *value = conf_get(c, key);

	*out = otherwise;
	if (value != NULL && conf_truth(value, out, err) < 0)
		return blame(c, key, err);
	return 0;
}

/* --- Properties --- */

static int
blame_line(const struct conf_group *g, const char *key, struct error *err)
{
	return error_wrap(err, "%s=%s: %s", g->key, str_quoted(g->value), key);
}

int
conf_property_u64(const struct conf_group *g, const char *key,
		  uint64_t otherwise, uint64_t *out, struct error *err)
{
	const char *value = conf_property(g, key);

	*out = otherwise;
	if (value != NULL && num_u64(value, 0, UINT64_MAX, out, err) < 0)
		return blame_line(g, key, err);
	return 0;
}

int
conf_property_bool(const struct conf_group *g, const char *key, bool otherwise,
		   bool *out, struct error *err)
{
	const char *value = conf_property(g, key);

	*out = otherwise;
	if (value != NULL && conf_truth(value, out, err) < 0)
		return blame_line(g, key, err);
	return 0;
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
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* Beyond that there is enough to see what is wrong. */
	if (c->notice.len <= CONF_NOTICE_MAX)
		(void)buf_printf(&c->notice, "%s\n", line);
}

const char *
conf_file(const struct conf *c, enum conf_level level)
{
	return c->sources[level].name;
}
