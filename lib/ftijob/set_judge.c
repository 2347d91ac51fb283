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
	/* Ranks whose file is computed from others; that FTI refuses, or that
	 * is repaired first; that nothing gives; of these, where a file could
	 * not be read, or contradicts others. */
	size_t mend, refused, lost, unknown;
	const struct fti_rank *first; /* that is lost */
};

/* Is there a file of the rank that may be right? */
static bool
is_open(const struct fti_rank *r)
{
	for (int p = 0; p < FTI_PARTS; p++)
		if (r->parts[p].state == FTI_STATE_UNKNOWN ||
		    r->parts[p].state == FTI_STATE_FOREIGN)
			return true;
	return false;
}

/* The files of group `g` from which nothing can be computed, and those that FTI
 * does not take. */
struct lack {
	uint32_t exact, good;
	bool open; /* some could not be read, or contradict others */
};

static struct lack
lack_of(struct fti_set *set, uint32_t g)
{
	struct lack l = { 0, 0, false };

	for (uint32_t m = 0; m < set->geometry.group_size; m++) {
		const struct fti_rank *r = fti_set_member(set, g, m);

		for (int p = FTI_OWN; p <= FTI_PARITY; p += FTI_PARITY) {
			l.exact += r == NULL || !r->parts[p].exact;
			l.good += r == NULL ||
				  r->parts[p].state != FTI_STATE_GOOD;
		}
		l.open = l.open || (r != NULL && is_open(r));
		/* Without its metadata, nothing of the group is computed. */
		if (set->posix && r != NULL && r->posix == NULL)
			l.exact += 2 * set->geometry.group_size;
	}
	return l;
}

/* Count the rank; `computed`: others give its file; `open`: perhaps. */
static void
tally_rank(struct fti_set *set, struct tally *t, const struct fti_rank *r,
	   bool computed, bool open)
{
	const struct fti_part_file *own = &r->parts[FTI_OWN];
	const bool from_copy =
		set->level == FTI_L2 && fti_part_usable(&r->parts[FTI_COPY]);

	t->refused += own->state == FTI_STATE_REFUSED;
	if (own->exact)
		return;
	t->mend += computed;
	if (!computed && fti_part_usable(own))
		return;
	set->bad++;
	if (computed)
		return;
	if (from_copy) {
		t->refused++;
		return;
	}
	t->lost++;
	t->unknown += open;
	if (t->first == NULL || r->rank < t->first->rank)
		t->first = r;
}

