/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_examine.c - read the files of a checkpoint, and judge it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/set.h"
#include "fti/tree.h"
#include "mem.h"
#include "work.h"

/* Files that are open at the same time. */
#define BATCH 64

struct batch {
	struct fti_source sources[BATCH];
	struct fti_checked checked[BATCH];
	struct fti_part_file *to[BATCH];
	size_t count;
};

static void
end_batch(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		fti_checked_fini(&b->checked[i]);
		fti_file_free(b->checked[i].file);
		fti_source_close(&b->sources[i]);
	}
	memset(b, 0, sizeof(*b));
}

/* --- One file --- */

/* The file cannot be read, or is none of FTI-FF.  -1: no memory. */
static int
set_problem(struct fti_sets *s, struct fti_part_file *to, const char *text,
	    struct error *err)
{
	to->problem = arena_strdup(s->arena, text);
	return to->problem == NULL ? error_no_memory(err) : 0;
}

/* The id that the file records differs from its name's. */
static int
check_label(struct fti_sets *s, const struct fti_set *set,
	    struct fti_part_file *to, struct error *err)
{
	const struct fti_name *n = &to->entry->name;
	char text[128];

	/* FTI leaves the id of parity unset when it rebuilds it. */
	if (n->kind == FTI_NAME_PARITY || n->kind == FTI_NAME_DCP ||
	    !fti_has(set->layout, FTI_CKPT_ID) ||
	    to->meta.ckpt_id == (int64_t)n->id || to->state != FTI_STATE_GOOD)
		return 0;
	snprintf(text, sizeof(text),
		 "ckptId is %" PRId64 ", not that of its "
		 "name",
		 to->meta.ckpt_id);
	to->state = FTI_STATE_REFUSED;
	to->exact = false;
	return set_problem(s, to, text, err);
}

static int
take(struct fti_sets *s, struct fti_set *set, const struct fti_checked *c,
     struct fti_part_file *to, struct error *err)
{
	static const enum fti_state states[] = {
		[FTI_INTACT] = FTI_STATE_GOOD,
		[FTI_REFUSED] = FTI_STATE_REFUSED,
		[FTI_DAMAGED] = FTI_STATE_DAMAGED,
		[FTI_FOREIGN] = FTI_STATE_DAMAGED,
		[FTI_UNREAD] = FTI_STATE_UNKNOWN,
	};
	const struct fti_file *f = c->file;
	const bool parity = to->entry->name.kind == FTI_NAME_PARITY;

	to->state = states[c->verdict];
	to->data_good = c->data_good;
	to->exact = c->verdict == FTI_INTACT ||
		    (c->verdict == FTI_REFUSED && f->worst <= FTI_RULE_STALE);
	to->meta = f->meta;
	if (f->kind != FTI_KIND_NONE &&
	    (f->kind == FTI_KIND_PARITY) != parity) {
		to->state = FTI_STATE_DAMAGED;
		to->data_good = to->exact = false;
		return set_problem(s, to,
				   parity ? "holds no parity"
					  : "holds parity, not a checkpoint",
				   err);
	}
	if (f->kind != FTI_KIND_NONE && !set->layout_known) {
		set->layout = f->layout;
		set->layout_known = true;
	}
	if (c->unread != NULL || f->nfindings > 0)
		return set_problem(
			s, to,
			c->unread != NULL ? c->unread : f->findings->text, err);
	return check_label(s, set, to, err);
}

/* --- All files --- */

static int
run_batch(struct fti_sets *s, struct fti_set *set, struct batch *b, bool data,
	  const struct work *w, struct error *err)
{
	int rc = fti_check(b->checked, b->count, data, w, err);

	for (size_t i = 0; i < b->count && rc == 0; i++)
		rc = take(s, set, &b->checked[i], b->to[i], err);
	end_batch(b);
	return rc;
}

static int
add_to_batch(struct fti_sets *s, struct fti_set *set, struct batch *b,
	     struct fti_part_file *to, struct error *err)
{
	struct fti_source *from = &b->sources[b->count];
	struct error why = ERROR_INIT;
	struct fti_file *f = NULL;

	if (fti_source_open(from, s->tree->fd, to->entry->path, &why) == 0)
		f = fti_file_read(from,
				  set->layout_known ? set->layout : FTI_LAYOUTS,
				  &why);
	if (f == NULL) {
		fti_source_close(from);
		if (why.kind == ERROR_NOMEM)
			return error_pass(err, &why);
		to->state = FTI_STATE_UNKNOWN;
		return set_problem(s, to, why.text, err);
	}
	b->checked[b->count].file = f;
	b->checked[b->count].source = from;
	b->to[b->count++] = to;
	return 0;
}

static int
read_parts(struct fti_sets *s, struct fti_set *set, enum fti_part part,
	   bool data, const struct work *w, struct error *err)
{
	struct batch *b = mem_calloc(1, sizeof(*b));
	int rc = b == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; i < set->nranks && rc == 0; i++) {
		struct fti_part_file *to = &set->ranks[i].parts[part];

		if (to->entry == NULL)
			continue;
		rc = add_to_batch(s, set, b, to, err);
		if (rc == 0 && b->count == BATCH)
			rc = run_batch(s, set, b, data, w, err);
	}
	if (rc == 0)
		rc = run_batch(s, set, b, data, w, err);
	if (b != NULL)
		end_batch(b);
	mem_free(b);
	return rc;
}

/* --- The verdict --- */

static bool
is_usable(const struct fti_part_file *p)
{
	return p->state == FTI_STATE_GOOD ||
	       (p->state == FTI_STATE_REFUSED && p->data_good);
}

