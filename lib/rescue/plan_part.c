/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_part.c - the parts of a plan that several processes carry out: their
 * bytes, and their locks.
 */
#include "rescue/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "lock.h"
#include "mem.h"
#include "rescue/part.h"
#include "rescue/plan_impl.h"
#include "room.h"

/* Seconds for which a process that was given up may still hold its lock: as
 * long as a file system needs to notice that a node is gone. */
#define PATIENCE 90
#define PAUSE 100000000 /* ns between two attempts to take it */

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

/* Lock the ranks of the sets that are not away, or all numbers. */
static bool
take(const struct plan *p, int lock)
{
	bool took = true;

	if (!p->part)
		return lock_shares_take(lock, 0, INT32_MAX);
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
	const struct timespec pause = { .tv_nsec = PAUSE };
	const double end = clock_seconds() + PATIENCE;
	const int dir = p->places[0].meta_fd;
	struct error why = ERROR_INIT;
	int lock = -1;

	/* Nobody is there; and nobody comes while the caller has the lock of
	 * the dataset. */
	if (!p->part &&
	    faccessat(dir, LOCK_SHARES_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT)
		return -2;
	for (;;) {
		lock = lock_shares_open(dir, stop, &why);
		/* Without room, or the right to write there, for the file. */
		if (lock == -1 &&
		    (room_is_short(&why) ||
		     (why.kind == ERROR_SYSTEM &&
		      (why.errnum == EACCES || why.errnum == EPERM ||
		       why.errnum == EROFS)))) {
			error_clear(&why);
			return -2;
		}
		if (lock == -1)
			return error_pass(err, &why);
		if (lock < 0 || take(p, lock))
			return lock;
		lock_shares_close(dir, lock);
		if (clock_seconds() > end || (stop != NULL && stop()))
			break;
		nanosleep(&pause, NULL);
	}
	return error_set(err, ERROR_SYSTEM,
			 "%s: another process writes files of this dataset; "
			 "run this again when it has ended",
			 p->places[0].meta);
}
