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
#include "num.h"
#include "progress.h"
#include "report/hint.h"
#include "report/packing.h"
#include "report/plan_text.h"
#include "stop.h"
#include "verbs.h"

/* Problems of one dataset reported without -v. */
#define PROBLEMS_SHOWN 20

struct each {
	struct settings *s;
	struct catalogue *c;
	struct json *list;		 /* NULL: rows on stdout */
	struct owners_overlap *overlaps; /* by id; --verify only */
	size_t noverlaps;
	char dir[64];  /* of the dataset, as its name */
	int64_t whole; /* the first dataset found whole; 0: none */
	bool steps;    /* a dataset has a next step */
};

/* Find the entry of dataset `id`; without a name it gets the recorded one, or
 * that of its directory. */
static void
name_entry(struct each *w, int64_t id, struct index_entry *e)
{
	if (index_find_id(w->s->o.index, id, e, NULL) < 0)
		*e = (struct index_entry){ .id = id };
	snprintf(w->dir, sizeof(w->dir), DATASET_DIR_FMT, id);
	if (e->name == NULL)
		e->name = catalogue_recorded_name(w->c, w->s->o.index, id);
	if (e->name == NULL)
		e->name = w->dir;
}

/* A dataset was deleted, with --dry-run would be, or could not be. */
static void
deleted(void *arg, int64_t id, const struct delete_result *r,
	const struct error *why)
{
	struct each *w = arg;
	const bool dry_run = w->s->o.work.dry_run;
	struct index_entry e;

	name_entry(w, id, &e);
	if (w->list != NULL) {
		struct json *j = report_dataset_new(id, e.name);

		json_set_u64(j, "file_count", r->files);
		json_set_u64(j, "directory_count", r->dirs);
		json_set_u64(j, "bytes", r->bytes);
		json_set_u64(j, "files_kept", r->kept);
		json_set_bool(j, "deleted", why == NULL && !dry_run);
		if (why != NULL)
			json_set_str(j, "reason", why->text);
		json_push(w->list, j);
	} else if (why == NULL && dry_run) {
		printf("%4" PRId64 " %7zu %5zu %10s %s\n", id, r->files,
		       r->dirs, str_size(r->bytes), str_shown(e.name));
	}
	if (why == NULL && !dry_run)
		app_warn("dataset %" PRId64 " (%s): deleted: %zu %s, %s", id,
			 verbs_shown(e.name), str_count(r->files, "file"),
			 str_size(r->bytes));
}

struct problems {
	const char *name;
	struct json *list; /* NULL: to stderr */
	size_t count;
};

static void
bad(void *arg, const char *what)
{
	struct problems *p = arg;

	if (p->list != NULL) {
		report_push_problem(p->list, what);
	} else if (p->count < PROBLEMS_SHOWN || app_verbosity() > 0) {
		app_error("%s: %s", p->name, what);
	}
	p->count++;
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
			    num_by_id);
	if (o == NULL)
		return STATUS_OK;
	snprintf(text, sizeof(text),
		 "%s: dataset %" PRId64 " has this file, too (%zu %s in all)%s",
		 o->path, o->other, str_count(o->files, "file"),
		 o->differ
			 ? ": the bytes are those of one of them; drop the "
			   "other"
			 : "; without checksums it is unknown whether they are "
			   "equal");
	bad(p, text);
	return o->differ ? STATUS_DAMAGED : STATUS_OK;
}

/* Add the result, or print its row. */
static void
put_verified(const struct each *w, const struct index_entry *e,
	     const char *state, const char *next, const struct verify_result *r,
	     struct json *problems)
{
	const size_t present = r->files - r->bad_files;
	const bool sums = r->crc_checked > 0, deep = r->deep_sets > 0;
	const bool sizes = r->unchecked == 0 || r->total_compared;
	/* "sizes only", "sizes, checksums of 3.9 KiB" */
	const char *compared = str_printed(
		128, "%s%s%s%s%s%s",
		present == 0	    ? "nothing"
		: r->unchecked == 0 ? "sizes"
		: r->total_compared
			? "total size"
			: str_printed(64, "sizes of %zu of %zu",
				      present - r->unchecked, present),
		sums ? ", checksums of " : "",
		sums ? str_size(r->crc_bytes) : "", deep ? ", redundancy" : "",
		present > 0 && sizes && !sums && !deep ? " only" : "",
		r->fetch.packed ? ", packed" : "");
	char bad_files[24] = "?"; /* lost: unknown which */
	struct json *j = NULL;

	if (r->bad_files > 0 || r->status != STATUS_LOST)
		snprintf(bad_files, sizeof(bad_files), "%zu", r->bad_files);
	if (w->list == NULL) {
		printf("%4" PRId64 " %-10s %7zu %7s %10s %-30s %s\n", e->id,
		       state, r->files, bad_files, str_size(r->bytes), compared,
		       str_shown(e->name));
		return;
	}
	j = report_dataset_new(e->id, e->name);
	json_set_str(j, "state", state);
	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "files_bad", r->bad_files);
	json_set_u64(j, "files_without_size", r->unchecked);
	json_set_u64(j, "checksums_compared", r->crc_checked);
	json_set_u64(j, "bytes_compared", r->crc_bytes);
	json_set_u64(j, "bytes", r->bytes);
	json_set_str(j, "compared", compared);
	json_set_bool(j, "packed", r->fetch.packed);
	json_set_known_str(j, "next", next);
	json_set(j, "problems", problems);
	json_push(w->list, j);
}

