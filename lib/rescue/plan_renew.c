/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_renew.c - sets whose headers are lost: filemaps list the same files, so
 * redundancy can be computed again from whole data.  PARTNER names a member in
 * its files and those of its right neighbours only: the rank may be lost.
 *
 * The header of a member has the list of its files, with the attributes of the
 * filemap (scr-dataset(5) and scr-redset(5)), in the reverse order.
 */
#include <inttypes.h>
#include <sys/stat.h>

#include "arena.h"
#include "container/segmap.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "num.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"

/* The filemap itself, in the directory of the metadata beside the files. */
static int
list_map(struct planner *w, struct plan_member *m, struct arena *arena,
	 struct error *err)
{
	const struct plan_rank *r = &w->p.ranks[m->rank];
	const struct filemap *map = &w->filemaps[m->rank];
	const struct place *pl = &w->p.places[r->map.place];
	const struct segmap_file *packed = plan_hidden_find(&w->p, r->map.name);
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
	if (!r->composed && packed != NULL) {
		f->attr = packed->attr;
	} else if (!r->composed) {
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
	char name[512];
	const struct segmap_file *packed = NULL;
	struct kvtree *file = NULL;
	const struct kvtree *t = NULL;
	struct redset_desc d = { .failures = 0 };
	uint32_t failures = 0;

	redset_name_format(name, sizeof(name), &n, w->stem);
	packed = plan_hidden_find(&w->p, name);
	t = packed != NULL ? packed->tree : NULL;
	if (t == NULL)
		t = file = kvtree_read_beneath(w->p.places[m->place].meta_fd,
					       name, NULL, NULL);
	if (t != NULL)
		t = kvtree_get2(t, num_str(m->rank), "DESC");
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
	const struct redset_format *format = redset_format(s->type);
	struct solve_set of;
	uint32_t *ranks = arena_alloc(arena, s->n, sizeof(*ranks));
	uint32_t failures = 0;
	uint64_t longest = 0;

	if (ranks == NULL)
		return error_no_memory(err);
	if (format->key == NULL)
		failures = format->failures;
	else if (s->ranks != NULL) /* decided before, or by plan_protect() */
		failures = s->failures;
	for (uint32_t i = 0; i < s->n; i++) {
		ranks[i] = s->members[i].rank;
		if (s->members[i].list.bytes > longest)
			longest = s->members[i].list.bytes;
		if (failures == 0)
			failures = described_failures(w, s, i);
	}
	if (failures > 0)
		s->failures = failures;
	/* A job has one scheme for all sets. */
	for (size_t i = 0; i < w->p.nsets && s->failures == 0; i++)
		if (w->p.sets[i].type == s->type)
			s->failures = w->p.sets[i].failures;
	s->ranks = ranks;
	if (s->failures == 0)
		return 1;
	if (format->body != REDSET_BODY_CHUNKS)
		return 0;
	of = plan_solve_of(s, NULL);
	/* A set that the scheme cannot protect is left alone. */
	return scheme_of(s->type)->chunk(&of, longest, &s->chunk, NULL) < 0;
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
		const struct plan_rank *r = plan_rank_of(&w->p, m);
		const struct filemap *map = NULL;

		headers = headers || m->red->read != NULL;
		/* Can the list be made from the filemap? */
		if (m->list.known || r == NULL || !r->map_known || r->unsized ||
		    (s->map && (r->map.name == NULL ||
				(r->composed ? r->map.image == NULL
					     : r->map.fate != FATE_KEEP)))) {
			all = all && m->list.known;
			continue;
		}
		map = &w->filemaps[m->rank];
		if (s->map) {
			rc = list_map(w, m, arena, err);
		} else {
			m->list.nfiles = map->nfiles;
			m->list.files = arena_alloc(arena, map->nfiles + 1,
						    sizeof(*m->list.files));
			if (m->list.files == NULL)
				rc = error_no_memory(err);
		}
		for (size_t k = 0; rc == 0 && !s->map && k < map->nfiles; k++) {
			const struct filemap_file *f =
				&map->files[map->nfiles - 1 - k];

			m->list.files[k] = (struct redset_file){
				/* As a composed filemap will name it. */
				f->cache_path[0] == '/'
					? f->cache_path
					: arena_printf(arena, "%s%s", f->dir,
						       f->name),
				f->attr,
			};
			if (m->list.files[k].path == NULL)
				rc = error_no_memory(err);
			m->list.bytes += f->attr.size;
		}
		m->list.known = made[i] = true;
		m->red->renewed = true;
	}
	if (rc == 0 && !headers)
		rc = all ? renew_geometry(w, s, arena, err) : 1;
	for (uint32_t i = 0; rc != 0 && i < s->n; i++)
		if (made[i])
			s->members[i].list =
				(struct redset_member){ .known = false };
	if (rc != 0)
		return rc < 0 ? -1 : 0;
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

/* --- Members whose ranks no remaining file names --- */

/* The set over filemaps of the same ranks as this one over files, or the
 * reverse; NULL: none is left. */
static const struct plan_set *
twin_of(const struct plan *p, const struct plan_set *s)
{
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *t = &p->sets[i];

		if (t->map != s->map && t->type == s->type &&
		    t->sets == s->sets && t->number == s->number && t->n > 0 &&
		    (s->n == 0 || t->n == s->n))
			return t;
	}
	return NULL;
}

