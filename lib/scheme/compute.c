/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compute.c - jobs cut into blocks, which workers process in parallel.
 *
 * Each worker reads, computes and writes its own block.  With several workers,
 * input of one overlaps with computation and output of others.
 */
#include "scheme/compute.h"

#include <assert.h>
#include <stdatomic.h>

#include "encode/code.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "work.h"

/* Number of blocks a worker takes at a time: adjacent blocks share open files,
 * read-ahead and running checksums. */
#define BLOCK_BATCH 8

/* A job of a set.  Its blocks are numbered from `first` on in the list of all
 * blocks. */
struct item {
	uint32_t set;
	uint32_t job;
	uint64_t first;
};

struct run {
	const struct compute_set *sets;
	const struct compute_options *o;
	const struct work *work;
	struct par *par;
	struct item *items;
	size_t nitems;
	size_t block;
	size_t width;		       /* largest number of strings of a job */
	atomic_bool *left_out;	       /* by set: an input cannot be read */
	struct stripe_worker *workers; /* with buffers for one block of each
					  string, end to end */
};

/* The number of strings of a job that are read. */
static uint32_t
count_read(const struct run *r, const struct solve_job *j)
{
	return j->nin + (r->o->compare != NULL ? j->nout : 0);
}

static const struct item *
find_item(const struct run *r, uint64_t block)
{
	size_t lo = 0, hi = r->nitems;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->items[mid].first <= block)
			lo = mid;
		else
			hi = mid;
	}
	return &r->items[lo];
}

/* Read a block of one string, piece by piece, to find the piece that fails.
 * Returns 1 if its set or block is left out. */
static int
read_string(const struct run *r, struct stripe_worker *w,
	    const struct compute_block *b, uint32_t i, struct error *err)
{
	const struct solve_ref *ref = &b->job->in[i]; /* out[] follows in[] */
	const struct stripe *s = ref->body ? &r->sets[b->set].body[ref->member]
					   : &r->sets[b->set].data[ref->member];
	const uint64_t off = ref->off + b->off, end = off + b->len;
	unsigned char *to = compute_string(b, i);
	struct error why = ERROR_INIT;

	for (uint64_t at = off, cut = 0; at < end; at = cut) {
		const struct compute_unread what = {
			.set = b->set,
			.at = { ref->member, ref->body, at },
			.why = &why,
		};

		cut = stripe_cut(s, at);
		cut = cut < end ? cut : end;
		if (stripe_read(s, w->in, at, to + (at - off),
				(size_t)(cut - at), &why) == 0)
			continue;
		if (r->o->unreadable == NULL)
			return error_pass(err, &why);
		if ((r->o->compare != NULL ||
		     !atomic_exchange(&r->left_out[b->set], true)) &&
		    r->o->unreadable(r->o->arg, &what) < 0)
			return error_pass(err, &why);
		return 1;
	}
	return 0;
}

/* Not limited by CODE_MAX: a job that copies can have any number of outputs. */
static int
write_outputs(const struct run *r, struct stripe_worker *w,
	      const struct compute_block *b, struct error *err)
{
	const struct compute_set *set = &r->sets[b->set];

	assert(b->job->nin > 0); /* each job has an input */
	for (uint32_t i = 0; i < b->job->nout; i++) {
		const struct solve_ref *ref = &b->job->out[i];
		const struct stripe *s = ref->body
						 ? &set->new_body[ref->member]
						 : &set->new_data[ref->member];

		if (stripe_write(s, w->out, ref->off + b->off,
				 compute_expected(b, i), b->len, err) < 0)
			return -1;
	}
	return 0;
}

