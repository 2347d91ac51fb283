/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_posix.c - the metadata of the groups of a POSIX checkpoint.
 */
#include "arena.h"
#include "error.h"
#include "fti/posix.h"
#include "ftijob/set.h"
#include "ftijob/set_impl.h"
#include "mem.h"

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
	p = fti_posix_read(s->tree.fd, e->path, &why);
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

int
fti_set_read_metadata(struct fti_sets *s, struct fti_set *set,
		      struct error *err)
{
	const struct fti_entry *list = s->tree.list;
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
