/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep.h - verify that the redundancy matches the data.  Reads everything.
 *
 * What can be compared is compared, also in a set that lacks a piece: stripe by
 * stripe, or copy by copy, with all pieces that are left there.  One more than
 * is needed to compute the others shows that something is wrong; two more (RS
 * with k >= 2, PARTNER with several copies) identify the wrong member.  Else
 * recorded checksums may identify the wrong file.  Where nothing more is left
 * than is needed, nothing contradicts.
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
	uint32_t set;	/* index in plan.sets */
	uint64_t bytes; /* number of positions that do not match */
	/* offset of the first one, in chunk or data; of the last one */
	uint64_t first, last;
	uint32_t stripe; /* its stripe; PARTNER: the member that owns the
			      data */
	uint32_t holder; /* the first member whose string differs */
	uint32_t source; /* PARTNER: the member with whose string it differs */
	uint32_t member; /* the wrong member; PLAN_NONE: unknown */
	bool in_body;	 /* its redundancy file is wrong; false: its data */
	uint32_t file;	 /* index of the damaged file in plan.files, or
			      PLAN_NONE */
	uint64_t file_off; /* offset of its first wrong byte */
	/* The wrong member is unknown, but checksums prove all that a rebuild
	 * of the set computes: it finds out. */
	bool provable;
	/*
	 * Why a file could not be read, in the plan's memory: then the set is
	 * neither right nor wrong, and of the members above only `set` is
	 * valid.  NULL: the set does not match.
	 */
	const char *unread;
};

struct deep_result {
	/* skipped: nothing that is left could be compared */
	size_t sets_checked, sets_skipped;
	size_t sets_partly; /* checked, but they lack a piece */
	uint64_t bytes_read;
	size_t nfindings;
	struct deep_finding *findings; /* freed by deep_free() */
};

/* Compare all sets of a plan that was made with PLAN_HEADERS.  Of `work` (may
 * be NULL), threads, memory and progress are used.  Returns 0 even with
 * findings, also of files that cannot be read, or -1 on error; the caller frees
 * *out with deep_free(). */
int deep_check(struct plan *p, const struct work *work, struct deep_result *out,
	       struct error *err);
void deep_free(struct deep_result *r);

/*
 * The same; what is wrong is marked in the plan, so that its states and what it
 * tolerates take the damage into account, and the rest of its set is compared
 * again without it, until nothing more is found.  A set whose wrong member is
 * unknown tolerates no loss: what is computed from it may be wrong.
 */
int deep_search(struct plan *p, const struct work *work,
		struct deep_result *out, struct error *err);

/* deep_search() in sets that will be rebuilt, where something is lost, unless
 * they were searched. */
int deep_search_losses(struct plan *p, const struct work *work,
		       struct deep_result *out, struct error *err);

/* Does the finding identify the wrong file, or will a rebuild? */
static inline bool
deep_is_located(const struct deep_finding *f)
{
	return f->provable ||
	       (f->member != PLAN_NONE && (f->in_body || f->file != PLAN_NONE));
}

/* Does its set lack only redundancy, so that a rebuild of others leaves it? */
bool deep_is_left(const struct plan *p, const struct deep_finding *f);

/* Is neither so: nobody knows what is wrong, and nothing is rebuilt? */
static inline bool
deep_is_open(const struct plan *p, const struct deep_finding *f)
{
	return !deep_is_located(f) && !deep_is_left(p, f);
}

/* Do data and redundancy differ, and is it unknown which is wrong? */
bool deep_undecided(const struct deep_result *r);

/* Is one of them open, and not for lack of reading? */
bool deep_stuck(const struct plan *p, const struct deep_result *r);

/*
 * Files have other checksums than rank2file records.  If all of their set is
 * there, and its redundancy agrees with the data, two witnesses contradict each
 * other, and it is unknown which is right: *doubt says so, in the plan's
 * memory; also if no file at all has its recorded checksum.  Reads these sets.
 */
int deep_doubt_record(struct plan *p, const struct work *work,
		      const char **doubt, struct error *err);

/* Set *err to one sentence that describes a finding, with ERROR_DAMAGED; or
 * with ERROR_SYSTEM, if a file could not be read.  Returns -1. */
int deep_error(const struct plan *p, const struct deep_finding *f,
	       struct error *err);

#endif /* RESCUE_DEEP_H */
