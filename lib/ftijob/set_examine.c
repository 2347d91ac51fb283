/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_examine.c - read the metadata and the files of a checkpoint.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "fti/rankfile.h"
#include "ftijob/set.h"
#include "ftijob/set_impl.h"
#include "mem.h"
#include "str.h"

/* --- The metadata of the groups of a POSIX checkpoint --- */

/* Read a sector file.  A bad one is like a missing one, but says why. */
static void
read_metadata(struct fti_sets *s, struct fti_set *set,
	      const struct fti_entry *e)
{
	struct error why = ERROR_INIT;
	struct fti_posix *p = NULL;

	if (e->name.kind != FTI_NAME_SECTOR)
		return;
	p = fti_posix_read(s->tree.fd, e->path, &why);
	if (p == NULL) {
		if (set->metadata_problem == NULL)
			set->metadata_problem =
				arena_strdup(s->arena, why.text);
		return;
	}
	(void)MEM_ROOM(s->inis, s->ninis, s->room_inis);
	s->inis[s->ninis++] = p;
	if (set->level == FTI_DCP && p->layered && p->id > 0)
		set->id = (uint32_t)p->id;
	/* The members of a group describe the files of their ranks. */
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct fti_name n = fti_name_parse(p->files[i].name);
		struct fti_rank *r = fti_set_rank(set, n.rank);
		const struct fti_entry *own = NULL;

		if (r == NULL || r->posix != NULL)
			continue;
		own = r->parts[FTI_OWN].entry;
		if (n.kind == FTI_NAME_RANK
			    ? n.id == set->id
			    : n.kind == FTI_NAME_LAYERS &&
				      (own == NULL || own->name.id == n.id))
			r->posix = &p->files[i];
	}
}

/* Find what the metadata of a POSIX checkpoint say of its ranks. */
static void
describe(struct fti_sets *s, struct fti_set *set)
{
	const struct fti_entry *list = s->tree.list;
	uint64_t at = 0;

	set->undescribed = 0;
	for (size_t i = 0; i < set->count; i++)
		read_metadata(s, set, &list[set->first + i]);
	for (size_t i = 0; i < set->nmetadata; i++)
		if (set->metadata + i < set->first ||
		    set->metadata + i >= set->first + set->count)
			read_metadata(s, set, &list[set->metadata + i]);
	for (size_t i = 0; i < set->nranks; i++) {
		struct fti_rank *r = &set->ranks[i];

		/* Behind a rank of unknown size nobody knows where a file
		 * begins. */
		if (set->whole != NULL && set->undescribed > 0)
			r->posix = NULL;
		set->undescribed += r->posix == NULL;
		if (set->whole == NULL)
			continue;
		r->parts[FTI_OWN].entry = set->whole;
		r->parts[FTI_OWN].at = at;
		at += r->posix == NULL ? 0 : r->posix->size;
	}
}

/* --- Files --- */

/* Files that are open at the same time. */
#define BATCH 64

struct batch {
	struct fti_rankfile files[BATCH];
	struct fti_source all;	       /* MPI-IO: the file of all ranks, */
	struct fti_source part[BATCH]; /* and the part of the rank */
	struct error why;	       /* why it cannot be opened */
	struct fti_rank *of[BATCH];
	enum fti_part parts[BATCH];
	size_t count;
	bool data; /* is read, too */
	const struct work *w;
};

/* --- One file --- */

/* Nothing can be computed from the file. */
static void
set_bad(struct fti_part_file *to, enum fti_state state, const char *problem)
{
	to->state = state;
	to->exact = false;
	to->problem = problem;
}

/* What only a file of FTI-FF can have wrong. */
static void
check_ff(struct fti_sets *s, struct fti_set *set, const struct fti_file *f,
	 struct fti_part_file *to)
{
	const bool parity = to->entry->name.kind == FTI_NAME_PARITY;
	const struct fti_name *n = NULL;
	bool known = false;

