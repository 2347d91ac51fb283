/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regain_build.c - the members of a set compute its lost strings.
 *
 * The jobs of the solution are cut into slices, numbered in one order that all
 * members know.  The input of a slice is sent to one of the members that have
 * some, in turn.  This member computes, and sends the results to the members
 * that lost them.  So the work is spread, and a member only receives what it
 * has lost.  Every member works on its slices in order, LANES at a time.  The
 * lowest unfinished slice is the next one of all its members, so there is no
 * deadlock.
 *
 * The files were not verified before: checksums are computed while files are
 * read here, and those of the results while they are written.  A file that
 * turns out to be damaged or unreadable is marked, and the work continues with
 * useless bytes: the caller makes a new plan.
 */
#include "scr/regain_impl.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "encode/code.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "scheme/solve.h"
#include "scr/held.h"
#include "scr/run.h"
#include "team/say.h"
#include "transfer/stripe.h"

#define LANES 4
#define SLICE_LEAST ((uint64_t)4096)
#define SLICE_MOST ((uint64_t)64 << 20)
/* memory of all lanes, as a multiple of the configured buffer */
#define WHOLE_MOST 16

struct task {
	const struct solve_job *job;
	uint64_t off; /* in the ranges of the job */
	size_t len;
	uint32_t worker; /* member */
	char *block;	 /* inputs, then outputs */
	MPI_Request *requests;
	int count;
};

struct building {
	struct regain *g;
	const struct plan_set *s;
	const struct solution *sol; /* of the set, or `checks` */
	struct solution checks;	    /* regain_compare(): all redundancy */
	uint32_t me;		    /* this rank */
	MPI_Comm comm;
	/* Its strings: the data, then the body.  Present files, and
	 * replacements of lost ones. */
	const struct plan *p;
	const struct plan_member *m; /* of this rank */
	struct regain_builts *built;
	struct stripe present[2], made[2];
	struct stripe_cache *in, *out;
	struct stripe_sum *sums; /* by file */
	uint64_t bytes;		 /* of the data */
	/* The next slice. */
	size_t job;
	uint64_t off, number;
	uint64_t slice;
	size_t width; /* strings of the widest job */
	struct task lanes[LANES];
	unsigned first, active;
	char *memory;
	MPI_Request *requests;
	char *expected; /* to compare with, on disk */
	bool differs;
	int rc;
	struct error *err;
};

/* --- The strings of this rank: its data, and the body --- */

/* Index of a file in the filemap of this rank; SIZE_MAX: in none. */
static size_t
place_of(const struct building *b, size_t file)
{
	const uint32_t at = b->m->files == NULL ? PLAN_NONE : b->m->files[file];

	return at == PLAN_NONE ? SIZE_MAX
			       : at - b->p->ranks[b->m->rank].first_file;
}

static bool
file_lost(const struct building *b, size_t i)
{
	if (b->s->map)
		return b->p->ranks[b->m->rank].map.fate == FATE_REBUILD;
	return b->m->files == NULL || b->m->files[i] == PLAN_NONE ||
	       b->p->files[b->m->files[i]].state != FILE_PRESENT;
}

/* Read `len` bytes at `at`; lost bytes, and those past the end, are zeros.  An
 * unreadable file of the application is marked. */
static int
read_string(struct building *b, bool body, uint64_t at, char *data, size_t len)
{
	const struct stripe *from = &b->present[body];

	while (len > 0) {
		const struct stripe_part *p = stripe_part_at(from, at);
		const uint64_t left = stripe_cut(from, at) - at;
		const size_t n = left < len ? (size_t)left : len;
		struct error why = ERROR_INIT;

		if (stripe_read(from, b->in, at, data, n, &why) < 0) {
			if (p->sum == STRIPE_NO_SUM ||
			    place_of(b, p->sum) == SIZE_MAX)
				return error_pass(b->err, &why);
			memset(data, 0, n);
			regain_mark(b->g, place_of(b, p->sum), FILE_UNREAD);
		}
		at += n;
		data += n;
		len -= n;
	}
	return 0;
}

