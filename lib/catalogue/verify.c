/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.c - scr_index --verify: is a dataset whole?  Change nothing.
 *
 * The files are looked at by the filemaps if there are any (a plan), else by
 * rank2file.  Then the metadata are judged that the library reads at a restart
 * (fetchable.c): without them no job restarts from the files.
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
#include "rescue/deep.h"
#include "str.h"

/* Buffer size for a path in a sentence. */
#define SHOWN_MAX 512

struct verify {
	struct catalogue *c;
	const struct index_entry *e;
	const struct catalogue_options *o;
	struct verify_result *out;
	const struct verify_listener *problems; /* or NULL */
	size_t told;				/* problems reported so far */
	struct catalogue_dir dir;
	struct catalogue_fetch fetch;
	struct catalogue_renamed renamed;
	size_t astray, astray_lost; /* files below renamed.from; those that
				       cannot be rebuilt */
};

/* Report one problem, and set the status that follows from it. */
static void
tell_text(struct verify *v, int status, const char *text)
{
	v->told++;
	v->out->status = error_worse_status(v->out->status, status);
	if (v->problems != NULL)
		v->problems->tell(v->problems->arg, text);
}

/* A problem that keeps the library from fetching the dataset. */
static void __attribute__((format(printf, 3, 4)))
tell(struct verify *v, int status, const char *fmt, ...)
{
	struct fetchable *f = &v->out->fetch;
	char text[ERROR_TEXT_MAX + SHOWN_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tell_text(v, status, text);
	if (error_worse_status(f->status, status) == f->status)
		return;
	f->status = status;
	snprintf(f->why, sizeof(f->why), "%.*s", (int)sizeof(f->why) - 1, text);
}

/* Damage that only the next loss makes felt. */
static void __attribute__((format(printf, 2, 3)))
tell_spare(struct verify *v, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX + SHOWN_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tell_text(v, STATUS_DAMAGED, text);
}

/* --- Directories renamed by hand --- */

/* Is this missing file below a directory that was renamed?  The first missing
 * file shows which directory is missing. */
static bool
is_astray(struct verify *v, const char *path, const uint64_t *size)
{
	if (!v->renamed.looked)
		catalogue_renamed_find(v->c, path, size, &v->renamed);
	if (!catalogue_renamed_covers(&v->renamed, path))
		return false;
	v->astray++;
	return true;
}

static void
tell_astray(struct verify *v)
{
	char from[SHOWN_MAX], to[SHOWN_MAX];

	if (v->astray > 0)
		tell(v, STATUS_DAMAGED,
		     "%s: missing, with %zu %s; %s looks like it: rename it "
		     "back",
		     str_printable(from, sizeof(from), v->renamed.from),
		     str_count(v->astray, "file"),
		     str_printable(to, sizeof(to), v->renamed.to));
}

/* --- With filemaps --- */

static const char *
fate_words(enum fate f)
{
	return f == FATE_REBUILD ? "can be rebuilt" : "lost";
}

static bool
is_renamed(struct verify *v, const struct plan_file *f)
{
	if (f->state != FILE_MISSING || f->nsegs > 0 || f->path == NULL ||
	    !is_astray(v, f->path, f->attr.has_size ? &f->attr.size : NULL))
		return false;
	v->astray_lost += f->fate == FATE_LOST;
	return true;
}

static void
tell_file(struct verify *v, const struct plan_file *f)
{
	char path[SHOWN_MAX];
	int status = f->fate == FATE_REBUILD ? STATUS_DAMAGED : STATUS_LOST;

	v->out->bad_files++;
	if (is_renamed(v, f))
		return;
	str_printable(path, sizeof(path), f->path);
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

/* A file that is there, but that the job cannot read. */
static void
tell_unreadable(struct verify *v, const struct plan_file *f)
{
	char path[SHOWN_MAX];

	if (f->state == FILE_PRESENT && f->unreadable)
		tell(v, STATUS_FAILED,
		     "%s: its mode does not let its owner read it (rank "
		     "%" PRIu32 "): unknown",
		     str_printable(path, sizeof(path), f->path), f->rank);
}

static void
tell_files(struct verify *v, const struct plan *p)
{
	v->out->files = p->nfiles;
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->state != FILE_PRESENT) {
			tell_file(v, f);
			continue;
		}
		v->out->bytes += f->attr.size;
		v->out->unchecked += !f->attr.has_size;
		tell_unreadable(v, f);
	}
	tell_astray(v);
}

