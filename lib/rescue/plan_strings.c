/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_strings.c - strings that read the data and bodies of a set's members;
 * with them, lost filemaps are rebuilt in memory.
 */
#include <string.h>

#include "arena.h"
#include "error.h"
#include "rescue/plan_impl.h"
#include "scheme/compute.h"

/* The part for the filemap of a member of a set over filemaps.  Returns 0 if
 * the filemap is missing, else 1. */
static size_t
map_part(const struct plan *p, const struct plan_member *m, uint64_t at,
	 uint64_t len, struct stripe_part *out)
{
	const struct plan_rank *r = &p->ranks[m->rank];

	if (!r->map_known)
		return 0;
	*out = (struct stripe_part){
		.start = at,
		.len = len,
		.mem = (unsigned char *)(uintptr_t)r->map.image,
		.dirfd = p->places[r->map.place].meta_fd,
		.path = r->map.name,
		.sum = STRIPE_NO_SUM,
	};
	return out->mem != NULL || r->map.fate == FATE_KEEP;
}

size_t
plan_data_room(const struct plan *p, const struct plan_member *m)
{
	size_t n = m->list.nfiles;

	for (size_t i = 0; m->files != NULL && i < m->list.nfiles; i++)
		if (m->files[i] != PLAN_NONE)
			n += p->files[m->files[i]].nsegs;
	return n;
}

int
plan_strings(const struct plan *p, const struct plan_set *s, bool sums,
	     struct arena *arena, struct plan_strings *out, struct error *err)
{
	out->data = arena_alloc(arena, s->n, sizeof(*out->data));
	out->body = arena_alloc(arena, s->n, sizeof(*out->body));
	if (out->data == NULL || out->body == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		const struct solve_range body = { m->red->body_start,
						  m->file_size };
		struct stripe *to = &out->data[i];
		uint64_t at = 0;

		if (stripe_room(to, arena, plan_data_room(p, m), err) < 0)
			return -1;
		if ((m->state == RED_PRESENT ||
		     m->state == RED_HEADER_DAMAGED) &&
		    body.to > body.from &&
		    plan_red_string(p, m, &body, arena, &out->body[i], err) < 0)
			return -1;
		if (s->map && m->rank >= p->nranks)
			continue;
		for (size_t k = 0; k < m->list.nfiles; k++) {
			const struct plan_file *f = plan_member_file(p, m, k);
			uint64_t len = m->list.files[k].attr.size;

			if (len > 0 && s->map)
				to->nparts += map_part(p, m, at, len,
						       &to->parts[to->nparts]);
			else if (len > 0 && f != NULL &&
				 f->state == FILE_PRESENT)
				plan_file_parts(p, m->files[k], at,
						sums && f->has_crc
							? m->files[k]
							: STRIPE_NO_SUM,
						to);
			at += len;
		}
	}
	return 0;
}

/* --- Rebuilt filemaps --- */

/* Allocate memory for the lost filemaps of a set, and strings that write to
 * this memory. */
static int
map_targets(struct planner *w, struct plan_set *s, struct stripe *out,
	    struct error *err)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct plan_member *m = &s->members[i];
		struct plan_rank *r = plan_rank_of(&w->p, m);

		if (r == NULL || r->map_known || r->map.fate != FATE_REBUILD)
			continue;
		if (m->list.nfiles != 1 || m->list.bytes > PLAN_MAP_MAX)
			return error_set(err, ERROR_CORRUPT,
					 "%s: protects no filemap", m->name);
		r->map.image = arena_alloc(w->p.arena, m->list.bytes + 1, 1);
		out[i].parts =
			arena_alloc(w->p.arena, 1, sizeof(*out[i].parts));
		if (r->map.image == NULL || out[i].parts == NULL)
			return error_no_memory(err);
		r->map.image_size = m->list.bytes;
		out[i].parts[0] = (struct stripe_part){
			.len = m->list.bytes,
			.mem = (unsigned char *)(uintptr_t)r->map.image,
			.sum = STRIPE_NO_SUM,
		};
		out[i].nparts = m->list.bytes > 0;
	}
	return 0;
}

/* Forget the rebuilt filemaps that were not taken. */
static void
drop_targets(struct planner *w, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct plan_rank *r = plan_rank_of(&w->p, &s->members[i]);

		if (r != NULL && !r->map_known)
			r->map.image = NULL;
	}
}

/* Decode the rebuilt filemaps, and name them, so that a rebuild can write
 * them.  *bad: those that are not valid, which have lost their fate. */
