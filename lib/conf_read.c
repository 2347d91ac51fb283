/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf_read.c - the lines of one configuration file (libscr.md 3.2).
 *
 * inih recognises the lines that set something.  It splits a line at the first
 * '=' or ':', cuts it off at " ;" and, as it is usually built, after 199 bytes,
 * and treats an indented line as a continuation of the line above.  This does
 * not suit several pairs in a line, nor long node lists.  So inih is given each
 * line without its indent, cut to the length it can hold.  If inih finds a name
 * and a value, the pairs are then parsed from the whole line.  The result does
 * not depend on inih's build settings, which differ between systems.
 */
#include <ctype.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "conf.h"
#include "conf_impl.h"
#include "error.h"
#include "str.h"

/* Bytes of a bad word that are quoted in a message. */
#define QUOTE_MAX 64

/* The state of reading one file. */
struct reading {
	struct conf *c;
	struct conf_source *s;
	const char *next, *end;	     /* not read yet */
	const char *line, *line_end; /* the current line, without its indent */
	unsigned long number;	     /* of the line, from 1 */
	bool noticed;		     /* a notice about this line was given */
	bool taken;		     /* inih found a name and a value */
	bool no_memory;
	struct buf text; /* a value being assembled */
};

/* --- Words --- */

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && blank(*p))
		p++;
	return p;
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

/* The character that `\c` denotes: as in C, else c itself. */
static char
unescape(char c)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	const char *at = c != '\0' ? strchr(from, c) : NULL;

	return at != NULL ? to[at - from] : c;
}

static bool
name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The name of the variable that the '$' at `p` begins; *after points behind it.
 * NULL: no variable. */
static const char *
variable(const char *p, const char *end, size_t *len, const char **after)
{
	const bool braces = p + 1 < end && p[1] == '{';
	const char *name = p + 1 + braces, *q = name;

	while (q < end && name_char(*q))
		q++;
	if (q == name || isdigit((unsigned char)*name) ||
	    (braces && (q == end || *q != '}')))
		return NULL;
	*len = (size_t)(q - name);
	*after = q + braces;
	return name;
}

/* The value of the environment variable, or NULL. */
static const char *
lookup(const char *name, size_t len)
{
	char copy[256];

	if (len >= sizeof(copy))
		return NULL;
	memcpy(copy, name, len);
	copy[len] = '\0';
	return getenv(copy);
}

