/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.c - the index as a table or JSON, and what to prune.  Works on index
 * entries only; no file is accessed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "json.h"
#include "mem.h"
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

bool
catalogue_match(const struct catalogue_filter *f, const struct index_entry *e)
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
catalogue_check_stamp(const char *text, struct error *err)
{
	static const char form[] = "0000-00-00T00:00:00";
	size_t len = text != NULL ? strlen(text) : 0;
	bool good = text == NULL || len == 10 || len == 13 || len == 16 ||
		    len == 19;

	for (size_t i = 0; good && i < len; i++)
		good = form[i] == '0' ? text[i] >= '0' && text[i] <= '9'
				      : text[i] == form[i];
	if (good)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "\"%s\": expected a time as YYYY-MM-DD or "
			 "YYYY-MM-DDTHH:MM:SS",
			 text);
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

/* Columns of the tables, and JSON members in addition to those of the
 * descriptor.  A new one needs a line here and one in fact_of(). */
static const struct column {
	const char *heading; /* NULL: only in JSON */
	int width;	     /* of a cell; negative: left-aligned */
	bool llnl;	     /* also in LLNL's table (formats.md 12) */
	const char *key;     /* in JSON; NULL: only in tables */
	const char *yes, *no, *unknown; /* in a cell */
} columns[NCOLUMNS] = {
	[ID] = { "DSET", 4, true, NULL, "", "", "" },
	[VALID] = { "VALID", -5, true, "valid", "YES", "NO", "" },
	[FLUSHED] = { "FLUSHED            ", 0, true, "flushed", "", "",
		      "                   " },
	[CURRENT] = { "CUR", 3, true, "current", "*", "", "" },
	[KIND] = { "KIND", -6, false, NULL, "", "", "-" },
	[FILES] = { "FILES", 7, false, NULL, "", "", "-" },
	[SIZE] = { "SIZE", 10, false, NULL, "", "", "-" },
	[NAME] = { "NAME", -1, true, NULL, "", "", "UNKNOWN_NAME" },
	[REASON] = { "REASON", 0, false, "reason", "", "", "" },
	[FETCHED] = { .key = "fetched" },
	[FETCHES] = { .key = "fetches" },
	[FAILED] = { .key = "failed" },
	[MOVED_FROM] = { .key = "moved_from" },
};

/* The value of an entry in one column. */
struct fact {
	enum { UNKNOWN, TEXT, NUMBER, BYTES, TRUTH } kind;
	const char *text;
	uint64_t number; /* a TRUTH: 0 or 1 */
};

static struct fact
text_fact(const char *text)
{
	return (struct fact){ text == NULL ? UNKNOWN : TEXT, text, 0 };
}

static struct fact
number_fact(int64_t n)
{
	return (struct fact){ n < 0 ? UNKNOWN : NUMBER, NULL, (uint64_t)n };
}

static struct fact
truth_fact(int truth)
{
	return (struct fact){ truth < 0 ? UNKNOWN : TRUTH, NULL, truth == 1 };
}

static const char *
kind_name(const struct dataset *d)
{
	if (d->is_ckpt)
		return d->is_output ? "both" : "ckpt";
	return d->is_output ? "output" : NULL;
}

/* Get the value of a column.  `ix` may be NULL if the column has a heading.
 * `scratch` has SHOWN_MAX bytes and may hold the text returned. */
static struct fact
fact_of(int column, const struct index *ix, const struct index_entry *e,
	char *scratch)
{
	const struct dataset *d = &e->desc;

	switch (column) {
	case ID:
		return number_fact(e->id);
	case VALID:
		return truth_fact(index_entry_valid(e));
	case FLUSHED:
		return text_fact(e->flushed);
	case CURRENT:
		return truth_fact(e->current);
	case KIND:
		return text_fact(kind_name(d));
	case FILES:
		return number_fact(d->files);
	case SIZE:
		return (struct fact){ d->files < 0 ? UNKNOWN : BYTES, NULL,
				      d->bytes };
	case NAME:
		return text_fact(e->name);
	case REASON:
		return text_fact(index_entry_reason(e, scratch, SHOWN_MAX));
	case FETCHED:
		return text_fact(e->fetched);
	case FETCHES:
		return number_fact((int64_t)e->fetches);
	case FAILED:
		return text_fact(e->failed);
	default:
		return text_fact(index_extra(ix, e->id, CATALOGUE_ROOT));
	}
}

/* --- Tables --- */