	to->meta = f->meta;
	if (f->kind == FTI_KIND_NONE)
		return;
	if ((f->kind == FTI_KIND_PARITY) != parity) {
		set_bad(to, FTI_STATE_DAMAGED,
			parity ? "holds no parity"
			       : "holds parity, not a checkpoint");
		return;
	}
	/* A damaged file of C looks like one of D: others know better. */
	known = to->exact || (to->state == FTI_STATE_REFUSED && f->meta_good);
	if (!set->layout_known && (known || !set->layout_guessed)) {
		set->layout = f->layout;
		set->layout_known = known;
		set->layout_guessed = true;
	}
	/* The names of differential checkpoints have no id. */
	if (set->level == FTI_DCP && to->exact && f->meta.ckpt_id > 0)
		set->id = (uint32_t)f->meta.ckpt_id;
	/* The id that the file records differs from its name's. */
	n = &to->entry->name;
	/* FTI leaves the id of parity unset when it rebuilds it. */
	if (n->kind == FTI_NAME_PARITY || n->kind == FTI_NAME_DCP ||
	    !fti_has(set->layout, FTI_CKPT_ID) ||
	    to->meta.ckpt_id == (int64_t)n->id || !fti_part_usable(to))
		return;
	set_bad(to, FTI_STATE_FOREIGN,
		arena_printf(s->arena,
			     "ckptId is %" PRId64 ", not that of its name",
			     to->meta.ckpt_id));
}

/* Are the fields of its damaged metadata record not proven? */
static bool
is_unproven(const struct fti_checked *c)
{
	struct fti_draft d;
	bool unproven = false;

	if (c->file->meta_good)
		return false;
	unproven = fti_describe_repair(&d, c, NULL) < 0 || d.unproven;
	fti_draft_fini(&d);
	return unproven;
}

static void
take(struct fti_sets *s, struct fti_set *set, const struct fti_rankfile *r,
     struct fti_rank *of, enum fti_part part)
{
	static const enum fti_state states[] = {
		[FTI_INTACT] = FTI_STATE_GOOD,
		[FTI_REFUSED] = FTI_STATE_REFUSED,
		[FTI_DAMAGED] = FTI_STATE_DAMAGED,
		[FTI_FOREIGN] = FTI_STATE_DAMAGED,
		[FTI_UNREAD] = FTI_STATE_UNKNOWN,
	};
	const struct fti_checked *c = &r->checked;
	struct fti_part_file *to = &of->parts[part];
	const struct fti_posix_file *f = r->described.file;
	const char *sum = f == NULL ? NULL : r->parity ? f->parity_sum : f->sum;
	const char *problem = c->unread;

	to->size = r->source->size;
	to->state = states[c->verdict];
	to->exact = c->exact;
	/* Data come from parity only if it is right. */
	to->open = c->open && part != FTI_PARITY;
	if (c->verdict == FTI_DAMAGED && fti_repairable(c))
		to->state = FTI_STATE_REFUSED;
	to->unproven = set->level == FTI_L3 && part == FTI_OWN &&
		       to->state == FTI_STATE_REFUSED && r->ff != NULL &&
		       is_unproven(c);
	if (problem == NULL && c->file->findings != NULL)
		problem = c->file->findings->text;
	to->problem = problem == NULL ? NULL : arena_strdup(s->arena, problem);
	if (r->ff != NULL) {
		check_ff(s, set, r->ff, to);
		return;
	}
	/* FTI needs a sum; an interrupted fti_protect_run() leaves out that of
	 * parity.  What is no sum disproves nothing. */
	if (c->unread == NULL &&
	    (r->parity ? sum == NULL
		       : r->form == FTI_FORM_POSIX &&
				 (sum == NULL ||
				  (!to->exact &&
				   strspn(sum, "0123456789abcdef") !=
					   HASH_MD5_TEXT - 1)))) {
		set_bad(to, FTI_STATE_DAMAGED,
			"the metadata of its group have no checksum of it");
		to->open = !r->parity;
	}
}

/* --- All files --- */

