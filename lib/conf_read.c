/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf_read.c - the lines of one configuration file (scrkit.conf(5)).
 *
 * A line has one pair or several; the first is the parameter, the others are
 * its properties.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "conf.h"
#include "conf_impl.h"
#include "error.h"
#include "inifile.h"
#include "str.h"

/* Bytes of a bad word that are quoted in a message. */
#define QUOTE_MAX 64

/* The state of reading one file. */
struct reading {
	struct conf *c;
	struct conf_source *s;
	const char *p, *end; /* the rest of the current line */
	size_t number;	     /* of the line, from 1 */
	bool noticed;	     /* a notice about this line was given */
	struct buf text;     /* a value being assembled */
};

/* --- Words --- */

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* The end of the word at `p`: at a blank, or at a '=' that is not escaped. */
static const char *
word_end(const char *p, const char *end)
{
	for (; p < end && !blank(*p) && *p != '='; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p;
}

/* The name of the variable that the '$' at `p` begins; *after points behind it.
 * NULL: no variable. */
static const char *
variable(const char *p, const char *end, size_t *len, const char **after)
{
	const bool braces = p + 1 < end && p[1] == '{';
	const char *name = p + 1 + braces, *q = name;

	while (q < end && (isalnum((unsigned char)*q) || *q == '_'))
		q++;
	if (q == name || isdigit((unsigned char)*name) ||
	    (braces && (q == end || *q != '}')))
		return NULL;
	*len = (size_t)(q - name);
	*after = q + braces;
	return name;
}

int
conf_expand(const char *s, const char *end, bool escapes, struct buf *out,
	    const char **unset, size_t *unset_len)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	const char *name = NULL, *value = NULL, *after = NULL, *at = NULL;
	char copy[256];
	size_t len = 0;

	for (; s < end; s = after) {
		after = s + 1;
		if (escapes && *s == '\\' && after < end) {
			/* As in C, else the character itself. */
			at = *after != '\0' ? strchr(from, *after) : NULL;
			buf_add_char(out, at != NULL ? to[at - from] : *after);
			after++;
			continue;
		}
		name = *s == '$' ? variable(s, end, &len, &after) : NULL;
		if (name == NULL) {
			buf_add_char(out, *s);
			continue;
		}
		snprintf(copy, sizeof(copy), "%.*s", (int)len, name);
		value = len < sizeof(copy) ? getenv(copy) : NULL;
		if (value != NULL) {
			buf_add_str(out, value);
		} else if (*unset == NULL) {
			*unset = name;
			*unset_len = len;
		}
	}
	return buf_check(out, NULL);
}

/* --- Pairs --- */

/* Add a notice, at most one per line: later ones are often consequences. */
__attribute__((format(printf, 2, 3))) static void
complain(struct reading *r, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (r->noticed)
		return;
	r->noticed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	conf_complain(r->c, "%s:%zu: %s", r->s->name, r->number, text);
}

/* A printable, shortened copy of a word. */
static const char *
quote(char to[static QUOTE_MAX], const char *p, const char *end)
{
	char word[QUOTE_MAX];
	size_t len = (size_t)(end - p);

	if (len >= sizeof(word))
		len = sizeof(word) - 1;
	memcpy(word, p, len);
	word[len] = '\0';
	return str_printable(to, QUOTE_MAX, word);
}

/* Read the next pair of the line: the key in upper case, the value expanded.  A
 * word that is not a pair is skipped, with a notice: pair->key is NULL.
 * Returns 1; 0: there are no more; -1: no memory. */
