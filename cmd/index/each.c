/* SPDX-License-Identifier: BSD-3-Clause */
/* each.c - scr_index --delete, --prune, --verify: one dataset after another. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app.h"
#include "buf.h"
#include "catalogue/owners.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/index.h"
#include "report/hint.h"
#include "report/plan_text.h"
#include "report/results.h"
#include "str.h"
#include "verbs.h"

/* Problems of one dataset reported without -v. */
#define PROBLEMS_SHOWN 20

struct each {
	const struct settings *s;
	struct catalogue *c;
	struct catalogue_options o;
	struct json *list;		 /* NULL: rows on stdout */
	struct owners_overlap *overlaps; /* by id; --verify only */
	size_t noverlaps;
};

/* Find the entry of dataset `id`; without a name it gets that of its
 * directory, in `dir`. */
static void
name_entry(const struct index *ix, int64_t id, struct index_entry *e, char *dir,
	   size_t size)
{
	if (index_find_id(ix, id, e, NULL) < 0)
		*e = (struct index_entry){ .id = id };
	snprintf(dir, size, DATASET_DIR_FMT, id);
	if (e->name == NULL)
		e->name = dir;
}

/* A dataset was deleted, with --dry-run would be, or could not be. */
static void
deleted(void *arg, int64_t id, const struct delete_result *r,
	const struct error *why)
{
	const struct each *w = arg;
	const bool dry_run = w->s->dry_run;
	struct buf row = BUF_INIT;
	struct index_entry e;
	char text[256], dir[64];
	struct json *j = NULL;

	name_entry(w->o.index, id, &e, dir, sizeof(dir));
	if (w->list != NULL) {
		j = results_delete_json(id, e.name, r);
		json_set_bool(j, "deleted", why == NULL && !dry_run);
		if (why != NULL)
			json_set_str(j, "error", why->text);
		json_push(w->list, j);
	} else if (why == NULL && dry_run) {
		results_delete_row(id, e.name, r, &row);
		app_print(&row);
	}
	if (why == NULL && !dry_run)
		app_warn("dataset %" PRId64 " (%s): deleted: %zu %s, %s", id,
			 verbs_shown(e.name, text), str_count(r->files, "file"),
			 str_size(r->bytes));
}

/* The last line is kept back, to add the next step to it. */
struct problems {
	const char *name;
	struct json *list; /* NULL: to stderr */
	size_t count;
	struct buf last;
};

/* Print the line that was kept back. */
static void
print_last(struct problems *p, const char *next)
{
	if (p->last.len > 0)
		app_error("%s: %s%s%s", p->name, p->last.data,
			  next[0] != '\0' ? ": " : "", next);
	buf_clear(&p->last);
}

static void
bad(void *arg, const char *what)
{
	struct problems *p = arg;

	if (p->list != NULL) {
		json_push_str(p->list, what);
	} else if (p->count < PROBLEMS_SHOWN || app_verbosity() > 0) {
		print_last(p, "");
		(void)buf_add_str(&p->last, what);
	}
	p->count++;
}

/* Print what is left to say, and the command that mends the dataset if there
 * is one. */
static void
end_problems(struct each *w, int64_t id, enum verify_mend mend,
	     struct problems *p)
{
	const struct settings *s = w->s;
	char command[1024], next[1100] = "", more[64], word[WORD_ID_SIZE];

	if (p->list != NULL)
		return;
	if (mend != MEND_NONE)
		snprintf(next, sizeof(next), "%s mends it",
			 report_command(
				 report_mend(mend, s->deep, s->checksums),
				 app_prefix(s->prefix),
				 catalogue_word(w->c, w->o.index, id, word),
				 command, sizeof(command)));
	if (p->count > PROBLEMS_SHOWN && app_verbosity() <= 0) {
		print_last(p, "");
		snprintf(more, sizeof(more), "%zu more problems (-v shows all)",
			 p->count - PROBLEMS_SHOWN);
		(void)buf_add_str(&p->last, more);
	}
	print_last(p, next);
	buf_free(&p->last);
}

static int
by_id(const void *a, const void *b)
{
	const int64_t x = ((const struct owners_overlap *)a)->id;
	const int64_t y = ((const struct owners_overlap *)b)->id;

	return (x > y) - (x < y);
}

/* Report files that another dataset has, too: they have the bytes of the one
 * that was written last. */
static int
report_overlap(const struct each *w, int64_t id, struct problems *p)
{
	const struct owners_overlap key = { .id = id };
	const struct owners_overlap *o = NULL;
	char text[ERROR_TEXT_MAX];

	if (w->noverlaps > 0)
		o = bsearch(&key, w->overlaps, w->noverlaps, sizeof(key),
			    by_id);
	if (o == NULL)
		return STATUS_OK;
	snprintf(text, sizeof(text),
		 "%s: dataset %" PRId64 " has this file, too (%zu %s in all)%s",
		 o->path, o->other, str_count(o->files, "file"),
		 o->differ ? ": the bytes are those of one of them; drop the "
			     "other"
			   : "; are they the same? Checksums would tell");
	bad(p, text);
	return o->differ ? STATUS_DAMAGED : STATUS_OK;
}