static void
add_file(struct fti_sets *s, struct fti_set *set, struct batch *b,
	 struct fti_rank *rank, enum fti_part part)
{
	struct fti_part_file *to = &rank->parts[part];
	struct fti_rankfile *r = &b->files[b->count];
	struct fti_rankfile_options o = {
		.dirfd = s->tree.fd,
		.below = to->entry->path,
		.layout = set->layout_known ? set->layout : FTI_LAYOUTS,
		.known = true,
		.posix = rank->posix,
		.parity = part == FTI_PARITY,
	};
	struct error why = ERROR_INIT;

	if (set->posix && rank->posix == NULL) {
		error_set(&why, ERROR_ABSENT,
			  "the metadata of its group is missing: size and "
			  "checksum are not known");
	} else if (set->whole != NULL && to->entry == set->whole) {
		why = b->why;
		b->part[b->count] =
			fti_source_part(&b->all, to->at, rank->posix->size);
		o.computed = &b->part[b->count];
	}
	if (why.kind == ERROR_NONE &&
	    fti_rankfile_open(r, to->entry->path, &o, &why) < 0)
		fti_rankfile_close(r);
	if (why.kind == ERROR_NONE) {
		b->of[b->count] = rank;
		b->parts[b->count++] = part;
		return;
	}
	set_bad(to, FTI_STATE_UNKNOWN, arena_strdup(s->arena, why.text));
}

/* Check the files of the batch, and empty it. */
static int
end_batch(struct fti_sets *s, struct fti_set *set, struct batch *b,
	  struct error *err)
{
	const int rc =
		fti_rankfiles_check(b->files, b->count, b->data, b->w, err);

	for (size_t k = 0; k < b->count; k++) {
		if (rc == 0)
			take(s, set, &b->files[k], b->of[k], b->parts[k]);
		fti_rankfile_close(&b->files[k]);
	}
	b->count = 0;
	return rc;
}

/* Read all files: first the ranks' own, then, if these say which layout all
 * have, those again that are not exact, then copies and parity. */
static int
read_files(struct fti_sets *s, struct fti_set *set, const struct work *w,
	   struct error *err)
{
	const bool known = set->posix || set->layout_known;
	struct batch *b = mem_calloc(1, sizeof(*b));
	int rc = 0;

	b->w = w;
	b->all.fd = -1;
	if (set->whole != NULL)
		(void)fti_source_open(&b->all, s->tree.fd, set->whole->path,
				      &b->why);
	for (int pass = 0; rc == 0 && pass <= FTI_PARTS; pass++) {
		const bool again = pass == 1;
		const enum fti_part part =
			(enum fti_part)(pass == 0 ? 0 : pass - 1);

		if (again && (known || !set->layout_known))
			continue;
		for (size_t i = 0; rc == 0 && i < set->nranks; i++) {
			struct fti_rank *r = &set->ranks[i];
			const bool data = fti_set_reads(set, r->group);

			if (b->count == BATCH || b->data != data)
				rc = end_batch(s, set, b, err);
			b->data = data;
			if (rc == 0 && r->parts[part].entry != NULL &&
			    (!again || !r->parts[part].exact))
				add_file(s, set, b, r, part);
		}
		if (rc == 0)
			rc = end_batch(s, set, b, err);
	}
	fti_source_close(&b->all);
	mem_free(b);
	return rc;
}

/* --- A whole checkpoint --- */

int
fti_set_examine(struct fti_sets *s, struct fti_set *set, bool data,
		const struct work *w, struct error *err)
{
	int64_t newest = -1;

	set->data_read = data;
	set->conflict = set->reason = NULL;
	set->stuck = false;
	if (set->posix)
		describe(s, set);
	if (read_files(s, set, w, err) < 0 ||
	    fti_set_confront(s, set, w, err) < 0)
		return -1;
	set->layout_known = set->layout_known || set->layout_guessed;
	/* When it was written: as its records say. */
	for (size_t i = 0; i < set->nranks && !set->posix; i++) {
		const struct fti_part_file *p = &set->ranks[i].parts[FTI_OWN];
		const int64_t at = fti_written(set->layout, &p->meta);

		if (p->exact && at > newest)
			newest = at;
	}
	if (newest > 0)
		set->written = newest;
	fti_set_judge(s, set);
	return 0;
}
