/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify_plan.c - verify a dataset by its filemaps: the plan, the redundancy,
 * the recorded checksums.
 */
#include <inttypes.h>

#include "catalogue/verify_impl.h"
#include "error.h"
#include "mem.h"
#include "rescue/deep.h"
#include "rescue/plan_sums.h"
#include "str.h"

/* Files that seem lost may exist if something else could not be read. */
static const char *
fate_words(const struct plan *p, enum fate f)
{
	return f == FATE_REBUILD		 ? "can be rebuilt"
	       : plan_status(p) == STATUS_FAILED ? "unknown"
						 : "lost";
}

static int
fate_status(const struct plan *p, enum fate f)
{
	return f == FATE_REBUILD		 ? STATUS_DAMAGED
	       : plan_status(p) == STATUS_FAILED ? STATUS_FAILED
						 : STATUS_LOST;
}

static bool
is_renamed(struct verify *v, const struct plan_file *f)
{
	if (f->state != FILE_MISSING || f->nsegs > 0 || f->path == NULL ||
	    !verify_is_astray(v, f->path, &f->attr))
		return false;
	v->astray_lost += f->fate == FATE_LOST;
	return true;
}

static void
report_file(struct verify *v, const struct plan *p, const struct plan_file *f)
{
	char path[VERIFY_SHOWN];
	int status = fate_status(p, f->fate);

	v->out->bad_files++;
	if (is_renamed(v, f))
		return;
	str_printable(path, sizeof(path), f->path);
	if (f->state == FILE_WRONG_SIZE)
		verify_report(v, status,
			      "%s: %" PRIu64 " bytes, should be %" PRIu64
			      " (rank %" PRIu32 "): %s",
			      path, f->found_size, f->attr.size, f->rank,
			      fate_words(p, f->fate));
	else
		verify_report(v, status, "%s: %s (rank %" PRIu32 "): %s", path,
			      file_state_name(f->state), f->rank,
			      fate_words(p, f->fate));
}

/* Report a file that is present, but that the job cannot read.  The verdict of
 * the plan names a file that this user may not read. */
static void
report_unreadable(struct verify *v, const struct plan_file *f)
{
	if (f->state == FILE_PRESENT && f->unreadable && !f->barred)
		verify_report(
			v, STATUS_FAILED,
			"%s: its mode does not let its owner read it (rank "
			"%" PRIu32 "): unknown",
			str_shown(f->path), f->rank);
}

static void
report_files(struct verify *v, const struct plan *p)
{
	v->out->files = p->nfiles;
	v->out->total_compared = p->total_compared;
	v->out->nameless = p->maps_lost > 0;
	v->out->unread = p->unread > 0;
	plan_obstacle(p, v->out->obstacle, sizeof(v->out->obstacle));
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->state != FILE_PRESENT) {
			report_file(v, p, f);
			continue;
		}
		v->out->bytes += f->attr.size;
		v->out->unchecked += !f->attr.has_size;
		report_unreadable(v, f);
	}
	verify_report_astray(v);
}

/* Report lost filemaps: which files the ranks had is unknown. */
static int
report_maps(struct verify *v, struct plan *p, struct error *err)
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
			verify_report_spare(
				v,
				"filemap of rank %" PRId64
				": %s: can be rebuilt",
				i, r->map.why != NULL ? r->map.why : "missing");
	}
	/* The verdict tells of those that are unknown. */
	if (n > 0 && plan_status(p) != STATUS_FAILED)
		verify_report(
			v, fate_status(p, FATE_LOST),
			"%s of %s %s: %s, so the files of %zu %s are unknown",
			n == 1 ? "filemap" : "filemaps", str_plural(n, "rank"),
			plan_ranks_text(p, lost, n), fate_words(p, FATE_LOST),
			str_count(n, "rank"));
	mem_free(lost);
	return 0;
}

/* Report damaged or missing redundancy, even if the data are right: they are
 * not protected from the next loss. */
static void
report_set(struct verify *v, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];

		if (!redset_is_redundant(s->type) ||
		    (m->fate == FATE_KEEP && m->state != RED_DAMAGED &&
		     m->state != RED_HEADER_DAMAGED))
			continue;
		verify_report_spare(
			v,
			"%s, member %" PRIu32 " of %" PRIu32 " of set %" PRIu32
			" (%s%s): %s",
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
report_verdict(struct verify *v, const struct plan *p)
{
	struct error why = ERROR_INIT;

	/* A lost file that no set protects has been reported. */
	if (plan_error(p, &why) == 0 ||
	    (why.kind == ERROR_DAMAGED && v->reported > 0) ||
	    (v->reported > 0 && p->flaw == NULL && p->nsets == 0 &&
	     p->maps_lost == 0) ||
	    (v->astray_lost > 0 && v->astray_lost == p->files_lost))
		return;
	if (catalogue_data_whole(p) && why.kind != ERROR_SYSTEM)
		verify_report_spare(v, "%s", why.text);
	else
		verify_report(v, error_status(why.kind), "%s", why.text);
}

static int
report_plan(struct verify *v, struct plan *p, struct error *err)
{
	if (report_maps(v, p, err) < 0)
		return -1;
	report_files(v, p);
	for (size_t i = 0; i < p->nsets; i++)
		report_set(v, &p->sets[i]);
	report_verdict(v, p);
	return 0;
}

static int
verify_deep(struct verify *v, struct plan *p, struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	struct error why = ERROR_INIT;

	if (deep_search(p, &v->o->work, &r, err) < 0)
		return -1;
	for (size_t i = 0; i < r.nfindings; i++) {
		deep_error(p, &r.findings[i], &why);
		v->by_hand = v->by_hand || !deep_is_located(&r.findings[i]);
		verify_report(v, error_status(why.kind), "%s", why.text);
		v->out->bad_files += r.findings[i].file != PLAN_NONE;
	}
	v->out->undecided = deep_undecided(&r);
	v->out->deep_sets = r.sets_checked;
	deep_free(&r);
	return 0;
}

/* Compare the checksums in rank2file; the plan compared those in filemaps. */
static int
verify_sums(struct verify *v, struct plan *p, struct error *err)
{
	struct plan_sum *sums = plan_sums(p, err);
	int rc = -1;

	if (sums != NULL)
		rc = plan_sums_compare(p, sums, false, &v->o->work, err);
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

int
verify_by_plan(struct verify *v, struct plan *p, struct error *err)
{
	int rc = v->o->checksums ? verify_sums(v, p, err) : 0;

	if (rc == 0)
		rc = report_plan(v, p, err);
	if (rc == 0 && v->o->deep)
		rc = verify_deep(v, p, err);
	if (rc == 0)
		rc = catalogue_fetch_match(&v->fetch, p, err);
	if (rc == 0)
		verify_report_map(v, p);
	return rc;
}

void
verify_report_names(struct verify *v, const struct plan *p)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (!is_renamed(v, &p->files[i]))
			report_unreadable(v, &p->files[i]);
	verify_report_astray(v);
}
