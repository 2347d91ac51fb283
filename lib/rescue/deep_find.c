/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep_find.c - findings: which member is wrong, and the messages.
 */
#include "rescue/deep.h"

#include <stdio.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "path.h"
#include "rescue/deep_impl.h"
#include "str.h"

/* At most this many ranks are named in a message. */
#define SUSPECTS_MAX 16

/* --- Findings --- */

int
deep_found(struct deep *d, const struct deep_finding *f, struct error *err)
{
	struct deep_result *out = d->out;
	const bool apart = scheme_of(d->p->sets[f->set].type)->apart;
	struct deep_finding *old = NULL;
	int rc = 0;

	pthread_mutex_lock(&d->lock);
	if (f->file != PLAN_NONE && d->by_file[f->file] > 0)
		old = &out->findings[d->by_file[f->file] - 1];
	for (size_t i = d->first;
	     f->file == PLAN_NONE && i < out->nfindings && old == NULL; i++) {
		struct deep_finding *o = &out->findings[i];

		if (o->unread == NULL && o->file == PLAN_NONE &&
		    o->set == f->set && o->member == f->member &&
		    o->in_body == f->in_body &&
		    ((!apart && f->member != PLAN_NONE) || o->in_body ||
		     o->stripe == f->stripe))
			old = o;
	}
	if (old != NULL) {
		const uint64_t bytes = old->bytes + f->bytes;
		const uint64_t last = old->last > f->last ? old->last : f->last;

		if (f->stripe < old->stripe ||
		    (f->stripe == old->stripe && f->first < old->first))
			*old = *f;
		old->bytes = bytes;
		old->last = last;
	} else {
		if (!MEM_ROOM(out->findings, out->nfindings, d->findings_cap)) {
			rc = error_no_memory(err);
			goto unlock;
		}
		out->findings[out->nfindings++] = *f;
		if (f->file != PLAN_NONE)
			d->by_file[f->file] = out->nfindings;
	}
unlock:
	pthread_mutex_unlock(&d->lock);
	return rc;
}

const struct solve_job *
deep_job(const struct deep *d, const struct deep_finding *f, uint64_t at)
{
	const struct solution *s = &d->solutions[f->set];

	for (size_t i = 0; i < s->njobs; i++) {
		const struct solve_job *j = &s->jobs[i];

		if (j->stripe == f->stripe && j->from <= at &&
		    at - j->from < j->len)
			return j;
	}
	return NULL;
}

uint64_t
deep_blame(const struct deep *d, struct deep_finding *f,
	   const struct solve_job *j, const struct solve_ref *who)
{
	const struct plan_member *m = &d->p->sets[f->set].members[who->member];
	uint64_t off = who->off + (f->first - j->from);
	size_t i = 0;

	f->member = who->member;
	f->in_body = who->body;
	f->file = PLAN_NONE;
	if (who->body || m->files == NULL)
		return UINT64_MAX;
	i = plan_file_at(m, &off);
	if (i == m->list.nfiles)
		return UINT64_MAX;
	f->file = m->files[i];
	f->file_off = off;
	return m->list.files[i].attr.size - off;
}

/* --- Recorded checksums --- */

/* Is the file older than the one whose redundancy was computed?  Then rank2file
 * may be as old as it. */
static bool
is_left_over(const struct plan *p, const struct plan_file *f)
{
	return f->record_crc && plan_file_age(p, f) == AGE_OLDER;
}

/* Do recorded checksums prove the file right (1), wrong (-1), or neither (0)?
 * A checksum that was computed while the file was copied proves only that it
 * has changed since. */
static int
proof(const struct plan *p, const bool *wrong, uint32_t file)
{
	const struct plan_file *f = &p->files[file];

	if (f->state != FILE_PRESENT || !f->has_crc || f->unread)
		return f->state == FILE_PRESENT && f->attr.size == 0;
	if (wrong[file])
		return -1;
	return f->copy_crc ? 0 : 1;
}

/* Is the filemap of a member right?  It has a checksum of its own, but may be
 * that of an older dataset: the header of its files' redundancy must name the
 * same files, of the same times. */
