/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "mem.h"
#include "str.h"

/* Size of the text of cells. */
#define CELL_TEXT 2048

/* Blanks between two columns. */
#define GAP 2

void
table_cell(struct table *t, const char *fmt, ...)
{
	char text[CELL_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)MEM_ROOM(t->cells, t->count, t->cap);
	t->cells[t->count++] =
		(struct table_cell){ .text = arena_strdup(t->arena, text) };
}

void
table_cells(struct table *t, const char *fmt, ...)
{
	char text[CELL_TEXT], *rest = text;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	while (rest != NULL)
		table_cell(t, "%s", strsep(&rest, "\t"));
}

void
table_name(struct table *t, const char *name)
{
	table_cell(t, "%s", str_shown(name));
}

void
table_size(struct table *t, uint64_t bytes)
{
	table_cell(t, "%s", str_size(bytes));
	t->cells[t->count - 1].key = bytes;
	t->cells[t->count - 1].keyed = true;
}

static void
add_column(struct table *t, const char *head, size_t len)
{
	const bool right = *head == '>';

	t->right |= (unsigned)right << t->columns++;
	table_cell(t, "%.*s", (int)len - right, head + right);
}

void
table_start(struct table *t, const char *heads)
{
	table_start_named(t, &(struct table_column){ NULL, NULL });
	for (size_t len = 0; heads != NULL;
	     heads = heads[len] == '|' ? heads + len + 1 : NULL) {
		len = strcspn(heads, "|");
		add_column(t, heads, len);
	}
}

void
table_start_named(struct table *t, const struct table_column *columns)
{
	*t = (struct table){ .arena = arena_new(), .named = columns };
	for (; columns->word != NULL; columns++)
		add_column(t, columns->head, strlen(columns->head));
}

char *
table_words(const struct table_column *columns, char to[static COLUMNS_WORDS])
{
	to[0] = '\0';
	for (; columns->word != NULL; columns++)
		columns_add_word(to, columns->word);
	return to;
}

/* --- Order and choice --- */

/* A row, and the cell by which it is sorted. */
struct row {
	struct table_cell *cells, by;
	size_t at;
	bool descending;
};

static int
compare_rows(const void *one, const void *two)
{
	const struct row *a = one, *b = two;
	const bool none = a->by.text[0] == '\0', other = b->by.text[0] == '\0';
	int order = 0;

	/* Unknown values are the last ones in both directions. */
	if (none != other)
		return none ? 1 : -1;
	order = a->by.keyed && b->by.keyed
			? (a->by.key > b->by.key) - (a->by.key < b->by.key)
			: str_natural(a->by.text, b->by.text);
	if (order != 0)
		return a->descending ? -order : order;
	return a->at < b->at ? -1 : 1;
}

/* The heading of a chosen column that has none: its word. */
static const char *
heading(struct table *t, int column)
{
	char *text = arena_strdup(t->arena, t->named[column].word);

	for (char *p = text; *p != '\0'; p++)
		*p = (char)toupper((unsigned char)*p);
	return text;
}

void
table_choose(struct table *t, const struct columns *how, size_t most)
{
	struct table_cell *cells = NULL;
	size_t nrows = 0;
	unsigned right = 0;

	if (t->count == 0) /* dropped */
		return;
	if (how->sort > 0) {
		const size_t bytes = t->columns * sizeof(*t->cells);
		struct row *rows =
			mem_calloc(t->count / t->columns, sizeof(*rows));
		struct table_cell *sorted =
			mem_alloc(t->count, sizeof(*sorted));

		nrows = t->count / t->columns - 1;
		for (size_t i = 0; i < nrows; i++) {
			cells = t->cells + (i + 1) * t->columns;
			rows[i] = (struct row){ cells, cells[how->sort - 1], i,
						how->descending };
		}
		qsort(rows, nrows, sizeof(*rows), compare_rows);
		for (size_t i = 0; i < nrows; i++)
			memcpy(sorted + i * t->columns, rows[i].cells, bytes);
		memcpy(t->cells + t->columns, sorted, nrows * bytes);
		mem_free(sorted);
		mem_free(rows);
	}
	if (most > 0 && t->count / t->columns > most + 1)
		t->count = (most + 1) * t->columns;
	if (how->count == 0)
		return;
	nrows = t->count / t->columns;
	cells = mem_alloc(nrows * how->count + 1, sizeof(*cells));
	for (size_t i = 0; i < nrows * how->count; i++) {
		const int column = how->list[i % how->count];
		const size_t row = i / how->count;

		cells[i] = t->cells[row * t->columns + (size_t)column];
		if (cells[i].text[0] == '\0')
			cells[i].text = row == 0 ? heading(t, column) : "-";
	}
	for (size_t c = 0; c < how->count; c++)
		right |= (t->right >> how->list[c] & 1) << c;
	mem_free(t->cells);
	t->cells = cells;
	t->columns = (unsigned)how->count;
	t->count = nrows * how->count;
	t->right = right;
}

/* --- Text --- */

void
table_drop_empty(struct table *t)
{
	if (t->count == t->columns)
		t->count = 0;
}

void
table_end(struct table *t, unsigned indent, struct buf *out)
{
	size_t width[COLUMNS_MAX] = { 0 };

	for (size_t i = 0; i < t->count; i++) {
		const char *text = t->cells[i].text;
		size_t w = str_width(text, strlen(text));

		if (w > width[i % t->columns])
			width[i % t->columns] = w;
	}
	for (size_t i = 0; i < t->count / t->columns; i++) {
		/* Blanks are deferred, so that no line ends with them. */
		size_t pending = 0;

		buf_printf(out, "%*s", (int)indent, "");
		for (unsigned c = 0; c < t->columns; c++) {
			const char *text = t->cells[i * t->columns + c].text;
			size_t pad = width[c] - str_width(text, strlen(text));
			bool right = (t->right >> c & 1) != 0;

			if (width[c] == 0)
				continue;
			if (right)
				pending += pad;
			if (text[0] != '\0') {
				buf_printf(out, "%*s%s", (int)pending, "",
					   text);
				pending = 0;
			}
			pending += GAP + (right ? 0 : pad);
		}
		buf_printf(out, "\n");
	}
	mem_free(t->cells);
	arena_free(t->arena);
}