/* Report lost filemaps: which files the ranks had is unknown. */
static int
tell_maps(struct verify *v, struct plan *p, struct error *err)
{
	uint32_t *lost = mem_alloc((size_t)p->nranks + 1, sizeof(*lost));
	size_t n = 0;

	if (lost == NULL)
		return error_no_memory(err);
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_rank *r = &p->ranks[i];

		if (r->map.fate == FATE_LOST)
			lost[n++] = (uint32_t)i;
		else if (r->map.fate == FATE_REBUILD)
			tell_spare(v,
				   "filemap of rank %" PRId64
				   ": %s: can be rebuilt",
				   i,
				   r->map.why != NULL ? r->map.why : "missing");
	}
	if (n > 0)
		tell(v, STATUS_LOST,
		     "%s of %s %s: lost, so the files of %zu %s are unknown",
		     n == 1 ? "filemap" : "filemaps", str_plural(n, "rank"),
		     plan_ranks_text(p, lost, n), str_count(n, "rank"));
	mem_free(lost);
	return 0;
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
		tell_spare(v,
			   "%s, member %" PRIu32 " of %" PRIu32
			   " of set %" PRIu32 " (%s%s): %s",
			   m->name != NULL ? m->name : "redundancy file", i + 1,
			   s->n, s->number, redset_type_name(s->type),
			   s->map ? " over filemaps" : "",
			   m->problem != NULL ? m->problem
					      : red_state_name(m->state));
	}
}

/* The verdict of the plan gives the reason of a loss.  If all data are present,
 * or under another name, lost redundancy is only damage. */
static void
tell_verdict(struct verify *v, const struct plan *p)
{
	struct error why = ERROR_INIT;

	if (plan_error(p, &why) == 0 ||
	    (why.kind != ERROR_LOST && v->told > 0) ||
	    (v->astray_lost > 0 && v->astray_lost == p->files_lost))
		return;
	if (catalogue_data_whole(p))
		tell_spare(v, "%s", why.text);
	else
		tell(v, error_status(why.kind), "%s", why.text);
}

static int
tell_plan(struct verify *v, struct plan *p, struct error *err)
{
	if (tell_maps(v, p, err) < 0)
		return -1;
	tell_files(v, p);
	for (size_t i = 0; i < p->nsets; i++)
		tell_set(v, &p->sets[i]);
	tell_verdict(v, p);
	return 0;
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
	v->out->deep_sets = r.sets_checked;
	deep_free(&r);
	return 0;
}

/* Compare the checksums in rank2file; the plan compared those in filemaps. */
static int
verify_sums(struct verify *v, struct plan *p, struct error *err)
{
	struct catalogue_sum *sums = catalogue_sums(
		p, v->fetch.have_ranks && !p->outdated ? &v->fetch.ranks : NULL,
		err);
	int rc = -1;

	if (sums != NULL)
		rc = catalogue_sums_compare(v->c, p, sums, false, v->o, err);
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (!f->has_crc ||
		    (f->state != FILE_PRESENT && f->state != FILE_WRONG_CRC))
			continue;
		v->out->crc_checked++;
		v->out->crc_bytes += f->attr.size;
	}
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
	if (v->fetch.have_ranks && catalogue_flush_knows(&v->dir, p)) {
		rc = 1;
		goto out;
	}
	if (v->o->checksums)
		rc = verify_sums(v, p, err);
	if (rc == 0)
		rc = tell_plan(v, p, err);
	if (rc == 0 && v->o->deep)
		rc = verify_deep(v, p, err);
	if (rc == 0)
		rc = catalogue_fetch_match(&v->fetch, p, err);
out:
	plan_free(p);
	return rc;
}

/* --- With a rank2file alone --- */

