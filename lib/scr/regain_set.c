/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * regain_set.c - the members of a redundancy set find each other, and find out
 * what can be rebuilt.
 *
 * Set g has a keeper: rank g - 1 modulo the number of ranks, so that members
 * can find it without messages.  The keeper need not be a member.  Each member
 * with a redundancy file names the members that it knows to the keeper; the
 * keeper calls all of them; each reports its files (struct plan_report); the
 * keeper makes the plan.  If something must be rebuilt, all members get all
 * reports, and make the same plan.
 */
#include "scr/regain_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "mem.h"
#include "num.h"
#include "rescue/plan.h"
#include "scr/held.h"
#include "scr/run.h"
#include "team/say.h"

#define NOBODY UINT32_MAX

/* --- Who is in the set --- */

struct ranks {
	size_t count, cap;
	uint32_t *list;
};

static int
add_rank(struct ranks *r, uint32_t rank, struct error *err)
{
	if (!MEM_ROOM(r->list, r->count, r->cap))
		return error_no_memory(err);
	r->list[r->count++] = rank;
	return 0;
}

/* List this rank, and the members in the header of its redundancy file. */
static int
known_members(const struct regain *g, const struct regain_red *red,
	      struct ranks *out, struct error *err)
{
	const struct redset_header *h = &red->h;
	int rc = add_rank(out, g->run->world.rank, err);

	for (uint32_t m = 0; red->known && rc == 0 && m < h->desc.members; m++)
		if (h->ranks != NULL)
			rc = add_rank(out, h->ranks[m], err);
		else if (h->members[m].known)
			rc = add_rank(out, h->members[m].desc.rank, err);
	return rc;
}

/*
 * Send the members that this rank knows to the keeper of its set; as the
 * keeper of a set, call all members that were named.  *keeper: the rank that
 * calls this one.  The result is that of this rank.
 */
static int
call_members(struct regain *g, bool map, uint32_t *keeper, struct error *err)
{
	const struct regain_red *red = &g->parts[0].red[map];
	const struct team *world = &g->run->world;
	struct ranks mine = { .count = 0 }, named = mine;
	struct team_note note;
	struct team_mail out = { 0, &note }, in = { 0, NULL };
	int rc = 0;

	if (red->name != NULL) {
		rc = known_members(g, red, &mine, err);
		note = (struct team_note){ (red->is.set - 1) % world->size,
					   mine.list,
					   mine.count * sizeof(mine.list[0]) };
		out.count = rc == 0;
	}
	if (team_notes(world, 0, &out, g->arena, &in, err) < 0)
		rc = -1;
	for (size_t i = 0; rc == 0 && i < in.count; i++) {
		const uint32_t *r = in.notes[i].data;
		const size_t n = in.notes[i].len / sizeof(*r);

		for (size_t k = 0; rc == 0 && k < n; k++)
			if (r[k] < world->size)
				rc = add_rank(&named, r[k], err);
	}
	if (named.count > 0)
		qsort(named.list, named.count, sizeof(uint32_t), num_by_u32);
	out = (struct team_mail){ 0, arena_alloc(g->arena, named.count,
						 sizeof(*out.notes)) };
	if (rc == 0 && out.notes == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < named.count; i++)
		if (i == 0 || named.list[i] != named.list[i - 1])
			out.notes[out.count++] =
				(struct team_note){ named.list[i], "", 0 };
	mem_free(mine.list);
	mem_free(named.list);
	if (team_notes(world, rc, &out, g->arena, &in, err) < 0)
		return -1;
	*keeper = in.count > 0 ? in.notes[0].rank : NOBODY;
	if (in.count == 0)
		return error_set(err, ERROR_LOST,
				 "rank %u: all redundancy files of its set%s "
				 "are missing or damaged",
				 world->rank, map ? " over filemaps" : "");
	return 0;
}

/* --- Reports as bytes --- */

struct wire {
	uint32_t rank;
	bool has_map, has_red;
	uint64_t map, files, name, head; /* sizes; number of files */
	uint64_t red;
};

