/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * word.c - words: which dataset one names, and which one names a dataset.
 *
 * The index decides which dataset has a name.  A dataset that the index does
 * not name, as after a scavenge, has the name in its summary, else the one in
 * flush.scr.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/overview.h"
#include "catalogue/word.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/index.h"
#include "num.h"
#include "str.h"

#define SHOWN_MAX 256

/* --- What a word can mean --- */

#define WORD_ID "id:"

void
word_parse(const char *text, struct word *w)
{
	const bool marked = str_starts(text, WORD_ID);
	const char *digits = text + (marked ? strlen(WORD_ID) : 0);
	int64_t id = 0;

	*w = (struct word){ .name = text, .id = -1 };
	if (str_starts(text, WORD_NAME)) {
		w->name = text + strlen(WORD_NAME);
		w->marked = true;
	} else if (str_is_digit(digits[0]) &&
		   num_i64(digits, 1, DATASET_ID_MAX, &id, NULL) == 0) {
		w->id = id;
		w->marked = marked;
		if (marked)
			w->name = NULL;
	}
}

int
word_parse_id(const char *text, struct word *w, struct error *err)
{
	word_parse(text, w);
	if (w->id > 0) {
		w->name = NULL;
		return 0;
	}
	if (w->marked)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "\"%s\": expected a number from 1 to %d, "
			 "id:NUMBER or name:NAME",
			 str_shown(text), DATASET_ID_MAX);
}

/* --- Datasets that the index does not name --- */

struct catalogue_unnamed {
	bool all; /* also those that the index names */
	struct overview seen;
	struct map *by_name; /* name -> the first entry of this name */
	size_t *next;	     /* by entry: the next of its name, or MAP_NONE */
};

void
catalogue_unnamed_free(struct catalogue_unnamed *u)
{
	if (u == NULL)
		return;
	map_free(u->by_name);
	mem_free(u->next);
	overview_fini(&u->seen);
	mem_free(u);
}

/* Return the list, which is made once for each catalogue; or NULL. */
static const struct catalogue_unnamed *
unnamed(struct catalogue *c, const struct index *ix, bool all,
	struct error *err)
{
	struct catalogue_unnamed *u = c->unnamed;
	int rc = 0;

	if (u != NULL && u->all == all)
		return u;
	catalogue_unnamed_free(u);
	c->unnamed = NULL;
	u = mem_calloc(1, sizeof(*u));
	if (u == NULL)
		return error_no_memory_null(err);
	u->all = all;
	u->by_name = map_new();
	u->seen = (struct overview){
		.catalogue = c,
		.any_name = true,
		.skip = all ? NULL : ix,
		.arena = arena_new(),
	};
	if (u->seen.arena == NULL || u->by_name == NULL)
		rc = error_no_memory(err);
	else
		rc = overview_collect(&u->seen, err);
	u->seen.catalogue = NULL; /* it owns the list */
	if (rc == 0)
		u->next = mem_calloc(u->seen.count + 1, sizeof(*u->next));
	if (rc == 0 && u->next == NULL)
		rc = error_no_memory(err);
	for (size_t i = u->seen.count; rc == 0 && i-- > 0;) {
		const char *name = u->seen.entries[i].name;

		if (name == NULL)
			continue;
		u->next[i] = map_get(u->by_name, name);
		if (map_put(u->by_name, name, i) < 0)
			rc = error_no_memory(err);
	}
	if (rc == 0)
		return c->unnamed = u;
	catalogue_unnamed_free(u);
	return NULL;
}

/* --- From words to datasets --- */

struct search {
	struct catalogue *c;
	const struct index *ix; /* may be NULL */
	const char *text;
	bool all; /* a summary can name a dataset that the index names, too */
};

/* Datasets of one name. */
struct hits {
	int64_t first; /* 0: none */
	size_t count, len;
	char text[SHOWN_MAX]; /* " id:3 id:7" */
};

static void
hit(struct hits *h, int64_t id)
{
	if (h->count++ == 0)
		h->first = id;
	if (h->len + WORD_ID_SIZE < sizeof(h->text))
		h->len += (size_t)snprintf(h->text + h->len,
					   sizeof(h->text) - h->len,
					   " " WORD_ID_FMT, id);
}

