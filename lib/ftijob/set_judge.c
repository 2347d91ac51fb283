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
#include "mem.h"
#include "path.h"
#include "str.h"

bool
fti_part_usable(const struct fti_part_file *p)
{
	return p->state == FTI_STATE_GOOD || p->state == FTI_STATE_REFUSED;
}

bool
fti_rank_lacks_sum(const struct fti_rank *r)
{
	return r->posix != NULL && r->posix->nlayers == 0 &&
	       r->posix->sum == NULL && !r->parts[FTI_OWN].exact;
}

bool
fti_set_asks_data(const struct fti_set *set)
{
	bool asks = false;

	for (size_t i = 0; i < set->nranks * FTI_PARTS; i++) {
		const struct fti_part_file *p =
			&set->ranks[i / FTI_PARTS].parts[i % FTI_PARTS];

		asks = asks || (set->state == FTI_SET_UNKNOWN && p->open) ||
		       (set->state == FTI_SET_REFUSED && p->unproven);
	}
	return asks && !set->data_read;
}

/* What becomes of the ranks without an exact file of their own. */
struct tally {
	size_t mend;	/* their file is computed from others */
	size_t refused; /* FTI refuses it, or it is repaired first */
	size_t lost;	/* nothing gives it */
	const struct fti_rank *first; /* that is lost */
	/* One whose file others give, but it stays, as it cannot be read. */
	const struct fti_rank *unread;
	const char *maybe;	   /* why one of them may have it, or NULL */
	const char *problem;	   /* of the first that FTI refuses, or NULL */
	size_t spare;		   /* copies and parity that FTI refuses */
	const char *spare_problem; /* of the first of these, or NULL */
	bool taken;   /* FTI restarts, although it refuses some files */
	bool foreign; /* a file is of another checkpoint */
};

/* --- What nobody knows --- */

/* What a file `e` of the rank at level `o` is good for.  At levels 1 and 4 the
 * same file serves; those of 2 and 3 fit their partners. */
static const char *
at_other_level(const struct fti_sets *s, struct fti_set *set,
	       const struct fti_rank *r, const struct fti_set *o,
	       const struct fti_entry *e)
{
	const char *level = fti_levels[o->level].name, *dir = NULL;
	const struct fti_entry *own = r->parts[FTI_OWN].entry;
	const char **dirs = NULL;

	if ((set->level != FTI_L1 && set->level != FTI_L4) ||
	    set->whole != NULL || o->whole != NULL)
		return arena_printf(s->arena, "%s has a file of the rank",
				    level);
	/* It goes where it was, or where others of the node are or were. */
	if (own != NULL) {
		dir = fti_tree_dir(s->arena, own->path);
	} else {
		dirs = fti_set_dirs(s, set);
		dir = dirs[r->node];
		mem_free(dirs);
	}
	return arena_printf(
		s->arena, "%s at %s may give it%s%s", e->path, level,
		dir != NULL ? ": copy it to " : "",
		dir != NULL ? fti_tree_join(s->arena, dir, path_base(e->path))
			    : "");
}

/* Why a file may exist from which that of the rank comes, or NULL: those of its
 * group that could not be read, or that nothing disproves; and those of the
 * same checkpoint at other levels, which are not asked. */
static const char *
may_exist(const struct fti_sets *s, struct fti_set *set,
	  const struct fti_rank *r)
{
	const bool coded = set->level == FTI_L3 && fti_set_is_grouped(set);
	const uint32_t k = coded ? set->geometry.group_size : 1;

	for (uint32_t i = 0; i < k * FTI_PARTS; i++) {
		const struct fti_rank *of =
			coded ? fti_set_member(set, r->group, i / FTI_PARTS)
			      : r;
		const struct fti_part_file *p =
			of == NULL ? NULL : &of->parts[i % FTI_PARTS];

		if (p != NULL && (p->open || p->state == FTI_STATE_UNKNOWN ||
				  p->state == FTI_STATE_FOREIGN))
			return arena_printf(
				s->arena, "%s is %s: %s", p->entry->path,
				fti_state_names[p->state], p->problem);
	}
	for (size_t i = 0; set->level != FTI_DCP && i < s->count; i++) {
		struct fti_set *o = &s->list[i];
		const struct fti_rank *of = fti_set_rank(o, r->rank);
		const struct fti_entry *e = o->whole;

		if (o == set || o->id != set->id ||
		    !str_eq(o->exec, set->exec) || o->level == FTI_DCP ||
		    o->level == FTI_TMP)
			continue;
		if (e == NULL && of != NULL)
			e = of->parts[FTI_OWN].entry;
		if (e != NULL)
			return at_other_level(s, set, r, o, e);
		/* Without groups, nobody knows of which rank a copy is. */
		if (o->level == FTI_L2 &&
		    (!fti_set_is_grouped(o) ||
		     (of != NULL && of->parts[FTI_COPY].entry != NULL)))
			return "the copy at L2 may give it";
		if (o->level == FTI_L3 && o->state != FTI_SET_LOST)
			return "the parity at L3 may give it";
	}
	return NULL;
}

