/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.c - scr_index --verify: is a dataset whole?  Change nothing.
 *
 * A plan checks the files.  Then the metadata are judged that the library reads
 * at a restart (fetchable.c): without them no job restarts from the files.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/owners.h"
#include "catalogue/verify_impl.h"
#include "container/packed.h"
#include "error.h"
#include "meta/index.h"
#include "rescue/plan.h"
#include "str.h"

void
verify_say(struct verify *v, int status, bool fetch, const char *fmt, ...)
{
	struct fetchable *f = &v->out->fetch;
	char text[ERROR_TEXT_MAX + VERIFY_SHOWN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	v->reported++;
	v->out->status = error_worse_status(v->out->status, status);
	if (v->problems != NULL)
		v->problems->tell(v->problems->arg, text);
	if (!fetch || error_worse_status(f->status, status) == f->status)
		return;
	f->status = status;
	snprintf(f->why, sizeof(f->why), "%.*s", (int)sizeof(f->why) - 1, text);
}

void
verify_report_map(struct verify *v, const struct plan *p)
{
	char text[ERROR_TEXT_MAX];

	if (v->map_looked || (p == NULL && v->fetch.ranks == NULL))
		return;
	v->map_looked = p == NULL || p->packed;
	v->map = p != NULL ? catalogue_map_flaw(p, text, sizeof(text))
			   : catalogue_map_flaw_of(v->fetch.ranks, v->dir.fd,
						   text, sizeof(text));
	if (v->map != MEND_NONE)
		verify_report(v, STATUS_DAMAGED, "%s", text);
}

/* --- Directories renamed by hand --- */

bool
verify_is_astray(struct verify *v, const char *path, const struct attr *attr)
{
	struct owners_guard asks = { v->c, v->e->id, v->o, .all = true };

	if (!v->renamed.looked)
		catalogue_renamed_find(&asks, path, attr, &v->renamed);
	if (!catalogue_renamed_has(v->c, &v->renamed, path, attr))
		return false;
	v->astray++;
	return true;
}

static void
note_renamed(struct verify *v, const char *in, const char *was, const char *is)
{
	struct verify_result *r = v->out;

	if (snprintf(r->was, sizeof(r->was), "%s%s", in, was) >=
		    (int)sizeof(r->was) ||
	    snprintf(r->is, sizeof(r->is), "%s%s", in, is) >=
		    (int)sizeof(r->is))
		r->was[0] = '\0';
}

void
verify_report_astray(struct verify *v)
{
	v->by_hand = v->by_hand || v->astray > 0;
	if (v->astray == 0)
		return;
	note_renamed(v, "", v->renamed.from, v->renamed.to);
	verify_report(v, STATUS_DAMAGED,
		      "%s: missing, with %zu %s; %s looks like it: rename it "
		      "back",
		      str_shown(v->renamed.from), str_count(v->astray, "file"),
		      str_shown(v->renamed.to));
}

/* --- What the library reads first --- */

/* Judge the index entry. */
static void
report_entry(struct verify *v)
{
	char reason[VERIFY_SHOWN];

	if (v->e->desc.id == 0)
		return;
	index_entry_reason(v->e, reason, sizeof(reason));
	if (reason[0] != '\0' && (v->e->complete != 1 || !v->e->current))
		verify_report(v, STATUS_DAMAGED, "its index entry: %s", reason);
}

/* Judge the metadata, after the files.  Metadata that can be written again are
 * damaged, not lost. */
static void
report_fetch(struct verify *v, bool has_plan)
{
	const struct catalogue_fetch *f = &v->fetch;
	const bool again = v->out->fetch.status != STATUS_LOST && !f->unproved;

	v->out->fetch.packed = f->packed;
	if (f->desc.tree != NULL && f->desc.view.complete == 0)
		verify_report(v, STATUS_LOST,
			      SUMMARY_FILE ": the job declared the dataset "
					   "invalid");
	verify_report_map(v, NULL);
	/* No library fetches a packed dataset, and unpacking writes its
	 * rank2file again. */
	if (f->ranks != NULL && f->ranks->refused != NULL && !f->packed)
		verify_report(v, STATUS_DAMAGED, "%s", f->ranks->refused);
	if (f->no_ranks.kind != ERROR_NONE)
		verify_report(v,
			      !has_plan ? STATUS_FAILED
			      : again	? STATUS_DAMAGED
					: STATUS_LOST,
			      "%s", f->no_ranks.text);
	if (f->no_summary.kind != ERROR_NONE)
		verify_report(v,
			      again && (has_plan ||
					catalogue_fetch_described(v->c, &v->dir,
								  v->e))
				      ? STATUS_DAMAGED
			      : has_plan ? STATUS_LOST
					 : STATUS_FAILED,
			      "%s", f->no_summary.text);
	report_entry(v);
}

/* --- Without a metadata directory --- */

static void
report_flaw(void *arg, const struct packed_flaw *f)
{
	verify_report(arg,
		      f->file != SIZE_MAX && !f->red ? STATUS_LOST
						     : STATUS_DAMAGED,
		      "%s", f->text);
}

/* Verify a dataset in the layout of SCR 1.1.8. */
static int
verify_old(struct verify *v, struct error *err)
{
	const struct packed_look look = {
		.work = &v->o->work,
		.sums = v->o->checksums,
		.flaw = report_flaw,
		.arg = v,
	};
	struct packed_health h = { .files = 0 };
	char word[WORD_ID_SIZE];
	struct packed p;
	int rc = -1;

	snprintf(word, sizeof(word), WORD_ID_FMT, v->e->id);
	if (catalogue_packed_open(v->c, word, false, v->o, &p, err) < 0)
		return -1;
	rc = packed_check(&p, &look, &h, err);
	if (h.unread > 0)
		verify_report(v, STATUS_FAILED,
			      "%zu %s could not be read: unknown",
			      str_count(h.unread, "file"));
	v->out->files = h.files;
	v->out->bad_files = h.files_bad;
	v->out->bytes = h.bytes;
	v->out->unchecked = h.no_sum;
	v->out->crc_checked = v->o->checksums ? h.files - h.no_sum : 0;
	v->out->crc_bytes = h.read;
	packed_health_free(&h);
	packed_close(&p);
	return rc;
}

static int
verify_gone(struct verify *v, struct error *err)
{
	const char *like = NULL;
	char name[DATASET_DIR_NAME];
	int found = 0;

	v->by_hand = true;
	if (v->e->name != NULL && packed_is_old(v->c->prefix_fd, v->e->name))
		return verify_old(v, err);
	found = catalogue_renamed_meta(v->c, v->e->id, &like, err);
	if (found < 0)
		return -1;
	snprintf(name, sizeof(name), DATASET_DIR_FMT, v->e->id);
	if (found > 0)
		note_renamed(v, SCR_DIR "/", name, like);
	if (found > 0)
		verify_report(v, STATUS_DAMAGED,
			      "its metadata directory " DATASET_DIR_FMT
			      " is gone; %s looks like it: rename it back",
			      v->e->id, str_shown(like));
	else
		verify_report(v, STATUS_LOST,
			      "its metadata directory is missing: its files "
			      "are unknown");
	return 0;
}

/* Report a path that a packed map lists twice. */
static void
report_twins(struct verify *v)
{
	const struct rank2file *r = v->fetch.ranks;
	struct error why = ERROR_INIT;
	struct segmap m;

	if (r == NULL || !segmap_is_packed(r) || segmap_read(&m, r, NULL) < 0)
		return;
	if (segmap_refuse_twins(&m, NULL, ERROR_DAMAGED, "the map is damaged",
				&why) < 0) {
		v->by_hand = true;
		verify_report(v, STATUS_DAMAGED, "%s", why.text);
	}
	segmap_free(&m);
}

/* --- Entry points --- */

/* Read summary and rank2file. */
static int
read_meta(struct verify *v, const struct plan *p, struct error *err)
{
	int64_t by = 0;

	if (catalogue_fetch_read(&v->fetch, &v->dir, v->e, p, err) < 0)
		return -1;
	if (v->fetch.replaced > 0 &&
	    catalogue_replaced(v->c, v->e->id, v->o, &by, NULL) == 0 && by == 0)
		catalogue_fetch_spared(&v->fetch);
	return 0;
}

static int
verify(struct verify *v, struct error *err)
{
	struct error why = ERROR_INIT;
	struct plan *p = NULL;
	int rc = -1;

	if (catalogue_dir_open(v->c, v->e->id, &v->dir, &why) < 0) {
		if (why.kind == ERROR_ABSENT)
			return verify_gone(v, err);
		return error_pass(err, &why);
	}
	p = catalogue_plan_as(v->c, v->dir.id, v->o, &why);
	if (p == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	rc = read_meta(v, p, err);
	if (rc == 0 && p != NULL)
		rc = verify_by_plan(v, p, err);
	if (rc == 0) {
		report_fetch(v, p != NULL);
		report_twins(v);
	}
	v->out->nameless = v->out->nameless || p == NULL;
	if (rc == 0 && p == NULL)
		verify_report(
			v, STATUS_FAILED,
			"no filemaps and no good rank2file: its files are "
			"unknown");
	/* The plan has the rank2file. */
	v->fetch.ranks = NULL;
	plan_free(p);
	return rc;
}

static void
choose_mend(struct verify *v)
{
	v->out->mend = v->out->status != STATUS_DAMAGED || v->by_hand
			       ? MEND_NONE
		       : v->map != MEND_NONE && v->reported == 1 ? v->map
								 : MEND_BUILD;
}

/* Verify the metadata of a dataset whose files plan `p` has checked. */
static int
verify_meta(struct verify *v, const struct plan *p, struct error *err)
{
	if (catalogue_dir_open(v->c, v->e->id, &v->dir, err) < 0 ||
	    read_meta(v, p, err) < 0 ||
	    catalogue_fetch_match(&v->fetch, p, err) < 0)
		return -1;
	verify_report_names(v, p);
	verify_report_map(v, p);
	report_fetch(v, true);
	return 0;
}

/* Verify with the files, or if `p` is not NULL, after these. */
static int
verify_with(struct verify *v, const struct plan *p, struct error *err)
{
	int rc = -1;

	memset(v->out, 0, sizeof(*v->out));
	rc = p != NULL ? verify_meta(v, p, err) : verify(v, err);
	choose_mend(v);
	catalogue_fetch_free(&v->fetch);
	catalogue_dir_close(&v->dir);
	return rc;
}

int
catalogue_verify(struct catalogue *c, const struct index_entry *e,
		 const struct catalogue_options *o,
		 const struct verify_listener *problems,
		 struct verify_result *out, struct error *err)
{
	struct verify v = { c, e, o, out, problems, .dir = CATALOGUE_DIR_INIT };

	return verify_with(&v, NULL, err);
}

bool
catalogue_only_renamed(struct catalogue *c, int64_t id,
		       const struct catalogue_options *o,
		       struct verify_result *r, struct error *err)
{
	struct catalogue_options quiet = { .work = o->work, .index = o->index };
	const struct index_entry e = { .id = id, .complete = -1 };

	if (err->kind != ERROR_LOST && err->kind != ERROR_SYSTEM)
		return false;
	quiet.work.log = quiet.work.detail = NULL;
	if (catalogue_verify(c, &e, &quiet, NULL, r, NULL) < 0 ||
	    r->was[0] == '\0')
		return false;
	if (r->status == STATUS_DAMAGED)
		error_set(err, ERROR_DAMAGED,
			  "dataset %" PRId64
			  ": %s: missing; %s looks like it: rename "
			  "it back",
			  id, r->was, r->is);
	return true;
}

int
catalogue_verify_plan(struct catalogue *c, const struct index_entry *e,
		      const struct plan *p,
		      const struct verify_listener *problems,
		      struct verify_result *out, struct error *err)
{
	const struct catalogue_options o = { .deep = false };
	struct verify v = {
		c, e, &o, out, problems, .dir = CATALOGUE_DIR_INIT
	};

	return verify_with(&v, p, err);
}