static int
run_block(void *arg, size_t block, unsigned worker, struct error *err)
{
	struct run *r = arg;
	const struct item *it = find_item(r, block);
	const struct solve_job *j = &r->sets[it->set].solution->jobs[it->job];
	struct stripe_worker *w = &r->workers[worker];
	struct compute_block b = {
		.set = it->set,
		.job = j,
		.off = (block - it->first) * (uint64_t)r->block,
		.memory = w->block,
		.step = r->block,
		.nread = count_read(r, j),
	};
	void *in[CODE_MAX], *out[CODE_MAX];
	int rc = 0;

	if (work_go_on(r->work, err) < 0)
		return -1;
	if (r->left_out[it->set])
		return 0;
	b.len = j->len - b.off < r->block ? (size_t)(j->len - b.off) : r->block;
	for (uint32_t i = 0; rc == 0 && i < b.nread; i++)
		rc = read_string(r, w, &b, i, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	for (uint32_t i = 0; j->recipe != NULL && i < j->nin; i++)
		in[i] = compute_string(&b, i);
	for (uint32_t i = 0; j->recipe != NULL && i < j->nout; i++)
		out[i] = compute_made(&b, i);
	if (j->recipe != NULL)
		recipe_run(j->recipe, b.len, in, out);
	rc = r->o->compare != NULL ? r->o->compare(r->o->arg, &b, err)
				   : write_outputs(r, w, &b, err);
	if (rc == 0)
		work_moved(r->work, (uint64_t)b.len * (j->nin + j->nout));
	return rc;
}

uint64_t
compute_bytes(const struct compute_set *sets, size_t nsets)
{
	uint64_t sum = 0;

	for (size_t s = 0; s < nsets; s++) {
		const struct solution *sol = sets[s].solution;

		for (size_t j = 0; j < sol->njobs; j++)
			sum += sol->jobs[j].len *
			       (sol->jobs[j].nin + sol->jobs[j].nout);
	}
	return sum;
}

/* Choose the largest block with which all strings of the widest job fit into a
 * worker's memory, within COMPUTE_BLOCK_MIN and COMPUTE_BLOCK. */
static void
choose_block(struct run *r, size_t nsets)
{
	uint64_t room = r->work->memory ? r->work->memory / par_threads(r->par)
					: COMPUTE_WORKER_MEMORY;

	r->width = 1;
	for (size_t s = 0; s < nsets; s++) {
		const struct solution *sol = r->sets[s].solution;

		for (size_t j = 0; j < sol->njobs; j++) {
			const struct solve_job *job = &sol->jobs[j];
			size_t n = count_read(r, job) +
				   (job->recipe ? job->nout : 0);

			r->width = n > r->width ? n : r->width;
		}
	}
	room = room / r->width & ~(uint64_t)(COMPUTE_BLOCK_MIN - 1);
	r->block = COMPUTE_BLOCK;
	if (room < r->block)
		r->block = room > COMPUTE_BLOCK_MIN ? (size_t)room
						    : COMPUTE_BLOCK_MIN;
}

int
compute(const struct compute_set *sets, size_t nsets,
	const struct compute_options *o, struct error *err)
{
	struct run r = { .sets = sets, .o = o };
	uint64_t blocks = 0;
	size_t n = 0;
	int rc = -1;

	r.work = work_or_default(o->work);
	r.par = work_waiting(r.work, -1);
	choose_block(&r, nsets);
	for (size_t s = 0; s < nsets; s++)
		n += sets[s].solution->njobs;
	r.items = mem_alloc(n ? n : 1, sizeof(*r.items));
	if (r.items == NULL)
		return error_no_memory(err);
	/* List all jobs with their first blocks. */
	for (size_t s = 0; s < nsets; s++)
		for (size_t j = 0; j < sets[s].solution->njobs; j++) {
			r.items[r.nitems++] =
				(struct item){ (uint32_t)s, (uint32_t)j,
					       blocks };
			blocks +=
				(sets[s].solution->jobs[j].len + r.block - 1) /
				r.block;
		}
	if (blocks == 0) {
		rc = 0;
		goto out;
	}
	r.left_out = mem_calloc(nsets, sizeof(*r.left_out));
	if (r.left_out == NULL) {
		error_no_memory(err);
		goto out;
	}
	r.workers = stripe_workers_new(r.par, r.width * r.block, 256, o->sums,
				       o->new_sums, err);
	if (r.workers != NULL)
		rc = par_for(r.par, (size_t)blocks, BLOCK_BATCH, run_block, &r,
			     err);
out:
	stripe_workers_free(r.par, r.workers);
	mem_free(r.left_out);
	mem_free(r.items);
	return rc;
}