static int
next_pair(struct reading *r, struct conf_pair *pair)
{
	const char *end = r->end, *q = inifile_skip_blanks(r->p, end);
	const char *key = q, *key_end = word_end(q, end), *value = NULL;
	const char *unset = NULL;
	char shown[QUOTE_MAX], missing[QUOTE_MAX], *upper = NULL;
	size_t unset_len = 0;

	*pair = (struct conf_pair){ .key = NULL };
	if (q == end || *q == '#')
		return 0;
	q = inifile_skip_blanks(key_end, end);
	if (q == end || *q != '=') {
		r->p = key_end;
		complain(r,
			 "\"%s\" is left out: expected KEY=VALUE (no quotes;"
			 " a blank in a value is written \"\\ \")",
			 quote(shown, key, key_end));
		return 1;
	}
	value = inifile_skip_blanks(q + 1, end);
	r->p = word_end(value, end);
	if (key == key_end) {
		complain(r, "\"=%s\" is left out: no KEY before it",
			 quote(shown, value, r->p));
	} else if (value == r->p || *value == '#') {
		complain(r, "%s is left out: it has no value",
			 quote(shown, key, key_end));
	} else if (r->p < end && *r->p == '=') {
		complain(r,
			 "%s is left out: its value has a '=', or is missing "
			 "(a '=' in a value is written \"\\=\")",
			 quote(shown, key, key_end));
	} else {
		buf_clear(&r->text);
		if (conf_expand(value, r->p, true, &r->text, &unset,
				&unset_len) < 0)
			return -1;
		if (unset != NULL) {
			complain(r,
				 "%s is left out: environment variable %s is "
				 "not set",
				 quote(shown, key, key_end),
				 quote(missing, unset, unset + unset_len));
			return 1;
		}
		if (r->text.len == 0) {
			complain(r, "%s is left out: its value is empty",
				 quote(shown, key, key_end));
			return 1;
		}
		upper = arena_strndup(r->c->arena, key,
				      (size_t)(key_end - key));
		pair->value =
			arena_strndup(r->c->arena, r->text.data, r->text.len);
		if (upper == NULL || pair->value == NULL)
			return -1;
		pair->key = upper;
		for (; *upper != '\0'; upper++)
			*upper = (char)toupper((unsigned char)*upper);
		return 1;
	}
	/* The '=' and the text joined to it belong to the wrong word. */
	while (r->p < end && !blank(*r->p))
		r->p++;
	return 1;
}

/* Parse the pairs of the current line.  -1: no memory. */
static int
read_pairs(struct reading *r)
{
	struct conf_pair *pairs = NULL;
	struct conf_group g;
	size_t n = 0, most = 2;
	int rc = 0;

	/* One more than there are, for the end. */
	for (const char *p = r->p; p < r->end; p++)
		most += *p == '=';
	pairs = arena_alloc(r->c->arena, most, sizeof(*pairs));
	if (pairs == NULL)
		return -1;
	while ((rc = next_pair(r, &pairs[n])) > 0) {
		/* Without a valid first pair the properties have no meaning. */
		if (pairs[0].key == NULL)
			return 0;
		n += pairs[n].key != NULL;
	}
	if (rc < 0 || n == 0)
		return rc;
	/* The user's file is chosen before the other ones are read. */
	if (r->s != &r->c->sources[CONF_APP] &&
	    str_eq(pairs[0].key, "SCR_CONF_FILE")) {
		complain(r, "SCR_CONF_FILE is left out: only the environment "
			    "and SCR_Config can set it");
		return 0;
	}
	g = (struct conf_group){ .key = pairs[0].key,
				 .value = pairs[0].value,
				 .npairs = n - 1,
				 .pairs = pairs + 1,
				 .number = r->number };
	return conf_add(r->s, &g);
}

/* --- Lines --- */

static int
read_line(void *arg, const struct inifile_line *line)
{
	struct reading *r = arg;
	struct conf_pair pair;
	int rc = 0;

	r->number = line->number;
	r->p = line->text;
	r->end = line->end;
	r->noticed = false;
	if (line->kind == INIFILE_PAIR)
		return read_pairs(r);
	if (line->kind == INIFILE_NUL)
		complain(r, "the line is left out: it has a NUL byte");
	else if ((rc = next_pair(r, &pair)) > 0)
		complain(r, "the line is left out: it does not begin with "
			    "KEY=VALUE");
	return rc < 0 ? -1 : 0;
}

int
conf_add_bytes(struct conf *c, enum conf_level level, const char *path,
	       const void *data, size_t len, struct error *err)
{
	struct reading r = { .c = c, .s = &c->sources[level] };
	int rc = 0;

	r.s->name = arena_strdup(c->arena, path);
	if (r.s->name == NULL)
		return error_no_memory(err);
	rc = inifile_each(data, len, read_line, &r);
	conf_sort(r.s);
	if (rc == 0)
		rc = conf_merge(c, r.s, "CKPT");
	buf_free(&r.text);
	return rc < 0 ? error_no_memory(err) : 0;
}
