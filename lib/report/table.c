/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/table.h"

#include <stdarg.h>
#include <stdio.h>

#include "arena.h"
#include "buf.h"
#include "mem.h"
#include "str.h"

/* Size of a printable name. */
#define NAME_TEXT 1024

/* Blanks between two columns. */
#define GAP 2

static void
add_cell(struct table *t, const char *text)
{
	if (t->failed || text == NULL) {
		t->failed = true;
		return;
	}
	if (!MEM_ROOM(t->cells, t->count, t->cap)) {
		t->failed = true;
		return;
	}
	t->cells[t->count++] = text;
}

void
table_cell(struct table *t, const char *fmt, ...)
{
	char text[2 * NAME_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_cell(t, t->failed ? NULL : arena_strdup(t->arena, text));
}

void
table_name(struct table *t, const char *name)
{
	char text[NAME_TEXT];

	table_cell(t, "%s", str_printable(text, sizeof(text), name));
}

void
table_start(struct table *t, const char *const *heads, unsigned columns,
	    unsigned right)
{
	*t = (struct table){ .columns = columns, .right = right };
	t->arena = arena_new();
	t->failed = t->arena == NULL;
	for (unsigned c = 0; c < columns; c++)
		table_cell(t, "%s", heads[c]);
}

/* Characters of UTF-8 text; each counts as one column. */
static size_t
text_width(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void
put_blanks(struct buf *out, size_t n)
{
	buf_printf(out, "%*s", (int)n, "");
}

static void
put_row(struct buf *out, const struct table *t, size_t row, const size_t *width)
{
	const char *const *cell = t->cells + row * t->columns;
	size_t pending = 0; /* deferred, so that no line ends with blanks */

	for (unsigned c = 0; c < t->columns; c++) {
		size_t pad = width[c] - text_width(cell[c]);
		bool right = (t->right >> c & 1) != 0;

		if (width[c] == 0)
			continue;
		if (right)
			pending += pad;
		if (cell[c][0] != '\0') {
			put_blanks(out, pending);
			pending = 0;
			buf_printf(out, "%s", cell[c]);
		}
		pending += GAP + (right ? 0 : pad);
	}
	buf_printf(out, "\n");
}

void
table_drop_empty(struct table *t)
{
	if (t->count == t->columns)
		t->count = 0;
}

void
table_end(struct table *t, unsigned indent, struct buf *out)
{
	size_t width[TABLE_COLUMNS] = { 0 };

	for (size_t i = 0; !t->failed && i < t->count; i++) {
		size_t w = text_width(t->cells[i]);

		if (w > width[i % t->columns])
			width[i % t->columns] = w;
	}
	for (size_t i = 0; !t->failed && i < t->count / t->columns; i++) {
		put_blanks(out, indent);
		put_row(out, t, i, width);
	}
	out->failed |= t->failed;
	mem_free(t->cells);
	arena_free(t->arena);
	t->cells = NULL;
	t->arena = NULL;
}
