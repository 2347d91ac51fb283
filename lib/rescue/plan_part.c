/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_part.c - the parts of a plan that several processes carry out: their
 * bytes, and their locks.
 */
#include "rescue/plan.h"

#include "error.h"
#include "lock.h"
#include "mem.h"
#include "rescue/part.h"
#include "rescue/plan_impl.h"

/* The bytes of the files of a set, and of its redundancy. */
static uint64_t
bytes_of(const struct plan *p, const struct plan_set *s)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_rank *r = plan_rank_of(p, &s->members[i]);

		bytes += s->members[i].file_size;
		for (size_t k = 0; r != NULL && k < r->nfiles; k++)
			bytes += p->files[r->first_file + k].attr.size;
	}
	return bytes;
}

uint64_t *
plan_set_bytes(const struct plan *p, bool look, struct error *err)
{
	uint64_t *bytes = NULL;

	if (p->packed || p->places[0].cache || p->flaw != NULL ||
	    p->undecided || p->was != NULL || p->outdated || p->barred > 0 ||
	    p->unread > 0 || p->verdict == SET_LOST)
		return NULL;
	bytes = mem_calloc(p->nsets + 1, sizeof(*bytes));
	if (bytes == NULL) {
		(void)error_no_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];
		uint64_t writes = 0;

		if (s->map || s->unproved || s->away)
			continue;
		plan_count_set(p, s, &bytes[i], &writes);
		bytes[i] += writes + (look ? bytes_of(p, s) : 0);
	}
	return bytes;
}

uint64_t
plan_set_key(const struct plan_set *s)
{
	return (uint64_t)s->number << 32 | (uint64_t)s->n << 8 |
	       (uint64_t)s->type << 1 | s->map;
}

void
plan_keep(struct plan *p, size_t from, size_t to)
{
	p->part = true;
	for (size_t i = 0; i < p->nsets; i++)
		p->sets[i].away = p->sets[i].map || i < from || i > to;
	plan_finish((struct planner *)p);
}

void
plan_give_away(struct plan *p, const bool *done)
{
	for (size_t i = 0; i < p->nsets; i++)
		p->sets[i].away |= done[i];
	plan_finish((struct planner *)p);
}

/* Lock the ranks of the sets that are not away. */
static bool
take(const void *arg, int lock)
{
	const struct plan *p = arg;
	bool took = true;

	for (size_t i = 0; i < p->nsets && took; i++) {
		const struct plan_set *s = &p->sets[i];

		for (uint32_t m = 0; !s->away && m < s->n && took; m++)
			took = s->members[m].rank == PLAN_NONE ||
			       lock_shares_take(lock, s->members[m].rank,
						s->members[m].rank);
	}
	return took;
}

int
plan_lock_sets(const struct plan *p, bool (*stop)(void), struct error *err)
{
	return lock_shares_wait(p->places[0].meta_fd, p->places[0].meta,
				p->part ? take : NULL, p, stop, err);
}
