/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild_sums.c - compare recorded checksums with the files read and the files
 * computed, and what more is left than a rebuild needs.
 */
#include <string.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "rescue/deep.h"
#include "rescue/rebuild_impl.h"
#include "work.h"

static int
mark_damaged(struct rebuild_run *r, size_t file, struct error *err)
{
	const struct plan_file *f = &r->p->files[file];

	if (f->unread)
		work_say(r->work,
			 "%s: cannot be read (I/O error): treated as lost",
			 f->path);
	else
		work_detail(r->work,
			    "%s: its checksum is not the recorded 0x%08x: "
			    "damaged",
			    f->path, f->crc);
	r->result->crc_wrong += !f->unread;
	return plan_mark(r->p, file, f->unread ? FILE_UNREAD : FILE_WRONG_CRC,
			 err);
}

/* Read the files with look[i] completely, and mark those with a wrong checksum.
 * Returns the number of files marked, -1 on error. */
static long
look_again(struct rebuild_run *r, bool *look, struct error *err)
{
	long marked = 0;

	if (plan_check_files(r->p, r->work, look, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < r->p->nfiles; i++) {
		if (look[i] && mark_damaged(r, i, err) < 0)
			return -1;
		marked += look[i];
	}
	return marked;
}

/* Does the solution of the set read the body of this member? */
static bool
reads_body(const struct plan_set *s, uint32_t member)
{
	for (size_t j = 0; s->solution != NULL && j < s->solution->njobs; j++)
		for (uint32_t i = 0; i < s->solution->jobs[j].nin; i++)
			if (s->solution->jobs[j].in[i].body &&
			    s->solution->jobs[j].in[i].member == member)
				return true;
	return false;
}

/* Mark redundancy files of a set as damaged: one that cannot be read, or those
 * with a wrong checksum.  Returns their number, -1 on error. */
static long
blame_bodies(struct rebuild_run *r, uint32_t set, struct error *err)
{
	const struct plan_set *s = &r->p->sets[set];
	bool *bad = arena_alloc(r->arena, s->n, sizeof(*bad));
	long marked = 0;
	int rc = 0;

	if (bad == NULL)
		return error_no_memory(err);
	for (uint32_t m = 0; m < s->n; m++) {
		const struct solve_ref at = { m, true, 0 };
		const char *text = NULL;
		struct error why = ERROR_INIT;

		if (!reads_body(s, m))
			continue;
		if (plan_check_red(r->p, &s->members[m], r->work, &bad[m],
				   &why) < 0) {
			if (!error_is_unread(&why))
				return error_pass(err, &why);
			if (plan_mark_unread(r->p, set, &at, &text, err) < 0)
				return -1;
			work_say(r->work, "%s: treated as lost", text);
			return 1; /* the plan has changed */
		}
		marked += bad[m];
	}
	for (uint32_t m = 0; m < s->n && rc == 0; m++)
		if (bad[m])
			rc = plan_mark_body(r->p, set, m, err);
	return rc != 0 ? rc : marked;
}

/* If all data are proven right, all bodies that were used may be wrong; first
 * of all those behind damaged headers.  Marks them, and returns their number,
 * -1 on error. */
static long
doubt_bodies(struct rebuild_run *r, uint32_t set, struct error *err)
{
	const struct plan_set *s = &r->p->sets[set];
	bool *used = arena_alloc(r->arena, s->n, sizeof(*used));
	long marked = 0;

	if (used == NULL)
		return error_no_memory(err);
	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *pm = &s->members[m];

		for (size_t i = 0; pm->files && i < pm->list.nfiles; i++) {
			const struct plan_file *f =
				plan_member_file(r->p, pm, i);

			if (f == NULL || (f->state == FILE_PRESENT &&
					  !f->has_crc && f->attr.size > 0))
				return 0;
		}
	}
	for (uint32_t m = 0; m < s->n; m++)
		used[m] = reads_body(s, m) &&
			  (!s->salvage ||
			   s->members[m].state == RED_HEADER_DAMAGED);
	for (uint32_t m = 0; m < s->n; m++) {
		if (!used[m])
			continue;
		if (plan_mark_body(r->p, set, m, err) < 0)
			return -1;
		marked++;
	}
	return marked;
}

/* May the body, or the file that begins at `at`, be wrong?  False: it was
 * supposed already, or a checksum proves it. */
static bool
is_suspect(const struct rebuild_run *r, uint32_t set,
	   const struct solve_ref *at)
{
	const struct plan_member *m = &r->p->sets[set].members[at->member];
	uint64_t off = at->off;

	if (!at->body) {
		const struct plan_file *f =
			plan_member_file(r->p, m, plan_file_at(m, &off));

		if (f == NULL || f->state != FILE_PRESENT || f->has_crc)
			return false;
	}
	for (size_t i = 0; i < r->nguesses; i++) {
		const struct rebuild_input *g = &r->guesses[i];

		if (g->set == set && g->at.member == at->member &&
		    g->at.body == at->body && g->at.off == at->off)
			return false;
	}
	return true;
}

