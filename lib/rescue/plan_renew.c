/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_renew.c - sets whose headers are lost: filemaps list the same files, so
 * redundancy can be computed again from whole data.
 *
 * The header of a member has the list of its files, with the attributes of the
 * filemap (formats.md 4.2, 5.3), in the reverse order.
 */
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "path.h"
#include "rescue/plan_impl.h"

static int
list_data(struct planner *w, struct plan_member *m, struct arena *arena,
	  struct error *err)
{
	const struct filemap *map = &w->filemaps[m->rank];
	struct redset_member *l = &m->list;

	l->files = arena_alloc(arena, map->nfiles + 1, sizeof(*l->files));
	if (l->files == NULL)
		return error_no_memory(err);
	l->nfiles = map->nfiles;
	for (size_t i = 0; i < map->nfiles; i++) {
		const struct filemap_file *f = &map->files[map->nfiles - 1 - i];

		l->files[i] = (struct redset_file){ f->cache_path, f->attr };
		l->bytes += f->attr.size;
	}
	return 0;
}

/* The filemap itself, in the directory of the metadata beside the files. */
static int
list_map(struct planner *w, struct plan_member *m, struct arena *arena,
	 struct error *err)
{
	const struct plan_rank *r = &w->p.ranks[m->rank];
	const struct filemap *map = &w->filemaps[m->rank];
	const struct place *pl = &w->p.places[r->map.place];
	const char *cache = map->nfiles > 0 ? map->files[0].cache_path : "";
	struct redset_file *f = arena_alloc(arena, 1, sizeof(*f));
	struct stat st;

	if (f == NULL)
		return error_no_memory(err);
	f->path = cache[0] == '/'
			  ? arena_printf(arena, "%.*s.scr/%s",
					 (int)(path_base(cache) - cache), cache,
					 r->map.name)
			  : arena_printf(arena, "%s/%s", pl->meta, r->map.name);
	if (f->path == NULL)
		return error_no_memory(err);
	if (!r->composed && !plan_hidden_attr(&w->p, r->map.name, &f->attr)) {
		if (path_stat_beneath(pl->meta_fd, r->map.name, &st, err) < 0)
			return -1;
		attr_from_stat(&f->attr, &st);
	}
	f->attr.has_size = true;
	f->attr.size = r->map.image_size;
	m->list.files = f;
	m->list.nfiles = 1;
	m->list.bytes = f->attr.size;
	return 0;
}

/* Can the list be made from the filemap? */
static bool
has_map(const struct planner *w, const struct plan_set *s,
	const struct plan_member *m)
{
	const struct plan_rank *r = NULL;

	if (m->rank == PLAN_NONE || m->rank >= w->p.nranks)
		return false;
	r = &w->p.ranks[m->rank];
	return r->map_known &&
	       (!s->map || (r->map.name != NULL &&
			    (r->composed || r->map.fate == FATE_KEEP)));
}

/* The number of losses that the set tolerates, from the descriptor file of a
 * member; 0: unknown. */
static uint32_t
described_failures(const struct planner *w, const struct plan_set *s,
		   uint32_t member)
{
	const struct plan_member *m = &s->members[member];
	const struct redset_name n = {
		.map = s->map,
		.descriptor = true,
		.rank = m->rank,
	};
	char name[512], key[VALUE_NUMBER];
	struct kvtree *file = NULL;
	const struct kvtree *t = NULL;
	struct redset_desc d = { .failures = 0 };
	uint32_t failures = 0;

	redset_name_format(name, sizeof(name), &n, w->stem);
	t = plan_hidden_tree(&w->p, name);
	if (t == NULL)
		t = file = kvtree_read_beneath(w->p.places[m->place].meta_fd,
					       name, NULL, NULL);
	if (t != NULL)
		t = kvtree_get2(t, value_text(key, m->rank), "DESC");
	if (t != NULL && redset_desc_read(t, &d, NULL) == 0 &&
	    d.type == s->type && d.members == s->n && d.member == member)
		failures = d.failures;
	kvtree_free(file);
	return failures;
}

/* Set the values that only headers contain, if no header is left. */
static int
renew_geometry(struct planner *w, struct plan_set *s, struct arena *arena,
	       struct error *err)
{
	struct solve_set of = { .type = s->type, .n = s->n };
	uint32_t *ranks = arena_alloc(arena, s->n, sizeof(*ranks));
	uint64_t longest = 0;

	if (ranks == NULL)
		return error_no_memory(err);
	s->failures = redset_format(s->type)->key == NULL
			      ? redset_format(s->type)->failures
			      : 0;
	for (uint32_t i = 0; i < s->n; i++) {
		ranks[i] = s->members[i].rank;
		if (s->members[i].list.bytes > longest)
			longest = s->members[i].list.bytes;
		if (s->failures == 0)
			s->failures = described_failures(w, s, i);
	}
	of.failures = s->failures;
	s->ranks = ranks;
	if (s->failures == 0)
		return 1;
	if (redset_format(s->type)->body != REDSET_BODY_CHUNKS)
		return 0;
	/* A set that the scheme cannot protect is left alone. */
	return scheme_of(s->type)->chunk(&of, longest, &s->chunk, NULL) < 0;
}