static void
tell_listed(struct verify *v, const struct catalogue_file *f)
{
	char text[ERROR_TEXT_MAX];

	v->out->fetch.unsafe = v->out->fetch.unsafe || f->unsafe;
	if (f->state == FILE_PRESENT && f->unreadable)
		tell(v, STATUS_FAILED, "%s: unknown",
		     catalogue_file_problem(f, text, sizeof(text)));
	else if (f->state != FILE_PRESENT &&
		 !(f->state == FILE_MISSING && f->nsegs == 0 &&
		   is_astray(v, f->path, f->has_size ? &f->size : NULL)))
		tell(v, STATUS_LOST, "%s: lost",
		     catalogue_file_problem(f, text, sizeof(text)));
}

static int
verify_listed(struct verify *v, struct error *err)
{
	struct catalogue_files files = { .list = NULL };
	const struct dataset *view = v->fetch.desc.tree != NULL
					     ? &v->fetch.desc.view
				     : v->e->desc.id > 0 ? &v->e->desc
							 : NULL;
	const bool vouched = v->fetch.no_summary.kind == ERROR_NONE;
	struct error why = ERROR_INIT;
	struct catalogue_tally t;
	int rc = -1;

	if (catalogue_files_from(&v->fetch.ranks, v->dir.fd, &files, err) < 0 ||
	    catalogue_files_check(v->c, &files, v->o->checksums, v->o, err) < 0)
		goto out;
	rc = 0;
	for (size_t i = 0; i < files.count; i++)
		tell_listed(v, &files.list[i]);
	tell_astray(v);
	catalogue_files_tally(&files, &t);
	v->out->files = t.files;
	v->out->bad_files = t.bad;
	v->out->unchecked = t.unchecked;
	v->out->crc_checked = t.summed;
	v->out->crc_bytes = t.summed_bytes;
	v->out->bytes = t.bytes;
	v->out->listed = true;
	v->out->total_compared =
		t.bad == 0 && view != NULL && view->files == (int64_t)t.files;
	if (t.bad == 0 && v->fetch.no_ranks.kind == ERROR_NONE &&
	    catalogue_files_whole(&v->fetch.ranks, &files, view, !vouched,
				  &why) < 0)
		tell(v, STATUS_LOST, "%s", why.text);
out:
	catalogue_files_free(&files);
	return rc;
}

/* --- What the library reads first --- */

/* Judge the index entry. */
static void
tell_entry(struct verify *v)
{
	char reason[SHOWN_MAX];

	if (v->e->desc.id == 0)
		return;
	index_entry_reason(v->e, reason, sizeof(reason));
	if (reason[0] != '\0' && (v->e->complete != 1 || !v->e->current))
		tell(v, STATUS_DAMAGED, "its index entry: %s", reason);
}

/* Judge the metadata, after the files.  Whatever can be written again is only
 * damage. */
static void
tell_fetch(struct verify *v, bool has_plan)
{
	const struct catalogue_fetch *f = &v->fetch;
	const bool again = v->out->fetch.status != STATUS_LOST;

	v->out->fetch.packed = f->packed;
	if (f->desc.tree != NULL && f->desc.view.complete == 0)
		tell(v, STATUS_LOST,
		     SUMMARY_FILE ": the job itself declared the dataset "
				  "invalid");
	if (f->have_ranks && f->ranks.flaw != NULL)
		tell(v, STATUS_DAMAGED, "%s: its copy was read", f->ranks.flaw);
	if (f->no_ranks.kind != ERROR_NONE)
		tell(v, again && has_plan ? STATUS_DAMAGED : STATUS_LOST, "%s",
		     f->no_ranks.text);
	if (f->no_summary.kind != ERROR_NONE)
		tell(v,
		     again && (has_plan ||
			       catalogue_fetch_described(v->c, &v->dir, v->e))
			     ? STATUS_DAMAGED
			     : STATUS_LOST,
		     "%s", f->no_summary.text);
	tell_entry(v);
}

/* --- Without a metadata directory --- */

static void
tell_flaw(void *arg, const struct packed_flaw *f)
{
	tell(arg, f->file != SIZE_MAX ? STATUS_LOST : STATUS_DAMAGED, "%s",
	     f->text);
}