/* Sets *taken: does FTI restart, although it refuses some of the files? */
static void
tally_all(struct fti_set *set, struct tally *t, bool *taken)
{
	const uint32_t k = set->geometry.group_size;
	const bool coded = k > 1 && set->geometry.node_size > 0 &&
			   (set->level == FTI_L2 || set->level == FTI_L3);

	set->bad = set->unprotected = set->sums = 0;
	*taken = true;
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *r = &set->ranks[i];
		const struct fti_part_file *p = r->parts;
		const bool good = p[FTI_OWN].state == FTI_STATE_GOOD;
		struct lack l = { 0, 0, false };

		for (int part = 0; part < FTI_PARTS; part++)
			set->sums += p[part].right_sum != NULL;
		if (!coded) {
			tally_rank(set, t, r, false, is_open(r));
			*taken = *taken && good;
		} else if (set->level == FTI_L2) {
			tally_rank(set, t, r, p[FTI_COPY].exact, is_open(r));
			set->unprotected += !p[FTI_COPY].exact;
			*taken = *taken &&
				 (good || p[FTI_COPY].state == FTI_STATE_GOOD);
		} else {
			l = lack_of(set, r->group);
			tally_rank(set, t, r, l.exact <= k, l.open);
			set->unprotected += !p[FTI_PARITY].exact;
			*taken = *taken && l.good <= k;
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
	size_t unread = 0, foreign = 0;

	for (size_t i = 0; i < set->nranks; i++) {
		const enum fti_state state = set->ranks[i].parts[FTI_OWN].state;

		unread += state == FTI_STATE_UNKNOWN;
		foreign += state == FTI_STATE_FOREIGN;
	}
	if (unread > 0)
		return arena_printf(s->arena, ", %zu of them cannot be read",
				    unread);
	return foreign == 0
		       ? ""
		       : arena_printf(s->arena,
				      ", %zu of them have one that does not "
				      "belong to this checkpoint",
				      foreign);
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
	if (set->conflict != NULL)
		return set->conflict;
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
	if (set->state == FTI_SET_WHOLE && set->sums > 0)
		return arena_printf(s->arena,
				    "%zu damaged %s in the metadata (sector "
				    "files)",
				    set->sums,
				    set->sums == 1 ? "checksum" : "checksums");
	if (set->state == FTI_SET_WHOLE && t->refused > 0)
		return arena_printf(s->arena,
				    "FTI refuses %zu of %zu files, and takes "
				    "what %s gives",
				    t->refused, set->nranks,
				    set->level == FTI_L2 ? "their copies"
							 : "the parity");
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
				    set->bad, set->nranks);
	return arena_printf(
		s->arena, "%zu of %zu ranks lack a good file%s%s%s%s%s%s",
		set->bad, set->nranks, unread_text(s, set),
		t->lost == 0 && has_odd_loss(set)
			? "; FTI itself would get the last byte of an odd size "
			  "wrong"
			: "",
		t->lost > 0 ? "; cannot be rebuilt: rank " : "",
		t->first == NULL
			? ""
			: arena_printf(s->arena, "%" PRIu32, t->first->rank),
		t->lost > 0 && s->tree.unread != NULL
			? "; it may be in a directory that cannot be read: "
			: "",
		t->lost > 0 && s->tree.unread != NULL ? s->tree.unread : "");
}

static enum fti_set_state
state_of(const struct fti_sets *s, const struct fti_set *set,
	 const struct tally *t, bool taken)
{
	const bool coded = set->level == FTI_L2 || set->level == FTI_L3;

	if (set->conflict != NULL)
		return FTI_SET_UNKNOWN;
	if (t->lost > 0)
		return t->unknown > 0 || s->tree.unread != NULL ||
				       set->undescribed > 0 ||
				       set->left_out != NULL ||
				       (coded &&
					set->geometry.group_size < 2) ||
				       (!set->posix && !set->layout_known &&
					set->found > 0)
			       ? FTI_SET_UNKNOWN
			       : FTI_SET_LOST;
	if (t->mend > 0)
		return set->left_out != NULL ? FTI_SET_UNKNOWN
					     : FTI_SET_REBUILDABLE;
	return t->refused > 0 && (!taken || set->bad > 0) ? FTI_SET_REFUSED
							  : FTI_SET_WHOLE;
}

/* Why FTI would not restart from it. */
static const char *
refusal_of(const struct fti_set *set, const struct tally *t, bool taken)
{
	for (size_t i = 0; i < set->nranks; i++)
		for (int p = 0; p < FTI_PARTS; p++)
			if (set->ranks[i].parts[p].state == FTI_STATE_FOREIGN)
				return "its files do not belong together";
	if (set->conflict != NULL)
		return "its files do not belong together";
	if (set->undescribed > 0)
		return "it finds no metadata";
	if (set->state == FTI_SET_LOST)
		return "files are lost";
	if (set->state == FTI_SET_UNKNOWN)
		return "not known";
	if (set->flat || (set->level > FTI_L4 && set->level != FTI_DCP))
		return "it does not look there";
	if (set->no_topology != NULL)
		return "it stops without its Topology.fti";
	return t->refused > 0 && !taken ? "it refuses a file" : NULL;
}

int
fti_set_judge(struct fti_sets *s, struct fti_set *set, struct error *err)
{
	struct tally t = { .mend = 0 };
	bool taken = true;

	tally_all(set, &t, &taken);
	set->state = state_of(s, set, &t, taken);
	set->refusal = refusal_of(set, &t, taken);
	if (set->state == FTI_SET_WHOLE && set->unprotected == 0 &&
	    t.refused + set->sums == 0)
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