/* Return the id of the dataset of this name; 0: there is none; -1: there are
 * several (ERROR_USAGE), or out of memory. */
static int64_t
with_name(const struct search *s, const char *name, struct error *err)
{
	const struct catalogue_unnamed *u = NULL;
	struct index_entry e = { .id = 0 };
	struct hits h = { .count = 0 };

	if (s->ix != NULL && index_find_name(s->ix, name, &e, NULL) == 0) {
		hit(&h, e.id);
		if (!s->all)
			return e.id;
	}
	u = unnamed(s->c, s->ix, s->all, err);
	if (u == NULL)
		return -1;
	for (size_t at = map_get(u->by_name, name); at != MAP_NONE;
	     at = u->next[at])
		if (u->seen.entries[at].id != e.id)
			hit(&h, u->seen.entries[at].id);
	if (h.count <= 1)
		return h.first;
	return error_set(err, ERROR_USAGE,
			 "%s: the name of several datasets: use one of%s",
			 str_shown(s->text), h.text);
}

/* Is there a dataset of this number?  1, 0, or -1: out of memory. */
static int
with_number(const struct search *s, int64_t id, struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	const struct catalogue_unnamed *u = NULL;
	struct index_entry e;

	if (s->ix != NULL && index_find_id(s->ix, id, &e, NULL) == 0)
		return 1;
	if (catalogue_dir_open(s->c, id, &d, NULL) == 0) {
		catalogue_dir_close(&d);
		return 1;
	}
	u = unnamed(s->c, s->ix, s->all, err);
	return u == NULL ? -1 : overview_entry(&u->seen, id) != NULL;
}

static int64_t
find(const struct search *s, struct error *err)
{
	const char *text = str_shown(s->text), *name = NULL;
	struct index_entry e;
	int64_t named = 0;
	int numbered = 0;
	struct word w;

	word_parse(s->text, &w);
	if (w.name != NULL)
		named = with_name(s, w.name, err);
	if (named >= 0 && w.id > 0)
		numbered = with_number(s, w.id, err);
	if (named < 0 || numbered < 0)
		return -1;
	if (named == 0 && numbered == 0 &&
	    access(str_printed(PATH_MAX, "%s/" SCR_DIR, s->text), F_OK) == 0)
		return error_set(
			err, ERROR_ABSENT,
			"%s: a prefix, not a dataset: name it with -p %s", text,
			text);
	if (named == 0 && numbered == 0)
		return error_set(err, ERROR_ABSENT,
				 "%s: no dataset of this %s in %s", text,
				 w.name == NULL ? "number"
				 : w.id > 0	? "name or number"
						: "name",
				 s->c->path);
	if (named == 0)
		return w.id;
	if (numbered == 0 || named == w.id)
		return named;
	name = catalogue_recorded_name(s->c, s->ix, w.id);
	if (s->ix != NULL && index_find_id(s->ix, w.id, &e, NULL) == 0 &&
	    e.name != NULL)
		name = e.name;
	return error_set(err, ERROR_USAGE,
			 "%s: a name and a number: give " WORD_ID_FMT
			 " (named %s) or " WORD_NAME "%s (dataset %" PRId64 ")",
			 text, w.id, name != NULL ? str_shown(name) : "nothing",
			 text, named);
}

int64_t
catalogue_resolve(struct catalogue *c, const struct index *ix, const char *text,
		  struct error *err)
{
	return find(&(struct search){ c, ix, text, false }, err);
}

struct index *
catalogue_read_quietly(struct catalogue *c, struct error *err)
{
	const struct buf notice = c->notice;
	struct index *ix = NULL;

	c->notice = (struct buf)BUF_INIT;
	ix = catalogue_read(c, err);
	buf_free(&c->notice);
	c->notice = notice;
	return ix;
}

int64_t
catalogue_resolve_now(struct catalogue *c, const char *text, bool all,
		      struct error *err)
{
	struct error why = ERROR_INIT;
	struct index *ix = catalogue_read_quietly(c, &why);
	int64_t id = -1;

	if (ix != NULL || why.kind == ERROR_ABSENT)
		id = find(&(struct search){ c, ix, text, all }, err);
	else
		error_pass(err, &why);
	index_free(ix);
	return id;
}