/* The first suspect among the inputs of the set; false: none. */
static bool
find_suspect(const struct rebuild_run *r, uint32_t set, struct solve_ref *at)
{
	const struct plan_set *ps = &r->p->sets[set];
	const struct solution *s = ps->solution;

	for (size_t j = 0; s != NULL && j < s->njobs; j++)
		for (uint32_t i = 0; i < s->jobs[j].nin; i++) {
			const struct solve_ref *in = &s->jobs[j].in[i];
			const struct redset_member *l =
				&ps->members[in->member].list;
			uint64_t start = 0;

			*at = (struct solve_ref){ in->member, in->body, 0 };
			if (in->body && is_suspect(r, set, at))
				return true;
			for (size_t k = 0; !in->body && k < l->nfiles &&
					   start < in->off + s->jobs[j].len;
			     k++) {
				at->off = start;
				start += l->files[k].attr.size;
				if (start > in->off && is_suspect(r, set, at))
					return true;
			}
		}
	return false;
}

/* No checksum tells which input of the set is wrong: suppose it of one after
 * the other; the checksums of the results prove the right one.  Returns 1 if
 * the plan has changed; 0: all have been tried; or -1. */
static int
suppose(struct rebuild_run *r, uint32_t set, struct error *err)
{
	struct rebuild_input g = { .set = set, .active = true };

	for (size_t i = 0; i < r->nguesses; i++) {
		struct rebuild_input *old = &r->guesses[i];

		if (old->set != set || !old->active)
			continue;
		old->active = false;
		if (plan_suppose(r->p, set, &old->at, false, err) < 0)
			return -1;
	}
	while (find_suspect(r, set, &g.at)) {
		if (!MEM_ROOM(r->guesses, r->nguesses, r->guesses_cap))
			return error_no_memory(err);
		r->guesses[r->nguesses++] = g;
		if (plan_suppose(r->p, set, &g.at, true, err) < 0)
			return -1;
		if (r->p->sets[set].verdict != SET_LOST)
			return 1;
		r->guesses[r->nguesses - 1].active = false;
		if (plan_suppose(r->p, set, &g.at, false, err) < 0)
			return -1;
	}
	return 0;
}

/* Has any other file of the set, all of which were read, the checksum in
 * rank2file? */
static bool
is_confirmed(const struct plan *p, uint32_t set)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->ranks[p->files[i].rank].data_set == set &&
		    p->files[i].record_crc &&
		    p->files[i].state == FILE_PRESENT &&
		    p->files[i].attr.size > 0)
			return true;
	return false;
}

static long
check_outputs(struct rebuild_run *r, struct error *err)
{
	uint32_t set = PLAN_NONE;
	long marked = 0;

	for (size_t i = 0; r->new_sums != NULL && i < r->p->nfiles; i++) {
		const struct plan_file *f = &r->p->files[i];

		if (!f->has_crc || f->fate != FATE_REBUILD ||
		    r->new_sums[i].seen != f->attr.size)
			continue;
		r->result->crc_checked++;
		if (r->new_sums[i].crc == f->crc)
			continue;
		/* One of its inputs is damaged: check the files of its set. */
		set = r->p->ranks[f->rank].data_set;
		for (size_t k = 0; k < r->p->nfiles; k++)
			r->look[k] =
				r->p->ranks[r->p->files[k].rank].data_set ==
				set;
		marked = look_again(r, r->look, err);
		r->contradicted = r->contradicted || marked == 0;
		r->recorded = r->recorded || (marked == 0 && f->record_crc &&
					      !r->p->sets[set].salvage &&
					      !is_confirmed(r->p, set));
		r->result->deep = r->result->deep || marked == 0;
		if (marked == 0)
			marked = blame_bodies(r, set, err);
		if (marked == 0)
			marked = suppose(r, set, err);
		if (marked == 0)
			marked = doubt_bodies(r, set, err);
		if (marked != 0)
			return marked;
		return error_set(
			err, ERROR_LOST,
			"%s: the computed contents do not match the recorded "
			"checksum 0x%08x: a file of its set "
			"without a checksum is damaged",
			f->path, f->crc);
	}
	return 0;
}

/* Was a computed file of the set without a recorded checksum? */
static bool
unconfirmed(const struct rebuild_run *r, const struct plan_set *s)
{
	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *pm = &s->members[m];

		if (pm->fate == FATE_REBUILD)
			return true;
		for (size_t i = 0; i < pm->list.nfiles; i++) {
			const struct plan_file *f =
				plan_member_file(r->p, pm, i);

			if (f != NULL && !f->has_crc && f->fate == FATE_REBUILD)
				return true;
		}
	}
	return false;
}