/* Why files of the checkpoint may exist that were not found, or NULL. */
static const char *
may_be_elsewhere(const struct fti_sets *s, const struct fti_set *set)
{
	const struct fti_geometry *g = &set->geometry;

	if (s->tree.unread != NULL)
		return arena_printf(s->arena,
				    "it may be in a directory that cannot be "
				    "read: %s",
				    s->tree.unread);
	/* Rank 0 is a head if there are any, and heads have no files. */
	if (g->node_size != 1 &&
	    (g->head > 0 ? g->node_size == 0
			 : g->head < 0 &&
				   set->ranks[0].parts[FTI_OWN].entry == NULL))
		return "if they are heads: --heads --node-size N";
	if ((set->level == FTI_L2 || set->level == FTI_L3) &&
	    !fti_set_is_grouped(set))
		return g->group_size > 1 ? "the size of the nodes is not known "
					   "(--node-size)"
					 : "the size of the groups is not "
					   "known (--group-size)";
	return set->undescribed > 0 ? "it has no metadata" : NULL;
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

/* Why it is not whole and protected. */
static void
put_reason(const struct fti_set *set, const struct tally *t, struct buf *out)
{
	const bool whole = set->state == FTI_SET_WHOLE;
	const bool copied = set->level == FTI_L2;

	if (set->conflict != NULL) {
		buf_add_str(out, set->conflict);
	} else if (set->undescribed > 0) {
		buf_printf(out,
			   "%zu of %zu ranks lack their metadata (sector "
			   "files): FTI cannot restart from it%s%s",
			   set->undescribed, set->nranks,
			   set->metadata_problem != NULL ? "; " : "",
			   set->metadata_problem != NULL ? set->metadata_problem
							 : "");
	} else if (!set->posix && !set->layout_known) {
		buf_add_str(out,
			    "no file is of FTI-FF; if they are POSIX files, "
			    "their metadata (sector files) is missing");
	} else if (whole && t->refused > 0) {
		buf_printf(out,
			   "FTI refuses %zu of %zu files, and takes what %s "
			   "gives",
			   t->refused, set->nranks,
			   copied ? "their copies" : "the parity");
	} else if (whole && set->unprotected > 0) {
		buf_printf(out, "%zu of %zu %s are missing or damaged",
			   set->unprotected, set->nranks,
			   copied ? "copies" : "parity files");
	} else if (whole) {
		buf_printf(out, "FTI refuses %zu of %zu %s; %s", t->spare,
			   set->nranks, copied ? "copies" : "parity files",
			   t->spare_problem);
	} else if (set->state == FTI_SET_REFUSED) {
		buf_printf(out,
			   "%zu of %zu files are intact, but FTI refuses "
			   "them%s%s",
			   t->refused, set->nranks,
			   t->problem != NULL ? "; " : "",
			   t->problem != NULL ? t->problem : "");
	} else {
		buf_printf(out, "%zu of %zu ranks lack a good file", set->bad,
			   set->nranks);
		if (t->lost > 0)
			buf_printf(out, "; cannot be rebuilt: rank %" PRIu32,
				   t->first->rank);
		else if (has_odd_loss(set))
			buf_add_str(out, "; FTI itself would get the last byte "
					 "of an odd size wrong");
		if (t->maybe != NULL)
			buf_printf(out, "; %s", t->maybe);
	}
}

/* Why FTI would not restart from it. */
static const char *
refusal_of(const struct fti_set *set, const struct tally *t)
{
	if (set->conflict != NULL || t->foreign)
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
	return t->refused > 0 && !t->taken ? "it refuses a file" : NULL;
}

/* --- The verdict --- */

/* How many of the 2k files of the group give nothing, and how many FTI does not
 * take? */
static void
count_group(struct fti_set *set, const struct fti_rank *r, uint32_t *lost,
	    uint32_t *refused)
{
	*lost = *refused = 0;
	for (uint32_t m = 0; m < set->geometry.group_size; m++) {
		const struct fti_rank *of = fti_set_member(set, r->group, m);

		for (int p = FTI_OWN; p <= FTI_PARITY; p += FTI_PARITY) {
			*lost += of == NULL || !of->parts[p].exact;
			*refused += of == NULL ||
				    of->parts[p].state != FTI_STATE_GOOD;
		}
		/* Without its metadata, nothing of the group is computed. */
		if (set->posix && of != NULL && of->posix == NULL)
			*lost += 2 * set->geometry.group_size;
	}
}

static const char *
problem_of(const struct fti_sets *s, const struct fti_part_file *f)
{
	return arena_printf(s->arena, "%s: %s", path_base(f->entry->path),
			    f->problem);
}

void
fti_set_judge(const struct fti_sets *s, struct fti_set *set)
{
	const bool grouped = fti_set_is_grouped(set);
	const uint32_t k = set->geometry.group_size;
	struct tally t = { .taken = true };
	struct buf text = BUF_INIT;

	set->bad = set->unprotected = 0;
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *r = &set->ranks[i];
		const struct fti_part_file *own = &r->parts[FTI_OWN];
		const struct fti_part_file *copy = &r->parts[FTI_COPY];
		bool takes = own->state == FTI_STATE_GOOD, computed = false;
		bool unproven = false;
		uint32_t lost = 0, refused = 0;

		if (grouped && set->level == FTI_L3) {
			count_group(set, r, &lost, &refused);
			/* Metadata that are wrong stay so. */
			takes = refused <= k &&
				(!set->posix ||
				 own->state != FTI_STATE_REFUSED);
			/* Nothing proves what would be computed. */
			unproven = lost <= k && fti_rank_lacks_sum(r);
			computed = lost <= k && !unproven;
			set->unprotected += !r->parts[FTI_PARITY].exact;
		} else if (grouped && set->level == FTI_L2) {
			takes = takes || copy->state == FTI_STATE_GOOD;
			computed = copy->exact;
			set->unprotected += !copy->exact;
		}
		for (int p = 0; p < FTI_PARTS; p++) {
			const struct fti_part_file *f = &r->parts[p];

			t.foreign = t.foreign || f->state == FTI_STATE_FOREIGN;
			if (p != FTI_OWN && f->state == FTI_STATE_REFUSED &&
			    t.spare++ == 0)
				t.spare_problem = problem_of(s, f);
		}
		t.taken = t.taken && takes;
		if (own->state == FTI_STATE_REFUSED && t.refused++ == 0)
			t.problem = problem_of(s, own);
		if (own->exact || (!computed && fti_part_usable(own)))
			continue;
		set->bad++;
		if (computed && own->state == FTI_STATE_UNKNOWN) {
			t.unread = r;
		} else if (computed) {
			t.mend++;
		} else if (grouped && set->level == FTI_L2 &&
			   fti_part_usable(copy)) {
			t.refused++;
		} else {
			t.first = t.lost++ == 0 ? r : t.first;
			if (t.maybe == NULL && unproven)
				t.maybe = arena_printf(
					s->arena,
					"%s: its metadata have no checksum "
					"of it",
					r->posix->name);
			if (t.maybe == NULL)
				t.maybe = may_exist(s, set, r);
		}
	}
	if (t.lost > 0 && t.maybe == NULL)
		t.maybe = may_be_elsewhere(s, set);
	else if (t.lost + t.mend == 0 && t.unread != NULL)
		t.maybe = may_exist(s, set, t.unread);
	/* If the first ones are not all good, others may be. */
	if (set->left_out != NULL && t.lost + t.mend > 0)
		t.maybe = arena_printf(
			s->arena,
			"rank %" PRIu32 " has several files, also %s: scan the "
			"directories one by one",
			set->left_out->name.rank, set->left_out->path);
	if (set->conflict != NULL || t.maybe != NULL ||
	    (t.lost > 0 && !set->posix && !set->layout_known && set->found > 0))
		set->state = FTI_SET_UNKNOWN;
	else if (t.lost > 0)
		set->state = FTI_SET_LOST;
	else if (t.mend > 0)
		set->state = FTI_SET_REBUILDABLE;
	else if (t.refused > 0 && (!t.taken || set->bad > 0))
		set->state = FTI_SET_REFUSED;
	else
		set->state = FTI_SET_WHOLE;
	set->refusal = refusal_of(set, &t);
	if (set->state == FTI_SET_WHOLE &&
	    set->unprotected + t.refused + t.spare == 0)
		return;
	put_reason(set, &t, &text);
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