static void
add_part(struct stripe *to, const struct stripe_part *p)
{
	if (p->len > 0)
		to->parts[to->nparts++] = *p;
}

/* Create a file of `size` bytes that begins with an image, to be named later.
 * Returns its temporary name; NULL: error. */
static const char *
create(struct building *b, struct regain_built is, const void *image,
       size_t len, uint64_t size)
{
	int fd = regain_create(b->g, &is.temp, b->err), rc = -1;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, (off_t)size) < 0)
		error_sys(b->err, "%s", is.name);
	else
		rc = io_pwrite(fd, is.name, image, len, 0, b->err);
	close(fd);
	if (rc == 0)
		rc = regain_add_built(b->g, b->built, &is, b->err);
	return rc < 0 ? NULL : is.temp;
}

/* Add a file at the end of the data, or create a replacement. */
static int
add_file(struct building *b, size_t i)
{
	const struct redset_file *f = &b->m->list.files[i];
	const struct regain_built is = { .name = path_base(f->path),
					 .dirfd = regain_fd(b->g, b->s->map),
					 .has_attr = true,
					 .attr = f->attr,
					 .file = place_of(b, i) };
	struct stripe_part part = { .start = b->bytes,
				    .len = f->attr.size,
				    .dirfd = is.dirfd,
				    .path = is.name,
				    .sum = i };

	if (!path_is_clean(is.name))
		return error_set(b->err, ERROR_UNSAFE, "%s: not a file name",
				 f->path);
	b->sums[i].size = f->attr.size;
	b->bytes += f->attr.size;
	if (!file_lost(b, i)) {
		add_part(&b->present[0], &part);
		return 0;
	}
	part.dirfd = b->g->metafd;
	part.path = create(b, is, NULL, 0, f->attr.size);
	if (part.path == NULL)
		return -1;
	add_part(&b->made[0], &part);
	return 0;
}

/* Add the body, or create a replacement of a lost redundancy file, with its
 * header, and its descriptor.  A salvaged body is copied from behind the
 * damaged header. */
static int
add_red(struct building *b)
{
	struct regain_built is = { .name = b->m->name,
				   .dirfd = b->g->metafd,
				   .file = SIZE_MAX };
	const struct plan_red *red = b->m->red;
	struct stripe_part part = { .dirfd = b->g->metafd,
				    .sum = STRIPE_NO_SUM };
	char block[16384];
	int rc = 0;

	part.len = red->body_size;
	part.path = b->m->name;
	part.off = red->body_start;
	if (part.path != NULL)
		add_part(&b->present[1], &part);
	if (b->m->fate != FATE_REBUILD || red->header == NULL)
		return 0;
	part.off = red->header_size;
	part.path = create(b, is, red->header, red->header_size,
			   red->header_size + red->body_size);
	if (part.path == NULL)
		return -1;
	add_part(&b->made[1], &part);
	is.name = red->descriptor.name;
	if (red->descriptor.image != NULL &&
	    create(b, is, red->descriptor.image, red->descriptor.image_size,
		   red->descriptor.image_size) == NULL)
		return -1;
	if (b->m->state != RED_HEADER_DAMAGED || !b->s->salvage)
		return 0;
	for (uint64_t at = 0; rc == 0 && at < red->body_size;
	     at += sizeof(block)) {
		const uint64_t left = red->body_size - at;
		const size_t len =
			left < sizeof(block) ? (size_t)left : sizeof(block);

		rc = read_string(b, true, at, block, len);
		if (rc == 0)
			rc = stripe_write(&b->made[1], b->out, at, block, len,
					  b->err);
	}
	return rc;
}

