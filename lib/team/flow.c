/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/flow.h"

#include <string.h>

#include "encode/code.h"
#include "error.h"
#include "mem.h"
#include "scheme/solve.h"
#include "team/team.h"

/* Slices that a member can compute at a time. */
#define LANES 8
/* Memory for all of them, as a multiple of the configured buffer. */
#define WHOLE_MOST 16

/* Messages of so many slices have tags of their own, in which they may arrive
 * in any order; slices that have the same tag follow each other. */
#define TAGS 8192

#define SLICE_LEAST ((uint64_t)4096)
#define SLICE_MOST ((uint64_t)64 << 20)

/* A slice in which this member takes part. */
struct task {
	const struct solve_job *job;
	uint64_t off; /* in the ranges of the job */
	size_t len;
	uint32_t worker; /* member */
	uint64_t number;
	int in, out;	     /* tags */
	size_t first, count; /* slots */
	enum { BEGUN, SENT, DONE } is;
};

struct flow {
	const struct flow_job *j;
	uint32_t me;
	/* The next slice: of a job among those that are longer than `off`. */
	size_t job, njobs;
	size_t *jobs; /* their numbers */
	uint64_t off, number;
	uint64_t slice, longest; /* of the jobs */
	/* A ring of slots, each with an input or output of a slice, and its
	 * message. */
	size_t width; /* strings of the widest job */
	size_t nslots, next, used;
	char *memory;
	MPI_Request *requests;
	struct task *tasks; /* a ring; each has a slot at least */
	size_t first, active;
	int rc; /* -1: something failed here; *err has the first reason */
	struct error *err;
};

static char *
slot_at(const struct flow *f, size_t slot)
{
	return f->memory + slot % f->nslots * f->slice;
}

/* Does the string have a slot here? */
static bool
has_slot(const struct flow *f, const struct task *t,
	 const struct solve_ref *ref)
{
	return t->worker == f->me || ref->member == f->me;
}

static void
keep_longer(struct flow *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->njobs; i++)
		if (f->j->solution->jobs[f->jobs[i]].len > f->off)
			f->jobs[n++] = f->jobs[i];
	f->njobs = n;
}

/* Take the next slice in which this member takes part. */
static bool
next_slice(struct flow *f, struct task *t)
{
	const struct solution *sol = f->j->solution;

	while (f->njobs > 0) {
		while (f->job < f->njobs) {
			const struct solve_job *j =
				&sol->jobs[f->jobs[f->job++]];
			const uint64_t left = j->len - f->off;
			/* Whatever the strings of a job and its number have in
			 * common, each input has its turn. */
			const uint64_t turn = f->job + f->off / f->slice;

			*t = (struct task){
				.job = j,
				.off = f->off,
				.len = left < f->slice ? left : f->slice,
				.worker = j->in[turn % j->nin].member,
				.number = f->number,
				.in = TAG_SLICES + 2 * (int)(f->number % TAGS),
				.first = f->next,
			};
			t->out = t->in + 1;
			f->number++;
			for (uint32_t i = 0; i < j->nin + j->nout; i++)
				t->count += has_slot(f, t, &j->in[i]);
			if (t->count > 0)
				return true;
		}
		f->off += f->slice;
		f->job = 0;
		keep_longer(f);
	}
	return false;
}

/* Bytes of the slice that the string has; zeros follow. */
static size_t
length(const struct flow *f, const struct task *t, const struct solve_ref *ref)
{
	const uint64_t at = ref->off + t->off, all = f->j->bytes[ref->member];

	if (ref->body || all > at + t->len)
		return t->len;
	return all > at ? (size_t)(all - at) : 0;
}

/* Begin to receive the slot from a member, or with `data` to send that to
 * it. */
static void
pass(const struct flow *f, size_t slot, const char *data, uint32_t member,
     int tag, size_t len)
{
	const int rank = (int)f->j->ranks[member];
	MPI_Request *r = &f->requests[slot % f->nslots];

	if (data != NULL && len > 0)
		MPI_Isend(data, (int)len, MPI_BYTE, rank, tag, f->j->comm, r);
	else if (len > 0)
		MPI_Irecv(slot_at(f, slot), (int)len, MPI_BYTE, rank, tag,
			  f->j->comm, r);
}

/* Read this member's inputs, and begin to send and receive.  After a failure
 * nothing is read or written, but messages are still sent, because other
 * members wait for them. */
static void
start(struct flow *f, const struct task *t)
{
	const struct solve_job *j = t->job;
	const bool works = t->worker == f->me;
	size_t slot = t->first;

	for (uint32_t i = 0; i < j->nin + j->nout; i++) {
		const struct solve_ref *ref = &j->in[i]; /* then out[] */
		const bool in = i < j->nin, mine = ref->member == f->me;
		const size_t len = length(f, t, ref);
		char *data = slot_at(f, slot);
		size_t have = len;

		if (!has_slot(f, t, ref))
			continue;
		if (in && mine && f->rc == 0 && len > 0)
			f->rc = f->j->read(f->j->arg, ref->body,
					   ref->off + t->off, data, len,
					   f->err);
		if (mine && f->rc < 0)
			have = 0;
		if (in)
			memset(data + have, 0, t->len - have);
		if (in && mine && !works)
			pass(f, slot, data, t->worker, t->in, len);
		else if (in && !mine)
			pass(f, slot, NULL, ref->member, t->in, len);
		else if (!in && !works)
			pass(f, slot, NULL, t->worker, t->out, len);
		slot++;
	}
}