/* Verify a dataset in the layout of SCR 1.1.8. */
static int
verify_old(struct verify *v, struct error *err)
{
	const struct packed_look look = {
		&v->o->work,
		v->o->checksums,
		tell_flaw,
		v,
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
		tell(v, STATUS_FAILED, "%zu %s could not be read: unknown",
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
	char shown[SHOWN_MAX];
	int found = 0;

	if (v->e->name != NULL && packed_is_old(v->c->prefix_fd, v->e->name))
		return verify_old(v, err);
	found = catalogue_renamed_meta(v->c, v->e->id, &like, err);
	if (found < 0)
		return -1;
	if (found > 0)
		tell(v, STATUS_DAMAGED,
		     "its metadata directory " DATASET_DIR_FMT
		     " is gone; %s looks like it: rename it back",
		     v->e->id, str_printable(shown, sizeof(shown), like));
	else
		tell(v, STATUS_LOST,
		     "its metadata directory is gone: nothing tells its "
		     "files");
	return 0;
}

/* Report a path that a packed map lists twice. */
static void
tell_twins(struct verify *v)
{
	const struct rank2file *r = &v->fetch.ranks;
	struct error why = ERROR_INIT;
	struct segmap m;

	if (!v->fetch.have_ranks || !segmap_is_packed(r) ||
	    segmap_read(&m, r, NULL) < 0)
		return;
	if (segmap_refuse_twins(&m, NULL, ERROR_DAMAGED, "the map is damaged",
				&why) < 0)
		tell(v, STATUS_DAMAGED, "%s", why.text);
	segmap_free(&m);
}

/* --- Entry points --- */

static int
verify(struct verify *v, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = -1;

	if (catalogue_dir_open(v->c, v->e->id, &v->dir, &why) < 0) {
		if (why.kind == ERROR_ABSENT)
			return verify_gone(v, err);
		return error_pass(err, &why);
	}
	if (catalogue_fetch_read(&v->fetch, &v->dir, v->e, &v->o->work, err) <
	    0)
		return -1;
	rc = verify_plan(v, err);
	if (rc < 0)
		return -1;
	if (rc > 0 && v->fetch.have_ranks && verify_listed(v, err) < 0)
		return -1;
	tell_fetch(v, rc == 0);
	tell_twins(v);
	if (rc > 0 && !v->fetch.have_ranks)
		tell(v, STATUS_LOST,
		     "no filemaps and no good rank2file: nothing tells its "
		     "files");
	return 0;
}

int
catalogue_verify(struct catalogue *c, const struct index_entry *e,
		 const struct catalogue_options *o,
		 const struct verify_listener *problems,
		 struct verify_result *out, struct error *err)
{
	struct verify v = {
		.c = c,
		.e = e,
		.o = o,
		.out = out,
		.problems = problems,
		.dir = CATALOGUE_DIR_INIT,
	};
	int rc = -1;

	memset(out, 0, sizeof(*out));
	rc = verify(&v, err);
	catalogue_fetch_free(&v.fetch);
	catalogue_dir_close(&v.dir);
	return rc;
}

int
catalogue_verify_plan(struct catalogue *c, const struct index_entry *e,
		      const struct plan *p,
		      const struct verify_listener *problems,
		      struct verify_result *out, struct error *err)
{
	const struct catalogue_options o = { .deep = false };
	struct verify v = {
		.c = c,
		.e = e,
		.o = &o,
		.out = out,
		.problems = problems,
		.dir = CATALOGUE_DIR_INIT,
	};
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (catalogue_dir_open(c, e->id, &v.dir, err) == 0 &&
	    catalogue_fetch_read(&v.fetch, &v.dir, e, NULL, err) == 0 &&
	    catalogue_fetch_match(&v.fetch, p, err) == 0) {
		for (size_t i = 0; i < p->nfiles; i++)
			if (!is_renamed(&v, &p->files[i]))
				tell_unreadable(&v, &p->files[i]);
		tell_astray(&v);
		tell_fetch(&v, true);
		rc = 0;
	}
	catalogue_fetch_free(&v.fetch);
	catalogue_dir_close(&v.dir);
	return rc;
}
