/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep.h - verify that the redundancy matches the data.  Reads everything.
 *
 * For sets without a loss: recompute every check chunk or copy and compare it
 * with the one on disk.  RS with k >= 2 identifies the wrong member, and so
 * does PARTNER with more than one copy.  XOR and RS with k = 1 can only show
 * that a set does not match; PARTNER with one copy names the two members that
 * differ.  Then recorded checksums may identify the wrong file.
 */
#ifndef RESCUE_DEEP_H
#define RESCUE_DEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rescue/plan.h"

struct error;
struct work;

struct deep_finding {
	uint32_t set;	   /* index in plan.sets */
	uint64_t bytes;	   /* number of positions that do not match */
	uint64_t first;	   /* offset of the first one, in chunk or copy */
	uint32_t stripe;   /* its stripe; PARTNER: the member that owns the
			      data */
	uint32_t holder;   /* the first member whose redundancy differs */
	uint32_t member;   /* the wrong member; PLAN_NONE: unknown */
	bool in_body;	   /* its redundancy file is wrong; false: its data */
	uint32_t file;	   /* index of the damaged file in plan.files, or
			      PLAN_NONE */
	uint64_t file_off; /* offset of its first wrong byte */
	/*
	 * Why a file could not be read, in the plan's memory: then the set is
	 * neither right nor wrong, and of the members above only `set` is
	 * valid.  NULL: the set does not match.
	 */
	const char *unread;
};

struct deep_result {
	size_t sets_checked, sets_skipped; /* skipped: a file is missing */
	uint64_t bytes_read;
	size_t nfindings;
	struct deep_finding *findings; /* freed by deep_free() */
};

/* Can the redundancy of the set be verified, because it is all there? */
bool deep_can_check(const struct plan_set *s);

/* Verify all sets of a plan that was made with PLAN_HEADERS.  Of `work` (may be
 * NULL), threads, memory and progress are used.  Returns 0 even with findings,
 * also of files that cannot be read, or -1 on error; the caller frees *out with
 * deep_free(). */
int deep_check(struct plan *p, const struct work *work, struct deep_result *out,
	       struct error *err);
void deep_free(struct deep_result *r);

/* Does the finding identify the wrong file? */
static inline bool
deep_is_located(const struct deep_finding *f)
{
	return f->member != PLAN_NONE && (f->in_body || f->file != PLAN_NONE);
}

/* Do data and redundancy differ, and is it unknown which is wrong? */
bool deep_undecided(const struct deep_result *r);

/*
 * Mark in the plan what the check found wrong, so that its states and what it
 * tolerates take the damage into account.  A set whose wrong member is unknown
 * tolerates no loss: what is computed from it may be wrong.  Returns 0, or -1
 * on error.
 */
int deep_mark(struct plan *p, const struct deep_result *r, struct error *err);

/*
 * Files have other checksums than rank2file records.  If all of their set is
 * there, and its redundancy agrees with the data, two witnesses contradict each
 * other, and it is unknown which is right: p->flaw is set; also if no file at
 * all has its recorded checksum.  Reads these sets.
 */
int deep_doubt_record(struct plan *p, const struct work *work,
		      struct error *err);

/* Set *err to one sentence that describes a finding, with ERROR_DAMAGED; or
 * with ERROR_SYSTEM, if a file could not be read.  Returns -1. */
int deep_error(const struct plan *p, const struct deep_finding *f,
	       struct error *err);

#endif /* RESCUE_DEEP_H */
