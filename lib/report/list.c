/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/list.h"

#include <string.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "json.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "report/table.h"
#include "str.h"

/* Names are padded at most to this width. */
#define NAME_WIDTH 40

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

/* --- The table --- */

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
};

/* A new one needs a line here and a cell in add_row(); in JSON a line in
 * list_json(). */
const struct table_column list_columns[] = {
	[ID] = { "id", ">DSET" },
	[VALID] = { "valid", "VALID" },
	[FLUSHED] = { "flushed", "FLUSHED" },
	[CURRENT] = { "current", ">CUR" },
	[KIND] = { "kind", "KIND" },
	[FILES] = { "files", ">FILES" },
	[SIZE] = { "size", ">SIZE" },
	[NAME] = { "name", "NAME" },
	[REASON] = { "reason", "REASON" },
	{ "fetched", "FETCHED" },
	{ "fetches", ">FETCHES" },
	{ "failed", "FAILED" },
	{ "moved-from", "MOVED-FROM" },
	{ NULL, NULL },
};

/* Of a long list only the columns of LLNL's table are made. */
static const struct table_column few[] = {
	{ "id", ">DSET" },     { "valid", "VALID" }, { "flushed", "FLUSHED" },
	{ "current", ">CUR" }, { "name", "NAME" },   { NULL, NULL },
};

static bool
is_plain(const struct list_look *look)
{
	return look->style == LIST_LLNL && look->chosen.sort == 0;
}

/* Add a text of the index, or what stands for an unknown one. */
static void
add_text(struct table *t, const char *text, const char *unknown)
{
	size_t len = 0;

	if (text == NULL)
		text = unknown;
	/* Made printable only if it has control characters. */
	while (text[len] != '\0' && text[len] != 0x7f &&
	       (unsigned char)text[len] >= ' ')
		len++;
	if (text[len] != '\0')
		table_name(t, text);
	else
		table_add(t, text);
}

/* Add a row; the cell with the name has the number of the entry, too. */
static void
add_row(struct table *t, const struct index *ix,
	const struct index_entry *entries, size_t number,
	const struct list_look *look)
{
	const struct index_entry *e = &entries[number];
	const struct dataset *d = &e->desc;
	const bool valid = index_entry_valid(e), plain = is_plain(look);
	char reason[STR_SHOWN];

	table_number(t, (uint64_t)e->id);
	table_key(t, valid ? "YES" : "NO", valid);
	add_text(t, e->flushed, "");
	table_key(t, e->current ? "*" : "", e->current);
	if (!plain)
		table_add(t, d->is_ckpt && d->is_output ? "both"
			     : d->is_ckpt		? "ckpt"
			     : d->is_output		? "output"
							: "-");
	if (!plain && d->files < 0) {
		table_add(t, "-");
		table_add(t, "-");
	} else if (!plain) {
		table_number(t, (uint64_t)d->files);
		(look->bytes ? table_number : table_size)(t, d->bytes);
	}
	add_text(t, e->name, "UNKNOWN_NAME");
	t->cells[t->count - 1].key = number;
	if (plain)
		return;
	index_entry_reason(e, reason, sizeof(reason));
	add_text(t, arena_strdup(t->arena, reason), "");
	add_text(t, e->fetched, "");
	table_number(t, e->fetches);
	add_text(t, e->failed, "");
	add_text(t, index_extra(ix, e->id, INDEX_ROOT), "");
}

/* Start a table of the entries that match, in order. */
static void
start(struct table *t, const struct index *ix,
      const struct index_entry *entries, size_t count,
      const struct list_filter *f, const struct list_look *look)
{
	const struct columns order = {
		.sort = look->chosen.sort,
		.descending = look->chosen.descending,
	};

	table_start_named(t, is_plain(look) ? few : list_columns);
	for (size_t i = 0; i < count; i++)
		if (matches(f, &entries[i]) &&
		    (look->style != LIST_NAMES || entries[i].name != NULL))
			add_row(t, ix, entries, i, look);
	table_choose(t, &order, 0);
}

void
list_text(const struct index *ix, const struct index_entry *entries,
	  size_t count, const struct list_filter *f,
	  const struct list_look *look, struct buf *out)
{
	static const struct columns usual[] = {
		[LIST_LLNL] = { .list = { ID, VALID, FLUSHED, CURRENT, NAME },
				.count = 5 },
		[LIST_WIDE] = { .list = { ID, VALID, FLUSHED, CURRENT, KIND,
					  FILES, SIZE, NAME, REASON },
				.count = 9 },
		[LIST_NAMES] = { .list = { NAME }, .count = 1 },
	};
	/* Of LLNL's columns as in its table, of others as needed. */
	static const uint64_t widths[] = {
		[ID] = 4,   [VALID] = 5, [FLUSHED] = 19, [CURRENT] = 3,
		[KIND] = 6, [FILES] = 7, [SIZE] = 10,
	};
	struct columns how = look->chosen;
	struct table t;

	start(&t, ix, entries, count, f, look);
	how.sort = 0;
	t.gap = 1;
	t.widest = NAME_WIDTH;
	t.empty = look->style != LIST_CHOSEN;
	if (t.empty && !is_plain(look))
		how = usual[look->style];
	for (size_t i = 0; t.empty && i < (is_plain(look) ? KIND : NAME); i++) {
		t.cells[i].key = widths[i];
		t.cells[i].keyed = true;
	}
	table_choose(&t, &how, 0);
	if (look->style == LIST_NAMES) /* without headings */
		memmove(t.cells, t.cells + 1, --t.count * sizeof(*t.cells));
	table_end(&t, 0, out);
}

/* --- JSON --- */

/* A time as the index has it: local, "2026-11-21T10:00:00". */
static void
set_time(struct json *j, const char *key, const char *text)
{
	int64_t at = -1; /* not a time: null */

	if (text != NULL)
		(void)when_parse(text, 0, &at, NULL);
	json_set_time(j, key, at);
}

static void
set_text(struct json *j, const char *key, const char *text)
{
	json_set_str(j, key, text != NULL && text[0] != '\0' ? text : NULL);
}

struct json *
list_json(const struct catalogue *c, const struct index *ix,
	  const struct index_entry *entries, size_t count,
	  const struct list_filter *f, const struct list_look *look)
{
	struct json *j = json_new_object(), *list = json_new_array();
	char reason[STR_SHOWN];
	struct table t;

	json_set_str(j, "prefix", catalogue_path(c));
	set_text(j, "current", index_current(ix));
	set_text(j, "notice", catalogue_notice(c));
	start(&t, ix, entries, count, f, look);
	for (size_t i = 1; i <= table_rows(&t); i++) {
		const struct index_entry *e =
			&entries[t.cells[i * t.columns + NAME].key];
		struct dataset d = e->desc;
		struct json *one = json_new_object();

		/* Values of the index override those of the descriptor. */
		d.id = e->id;
		d.name = e->name != NULL && e->name[0] != '\0' ? e->name : NULL;
		d.complete = e->complete;
		dataset_json(&d, one);
		json_set_bool(one, "valid", index_entry_valid(e));
		set_time(one, "flushed", e->flushed);
		json_set_bool(one, "is_current", e->current);
		set_text(one, "reason",
			 index_entry_reason(e, reason, sizeof(reason)));
		set_time(one, "fetched", e->fetched);
		json_set_u64(one, "fetch_count", e->fetches);
		set_time(one, "fetch_failed", e->failed);
		set_text(one, "moved_from", index_extra(ix, e->id, INDEX_ROOT));
		json_push(list, one);
	}
	json_set(j, "datasets", list);
	table_free(&t);
	return j;
}
