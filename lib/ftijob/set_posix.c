/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_posix.c - the files of a POSIX checkpoint, by the metadata of its groups.
 */
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/check.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "ftijob/set.h"
#include "ftijob/set_impl.h"
#include "ftijob/tree.h"
#include "mem.h"

/* --- Metadata --- */

/* The members of a group describe the files of their ranks. */
static void
take_members(struct fti_set *set, const struct fti_posix *p)
{
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

/* Read a sector file.  A bad one is like a missing one, but says why. */
static int
read_metadata(struct fti_sets *s, struct fti_set *set,
	      const struct fti_entry *e, struct error *err)
{
	struct error why = ERROR_INIT;
	struct fti_posix *p = NULL;

	if (e->name.kind != FTI_NAME_SECTOR)
		return 0;
	if (!MEM_ROOM(s->inis, s->ninis, s->room_inis))
		return error_no_memory(err);
	p = fti_posix_read(s->tree->fd, e->path, &why);
	if (p != NULL) {
		s->inis[s->ninis++] = p;
		take_members(set, p);
		return 0;
	}
	if (why.kind == ERROR_NOMEM)
		return error_pass(err, &why);
	if (set->metadata_problem == NULL)
		set->metadata_problem = arena_strdup(s->arena, why.text);
	return set->metadata_problem == NULL ? error_no_memory(err) : 0;
}

static int
read_all_metadata(struct fti_sets *s, struct fti_set *set, struct error *err)
{
	const struct fti_entry *list = s->tree->list;
	int rc = 0;

	for (size_t i = 0; i < set->count && rc == 0; i++)
		rc = read_metadata(s, set, &list[set->first + i], err);
	for (size_t i = 0; i < set->nmetadata && rc == 0; i++)
		if (set->metadata + i < set->first ||
		    set->metadata + i >= set->first + set->count)
			rc = read_metadata(s, set, &list[set->metadata + i],
					   err);
	for (size_t i = 0; i < set->nranks; i++)
		set->undescribed += set->ranks[i].posix == NULL;
	return rc;
}

/* --- Files --- */

struct batch {
	struct fti_source sources[FTI_BATCH];
	struct fti_posix_checked checked[FTI_BATCH];
	struct fti_part_file *to[FTI_BATCH];
	size_t count;
};

static int
take(struct fti_sets *s, const struct fti_posix_checked *c,
     struct fti_part_file *to, struct error *err)
{
	to->exact = to->data_good = c->verdict == FTI_INTACT;
	to->state = c->verdict == FTI_INTACT	? FTI_STATE_GOOD
		    : c->verdict == FTI_DAMAGED ? FTI_STATE_DAMAGED
						: FTI_STATE_UNKNOWN;
	if (c->unread != NULL)
		return fti_set_problem(s, to, c->unread, err);
	/* FTI needs it; an interrupted fti_protect_run() leaves it out. */
	if (c->parity && c->file->parity_sum == NULL) {
		to->exact = to->data_good = false;
		to->state = FTI_STATE_DAMAGED;
		return fti_set_problem(s, to,
				       "the metadata of its group have no "
				       "checksum of it",
				       err);
	}
	return c->nfindings == 0
		       ? 0
		       : fti_set_problem(s, to, c->findings->text, err);
}

static int
run_batch(struct fti_sets *s, struct batch *b, bool data, const struct work *w,
	  struct error *err)
{
	int rc = fti_posix_check(b->checked, b->count, data, w, err);

	for (size_t i = 0; i < b->count; i++) {
		if (rc == 0)
			rc = take(s, &b->checked[i], b->to[i], err);
		fti_posix_checked_fini(&b->checked[i]);
		fti_source_close(&b->sources[i]);
	}
	memset(b, 0, sizeof(*b));
	return rc;
}

static int
add_file(struct fti_sets *s, struct batch *b, struct fti_rank *r,
	 enum fti_part part, struct error *err)
{
	struct fti_part_file *to = &r->parts[part];
	struct error why = ERROR_INIT;

	to->state = FTI_STATE_UNKNOWN;
	if (r->posix == NULL)
		return fti_set_problem(s, to,
				       "the metadata of its group is missing: "
				       "size and checksum are not known",
				       err);
	if (fti_source_open(&b->sources[b->count], s->tree->fd, to->entry->path,
			    &why) < 0)
		return why.kind == ERROR_NOMEM
			       ? error_pass(err, &why)
			       : fti_set_problem(s, to, why.text, err);
	b->checked[b->count] = (struct fti_posix_checked){
		.file = r->posix,
		.source = &b->sources[b->count],
		.parity = part == FTI_PARITY,
	};
	b->to[b->count++] = to;
	return 0;
}

int
fti_set_read_posix(struct fti_sets *s, struct fti_set *set, bool data,
		   const struct work *w, struct error *err)
{
	struct batch *b = mem_calloc(1, sizeof(*b));
	int rc = b == NULL ? error_no_memory(err) : 0;

	if (rc == 0)
		rc = read_all_metadata(s, set, err);
	for (size_t i = 0; rc == 0 && i < set->nranks * FTI_PARTS; i++) {
		struct fti_rank *r = &set->ranks[i / FTI_PARTS];
		const enum fti_part part = (enum fti_part)(i % FTI_PARTS);

		if (r->parts[part].entry == NULL)
			continue;
		rc = add_file(s, b, r, part, err);
		if (rc == 0 && b->count == FTI_BATCH)
			rc = run_batch(s, b, data, w, err);
	}
	if (rc == 0)
		rc = run_batch(s, b, data, w, err);
	for (size_t i = 0; b != NULL && i < b->count; i++)
		fti_source_close(&b->sources[i]);
	mem_free(b);
	return rc;
}