/* Make control characters in `text` printable, using `to` (SHOWN_MAX bytes)
 * only if there are any. */
static const char *
line_text(const char *text, char *to)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < ' ' || *p == 0x7f)
			return str_printable(to, SHOWN_MAX, text);
	return text;
}

static const char *
cell_text(int column, const struct index_entry *e, char *scratch)
{
	const struct column *c = &columns[column];
	const struct fact f = fact_of(column, NULL, e, scratch);

	switch (f.kind) {
	case TEXT:
		return line_text(f.text, scratch);
	case NUMBER:
		return num_text(scratch, f.number);
	case BYTES:
		return str_bytes(scratch, SHOWN_MAX, f.number);
	case TRUTH:
		return f.number ? c->yes : c->no;
	default:
		return c->unknown;
	}
}

/* Append `blanks` blanks and a cell. */
static int
put_cell(struct buf *out, size_t blanks, const char *cell, size_t len)
{
	if (buf_reserve(out, blanks + len) < 0)
		return -1;
	memset(out->data + out->len, ' ', blanks);
	memcpy(out->data + out->len + blanks, cell, len);
	out->len += blanks + len;
	return 0;
}

struct table {
	struct buf text;
	enum catalogue_style style;
	size_t name_width;
};

static bool
is_shown(const struct table *t, int column)
{
	if (t->style == CATALOGUE_NAMES)
		return column == NAME;
	return t->style == CATALOGUE_LLNL ? columns[column].llnl
					  : columns[column].heading != NULL;
}

/* Append the line of `e`, or the headings (NULL). */
static int
put_line(struct table *t, const struct index_entry *e)
{
	char scratch[SHOWN_MAX];
	size_t blanks = 0; /* number of blanks before the next cell */

	for (int i = 0; i < NCOLUMNS; i++) {
		const struct column *c = &columns[i];
		size_t width =
			i == NAME ? t->name_width : (size_t)abs(c->width);
		const char *cell = c->heading;
		size_t len = 0, fill = 0;

		if (!is_shown(t, i))
			continue;
		if (e != NULL)
			cell = cell_text(i, e, scratch);
		len = strlen(cell);
		/* An empty cell without a width takes no space. */
		if (len == 0 && c->width == 0)
			continue;
		fill = len < width ? width - len : 0;
		if (c->width > 0)
			blanks += fill;
		if (put_cell(&t->text, blanks, cell, len) < 0)
			return -1;
		blanks = c->width < 0 ? fill + 1 : 1;
	}
	return buf_add_char(&t->text, '\n');
}

static size_t
name_width(const struct index_entry *entries, size_t count,
	   const struct catalogue_filter *f)
{
	size_t width = 4, len = 0;

	for (size_t i = 0; i < count; i++) {
		if (entries[i].name == NULL || !catalogue_match(f, &entries[i]))
			continue;
		len = strlen(entries[i].name);
		if (len > width)
			width = len < NAME_WIDTH ? len : NAME_WIDTH;
	}
	return width;
}

/* Write and clear the buffer.  A large table is not kept in memory, as this
 * would take longer than writing it. */
static void
flush(struct buf *text, FILE *to)
{
	fwrite(text->data, 1, text->len, to);
	buf_clear(text);
}

int
catalogue_list(const struct index_entry *entries, size_t count,
	       const struct catalogue_filter *f, enum catalogue_style style,
	       FILE *to, struct error *err)
{
	struct table t = { .text = BUF_INIT, .style = style };
	int rc = 0;

	if (style == CATALOGUE_WIDE)
		t.name_width = name_width(entries, count, f);
	if (style != CATALOGUE_NAMES)
		rc = put_line(&t, NULL);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (!catalogue_match(f, &entries[i]) ||
		    (style == CATALOGUE_NAMES && entries[i].name == NULL))
			continue;
		rc = put_line(&t, &entries[i]);
		if (t.text.len >= FLUSH_SIZE)
			flush(&t.text, to);
	}
	if (rc == 0 && t.text.len > 0)
		flush(&t.text, to);
	buf_free(&t.text);
	return rc < 0 ? error_no_memory(err) : 0;
}

/* --- JSON --- */