const char *
catalogue_recorded_name(struct catalogue *c, const struct index *ix, int64_t id)
{
	const bool all = c->unnamed != NULL && c->unnamed->all;
	const struct catalogue_unnamed *u = unnamed(c, ix, all, NULL);
	const struct overview_entry *d =
		u != NULL ? overview_entry(&u->seen, id) : NULL;

	return d != NULL ? d->name : NULL;
}

int64_t
catalogue_namesake(struct catalogue *c, const struct index *ix, int64_t id)
{
	const char *name = NULL;
	struct index_entry e;

	if (ix == NULL || index_find_id(ix, id, &e, NULL) == 0)
		return 0;
	name = catalogue_recorded_name(c, ix, id);
	return name != NULL && index_find_name(ix, name, &e, NULL) == 0 &&
			       e.id > id
		       ? e.id
		       : 0;
}

/* --- From datasets to words --- */

const char *
catalogue_word(struct catalogue *c, const struct index *ix, int64_t id,
	       char to[static WORD_ID_SIZE])
{
	const struct search s = { c, ix, to, false };
	int64_t named = 0;

	snprintf(to, WORD_ID_SIZE, "%" PRId64, id);
	named = with_name(&s, to, NULL);
	if (named != 0 && named != id)
		snprintf(to, WORD_ID_SIZE, WORD_ID_FMT, id);
	return to;
}

const char *
catalogue_word_now(struct catalogue *c, int64_t id,
		   char to[static WORD_ID_SIZE])
{
	struct index *ix = catalogue_read_quietly(c, NULL);

	catalogue_word(c, ix, id, to);
	index_free(ix);
	return to;
}

/* Does the name of `e` alone name it? */
static bool
is_plain(struct catalogue *c, const struct index *ix,
	 const struct index_entry *e)
{
	const struct search s = { c, ix, e->name, false };
	struct word w;

	word_parse(e->name, &w);
	return !w.marked &&
	       (w.id < 0 || w.id == e->id || with_number(&s, w.id, NULL) == 0);
}

const char *
catalogue_name_word(struct catalogue *c, const struct index *ix,
		    const struct index_entry *e, struct buf *scratch)
{
	if (is_plain(c, ix, e))
		return e->name;
	buf_clear(scratch);
	return buf_printf(scratch, WORD_NAME "%s", e->name) == 0 ? scratch->data
								 : e->name;
}

int
catalogue_words(struct catalogue *c, const struct index *ix, const char *typed,
		FILE *to, struct error *err)
{
	const bool ids = str_starts(typed, WORD_ID);
	const bool marked = str_starts(typed, WORD_NAME);
	size_t count = 0, len = 0;
	struct index_entry *list = index_entries(ix, &count, err), e;
	int64_t *dirs = NULL;

	if (count == (size_t)-1)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const char *before = "";
		const char *word = ids ? word_id_str(list[i].id) : list[i].name;
		const char *end = word;

		/* Can a shell complete it as it is printed, on one line? */
		while (end != NULL && (unsigned char)*end >= ' ' &&
		       *end != 0x7f)
			end++;
		if (end == NULL || *end != '\0')
			continue;
		if (!ids && (marked || !is_plain(c, ix, &list[i])))
			before = WORD_NAME;
		len = strlen(before);
		if (strlen(typed) <= len
			    ? str_starts(before, typed)
			    : str_starts(typed, before) &&
				      str_starts(word, typed + len))
			fprintf(to, "%s%s\n", before, word);
	}
	mem_free(list);
	if (marked)
		return 0;
	/* The numbers of the datasets that have a directory, but are not in the
	 * index; newest first. */
	dirs = catalogue_dirs(c, &count, err);
	if (count == (size_t)-1)
		return -1;
	while (count-- > 0) {
		const char *id = NULL;

		if (index_find_id(ix, dirs[count], &e, NULL) == 0)
			continue;
		id = ids ? word_id_str(dirs[count])
			 : catalogue_word_str(c, ix, dirs[count]);
		if (str_starts(id, typed))
			fprintf(to, "%s\n", id);
	}
	mem_free(dirs);
	return 0;
}