static int
pack(const struct regain *g, bool map, struct buf *out, struct error *err)
{
	const struct regain_part *p = &g->parts[0];
	const struct regain_red *r = &p->red[map];
	struct wire w = { .rank = p->rank,
			  .has_map = p->map != NULL,
			  .has_red = r->name != NULL };

	if (w.has_map) {
		w.map = p->map_size;
		w.files = p->fm.nfiles;
	}
	if (w.has_red) {
		w.name = strlen(r->name) + 1;
		w.head = r->head_size;
		w.red = r->size;
	}
	(void)buf_add(out, &w, sizeof(w));
	(void)buf_add(out, p->map, w.map);
	(void)buf_add(out, p->states, w.files * sizeof(p->states[0]));
	(void)buf_add(out, r->name, w.name);
	(void)buf_add(out, r->head, w.head);
	return buf_check(out, err);
}

/* The next `len` bytes, aligned for any type. */
static const void *
next(struct arena *a, const char **at, size_t len)
{
	void *copy = arena_alloc(a, len + 1, 1);

	if (copy != NULL)
		memcpy(copy, *at, len);
	*at += len;
	return copy;
}

/* A plan from the reports that lie end to end.  NULL: error. */
static struct plan *
plan_of(const struct regain *g, const char *at, size_t len, bool map,
	struct error *err)
{
	struct plan_report *reports = NULL;
	struct arena *a = arena_new();
	const char *end = at + len;
	struct plan *p = NULL;
	size_t n = 0, cap = 0;
	int rc = a == NULL ? -1 : 0;

	while (rc == 0 && at < end) {
		struct plan_red_report *red = arena_alloc(a, 1, sizeof(*red));
		struct plan_report *r = NULL;
		struct wire w;

		if (red == NULL || !MEM_ROOM(reports, n, cap)) {
			rc = -1;
			break;
		}
		r = &reports[n++];
		memcpy(&w, at, sizeof(w));
		at += sizeof(w);
		*r = (struct plan_report){ .rank = w.rank, .reds = red };
		if (w.has_map) {
			r->map = next(a, &at, w.map);
			r->map_size = w.map;
			r->files = next(a, &at, w.files * sizeof(r->files[0]));
			r->nfiles = w.files;
			/* Their state does not matter yet. */
			if (map)
				r->files = NULL;
		}
		if (!w.has_red)
			continue;
		red->name = next(a, &at, w.name);
		red->header = next(a, &at, w.head);
		red->header_size = w.head;
		red->size = w.red;
		r->nreds = 1;
		rc = red->name == NULL || red->header == NULL ? -1 : 0;
	}
	if (rc < 0)
		error_no_memory(err);
	else
		p = plan_reports(g->set->d.id, reports, n, err);
	mem_free(reports);
	arena_free(a);
	return p;
}

/* --- The plan --- */

/* Do the members of the set have something to compute? */
static bool
computes(const struct regain *g, const struct plan_set *s, bool map)
{
	if (s->n == 0 || s->map != map)
		return false;
	return g->compare
		       ? s->verdict == SET_WHOLE && redset_is_redundant(s->type)
		       : s->verdict == SET_REBUILDABLE;
}

/* Is there something to compute?  Returns -1 if a set is lost. */
static int
judge(const struct regain *g, const struct plan *p, bool map, bool *some,
      struct error *err)
{
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		if (s->n == 0 || s->map != map)
			continue;
		if (s->verdict == SET_LOST)
			return error_set(
				err, ERROR_LOST,
				"set %u of %u (%s%s) cannot be "
				"rebuilt: %s",
				s->number, s->sets, redset_type_name(s->type),
				map ? " over filemaps" : "", s->reason);
		if (s->unproved && computes(g, s, map))
			return error_set(err, ERROR_DAMAGED,
					 "set %u of %u (%s): what is lost can "
					 "only be computed from bytes behind a "
					 "damaged header, which no checksum "
					 "confirms",
					 s->number, s->sets,
					 redset_type_name(s->type));
		*some |= computes(g, s, map);
	}
	return 0;
}

/*
 * Find the members of the set, and whether to rebuild: send the report of this
 * rank to its keeper; as a keeper, send all reports to the members of a set
 * that must be computed.  *in receives them.  *some: a set must be computed.
 */
