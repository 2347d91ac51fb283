/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep.c - recompute the redundancy of every set and compare it.
 *
 * All redundancy is computed from the data, as if every redundancy file of the
 * set were lost, and compared with the redundancy on disk.  If they differ, the
 * scheme may identify the wrong member.  If it cannot, recorded checksums,
 * which are computed in the same pass, may identify the wrong file.
 */
#include "rescue/deep.h"

#include <string.h>

#include "arena.h"
#include "encode/code.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "rescue/compute.h"
#include "rescue/deep_impl.h"
#include "work.h"

#define STRETCH ((uint64_t)4 << 20)

bool
deep_can_check(const struct plan_set *s)
{
	return s->opened && s->solution != NULL && s->verdict == SET_WHOLE &&
	       redset_is_redundant(s->type) && s->n > 0 && s->flaw == NULL;
}

/* Number of buffers for a block: strings read, and outputs computed. */
static size_t
width(const struct solve_job *j)
{
	return (size_t)j->nin + j->nout + (j->recipe != NULL ? j->nout : 0);
}

/* --- A block --- */

/* 1: a file could not be read, which is recorded. */
static int
read_block(struct deep *d, struct stripe_worker *w, const struct deep_item *it,
	   struct deep_block *b, uint64_t off, struct error *err)
{
	const struct deep_set *r = &d->sets[it->set];
	const struct solve_job *j = b->job;
	struct error why = ERROR_INIT;

	for (uint32_t i = 0; i < j->nin + j->nout; i++) {
		const struct solve_ref *ref = &j->in[i];
		const struct stripe *s =
			ref->body ? r->strings.body : r->strings.data;

		if (stripe_read(&s[ref->member], w->in, ref->off + off,
				deep_chunk(b, i), b->len, &why) < 0)
			return deep_unread(d, it->set, &why, err) < 0 ? -1 : 1;
	}
	progress_add(d->work->progress, (uint64_t)b->len * (j->nin + j->nout));
	return 0;
}

/* The expected contents of job->out[i]. */
static const unsigned char *
expected(const struct deep_block *b, uint32_t i)
{
	return b->job->recipe != NULL ? deep_made(b, i) : deep_chunk(b, 0);
}

static void
run_recipe(const struct deep_block *b)
{
	void *in[CODE_MAX], *made[CODE_MAX];

	if (b->job->recipe == NULL)
		return; /* the expected contents are in[0] */
	for (uint32_t i = 0; i < b->job->nin; i++)
		in[i] = deep_chunk(b, i);
	for (uint32_t i = 0; i < b->job->nout; i++)
		made[i] = deep_made(b, i);
	recipe_run(b->job->recipe, b->len, in, made);
}

/* Returns the index of the first wrong job->out[], or nout. */
static uint32_t
first_wrong(const struct deep_block *b)
{
	const uint32_t nin = b->job->nin, nout = b->job->nout;
	uint32_t i = 0;

	while (i < nout &&
	       memcmp(deep_chunk(b, nin + i), expected(b, i), b->len) == 0)
		i++;
	return i;
}

/* Count the positions that differ, and find the first one. */
static void
count_wrong(const struct deep_block *b, struct deep_finding *f)
{
	for (size_t at = b->len; at-- > 0;) {
		bool differs = false;

		for (uint32_t i = 0; i < b->job->nout; i++) {
			const unsigned char *is =
				deep_chunk(b, b->job->nin + i);

			differs |= is[at] != expected(b, i)[at];
		}
		f->bytes += differs;
		if (differs)
			f->first = at;
	}
}

static int
check_block(struct deep *d, const struct deep_item *it,
	    const struct deep_block *b, uint64_t off, struct error *err)
{
	struct deep_finding f = {
		.set = it->set,
		.stripe = b->job->stripe,
		.member = PLAN_NONE,
		.file = PLAN_NONE,
	};
	const struct solve_ref *who = NULL;
	uint32_t wrong = 0;

	run_recipe(b);
	wrong = first_wrong(b);
	if (wrong == b->job->nout)
		return 0;
	f.holder = b->job->out[wrong].member;
	count_wrong(b, &f);
	f.first += off;
	if (scheme_of(b->set->type)->blame(b, &who, err) < 0)
		return -1;
	if (who != NULL)
		deep_blame(d, &f, who);
	return deep_found(d, &f, err);
}

