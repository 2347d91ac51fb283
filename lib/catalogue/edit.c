/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit.c - drop, drop after, current: changes of the index only.
 */
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "meta/index.h"
#include "str.h"

static void
report_dropped(struct catalogue_edit *e, const char *name)
{
	e->count++;
	if (e->names != NULL && name != NULL)
		json_push_str(e->names, name);
}

/* Drop all datasets above id `keep`.  index_entries() lists the newest first,
 * so CURRENT moves back step by step. */
static int
drop_above(struct index *ix, int64_t keep, struct catalogue_edit *e,
	   struct error *err)
{
	size_t count = 0;
	struct index_entry *list = index_entries(ix, &count, err);
	int rc = count == (size_t)-1 ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < count && list[i].id > keep; i++) {
		report_dropped(e, list[i].name);
		rc = catalogue_forget(ix, list[i].id, err);
	}
	mem_free(list);
	return rc;
}

/* Find the dataset that e->word names; it must be in the index. */
static int
find(struct catalogue *c, struct index *ix, const struct catalogue_edit *e,
     struct index_entry *out, struct error *err)
{
	const int64_t id = catalogue_resolve(c, ix, e->word, err);

	return id < 0 ? -1 : index_find_id(ix, id, out, err);
}

static int
set_current(struct index *ix, const struct index_entry *entry,
	    struct catalogue_edit *e, struct error *err)
{
	const char *name = index_current(ix);
	struct index_entry now;

	if (!entry->desc.is_ckpt)
		return error_set(err, ERROR_ABSENT,
				 "%s: not a checkpoint: a job cannot restart "
				 "from it",
				 str_shown(e->word));
	if (entry->name == NULL)
		return error_set(err, ERROR_ABSENT,
				 "%s: has no name, so the index cannot mark "
				 "it as the restart point",
				 str_shown(e->word));
	index_entry_reason(entry, e->reason, sizeof(e->reason));
	/* The restart point may be newer, and has to stay. */
	if (entry->current ||
	    (e->forward && name != NULL &&
	     index_find_name(ix, name, &now, NULL) == 0 &&
	     index_entry_valid(&now) &&
	     index_entry_later(&now, entry->id, entry->desc.created_us, NULL) &&
	     (e->broken == NULL || now.id != e->broken->id ||
	      now.desc.created_us != e->broken->desc.created_us)))
		return 1;
	return index_set_current(ix, entry->name, err);
}

struct edit_job {
	struct catalogue *c;
	struct catalogue_edit *e;
};

/* Make one change, and record how the restart point changed. */
static int
edit(struct index *ix, void *arg, struct error *err)
{
	const struct edit_job *j = arg;
	struct catalogue_edit *e = j->e;
	const char *now = index_current(ix);
	const char *word = NULL;
	char before[sizeof(e->current)];
	struct buf scratch = BUF_INIT;
	struct index_entry entry;
	int64_t newest[2];
	int rc = 0;

	snprintf(before, sizeof(before), "%s", now != NULL ? now : "");
	if (e->kind != CATALOGUE_DROP_ALL && e->kind != CATALOGUE_UNCURRENT &&
	    find(j->c, ix, e, &entry, err) < 0)
		return -1;
	switch (e->kind) {
	case CATALOGUE_DROP:
		report_dropped(e, entry.name);
		rc = catalogue_forget(ix, entry.id, err);
		break;
	case CATALOGUE_DROP_AFTER:
		rc = drop_above(ix, entry.id, e, err);
		if (rc == 0 && e->count == 0)
			rc = 1;
		break;
	case CATALOGUE_DROP_ALL:
		rc = drop_above(ix, 0, e, err);
		if (rc == 0)
			rc = index_set_current(ix, NULL, err);
		break;
	case CATALOGUE_CURRENT:
		rc = set_current(ix, &entry, e, err);
		break;
	case CATALOGUE_UNCURRENT:
		rc = now == NULL ? 1 : index_set_current(ix, NULL, err);
		break;
	}
	if (rc < 0)
		return -1;
	/* Record the restart point after the change, or what a job takes
	 * instead. */
	now = index_current(ix);
	word = now != NULL ? now : "";
	snprintf(e->current, sizeof(e->current), "%s", word);
	if (now != NULL && index_find_name(ix, now, &entry, NULL) == 0)
		word = catalogue_name_word(j->c, ix, &entry, &scratch);
	snprintf(e->current_word, sizeof(e->current_word), "%s", word);
	index_newest(ix, newest);
	if (now == NULL && newest[0] > 0 &&
	    index_find_id(ix, newest[0], &entry, NULL) == 0)
		snprintf(e->next_word, sizeof(e->next_word), "%s",
			 entry.name != NULL
				 ? catalogue_name_word(j->c, ix, &entry,
						       &scratch)
				 : catalogue_word_str(j->c, ix, entry.id));
	buf_free(&scratch);
	e->moved = strcmp(e->current, before) != 0;
	return rc;
}

/* Can a job restart from the dataset?  A failed fetch does not count: the
 * library tries the restart point in spite of it. */
static int
look(struct catalogue *c, struct catalogue_edit *e, struct error *err)
{
	struct index *ix = catalogue_read(c, err);
	struct catalogue_options quiet = *e->look;
	struct error why = ERROR_INIT;
	struct index_entry entry;
	struct fetchable f;
	int rc = 0;

	if (ix == NULL)
		return -1;
	/* A dataset that is not there is reported by the change. */
	if (find(c, ix, e, &entry, &why) < 0) {
		rc = why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
		goto out;
	}
	if (!entry.desc.is_ckpt)
		goto out;
	entry.current = true;
	quiet.work.log = NULL; /* the refusal says enough */
	rc = catalogue_fetchable(c, &entry, &quiet, &f, err);
	if (rc < 0)
		goto out;
	rc = fetchable_error(&f, err);
	if (rc == 0 && f.packed)
		rc = error_set(
			err, ERROR_DAMAGED,
			"its files are in containers, which no job can restart "
			"from");
	if (rc < 0) {
		e->refused = entry.id;
		e->packed = f.packed;
		error_wrap(err, "%s: not made the restart point",
			   str_shown(e->word));
	}
out:
	index_free(ix);
	return rc;
}

int
catalogue_edit(struct catalogue *c, struct catalogue_edit *e, struct error *err)
{
	struct edit_job j = { c, e };

	e->count = 0;
	e->refused = 0;
	e->current[0] = e->current_word[0] = e->reason[0] = '\0';
	e->next_word[0] = '\0';
	e->moved = false;
	if (e->kind == CATALOGUE_CURRENT && e->look != NULL &&
	    look(c, e, err) < 0)
		return -1;
	return catalogue_change(c, edit, &j, err);
}
