/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_part.c - the parts of a plan that several processes carry out.
 */
#include "rescue/plan.h"

#include <string.h>
#include <time.h>

#include "clock.h"
#include "error.h"
#include "hash.h"
#include "lock.h"
#include "mem.h"
#include "rescue/plan_impl.h"

/* Seconds for which a process that was given up may still hold its lock: as
 * long as a file system needs to notice that a node is gone. */
#define PATIENCE 120
#define PAUSE 100000000 /* ns between two attempts to take it */

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
add_set(struct hash *h, const struct plan *p, const struct plan_set *s)
{
	ADD(h, s->map, s->type, s->number, s->sets, s->n, s->failures, s->chunk,
	    s->verdict, s->salvage, s->unproved);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];

		ADD(h, m->rank, m->state, m->fate, m->file_size, m->list.nfiles,
		    m->list.bytes, m->red->header_size, m->red->body_size);
		add_text(h, m->name);
		for (size_t k = 0; k < m->list.nfiles; k++) {
			const struct plan_file *f = plan_member_file(p, m, k);

			if (f == NULL)
				continue;
			ADD(h, f->attr.size, f->state, f->fate, f->has_crc,
			    f->crc, f->found_size);
			add_text(h, f->path);
		}
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

	if (p->packed || p->places[0].cache || p->flaw != NULL || p->undecided)
		return NULL;
	bytes = mem_calloc(p->nsets + 1, sizeof(*bytes));
	if (bytes == NULL) {
		(void)error_no_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];
		uint64_t writes = 0;

		if (s->map || s->verdict == SET_LOST || s->unproved || s->away)
			continue;
		plan_count_set(p, s, &bytes[i], &writes);
		bytes[i] += writes + (look ? bytes_of(p, s) : 0);
	}
	return bytes;
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

int
plan_lock_sets(const struct plan *p, uint64_t from, uint64_t to,
	       bool (*stop)(void), struct error *err)
{
	const struct timespec pause = { .tv_nsec = PAUSE };
	const double end = clock_seconds() + PATIENCE;
	const int dir = p->places[0].meta_fd;
	int lock = lock_shares_open(dir, stop, err);

	to = to == UINT64_MAX ? INT32_MAX : to;
	while (lock >= 0 && !lock_shares_take(lock, from, to)) {
		if (clock_seconds() < end && (stop == NULL || !stop())) {
			nanosleep(&pause, NULL);
			continue;
		}
		lock_shares_close(dir, lock);
		return error_set(err, ERROR_SYSTEM,
				 "%s: another process writes files of this "
				 "dataset; run this again when it has ended",
				 p->places[0].meta);
	}
	return lock;
}