static bool
map_proven(const struct plan *p, const struct plan_member *m)
{
	const struct plan_rank *r = plan_rank_of(p, m);
	const struct plan_member *files = NULL;
	const struct plan_set *s = NULL;

	if (r == NULL || !r->map_known || r->composed || r->doubted ||
	    r->map.fate != FATE_KEEP || r->map.why != NULL ||
	    r->data_set == PLAN_NONE)
		return false;
	s = &p->sets[r->data_set];
	files = &s->members[r->data_member];
	if (!s->opened || s->flaw != NULL || s->disputed ||
	    files->state != RED_PRESENT || files->files == NULL)
		return false;
	for (size_t i = 0; i < files->list.nfiles; i++) {
		const struct attr *a = &files->list.files[i].attr;
		const struct plan_file *f = plan_member_file(p, files, i);

		if (f == NULL || !a->has_times || !f->attr.has_times ||
		    a->mtime.tv_sec != f->attr.mtime.tv_sec)
			return false;
	}
	return files->list.nfiles > 0;
}

/* Are all data of the stripe there, and proven right where it differs? */
static bool
data_proven(const struct deep *d, const struct deep_finding *f,
	    const bool *wrong)
{
	const struct plan_set *s = &d->p->sets[f->set];
	const struct solve_job *j = deep_job(d, f, f->first);
	const uint32_t need =
		scheme_of(s->type)->apart ? 1 : s->n - s->failures;
	uint32_t proven = 0;

	for (uint32_t k = 0; j != NULL && k < j->nin + j->nout; k++) {
		const struct plan_member *m = &s->members[j->in[k].member];
		uint64_t off = j->in[k].off + (f->first - j->from);
		size_t at = 0;

		if (j->in[k].body)
			continue;
		if (s->map) {
			proven += map_proven(d->p, m);
			continue;
		}
		at = plan_file_at(m, &off);
		proven += at == m->list.nfiles || /* padding */
			  (m->files != NULL && m->files[at] != PLAN_NONE &&
			   proof(d->p, wrong, m->files[at]) > 0 &&
			   !is_left_over(d->p, &d->p->files[m->files[at]]));
	}
	return proven == need;
}

/* The redundancy did not identify the wrong member.  If the checksum of a file
 * is wrong, blame that file.  If the data are proven right, blame the
 * redundancy file that differs from what is computed of them. */
static void
decide(const struct deep *d, struct deep_finding *f, const bool *wrong)
{
	const struct plan_set *s = &d->p->sets[f->set];
	const struct solve_job *j = deep_job(d, f, f->first);

	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *pm = &s->members[m];
		size_t i = 0;

		if ((scheme_of(s->type)->apart && m != f->stripe) ||
		    pm->files == NULL)
			continue;
		while (i < pm->list.nfiles &&
		       (pm->files[i] == PLAN_NONE ||
			proof(d->p, wrong, pm->files[i]) >= 0))
			i++;
		if (i == pm->list.nfiles)
			continue;
		/* The offset of its first wrong byte is known only if the first
		 * difference lies in this file. */
		for (uint32_t k = 0; j != NULL && k < j->nin + j->nout; k++)
			if (j->in[k].member == m && !j->in[k].body)
				deep_blame(d, f, j, &j->in[k]);
		f->member = m;
		if (f->file != pm->files[i])
			f->file_off = 0;
		f->file = pm->files[i];
		return;
	}
	if (data_proven(d, f, wrong)) {
		f->member = f->holder;
		f->in_body = true;
	}
}

static bool
is_open(const struct deep_finding *f)
{
	return f->member == PLAN_NONE && f->unread == NULL;
}

int
deep_decide(struct deep *d, struct error *err)
{
	struct deep_result *out = d->out;
	bool *look = mem_calloc(d->p->nfiles + 1, sizeof(*look));
	bool *sets = mem_calloc(d->p->nsets + 1, sizeof(*sets));
	bool any = false;
	int rc = look == NULL || sets == NULL ? error_no_memory(err) : 0;

	for (size_t i = d->first; rc == 0 && i < out->nfindings; i++)
		if (is_open(&out->findings[i]))
			sets[out->findings[i].set] = true;
	for (size_t i = 0; rc == 0 && i < d->p->nfiles; i++) {
		const struct plan_file *f = &d->p->files[i];
		const uint32_t set = d->p->ranks[f->rank].data_set;

		look[i] = set != PLAN_NONE && sets[set] && f->has_crc &&
			  f->state == FILE_PRESENT && !f->barred;
		any = any || look[i];
	}
	if (any)
		rc = plan_check_files(d->p, d->work, look, NULL, err);
	for (size_t i = d->first; rc == 0 && i < out->nfindings; i++)
		if (is_open(&out->findings[i]))
			decide(d, &out->findings[i], look);
	mem_free(sets);
	mem_free(look);
	return rc;
}

