/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/list.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "num.h"
#include "str.h"

/* Names are padded at most to this width. */
#define NAME_WIDTH 40

/* Buffer size for a text made printable. */
#define SHOWN_MAX 4200

/* Write the table when this many bytes are buffered. */
#define FLUSH_SIZE ((size_t)64 << 10)

/* --- Filter --- */

static bool
matches(const struct list_filter *f, const struct index_entry *e)
{
	if (f->valid && !index_entry_valid(e))
		return false;
	if ((f->checkpoints || f->outputs) &&
	    !(f->checkpoints && e->desc.is_ckpt) &&
	    !(f->outputs && e->desc.is_output))
		return false;
	if (f->before == NULL && f->after == NULL)
		return true;
	/* Stamps sort as text, and a prefix sorts before the longer stamp. */
	return e->flushed != NULL &&
	       (f->before == NULL || strcmp(e->flushed, f->before) < 0) &&
	       (f->after == NULL || strcmp(e->flushed, f->after) >= 0);
}

int
list_time(const char *text, int64_t now, char to[static WHEN_TEXT],
	  struct error *err)
{
	uint64_t span = 0;
	int64_t at = 0;

	/* A number alone may be a year. */
	if (text[strspn(text, "0123456789")] != '\0' &&
	    when_span(text, &span, NULL) == 0)
		at = span < (uint64_t)now ? now - (int64_t)span : 0;
	else if (when_parse(text, now, &at, err) < 0)
		return -1;
	/* "15:00" and "fri" are the next such moment, not the last one, but not
	 * 2026-11-21. */
	if (at > now && (strspn(text, "0123456789") != 4 || text[4] != '-'))
		return error_set(err, ERROR_USAGE,
				 "\"%s\" is in the future: give a date, or a "
				 "span of time such as 2d",
				 text);
	when_text(to, at);
	return 0;
}

/* --- Columns --- */

enum {
	ID,
	VALID,
	FLUSHED,
	CURRENT,
	KIND,
	FILES,
	SIZE,
	NAME,
	REASON,
	FETCHED,
	FETCHES,
	FAILED,
	MOVED_FROM,
	NCOLUMNS,
};

_Static_assert(NCOLUMNS <= COLUMNS_MAX, "columns of a table");

/* Columns of the tables, and JSON members in addition to those of the
 * descriptor.  A new one needs a line here and one in fact_of(). */
static const struct column {
	const char *word; /* of --columns and --sort */
	const char *heading;
	int width;			/* of a cell; negative: left-aligned */
	enum list_style first;		/* the plainest table that has it */
	const char *key;		/* in JSON; NULL: only in tables */
	const char *yes, *no, *unknown; /* in a cell */
} columns[NCOLUMNS] = {
	[ID] = { "id", "DSET", 4, LIST_LLNL, NULL, "", "", "" },
	[VALID] = { "valid", "VALID", -5, LIST_LLNL, "valid", "YES", "NO", "" },
	[FLUSHED] = { "flushed", "FLUSHED            ", 0, LIST_LLNL, "flushed",
		      "", "", "                   " },
	[CURRENT] = { "current", "CUR", 3, LIST_LLNL, "is_current", "*", "",
		      "" },
	[KIND] = { "kind", "KIND", -6, LIST_WIDE, NULL, "", "", "-" },
	[FILES] = { "files", "FILES", 7, LIST_WIDE, NULL, "", "", "-" },
	[SIZE] = { "size", "SIZE", 10, LIST_WIDE, NULL, "", "", "-" },
	[NAME] = { "name", "NAME", -1, LIST_LLNL, NULL, "", "",
		   "UNKNOWN_NAME" },
	[REASON] = { "reason", "REASON", 0, LIST_WIDE, "reason", "", "", "" },
	[FETCHED] = { "fetched", "FETCHED", 0, LIST_CHOSEN, "fetched", "", "",
		      "" },
	[FETCHES] = { "fetches", "FETCHES", 1, LIST_CHOSEN, "fetch_count", "",
		      "", "" },
	[FAILED] = { "failed", "FAILED", 0, LIST_CHOSEN, "fetch_failed", "", "",
		     "" },
	[MOVED_FROM] = { "moved-from", "MOVED-FROM", 0, LIST_CHOSEN,
			 "moved_from", "", "", "" },
};

char *
list_column_words(char to[static COLUMNS_WORDS])
{
	to[0] = '\0';
	for (int i = 0; i < NCOLUMNS; i++)
		columns_add_word(to, columns[i].word);
	return to;
}

/* The value of an entry in one column. */
enum fact_kind { UNKNOWN, TEXT, TIME, NUMBER, BYTES, TRUTH };

struct fact {
	enum fact_kind kind;
	const char *text;
	uint64_t number; /* a TRUTH: 0 or 1 */
};

/* A TEXT, or a TIME as the index has it: local, "2026-11-21T10:00:00". */
static struct fact
text_fact(enum fact_kind kind, const char *text)
{
	return (struct fact){ text == NULL ? UNKNOWN : kind, text, 0 };
}

