/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/sector.h"

#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/content.h"
#include "fti/draft.h"

int
fti_sector_start(struct fti_sector *s, int32_t id, size_t members,
		 struct error *err)
{
	*s = (struct fti_sector){ .arena = arena_new() };
	if (s->arena == NULL)
		return error_no_memory(err);
	s->posix.id = id;
	s->posix.files =
		arena_alloc(s->arena, members, sizeof(*s->posix.files));
	if (s->posix.files == NULL)
		return error_no_memory(err);
	s->posix.nfiles = members;
	return 0;
}

void
fti_sector_fini(struct fti_sector *s)
{
	arena_free(s->arena);
	*s = (struct fti_sector){ .arena = NULL };
}

static int
copy_var(struct fti_sector *s, const struct fti_draft_container *c,
	 struct fti_posix_var *to, struct error *err)
{
	const struct fti_posix_var *from = c->var->described;

	*to = (struct fti_posix_var){
		.id = c->c.id,
		.type = -1,
		.type_size = -1,
		.size = (uint64_t)c->c.used,
		.at = c->c.fptr,
		.name = "",
		.idchar = "",
	};
	if (from == NULL)
		return 0;
	to->type = from->type;
	to->type_size = from->type_size;
	to->ndims = from->ndims;
	to->name = arena_strdup(s->arena, from->name);
	to->idchar = arena_strdup(s->arena, from->idchar);
	to->dims = arena_alloc(s->arena, from->ndims + 1, sizeof(*to->dims));
	if (to->name == NULL || to->idchar == NULL || to->dims == NULL)
		return error_no_memory(err);
	if (from->ndims > 0)
		memcpy(to->dims, from->dims, from->ndims * sizeof(*to->dims));
	return 0;
}

int
fti_sector_set(struct fti_sector *s, size_t member, const char *name,
	       const struct fti_draft *d, struct error *err)
{
	struct fti_posix_file *f = &s->posix.files[member];

	f->name = arena_strdup(s->arena, name);
	f->sum = arena_strndup(s->arena, d->meta.checksum,
			       sizeof(d->meta.checksum) - 1);
	f->vars = arena_alloc(s->arena, d->ncontainers + 1, sizeof(*f->vars));
	if (f->name == NULL || f->sum == NULL || f->vars == NULL)
		return error_no_memory(err);
	f->size = d->size;
	f->nvars = d->ncontainers;
	for (size_t i = 0; i < d->ncontainers; i++)
		if (copy_var(s, &d->containers[i], &f->vars[i], err) < 0)
			return -1;
	return 0;
}

int
fti_sector_print(struct fti_sector *s, const char *name, struct buf *out,
		 struct error *err)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < s->posix.nfiles; i++)
		if (s->posix.files[i].name == NULL)
			return error_set(err, ERROR_USAGE,
					 "%s: member %zu of the group has no "
					 "file",
					 name, i);
		else if (s->posix.files[i].size > largest)
			largest = s->posix.files[i].size;
	for (size_t i = 0; i < s->posix.nfiles; i++)
		s->posix.files[i].max_size = largest;
	s->posix.name = name;
	if (fti_posix_print(&s->posix, out, err) < 0)
		return error_wrap(err, "%s", name);
	return 0;
}