static int
find(struct regain *g, bool map, struct team_mail *in, bool *some,
     struct error *err)
{
	const struct team *world = &g->run->world;
	struct buf mine = BUF_INIT, all = BUF_INIT;
	struct team_note note = { .rank = NOBODY };
	struct team_mail out = { 1, &note }, reports = { 0, NULL };
	struct plan *p = NULL;
	bool needed = false;
	int rc = call_members(g, map, &note.rank, err);

	if (rc == 0)
		rc = pack(g, map, &mine, err);
	rc = team_agree(world, rc, err);
	note.data = mine.data;
	note.len = mine.len;
	if (rc == 0)
		rc = team_notes(world, 0, &out, g->arena, &reports, err);
	if (rc == 0) {
		/* As the keeper: make the plan.  If something must be computed,
		 * the members need the reports. */
		for (size_t i = 0; i < reports.count; i++)
			(void)buf_add(&all, reports.notes[i].data,
				      reports.notes[i].len);
		rc = buf_check(&all, err);
		if (rc == 0 && reports.count > 0) {
			p = plan_of(g, all.data, all.len, map, err);
			rc = p == NULL ? -1 : judge(g, p, map, &needed, err);
			plan_free(p);
		}
		if (!needed)
			buf_clear(&all);
		out.count = 0;
		if (rc == 0 && needed) {
			out.count = reports.count;
			out.notes =
				arena_alloc(g->arena, out.count, sizeof(note));
			if (out.notes == NULL)
				rc = error_no_memory(err);
		}
		for (size_t i = 0; rc == 0 && i < out.count; i++)
			out.notes[i] =
				(struct team_note){ reports.notes[i].rank,
						    all.data, all.len };
		rc = team_agree(world, rc, err);
		*some = rc == 0 && team_any(world, all.len > 0);
	}
	if (*some)
		rc = team_notes(world, 0, &out, g->arena, in, err);
	buf_free(&mine);
	buf_free(&all);
	return rc;
}

/* --- Rebuilding --- */

/* Carry out the plan, as a member.  *members: the members of its sets. */
static int
build(struct regain *g, bool map, const struct team_mail *in,
      struct regain_builts *out, struct ranks *members, struct error *err)
{
	struct plan *p = NULL;
	int rc = 0;

	if (in->count == 0)
		return 0;
	p = plan_of(g, in->notes[0].data, in->notes[0].len, map, err);
	/* The other members compute and cannot be notified: end the job. */
	if (p == NULL)
		say_abort("rebuilding dataset %lld: %s",
			  (long long)g->set->d.id, err->text);
	for (size_t i = 0; rc == 0 && i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		if (!computes(g, s, map))
			continue;
		rc = regain_build(g, p, i, out, err);
		for (uint32_t m = 0; rc == 0 && m < s->n; m++)
			rc = add_rank(members, s->members[m].rank, err);
	}
	plan_free(p);
	return rc;
}

/* Set the states of files that were built, or remove the results. */
static void
count_built(const struct regain *g, const struct regain_builts *b, bool keep)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct regain_built *f = &b->list[i];

		if (!keep)
			(void)unlinkat(g->metafd, f->temp, 0);
		if (f->file != SIZE_MAX)
			g->parts[0].states[f->file] = !keep ? FILE_MISSING
						      : f->wrong
							      ? FILE_WRONG_CRC
							      : FILE_PRESENT;
	}
}

/*
 * Are all files right, including the rebuilt ones?  *again: no, because files
 * turned out to be damaged only now.  Then the results are useless, and the
 * caller makes a new plan.  Otherwise a redundancy file is damaged: sets with
 * wrong results are doubted, and all others keep theirs.
 */