/* May the rank be that of this member, as far as other sets are known? */
static bool
is_seat_of(const struct plan *p, const struct plan_set *s, uint32_t member,
	   uint32_t rank)
{
	const struct plan_rank *r = &p->ranks[rank];
	const uint32_t set = s->map ? r->map_set : r->data_set;

	return set == PLAN_NONE ||
	       (&p->sets[set] == s &&
		(s->map ? r->map_member : r->data_member) == member);
}

/* The ranks of plan_protect(): number - 1, number - 1 + sets ... */
static bool
seat_regularly(const struct plan *p, const struct plan_set *s, uint32_t *ranks)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const uint64_t rank = s->number - 1 + (uint64_t)i * s->sets;

		if (s->sets == 0 || rank >= (uint64_t)p->nranks ||
		    (ranks[i] != PLAN_NONE && ranks[i] != rank) ||
		    !is_seat_of(p, s, i, (uint32_t)rank))
			return false;
	}
	for (uint32_t i = 0; i < s->n; i++)
		ranks[i] = s->number - 1 + i * s->sets;
	return true;
}

/* The lowest ranks in no set.  Whichever these are, they are protected
 * alike. */
static bool
seat_rest(const struct plan *p, const struct plan_set *s, uint32_t *ranks)
{
	uint32_t rank = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (ranks[i] != PLAN_NONE)
			continue;
		while (rank < p->nranks &&
		       (s->map ? p->ranks[rank].map_set
			       : p->ranks[rank].data_set) != PLAN_NONE)
			rank++;
		if (rank == p->nranks)
			return false;
		ranks[i] = rank++;
	}
	return true;
}

/* Give the members without a rank theirs; files are not computed by a supposed
 * order.  False, and nothing is changed: the ranks are unknown. */
static bool
seat_members(const struct plan *p, struct plan_set *s)
{
	const bool free = s->map || p->files_missing == 0;
	const struct plan_set *t = twin_of(p, s);
	uint32_t ranks[PLAN_SET_MAX];
	bool good = s->n > 1, all = true;

	for (uint32_t i = 0; i < s->n; i++) {
		const uint32_t of = t != NULL ? t->members[i].rank : PLAN_NONE;

		ranks[i] = s->members[i].rank;
		if (of != PLAN_NONE && of < p->nranks &&
		    is_seat_of(p, t, i, of)) {
			good = good &&
			       (ranks[i] == PLAN_NONE || ranks[i] == of);
			ranks[i] = of;
		}
		all = all && ranks[i] != PLAN_NONE;
	}
	good = good && (all || (free && (seat_regularly(p, s, ranks) ||
					 seat_rest(p, s, ranks))));
	for (uint32_t i = 0; good && i < s->n; i++)
		good = ranks[i] < p->nranks && is_seat_of(p, s, i, ranks[i]);
	for (uint32_t i = 0; good && i < s->n; i++)
		s->members[i].rank = ranks[i];
	return good;
}

/* Open and solve a set whose members have ranks, but perhaps no redundancy
 * file.  Returns 1 if the list of a member is unknown. */
