/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.c - scr_index --verify: check a dataset, and change nothing.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "container/packed.h"
#include "error.h"
#include "mem.h"
#include "meta/index.h"
#include "meta/kvtree.h"
#include "rescue/deep.h"
#include "str.h"

/* Buffer size for a path in a sentence. */
#define SHOWN_MAX 512

struct verify {
	struct catalogue *c;
	const struct catalogue_options *o;
	struct verify_result *out;
	const struct verify_listener *problems; /* or NULL */
	size_t told;				/* problems reported so far */
	struct catalogue_dir dir;
	struct rank2file old;
	bool have_old;
};

/* Report one problem, and set the status that follows from it. */
static void __attribute__((format(printf, 3, 4)))
tell(struct verify *v, int status, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX + SHOWN_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	v->told++;
	v->out->status = error_worse_status(v->out->status, status);
	if (v->problems != NULL)
		v->problems->tell(v->problems->arg, text);
}

/* --- With filemaps --- */

static const char *
fate_words(enum fate f)
{
	return f == FATE_REBUILD ? "can be rebuilt" : "lost";
}

static void
tell_file(struct verify *v, const struct plan_file *f)
{
	char path[SHOWN_MAX];
	int status = f->fate == FATE_REBUILD ? STATUS_DAMAGED : STATUS_LOST;

	v->out->bad_files++;
	str_printable(path, sizeof(path), f->path != NULL ? f->path : "?");
	if (f->state == FILE_WRONG_SIZE)
		tell(v, status,
		     "%s: %" PRIu64 " bytes, should be %" PRIu64
		     " (rank %" PRIu32 "): %s",
		     path, f->found_size, f->attr.size, f->rank,
		     fate_words(f->fate));
	else
		tell(v, status, "%s: %s (rank %" PRIu32 "): %s", path,
		     file_state_name(f->state), f->rank, fate_words(f->fate));
}

/* Report damaged or missing redundancy, even if the data are right: they are
 * not protected from the next loss. */
static void
tell_set(struct verify *v, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];

		if (m->fate == FATE_KEEP && m->state != RED_DAMAGED &&
		    m->state != RED_HEADER_DAMAGED)
			continue;
		tell(v, STATUS_DAMAGED,
		     "%s, member %" PRIu32 " of %" PRIu32 " of set %" PRIu32
		     " (%s%s): %s",
		     m->name != NULL ? m->name : "redundancy file", i + 1, s->n,
		     s->number, redset_type_name(s->type),
		     s->map ? " over filemaps" : "",
		     m->problem != NULL ? m->problem
					: red_state_name(m->state));
	}
}

static void
tell_plan(struct verify *v, const struct plan *p)
{
	struct error why = ERROR_INIT;

	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_rank *r = &p->ranks[i];

		if (r->map.fate != FATE_KEEP)
			tell(v,
			     r->map.fate == FATE_REBUILD ? STATUS_DAMAGED
							 : STATUS_LOST,
			     "filemap of rank %" PRId64 ": %s: %s", i,
			     r->map.why != NULL ? r->map.why : "missing",
			     fate_words(r->map.fate));
	}
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->state != FILE_PRESENT) {
			tell_file(v, f);
			continue;
		}
		v->out->bytes += f->attr.size;
		v->out->unchecked += !f->attr.has_size;
	}
	v->out->files = p->nfiles;
	for (size_t i = 0; i < p->nsets; i++)
		tell_set(v, &p->sets[i]);
	/* The verdict gives the reason.  If all data are present, lost
	 * redundancy is only damage. */
	if (plan_error(p, &why) < 0 && (why.kind == ERROR_LOST || v->told == 0))
		tell(v,
		     catalogue_data_whole(p) ? STATUS_DAMAGED
					     : error_status(why.kind),
		     "%s", why.text);
}

static int
verify_deep(struct verify *v, struct plan *p, struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	struct error why = ERROR_INIT;

	if (deep_check(p, &v->o->work, &r, err) < 0)
		return -1;
	for (size_t i = 0; i < r.nfindings; i++) {
		deep_error(p, &r.findings[i], &why);
		tell(v, STATUS_DAMAGED, "%s", why.text);
		v->out->bad_files += r.findings[i].file != PLAN_NONE;
	}
	deep_free(&r);
	return 0;
}

/* Compare the checksums in rank2file; the plan compared those in filemaps. */
static int
verify_sums(struct verify *v, struct plan *p, struct error *err)
{
	struct catalogue_sum *sums = catalogue_sums(
		p, v->have_old && !p->outdated ? &v->old : NULL, err);
	int rc = -1;

	if (sums != NULL)
		rc = catalogue_sums_compare(v->c, p, sums, false, v->o, err);
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++)
		v->out->crc_checked += p->files[i].has_crc &&
				       (p->files[i].state == FILE_PRESENT ||
					p->files[i].state == FILE_WRONG_CRC);
	mem_free(sums);
	return rc;
}

/* Verify by the filemaps. 1: rank2file is needed instead, because there are
 * none, or a flushed dataset has too few. */
