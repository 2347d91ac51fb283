/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compute.h - run the jobs of the solutions of several sets, on a pool of
 * threads with bounded memory.
 */
#ifndef SCHEME_COMPUTE_H
#define SCHEME_COMPUTE_H

#include <stddef.h>
#include <stdint.h>

#include "scheme/solve.h"
#include "transfer/stripe.h"

struct error;
struct work;

/* Default buffer memory of a worker in bytes, and the size of the blocks that
 * are read, computed and written at a time.  All blocks of a job's strings
 * together should fit into the second-level cache. */
#define COMPUTE_WORKER_MEMORY ((uint64_t)4 << 20)
#define COMPUTE_BLOCK ((size_t)64 << 10)
#define COMPUTE_BLOCK_MIN ((size_t)4 << 10)

/* One set: its solution, and the strings of its jobs (by member).  Strings to
 * read and strings to write are separate, because a data string may consist of
 * present and lost files. */
struct compute_set {
	const struct solution *solution;
	const struct stripe *data, *body;	  /* to read */
	const struct stripe *new_data, *new_body; /* to write; NULL if outputs
						     are compared */
};

/* An input that cannot be read. */
struct compute_unread {
	size_t set;
	struct solve_ref at; /* start of the piece of the string that failed */
	const struct error *why;
};

/*
 * A block of each string of a job.  In `memory`, `step` bytes apart: the
 * strings read, then the outputs that the recipe computes.  The strings read
 * are the inputs; if outputs are compared, also the outputs.
 */
struct compute_block {
	size_t set;
	const struct solve_job *job;
	uint64_t off; /* in each string, from the start of the job */
	size_t len;
	unsigned char *memory;
	size_t step;
	uint32_t nread;
};

/* String i of job->in[] followed by job->out[], as read. */
static inline void *
compute_string(const struct compute_block *b, uint32_t i)
{
	return b->memory + i * b->step;
}

/* The buffer for the computed job->out[i]. */
static inline void *
compute_made(const struct compute_block *b, uint32_t i)
{
	return compute_string(b, b->nread + i);
}

/* What job->out[i] should contain: computed, or a copy of the input. */
static inline const unsigned char *
compute_expected(const struct compute_block *b, uint32_t i)
{
	return b->job->recipe != NULL ? compute_made(b, i) : b->memory;
}

struct compute_options {
	/*
	 * Threads of work_waiting(); memory of all of them in bytes (0:
	 * COMPUTE_WORKER_MEMORY each); progress in bytes read and written;
	 * stop: compute() fails with ERROR_SYSTEM and EINTR.
	 */
	const struct work *work;
	struct stripe_sum *sums;     /* checksums of files read; may be NULL */
	struct stripe_sum *new_sums; /* checksums of files written; may be
					NULL */
	/*
	 * Called by any thread, at most once for a set.  Return 0 to continue:
	 * the rest of this set is not computed.  Return -1 to end with the
	 * error.  NULL: the first failed read ends it.  With `compare` only the
	 * block is left out, and the next one can be unreadable, too.
	 */
	int (*unreadable)(void *arg, const struct compute_unread *what);
	/* Called by any thread with each block, instead of writing the outputs.
	 * It may overwrite what was computed.  NULL: outputs are written. */
	int (*compare)(void *arg, const struct compute_block *b,
		       struct error *err);
	void *arg; /* of both */
};

/* The bytes that compute() adds to the progress. */
uint64_t compute_bytes(const struct compute_set *sets, size_t nsets);

/* Run all jobs, in any order.  Each output byte is written once.  Returns 0, or
 * -1 on error. */
int compute(const struct compute_set *sets, size_t nsets,
	    const struct compute_options *o, struct error *err);

#endif /* SCHEME_COMPUTE_H */