static int
renew_set(struct planner *w, uint32_t set, struct error *err)
{
	struct plan_set *s = &w->p.sets[set];

	if (plan_open_set(w, s, w->p.arena, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->members[i].list.known)
			return 1;
	if (plan_join_set(w, set, err) < 0)
		return -1;
	return plan_solve_set(w, s, w->p.arena, err);
}

static int
renew_gone(struct planner *w, uint32_t set, bool *done, struct error *err)
{
	struct plan_set *s = &w->p.sets[set];
	const struct plan_set gone = *s, *twin = twin_of(&w->p, s);
	const uint32_t nranks = (uint32_t)w->p.nranks, first = s->number - 1;
	int rc = 0;

	if (s->n == 0) {
		if (twin != NULL)
			s->n = twin->n;
		else if (s->sets > 0 && first < nranks)
			s->n = (nranks - first + s->sets - 1) / s->sets;
		s->n = s->n > PLAN_SET_MAX ? 0 : s->n;
		if (s->n > 0 && plan_add_members(w, s, err) < 0)
			return -1;
	}
	if (!seat_members(&w->p, s)) {
		*s = gone;
		return 0;
	}
	rc = s->map ? plan_compose_set(w, s, err) : 0;
	if (rc > 0)
		rc = plan_join_set(w, set, err);
	else if (rc == 0)
		rc = renew_set(w, set, err);
	if (rc == 0)
		*done = true;
	else if (rc > 0)
		*s = gone;
	return rc < 0 ? -1 : 0;
}

int
plan_renew_gone(struct planner *w, struct error *err)
{
	bool done = false;

	/* Are all filemaps known? */
	if (w->by_hand || w->bare || w->reported || w->p.nplaces != 1 ||
	    w->p.places[0].cache || w->p.nranks <= 0 || w->p.unread > 0)
		return 0;
	for (int64_t i = 0; i < w->p.nranks; i++)
		if (!w->p.ranks[i].map_known)
			return 0;
	for (uint32_t i = 0; i < w->p.nsets; i++) {
		const struct plan_set *s = &w->p.sets[i];
		bool lacks = s->failures == 0;

		/* Are headers lost together with all that name the rank of a
		 * member, or the number of losses? */
		for (uint32_t m = 0; m < s->n; m++)
			lacks = lacks || s->members[m].rank == PLAN_NONE;
		lacks = s->n == 0 ||
			(lacks && s->opened && !s->foreign && s->flaw == NULL);
		if ((s->map || s->n > 0 || w->p.files_missing == 0) &&
		    redset_is_redundant(s->type) && lacks &&
		    renew_gone(w, i, &done, err) < 0)
			return -1;
	}
	if (done)
		plan_finish(w);
	return 0;
}

/*
 * --- Redundancy for a dataset that has none ---
 *
 * The plan gets new sets in which all data are present and every redundancy
 * file is missing; the rebuild then writes these files.  Set g of G has the
 * ranks g, g + G, g + 2 G ...: ranks that share a container or a node are in
 * different sets.
 */

#define SET_SIZE_DEFAULT 8
#define FAILURES_DEFAULT 2

struct protection {
	struct planner *w;
	enum redset_type type;
	uint32_t nsets, failures;
};

static uint32_t
members_of(const struct protection *t, uint32_t set)
{
	uint32_t n = (uint32_t)t->w->p.nranks;

	return n / t->nsets + (set < n % t->nsets);
}

/* Fail if a set would have too few ranks, or more than can be computed. */
static int
check_sizes(const struct protection *t, struct error *err)
{
	const struct plan *p = &t->w->p;
	const uint32_t nranks = (uint32_t)p->nranks;
	const uint32_t code = scheme_of(t->type)->most;
	const uint32_t most = code == 0 ? PLAN_SET_MAX : code - t->failures;
	const uint32_t least = members_of(t, t->nsets - 1);

	if (least < 2 || least <= t->failures)
		return error_set(err, ERROR_USAGE,
				 "dataset %" PRId64 ": sets of %" PRIu32
				 " ranks cannot tolerate %" PRIu32 " failures",
				 p->id, least, t->failures);
	if (members_of(t, 0) <= most)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "dataset %" PRId64 ": a set of %" PRIu32
			 " ranks is too large for %s with %" PRIu32
			 " %s (at most %" PRIu32 "): set sizes up to %" PRIu32
			 " are possible",
			 p->id, members_of(t, 0), redset_type_name(t->type),
			 str_count(t->failures, "failure"), most,
			 nranks / (1 + (nranks - 1) / most));
}

/* Fail unless all filemaps and data files are present. */
static int
check_data(const struct plan *p, struct error *err)
{
	for (int64_t i = 0; i < p->nranks; i++)
		if (!p->ranks[i].map_known || p->ranks[i].map.fate != FATE_KEEP)
			return error_set(err, ERROR_DAMAGED,
					 "dataset %" PRId64
					 ": the filemap of rank %" PRId64
					 " is missing: build it first",
					 p->id, i);
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].state != FILE_PRESENT)
			return error_set(
				err,
				p->files[i].fate == FATE_LOST ? ERROR_LOST
							      : ERROR_DAMAGED,
				"%s (rank %" PRIu32
				"): %s: only a whole dataset can be "
				"protected",
				str_shown(p->files[i].path), p->files[i].rank,
				file_state_name(p->files[i].state));
	return 0;
}