static int
verify_plan(struct verify *v, struct error *err)
{
	struct error why = ERROR_INIT;
	struct plan *p = catalogue_plan_as(v->c, v->dir.id, v->o, &why);
	int rc = 0;

	if (p == NULL && why.kind == ERROR_ABSENT)
		return 1;
	if (p == NULL)
		return error_pass(err, &why);
	if (v->have_old && catalogue_flush_knows(&v->dir, p)) {
		rc = 1;
		goto out;
	}
	if (v->o->checksums)
		rc = verify_sums(v, p, err);
	if (rc == 0)
		tell_plan(v, p);
	if (rc == 0 && v->o->deep)
		rc = verify_deep(v, p, err);
out:
	plan_free(p);
	return rc;
}

/* --- With a rank2file alone --- */

static int
verify_flushed(struct verify *v, struct error *err)
{
	struct catalogue_files files = { .list = NULL };
	struct catalogue_desc s = { .tree = NULL };
	struct error why = ERROR_INIT;
	char text[ERROR_TEXT_MAX];
	struct catalogue_tally t;
	int complete = -1, rc = -1;

	if (catalogue_files_from(&v->old, v->dir.fd, &files, err) < 0 ||
	    catalogue_files_check(v->c, &files, v->o->checksums, v->o, err) < 0)
		goto out;
	rc = 0;
	catalogue_files_tally(&files, &t);
	for (size_t i = 0; i < files.count; i++)
		if (files.list[i].state != FILE_PRESENT)
			tell(v, STATUS_LOST, "%s: lost",
			     catalogue_file_problem(&files.list[i], text,
						    sizeof(text)));
	v->out->files = t.files;
	v->out->bad_files = t.bad;
	v->out->unchecked = t.unchecked;
	v->out->crc_checked = t.summed;
	v->out->bytes = t.bytes;
	if (catalogue_read_summary(&v->dir, &s, &complete, &why) < 0 ||
	    complete != 1)
		tell(v, STATUS_LOST, "%s",
		     why.kind != ERROR_NONE ? why.text
					    : "its summary does not say that "
					      "it is complete");
	error_clear(&why);
	if (t.bad == 0 && catalogue_files_whole(&v->old, &files,
						s.tree != NULL ? &s.view : NULL,
						false, &why) < 0)
		tell(v, STATUS_LOST, "%s", why.text);
	catalogue_desc_free(&s);
out:
	catalogue_files_free(&files);
	return rc;
}

/* --- In the layout of SCR 1.1.8 --- */

static void
tell_flaw(void *arg, const struct packed_flaw *f)
{
	tell(arg, f->file != SIZE_MAX ? STATUS_LOST : STATUS_DAMAGED, "%s",
	     f->text);
}

/* Dataset `id` has no directory: verify it if it has layout 1. */
static int
verify_old(struct verify *v, int64_t id, struct error *err)
{
	struct index *read = NULL;
	const struct index *ix = catalogue_index(v->c, v->o, &read);
	const struct packed_look look = {
		&v->o->work,
		v->o->checksums,
		tell_flaw,
		v,
	};
	struct packed_health h = { .files = 0 };
	struct index_entry e;
	struct packed p;
	int rc = -1;

	if (ix == NULL || index_find_id(ix, id, &e, NULL) < 0 ||
	    e.name == NULL || !packed_is_old(v->c->prefix_fd, e.name)) {
		tell(v, STATUS_LOST, "its metadata directory is gone");
		rc = 0;
		goto out;
	}
	if (catalogue_packed_open(v->c, e.name, false, v->o, &p, err) < 0)
		goto out;
	rc = packed_check(&p, &look, &h, err);
	v->out->files = h.files;
	v->out->bad_files = h.files_bad;
	v->out->bytes = h.bytes;
	v->out->unchecked = h.no_sum;
	v->out->crc_checked = v->o->checksums ? h.files - h.no_sum : 0;
	packed_health_free(&h);
	packed_close(&p);
out:
	index_free(read);
	return rc;
}

/* --- Entry point --- */

static int
load_old(struct verify *v, struct error *err)
{
	struct error why = ERROR_INIT;

	if (rank2file_load(v->dir.fd, RANK2FILE_FILE, &v->old, &why) == 0) {
		v->have_old = true;
		return 0;
	}
	if (why.kind == ERROR_ABSENT)
		return 0;
	if (why.kind == ERROR_CORRUPT) {
		tell(v, STATUS_DAMAGED, "%s", why.text);
		return 0;
	}
	return error_pass(err, &why);
}

static int
verify(struct verify *v, int64_t id, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = -1;

	if (catalogue_dir_open(v->c, id, &v->dir, &why) < 0) {
		if (why.kind == ERROR_ABSENT)
			return verify_old(v, id, err);
		return error_pass(err, &why);
	}
	if (load_old(v, err) < 0)
		return -1;
	rc = verify_plan(v, err);
	if (rc <= 0)
		return rc;
	if (v->have_old)
		return verify_flushed(v, err);
	tell(v, STATUS_LOST,
	     "no filemaps and no good rank2file: nothing tells its files");
	return 0;
}

int
catalogue_verify(struct catalogue *c, int64_t id,
		 const struct catalogue_options *o,
		 const struct verify_listener *problems,
		 struct verify_result *out, struct error *err)
{
	struct verify v = {
		.c = c,
		.o = o,
		.out = out,
		.problems = problems,
		.dir = CATALOGUE_DIR_INIT,
	};
	int rc = -1;

	memset(out, 0, sizeof(*out));
	rc = verify(&v, id, err);
	if (v.have_old)
		rank2file_free(&v.old);
	catalogue_dir_close(&v.dir);
	return rc;
}