/* Verify one dataset.  A dataset that the index lists as incomplete is verified
 * only if the user names it. */
static int
verify_one(struct each *w, const struct index_entry *e)
{
	struct verify_result r = { .status = STATUS_OK };
	struct error err = ERROR_INIT;
	struct problems p = { .last = BUF_INIT };
	const struct verify_listener listener = { bad, &p };
	struct buf row = BUF_INIT, word = BUF_INIT;
	struct json *j = NULL;
	const char *state = "incomplete";
	size_t told = 0;
	char text[256];
	int status = STATUS_OK;

	p.name = verbs_shown(catalogue_name_word(w->c, w->o.index, e, &word),
			     text);
	buf_free(&word);
	if (w->list != NULL)
		p.list = json_new_array();
	if (e->complete == 1 || w->s->word != NULL) {
		catalogue_verify(w->c, e, &w->o, &listener, &r, &err);
		if (r.status != STATUS_LOST && e->desc.id == 0 &&
		    err.kind == ERROR_NONE) {
			bad(&p, "not in the index, so no job restarts from it");
			if (r.status == STATUS_OK || r.mend != MEND_NONE)
				r.mend = MEND_BUILD;
			r.status = error_worse_status(r.status, STATUS_DAMAGED);
		}
		told = p.count;
		if (err.kind == ERROR_NONE)
			r.status = error_worse_status(
				r.status, report_overlap(w, e->id, &p));
		if (p.count != told || err.kind != ERROR_NONE)
			r.mend = MEND_NONE;
		end_problems(w, e->id, r.mend, &p);
		status = app_report(r.status, &err);
		/* Without --moved-from, for example, it is not known. */
		if (status == STATUS_USAGE)
			status = STATUS_FAILED;
		state = report_state(status);
	}
	if (w->list != NULL) {
		j = results_verify_json(e->id, e->name, state, &r);
		json_set(j, "problems", p.list);
		json_push(w->list, j);
		return status;
	}
	results_verify_row(e->id, e->name, state, &r, &row);
	app_print(&row);
	return status;
}

/* Print the headings of the table. */
static void
print_head(const struct each *w)
{
	struct buf head = BUF_INIT;

	if (w->s->verb == VERB_VERIFY)
		results_verify_row(0, NULL, NULL, NULL, &head);
	else if (w->s->dry_run)
		results_delete_row(0, NULL, NULL, &head);
	app_print(&head);
}

static int
verify_all(struct each *w, const int64_t *ids, size_t count)
{
	struct index_entry e;
	char dir[64];
	int status = STATUS_OK;

	for (size_t i = 0; i < count && !app_stop(); i++) {
		name_entry(w->o.index, ids[i], &e, dir, sizeof(dir));
		status = error_worse_status(status, verify_one(w, &e));
	}
	return app_stop() ? error_worse_status(status, STATUS_FAILED) : status;
}

static int
delete_all(struct each *w, const int64_t *ids, size_t count)
{
	const struct delete_listener listener = { deleted, w };
	struct error err = ERROR_INIT;

	catalogue_delete_all(w->c, ids, count, &w->o, &listener, &err);
	return app_report(STATUS_OK, &err);
}

int
verbs_each(const struct settings *s, struct catalogue *c)
{
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(c, &err);
	struct each w = { .s = s, .c = c };
	struct json *j = NULL;
	int64_t *ids = NULL;
	size_t count = (size_t)-1;
	int status = STATUS_OK;

	if (ix != NULL && s->verb == VERB_PRUNE)
		ids = catalogue_prune(c, ix, (size_t)s->keep, s->filter.outputs,
				      &count, &err);
	else if (ix != NULL)
		ids = catalogue_ids(c, ix, s->word, &count, &err);
	if (count != (size_t)-1 && verbs_options(&w.o, s, &err) == 0) {
		w.o.index = ix;
		if (s->json)
			w.list = json_new_array();
		if (s->verb == VERB_VERIFY && catalogue_notice(c) != NULL)
			status = STATUS_DAMAGED;
		if (s->verb == VERB_VERIFY)
			owners_overlaps(c, ix, &w.o, &w.overlaps, &w.noverlaps,
					&err);
		if (w.list == NULL)
			print_head(&w);
		status = error_worse_status(
			status, s->verb == VERB_VERIFY
					? verify_all(&w, ids, count)
					: delete_all(&w, ids, count));
	}
	if (w.list != NULL) {
		j = json_new_object();
		json_set(j, "datasets", w.list);
	}
	app_work_end(&w.o.work);
	mem_free(w.overlaps);
	mem_free(ids);
	index_free(ix);
	return verbs_finish(s, j, status, &err);
}