long
rebuild_check_sums(struct rebuild_run *r, struct error *err)
{
	long bad = 0;

	/* Mark files that were read completely and have a wrong checksum. */
	for (size_t i = 0; r->sums != NULL && i < r->p->nfiles; i++) {
		const struct plan_file *f = &r->p->files[i];
		uint64_t seen = r->sums[i].seen;

		if (!f->has_crc || f->state != FILE_PRESENT || seen == 0 ||
		    seen != f->attr.size)
			continue;
		r->result->crc_checked++;
		if (r->sums[i].crc == f->crc)
			continue;
		if (mark_damaged(r, i, err) < 0)
			return -1;
		bad++;
	}
	if (bad == 0)
		bad = check_outputs(r, err);
	if (bad != 0 || r->sums == NULL)
		return bad;
	/* Check the files that were read only in part.  If a rebuilt file has
	 * no checksum, a damaged input would get into it unnoticed. */
	memset(r->look, false, r->p->nfiles);
	for (size_t i = 0; i < r->p->nsets; i++) {
		const struct plan_set *s = &r->p->sets[i];

		if (s->map || !rebuild_wants(r, s) || !unconfirmed(r, s))
			continue;
		for (uint32_t m = 0; m < s->n; m++)
			for (size_t k = 0; k < s->members[m].list.nfiles; k++) {
				const struct plan_file *f = plan_member_file(
					r->p, &s->members[m], k);
				const size_t at =
					f ? (size_t)(f - r->p->files) : 0;
				const uint64_t seen = f ? r->sums[at].seen : 0;

				if (seen == 0 || seen == f->attr.size ||
				    !f->has_crc || f->state != FILE_PRESENT)
					continue;
				r->look[at] = true;
				r->result->crc_checked++;
			}
	}
	return look_again(r, r->look, err);
}

void
rebuild_doubt(struct rebuild_run *r, struct error *err)
{
	const char *doubt = NULL;

	if (err == NULL || err->kind != ERROR_LOST)
		return;
	if (!r->contradicted)
		(void)deep_doubt_record(r->p, r->work, &doubt, NULL);
	else if (r->recorded)
		doubt = "rank2file has other checksums than what is computed: "
			"it is an older one, or a file without a checksum is "
			"damaged";
	else
		error_remedy(err, REMEDY_DECIDE);
	if (doubt == NULL)
		return;
	plan_set_flaw(r->p, STATUS_FAILED, doubt, NULL);
	plan_error(r->p, err);
}

int
rebuild_compare_rest(struct rebuild_run *r, struct error *err)
{
	struct deep_result found;
	bool supposed = false;
	int rc = 0;

	if (r->work->dry_run && !r->o.trial)
		return 0;
	if (deep_search_losses(r->p, r->work, &found, err) < 0)
		return -1;
	for (size_t i = 0; rc >= 0 && i < found.nfindings; i++) {
		struct error why = ERROR_INIT;

		/* What needs an unreadable file, finds it. */
		if (found.findings[i].unread != NULL ||
		    found.findings[i].provable)
			continue;
		/* Is the set computed without an input that is supposed to be
		 * wrong? */
		for (size_t k = 0; k < r->nguesses && !supposed; k++)
			supposed = r->guesses[k].active &&
				   r->guesses[k].set == found.findings[i].set;
		if (supposed) {
			rc = suppose(r, found.findings[i].set, err);
			break;
		}
		rc = 1;
		r->result->deep = true;
		r->result->crc_wrong += found.findings[i].file != PLAN_NONE;
		deep_error(r->p, &found.findings[i], &why);
		if (deep_is_located(&found.findings[i]))
			work_detail(r->work, "%s", why.text);
		else if (deep_is_left(r->p, &found.findings[i]))
			work_say(r->work, "%s: left alone", why.text);
		else
			rc = error_as(err, &why, "dataset %lld: %s",
				      (long long)r->p->id, why.text);
		r->result->undecided |= !deep_is_located(&found.findings[i]);
		if (rc < 0)
			error_remedy(err, REMEDY_CHOOSE);
	}
	deep_free(&found);
	return rc;
}

int
rebuild_search(struct plan *p, bool deep, bool sums, const struct work *work,
	       struct deep_result *out, struct error *err)
{
	const struct rebuild_options o = { .work = work, .trial = true };
	struct error why = ERROR_INIT;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (p->was != NULL) /* there is little to compare yet */
		return 0;
	if (deep && deep_search(p, work, out, err) < 0)
		goto fail;
	/* Try a rebuild whose results have checksums. */
	for (size_t i = 0; i < p->nfiles && sums && rc == 0; i++)
		rc = p->files[i].has_crc && p->files[i].fate == FATE_REBUILD;
	if (rc == 0 || plan_status(p) != STATUS_DAMAGED ||
	    rebuild(p, &o, NULL, &why) == 0 || plan_status(p) == STATUS_LOST ||
	    p->flaw != NULL)
		return 0;
	rc = why.kind == ERROR_LOST || why.kind == ERROR_DAMAGED
		     ? plan_set_flaw(p, error_status(why.kind),
				     arena_strdup(p->arena, why.text), err)
		     : error_pass(err, &why);
	if (rc == 0)
		return 0;
fail:
	deep_free(out);
	return -1;
}
