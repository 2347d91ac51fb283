/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_solve.c - the losses of each set, and whether they can be computed.
 */
#include <string.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "path.h"
#include "rescue/plan_impl.h"

/* --- Lists to files --- */

/* Find the file of `rank` with this path in cache.  Headers mostly list files
 * in the reverse order of the filemap (scr-redset(5)): `guess` is tried
 * first. */
static uint32_t
find_file(const struct planner *w, uint32_t rank, const char *cache_path,
	  size_t guess)
{
	const struct plan_rank *r = &w->p.ranks[rank];

	for (size_t i = 0; i < r->nfiles; i++) {
		size_t f = r->first_file + (guess + i) % r->nfiles;

		const char *is = w->p.files[f].cache_path;

		/* A composed filemap has only base names. */
		if (strcmp(is, r->composed && is[0] != '/'
				       ? path_base(cache_path)
				       : cache_path) == 0)
			return (uint32_t)f;
	}
	return PLAN_NONE;
}

/* Is a file that was recorded older than another one?  Whole seconds: not all
 * file systems keep more. */
static bool
is_older(const struct attr *a, const struct attr *than)
{
	return a->has_times && than->has_times &&
	       a->mtime.tv_sec + 1 < than->mtime.tv_sec;
}

/* Why filemap and header do not fit, as a formatted text. */
#define flaw_text(w, ...) \
	plan_or_brief(arena_printf((w)->p.arena, __VA_ARGS__), \
		      "filemaps and headers cannot be used together")

static int
link_member(struct planner *w, struct plan_set *s, struct plan_member *m,
	    struct error *err)
{
	size_t n = m->list.nfiles, older = 0, newer = 0;

	if (!m->list.known || m->files != NULL)
		return 0;
	m->files = arena_alloc(w->p.arena, n, sizeof(*m->files));
	if (m->files == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const struct redset_file *rf = &m->list.files[i];
		struct plan_file *f = NULL;

		m->files[i] = PLAN_NONE;
		if (w->bare) {
			if (plan_bare_file(w, m, i, err) < 0)
				return -1;
			continue;
		}
		if (m->rank >= w->p.nranks || !w->p.ranks[m->rank].map_known)
			continue;
		m->files[i] = find_file(w, m->rank, rf->path, n - 1 - i);
		if (m->files[i] == PLAN_NONE) {
			s->flaw = flaw_text(w, "filemap_%u does not name %s",
					    m->rank, rf->path);
			continue;
		}
		f = &w->p.files[m->files[i]];
		/* A composed filemap lacks what rank2file does not have. */
		if (w->p.ranks[m->rank].composed) {
			f->cache_path = rf->path;
			if (!f->attr.has_size && f->state == FILE_PRESENT &&
			    f->found_size != rf->attr.size)
				f->state = FILE_WRONG_SIZE;
			if (!f->attr.has_size || f->attr.size == rf->attr.size)
				f->attr = rf->attr;
		}
		older += is_older(&rf->attr, &f->attr);
		newer += is_older(&f->attr, &rf->attr);
		if (f->attr.size != rf->attr.size)
			s->flaw = flaw_text(
				w,
				"filemap_%u says %s has %llu bytes, the "
				"redundancy file %llu",
				m->rank, f->path,
				(unsigned long long)f->attr.size,
				(unsigned long long)rf->attr.size);
	}
	if (older == n && n > 0)
		s->flaw = flaw_text(w,
				    "made from older files than filemap_%u "
				    "names: it is that of another dataset",
				    m->rank);
	if (newer == n && n > 0)
		s->flaw = flaw_text(w,
				    "filemap_%u names older files than it was "
				    "made from",
				    m->rank);
	return 0;
}

/* --- Losses --- */

static bool
map_lost(const struct plan *p, const struct plan_member *m)
{
	const struct plan_rank *r = plan_rank_of(p, m);

	return r == NULL || !r->map_known ||
	       (r->map.fate == FATE_REBUILD && !r->composed);
}

int
plan_member_losses(const struct plan *p, const struct plan_set *s,
		   const struct plan_member *m, struct arena *arena,
		   struct solve_member *out, struct error *err)
{
	struct solve_range *ranges = NULL;
	uint64_t at = 0;
	int any = 0;