static void
forget_lists(struct plan_set *s, const bool *made)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (made[i])
			s->members[i].list =
				(struct redset_member){ .known = false };
}

int
plan_renew_lists(struct planner *w, struct plan_set *s, struct arena *arena,
		 struct error *err)
{
	bool *made = arena_alloc(arena, s->n, sizeof(*made));
	bool all = true, headers = false;
	int rc = 0;

	if (made == NULL)
		return error_no_memory(err);
	if (w->bare || w->by_hand || w->reported ||
	    !redset_is_redundant(s->type))
		return 0;
	for (uint32_t i = 0; i < s->n && rc == 0; i++) {
		struct plan_member *m = &s->members[i];

		headers = headers || m->red->read != NULL;
		if (m->list.known || !has_map(w, s, m)) {
			all = all && m->list.known;
			continue;
		}
		rc = s->map ? list_map(w, m, arena, err)
			    : list_data(w, m, arena, err);
		m->list.known = made[i] = true;
		m->red->renewed = true;
	}
	if (rc == 0 && !headers)
		rc = all ? renew_geometry(w, s, arena, err) : 1;
	if (rc != 0) {
		forget_lists(s, made);
		return rc < 0 ? -1 : 0;
	}
	for (uint32_t i = 0; i < s->n; i++)
		if (made[i])
			s->members[i].list.desc = (struct redset_desc){
				.type = s->type,
				.enabled = true,
				.set = s->number - 1,
				.sets = s->sets,
				.member = i,
				.members = s->n,
				.rank = s->members[i].rank,
				.ranks = (uint32_t)w->p.nranks,
				.failures = s->failures,
			};
	return 0;
}

/* --- Sets without any remaining file --- */

/* Are all filemaps and data files present? */
static bool
has_all(const struct plan *p)
{
	for (int64_t i = 0; i < p->nranks; i++)
		if (!p->ranks[i].map_known)
			return false;
	return p->nranks > 0 &&
	       p->maps_missing + p->files_missing + p->unread == 0;
}

/* Ranks number - 1, number - 1 + sets ..., if they are in no set.  0: not
 * known. */
static uint32_t
count_members(const struct planner *w, const struct plan_set *s)
{
	const uint32_t nranks = (uint32_t)w->p.nranks;
	uint32_t n = 0;

	if (s->sets == 0)
		return 0;
	for (uint32_t r = s->number - 1; r < nranks; r += s->sets, n++) {
		const struct plan_rank *rank = &w->p.ranks[r];

		if (n == PLAN_SET_MAX ||
		    (s->map ? rank->map_set : rank->data_set) != PLAN_NONE)
			return 0;
	}
	return n < 2 ? 0 : n;
}

static int
renew_gone(struct planner *w, uint32_t set, uint32_t n, bool *done,
	   struct error *err)
{
	struct plan_set *s = &w->p.sets[set];
	const struct plan_set gone = *s;

	s->n = n;
	if (plan_add_members(w, s, err) < 0)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		s->members[i].rank = s->number - 1 + i * s->sets;
	if (plan_open_set(w, s, w->p.arena, err) < 0)
		return -1;
	if (!s->members[0].list.known) {
		*s = gone;
		return 0;
	}
	*done = true;
	if (plan_join_set(w, set, err) < 0)
		return -1;
	return plan_solve_set(w, s, w->p.arena, err);
}

int
plan_renew_gone(struct planner *w, struct error *err)
{
	bool done = false;

	if (w->by_hand || w->bare || w->reported || w->p.nplaces != 1 ||
	    w->p.places[0].cache || !has_all(&w->p))
		return 0;
	for (uint32_t i = 0; i < w->p.nsets; i++) {
		const struct plan_set *s = &w->p.sets[i];
		uint32_t n = 0;

		if (s->n > 0 || !redset_is_redundant(s->type))
			continue;
		n = count_members(w, s);
		if (n > 0 && renew_gone(w, i, n, &done, err) < 0)
			return -1;
	}
	if (done)
		plan_finish(w);
	return 0;
}

void
plan_renew_place(struct plan_set *s, uint32_t member)
{
	struct plan_red *red = s->members[member].red;

	/* The header of a set over files gets its old bytes, because filemaps
	 * have the same attributes; that of a set over filemaps does not.  A
	 * new file takes precedence over a packed one. */
	if (red->nsegs > 0 && red->header != NULL &&
	    ((s->map && red->renewed) ||
	     plan_segs_size(red->segs, red->nsegs) !=
		     red->header_size + red->body_size))
		red->nsegs = 0;
}