static struct fact
number_fact(enum fact_kind kind, int64_t n)
{
	return (struct fact){ n < 0 ? UNKNOWN : kind, NULL, (uint64_t)n };
}

/* Get the value of a column.  `ix` may be NULL in a table of a style that has
 * not MOVED_FROM.  `scratch` has SHOWN_MAX bytes and may hold the text
 * returned. */
static struct fact
fact_of(int column, const struct index *ix, const struct index_entry *e,
	char *scratch)
{
	const struct dataset *d = &e->desc;

	switch (column) {
	case ID:
		return number_fact(NUMBER, e->id);
	case VALID:
		return number_fact(TRUTH, index_entry_valid(e));
	case FLUSHED:
		return text_fact(TIME, e->flushed);
	case CURRENT:
		return number_fact(TRUTH, e->current);
	case KIND:
		return text_fact(TEXT, d->is_ckpt && d->is_output ? "both"
				       : d->is_ckpt		  ? "ckpt"
				       : d->is_output		  ? "output"
								  : NULL);
	case FILES:
		return number_fact(NUMBER, d->files);
	case SIZE:
		return (struct fact){ d->files < 0 ? UNKNOWN : BYTES, NULL,
				      d->bytes };
	case NAME:
		return text_fact(TEXT, e->name);
	case REASON:
		return text_fact(TEXT,
				 index_entry_reason(e, scratch, SHOWN_MAX));
	case FETCHED:
		return text_fact(TIME, e->fetched);
	case FETCHES:
		return number_fact(NUMBER, (int64_t)e->fetches);
	case FAILED:
		return text_fact(TIME, e->failed);
	default:
		return text_fact(TEXT, index_extra(ix, e->id, INDEX_ROOT));
	}
}

/* --- Tables --- */

struct table {
	struct buf text;
	const struct index *index;
	struct list_look look;
	size_t width[NCOLUMNS]; /* what cells are padded to */
};

static const char *
cell_text(const struct table *t, int column, const struct index_entry *e,
	  char *scratch)
{
	const struct column *c = &columns[column];
	const struct fact f = fact_of(column, t->index, e, scratch);
	const char *text = c->unknown;
	size_t len = 0;

	switch (f.kind) {
	case TEXT:
	case TIME:
		text = f.text;
		/* Copied only if it has control characters. */
		while (text[len] != '\0' && text[len] != 0x7f &&
		       (unsigned char)text[len] >= ' ')
			len++;
		if (text[len] != '\0')
			text = str_printable(scratch, SHOWN_MAX, text);
		break;
	case NUMBER:
		text = num_text(scratch, f.number);
		break;
	case BYTES:
		text = t->look.bytes ? num_text(scratch, f.number)
				     : str_bytes(scratch, SHOWN_MAX, f.number);
		break;
	case TRUTH:
		text = f.number ? c->yes : c->no;
		break;
	default:
		break;
	}
	/* Chosen columns are for scripts, too: no cell is empty. */
	if (t->look.style == LIST_CHOSEN && text[strspn(text, " ")] == '\0')
		return "-";
	return text;
}

/* Append the line of `e`, or the headings (NULL). */
static void
put_line(struct table *t, const struct index_entry *e)
{
	char scratch[SHOWN_MAX];
	size_t blanks = 0; /* number of blanks before the next cell */

	for (size_t i = 0; i < t->look.chosen.count; i++) {
		const int column = t->look.chosen.list[i];
		const struct column *c = &columns[column];
		const size_t width = t->width[column];
		const char *cell = c->heading;
		size_t len = 0, fill = 0;

		if (e != NULL)
			cell = cell_text(t, column, e, scratch);
		len = strlen(cell);
		/* An empty cell without a width takes no space. */
		if (len == 0 && width == 0)
			continue;
		fill = len < width ? width - len : 0;
		if (c->width > 0)
			blanks += fill;
		/* Append `blanks` blanks and a cell. */
		buf_reserve(&t->text, blanks + len);
		memset(t->text.data + t->text.len, ' ', blanks);
		memcpy(t->text.data + t->text.len + blanks, cell, len);
		t->text.len += blanks + len;
		blanks = c->width <= 0 ? fill + 1 : 1;
	}
	buf_add_char(&t->text, '\n');
}

