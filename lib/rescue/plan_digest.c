/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_digest.c - what a plan says of some sets, as a digest.  Not for libscr,
 * which has no crypto library.
 */
#include <string.h>

#include "error.h"
#include "hash.h"
#include "rescue/part.h"
#include "rescue/plan_impl.h"

_Static_assert(PLAN_DIGEST == HASH_TEXT, "the text of a digest");

/* Add numbers to the sum, as they are in memory: all nodes are alike. */
#define ADD(h, ...) \
	hash_update(h, (const uint64_t[]){ __VA_ARGS__ }, \
		    sizeof((const uint64_t[]){ __VA_ARGS__ }))

static void
add_text(struct hash *h, const char *s)
{
	if (s != NULL)
		hash_update(h, s, strlen(s) + 1);
}

static void
add_file(struct hash *h, const struct plan_file *f)
{
	ADD(h, f->attr.size, f->state, f->fate, f->has_crc, f->crc,
	    f->found_size);
	add_text(h, f->path);
}

static void
add_set(struct hash *h, const struct plan *p, const struct plan_set *s)
{
	ADD(h, s->map, s->type, s->number, s->sets, s->n, s->failures, s->chunk,
	    s->verdict, s->salvage, s->unproved);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		const struct plan_rank *r = plan_rank_of(p, m);

		ADD(h, m->rank, m->state, m->fate, m->file_size, m->list.nfiles,
		    m->list.bytes, m->red->header_size, m->red->body_size);
		add_text(h, m->name);
		for (size_t k = 0; r != NULL && k < r->nfiles; k++)
			add_file(h, &p->files[r->first_file + k]);
	}
}

int
plan_digest(const struct plan *p, size_t from, size_t to,
	    char out[static PLAN_DIGEST], struct error *err)
{
	struct hash *h = hash_new(HASH_SHA256, err);

	if (h == NULL)
		return -1;
	ADD(h, (uint64_t)p->id, (uint64_t)p->nranks, p->nsets, from, to);
	for (size_t i = from; i <= to && i < p->nsets; i++)
		add_set(h, p, &p->sets[i]);
	hash_text(h, out);
	hash_free(h);
	return 0;
}