static void
set_fact(struct json *j, const char *key, const struct fact *f)
{
	switch (f->kind) {
	case TEXT:
		json_set_str(j, key, f->text[0] != '\0' ? f->text : NULL);
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
catalogue_json(const struct index *ix, const struct index_entry *e)
{
	struct json *j = json_new_object();
	struct dataset d = e->desc;
	char scratch[SHOWN_MAX];

	/* Values of the index override those of the descriptor. */
	d.id = e->id;
	d.name = e->name != NULL && e->name[0] != '\0' ? e->name : NULL;
	d.complete = e->complete;
	dataset_json(&d, j);
	for (int i = 0; i < NCOLUMNS; i++) {
		const struct fact f = fact_of(i, ix, e, scratch);

		if (columns[i].key != NULL)
			set_fact(j, columns[i].key, &f);
	}
	return j;
}

static void
set_text(struct json *j, const char *key, const char *value)
{
	const struct fact f = text_fact(value);

	set_fact(j, key, &f);
}

struct json *
catalogue_list_json(const struct catalogue *c, const struct index *ix,
		    const struct index_entry *entries, size_t count,
		    const struct catalogue_filter *f)
{
	struct json *j = json_new_object(), *list = json_new_array();

	json_set_str(j, "prefix", catalogue_path(c));
	set_text(j, "current", index_current(ix));
	set_text(j, "notice", catalogue_notice(c));
	for (size_t i = 0; i < count; i++)
		if (catalogue_match(f, &entries[i]))
			json_push(list, catalogue_json(ix, &entries[i]));
	json_set(j, "datasets", list);
	return j;
}

/* --- Prune --- */

/* Is `e` of the kind counted against `keep`? */
static bool
is_kind(const struct index_entry *e, bool checkpoints)
{
	return checkpoints ? e->desc.is_ckpt
			   : e->desc.is_output && !e->desc.is_ckpt;
}

/* Mark what to delete of one kind: everything older than the `keep` newest
 * valid datasets.  Newer ones that are not valid are kept: they may be
 * repairable, or still being written. */
static void
mark_old(const struct index_entry *list, size_t count, size_t keep,
	 bool checkpoints, bool outputs, bool *goes)
{
	size_t valid = 0, i = 0;

	for (i = 0; i < count && valid < keep; i++)
		valid += is_kind(&list[i], checkpoints) &&
			 index_entry_valid(&list[i]);
	if (valid < keep)
		return;
	for (; i < count; i++)
		goes[i] = goes[i] ||
			  (is_kind(&list[i], checkpoints) && !list[i].current &&
			   (outputs || !list[i].desc.is_output));
}

int64_t *
catalogue_prune(const struct catalogue *c, const struct index *ix, size_t keep,
		bool outputs, size_t *count, struct error *err)
{
	size_t n = 0, found = 0;
	struct index_entry *list = NULL;
	int64_t *ids = NULL;
	bool *goes = NULL;

	*count = (size_t)-1;
	if (catalogue_notice(c) != NULL) {
		/* A rebuilt index has lost FAILED stamps and CURRENT. */
		error_set(err, ERROR_DAMAGED,
			  "the index is damaged or missing: repair it, look at "
			  "the list, then prune");
		return NULL;
	}
	list = index_entries(ix, &n, err);
	*count = n;
	if (n == 0 || n == (size_t)-1)
		return NULL;
	*count = (size_t)-1;
	ids = mem_alloc(n, sizeof(*ids));
	goes = mem_calloc(n, sizeof(*goes));
	if (ids == NULL || goes == NULL) {
		error_no_memory(err);
		mem_free(ids);
		ids = NULL;
		goto out;
	}
	mark_old(list, n, keep, true, outputs, goes);
	if (outputs)
		mark_old(list, n, keep, false, true, goes);
	for (size_t i = n; i-- > 0;)
		if (goes[i])
			ids[found++] = list[i].id;
	*count = found;
out:
	mem_free(goes);
	mem_free(list);
	return ids;
}

int64_t *
catalogue_ids(struct catalogue *c, const struct index *ix, const char *text,
	      size_t *count, struct error *err)
{
	size_t n = 1;
	struct index_entry *list = NULL;
	int64_t *ids = NULL;

	if (text == NULL)
		list = index_entries(ix, &n, err);
	*count = n;
	if (n == 0 || n == (size_t)-1)
		return NULL;
	*count = (size_t)-1;
	ids = mem_alloc(n, sizeof(*ids));
	if (ids == NULL) {
		error_no_memory(err);
		goto out;
	}
	if (text != NULL)
		ids[0] = catalogue_resolve(c, ix, text, err);
	for (size_t i = 0; text == NULL && i < n; i++)
		ids[i] = list[i].id;
	if (ids[0] > 0)
		*count = n;
out:
	mem_free(list);
	return ids;
}
