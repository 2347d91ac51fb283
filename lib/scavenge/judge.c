/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * judge.c - can the missing files of a dataset be rebuilt?
 *
 * Each set is solved (scheme/solve.h) as in a plan, from what the nodes tell of
 * its headers and files.  What they leave open counts as present: a needless
 * attempt costs a copy, giving up costs the dataset.  Two cases stay open:
 *
 * - A rank that lacks only its redundancy file is known by the header of its
 *   right neighbour; without that, it may be in any set.
 * - The size of a lost member's data is only known from there, too.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "mem.h"
#include "scavenge/scavenge_impl.h"

/* At most this many ranks are named in a message. */
#define RANKS_NAMED 12

/* A set member whose redundancy file some node has. */
struct seat {
	const struct nodecache_red *red;
	bool whole; /* its protected files are whole */
};

struct judge {
	struct salvage *p;
	struct salvage_dataset *d;
	bool map; /* judge filemaps; else data files */
	struct seat *seats;
	size_t nseats;
	uint32_t lost;	  /* ranks with missing protected files */
	uint32_t covered; /* members that can be rebuilt */
	const char *why;
};

/* Has the prefix the files of the rank, or a cache all of them? */
static bool
is_whole(const struct judge *j, int64_t rank)
{
	const struct salvage_rank *r = NULL;

	if (rank < j->d->nhere && j->d->here[rank].whole)
		return true;
	if (rank >= j->d->nranks)
		return false;
	r = &j->d->ranks[rank];
	if (r->best == NULL ||
	    !(r->best->found.map || (!j->map && r->best->found.listed)))
		return false;
	return j->map || j->d->bypass || r->best->found.bad == 0;
}

/* Order by set, then by member. */
static int
by_seat(const void *a, const void *b)
{
	const struct nodecache_red *x = ((const struct seat *)a)->red;
	const struct nodecache_red *y = ((const struct seat *)b)->red;
	const uint32_t kx[] = { x->type, x->sets, x->set, x->members,
				x->member };
	const uint32_t ky[] = { y->type, y->sets, y->set, y->members,
				y->member };

	for (int i = 0; i < 5; i++)
		if (kx[i] != ky[i])
			return kx[i] < ky[i] ? -1 : 1;
	return 0;
}

/* Members of a set. */
struct tally {
	uint32_t missing;  /* their files or redundancy file are not whole */
	uint32_t nameless; /* no header names their files, nor the rank */
	bool lost;	   /* data cannot be computed */
};

/*
 * Solve the set of these `n` seats.  A set that cannot be solved is left to the
 * rebuild.
 */
static void
solve_seats(const struct judge *j, const struct seat *s, size_t n,
	    struct tally *out)
{
	const struct nodecache_red *r = s[0].red;
	const struct redset_format *f = redset_format(r->type);
	const uint32_t failures = f->key != NULL ? r->failures : f->failures;
	struct {
		struct solve_range all; /* of its data */
		bool seat, whole;
	} *is = mem_calloc(r->members, sizeof(*is));
	struct solve_member *m = mem_calloc(r->members, sizeof(*m));
	const struct solve_set set = { r->type, r->members, failures, r->chunk,
				       m };
	struct solution solution = { .nlost = 0 };

	*out = (struct tally){ .missing = set.n };
	for (uint32_t i = 0; i < set.n; i++)
		m[i].body_lost = true;
	for (size_t i = 0; i < n; i++) {
		const struct nodecache_red *red = s[i].red;
		const uint32_t at = red->member - 1;
		const uint32_t left = (at + set.n - 1) % set.n;

		out->missing -= s[i].whole && !is[at].whole;
		is[at].whole |= s[i].whole;
		is[at].seat = true;
		m[at] = (struct solve_member){
			.bytes = red->bytes,
			.nlost = s[i].whole ? 0 : red->nlost,
			.lost = red->lost,
		};
		if (is[left].seat || red->left_rank < 0)
			continue;
		is[left].all.to = m[left].bytes = red->left;
		m[left].lost = &is[left].all;
		m[left].nlost = red->left > 0 && !is_whole(j, red->left_rank);
	}
	/* The files of a member are named in its header, and in those of its
	 * right neighbours. */
	for (uint32_t i = 0; i < set.n; i++) {
		bool named = is[i].seat;

		for (uint32_t k = 1; k <= failures && k < set.n; k++)
			named = named || is[(i + k) % set.n].seat;
		out->nameless += !named;
	}
	if (out->missing > 0 && solve(&set, &solution, NULL) == 0) {
		for (size_t i = 0; i < solution.nlost; i++)
			out->lost |= !solution.lost[i].body;
		solution_free(&solution);
	}
	mem_free(m);
	mem_free(is);
}

