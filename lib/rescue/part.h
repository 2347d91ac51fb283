/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part.h - one plan, carried out by several processes: what they compare, which
 * part each of them has, and the locks by which they keep apart.
 */
#ifndef RESCUE_PART_H
#define RESCUE_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct plan;
struct plan_set;
struct work;

#define PLAN_DIGEST 65 /* bytes of the text of a digest, with NUL */

/* A digest of what the plan says of the sets `from` to `to`, for two processes
 * to find out whether they see the same.  It does not change while others
 * rebuild other sets. */
int plan_digest(const struct plan *p, size_t from, size_t to,
		char out[static PLAN_DIGEST], struct error *err);

/*
 * The bytes that are moved for each set, p->nsets numbers for mem_free(): to
 * rebuild it and, with `look`, to compare it before.  0: it lacks nothing, or
 * is not for other processes, as those over filemaps, which are computed from
 * the metadata and written last.  NULL: ERROR_NOMEM, or (ERROR_NONE) this is
 * not for other processes: the files are in containers or caches, data are
 * lost, or it is not clear what is right.
 */
uint64_t *plan_set_bytes(const struct plan *p, bool look, struct error *err);

/* What tells the sets of a plan apart, and stays the same in the next one. */
uint64_t plan_set_key(const struct plan_set *s);

/* Carry out only the sets `from` to `to`: all others are away.  Or all but
 * those that others have done. */
void plan_keep(struct plan *p, size_t from, size_t to);
void plan_give_away(struct plan *p, const bool *done);

/*
 * Lock the ranks of the sets that are not away after plan_keep(), else all of
 * the dataset, on a prefix, for who writes their files: against others that do
 * this, and against scr_copy.  Waits a while for a process that was given up
 * and is still there.  Returns a value for lock_shares_close(); -2: there is no
 * lock.
 */
int plan_lock_sets(const struct plan *p, bool (*stop)(void), struct error *err);

/* Compare the recorded checksums of the present files of sets that are not
 * away, and mark those that are wrong, or cannot be read. */
int plan_check_kept(struct plan *p, const struct work *work, struct error *err);

#endif /* RESCUE_PART_H */