void
list_print(const struct index *ix, const struct index_entry *entries,
	   size_t count, const struct list_filter *f,
	   const struct list_look *look, int (*print)(struct buf *text))
{
	const bool chosen = look->style == LIST_CHOSEN;
	struct table t = { BUF_INIT, ix, *look, { 0 } };
	char scratch[SHOWN_MAX];

	if (!chosen)
		t.look.chosen.count = 0;
	for (int i = 0; !chosen && i < NCOLUMNS; i++)
		if (look->style == LIST_NAMES ? i == NAME
					      : columns[i].first <= look->style)
			t.look.chosen.list[t.look.chosen.count++] = i;
	/* The widths: of LLNL's columns as in its table, of others as
	 * needed. */
	for (size_t i = 0; i < t.look.chosen.count; i++) {
		const int column = t.look.chosen.list[i];
		size_t width = (size_t)abs(columns[column].width);

		if (chosen || (look->style == LIST_WIDE && column == NAME))
			width = strcspn(columns[column].heading, " ");
		for (size_t k = 0; width > 1 && k < count; k++) {
			size_t len = 0;

			if ((!chosen && column != NAME) ||
			    !matches(f, &entries[k]))
				continue;
			len = strlen(
				cell_text(&t, column, &entries[k], scratch));
			if (len > width)
				width = len < NAME_WIDTH ? len : NAME_WIDTH;
		}
		t.width[column] = width;
	}
	if (look->style != LIST_NAMES)
		put_line(&t, NULL);
	for (size_t i = 0; i < count; i++) {
		if (!matches(f, &entries[i]) ||
		    (look->style == LIST_NAMES && entries[i].name == NULL))
			continue;
		put_line(&t, &entries[i]);
		/* A large table in memory takes longer than writing it. */
		if (t.text.len >= FLUSH_SIZE)
			(void)print(&t.text);
	}
	if (t.text.len > 0)
		(void)print(&t.text);
	buf_free(&t.text);
}

/* --- Order --- */

/* An entry to sort, and its value, which owns its text. */
struct sorted {
	struct index_entry entry;
	struct fact fact;
	bool descending;
};

static int
compare(const void *one, const void *two)
{
	const struct sorted *a = one, *b = two;
	int order = 0;

	/* Unknown values are the last ones in both directions. */
	if ((a->fact.kind == UNKNOWN) != (b->fact.kind == UNKNOWN))
		return a->fact.kind == UNKNOWN ? 1 : -1;
	if (a->fact.text != NULL && b->fact.text != NULL)
		order = strcmp(a->fact.text, b->fact.text);
	else
		order = (a->fact.number > b->fact.number) -
			(a->fact.number < b->fact.number);
	if (order != 0)
		return a->descending ? -order : order;
	return (a->entry.id < b->entry.id) - (a->entry.id > b->entry.id);
}

void
list_sort(const struct index *ix, struct index_entry *entries, size_t count,
	  const struct list_look *look)
{
	struct sorted *list = NULL;
	struct arena *texts = NULL;
	char scratch[SHOWN_MAX];

	if (look->chosen.sort == 0 || count < 2)
		return;
	texts = arena_new();
	list = mem_alloc(count, sizeof(*list));
	for (size_t i = 0; i < count; i++) {
		struct fact f = fact_of(look->chosen.sort - 1, ix, &entries[i],
					scratch);

		if (f.text != NULL && f.text[0] == '\0')
			f = (struct fact){ .kind = UNKNOWN };
		if (f.text == scratch)
			f.text = arena_strdup(texts, scratch);
		list[i] = (struct sorted){ entries[i], f,
					   look->chosen.descending };
	}
	qsort(list, count, sizeof(*list), compare);
	for (size_t i = 0; i < count; i++)
		entries[i] = list[i].entry;
	mem_free(list);
	arena_free(texts);
}

/* --- JSON --- */

static void
set_fact(struct json *j, const char *key, const struct fact *f)
{
	int64_t at = -1; /* not a time: null */

	switch (f->kind) {
	case TEXT:
		json_set_str(j, key, f->text[0] != '\0' ? f->text : NULL);
		break;
	case TIME:
		(void)when_parse(f->text, 0, &at, NULL);
		json_set_time(j, key, at);
		break;
	case NUMBER:
	case BYTES:
		json_set_u64(j, key, f->number);
		break;
	case TRUTH:
		json_set_bool(j, key, f->number);
		break;
	default:
		json_set_null(j, key);
		break;
	}
}

struct json *
list_json(const struct catalogue *c, const struct index *ix,
	  const struct index_entry *entries, size_t count,
	  const struct list_filter *f)
{
	struct json *j = json_new_object(), *list = json_new_array();
	const char *current = index_current(ix), *notice = catalogue_notice(c);
	char scratch[SHOWN_MAX];

	json_set_str(j, "prefix", catalogue_path(c));
	json_set_str(j, "current", current && current[0] ? current : NULL);
	json_set_str(j, "notice", notice && notice[0] ? notice : NULL);
	for (size_t i = 0; i < count; i++) {
		const struct index_entry *e = &entries[i];
		struct dataset d = e->desc;
		struct json *one = NULL;

		if (!matches(f, e))
			continue;
		/* Values of the index override those of the descriptor. */
		d.id = e->id;
		d.name = e->name != NULL && e->name[0] != '\0' ? e->name : NULL;
		d.complete = e->complete;
		one = json_new_object();
		dataset_json(&d, one);
		for (int k = 0; k < NCOLUMNS; k++) {
			const struct fact is = fact_of(k, ix, e, scratch);

			if (columns[k].key != NULL)
				set_fact(one, columns[k].key, &is);
		}
		json_push(list, one);
	}
	json_set(j, "datasets", list);
	return j;
}