/* As the worker, compute and send; take the outputs of this member. */
static void
finish(struct flow *f, const struct task *t)
{
	const struct solve_job *j = t->job;
	const bool works = t->worker == f->me;
	size_t slot = t->first;
	void *data[CODE_MAX];

	if (works && j->recipe != NULL) {
		for (uint32_t i = 0; i < j->nin + j->nout; i++)
			data[i] = slot_at(f, slot + i);
		recipe_run(j->recipe, t->len, data, data + j->nin);
	}
	for (uint32_t i = 0; i < j->nin + j->nout; i++) {
		const struct solve_ref *ref = &j->in[i];
		const size_t len = length(f, t, ref);
		/* Without recipe, the input is the output. */
		const char *out = slot_at(
			f, works && j->recipe == NULL ? t->first : slot);

		if (!has_slot(f, t, ref))
			continue;
		if (i >= j->nin && ref->member != f->me)
			pass(f, slot, out, ref->member, t->out, len);
		else if (i >= j->nin && f->rc == 0 && len > 0)
			f->rc = f->j->write(f->j->arg, ref->body,
					    ref->off + t->off, out, len,
					    f->err);
		slot++;
	}
}

/* Go on with a slice whose messages have all arrived. */
static bool
go_on(struct flow *f, struct task *t)
{
	bool done = t->is != DONE;

	for (size_t i = 0; done && i < t->count; i++)
		done = f->requests[(t->first + i) % f->nslots] ==
		       MPI_REQUEST_NULL;
	if (done && t->is++ == BEGUN)
		finish(f, t);
	return done;
}

int
flow_run(struct flow *f, int rc, struct error *err)
{
	struct team_rest rest = { .polls = 0 };
	bool more = true, next = false;
	int which = 0, done = 0;

	f->rc = rc;
	f->err = err;
	while (more || f->active > 0) {
		struct task *t = &f->tasks[(f->first + f->active) % f->nslots];
		bool moved = false;

		if (more && !next && f->used + f->width <= f->nslots)
			more = next = next_slice(f, t);
		if (next && (f->active == 0 ||
			     t->number - f->tasks[f->first].number < TAGS)) {
			start(f, t);
			f->next = (f->next + t->count) % f->nslots;
			f->used += t->count;
			f->active++;
			moved = true;
			next = false;
		}
		/* One poll for all messages, and one for each that arrives. */
		do {
			MPI_Testany((int)f->nslots, f->requests, &which, &done,
				    MPI_STATUS_IGNORE);
			done = done && which != MPI_UNDEFINED;
			moved = moved || done;
		} while (done);
		for (size_t i = 0; i < f->active; i++)
			moved |=
				go_on(f, &f->tasks[(f->first + i) % f->nslots]);
		for (t = &f->tasks[f->first]; f->active > 0 && t->is == DONE;
		     t = &f->tasks[f->first]) {
			f->first = (f->first + 1) % f->nslots;
			f->used -= t->count;
			f->active--;
		}
		team_rest(&rest, moved);
	}
	return f->rc;
}

int
flow_bodies(struct solve_set set, const uint64_t *bytes, struct solution *out,
	    struct error *err)
{
	struct solve_member *m = mem_calloc(set.n, sizeof(*m));
	int rc = -1;

	if (m == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < set.n; i++)
		m[i] = (struct solve_member){ .bytes = bytes[i],
					      .body_lost = true };
	set.member = m;
	rc = solve(&set, out, err);
	mem_free(m);
	return rc;
}

struct flow *
flow_new(const struct flow_job *j, struct error *err)
{
	const struct solution *sol = j->solution;
	struct flow *f = mem_calloc(1, sizeof(*f));

	if (f == NULL)
		return error_no_memory_null(err);
	f->j = j;
	f->me = j->me;
	f->width = 1;
	for (size_t i = 0; i < sol->njobs; i++) {
		const struct solve_job *job = &sol->jobs[i];

		if (job->nin + job->nout > f->width)
			f->width = job->nin + job->nout;
		if (job->len > f->longest)
			f->longest = job->len;
	}
	f->nslots = LANES * f->width;
	f->slice = WHOLE_MOST * j->buffer / f->nslots;
	f->slice = f->slice < j->buffer ? f->slice : j->buffer;
	f->slice = f->slice < SLICE_MOST ? f->slice : SLICE_MOST;
	/* Small files need less. */
	if (f->slice > f->longest)
		f->slice = f->longest + SLICE_LEAST - 1;
	f->slice -= f->slice % SLICE_LEAST;
	if (f->slice < SLICE_LEAST)
		f->slice = SLICE_LEAST;
	f->memory = mem_aligned(CODE_ALIGN, f->nslots * f->slice);
	f->requests = mem_alloc(f->nslots, sizeof(MPI_Request));
	f->tasks = mem_alloc(f->nslots, sizeof(*f->tasks));
	f->jobs = mem_alloc(sol->njobs, sizeof(*f->jobs));
	if (f->memory == NULL || f->requests == NULL || f->tasks == NULL ||
	    f->jobs == NULL) {
		flow_free(f);
		return error_no_memory_null(err);
	}
	for (size_t i = 0; i < f->nslots; i++)
		f->requests[i] = MPI_REQUEST_NULL;
	for (; f->njobs < sol->njobs; f->njobs++)
		f->jobs[f->njobs] = f->njobs;
	keep_longer(f);
	return f;
}

void
flow_free(struct flow *f)
{
	if (f == NULL)
		return;
	mem_free(f->memory);
	mem_free(f->requests);
	mem_free(f->tasks);
	mem_free(f->jobs);
	mem_free(f);
}
