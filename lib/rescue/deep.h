/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep.h - does the redundancy agree with the data?  Reads everything.
 *
 * For sets without a loss: recompute and compare every check chunk or copy.
 * XOR and RS with k = 1 can only say that a set does not add up; RS with k >= 2
 * finds the one member that makes it so, PARTNER names the two that differ; a
 * recorded checksum decides between them.
 */
#ifndef RESCUE_DEEP_H
#define RESCUE_DEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct plan;
struct work;

struct deep_finding {
	uint32_t set;	   /* in plan.sets */
	uint64_t bytes;	   /* positions that do not add up */
	uint64_t first;	   /* offset of the first, within chunk or copy */
	uint32_t stripe;   /* its stripe; PARTNER: whose data they are */
	uint32_t holder;   /* the first member whose redundancy differs */
	uint32_t member;   /* the culprit, or PLAN_NONE: cannot be told */
	bool in_body;	   /* culprit's redundancy file, else its data */
	uint32_t file;	   /* the damaged data file in plan.files, or
			      PLAN_NONE */
	uint64_t file_off; /* offset of the first wrong byte in it */
};

struct deep_result {
	size_t sets_checked, sets_skipped; /* skipped: something is missing */
	uint64_t bytes_read;
	size_t nfindings;
	struct deep_finding *findings; /* for deep_free() */
};

/* The plan must have been made with PLAN_HEADERS.  0 also with findings.  Of
 * `work` (or NULL) threads, memory and progress count. */
int deep_check(struct plan *p, const struct work *work, struct deep_result *out,
	       struct error *err);
void deep_free(struct deep_result *r);

/* One sentence for a finding. */
int deep_error(const struct plan *p, const struct deep_finding *f,
	       struct error *err);

#endif /* RESCUE_DEEP_H */
