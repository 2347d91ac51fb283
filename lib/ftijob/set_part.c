/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_part.c - some groups of a checkpoint.
 */
#include <inttypes.h>

#include "arena.h"
#include "buf.h"
#include "fti/posix.h"
#include "ftijob/set.h"
#include "mem.h"

void
fti_set_keep(const struct fti_sets *s, struct fti_set *set, uint32_t from,
	     uint32_t to)
{
	const char **dirs = fti_set_dirs(s, set);
	const size_t nodes =
		set->nranks == 0 ? 0 : set->ranks[set->nranks - 1].node + 1;
	size_t n = 0;

	/* Where missing files belong, the files of all groups say. */
	set->dirs = arena_alloc(s->arena, nodes + 1, sizeof(*dirs));
	for (size_t i = 0; i < nodes; i++)
		set->dirs[i] = dirs[i];
	for (size_t i = 0; i < set->nranks; i++)
		if (set->ranks[i].group >= from && set->ranks[i].group <= to)
			set->ranks[n++] = set->ranks[i];
	set->nranks = n;
	mem_free(dirs);
}

int
fti_set_digest(const struct fti_sets *s, struct fti_set *set, uint32_t from,
	       uint32_t to, char digest[static HASH_TEXT], struct error *err)
{
	const struct fti_geometry *g = &set->geometry;
	const char **dirs = fti_set_dirs(s, set);
	struct buf text = BUF_INIT;
	int rc = 0;

	buf_printf(&text, "%s\n%d %u %d %d %u %u %d\n", set->exec,
		   (int)set->level, set->id, set->posix, (int)set->layout,
		   g->node_size, g->group_size, g->head);
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *r = &set->ranks[i];

		if (r->group < from || r->group > to)
			continue;
		buf_printf(&text, "%u %s\n", r->rank,
			   dirs[r->node] != NULL ? dirs[r->node] : "");
		for (int p = 0; p < FTI_PARTS; p++) {
			const struct fti_part_file *f = &r->parts[p];

			buf_printf(&text, "%d %d", (int)f->state, f->exact);
			if (f->entry != NULL)
				buf_printf(&text, " %" PRIu64 " %" PRId64 " %s",
					   f->entry->size, f->entry->mtime,
					   f->entry->path);
			buf_add_char(&text, '\n');
		}
		if (r->posix != NULL)
			buf_printf(&text, "%" PRIu64 " %" PRIu64 " %s %s\n",
				   r->posix->size, r->posix->max_size,
				   r->posix->sum != NULL ? r->posix->sum : "",
				   r->posix->parity_sum != NULL
					   ? r->posix->parity_sum
					   : "");
	}
	rc = hash_bytes(text.data, text.len, digest, err);
	buf_free(&text);
	mem_free(dirs);
	return rc;
}
