/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_metadata.c - the metadata of the groups of a POSIX checkpoint: what they
 * say of its files, and whether these agree.
 */
#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/posix.h"
#include "ftijob/set.h"
#include "ftijob/set_impl.h"
#include "mem.h"
#include "str.h"

/* Correct damaged names: the ranks of the members of a group lie node_size
 * apart, so each member tells that of the first one, and most are right. */
static void
correct_names(struct fti_sets *s, struct fti_set *set, struct fti_posix *p)
{
	const uint32_t step = set->geometry.node_size;
	uint32_t ranks[FTI_POSIX_MEMBERS];
	bool named[FTI_POSIX_MEMBERS];
	int best = -1;
	unsigned most = 0, all = 0;

	for (size_t i = 0; i < p->nfiles; i++) {
		const struct fti_name n = fti_name_parse(p->files[i].name);

		ranks[i] = n.rank;
		named[i] = n.kind == FTI_NAME_RANK && n.id == set->id &&
			   n.rank >= i * step;
		all += named[i];
	}
	for (size_t i = 0; step > 0 && !p->layered && i < p->nfiles; i++) {
		unsigned votes = 0;

		for (size_t k = 0; k < p->nfiles; k++)
			votes += named[i] && named[k] &&
				 ranks[k] - k * step == ranks[i] - i * step;
		if (votes > most) {
			most = votes;
			best = (int)i;
		}
	}
	for (size_t i = 0; 2 * most > all && i < p->nfiles; i++) {
		const struct fti_name n = {
			.kind = FTI_NAME_RANK,
			.id = set->id,
			.rank = ranks[best] + (uint32_t)i * step -
				(uint32_t)best * step,
		};
		struct fti_rank *r = fti_set_rank(set, n.rank);
		const char *name = fti_name_str(&n);

		if (r == NULL || str_eq(name, p->files[i].name))
			continue;
		r->right[FTI_VALUE_NAME] = arena_strdup(s->arena, name);
		p->files[i].name = r->right[FTI_VALUE_NAME];
	}
}

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
	correct_names(s, set, p);
	/* Most members know the size of the largest file: set it for the
	 * others. */
	for (size_t i = 0; i < p->nfiles; i++) {
		const uint64_t size = p->files[i].max_size;
		size_t votes = 0;

		for (size_t k = 0; k < p->nfiles; k++)
			votes += p->files[k].max_size == size;
		for (size_t k = 0; 2 * votes > p->nfiles && k < p->nfiles;
		     k++) {
			struct fti_rank *r = fti_set_rank(
				set, fti_name_parse(p->files[k].name).rank);

			if (r == NULL || p->files[k].max_size == size)
				continue;
			p->files[k].max_size = size;
			r->right[FTI_VALUE_PARITY_SIZE] =
				arena_printf(s->arena, "%" PRIu64, size);
		}
	}
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

void
fti_set_describe(struct fti_sets *s, struct fti_set *set)
{
	const struct fti_entry *list = s->tree.list;
	uint64_t at = 0;

	set->undescribed = 0;
	for (size_t i = 0; i < set->nranks; i++)
		memset(set->ranks[i].right, 0, sizeof(set->ranks[i].right));
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

void
fti_set_doubt_metadata(const struct fti_sets *s, struct fti_set *set)
{
	for (size_t i = 0; i < s->ninis && set->conflict == NULL; i++) {
		const struct fti_posix *p = s->inis[i];
		size_t damaged = 0, others = 0;

		for (size_t k = 0; k < set->nranks; k++) {
			const struct fti_rank *r = &set->ranks[k];

			if (r->posix < p->files ||
			    r->posix >= p->files + p->nfiles)
				continue;
			for (int part = 0; part <= FTI_ELSEWHERE; part++) {
				const struct fti_part_file *f = &r->parts[part];

				damaged += f->state == FTI_STATE_DAMAGED &&
					   !f->open;
				others += f->entry != NULL &&
					  f->state != FTI_STATE_DAMAGED;
			}
		}
		if (damaged > 1 && others == 0)
			set->conflict = arena_printf(
				s->arena,
				"%s contradicts all files that it describes",
				p->name);
	}
}