	out->bytes = m->list.bytes;
	ranges = arena_alloc(arena, m->list.nfiles + 1, sizeof(*ranges));
	if (ranges == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < m->list.nfiles; i++) {
		const struct plan_file *f = plan_member_file(p, m, i);
		uint64_t size = m->list.files[i].attr.size;

		if (s->map ? map_lost(p, m) : f == NULL || plan_file_lost(f)) {
			any = 1;
			if (size > 0 && out->nlost > 0 &&
			    ranges[out->nlost - 1].to == at)
				ranges[out->nlost - 1].to = at + size;
			else if (size > 0)
				ranges[out->nlost++] =
					(struct solve_range){ .from = at,
							      .to = at + size };
		}
		at += size;
	}
	out->lost = ranges;
	return any;
}

/* --- Fates --- */

static bool
range_lost(const struct solution *sol, uint32_t member, bool body,
	   uint64_t from, uint64_t to)
{
	for (size_t i = 0; sol != NULL && from < to && i < sol->nlost; i++) {
		const struct solve_lost *l = &sol->lost[i];

		if (l->member == member && l->body == body &&
		    l->range.from < to && from < l->range.to)
			return true;
	}
	return false;
}

static enum fate
fate_of(const struct plan_set *s, bool lost)
{
	return lost || s->solution == NULL ? FATE_LOST : FATE_REBUILD;
}

static void
member_fates(struct planner *w, struct plan_set *s, uint32_t member)
{
	struct plan_member *m = &s->members[member];
	struct plan_rank *r = plan_rank_of(&w->p, m);
	uint64_t at = 0;

	for (size_t i = 0; i < m->list.nfiles; i++) {
		uint64_t size = m->list.files[i].attr.size;
		bool lost =
			range_lost(s->solution, member, false, at, at + size);
		struct plan_file *f = plan_member_file(&w->p, m, i);

		at += size;
		if (s->map) {
			if (r != NULL && map_lost(&w->p, m))
				r->map.fate = r->map_known ? FATE_REBUILD
							   : fate_of(s, lost);
			continue;
		}
		if (f == NULL)
			continue;
		if (f->state == FILE_INCOMPLETE)
			f->fate = FATE_LOST;
		else
			f->fate = plan_file_lost(f) ? fate_of(s, lost)
						    : FATE_KEEP;
		if (f->state == FILE_INCOMPLETE)
			s->verdict = SET_LOST;
	}
	m->fate = FATE_KEEP;
	if (m->state != RED_PRESENT && m->state != RED_UNCHECKED &&
	    redset_is_redundant(s->type))
		m->fate = fate_of(s, m->red->header == NULL ||
					     range_lost(s->solution, member,
							true, 0, UINT64_MAX));
}

/* --- One set --- */

void
plan_forget_solution(struct plan_set *s)
{
	if (s->solution != NULL)
		solution_free(s->solution);
	mem_free(s->solution);
	s->solution = NULL;
}

static int
try_solve(struct plan_set *s, struct solve_member *losses, bool salvage,
	  struct error *err)
{
	const struct solve_set set = plan_solve_of(s, losses);
	struct solution *solution = NULL;

	for (uint32_t i = 0; i < s->n; i++)
		losses[i].body_lost = plan_body_lost(&s->members[i], salvage);
	plan_forget_solution(s);
	solution = mem_alloc(1, sizeof(*solution));
	if (solution == NULL)
		return error_no_memory(err);
	if (solve(&set, solution, err) < 0) {
		mem_free(solution);
		return -1;
	}
	s->solution = solution;
	s->salvage = salvage;
	s->spare = scheme_of(s->type)->spare(&set);
	return 0;
}