static int
check_item(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct deep *d = arg;
	const struct deep_item *it = &d->items[i];
	struct stripe_worker *w = &d->workers[worker];
	struct deep_block b = {
		.set = &d->p->sets[it->set],
		.job = &d->sets[it->set].solution.jobs[it->job],
		.memory = w->block,
	};
	const uint64_t end = it->off + it->len;
	int rc = 0;

	b.step = d->memory / width(b.job) & ~(COMPUTE_BLOCK_MIN - 1);
	if (b.step > COMPUTE_BLOCK)
		b.step = COMPUTE_BLOCK;
	for (uint64_t off = it->off; off < end; off += b.step) {
		b.len = end - off < b.step ? (size_t)(end - off) : b.step;
		rc = read_block(d, w, it, &b, off, err);
		if (rc == 0)
			rc = check_block(d, it, &b, off, err);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* --- Work --- */

static int
add_items(struct deep *d, uint32_t set, uint32_t job, struct error *err)
{
	const uint64_t bytes = d->sets[set].solution.jobs[job].len;

	for (uint64_t off = 0; off < bytes; off += STRETCH) {
		uint64_t len = bytes - off < STRETCH ? bytes - off : STRETCH;

		if (!MEM_ROOM(d->items, d->nitems, d->items_cap))
			return error_no_memory(err);
		d->items[d->nitems++] =
			(struct deep_item){ set, job, off, len };
	}
	return 0;
}

/* Make the jobs that compute all redundancy of the set.  *most: raised to the
 * number of buffers of the widest job. */
static int
prepare_set(struct deep *d, uint32_t set, size_t *most, struct error *err)
{
	const struct plan_set *s = &d->p->sets[set];
	struct solve_member *m = arena_alloc(d->arena, s->n, sizeof(*m));
	const struct solve_set all = {
		.type = s->type,
		.n = s->n,
		.failures = s->failures,
		.chunk = s->chunk,
		.member = m,
	};
	struct deep_set *r = &d->sets[set];

	if (m == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < s->n; i++) {
		m[i].bytes = s->members[i].list.bytes;
		m[i].body_lost = true;
		d->out->bytes_read += m[i].bytes + s->members[i].red->body_size;
	}
	if (plan_strings(d->p, s, true, d->arena, &r->strings, err) < 0 ||
	    solve(&all, &r->solution, err) < 0)
		return -1;
	for (uint32_t i = 0; i < r->solution.njobs; i++) {
		if (width(&r->solution.jobs[i]) > *most)
			*most = width(&r->solution.jobs[i]);
		if (add_items(d, set, i, err) < 0)
			return -1;
	}
	return 0;
}

/* `most`: the number of buffers of the widest job. */
static int
start_workers(struct deep *d, size_t most, struct error *err)
{
	uint64_t each = compute_memory(d->work, par_threads(d->par));

	if (each > most * COMPUTE_BLOCK)
		each = most * COMPUTE_BLOCK;
	if (each < most * COMPUTE_BLOCK_MIN)
		each = most * COMPUTE_BLOCK_MIN;
	d->memory = (size_t)each;
	d->workers =
		stripe_workers_new(d->par, d->memory, 512, d->sums, NULL, err);
	return d->workers != NULL ? 0 : -1;
}

static int
prepare(struct deep *d, struct error *err)
{
	size_t most = 1;

	d->sets = mem_calloc(d->p->nsets + 1, sizeof(*d->sets));
	d->sums = mem_calloc(d->p->nfiles + 1, sizeof(*d->sums));
	if (d->sets == NULL || d->sums == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < d->p->nfiles; i++)
		d->sums[i].size = d->p->files[i].attr.size;
	for (size_t i = 0; i < d->p->nsets; i++) {
		const struct plan_set *s = &d->p->sets[i];

		if (!deep_can_check(s)) {
			d->out->sets_skipped += redset_is_redundant(s->type);
			continue;
		}
		d->out->sets_checked++;
		if (prepare_set(d, (uint32_t)i, &most, err) < 0)
			return -1;
	}
	progress_phase(d->work->progress, "comparing redundancy",
		       d->out->bytes_read);
	return start_workers(d, most, err);
}

static void
finish(struct deep *d)
{
	for (size_t i = 0; d->sets != NULL && i < d->p->nsets; i++)
		solution_free(&d->sets[i].solution);
	mem_free(d->sets);
	mem_free(d->sums);
	mem_free(d->items);
	arena_free(d->arena);
	pthread_mutex_destroy(&d->lock);
}

int
deep_check(struct plan *p, const struct work *work, struct deep_result *out,
	   struct error *err)
{
	struct deep d = { .p = p, .work = work_or_default(work), .out = out };
	int rc = -1;

	*out = (struct deep_result){ .nfindings = 0 };
	d.arena = arena_new();
	if (d.arena == NULL)
		return error_no_memory(err);
	pthread_mutex_init(&d.lock, NULL);
	d.par = work_waiting(d.work, d.p->places[0].meta_fd);
	if (prepare(&d, err) == 0)
		rc = par_for(d.par, d.nitems, 0, check_item, &d, err);
	stripe_workers_free(d.par, d.workers); /* completes the checksums */
	if (rc == 0)
		rc = par_for(d.par, p->nsets, 0, deep_check_reds, &d, err);
	for (size_t i = 0; rc == 0 && i < out->nfindings; i++)
		if (out->findings[i].member == PLAN_NONE &&
		    out->findings[i].unread == NULL)
			deep_decide(&d, &out->findings[i]);
	finish(&d);
	if (rc < 0)
		deep_free(out);
	return rc;
}

int
deep_mark(struct plan *p, const struct deep_result *r, struct error *err)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct deep_finding *f = &r->findings[i];

		if (!deep_is_located(f))
			continue;
		if ((f->in_body
			     ? plan_mark_body(p, f->set, f->member, err)
			     : plan_mark(p, f->file, FILE_WRONG_CRC, err)) < 0)
			return -1;
	}
	for (size_t i = 0; i < r->nfindings; i++)
		if (!deep_is_located(&r->findings[i]))
			p->sets[r->findings[i].set].spare = 0;
	return 0;
}