/* Files and parities that group `g` lacks, of those that should be there. */
static void
count_group(struct fti_set *set, uint32_t g, uint32_t *lacking, uint32_t *data,
	    bool *unknown)
{
	*lacking = *data = 0;
	for (uint32_t m = 0; m < set->geometry.group_size; m++) {
		const struct fti_rank *r = fti_set_member(set, g, m);

		if (r == NULL)
			continue;
		*data += !is_usable(&r->parts[FTI_OWN]);
		*lacking += !is_usable(&r->parts[FTI_OWN]);
		*lacking += r->parts[FTI_PARITY].state != FTI_STATE_GOOD;
		*unknown = *unknown ||
			   r->parts[FTI_OWN].state == FTI_STATE_UNKNOWN ||
			   r->parts[FTI_PARITY].state == FTI_STATE_UNKNOWN;
	}
}

struct tally {
	size_t bad, refused, lost, unknown;
	const struct fti_rank *first; /* that is lost */
};

static void
tally_ranks(const struct fti_set *set, struct tally *t)
{
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_part_file *own = &set->ranks[i].parts[FTI_OWN];

		t->refused += own->state == FTI_STATE_REFUSED;
		if (is_usable(own))
			continue;
		t->bad++;
		if (own->state == FTI_STATE_UNKNOWN)
			t->unknown++;
		if (set->level == FTI_L2 &&
		    is_usable(&set->ranks[i].parts[FTI_COPY]))
			continue;
		t->lost++;
		if (t->first == NULL)
			t->first = &set->ranks[i];
	}
}

static void
tally_groups(struct fti_set *set, struct tally *t)
{
	uint32_t lacking = 0, data = 0;
	bool unknown = false;

	t->lost = 0;
	t->first = NULL;
	for (uint32_t g = 0; g < set->groups; g++) {
		count_group(set, g, &lacking, &data, &unknown);
		if (data == 0 || lacking <= set->geometry.group_size)
			continue;
		t->lost += data;
		for (uint32_t m = 0;
		     t->first == NULL && m < set->geometry.group_size; m++) {
			const struct fti_rank *r = fti_set_member(set, g, m);

			if (r != NULL && !is_usable(&r->parts[FTI_OWN]))
				t->first = r;
		}
	}
}

static int
conclude(struct fti_sets *s, struct fti_set *set, struct error *err)
{
	struct tally t = { .bad = 0 };
	const bool coded = (set->level == FTI_L2 || set->level == FTI_L3) &&
			   set->geometry.group_size < 2;

	tally_ranks(set, &t);
	if (set->level == FTI_L3 && !coded)
		tally_groups(set, &t);
	set->bad = t.bad;
	if (t.bad == 0)
		set->state = t.refused > 0 ? FTI_SET_REFUSED : FTI_SET_WHOLE;
	else if (t.lost == 0)
		set->state = FTI_SET_REBUILDABLE;
	else if (t.unknown > 0 || coded)
		set->state = FTI_SET_UNKNOWN;
	else
		set->state = FTI_SET_LOST;
	if (set->state == FTI_SET_WHOLE)
		return 0;
	if (set->state == FTI_SET_REFUSED)
		set->reason =
			arena_printf(s->arena,
				     "%zu of %zu files are intact, but FTI "
				     "refuses them",
				     t.refused, set->nranks);
	else if (set->state == FTI_SET_UNKNOWN && coded)
		set->reason = arena_printf(
			s->arena,
			"%zu of %zu ranks lack their file; the size of the "
			"groups is not known (--group-size)",
			t.bad, set->nranks);
	else
		set->reason = arena_printf(
			s->arena, "%zu of %zu ranks lack a good file%s%s",
			t.bad, set->nranks,
			t.lost > 0 ? "; cannot be rebuilt: rank " : "",
			t.first == NULL ? ""
					: arena_printf(s->arena, "%" PRIu32,
						       t.first->rank));
	return set->reason == NULL ? error_no_memory(err) : 0;
}

/* Why FTI would not restart from it. */
static void
judge_as_fti(struct fti_set *set)
{
	if (set->state == FTI_SET_REFUSED)
		set->refusal = "it refuses a file";
	else if (set->state == FTI_SET_LOST)
		set->refusal = "files are lost";
	else if (set->state == FTI_SET_UNKNOWN)
		set->refusal = "not known";
	else if (set->level > FTI_L4)
		set->refusal = "it does not look there";
	for (size_t i = 0; set->refusal == NULL && i < set->nranks; i++)
		for (int p = 0; p < FTI_PARTS; p++)
			if (set->ranks[i].parts[p].state == FTI_STATE_REFUSED)
				set->refusal = "it refuses a file";
}

int
fti_set_examine(struct fti_sets *s, struct fti_set *set, bool data,
		const struct work *w, struct error *err)
{
	if (set->posix) {
		set->state = FTI_SET_UNKNOWN;
		set->reason = "POSIX files are not read yet, only FTI-FF";
		set->refusal = "not known";
		set->bad = set->nranks - set->found;
		return 0;
	}
	for (int p = 0; p < FTI_PARTS; p++)
		if (read_parts(s, set, (enum fti_part)p, data, w, err) < 0)
			return -1;
	if (conclude(s, set, err) < 0)
		return -1;
	judge_as_fti(set);
	return 0;
}

const struct fti_set *
fti_sets_choice(const struct fti_sets *s, const char *exec)
{
	const struct fti_set *best = NULL;

	for (size_t i = 0; i < s->count; i++) {
		const struct fti_set *set = &s->list[i];

		if (strcmp(set->exec, exec) != 0 || set->refusal != NULL ||
		    set->level > FTI_L4)
			continue;
		if (best == NULL || set->level < best->level)
			best = set;
	}
	return best;
}