static void
explain_ranks(struct judge *j)
{
	struct buf list = BUF_INIT;
	uint32_t named = 0;

	for (int64_t i = 0; i < j->d->world && named <= RANKS_NAMED; i++) {
		if (is_whole(j, i))
			continue;
		if (named++ < RANKS_NAMED)
			buf_printf(&list, " %" PRId64, i);
		else
			buf_add_str(&list, " ...");
	}
	j->why = arena_printf(
		j->p->arena,
		"%s%s%s: no redundancy is left that could rebuild %s",
		j->lost == 1 ? "rank" : "ranks", list.data,
		j->map ? " (filemaps)" : "",
		j->lost == 1 ? "it" : "all of them");
	buf_free(&list);
}

/* Sets j->why if files are lost.  Otherwise all protected files are whole, or
 * may be rebuilt. */
static void
judge_kind(struct judge *j)
{
	const struct salvage_dataset *d = j->d;
	const uint32_t most = d->nranks > d->nhere ? d->nranks : d->nhere;
	uint32_t alone = 0;
	uint64_t members = 0;

	j->seats = mem_alloc((size_t)most + 1, sizeof(*j->seats));
	for (uint32_t i = 0; i < most; i++) {
		const struct nodecache_red *red = NULL;

		/* Its redundancy file in a cache, or on the prefix. */
		if (i < d->nranks && d->ranks[i].best != NULL)
			red = j->map ? &d->ranks[i].best->found.mapred
				     : &d->ranks[i].best->found.red;
		if ((red == NULL || !red->there) && i < d->nhere)
			red = j->map ? &d->here[i].mapred : &d->here[i].red;
		if (red != NULL && red->there)
			j->seats[j->nseats++] =
				(struct seat){ red, is_whole(j, i) };
		else
			alone += is_whole(j, i);
	}
	for (int64_t i = 0; i < d->world; i++)
		j->lost += !is_whole(j, i);
	if (j->lost == 0)
		return;
	if (j->nseats > 0)
		qsort(j->seats, j->nseats, sizeof(*j->seats), by_seat);
	for (size_t i = 0, end = 0; i < j->nseats; i = end) {
		const struct nodecache_red *r = j->seats[i].red;
		struct tally t;

		for (end = i + 1; end < j->nseats; end++) {
			const struct nodecache_red *x = j->seats[end].red;

			if (x->type != r->type || x->sets != r->sets ||
			    x->set != r->set || x->members != r->members)
				break;
		}
		/* Names that claim more members than the job has ranks are
		 * wrong: leave the verdict to the rebuild. */
		members += r->members;
		if (members > (uint64_t)d->world)
			return;
		solve_seats(j, &j->seats[i], end - i, &t);
		/* Ranks without a redundancy file may be those that no header
		 * names. */
		if (t.lost || t.nameless > alone) {
			j->why = arena_printf(j->p->arena,
					      "set %" PRIu32 " of %" PRIu32
					      " (%s%s): %" PRIu32 " of %" PRIu32
					      " members are missing",
					      r->set, r->sets,
					      redset_type_name(r->type),
					      j->map ? ", filemaps" : "",
					      t.missing, r->members);
			return;
		}
		j->covered += t.missing;
	}
	if (j->covered < j->lost)
		explain_ranks(j);
}

void
scavenge_judge(struct salvage *p, struct salvage_dataset *d)
{
	const char *whys[2] = { NULL, NULL }; /* of data, of filemaps */

	d->state = SALVAGE_COMPLETE;
	/* Is it lost without a look at its sets? */
	d->why = d->world < 0 && d->nameless
			 ? "no filemap and no redundancy file is left that "
			   "names the files in the caches"
		 : d->world < 0 ? "no filemap and no redundancy file is left"
		 : d->astray	? "files that the job wrote to the prefix "
				  "itself are missing or damaged"
				: NULL;
	d->missing = 0;
	d->hidden = p->hidden;
	d->unplaced = d->nameless && !d->unread;
	for (int map = 1; map >= 0 && d->why == NULL; map--) {
		struct judge j = { .p = p, .d = d, .map = map };

		judge_kind(&j);
		mem_free(j.seats);
		if (j.lost > d->missing)
			d->missing = j.lost;
		if (j.lost > 0)
			d->state = SALVAGE_RECOVERABLE;
		whys[map] = j.why;
	}
	if (whys[1] != NULL && whys[0] == NULL && !d->unread) {
		d->unplaced = true;
		/* Only filemaps are lost. */
		whys[1] =
			arena_printf(p->arena,
				     "%s; the files can be had, but only "
				     "filemaps tell their places on the prefix",
				     whys[1]);
	}
	if (d->why == NULL)
		d->why = whys[1] != NULL ? whys[1] : whys[0];
	if (d->why != NULL)
		d->state = SALVAGE_LOST;
}
