/* SPDX-License-Identifier: BSD-3-Clause */
#include "style.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "buf.h"
#include "str.h"

/* Narrower terminals fold lines themselves. */
#define LEAST_WIDTH 30

/* Where the rest of a line begins if its columns are too wide for that. */
#define INDENT 8

static const struct {
	const char *word, *color;
} states[] = {
	{ "whole", "32" },   { "ok", "32" },	     { "damaged", "33" },
	{ "warning", "33" }, { "unfinished", "33" }, { "unknown", "35" },
	{ "lost", "31" },    { "failed", "31" },     { "NO", "31" },
};

bool
style_can_draw(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term != NULL && !str_eq(term, "dumb");
}

struct style
style_of(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	struct style s = { .utf8 = false };
	struct winsize size;

	setlocale(LC_CTYPE, "");
	s.utf8 = str_eq(nl_langinfo(CODESET), "UTF-8");
	if (!isatty(fd))
		return s;
	s.color =
		style_can_draw(fd) && (no_color == NULL || no_color[0] == '\0');
	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		s.width = size.ws_col;
	return s;
}

/* Find the first word that names a state.  Returns its index in states[], and
 * in *at where it is; -1: none. */
static int
find_state(const char *text, size_t size, size_t *at)
{
	const size_t count = sizeof(states) / sizeof(states[0]);

	for (*at = 0; *at < size; ++*at) {
		if (text[*at] == ' ' || (*at > 0 && text[*at - 1] != ' '))
			continue;
		for (size_t i = 0; i < count; i++) {
			const size_t len = strlen(states[i].word);

			const char *end = text + *at + len;

			if (len > size - *at ||
			    memcmp(text + *at, states[i].word, len) != 0)
				continue;
			/* Is it a column of its own in the line? */
			if (*at + len == size || *end == ',' ||
			    (*end == ' ' &&
			     (*at + len + 1 == size || end[1] == ' ')))
				return (int)i;
		}
	}
	return -1;
}

/* Where the last column of a line begins: behind the last two blanks in its
 * first half.  0: it has no columns. */
static size_t
last_column(const char *text, size_t size, size_t width)
{
	size_t first = 0, at = 0;

	while (first < size && text[first] == ' ')
		first++;
	if (memchr(text, '\033', size) != NULL)
		return 0;
	for (size_t i = first + 2; i < size && (at == 0 || i < width / 2); i++)
		if (text[i] != ' ' && text[i - 1] == ' ' && text[i - 2] == ' ')
			at = i;
	return at < width / 2 ? at : INDENT;
}

/* How many bytes of text[0..size) go on a line of `width` columns, in which
 * `least` bytes at least are taken. */
static size_t
part_of(const char *text, size_t size, size_t width, size_t least)
{
	size_t used = str_width(text, least), fits = 0;

	for (size_t i = least; i < size; i++) {
		if (i > least && text[i] == ' ' && text[i - 1] != ' ' &&
		    used <= width)
			fits = i;
		used += str_width(text + i, 1);
		/* A word that is too long is not broken. */
		if (used > width && fits > least)
			return fits;
		if (used > width && text[i] == ' ')
			return i;
	}
	return size;
}

static void
dress_line(const struct style *s, const char *text, size_t size,
	   struct buf *out)
{
	size_t indent = 0, done = 0, at = 0;
	const int state = s->color ? find_state(text, size, &at) : -1;

	if (s->width >= LEAST_WIDTH)
		indent = last_column(text, size, s->width);
	do {
		const size_t before = done > 0 ? indent : 0;
		const size_t len =
			indent == 0
				? size - done
				: part_of(text + done, size - done,
					  s->width - before, indent - before);
		const bool has_state =
			state >= 0 && at >= done && at < done + len;
		const size_t head = has_state ? at - done : len;

		if (done > 0)
			buf_printf(out, "%*s", (int)indent, "");
		buf_add(out, text + done, head);
		if (has_state) {
			const size_t word = strlen(states[state].word);

			buf_printf(out, "\033[%sm%s\033[0m",
				   states[state].color, states[state].word);
			buf_add(out, text + at + word, len - head - word);
		}
		buf_add_char(out, '\n');
		done += len;
		while (done < size && text[done] == ' ')
			done++;
	} while (done < size);
}

int
style_dress(const struct style *s, struct buf *text)
{
	struct buf out = BUF_INIT;
	const char *at = text->data, *line = NULL;
	size_t len = 0;

	if ((!s->color && s->width < LEAST_WIDTH) || text->len == 0)
		return text->failed ? -1 : 0;
	while ((line = str_line(&at, &len)) != NULL)
		dress_line(s, line, len, &out);
	out.failed |= text->failed;
	buf_free(text);
	*text = out;
	return text->failed ? -1 : 0;
}
