/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * edit.c - drop, drop after, current: changes of the index only; scr_index
 * --add: index a dataset that has a summary; and forgive a fetch that failed
 * while the dataset was packed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "container/packed.h"
#include "error.h"
#include "json.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/index.h"
#include "str.h"
#include "work.h"

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

/* Make one change, and record how the restart point changed. */
static int
edit(struct catalogue *c, struct index *ix, struct catalogue_edit *e,
     struct error *err)
{
	const char *now = index_current(ix);
	const char *word = NULL;
	char before[sizeof(e->current)];
	struct buf scratch = BUF_INIT;
	struct index_entry entry;
	int64_t newest[2];
	int rc = 0;

	snprintf(before, sizeof(before), "%s", now != NULL ? now : "");
	if (e->kind != CATALOGUE_DROP_ALL && e->kind != CATALOGUE_UNCURRENT &&
	    find(c, ix, e, &entry, err) < 0)
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
		word = catalogue_name_word(c, ix, &entry, &scratch);
	snprintf(e->current_word, sizeof(e->current_word), "%s", word);
	index_newest(ix, newest);
	if (now == NULL && newest[0] > 0 &&
	    index_find_id(ix, newest[0], &entry, NULL) == 0)
		snprintf(e->next_word, sizeof(e->next_word), "%s",
			 entry.name != NULL
				 ? catalogue_name_word(c, ix, &entry, &scratch)
				 : catalogue_word_str(c, ix, entry.id));
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
	if (rc < 0) {
		e->refused = entry.id;
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
	struct catalogue_change t;
	int rc = 0;

	e->count = 0;
	e->refused = 0;
	e->current[0] = e->current_word[0] = e->reason[0] = '\0';
	e->next_word[0] = '\0';
	e->moved = false;
	if (e->kind == CATALOGUE_CURRENT && e->look != NULL &&
	    look(c, e, err) < 0)
		return -1;
	rc = catalogue_begin(c, &t, err);
	if (rc == 0)
		rc = edit(c, t.ix, e, err);
	return catalogue_end(&t, rc, err);
}

/* --- Of SCR 1.1.8 --- */

struct kvtree *
catalogue_old_summary(const struct packed *p, struct error *err)
{
	struct catalogue_desc desc = { .tree = NULL };
	struct kvtree *t = NULL, *now = NULL;
	struct summary s;

	t = summary_load(p->meta_fd, SUMMARY_FILE, NULL, &s, err);
	if (t == NULL || dataset_read(s.desc, &desc.view, err) < 0)
		goto out;
	if (s.complete != 1 || desc.view.id != p->id) {
		error_set(err, ERROR_DAMAGED,
			  "%s: its summary does not say that dataset %" PRId64
			  " is complete",
			  p->name, p->id);
		goto out;
	}
	if (desc.view.name == NULL)
		desc.view.name = p->name;
	/* With the flags, which 1.1.8 does not write. */
	if (catalogue_desc_make(&desc, &desc.view, err) == 0)
		now = summary_build(desc.tree, 1, err);
out:
	catalogue_desc_free(&desc);
	kvtree_free(t);
	return now;
}

/* --- With a summary --- */

/* The dataset is not added because of *why; `f` says whether a build helps. */
static int
refuse(struct catalogue *c, const struct catalogue_dir *d,
       const struct fetchable *f, const struct error *why, struct error *err)
{
	const bool helps = f->status == STATUS_DAMAGED;

	return error_as(err, why, "%s: not added: %s%s%s", d->name, why->text,
			helps ? ": repair it with --build " : "",
			helps ? catalogue_word_now_str(c, d->id) : "");
}

/* The dataset has no directory, because of *why.  One of SCR 1.1.8 has another
 * one, which is its name. */
static int
refuse_absent(struct catalogue *c, int64_t id, const struct error *why,
	      struct error *err)
{
	struct index *ix = catalogue_read_quietly(c, NULL);
	struct index_entry e;
	int rc = 0;

	if (why->kind == ERROR_ABSENT && ix != NULL &&
	    index_find_id(ix, id, &e, NULL) == 0 && e.name != NULL &&
	    packed_is_old(c->prefix_fd, e.name))
		rc = error_set(err, ERROR_USAGE,
			       "%s: a dataset of SCR 1.1.8: export and import "
			       "bring it to SCR 3.1",
			       e.name);
	else
		rc = error_pass(err, why);
	index_free(ix);
	return rc;
}

int
catalogue_add(struct catalogue *c, int64_t id,
	      const struct catalogue_options *o, struct buf *name,
	      struct error *err)
{
	const struct index_entry none = { .id = id, .complete = -1 };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct catalogue_desc desc = { .tree = NULL };
	struct fetchable f;
	struct error why = ERROR_INIT;
	int rc = -1;

	if (catalogue_dir_open(c, id, &d, &why) < 0)
		return refuse_absent(c, id, &why, err);
	if (catalogue_dir_lock(c, &d, o, err) < 0 ||
	    /* Can the library fetch it? */
	    catalogue_fetchable(c, &none, o, &f, err) < 0)
		goto out;
	if (catalogue_read_summary(&d, &desc, &why) < 0)
		refuse(c, &d, &f, &why, err);
	else if (desc.replaced > 0)
		error_set(err, ERROR_DAMAGED,
			  "%s: not added: dataset %" PRId64
			  " replaced its files; --build %s checks by checksums "
			  "which of them are left",
			  d.name, desc.replaced, catalogue_word_now_str(c, id));
	else if (desc.complete != 1)
		error_set(err, ERROR_DAMAGED,
			  "%s: its summary does not say that it is complete; "
			  "--build %s checks it",
			  d.name, catalogue_word_now_str(c, id));
	else if (catalogue_check_given_up(&d, &desc, err) == 0)
		rc = fetchable_error(&f, &why) < 0
			     ? refuse(c, &d, &f, &why, err)
			     : catalogue_record_entry(c, &desc, NULL, true, o,
						      err);
	if (rc == 0)
		buf_add_str(name, desc.view.name);
out:
	catalogue_desc_free(&desc);
	catalogue_dir_close(&d);
	return rc;
}

/* --- After a fetch that failed --- */

int
catalogue_forgive(struct catalogue *c, int64_t id,
		  const struct catalogue_options *o, struct error *err)
{
	struct index *ix = catalogue_read(c, NULL);
	struct verify_result r = { .bad_files = 1 };
	struct catalogue_change t;
	struct index_entry e;
	int rc = 0;

	if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
	    e.failed != NULL)
		rc = catalogue_verify(c, &e, o, NULL, &r, err);
	index_free(ix);
	if (rc < 0)
		return -1;
	if (r.bad_files > 0 || r.status == STATUS_LOST ||
	    r.status == STATUS_FAILED)
		return 0;
	rc = catalogue_begin(c, &t, err);
	if (rc == 0)
		rc = index_find_id(t.ix, id, &e, err);
	if (rc < 0 || e.failed == NULL)
		return catalogue_end(&t, rc < 0 ? -1 : 1, err);
	work_say(&o->work,
		 "dataset %" PRId64 ": the mark of the failed fetch of %s is "
		 "gone",
		 id, str_quoted(e.failed));
	rc = index_set_extra(t.ix, id, "FAILED", NULL, err);
	return catalogue_end(&t, rc, err);
}
