/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/sector.h"

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

static struct fti_posix_var
describe(const struct fti_draft_container *c)
{
	struct fti_posix_var v = {
		.type = -1,
		.type_size = -1,
		.name = "",
		.idchar = "",
	};

	if (c->var->described != NULL)
		v = *c->var->described;
	v.id = c->c.id;
	v.size = (uint64_t)c->c.used;
	v.at = c->c.fptr;
	return v;
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
		f->vars[i] = describe(&d->containers[i]);
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