int
conf_expand(const char *s, const char *end, bool escapes, struct buf *out,
	    const char **unset, size_t *unset_len)
{
	const char *name = NULL, *value = NULL, *after = NULL;
	size_t len = 0;

	for (; s < end; s = after) {
		after = s + 1;
		if (escapes && *s == '\\' && after < end) {
			if (buf_add_char(out, unescape(*after++)) < 0)
				return -1;
			continue;
		}
		name = *s == '$' ? variable(s, end, &len, &after) : NULL;
		if (name == NULL) {
			if (buf_add_char(out, *s) < 0)
				return -1;
			continue;
		}
		value = lookup(name, len);
		if (value == NULL && *unset == NULL) {
			*unset = name;
			*unset_len = len;
		}
		if (value != NULL && buf_add_str(out, value) < 0)
			return -1;
	}
	return 0;
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
	conf_complain(r->c, "%s:%lu: %s", r->s->name, r->number, text);
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

/* The words of the next pair. */
struct words {
	const char *key, *key_end, *value, *value_end;
};

/* Parse the pair at *p and move *p behind it.  Returns 1, with a NULL `key` at
 * the end of the line; or 0 if it is not a pair, with *p behind the wrong
 * word. */
static int
next_words(struct reading *r, const char **p, struct words *w)
{
	const char *end = r->line_end, *q = NULL;
	char shown[QUOTE_MAX];

	*w = (struct words){ .key = NULL };
	q = skip_blanks(*p, end);
	*p = end;
	if (q == end || *q == '#')
		return 1;
	w->key = q;
	w->key_end = word_end(q, end);
	q = skip_blanks(w->key_end, end);
	if (q == end || *q != '=') {
		*p = w->key_end;
		complain(r,
			 "\"%s\" is left out: expected KEY=VALUE (no quotes;"
			 " a blank in a value is written \"\\ \")",
			 quote(shown, w->key, w->key_end));
		return 0;
	}
	w->value = skip_blanks(q + 1, end);
	w->value_end = word_end(w->value, end);
	*p = w->value_end;
	if (w->key == w->key_end) {
		complain(r, "\"=%s\" is left out: no KEY before it",
			 quote(shown, w->value, w->value_end));
	} else if (w->value == w->value_end || *w->value == '#') {
		complain(r, "%s is left out: it has no value",
			 quote(shown, w->key, w->key_end));
	} else if (w->value_end < end && *w->value_end == '=') {
		complain(r,
			 "%s is left out: its value has a '=', or is missing "
			 "(a '=' in a value is written \"\\=\")",
			 quote(shown, w->key, w->key_end));
	} else {
		return 1;
	}
	/* The '=' and the text joined to it belong to the wrong word. */
	while (*p < end && !blank(**p))
		++*p;
	return 0;
}

/* Copy the words to *pair, the key in upper case, the value expanded.  Returns
 * 1; 0: invalid, a notice was added; -1: no memory. */
static int
make_pair(struct reading *r, const struct words *w, struct conf_pair *pair)
{
	char shown[QUOTE_MAX], missing[QUOTE_MAX];
	const char *unset = NULL;
	size_t unset_len = 0;
	char *key = arena_strndup(r->c->arena, w->key,
				  (size_t)(w->key_end - w->key));

	buf_clear(&r->text);
	if (key == NULL || conf_expand(w->value, w->value_end, true, &r->text,
				       &unset, &unset_len) < 0)
		return -1;
	if (unset != NULL) {
		complain(r,
			 "%s is left out: there is no environment variable %s",
			 quote(shown, w->key, w->key_end),
			 quote(missing, unset, unset + unset_len));
		return 0;
	}
	if (r->text.len == 0) {
		complain(r, "%s is left out: its value is empty",
			 quote(shown, w->key, w->key_end));
		return 0;
	}
	for (char *p = key; *p != '\0'; p++)
		*p = (char)toupper((unsigned char)*p);
	pair->key = key;
	pair->value = arena_strndup(r->c->arena, r->text.data, r->text.len);
	return pair->value != NULL ? 1 : -1;
}

/* An upper bound of the pairs in a line. */
static size_t
count_pairs(const char *p, const char *end)
{
	size_t n = 0;

	for (; p < end; p++)
		n += *p == '=';
	return n;
}

/* Parse the current line. */
static int
read_line(struct reading *r)
{
	const char *p = r->line;
	struct conf_group g = { .value = NULL };
	struct conf_pair pair, *pairs = NULL;
	struct words w;
	const char *key = NULL;
	int rc = 0;

	for (;;) {
		if (next_words(r, &p, &w) > 0) {
			if (w.key == NULL)
				break;
			rc = make_pair(r, &w, &pair);
			if (rc < 0)
				return -1;
		} else {
			rc = 0;
		}
		/* Without a valid first pair the properties have no meaning. */
		if (rc == 0 && key == NULL)
			return 0;
		if (rc == 0)
			continue;
		if (key == NULL) {
			key = pair.key;
			g.value = pair.value;
			continue;
		}
		if (pairs == NULL)
			pairs = arena_alloc(r->c->arena,
					    count_pairs(w.key, r->line_end),
					    sizeof(*pairs));
		if (pairs == NULL)
			return -1;
		pairs[g.npairs++] = pair;
	}
	g.pairs = pairs;
	return key != NULL ? conf_add(r->c, r->s, key, &g) : 0;
}

/* --- inih --- */

/* Finish a line that inih was given.  If inih did not report it, it is blank, a
 * comment, or malformed. */
static void
finish_line(struct reading *r)
{
	struct words w;
	const char *p = r->line;

	if (p == NULL || r->taken)
		return;
	(void)next_words(r, &p, &w);
	if (w.key != NULL)
		complain(r, "the line is left out: it does not begin with "
			    "KEY=VALUE");
}

/* Callback of inih: store at most num - 1 bytes of the next line in `to`. */
static char *
give_line(char *to, int num, void *arg)
{
	struct reading *r = arg;
	const char *newline = NULL;
	size_t len = 0;

	finish_line(r);
	r->line = NULL;
	if (r->next == r->end || num < 3)
		return NULL;
	newline = memchr(r->next, '\n', (size_t)(r->end - r->next));
	r->line_end = newline != NULL ? newline : r->end;
	r->line = skip_blanks(r->next, r->line_end);
	r->next = newline != NULL ? newline + 1 : r->end;
	r->number++;
	r->noticed = r->taken = false;
	len = (size_t)(r->line_end - r->line);
	if (memchr(r->line, '\0', len) != NULL)
		complain(r, "the line is left out: it has a NUL byte");
	/* Skip comments here: the characters that begin one depend on how inih
	 * was built. */
	if (r->noticed || (len > 0 && strchr(";#", *r->line) != NULL)) {
		r->line = r->line_end;
		len = 0;
	}
	if (len > (size_t)num - 2)
		len = (size_t)num - 2;
	memcpy(to, r->line, len);
	to[len] = '\n';
	to[len + 1] = '\0';
	return to;
}

/* Callback of inih: the line has a name and a value. */
static int
take_line(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;

	(void)section;
	(void)name;
	(void)value;
	if (r->line == NULL || r->taken || r->no_memory)
		return 1;
	r->taken = true;
	r->no_memory = read_line(r) < 0;
	return !r->no_memory;
}

int
conf_add_bytes(struct conf *c, enum conf_level level, const char *path,
	       const void *data, size_t len, struct error *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	const char *before = NULL;
	struct reading r = {
		.c = c,
		.s = &c->sources[level],
		.text = BUF_INIT,
	};

	r.s->name = arena_strdup(c->arena, path);
	if (r.s->name == NULL)
		return error_no_memory(err);
	if (len > 0) {
		r.next = data;
		r.end = r.next + len;
	}
	if (len >= 3 && memcmp(r.next, bom, 3) == 0)
		r.next += 3;
	/* inih may have been built to stop at the first malformed line: call it
	 * again for the rest. */
	while (r.next < r.end && r.next != before && !r.no_memory) {
		before = r.next;
		if (ini_parse_stream(give_line, &r, take_line, &r) == -2)
			r.no_memory = true;
		finish_line(&r);
		r.line = NULL;
	}
	buf_free(&r.text);
	return r.no_memory ? error_no_memory(err) : 0;
}