/* Compare the checksums of all files that were read or written completely. */
static void
verify(struct building *b)
{
	const struct regain_part *p = &b->g->parts[0];

	stripe_cache_drop(b->in);
	stripe_cache_drop(b->out);
	for (size_t i = 0; i < b->m->list.nfiles; i++) {
		const size_t at = place_of(b, i);
		const struct stripe_sum *sum = &b->sums[i];
		struct regain_built *built = b->built->list;
		bool whole = false, right = false;

		if (at >= p->fm.nfiles || !p->fm.files[at].has_crc)
			continue;
		whole = sum->seen == p->fm.files[at].attr.size;
		right = whole && sum->crc == p->fm.files[at].crc;
		if (file_lost(b, i)) {
			while (built->file != at)
				built++;
			built->wrong = !right;
		} else if (whole && p->states[at] == FILE_PRESENT) {
			regain_mark(b->g, at,
				    right ? FILE_PRESENT : FILE_WRONG_CRC);
		}
	}
}

/* After a failure nothing is read or written, but messages are still sent,
 * because other members wait for them. */
static void
move(struct building *b, bool out, const struct task *t,
     const struct solve_ref *ref, char *data)
{
	if (b->rc < 0) {
		if (!out)
			memset(data, 0, t->len);
		return;
	}
	if (out && b->g->compare) {
		b->rc = read_string(b, ref->body, ref->off + t->off,
				    b->expected, t->len);
		b->differs |= memcmp(b->expected, data, t->len) != 0;
	} else if (out)
		b->rc = stripe_write(&b->made[ref->body], b->out,
				     ref->off + t->off, data, t->len, b->err);
	else
		b->rc = read_string(b, ref->body, ref->off + t->off, data,
				    t->len);
}

/* --- Slices --- */

static char *
input(const struct building *b, const struct task *t, uint32_t i)
{
	return t->block + i * b->slice;
}

/* A job without recipe copies its only input. */
static char *
output(const struct building *b, const struct task *t, uint32_t i)
{
	return t->block + (t->job->nin + i) * b->slice;
}

/* Take the next slice in which this member takes part. */
static bool
next_slice(struct building *b, struct task *t)
{
	const struct solution *sol = b->sol;

	for (; b->job < sol->njobs; b->job++, b->off = 0) {
		const struct solve_job *j = &sol->jobs[b->job];
		const uint64_t left = j->len - b->off;
		bool mine = false;

		if (b->off == j->len)
			continue;
		for (uint32_t i = 0; i < j->nin + j->nout; i++)
			mine |= j->in[i].member == b->me; /* then out[] */
		if (!mine) {
			b->number += (left + b->slice - 1) / b->slice;
			b->off = 0;
			continue;
		}
		t->job = j;
		t->off = b->off;
		t->len = left < b->slice ? (size_t)left : (size_t)b->slice;
		t->worker = j->in[b->number++ % j->nin].member;
		t->count = 0;
		b->off += t->len;
		return true;
	}
	return false;
}

/* Begin to receive from `member`, or with `out` to send to it. */
static void
pass(struct building *b, struct task *t, bool out, uint32_t member, int tag,
     char *data)
{
	const int rank = (int)b->s->members[member].rank;
	MPI_Request *r = &t->requests[t->count++];

	if (out)
		MPI_Isend(data, (int)t->len, MPI_BYTE, rank, tag, b->comm, r);
	else
		MPI_Irecv(data, (int)t->len, MPI_BYTE, rank, tag, b->comm, r);
}

/* Read this member's inputs of the slice, and begin to send and receive. */
static void
start(struct building *b, struct task *t)
{
	const struct solve_job *j = t->job;
	const bool works = t->worker == b->me;

	for (uint32_t i = 0; i < j->nin; i++) {
		const uint32_t from = j->in[i].member;

		if (from == b->me)
			move(b, false, t, &j->in[i], input(b, t, i));
		if (from == b->me && !works)
			pass(b, t, true, t->worker, TAG_IN, input(b, t, i));
		else if (from != b->me && works)
			pass(b, t, false, from, TAG_IN, input(b, t, i));
	}
	for (uint32_t i = 0; !works && i < j->nout; i++)
		if (j->out[i].member == b->me)
			pass(b, t, false, t->worker, TAG_OUT, output(b, t, i));
}

