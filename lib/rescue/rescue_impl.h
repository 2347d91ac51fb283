/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rescue_impl.h - what the modules of this room offer each other: the bytes
 * behind a plan, for whoever reads, checks or computes them.
 */
#ifndef RESCUE_RESCUE_IMPL_H
#define RESCUE_RESCUE_IMPL_H

#include "rescue/plan.h"
#include "rescue/scheme.h"

struct recipe;
struct stripe;
struct stripe_part;

/* --- For schemes: solving (solve.c) --- */

/* A solution that is being made. */
struct solving {
	const struct solve_set *set;
	struct solution *out;
	size_t jobs_cap, lost_cap, recipes_cap;
};

/* A job to be filled in, whose out[] follow its in[]; NULL: ERROR_NOMEM. */
struct solve_job *solve_add_job(struct solving *w, uint32_t nin, uint32_t nout,
				struct error *err);

/* `len` bytes from `at` on are lost. */
int solve_add_lost(struct solving *w, const struct solve_ref *at, uint64_t len,
		   struct error *err);

/* Take `r`, which jobs are going to use, for the solution; NULL: fail. */
int solve_keep_recipe(struct solving *w, struct recipe *r, struct error *err);

/* --- For schemes: what does not add up (deep.c) --- */

/* The same stretch of all strings of a job, as read, and behind them what the
 * job makes of its inputs. */
struct deep_block {
	const struct plan_set *set;
	const struct solve_job *job;
	unsigned char *memory;
	size_t step; /* from one string to the next */
	size_t len;
};

/* String i of job->in[], which job->out[] follow, as it was read. */
static inline void *
deep_chunk(const struct deep_block *b, uint32_t i)
{
	return b->memory + i * b->step;
}

/* Room for what was computed for job->out[i]; a scheme may use it again. */
static inline void *
deep_made(const struct deep_block *b, uint32_t i)
{
	return deep_chunk(b, b->job->nin + b->job->nout + i);
}

/* --- Errors --- */

/*
 * Is the file itself to blame that it could not be read?  Then it is an
 * erasure.  One that we may not read, or for which descriptors or memory were
 * short, is not: it must neither be called lost nor be replaced.
 */
bool plan_blames_file(const struct error *e);

/* --- Where a plan's bytes are --- */

/* Is a metadata file of that name packed? */
bool plan_has_packed(const struct plan *p, const char *name);

uint64_t plan_segs_size(const struct plan_seg *segs, size_t n);

/* A stretch of a packed file, as part of a string. */
struct plan_span {
	int dirfd; /* of the segments' paths */
	uint64_t from, len;
	uint64_t start; /* where it begins in the string */
	size_t sum;
};

/* The parts that make up the stretch, at most n.  Returns how many. */
size_t plan_segs_parts(const struct plan_seg *segs, size_t n,
		       const struct plan_span *span, struct stripe_part *out);

/* The parts of a whole file, at most plan_file_nparts(). */
size_t plan_file_parts(const struct plan *p, size_t file, uint64_t start,
		       size_t sum, struct stripe_part *out);
static inline size_t
plan_file_nparts(const struct plan_file *f)
{
	return f->nsegs > 0 ? f->nsegs : 1;
}

/* The strings of a set's members, n each: data (files that are present; others
 * are gaps) and body (redundancy files that can be read). */
struct plan_strings {
	struct stripe *data, *body;
};

/* Make them, from `arena`.  With `sums` parts are numbered for checksums by
 * their file, if that has a recorded one. */
int plan_strings(const struct plan *p, const struct plan_set *s, bool sums,
		 struct arena *arena, struct plan_strings *out,
		 struct error *err);

/* --- Reading and writing them --- */

/* Read each file i that has a recorded checksum and for which look[i] is set.
 * look[i] stays set if the file is wrong; its state is not changed. */
int plan_check_files(struct plan *p, const struct work *work, bool *look,
		     struct error *err);

/* Before and after a rebuild writes into containers: mark what is to be
 * written, make them long enough; sync them, and take the mark away.
 * *marked: there is something to be written there. */
int plan_begin_packed(struct plan *p, bool *marked, struct error *err);
int plan_end_packed(struct plan *p, struct error *err);

#endif /* RESCUE_RESCUE_IMPL_H */