static void
judge(struct planner *w, struct plan_set *s, const struct solve_member *losses,
      const bool *any, struct arena *arena)
{
	const struct solution *sol = s->solution;

	s->missing = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		enum red_state st = s->members[i].state;

		/* losses[i].body_lost is not set if try_solve() has not run. */
		s->missing +=
			any[i] || (redset_is_redundant(s->type) &&
				   st != RED_PRESENT && st != RED_UNCHECKED);
	}
	if (s->missing == 0) {
		s->reason = NULL;
		s->verdict = SET_WHOLE;
	} else if (s->reason != NULL) {
		s->verdict = SET_LOST;
	} else if (s->solution != NULL && s->solution->nlost > 0) {
		s->verdict = SET_LOST;
		s->reason = plan_explain(s, losses, any, arena);
	} else {
		s->verdict = SET_REBUILDABLE;
	}
	for (uint32_t i = 0; i < s->n; i++)
		member_fates(w, s, i);
	/* Is a file computed from bytes behind a damaged header, and has no
	 * checksum that could prove it?  Filemaps prove themselves. */
	s->unproved = false;
	for (uint32_t m = 0; s->salvage && !s->map && m < s->n; m++)
		for (size_t i = 0; i < s->members[m].list.nfiles; i++) {
			const struct plan_file *f =
				plan_member_file(&w->p, &s->members[m], i);

			if (s->verdict == SET_REBUILDABLE && f != NULL &&
			    f->fate == FATE_REBUILD && !plan_file_provable(f))
				s->unproved = true;
		}
	for (uint32_t i = 0; i < s->n; i++)
		s->members[i].source = false;
	for (size_t j = 0; sol != NULL && j < sol->njobs; j++)
		for (uint32_t i = 0; i < sol->jobs[j].nin; i++)
			s->members[sol->jobs[j].in[i].member].source = true;
	if (s->verdict == SET_LOST && s->reason == NULL)
		s->reason = "a file was never completed";
}

int
plan_solve_set(struct planner *w, struct plan_set *s, struct arena *arena,
	       struct error *err)
{
	struct solve_member *losses = mem_calloc(s->n, sizeof(*losses));
	bool *any = mem_calloc(s->n, sizeof(*any));
	int rc = -1;

	if (losses == NULL || any == NULL) {
		error_no_memory(err);
		goto out;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		int lacks = 0;

		if (m->list.known)
			lacks = plan_member_losses(&w->p, s, m, arena,
						   &losses[i], err);
		else
			lacks = plan_rank_lacks(w, m, s->map);
		if (lacks < 0)
			goto out;
		any[i] = lacks > 0;
	}
	plan_forget_solution(s);
	s->salvage = false;
	s->reason = s->flaw ? s->flaw : plan_unknown_lists(s, any, arena);
	/* Use bodies behind damaged headers only if the set is lost without
	 * them. */
	if (s->reason == NULL &&
	    (try_solve(s, losses, false, err) < 0 ||
	     (s->solution->nlost > 0 && try_solve(s, losses, true, err) < 0)))
		goto out;
	judge(w, s, losses, any, arena);
	rc = 0;
out:
	mem_free(any);
	mem_free(losses);
	return rc;
}

/* --- All sets of a kind --- */

struct set_job {
	struct planner *w;
	const size_t *sets;
	plan_set_fn *fn;
};

static int
run_one(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct set_job *job = arg;
	struct planner *w = job->w;

	return job->fn(w, &w->p.sets[job->sets[i]], w->arenas[worker], err);
}

int
plan_each_set(struct planner *w, const size_t *sets, size_t count,
	      plan_set_fn *fn, struct error *err)
{
	struct set_job job = { w, sets, fn };

	return par_for(w->par, count, 0, run_one, &job, err);
}

/* The headers of an opened set contain the number of ranks of the job and the
 * ranks of the members: record both. */
static int
claim_members(struct planner *w, size_t set, struct error *err)
{
	const struct plan_set *s = &w->p.sets[set];

	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *pm = &s->members[m];

		if (pm->rank != PLAN_NONE && pm->list.known &&
		    plan_need_ranks(w, pm->list.desc.ranks, err) < 0)
			return -1;
		plan_claim_rank(w, (uint32_t)set, m);
	}
	return 0;
}

/* A header of SINGLE, from which nothing is computed, contradicts the filemap,
 * whose files are there: then it is that of another dataset. */
static void
drop_header(struct planner *w, struct plan_set *s)
{
	struct plan_member *m = &s->members[0];
	const struct plan_rank *r = plan_rank_of(&w->p, m);

	if (s->flaw == NULL || s->map || redset_is_redundant(s->type) ||
	    s->n != 1 || r == NULL)
		return;
	for (size_t i = 0; i < r->nfiles; i++)
		if (w->p.files[r->first_file + i].state != FILE_PRESENT)
			return;
	s->flaw = NULL;
	m->state = RED_DAMAGED;
	m->problem = "belongs to another dataset";
	m->red->foreign = true;
	m->list.known = false;
}

/* If another header of the set has this length of the filemap of member `m`,
 * take it: that of the first one is of an older filemap. */