static void
wait_all(struct task *t)
{
	team_wait(t->requests, t->count);
	t->count = 0;
}

/* As the worker, compute and send; take the outputs of this member. */
static void
finish(struct building *b, struct task *t)
{
	const struct solve_job *j = t->job;
	const bool works = t->worker == b->me;
	void *in[CODE_MAX], *out[CODE_MAX];

	wait_all(t);
	if (works && j->recipe == NULL)
		for (uint32_t i = 0; i < j->nout; i++)
			memcpy(output(b, t, i), input(b, t, 0), t->len);
	if (works && j->recipe != NULL) {
		for (uint32_t i = 0; i < j->nin; i++)
			in[i] = input(b, t, i);
		for (uint32_t i = 0; i < j->nout; i++)
			out[i] = output(b, t, i);
		recipe_run(j->recipe, t->len, in, out);
	}
	for (uint32_t i = 0; i < j->nout; i++) {
		const uint32_t to = j->out[i].member;

		if (to == b->me)
			move(b, true, t, &j->out[i], output(b, t, i));
		else if (works)
			pass(b, t, true, to, TAG_OUT, output(b, t, i));
	}
	wait_all(t);
}

static void
run(struct building *b)
{
	bool more = true;

	for (;;) {
		while (more && b->active < LANES) {
			struct task *t =
				&b->lanes[(b->first + b->active) % LANES];

			more = next_slice(b, t);
			if (more) {
				start(b, t);
				b->active++;
			}
		}
		if (b->active == 0)
			return;
		finish(b, &b->lanes[b->first]);
		b->first = (b->first + 1) % LANES;
		b->active--;
	}
}

/* --- The rest of the data string --- */

static void
read_range(struct building *b, uint64_t from, uint64_t to)
{
	for (; b->rc == 0 && from < to; from += b->slice) {
		const uint64_t left = to - from;
		const size_t len =
			left < b->slice ? (size_t)left : (size_t)b->slice;

		b->rc = read_string(b, false, from, b->memory, len);
	}
}

/* Read the ranges of this member's data string that no job has read or written,
 * for the checksums.  Without memory for them, files are verified one by one
 * later on. */
static void
read_rest(struct building *b)
{
	const struct solution *sol = b->sol;
	struct solve_range *list = NULL;
	size_t n = 0, cap = 0;
	uint64_t at = 0;

	for (size_t i = 0; i < sol->njobs; i++) {
		const struct solve_job *j = &sol->jobs[i];

		for (uint32_t k = 0; k < j->nin + j->nout; k++) {
			const struct solve_ref *ref = &j->in[k];

			if (ref->member != b->me || ref->body)
				continue;
			if (!MEM_ROOM(list, n, cap)) {
				mem_free(list);
				return;
			}
			list[n++] = (struct solve_range){ ref->off,
							  ref->off + j->len };
		}
	}
	if (n == 0)
		return;
	qsort(list, n, sizeof(*list), num_by_u64);
	for (size_t i = 0; i < n; i++) {
		read_range(b, at, list[i].from);
		at = list[i].to > at ? list[i].to : at;
	}
	read_range(b, at, b->bytes);
	mem_free(list);
}

/* --- All of it --- */

/* What to compute: what is lost; or to compare, all redundancy.  Then the
 * sizes, which are the same for all members, and memory. */
