/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_judge.c - what the states of its files make of a checkpoint.
 */
#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/posix.h"
#include "ftijob/set.h"
#include "ftijob/set_impl.h"

bool
fti_part_usable(const struct fti_part_file *p)
{
	return p->exact || p->state == FTI_STATE_GOOD ||
	       (p->state == FTI_STATE_REFUSED && p->data_good);
}

struct tally {
	size_t bad, refused, lost, unknown;
	const struct fti_rank *first; /* that is lost */
};

/* A rank without a usable file, which nothing can give. */
static void
add_lost(struct tally *t, const struct fti_rank *r)
{
	t->lost++;
	if (t->first == NULL || r->rank < t->first->rank)
		t->first = r;
	for (int p = 0; p < FTI_PARTS; p++)
		if (r->parts[p].state == FTI_STATE_UNKNOWN) {
			t->unknown++;
			return;
		}
}

static void
tally_ranks(struct fti_set *set, struct tally *t)
{
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *r = &set->ranks[i];

		t->refused += r->parts[FTI_OWN].state == FTI_STATE_REFUSED;
		if (set->level == FTI_L2)
			set->unprotected += !r->parts[FTI_COPY].exact;
		else if (set->level == FTI_L3)
			set->unprotected += !r->parts[FTI_PARITY].exact;
		if (fti_part_usable(&r->parts[FTI_OWN]))
			continue;
		t->bad++;
		if (set->level == FTI_L2 &&
		    fti_part_usable(&r->parts[FTI_COPY]))
			continue;
		add_lost(t, r);
	}
}

/* Files and parities of group `g` from which nothing can be computed. */
static uint32_t
count_lacking(struct fti_set *set, uint32_t g, bool *unknown)
{
	uint32_t lacking = 0;

	*unknown = false;
	for (uint32_t m = 0; m < set->geometry.group_size; m++) {
		const struct fti_rank *r = fti_set_member(set, g, m);

		lacking += r == NULL ? 2
				     : !r->parts[FTI_OWN].exact +
					       !r->parts[FTI_PARITY].exact;
		if (r != NULL &&
		    (r->parts[FTI_OWN].state == FTI_STATE_UNKNOWN ||
		     r->parts[FTI_PARITY].state == FTI_STATE_UNKNOWN))
			*unknown = true;
	}
	return lacking;
}

static void
tally_groups(struct fti_set *set, struct tally *t)
{
	bool unknown = false;

	t->lost = t->unknown = 0;
	t->first = NULL;
	for (uint32_t g = 0; g < set->groups; g++) {
		if (count_lacking(set, g, &unknown) <= set->geometry.group_size)
			continue;
		for (uint32_t m = 0; m < set->geometry.group_size; m++) {
			const struct fti_rank *r = fti_set_member(set, g, m);

			if (r != NULL && !fti_part_usable(&r->parts[FTI_OWN])) {
				add_lost(t, r);
				t->unknown += unknown;
			}
		}
	}
}

/* --- Why --- */

/* FTI writes only one byte of the last word of parity of odd length, and so
 * computes the last byte of the largest files wrong.  In C to F that byte is
 * padding. */
static bool
has_odd_loss(const struct fti_set *set)
{
	bool odd = false;

	if (set->level != FTI_L3 ||
	    (!set->posix && fti_format(set->layout)->footer))
		return false;
	for (size_t i = 0; i < set->nranks && !odd; i++) {
		const struct fti_rank *r = &set->ranks[i];

		if (r->posix != NULL)
			odd = !fti_part_usable(&r->parts[FTI_OWN]) &&
			      r->posix->max_size % 2 == 1 &&
			      r->posix->size == r->posix->max_size;
		else if (r->parts[FTI_PARITY].exact)
			odd = r->parts[FTI_PARITY].meta.max_fs % 2 == 1;
	}
	return odd;
}

/* ", N of them cannot be read", or "". */
static const char *
unread_text(struct fti_sets *s, const struct fti_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->nranks; i++)
		n += set->ranks[i].parts[FTI_OWN].state == FTI_STATE_UNKNOWN;
	return n == 0 ? ""
		      : arena_printf(s->arena, ", %zu of them cannot be read",
				     n);
}