static bool
take_list(struct plan_set *s, uint32_t m, uint64_t bytes)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct redset_header *h = s->members[i].red->read;

		if (h == NULL || !h->members[m].known ||
		    h->members[m].bytes != bytes)
			continue;
		s->members[m].list = h->members[m];
		return true;
	}
	return false;
}

static int
link_members(struct planner *w, size_t set, struct error *err)
{
	struct plan_set *s = &w->p.sets[set];

	for (uint32_t m = 0; m < s->n; m++) {
		const struct redset_member *l = &s->members[m].list;
		struct plan_rank *r = plan_rank_of(&w->p, &s->members[m]);
		uint64_t more = 0;

		if (!s->map && link_member(w, s, &s->members[m], err) < 0)
			return -1;
		if (!s->map || !l->known || r == NULL || !r->map_known ||
		    r->map.fate != FATE_KEEP)
			continue;
		/* A filemap of another size than the one that its set protects
		 * is missing. */
		more = r->map.image_size -
		       l->bytes; /* 0 or the tail is right */
		if (more == 0 || more == r->map.tail ||
		    take_list(s, m, r->map.image_size - r->map.tail))
			continue;
		r->map_known = false;
		r->map.why = "not as long as its redundancy set says";
	}
	if (s->flaw != NULL && !s->map && !w->bare && plan_outvote_maps(w, s)) {
		s->flaw = NULL;
		w->again = true;
	}
	drop_header(w, s);
	return 0;
}

/* Is this a set of an older attempt, so that a rank of it belongs to another
 * set? */
static bool
superseded(const struct planner *w, size_t set)
{
	const struct plan_set *s = &w->p.sets[set];

	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_rank *r = plan_rank_of(&w->p, &s->members[i]);

		if (r != NULL && (s->map ? r->map_set : r->data_set) != set)
			return true;
	}
	return false;
}

/* List the sets of one kind that are not yet open in `sets`, and open them.
 * Sets of another dataset are removed.  Returns 1 if there were any: this may
 * uncover sets that seemed to be superseded by them. */
static int
open_sets(struct planner *w, bool map, size_t *sets, struct error *err)
{
	const bool all = (w->o->flags & PLAN_HEADERS) || w->overlap ||
			 plan_owner_two_runs(w) ||
			 (!map && (w->o->flags & PLAN_UNPROVED) &&
			  !plan_provable(&w->p));
	size_t count = 0;

	for (size_t i = 0; i < w->p.nsets; i++) {
		const struct plan_set *s = &w->p.sets[i];

		if (s->map != map || s->n == 0 || s->opened || superseded(w, i))
			continue;
		if (all || plan_set_lacks(w, s) ||
		    ((w->o->flags & PLAN_SCHEMES) && !s->sampled))
			sets[count++] = i;
	}
	if (!all && plan_sample_sets(w, sets, &count, err) < 0)
		return -1;
	if (plan_each_set(w, sets, count, plan_open_set, err) < 0)
		return -1;
	if (plan_owner_drop_sets(w) == 0)
		return 0;
	return plan_count_ranks(w, err) < 0 ? -1 : 1;
}

int
plan_solve_sets(struct planner *w, bool map, struct error *err)
{
	size_t *sets = mem_alloc(w->p.nsets + 1, sizeof(*sets));
	const size_t first = w->p.nfiles;
	size_t count = 0, kept = 0;
	int rc = 1;

	if (sets == NULL)
		return error_no_memory(err);
	while (rc > 0)
		rc = open_sets(w, map, sets, err);
	for (size_t i = 0; i < w->p.nsets; i++)
		if (w->p.sets[i].map == map && w->p.sets[i].opened)
			sets[count++] = i;
	/* Do in one thread what concerns several sets: assign ranks to sets
	 * and, for plans without filemaps, extend the list of files.  Sets
	 * of an older attempt are removed from the list. */
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = claim_members(w, sets[i], err);
	for (size_t i = 0; i < count; i++)
		if (!superseded(w, sets[i]))
			sets[kept++] = sets[i];
	for (size_t i = 0; i < kept && rc == 0; i++)
		rc = link_members(w, sets[i], err);
	if (rc == 0 && w->bare)
		rc = plan_stat_files(w, first, err);
	if (rc == 0)
		rc = plan_each_set(w, sets, kept, plan_solve_set, err);
	mem_free(sets);
	return rc;
}

int
plan_join_set(struct planner *w, uint32_t set, struct error *err)
{
	return claim_members(w, set, err) < 0 ? -1 : link_members(w, set, err);
}
