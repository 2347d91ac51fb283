/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_judge.c - what the states of its files make of a checkpoint.
 */
#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "fti/posix.h"
#include "ftijob/set.h"
#include "ftijob/set_impl.h"
#include "str.h"

bool
fti_part_usable(const struct fti_part_file *p)
{
	return p->exact || p->state == FTI_STATE_GOOD ||
	       (p->state == FTI_STATE_REFUSED && p->data_good);
}

bool
fti_set_asks_data(const struct fti_set *set)
{
	bool asks = false;

	for (size_t i = 0; i < set->nranks * FTI_PARTS; i++)
		asks = asks ||
		       set->ranks[i / FTI_PARTS].parts[i % FTI_PARTS].open;
	return asks && !set->data_read && set->state == FTI_SET_UNKNOWN;
}

bool
fti_set_copies(const struct fti_set *set)
{
	return (set->level == FTI_L1 || set->level == FTI_L4) &&
	       set->whole == NULL;
}

struct tally {
	/* Ranks whose file is computed from others; that FTI refuses, or that
	 * is repaired first; that nothing gives; of these, where a file could
	 * not be read, or contradicts others. */
	size_t mend, refused, lost, unknown;
	size_t elsewhere; /* `refused`, as only another level has it */
	size_t unread;	  /* whose file stays, as it cannot be read */
	const struct fti_rank *first; /* that is lost */
};

/* Is there a file of the rank that may be right? */
static bool
is_open(const struct fti_rank *r)
{
	for (int p = 0; p <= FTI_ELSEWHERE; p++)
		if (r->parts[p].state == FTI_STATE_UNKNOWN ||
		    r->parts[p].open || r->parts[p].state == FTI_STATE_FOREIGN)
			return true;
	return false;
}

/* Count the rank; `computed`: others give its file; `open`: perhaps. */
static void
tally_rank(struct fti_set *set, struct tally *t, const struct fti_rank *r,
	   bool computed, bool open)
{
	const struct fti_part_file *own = &r->parts[FTI_OWN];
	const bool from_copy = (set->level == FTI_L2 &&
				fti_part_usable(&r->parts[FTI_COPY])) ||
			       r->parts[FTI_ELSEWHERE].exact;

	t->refused += own->state == FTI_STATE_REFUSED;
	if (own->exact)
		return;
	t->unread += computed && own->state == FTI_STATE_UNKNOWN;
	t->mend += computed && own->state != FTI_STATE_UNKNOWN;
	if (!computed && fti_part_usable(own))
		return;
	set->bad++;
	if (computed)
		return;
	if (from_copy) {
		t->refused++;
		t->elsewhere += r->parts[FTI_ELSEWHERE].exact;
		return;
	}
	t->lost++;
	t->unknown += open;
	if (t->first == NULL || r->rank < t->first->rank)
		t->first = r;
}

/* Count a rank of L3.  Returns whether FTI takes the files of its group. */
static bool
tally_coded(struct fti_set *set, struct tally *t, const struct fti_rank *r)
{
	const uint32_t k = set->geometry.group_size;
	/* Files from which nothing can be computed; that FTI does not take. */
	uint32_t lost = 0, refused = 0;
	bool open = false;

	for (uint32_t m = 0; m < k; m++) {
		const struct fti_rank *of = fti_set_member(set, r->group, m);

		for (int p = FTI_OWN; p <= FTI_PARITY; p += FTI_PARITY) {
			lost += of == NULL || !of->parts[p].exact;
			refused += of == NULL ||
				   of->parts[p].state != FTI_STATE_GOOD;
		}
		open = open || (of != NULL && is_open(of));
		/* Without its metadata, nothing of the group is computed. */
		if (set->posix && of != NULL && of->posix == NULL)
			lost += 2 * k;
	}
	tally_rank(set, t, r, lost <= k, open);
	return refused <= k;
}

static bool
is_grouped(const struct fti_set *set)
{
	return set->geometry.group_size > 1 && set->geometry.node_size > 0;
}

/* If the ranks without a file may be heads, which have none: the ranks of a
 * node; else 0. */
