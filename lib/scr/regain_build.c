/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regain_build.c - the members of a set compute its lost strings (team/flow.h).
 *
 * The files were not verified before: checksums are computed while files are
 * read here, and those of the results while they are written.  A file that
 * turns out to be damaged or unreadable is marked, and the work continues with
 * useless bytes: the caller makes a new plan.
 */
#include "scr/regain_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "scheme/solve.h"
#include "scr/held.h"
#include "scr/run.h"
#include "team/flow.h"
#include "team/say.h"
#include "transfer/stripe.h"

#define BLOCK ((size_t)1 << 20)

struct building {
	struct regain *g;
	const struct plan_set *s;
	struct solution checks; /* regain_compare(): all redundancy */
	struct flow_job job;
	/* The strings of this rank: the data, then the body.  Present files,
	 * and replacements of lost ones. */
	const struct plan *p;
	const struct plan_member *m; /* of this rank */
	struct regain_builts *built;
	struct stripe present[2], made[2];
	struct stripe_cache *in, *out;
	struct stripe_sum *sums; /* by file */
	uint64_t bytes;		 /* of the data */
	char *block;
	bool differs;
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

/* Read the range, and perhaps copy it to the replacement. */
static int
read_range(struct building *b, bool body, uint64_t from, uint64_t to, bool copy)
{
	int rc = 0;

	for (size_t n = 0; rc == 0 && from < to; from += n) {
		n = to - from < BLOCK ? (size_t)(to - from) : BLOCK;
		rc = read_string(b, body, from, b->block, n);
		if (rc == 0 && copy)
			rc = stripe_write(&b->made[body], b->out, from,
					  b->block, n, b->err);
	}
	return rc;
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
	return read_range(b, true, 0, red->body_size, true);
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

static int
take_in(void *arg, bool body, uint64_t at, char *data, size_t len,
	struct error *err)
{
	(void)err; /* of the building */
	return read_string(arg, body, at, data, len);
}

/* Write a result, or compare it with what is there. */
static int
put_out(void *arg, bool body, uint64_t at, const char *data, size_t len,
	struct error *err)
{
	struct building *b = arg;
	int rc = 0;

	if (!b->g->compare)
		return stripe_write(&b->made[body], b->out, at, data, len, err);
	for (size_t n = 0; rc == 0 && len > 0; at += n, data += n, len -= n) {
		n = len < BLOCK ? len : BLOCK;
		rc = read_string(b, body, at, b->block, n);
		b->differs |= memcmp(b->block, data, n) != 0;
	}
	return rc;
}

/* --- The rest of the data string --- */

/* Read the ranges of this member's data string that no job has read or written,
 * for the checksums.  Without memory for them, files are verified one by one
 * later on. */
static int
read_rest(struct building *b)
{
	const struct solution *sol = b->job.solution;
	struct solve_range *list = NULL;
	size_t n = 0, cap = 0;
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = 0; i < sol->njobs; i++) {
		const struct solve_job *j = &sol->jobs[i];

		for (uint32_t k = 0; k < j->nin + j->nout; k++) {
			const struct solve_ref *ref = &j->in[k];

			if (ref->member != b->job.me || ref->body)
				continue;
			if (!MEM_ROOM(list, n, cap)) {
				mem_free(list);
				return 0;
			}
			list[n++] = (struct solve_range){ ref->off,
							  ref->off + j->len };
		}
	}
	if (n == 0)
		return 0;
	qsort(list, n, sizeof(*list), num_by_u64);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = read_range(b, false, at, list[i].from, false);
		at = list[i].to > at ? list[i].to : at;
	}
	if (rc == 0)
		rc = read_range(b, false, at, b->bytes, false);
	mem_free(list);
	return rc;
}

/* --- All of it --- */

/* What to compute: what is lost; or to compare, all redundancy.  Then memory.
 */
static struct flow *
prepare(struct building *b)
{
	const struct plan_set *s = b->s;
	const size_t nfiles = b->m->list.nfiles;
	struct arena *a = b->g->arena;
	uint64_t *bytes = arena_alloc(a, s->n, sizeof(*bytes));
	uint32_t *ranks = arena_alloc(a, s->n, sizeof(*ranks));

	b->block = mem_alloc(BLOCK, 1);
	b->sums = arena_alloc(a, nfiles, sizeof(*b->sums));
	b->in = stripe_cache_new(s->n, false, b->sums);
	b->out = stripe_cache_new(s->n, true, b->sums);
	if (bytes == NULL || ranks == NULL || b->block == NULL ||
	    b->sums == NULL || b->in == NULL || b->out == NULL)
		return error_no_memory_null(b->err);
	for (int body = 0; body < 2; body++)
		if (stripe_room(&b->present[body], a, nfiles, b->err) < 0 ||
		    stripe_room(&b->made[body], a, nfiles, b->err) < 0)
			return NULL;
	for (uint32_t i = 0; i < s->n; i++) {
		bytes[i] = s->members[i].list.bytes;
		ranks[i] = s->members[i].rank;
	}
	b->job.bytes = bytes;
	b->job.ranks = ranks;
	b->job.solution = b->g->compare ? &b->checks : s->solution;
	if (b->g->compare &&
	    flow_bodies((struct solve_set){ s->type, s->n, s->failures,
					    s->chunk, NULL },
			bytes, &b->checks, b->err) < 0)
		return NULL;
	return flow_new(&b->job, b->err);
}

int
regain_build(struct regain *g, const struct plan *p, size_t set,
	     struct regain_builts *out, struct error *err)
{
	struct building b = {
		.g = g, .s = &p->sets[set], .p = p, .built = out, .err = err
	};
	struct flow *flow = NULL;
	int rc = 0;

	b.job = (struct flow_job){ .comm = g->run->world.comm,
				   .buffer = g->run->p.mpi_buf_size,
				   .read = take_in,
				   .write = put_out,
				   .arg = &b };
	while (b.job.me < b.s->n &&
	       b.s->members[b.job.me].rank != g->run->world.rank)
		b.job.me++;
	if (b.job.me == b.s->n)
		return 0;
	b.m = &b.s->members[b.job.me];
	flow = prepare(&b);
	if (flow == NULL)
		say_abort("rebuilding dataset %lld: %s",
			  (long long)g->set->d.id, err->text);
	for (size_t i = 0; rc == 0 && i < b.m->list.nfiles; i++)
		rc = add_file(&b, i);
	if (rc == 0)
		rc = add_red(&b);
	rc = flow_run(flow, rc, err);
	if (rc == 0 && !b.s->map)
		rc = read_rest(&b);
	if (rc == 0)
		verify(&b);
	if (rc == 0 && b.differs)
		rc = error_set(err, ERROR_DAMAGED,
			       "its files and the redundancy of set %u of %u "
			       "(%s) differ, and no checksum tells which of "
			       "them is wrong",
			       b.s->number, b.s->sets,
			       redset_type_name(b.s->type));
	stripe_cache_free(b.in);
	stripe_cache_free(b.out);
	solution_free(&b.checks);
	flow_free(flow);
	mem_free(b.block);
	return rc;
}
