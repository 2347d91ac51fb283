/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.c - the index as a table or JSON, and what to prune.  Looks
 * at entries only, at no file.
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
#include "str.h"

/* Where a stamp is missing. */
#define NO_STAMP "                   "

/* Names are not padded beyond this width. */
#define NAME_WIDTH 40

/* A name made printable. */
#define SHOWN_MAX 4200

/* Bytes of a table that are written at a time. */
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
	/* Stamps sort as text, and a day is less than its hours. */
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

/* --- Tables --- */

/* `name` as it may stand in a line: unchanged but for control characters.
 * `to` has SHOWN_MAX bytes. */
static const char *
line_name(const char *name, char *to)
{
	if (name == NULL)
		return "UNKNOWN_NAME"; /* formats.md 12: LLNL's word */
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < ' ' || *p == 0x7f)
			return str_printable(to, SHOWN_MAX, name);
	return name;
}

/* `id` as %4d: printf is too slow for 100,000 lines. */
static int
put_id(struct buf *out, int64_t id)
{
	char digits[24];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + id % 10);
	while ((id /= 10) > 0 && n > 0);
	while (n > sizeof(digits) - 4)
		digits[--n] = ' ';
	return buf_add(out, digits + n, sizeof(digits) - n);
}

/* The part of a line that all tables have: id, VALID, FLUSHED, CUR. */
static int
put_start(struct buf *out, const struct index_entry *e)
{
	char shown[64];
	const char *stamp = e->flushed != NULL ? e->flushed : NO_STAMP;

	if (e->flushed != NULL && strlen(stamp) != INDEX_STAMP_SIZE - 1)
		stamp = str_printable(shown, sizeof(shown), stamp);
	if (put_id(out, e->id) < 0 ||
	    buf_add_str(out, index_entry_valid(e) ? " YES   " : " NO    ") <
		    0 ||
	    buf_add_str(out, stamp) < 0)
		return -1;
	return buf_add_str(out, e->current ? "   * " : "     ");
}

static int
put_llnl(struct buf *out, const struct index_entry *e)
{
	char shown[SHOWN_MAX];

	if (put_start(out, e) < 0 ||
	    buf_add_str(out, line_name(e->name, shown)) < 0)
		return -1;
	return buf_add_char(out, '\n');
}

static const char *
kind_name(const struct dataset *d)
{
	if (d->is_ckpt)
		return d->is_output ? "both" : "ckpt";
	return d->is_output ? "output" : "-";
}

static int
put_wide(struct buf *out, const struct index_entry *e, size_t width)
{
	char shown[SHOWN_MAX], size[32] = "-", reason[128], files[24] = "-";
	const char *name = line_name(e->name, shown);
	size_t len = strlen(name);

	if (e->desc.files >= 0) {
		str_bytes(size, sizeof(size), e->desc.bytes);
		snprintf(files, sizeof(files), "%" PRId64, e->desc.files);
	}
	index_entry_reason(e, reason, sizeof(reason));
	if (put_start(out, e) < 0 ||
	    buf_printf(out, "%-6s %7s %10s %s", kind_name(&e->desc), files,
		       size, name) < 0)
		return -1;
	if (reason[0] != '\0' &&
	    buf_printf(out, "%*s %s", len < width ? (int)(width - len) : 0, "",
		       reason) < 0)
		return -1;
	return buf_add_char(out, '\n');
}

static int
put_head(struct buf *out, enum catalogue_style style, size_t width)
{
	static const char start[] = "DSET VALID FLUSHED             CUR ";

	if (style == CATALOGUE_NAMES)
		return 0;
	if (buf_add_str(out, start) < 0)
		return -1;
	if (style == CATALOGUE_LLNL)
		return buf_add_str(out, "NAME\n");
	return buf_printf(out, "%-6s %7s %10s %-*s %s\n", "KIND", "FILES",
			  "SIZE", (int)width, "NAME", "REASON");
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

/* One entry in the given style. */
static int
put_entry(struct buf *out, const struct index_entry *e,
	  enum catalogue_style style, size_t width)
{
	char shown[SHOWN_MAX];

	if (style == CATALOGUE_LLNL)
		return put_llnl(out, e);
	if (style == CATALOGUE_WIDE)
		return put_wide(out, e, width);
	if (e->name == NULL)
		return 0;
	if (buf_add_str(out, line_name(e->name, shown)) < 0)
		return -1;
	return buf_add_char(out, '\n');
}

/* A large table must not be in memory as a whole: that costs more than to
 * write it. */
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
	struct buf text = BUF_INIT;
	size_t width = 0;
	int rc = 0;

	if (style == CATALOGUE_WIDE)
		width = name_width(entries, count, f);
	rc = put_head(&text, style, width);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (!catalogue_match(f, &entries[i]))
			continue;
		rc = put_entry(&text, &entries[i], style, width);
		if (text.len >= FLUSH_SIZE)
			flush(&text, to);
	}
	if (rc == 0 && text.len > 0)
		flush(&text, to);
	buf_free(&text);
	return rc < 0 ? error_no_memory(err) : 0;
}

/* --- JSON --- */

static void
set_text(struct json *j, const char *key, const char *value)
{
	if (value != NULL && value[0] != '\0')
		json_set_str(j, key, value);
	else
		json_set_null(j, key);
}

struct json *
catalogue_json(const struct index *ix, const struct index_entry *e)
{
	struct json *j = json_new_object();
	char reason[128];

	if (j == NULL)
		return NULL;
	dataset_json(&e->desc, j);
	/* What the index says stands above the descriptor in it. */
	json_set_i64(j, "id", e->id);
	set_text(j, "name", e->name);
	if (e->complete >= 0)
		json_set_bool(j, "complete", e->complete == 1);
	else
		json_set_null(j, "complete");
	json_set_bool(j, "valid", index_entry_valid(e));
	set_text(j, "reason", index_entry_reason(e, reason, sizeof(reason)));
	json_set_bool(j, "current", e->current);
	set_text(j, "flushed", e->flushed);
	set_text(j, "fetched", e->fetched);
	json_set_u64(j, "fetches", e->fetches);
	set_text(j, "failed", e->failed);
	set_text(j, "moved_from", index_extra(ix, e->id, CATALOGUE_ROOT));
	return j;
}

struct json *
catalogue_list_json(const struct catalogue *c, const struct index *ix,
		    const struct index_entry *entries, size_t count,
		    const struct catalogue_filter *f)
{
	struct json *j = json_new_object(), *list = json_new_array();

	if (j == NULL || list == NULL) {
		json_free(j);
		json_free(list);
		return NULL;
	}
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

/* Is `e` one of the datasets that `keep` is counted among? */
static bool
is_kind(const struct index_entry *e, bool checkpoints)
{
	return checkpoints ? e->desc.is_ckpt
			   : e->desc.is_output && !e->desc.is_ckpt;
}

/* Mark what goes of one kind: all that is older than the oldest of the `keep`
 * newest valid ones.  Newer ones that are not valid may still be mended, or
 * are being written. */
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
		/* Marks of failed fetches, and that of the restart point, are
		 * gone with the old index. */
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