static int
prepare(struct building *b)
{
	const struct plan_set *s = b->s;
	const uint64_t buffer = b->g->run->p.mpi_buf_size;
	const size_t nfiles = b->m->list.nfiles;
	struct arena *a = b->g->arena;
	struct solve_member *m = NULL;

	b->sol = s->solution;
	if (b->g->compare) {
		b->sol = &b->checks;
		m = arena_alloc(a, s->n, sizeof(*m));
		if (m == NULL)
			return error_no_memory(b->err);
		for (uint32_t i = 0; i < s->n; i++)
			m[i] = (struct solve_member){
				.bytes = s->members[i].list.bytes,
				.body_lost = true
			};
		if (solve(&(struct solve_set){ .type = s->type,
					       .n = s->n,
					       .failures = s->failures,
					       .chunk = s->chunk,
					       .member = m },
			  &b->checks, b->err) < 0)
			return -1;
	}
	b->width = 1;
	for (size_t i = 0; i < b->sol->njobs; i++) {
		const size_t w = b->sol->jobs[i].nin + b->sol->jobs[i].nout;

		b->width = w > b->width ? w : b->width;
	}
	b->slice = WHOLE_MOST * buffer / (LANES * b->width);
	b->slice = b->slice < buffer ? b->slice : buffer;
	b->slice &= ~(SLICE_LEAST - 1);
	if (b->slice < SLICE_LEAST)
		b->slice = SLICE_LEAST;
	if (b->slice > SLICE_MOST)
		b->slice = SLICE_MOST;
	b->memory = mem_aligned(CODE_ALIGN, LANES * b->width * b->slice);
	b->expected = mem_alloc(1, b->slice);
	b->requests = mem_alloc(LANES * b->width, sizeof(*b->requests));
	b->sums = arena_alloc(a, nfiles, sizeof(*b->sums));
	b->in = stripe_cache_new(1, false, b->sums);
	b->out = stripe_cache_new(1, true, b->sums);
	if (b->memory == NULL || b->requests == NULL || b->expected == NULL ||
	    b->sums == NULL || b->in == NULL || b->out == NULL)
		return error_no_memory(b->err);
	for (int body = 0; body < 2; body++)
		if (stripe_room(&b->present[body], a, nfiles, b->err) < 0 ||
		    stripe_room(&b->made[body], a, nfiles, b->err) < 0)
			return -1;
	for (unsigned i = 0; i < LANES; i++) {
		b->lanes[i].block = b->memory + i * b->width * b->slice;
		b->lanes[i].requests = b->requests + i * b->width;
	}
	return 0;
}

int
regain_build(struct regain *g, const struct plan *p, size_t set,
	     struct regain_builts *out, struct error *err)
{
	struct building b = { .g = g,
			      .s = &p->sets[set],
			      .p = p,
			      .built = out,
			      .comm = g->run->world.comm,
			      .err = err };

	while (b.me < b.s->n && b.s->members[b.me].rank != g->run->world.rank)
		b.me++;
	if (b.me == b.s->n)
		return 0;
	b.m = &b.s->members[b.me];
	if (prepare(&b) < 0)
		say_abort("rebuilding dataset %lld: %s",
			  (long long)g->set->d.id, err->text);
	for (size_t i = 0; b.rc == 0 && i < b.m->list.nfiles; i++)
		b.rc = add_file(&b, i);
	if (b.rc == 0)
		b.rc = add_red(&b);
	run(&b);
	if (b.rc == 0 && !b.s->map)
		read_rest(&b);
	if (b.rc == 0)
		verify(&b);
	if (b.rc == 0 && b.differs)
		b.rc = error_set(err, ERROR_DAMAGED,
				 "its files and the redundancy of set %u of %u "
				 "(%s) differ, and no checksum tells which of "
				 "them is wrong",
				 b.s->number, b.s->sets,
				 redset_type_name(b.s->type));
	stripe_cache_free(b.in);
	stripe_cache_free(b.out);
	solution_free(&b.checks);
	mem_free(b.expected);
	mem_free(b.memory);
	mem_free(b.requests);
	return b.rc;
}