/* Fail if the dataset has other sets than those that this run would make.
 * Equal sets come from an interrupted run. */
static int
check_sets(const struct protection *t, struct error *err)
{
	const struct plan *p = &t->w->p;

	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];
		bool same = s->type == t->type && s->sets == t->nsets &&
			    (s->n == 0 || s->n == members_of(t, s->number - 1));

		for (uint32_t m = 0; m < s->n && same; m++)
			same = s->members[m].rank == PLAN_NONE ||
			       s->members[m].rank ==
				       s->number - 1 + m * t->nsets;
		if (!same)
			return error_set(err, ERROR_USAGE,
					 "dataset %" PRId64
					 ": has redundancy already (%s)",
					 p->id, redset_type_name(s->type));
	}
	return 0;
}

/* --- Sets --- */

static int
make_set(const struct protection *t, uint32_t number, bool map,
	 struct error *err)
{
	struct planner *w = t->w;
	struct plan_set *s = plan_push_set(w, err);
	uint32_t *ranks = NULL;
	int rc = 0;

	if (s == NULL)
		return -1;
	s->map = map;
	s->type = t->type;
	s->number = number + 1;
	s->sets = t->nsets;
	s->failures = t->failures;
	s->n = members_of(t, number);
	s->ranks = ranks = arena_alloc(w->p.arena, s->n, sizeof(*ranks));
	if (ranks == NULL)
		return error_no_memory(err);
	if (plan_add_members(w, s, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		ranks[i] = s->members[i].rank = number + i * t->nsets;
	rc = renew_set(w, (uint32_t)(w->p.nsets - 1), err);
	return rc > 0 ? error_set(err, ERROR_DAMAGED,
				  "dataset %" PRId64 ": set %" PRIu32
				  " of %" PRIu32 " cannot be made",
				  w->p.id, number + 1, t->nsets)
		      : rc;
}

/* Choose the sets of t->type.  Fail if the dataset cannot have them. */
static int
choose_sets(struct protection *t, uint32_t size, uint32_t failures,
	    struct error *err)
{
	const struct plan *p = &t->w->p;

	if (scheme_of(t->type)->chunk == NULL)
		return error_set(err, ERROR_USAGE,
				 "%s: scrkit does not make this redundancy",
				 redset_type_name(t->type));
	t->failures = failures == 0 ? FAILURES_DEFAULT : failures;
	if (redset_format(t->type)->key == NULL)
		t->failures = redset_format(t->type)->failures;
	size = size == 0 ? SET_SIZE_DEFAULT : size;
	if (p->nranks <= 0)
		return error_set(err, ERROR_USAGE,
				 "dataset %" PRId64 ": has no ranks", p->id);
	/* No set is smaller than requested, unless there are too few ranks. */
	t->nsets = (uint32_t)p->nranks / size;
	t->nsets = t->nsets == 0 ? 1 : t->nsets;
	return check_sizes(t, err) < 0 || check_data(p, err) < 0 ||
			       check_sets(t, err) < 0
		       ? -1
		       : 0;
}

bool
plan_protectable(const struct plan *p, enum redset_type type)
{
	struct protection t = { .w = (struct planner *)p, .type = type };

	for (int64_t i = 0; i < p->nranks; i++)
		if (p->ranks[i].composed)
			return false;
	return choose_sets(&t, 0, 0, NULL) == 0;
}

int
plan_protect(struct plan *p, enum redset_type type, uint32_t size,
	     uint32_t failures, struct error *err)
{
	struct protection t = { .w = (struct planner *)p, .type = type };
	bool whole = true;

	if (choose_sets(&t, size, failures, err) < 0)
		return -1;
	for (size_t i = 0; i < p->nsets; i++)
		whole = whole && p->sets[i].n > 0 && !p->sets[i].foreign;
	if (whole && p->verdict == SET_WHOLE && p->nsets == 2 * (size_t)t.nsets)
		return 0; /* all of this redundancy is present */
	for (size_t i = 0; i < p->nsets; i++)
		plan_forget_solution(&p->sets[i]);
	p->nsets = 0;
	for (int64_t i = 0; i < p->nranks; i++)
		p->ranks[i].data_set = p->ranks[i].map_set = PLAN_NONE;
	for (int map = 1; map >= 0; map--)
		for (uint32_t g = 0; g < t.nsets; g++)
			if (make_set(&t, g, map, err) < 0)
				return -1;
	plan_finish(t.w);
	return 0;
}
