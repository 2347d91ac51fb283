/* SPDX-License-Identifier: BSD-3-Clause */
#include "inifile.h"

#include <ini.h>
#include <stdbool.h>
#include <string.h>

struct reading {
	int (*fn)(void *arg, const struct inifile_line *line);
	void *arg;
	const char *next, *end; /* the lines that inih was not given yet */
	struct inifile_line line;
	bool given; /* the line was not passed on yet */
	bool failed;
};

const char *
inifile_skip_blanks(const char *p, const char *end)
{
	while (p < end && *p != '\0' && strchr(" \t\r\f\v", *p) != NULL)
		p++;
	return p;
}

/* Pass on the current line, if it was not passed on yet. */
static void
pass(struct reading *r, enum inifile_kind kind)
{
	if (!r->given || r->failed)
		return;
	r->given = false;
	r->line.kind = kind;
	r->failed = r->fn(r->arg, &r->line) < 0;
}

/* Callback of inih: store at most num - 1 bytes of the next line in `to`. */
static char *
give_line(char *to, int num, void *arg)
{
	struct reading *r = arg;
	struct inifile_line *l = &r->line;
	const char *newline = NULL, *close = NULL;
	size_t len = 0;

	pass(r, INIFILE_OTHER);
	if (r->next == r->end || num < 3 || r->failed)
		return NULL;
	newline = memchr(r->next, '\n', (size_t)(r->end - r->next));
	l->end = newline != NULL ? newline : r->end;
	l->text = inifile_skip_blanks(r->next, l->end);
	l->number++;
	r->next = newline != NULL ? newline + 1 : r->end;
	len = (size_t)(l->end - l->text);
	/* Which characters begin a comment depends on how inih was built. */
	r->given = len > 0 && *l->text != ';' && *l->text != '#';
	if (memchr(l->text, '\0', len) != NULL) {
		r->given = true;
		pass(r, INIFILE_NUL);
	}
	if (!r->given)
		len = 0;
	/* Is it a section?  Then the next lines belong to it. */
	if (len > 0 && *l->text == '[')
		close = memchr(l->text, ']', len);
	if (close != NULL) {
		l->section = l->text + 1;
		l->section_len = (size_t)(close - l->section);
	}
	if (len > (size_t)num - 2)
		len = (size_t)num - 2;
	if (len > 0)
		memcpy(to, l->text, len);
	memcpy(to + len, "\n", 2);
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
	pass(r, INIFILE_PAIR);
	return !r->failed;
}

int
inifile_each(const void *data, size_t len,
	     int (*fn)(void *arg, const struct inifile_line *line), void *arg)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct reading r = { .fn = fn, .arg = arg };
	const char *before = NULL;

	if (len > 0) {
		r.next = data;
		r.end = r.next + len;
		r.line.section = r.next;
	}
	if (len >= 3 && memcmp(r.next, bom, 3) == 0)
		r.next += 3;
	/* inih may have been built to stop at the first malformed line: call it
	 * again for the rest. */
	while (r.next < r.end && r.next != before && !r.failed) {
		before = r.next;
		if (ini_parse_stream(give_line, &r, take_line, &r) == -2)
			r.failed = true;
		pass(&r, INIFILE_OTHER);
	}
	return r.failed ? -1 : 0;
}
