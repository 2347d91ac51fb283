/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_mark.c - files that turn out to be damaged or unreadable when the plan
 * is already made: their sets are solved again.
 */
#include "arena.h"
#include "error.h"
#include "rescue/plan_impl.h"

const char *
plan_unread_text(const struct plan *p, const char *path)
{
	return plan_or_brief(
		arena_printf(p->arena, "%s: cannot be read (I/O error)", path),
		path);
}

/* Solve the set of a file again, whose state has changed. */
static int
solve_again(struct planner *w, size_t file, struct error *err)
{
	const uint32_t set = w->p.ranks[w->p.files[file].rank].data_set;

	if (set == PLAN_NONE)
		return 0;
	if (!w->p.sets[set].opened && plan_reopen_set(w, set, err) < 0)
		return -1;
	return plan_solve_set(w, &w->p.sets[set], w->p.arena, err);
}

static int
mark_file(struct planner *w, size_t file, enum file_state state,
	  struct error *err)
{
	w->p.files[file].state = state;
	return solve_again(w, file, err);
}

static int
mark_body(struct planner *w, struct plan_set *s, uint32_t member,
	  const char *problem, bool unread, struct error *err)
{
	s->members[member].state = RED_DAMAGED;
	s->members[member].problem = problem;
	s->members[member].unread = unread;
	if (plan_make_header(w, s, member, w->p.arena, err) < 0)
		return -1;
	return plan_solve_set(w, s, w->p.arena, err);
}

int
plan_mark(struct plan *p, size_t file, enum file_state state, struct error *err)
{
	struct planner *w = (struct planner *)p;

	if (mark_file(w, file, state, err) < 0)
		return -1;
	plan_finish(w);
	return 0;
}

int
plan_mark_all(struct plan *p, const bool *look, enum file_state state,
	      struct error *err)
{
	struct planner *w = (struct planner *)p;

	for (size_t i = 0; i < p->nfiles; i++)
		if (look[i])
			p->files[i].state = state;
	/* Once for the files of a rank, which have adjacent numbers. */
	for (size_t i = 0, last = SIZE_MAX; i < p->nfiles; i++) {
		if (!look[i] || (last != SIZE_MAX &&
				 p->files[last].rank == p->files[i].rank))
			continue;
		if (solve_again(w, i, err) < 0)
			return -1;
		last = i;
	}
	plan_finish(w);
	return 0;
}

int
plan_mark_body(struct plan *p, uint32_t set, uint32_t member, struct error *err)
{
	struct planner *w = (struct planner *)p;
	struct plan_set *s = &p->sets[set];

	if ((!s->opened && plan_reopen_set(w, set, err) < 0) ||
	    mark_body(w, s, member, "its contents are damaged", false, err) < 0)
		return -1;
	plan_finish(w);
	return 0;
}

/* --- Unreadable files --- */

size_t
plan_file_at(const struct plan_member *m, uint64_t *at)
{
	size_t i = 0;

	for (; i < m->list.nfiles && *at >= m->list.files[i].attr.size; i++)
		*at -= m->list.files[i].attr.size;
	return i;
}

int
plan_mark_at(struct planner *w, struct plan_set *s, const struct solve_ref *at,
	     const char **text, struct error *err)
{
	struct plan_member *m = &s->members[at->member];
	struct plan_rank *r = NULL;
	uint64_t off = at->off;
	size_t file = 0;

	if (at->body) {
		*text = plan_unread_text(&w->p, m->name);
		return mark_body(w, s, at->member, *text, true, err);
	}
	if (s->map) {
		r = &w->p.ranks[m->rank];
		*text = plan_unread_text(&w->p, r->map.name);
		r->map_known = false;
		r->map.unread = true;
		r->map.why = *text;
		return plan_solve_set(w, s, w->p.arena, err);
	}
	file = m->files[plan_file_at(m, &off)];
	*text = plan_unread_text(&w->p, w->p.files[file].path);
	return mark_file(w, file, FILE_UNREAD, err);
}

int
plan_suppose(struct plan *p, uint32_t set, const struct solve_ref *at,
	     bool wrong, struct error *err)
{
	struct plan_member *m = &p->sets[set].members[at->member];
	uint64_t off = at->off;

	if (at->body && wrong)
		return plan_mark_body(p, set, at->member, err);
	if (!at->body)
		return plan_mark(p, m->files[plan_file_at(m, &off)],
				 wrong ? FILE_WRONG_CRC : FILE_PRESENT, err);
	m->state = RED_PRESENT;
	m->problem = NULL;
	if (plan_solve_set((struct planner *)p, &p->sets[set], p->arena, err) <
	    0)
		return -1;
	plan_finish((struct planner *)p);
	return 0;
}

int
plan_mark_unread(struct plan *p, uint32_t set, const struct solve_ref *at,
		 const char **text, struct error *err)
{
	struct planner *w = (struct planner *)p;
	struct plan_set *s = &p->sets[set];

	if (plan_mark_at(w, s, at, text, err) < 0 ||
	    (s->map && plan_restore_set(w, s, err) < 0))
		return -1;
	plan_finish(w);
	return 0;
}