static const char *
reason_of(struct fti_sets *s, const struct fti_set *set, const struct tally *t)
{
	const bool coded = set->level == FTI_L2 || set->level == FTI_L3;

	if (set->left_out != NULL && set->state == FTI_SET_UNKNOWN)
		return arena_printf(s->arena,
				    "rank %" PRIu32 " has several files, "
				    "also %s: scan the directories one by one",
				    set->left_out->name.rank,
				    set->left_out->path);
	if (set->undescribed > 0)
		return arena_printf(
			s->arena,
			"%zu of %zu ranks lack their metadata (sector files): "
			"FTI cannot restart from it%s%s",
			set->undescribed, set->nranks,
			set->metadata_problem == NULL ? "" : "; ",
			set->metadata_problem == NULL ? ""
						      : set->metadata_problem);
	if (!set->posix && !set->layout_known)
		return "no file is of FTI-FF; if they are POSIX files, their "
		       "metadata (sector files) is missing";
	if (set->state == FTI_SET_WHOLE)
		return arena_printf(s->arena,
				    "%zu of %zu %s are missing or "
				    "damaged",
				    set->unprotected, set->nranks,
				    set->level == FTI_L2 ? "copies"
							 : "parity files");
	if (set->state == FTI_SET_REFUSED)
		return arena_printf(s->arena,
				    "%zu of %zu files are intact, but FTI "
				    "refuses them",
				    t->refused, set->nranks);
	if (set->state == FTI_SET_UNKNOWN && coded &&
	    set->geometry.group_size < 2)
		return arena_printf(s->arena,
				    "%zu of %zu ranks lack their file; the "
				    "size of the groups is not known "
				    "(--group-size)",
				    t->bad, set->nranks);
	return arena_printf(
		s->arena, "%zu of %zu ranks lack a good file%s%s%s%s", t->bad,
		set->nranks, unread_text(s, set),
		t->lost == 0 && has_odd_loss(set)
			? "; FTI itself would get the last byte of an odd size "
			  "wrong"
			: "",
		t->lost > 0 ? "; cannot be rebuilt: rank " : "",
		t->first == NULL
			? ""
			: arena_printf(s->arena, "%" PRIu32, t->first->rank));
}

static enum fti_set_state
state_of(const struct fti_set *set, const struct tally *t)
{
	const bool coded = set->level == FTI_L2 || set->level == FTI_L3;

	if (t->bad == 0)
		return t->refused > 0 ? FTI_SET_REFUSED : FTI_SET_WHOLE;
	if (t->lost == 0)
		return FTI_SET_REBUILDABLE;
	if (t->unknown > 0 || (coded && set->geometry.group_size < 2) ||
	    (!set->posix && !set->layout_known && set->found > 0))
		return FTI_SET_UNKNOWN;
	return FTI_SET_LOST;
}

/* Why FTI would not restart from it. */
static void
judge_as_fti(struct fti_set *set)
{
	if (set->undescribed > 0)
		set->refusal = "it finds no metadata";
	else if (set->state == FTI_SET_REFUSED)
		set->refusal = "it refuses a file";
	else if (set->state == FTI_SET_LOST)
		set->refusal = "files are lost";
	else if (set->state == FTI_SET_UNKNOWN)
		set->refusal = "not known";
	else if (set->level > FTI_L4 && set->level != FTI_DCP)
		set->refusal = "it does not look there";
	for (size_t i = 0; set->refusal == NULL && i < set->nranks; i++)
		for (int p = 0; p < FTI_PARTS; p++)
			if (set->ranks[i].parts[p].state == FTI_STATE_REFUSED)
				set->refusal = "it refuses a file";
}

int
fti_set_judge(struct fti_sets *s, struct fti_set *set, struct error *err)
{
	struct tally t = { .bad = 0 };
	const bool coded = (set->level == FTI_L2 || set->level == FTI_L3) &&
			   set->geometry.group_size > 1;

	set->unprotected = 0;
	tally_ranks(set, &t);
	if (set->level == FTI_L3 && coded)
		tally_groups(set, &t);
	if (!coded)
		set->unprotected = 0;
	set->bad = t.bad;
	set->state = state_of(set, &t);
	/* Perhaps the files that were left out are the good ones. */
	if (set->left_out != NULL && set->state != FTI_SET_WHOLE)
		set->state = FTI_SET_UNKNOWN;
	judge_as_fti(set);
	if (set->state == FTI_SET_WHOLE && set->unprotected == 0)
		return 0;
	set->reason = reason_of(s, set, &t);
	return set->reason == NULL ? error_no_memory(err) : 0;
}

/* FTI looks for differential checkpoints where it looks for those of L4. */
static enum fti_level
looked_at(const struct fti_set *set)
{
	return set->level == FTI_DCP ? FTI_L4 : set->level;
}

const struct fti_set *
fti_sets_choice(const struct fti_sets *s, const char *exec)
{
	const struct fti_set *best = NULL;

	for (size_t i = 0; i < s->count; i++) {
		const struct fti_set *set = &s->list[i];

		if (strcmp(set->exec, exec) != 0 || set->refusal != NULL)
			continue;
		if (best == NULL || looked_at(set) < looked_at(best) ||
		    (looked_at(set) == looked_at(best) &&
		     set->level != best->level && set->written > best->written))
			best = set;
	}
	return best;
}