static uint32_t
heads_of(const struct fti_set *set)
{
	uint32_t size = 0;

	if (set->geometry.head >= 0)
		return 0;
	for (size_t i = 0; i < set->nranks; i++) {
		const bool lacks = set->ranks[i].parts[FTI_OWN].entry == NULL;

		if (lacks && i > 0 && size == 0)
			size = (uint32_t)i;
		if (lacks != (size == 0 ? i == 0 : i % size == 0))
			return 0;
	}
	size = size == 0 ? (uint32_t)set->nranks : size;
	return size > 1 ? size : 0;
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

/* The ranks that lack a good file, and what is in the way. */
static void
put_lacking(const struct fti_sets *s, const struct fti_set *set,
	    const struct tally *t, struct buf *out)
{
	size_t unread = 0, foreign = 0;

	for (size_t i = 0; i < set->nranks; i++) {
		const enum fti_state state = set->ranks[i].parts[FTI_OWN].state;

		unread += state == FTI_STATE_UNKNOWN;
		foreign += state == FTI_STATE_FOREIGN;
	}
	buf_printf(out, "%zu of %zu ranks lack a good file", set->bad,
		   set->nranks);
	if (unread > 0)
		buf_printf(out, ", %zu of them cannot be read", unread);
	else if (foreign > 0)
		buf_printf(out,
			   ", %zu of them have one that does not belong to "
			   "this checkpoint",
			   foreign);
	if (t->lost > 0)
		buf_printf(out, "; cannot be rebuilt: rank %" PRIu32,
			   t->first->rank);
	else if (has_odd_loss(set))
		buf_add_str(out, "; FTI itself would get the last byte of an "
				 "odd size wrong");
	if (t->lost > 0 && set->coded_elsewhere)
		buf_add_str(out, ", unless L3 gives it when it is rebuilt");
	if (t->lost > 0 && s->tree.unread != NULL)
		buf_printf(out,
			   "; it may be in a directory that cannot be read: %s",
			   s->tree.unread);
}

/* Why it is not whole and protected. */
static void
put_reason(const struct fti_sets *s, const struct fti_set *set,
	   const struct tally *t, struct buf *out)
{
	const bool whole = set->state == FTI_SET_WHOLE;
	const bool unknown = set->state == FTI_SET_UNKNOWN;
	const bool copied = set->level == FTI_L2;

	if (set->left_out != NULL && unknown)
		buf_printf(out,
			   "rank %" PRIu32 " has several files, also %s: scan "
			   "the directories one by one",
			   set->left_out->name.rank, set->left_out->path);
	else if (set->conflict != NULL)
		buf_add_str(out, set->conflict);
	else if (set->undescribed > 0)
		buf_printf(out,
			   "%zu of %zu ranks lack their metadata (sector "
			   "files): FTI cannot restart from it%s%s",
			   set->undescribed, set->nranks,
			   set->metadata_problem != NULL ? "; " : "",
			   set->metadata_problem != NULL ? set->metadata_problem
							 : "");
	else if (!set->posix && !set->layout_known)
		buf_add_str(out,
			    "no file is of FTI-FF; if they are POSIX files, "
			    "their metadata (sector files) is missing");
	else if (whole && set->values > 0)
		buf_printf(out, "%zu damaged %s in the metadata (sector files)",
			   str_count(set->values, "value"));
	else if (whole && t->refused > 0)
		buf_printf(out,
			   "FTI refuses %zu of %zu files, and takes what %s "
			   "gives",
			   t->refused, set->nranks,
			   copied ? "their copies" : "the parity");
	else if (whole)
		buf_printf(out, "%zu of %zu %s are missing or damaged",
			   set->unprotected, set->nranks,
			   copied ? "copies" : "parity files");
	else if (set->state == FTI_SET_REFUSED && t->elsewhere > 0)
		buf_printf(out,
			   "%zu of %zu ranks lack a good file at this level, "
			   "but another level has it",
			   t->elsewhere, set->nranks);
	else if (set->state == FTI_SET_REFUSED)
		buf_printf(out,
			   "%zu of %zu files are intact, but FTI refuses them",
			   t->refused, set->nranks);
	else if (unknown && heads_of(set) > 0)
		buf_printf(out,
			   "%zu of %zu ranks lack their file; if they are "
			   "heads: --heads --node-size %" PRIu32,
			   set->bad, set->nranks, heads_of(set));
	else if (unknown && (copied || set->level == FTI_L3) &&
		 !is_grouped(set))
		buf_printf(out,
			   "%zu of %zu ranks lack their file; the size of the "
			   "%s is not known (%s)",
			   set->bad, set->nranks,
			   set->geometry.group_size > 1 ? "nodes" : "groups",
			   set->geometry.group_size > 1 ? "--node-size"
							: "--group-size");
	else
		put_lacking(s, set, t, out);
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
				       set->coded_elsewhere ||
				       set->left_out != NULL ||
				       (coded && !is_grouped(set)) ||
				       heads_of(set) > 0 ||
				       (!set->posix && !set->layout_known &&
					set->found > 0)
			       ? FTI_SET_UNKNOWN
			       : FTI_SET_LOST;
	if (t->mend > 0)
		return set->left_out != NULL ? FTI_SET_UNKNOWN
					     : FTI_SET_REBUILDABLE;
	if (t->unread > 0)
		return FTI_SET_UNKNOWN;
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
	if (set->state == FTI_SET_REBUILDABLE && fti_set_copies(set))
		return "files are missing there";
	if (set->flat || (set->level > FTI_L4 && set->level != FTI_DCP))
		return "it does not look there";
	if (set->no_topology != NULL)
		return "it stops without its Topology.fti";
	return t->refused > 0 && !taken ? "it refuses a file" : NULL;
}

void
fti_set_judge(const struct fti_sets *s, struct fti_set *set)
{
	const bool grouped = is_grouped(set);
	struct tally t = { .mend = 0 };
	struct buf text = BUF_INIT;
	bool taken = true; /* FTI restarts, although it refuses some files */

	set->bad = set->unprotected = set->values = 0;
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *r = &set->ranks[i];
		const struct fti_part_file *p = r->parts;
		bool takes = p[FTI_OWN].state == FTI_STATE_GOOD;

		for (int v = 0; v < FTI_VALUES; v++)
			set->values += r->right[v] != NULL;
		if (grouped && set->level == FTI_L3) {
			takes = tally_coded(set, &t, r);
			set->unprotected += !p[FTI_PARITY].exact;
		} else if (grouped && set->level == FTI_L2) {
			takes = takes || p[FTI_COPY].state == FTI_STATE_GOOD;
			tally_rank(set, &t, r, p[FTI_COPY].exact, is_open(r));
			set->unprotected += !p[FTI_COPY].exact;
		} else {
			tally_rank(set, &t, r,
				   fti_set_copies(set) &&
					   p[FTI_ELSEWHERE].exact,
				   is_open(r));
		}
		taken = taken && takes;
	}
	set->state = state_of(s, set, &t, taken);
	set->refusal = refusal_of(set, &t, taken);
	if (set->state == FTI_SET_WHOLE && set->unprotected == 0 &&
	    t.refused + set->values == 0)
		return;
	put_reason(s, set, &t, &text);
	set->reason = arena_strdup(s->arena, text.data);
	buf_free(&text);
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
