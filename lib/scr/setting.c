/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/setting.h"

#include <ctype.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "error.h"
#include "mem.h"
#include "str.h"

/* --- Parsing --- */

struct parsing {
	const char *p;
	struct arena *arena;
	struct error *err;
};

static void
skip_blanks(struct parsing *s)
{
	while (*s->p == ' ')
		s->p++;
}

/* Parse a name, into upper case.  NULL: no name, or no memory. */
static const char *
take_name(struct parsing *s)
{
	const char *from = s->p;
	char *name = NULL;

	/* Other characters would need escapes in a configuration file. */
	while (isalnum((unsigned char)*s->p) ||
	       (*s->p != '\0' && strchr("_-./", *s->p) != NULL))
		s->p++;
	if (s->p == from || (*s->p != '\0' && *s->p != ' ' && *s->p != '='))
		return error_set_null(
			s->err, ERROR_USAGE,
			"expected the name of a parameter at \"%s\"",
			str_quoted(from));
	name = arena_strndup(s->arena, from, (size_t)(s->p - from));
	if (name == NULL)
		return error_no_memory_null(s->err);
	for (char *c = name; *c != '\0'; c++)
		*c = (char)toupper((unsigned char)*c);
	skip_blanks(s);
	return name;
}

/* Parse the value behind a '=', "" if there is none.  NULL: no memory. */
static const char *
take_value(struct parsing *s)
{
	const char *value = NULL;
	size_t len = 0;

	s->p++;
	skip_blanks(s);
	len = strcspn(s->p, " ");
	value = arena_strndup(s->arena, s->p, len);
	if (value == NULL)
		error_no_memory(s->err);
	s->p += len;
	skip_blanks(s);
	return value;
}

/* Parse the words after KEY=VALUE: properties to set, or one to query. */
static int
take_properties(struct parsing *s, struct setting *out)
{
	struct setting_pair *pair = NULL;
	size_t room = 0;

	for (const char *c = s->p; *c != '\0'; c++)
		room += *c == '=';
	out->pairs = arena_alloc(s->arena, room + 1, sizeof(*out->pairs));
	if (out->pairs == NULL)
		return error_no_memory(s->err);
	while (*s->p != '\0') {
		pair = &out->pairs[out->npairs];
		pair->key = take_name(s);
		if (pair->key == NULL)
			return -1;
		if (*s->p != '=') {
			if (out->npairs > 0 || *s->p != '\0')
				return error_set(
					s->err, ERROR_USAGE,
					"%s has no value: a text either sets "
					"properties or queries one",
					pair->key);
			out->kind = SETTING_QUERY;
			out->child = pair->key;
			return 0;
		}
		pair->value = take_value(s);
		if (pair->value == NULL)
			return -1;
		if (*pair->value == '\0')
			return error_set(s->err, ERROR_USAGE,
					 "%s has no value: a property cannot "
					 "be unset",
					 pair->key);
		out->npairs++;
	}
	return 0;
}

int
setting_parse(const char *text, struct arena *a, struct setting *out,
	      struct error *err)
{
	struct parsing s = { .p = text, .arena = a, .err = err };

	*out = (struct setting){ .kind = SETTING_NOTHING };
	skip_blanks(&s);
	if (*s.p == '\0')
		return 0;
	out->key = take_name(&s);
	if (out->key == NULL)
		return -1;
	out->kind = SETTING_QUERY;
	if (*s.p == '\0')
		return 0;
	if (*s.p != '=')
		return error_set(err, ERROR_USAGE,
				 "no '=' after %s: expected KEY, KEY=VALUE or "
				 "KEY=",
				 out->key);
	out->value = take_value(&s);
	if (out->value == NULL)
		return -1;
	out->kind = *out->value != '\0' ? SETTING_SET : SETTING_UNSET;
	return take_properties(&s, out);
}

/* --- What was set --- */

/* One value of a key, and its properties. */
struct line {
	const char *key, *value;
	size_t npairs, cap;
	struct setting_pair *pairs;
};

struct settings {
	struct arena *arena;
	size_t count, cap;
	struct line *lines;
};

struct settings *
settings_new(struct error *err)
{
	struct settings *s = mem_calloc(1, sizeof(*s));

	if (s != NULL)
		s->arena = arena_new();
	if (s != NULL && s->arena != NULL)
		return s;
	mem_free(s);
	return error_no_memory_null(err);
}

void
settings_free(struct settings *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->count; i++)
		mem_free(s->lines[i].pairs);
	mem_free(s->lines);
	arena_free(s->arena);
	mem_free(s);
}

/* Remove the values of `key`, except `except`. */
static void
forget(struct settings *s, const char *key, const char *except)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct line *l = &s->lines[i];

		if (str_eq(l->key, key) &&
		    (except == NULL || !str_eq(l->value, except)))
			mem_free(l->pairs);
		else
			s->lines[kept++] = *l;
	}
	s->count = kept;
}

int
settings_change(struct settings *s, const struct setting *is, struct error *err)
{
	struct line *l = NULL;
	size_t at = 0;

	if (is->kind == SETTING_UNSET) {
		forget(s, is->key, NULL);
		return 0;
	}
	if (is->kind != SETTING_SET)
		return 0;
	/* The line of this value, added if it is missing. */
	while (at < s->count && (!str_eq(s->lines[at].key, is->key) ||
				 !str_eq(s->lines[at].value, is->value)))
		at++;
	if (at == s->count) {
		struct line new = {
			.key = arena_strdup(s->arena, is->key),
			.value = arena_strdup(s->arena, is->value),
		};

		if (new.key == NULL || new.value == NULL ||
		    !MEM_ROOM(s->lines, s->count, s->cap))
			return error_no_memory(err);
		s->lines[s->count++] = new;
	}
	l = &s->lines[at];
	for (size_t i = 0; i < is->npairs; i++) {
		const struct setting_pair *pair = &is->pairs[i];
		const char *key = arena_strdup(s->arena, pair->key);
		const char *value = arena_strdup(s->arena, pair->value);
		size_t k = 0;

		while (k < l->npairs && !str_eq(l->pairs[k].key, pair->key))
			k++;
		if (key == NULL || value == NULL ||
		    (k == l->npairs && !MEM_ROOM(l->pairs, l->npairs, l->cap)))
			return error_no_memory(err);
		l->npairs += k == l->npairs;
		l->pairs[k] = (struct setting_pair){ key, value };
	}
	if (!conf_repeats(is->key))
		forget(s, is->key, is->value);
	return 0;
}

/* --- Text --- */

/* Append `value` in a form that conf.h reads back; variables stay. */
static void
add_value(struct buf *out, const char *value)
{
	static const char from[] = "\a\b\f\n\r\t\v", to[] = "abfnrtv";

	for (const char *c = value; *c != '\0'; c++) {
		const char *at = strchr(from, *c);

		if (at != NULL || strchr("\\=#", *c) != NULL)
			buf_add_char(out, '\\');
		buf_add_char(out, at != NULL ? to[at - from] : *c);
	}
}

int
settings_text(const struct settings *s, struct buf *out)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct line *l = &s->lines[i];

		buf_printf(out, "%s=", l->key);
		add_value(out, l->value);
		for (size_t k = 0; k < l->npairs; k++) {
			buf_printf(out, " %s=", l->pairs[k].key);
			add_value(out, l->pairs[k].value);
		}
		buf_add_char(out, '\n');
	}
	return buf_check(out, NULL);
}