static int
take_targets(struct planner *w, struct plan_set *s, size_t *bad,
	     struct error *err)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct plan_member *m = &s->members[i];
		struct plan_rank *r = plan_rank_of(&w->p, m);
		struct error why = ERROR_INIT;

		if (r == NULL || r->map_known || r->map.image == NULL)
			continue;
		if (r->refused != NULL &&
		    r->refused_size == r->map.image_size &&
		    memcmp(r->refused, r->map.image, r->refused_size) == 0)
			error_set(&why, ERROR_CORRUPT,
				  "that of another dataset");
		if (why.kind != ERROR_NONE ||
		    filemap_decode(r->map.image, r->map.image_size, w->p.arena,
				   &w->filemaps[m->rank], &why) < 0) {
			if (why.kind == ERROR_NOMEM)
				return error_pass(err, &why);
			(*bad)++;
			r->map.fate = FATE_LOST;
			s->verdict = SET_LOST;
			s->reason = arena_printf(w->p.arena,
						 "rebuilt, but not its "
						 "filemap: %s",
						 why.text);
			if (s->reason == NULL)
				return error_no_memory(err);
			continue;
		}
		r->map_known = true;
		if (r->map.name == NULL) {
			r->map.place = m->place;
			if (plan_name_map(w, m->rank, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* An input that cannot be read. */
struct unread {
	bool found;
	struct solve_ref at;
};

static int
note_unread(void *arg, const struct compute_unread *what)
{
	struct unread *u = arg;

	if (!error_is_unread(what->why))
		return -1;
	*u = (struct unread){ true, what->at };
	return 0;
}

/* Returns 1 if an input cannot be read: the set is solved without it. */
static int
restore_once(struct planner *w, struct plan_set *s, size_t *bad,
	     struct error *err)
{
	struct unread u = { .found = false };
	struct compute_options o = {
		.work = w->work,
		.unreadable = note_unread,
		.arg = &u,
	};
	struct stripe *to = NULL, *none = NULL;
	struct plan_strings have;
	struct compute_set set = { .solution = s->solution };
	const char *text = NULL;

	to = arena_alloc(w->p.arena, s->n, sizeof(*to));
	none = arena_alloc(w->p.arena, s->n, sizeof(*none));
	if (to == NULL || none == NULL)
		return error_no_memory(err);
	if (plan_strings(&w->p, s, false, w->p.arena, &have, err) < 0 ||
	    map_targets(w, s, to, err) < 0)
		return -1;
	set.data = have.data;
	set.body = have.body;
	set.new_data = to;
	set.new_body = none;
	if (compute(&set, 1, &o, err) < 0)
		return -1;
	if (!u.found)
		return take_targets(w, s, bad, err);
	drop_targets(w, s);
	return plan_mark_at(w, s, &u.at, &text, err) < 0 ? -1 : 1;
}

static int
restore(struct planner *w, struct plan_set *s, size_t *bad, struct error *err)
{
	int rc = 1;

	*bad = 0;
	while (rc == 1 && s->solution != NULL && s->verdict == SET_REBUILDABLE)
		rc = restore_once(w, s, bad, err);
	return rc < 0 ? -1 : 0;
}

/* Restore what is left to restore without a redundancy file.  Returns 1 if
 * all filemaps are valid then; else the plan is as before. */
static int
restore_without(struct planner *w, struct plan_set *s, uint32_t member,
		struct error *err)
{
	struct plan_member *m = &s->members[member];
	size_t bad = 0;

	drop_targets(w, s);
	m->state = RED_DAMAGED;
	m->problem = "its contents are damaged: filemaps computed from them "
		     "are not valid";
	if (plan_make_header(w, s, member, w->p.arena, err) < 0 ||
	    plan_solve_set(w, s, w->p.arena, err) < 0 ||
	    restore(w, s, &bad, err) < 0)
		return -1;
	if (bad == 0 && s->verdict == SET_REBUILDABLE)
		return 1;
	m->state = RED_PRESENT;
	m->problem = NULL;
	return 0;
}

/* A filemap that is not valid was computed from a wrong file: each redundancy
 * file is left out in turn. */
int
plan_restore_set(struct planner *w, struct plan_set *s, struct error *err)
{
	size_t bad = 0;
	int rc = restore(w, s, &bad, err);
	const char *why = s->reason;

	if (rc < 0 || bad == 0)
		return rc;
	for (uint32_t m = 0; rc == 0 && m < s->n; m++)
		if (s->members[m].state == RED_PRESENT)
			rc = restore_without(w, s, m, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	drop_targets(w, s);
	if (plan_solve_set(w, s, w->p.arena, err) < 0)
		return -1;
	s->verdict = SET_LOST;
	s->reason = why;
	for (uint32_t i = 0; i < s->n; i++) {
		struct plan_rank *r = plan_rank_of(&w->p, &s->members[i]);

		if (r == NULL || r->map_known || r->map.fate != FATE_REBUILD)
			continue;
		r->map.fate = FATE_LOST;
		r->map.why = why;
	}
	return 0;
}