static int
verify(struct regain *g, const struct regain_builts *b,
       const struct ranks *members, bool *again, struct error *err)
{
	const struct team *world = &g->run->world;
	struct team_mail out = { 0, NULL }, in;
	struct error why = ERROR_INIT;
	bool wrong = false;
	int rc = 0;

	regain_verify(g);
	count_built(g, b, true);
	if (team_agree(world, regain_check(g, err), err) == 0)
		return 0;
	*again = team_any(world, g->damaged);
	if (*again) {
		count_built(g, b, false);
		return -1;
	}
	for (size_t i = 0; i < b->count; i++)
		wrong |= b->list[i].wrong;
	/* A member with wrong files notifies the others of its set. */
	out.notes = arena_alloc(g->arena, members->count, sizeof(*out.notes));
	if (out.notes == NULL)
		rc = error_no_memory(&why);
	for (size_t i = 0; rc == 0 && wrong && i < members->count; i++)
		out.notes[out.count++] =
			(struct team_note){ members->list[i], "", 0 };
	if (team_notes(world, rc, &out, g->arena, &in, &why) < 0)
		return error_pass(err, &why);
	g->doubted = in.count > 0;
	if (g->doubted)
		count_built(g, b, false);
	else if (regain_name(g, b, &why) < 0)
		error_pass(err, &why);
	(void)team_agree(world, why.kind == ERROR_NONE ? 0 : -1, err);
	return -1;
}

/* Rebuild.  If the set of this rank is doubted, the redundancy file of its
 * member `without` is not used, and rebuilt. */
static int
attempt(struct regain *g, bool map, uint32_t without, struct error *err)
{
	const struct team *world = &g->run->world;
	struct regain_red *red = &g->parts[0].red[map], is = *red;
	const bool aside =
		g->doubted && is.name != NULL && is.is.member - 1 == without;
	bool again = false;
	int rc = 0;

	/* Make one plan and carry it out.  The loop ends, because each round
	 * marks another file as damaged. */
	do {
		struct regain_builts built = { .count = 0 };
		struct ranks members = { .count = 0 };
		struct team_mail in = { 0, NULL };
		struct error why = ERROR_INIT;
		bool some = false;

		if (aside)
			red->name = NULL;
		rc = find(g, map, &in, &some, &why);
		g->damaged = again = false;
		if (rc == 0 && some)
			rc = team_agree(
				world,
				build(g, map, &in, &built, &members, &why),
				&why);
		if (rc == 0 && !map)
			rc = verify(g, &built, &members, &again, &why);
		if (rc == 0) {
			g->doubted = false;
			if (some)
				rc = team_agree(world,
						regain_name(g, &built, &why),
						&why);
		}
		mem_free(built.list);
		mem_free(members.list);
		if (rc < 0 && !again)
			error_pass(err, &why);
	} while (again);
	if (aside)
		*red = is;
	if (aside && !g->doubted)
		say_warn("dataset %lld: %s: damaged, now rebuilt",
			 (long long)g->set->d.id, is.name);
	return rc;
}

/* Update the part of this rank before another attempt. */
static int
look_again(struct regain *g, struct error *err)
{
	int rc = 0;

	if (!g->doubted && g->changed)
		rc = regain_look(g, &g->parts[0], err);
	return team_agree(&g->run->world, rc, err);
}

int
regain_set(struct regain *g, bool map, struct error *err)
{
	const struct team *world = &g->run->world;
	uint64_t most = 0;
	int rc = -1;

	g->doubted = false;
	rc = attempt(g, map, NOBODY, err);
	if (rc == 0 || !team_any(world, g->doubted))
		return rc;
	most = team_most(world, g->parts[0].red[map].is.members);
	for (uint32_t m = 0; rc < 0 && m < most; m++) {
		struct error why = ERROR_INIT;

		rc = look_again(g, &why);
		if (rc == 0)
			rc = attempt(g, map, m, &why);
		if (rc < 0 && why.kind != ERROR_LOST)
			return error_pass(err, &why);
	}
	if (rc == 0)
		error_clear(err);
	return rc;
}

int
regain_compare(struct regain *g, struct error *err)
{
	const struct team *world = &g->run->world;
	const struct filemap *fm = &g->parts[0].fm;
	struct regain_builts none = { .count = 0 };
	struct ranks members = { .count = 0 };
	struct team_mail in = { 0, NULL };
	bool some = false;
	int rc = 0;

	for (size_t i = 0; i < fm->nfiles; i++)
		some |= !fm->files[i].has_crc;
	if (!team_any(world, some))
		return 0;
	if (look_again(g, err) < 0)
		return -1;
	g->compare = true;
	some = false;
	rc = find(g, false, &in, &some, err);
	if (rc == 0 && some)
		rc = team_agree(
			world, build(g, false, &in, &none, &members, err), err);
	g->compare = false;
	mem_free(members.list);
	return rc;
}
