/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compute.h - run the jobs of solutions, of many sets at once, on a pool of
 * threads with bounded memory.
 */
#ifndef RESCUE_COMPUTE_H
#define RESCUE_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transfer/stripe.h"

struct error;
struct solution;
struct work;

/* Bytes of buffer a worker has if nothing else is said, and the block that is
 * read, computed and written at a time: all blocks of a job's strings should
 * stay in the second-level cache together (performance.md 3). */
#define COMPUTE_WORKER_MEMORY ((uint64_t)4 << 20)
#define COMPUTE_BLOCK ((size_t)64 << 10)
#define COMPUTE_BLOCK_MIN ((size_t)4 << 10)

/* One set: its solution, and the strings the jobs speak of (n each).
 * Strings that are read and strings that are written are told apart, since a
 * data string may have good and lost files. */
struct compute_set {
	const struct solution *solution;
	const struct stripe *data, *body;	  /* to read */
	const struct stripe *new_data, *new_body; /* to write */
};

struct compute_options {
	/* Threads; memory of all (0: COMPUTE_WORKER_MEMORY each); progress of
	 * bytes read and written; stop: ERROR_SYSTEM with EINTR. */
	const struct work *work;
	struct stripe_sum *sums;     /* of what is read; may be NULL */
	struct stripe_sum *new_sums; /* of what is written; may be NULL */
};

/* Bytes of buffers for each thread of `work`. */
uint64_t compute_memory(const struct work *work);

/* Run all jobs.  Job order is undefined; each output byte is written once. */
int compute(const struct compute_set *sets, size_t nsets,
	    const struct compute_options *o, struct error *err);

#endif /* RESCUE_COMPUTE_H */