void
deep_free(struct deep_result *r)
{
	mem_free(r->findings);
	r->findings = NULL;
	r->nfindings = 0;
}

bool
deep_is_left(const struct plan *p, const struct deep_finding *f)
{
	if (!plan_leaves_set(p, &p->sets[f->set]))
		return false;
	for (size_t i = 0; i < p->nsets; i++)
		if (p->sets[i].verdict == SET_REBUILDABLE &&
		    !plan_leaves_set(p, &p->sets[i]))
			return true;
	return false;
}

bool
deep_undecided(const struct deep_result *r)
{
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->findings[i].unread == NULL &&
		    !deep_is_located(&r->findings[i]))
			return true;
	return false;
}

bool
deep_stuck(const struct plan *p, const struct deep_result *r)
{
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->findings[i].unread == NULL &&
		    deep_is_open(p, &r->findings[i]))
			return true;
	return false;
}

int
deep_error(const struct plan *p, const struct deep_finding *f,
	   struct error *err)
{
	const struct plan_set *s = &p->sets[f->set];
	const char *kind = redset_type_name(s->type);
	const char *over = s->map ? " over filemaps" : "";
	const struct plan_member *m = NULL;
	char ranks[16 * SUSPECTS_MAX] = "";
	size_t n = 0;

	if (f->unread != NULL)
		return error_set(err, ERROR_SYSTEM,
				 "%s: unknown, as is set %u of %u (%s%s)",
				 f->unread, s->number, s->sets, kind, over);
	if (f->member == PLAN_NONE && scheme_of(s->type)->apart)
		return error_set(
			err, ERROR_DAMAGED,
			f->source == f->stripe
				? "set %u of %u (%s%s): the data of rank %u "
				  "and their copy at rank %u differ from byte "
				  "%llu on; which of them is wrong is unknown"
				: "set %u of %u (%s%s): the copies of the data "
				  "of rank %u, one at rank %u, differ from byte "
				  "%llu on; which of them is wrong is unknown",
			s->number, s->sets, kind, over,
			s->members[f->stripe].rank, s->members[f->holder].rank,
			(unsigned long long)f->first);
	for (uint32_t i = 0; i < s->n && i < SUSPECTS_MAX; i++)
		n += (size_t)snprintf(ranks + n, sizeof(ranks) - n, " %u",
				      s->members[i].rank);
	if (s->n > SUSPECTS_MAX)
		snprintf(ranks + n, sizeof(ranks) - n, " and %u more",
			 s->n - SUSPECTS_MAX);
	if (f->member == PLAN_NONE)
		return error_set(
			err, ERROR_DAMAGED,
			"set %u of %u (%s%s) is inconsistent: %llu byte%s, "
			"the first at offset %llu of stripe %u; the wrong "
			"member is unknown: one of the ranks%s, its %s or its "
			"parity",
			s->number, s->sets, kind, over,
			(unsigned long long)f->bytes,
			f->bytes == 1 ? " differs" : "s differ",
			(unsigned long long)f->first, f->stripe, ranks,
			s->map ? "filemap" : "data");
	m = &s->members[f->member];
	if (f->in_body)
		return error_set(err, ERROR_DAMAGED,
				 "%s: its contents are damaged: set %u of %u "
				 "(%s%s) is consistent without it",
				 m->name, s->number, s->sets, kind, over);
	if (f->file != PLAN_NONE)
		return error_set(
			err, ERROR_DAMAGED,
			"%s of rank %u: its contents are damaged, the first "
			"difference is at byte %llu: set %u of %u (%s) is "
			"consistent without it",
			p->files[f->file].path, m->rank,
			(unsigned long long)f->file_off, s->number, s->sets,
			kind);
	return error_set(err, ERROR_DAMAGED,
			 "rank %u: its contents are damaged: set %u of %u "
			 "(%s%s) is consistent without it",
			 m->rank, s->number, s->sets, kind, over);
}
