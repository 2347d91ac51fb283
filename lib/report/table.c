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
#include "num.h"
#include "str.h"

/* Size of the text of cells. */
#define CELL_TEXT 2048

/* Blanks between two columns. */
#define GAP 2

void
table_add(struct table *t, const char *text)
{
	(void)MEM_ROOM(t->cells, t->count, t->cap);
	t->cells[t->count++] = (struct table_cell){ .text = text };
}

void
table_key(struct table *t, const char *text, uint64_t key)
{
	table_add(t, text);
	t->cells[t->count - 1].key = key;
	t->cells[t->count - 1].keyed = true;
}

void
table_number(struct table *t, uint64_t number)
{
	table_key(t, arena_strdup(t->arena, num_str(number)), number);
}

void
table_cell(struct table *t, const char *fmt, ...)
{
	char text[CELL_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_add(t, arena_strdup(t->arena, text));
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
	table_key(t, arena_strdup(t->arena, str_size(bytes)), bytes);
}

void
table_column(struct table *t, const char *head)
{
	const bool right = *head == '>';

	t->right |= (unsigned)right << t->columns++;
	table_cell(t, "%s", head + right);
}

void
table_start(struct table *t, const char *heads)
{
	table_start_named(t, &(struct table_column){ NULL, NULL });
	for (size_t len = 0; heads != NULL;
	     heads = heads[len] == '|' ? heads + len + 1 : NULL) {
		len = strcspn(heads, "|");
		table_column(t, str_printed(64, "%.*s", (int)len, heads));
	}
}

void
table_start_named(struct table *t, const struct table_column *columns)
{
	*t = (struct table){
		.arena = arena_new(),
		.named = columns,
		.widest = SIZE_MAX,
		.gap = GAP,
	};
	for (; columns->word != NULL; columns++)
		table_column(t, columns->head);
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

static bool
is_none(const struct table_cell *c)
{
	return !c->keyed && (c->text[0] == '\0' || str_eq(c->text, "-"));
}

static int
compare_rows(const void *one, const void *two)
{
	const struct row *a = one, *b = two;
	const bool none = is_none(&a->by), other = is_none(&b->by);
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
		if (cells[i].text[0] == '\0' && !t->empty)
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

size_t
table_rows(const struct table *t)
{
	return t->count > 0 ? t->count / t->columns - 1 : 0;
}

void
table_drop_empty(struct table *t)
{
	if (table_rows(t) == 0)
		t->count = 0;
}

void
table_free(struct table *t)
{
	mem_free(t->cells);
	arena_free(t->arena);
}

void
table_end(struct table *t, unsigned indent, struct buf *out)
{
	size_t width[COLUMNS_MAX] = { 0 };

	for (size_t i = 0; i < t->count; i++) {
		const struct table_cell *head = &t->cells[i % t->columns];
		const char *text = t->cells[i].text;
		size_t w = str_width(text, strlen(text));

		w = head->keyed ? head->key : w < t->widest ? w : t->widest;
		if (w > width[i % t->columns])
			width[i % t->columns] = w;
	}
	for (size_t i = 0; i < t->count / t->columns; i++) {
		/* Blanks are deferred, so that no line ends with them. */
		size_t pending = indent;

		for (unsigned c = 0; c < t->columns; c++) {
			const char *text = t->cells[i * t->columns + c].text;
			const size_t len = strlen(text);
			const size_t w = str_width(text, len);
			const size_t pad = w < width[c] ? width[c] - w : 0;
			const bool right = (t->right >> c & 1) != 0;

			if (width[c] == 0 && len == 0)
				continue;
			pending += right ? pad : 0;
			/* A large table in memory takes time. */
			if (len > 0) {
				buf_reserve(out, pending + len);
				memset(out->data + out->len, ' ', pending);
				memcpy(out->data + out->len + pending, text,
				       len);
				out->len += pending + len;
				pending = 0;
			}
			pending += t->gap + (right ? 0 : pad);
		}
		buf_add_char(out, '\n');
	}
	table_free(t);
}
