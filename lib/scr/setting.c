/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/setting.h"

#include <ctype.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "error.h"
#include "kvtree/kvtree.h"
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

int
settings_change(struct kvtree *s, const struct setting *is, struct error *err)
{
	struct kvtree *value = kvtree_get2(s, is->key, is->value);

	/* Only the properties of the same value stay. */
	if (is->kind == SETTING_UNSET ||
	    (value == NULL && !conf_repeats(is->key)))
		kvtree_remove(s, is->key);
	if (is->kind != SETTING_SET)
		return 0;
	value = kvtree_put(s, is->key, err);
	if (value != NULL)
		value = kvtree_put(value, is->value, err);
	if (value == NULL)
		return -1;
	for (size_t i = 0; i < is->npairs; i++)
		if (kvtree_set(value, is->pairs[i].key, is->pairs[i].value,
			       err) < 0)
			return -1;
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
settings_text(const struct kvtree *s, struct buf *out)
{
	const struct kvtree *key = NULL, *value = NULL, *pair = NULL;

	kvtree_foreach (key, s)
		kvtree_foreach (value, key) {
			buf_printf(out, "%s=", kvtree_key(key));
			add_value(out, kvtree_key(value));
			kvtree_foreach (pair, value) {
				buf_printf(out, " %s=", kvtree_key(pair));
				add_value(out, kvtree_key(kvtree_first(pair)));
			}
			buf_add_char(out, '\n');
		}
	return buf_check(out, NULL);
}