/* Verify one dataset.  A dataset that the index lists as unfinished is verified
 * only if the user names it. */
static int
verify_one(struct each *w, const struct index_entry *e)
{
	struct verify_result r = { .status = STATUS_OK };
	struct error err = ERROR_INIT;
	struct problems p = { .count = 0 };
	const struct verify_listener listener = { bad, &p };
	struct next_case n = { .status = STATUS_OK };
	struct buf word = BUF_INIT;
	const char *state = "unfinished";
	char next[ERROR_TEXT_MAX] = "";
	int status = STATUS_OK, shared = STATUS_OK;
	bool stop = false;

	p.name =
		verbs_shown(catalogue_name_word(w->c, w->s->o.index, e, &word));
	buf_free(&word);
	if (w->list != NULL)
		p.list = json_new_array();
	if (e->complete == 1 || w->s->word != NULL) {
		catalogue_verify(w->c, e, &w->s->o, &listener, &r, &err);
		if (r.status != STATUS_LOST && e->desc.id == 0 &&
		    err.kind == ERROR_NONE) {
			bad(&p, "not in the index, so no job restarts from it");
			if (r.status == STATUS_OK || r.mend != REMEDY_NONE)
				r.mend = REMEDY_INDEX;
			r.status = error_worse_status(r.status, STATUS_DAMAGED);
		}
		if (err.kind == ERROR_NONE)
			shared = report_overlap(w, e->id, &p);
		r.status = error_worse_status(r.status, shared);
		if (shared != STATUS_OK || err.kind != ERROR_NONE)
			r.mend = REMEDY_NONE;
		/* Print what is left to say. */
		if (p.count > PROBLEMS_SHOWN && app_verbosity() <= 0)
			app_error("%s: %zu more problems (-v shows all)",
				  p.name, p.count - PROBLEMS_SHOWN);
		stop = stop_say(&err, app_prefix(w->s->prefix), false);
		status = app_report(r.status, &err);
		/* Without --moved-from, for example, it is not known. */
		if (status == STATUS_USAGE) {
			status = STATUS_FAILED;
		} else if (status != STATUS_OK && !stop) {
			n = (struct next_case){
				.status = status,
				.remedy = r.mend,
				.deep = w->s->o.deep,
				.checksums = w->s->o.checksums,
				.look = true,
				.undecided = r.stuck,
				.nameless = r.nameless,
				.way = r.way,
			};
			report_next_step(w->c, w->s->o.index, e->id, &n, next);
			w->steps = w->steps || next[0] != '\0';
			app_next(next);
		}
		state = report_state(status);
		if (status == STATUS_OK && w->whole == 0)
			w->whole = e->id;
	}
	put_verified(w, e, state, next, &r, p.list);
	return status;
}

int
verbs_each(struct settings *s, struct catalogue *c)
{
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(c, &err);
	struct each w = { .s = s, .c = c };
	const struct delete_listener listener = { deleted, &w };
	const bool verify = s->verb == VERB_VERIFY;
	struct json *j = NULL;
	struct index_entry e;
	char next[ERROR_TEXT_MAX];
	int64_t *ids = NULL;
	size_t count = (size_t)-1;
	int status = STATUS_OK;

	if (ix != NULL && verbs_start(s, &err) == 0) {
		s->o.index = ix;
		ids = s->verb == VERB_PRUNE
			      ? catalogue_prune(c, ix, &s->rules, &count, &err)
			      : catalogue_ids(c, ix, s->word, &count, &err);
	}
	if (s->verb == VERB_PRUNE && count != (size_t)-1 &&
	    catalogue_prune_check(c, ix, &(struct catalogue_goes){ ids, count },
				  &s->rules, &s->o, &err) < 0)
		count = (size_t)-1;
	if (count != (size_t)-1 && app_json())
		w.list = json_new_array();
	if (count != (size_t)-1 && !verify) {
		if (w.list == NULL && s->o.work.dry_run)
			puts("DSET   FILES  DIRS       SIZE NAME");
		catalogue_delete_all(c, ids, count, &s->o, &listener, &err);
	} else if (count != (size_t)-1) {
		owners_overlaps(c, ix, &s->o, &w.overlaps, &w.noverlaps, &err);
		if (w.list == NULL)
			puts("DSET STATE        FILES     BAD       SIZE "
			     "COMPARED                       NAME");
		if (catalogue_notice(c) != NULL)
			status = STATUS_DAMAGED;
		for (size_t i = 0; i < count && !app_stop(); i++) {
			name_entry(&w, ids[i], &e);
			if (count > 1)
				progress_subject(s->o.work.progress, "%s",
						 e.name);
			status = error_worse_status(status, verify_one(&w, &e));
		}
		if (app_stop())
			status = error_worse_status(status, STATUS_FAILED);
	}
	if (w.list != NULL) {
		j = json_new_object();
		json_set(j, "datasets", w.list);
	}
	/* Only the index is damaged or missing: building a dataset writes
	 * it. */
	if (verify && catalogue_notice(c) != NULL && !w.steps && w.whole != 0) {
		report_next(REMEDY_INDEX, c, w.whole, next);
		json_set_known_str(j, "next", next);
		app_next(next);
	}
	app_work_end(&s->o.work);
	mem_free(w.overlaps);
	mem_free(ids);
	index_free(ix);
	return verbs_finish(s, j, "", status, &err);
}
