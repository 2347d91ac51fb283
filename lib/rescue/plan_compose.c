/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_compose.c - compose lost filemaps that their sets cannot restore.
 * rank2file has paths and sizes; the redundancy headers have the names in the
 * cache, modes, owners and times.  Without rank2file, the headers alone suffice
 * if all files of the rank are present beside those of other ranks, with the
 * recorded times.  In caches, the headers alone name the files.
 *
 * A composed filemap has the contents, but not the bytes of the lost one.  So
 * the redundancy over the filemaps of its set is computed again.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"

/* --- From rank2file --- */

/* Set *root to the path that recorded paths begin with. */
static int
recorded_root(const struct planner *w, struct buf *root, struct error *err)
{
	if (w->p.recorded_root == NULL)
		return path_real(w->p.places[0].root, root, err);
	buf_clear(root);
	return buf_add(root, w->p.recorded_root, strlen(w->p.recorded_root)) < 0
		       ? error_no_memory(err)
		       : 0;
}

static int
compose_map(struct planner *w, uint32_t rank, const struct rank2file_rank *from,
	    const char *root, struct error *err)
{
	struct filemap *m = &w->filemaps[rank];
	struct plan_rank *r = &w->p.ranks[rank];
	struct arena *a = w->p.arena;

	*m = (struct filemap){ .nfiles = from->nfiles, .ranks = w->p.nranks };
	m->files = arena_alloc(a, from->nfiles + 1, sizeof(*m->files));
	if (m->files == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < from->nfiles; i++) {
		const struct rank2file_file *f = &from->files[i];
		const char *base = path_base(f->path);
		struct filemap_file *to = &m->files[i];

		if (!path_is_clean(f->path) || !dataset_dir_is_data(f->path))
			return error_set(err, ERROR_UNSAFE,
					 "rank2file: %s is not a file of a job "
					 "below the prefix (rank %" PRIu32 ")",
					 str_shown(f->path), rank);
		*to = (struct filemap_file){
			.cache_path = base,
			.dir = arena_printf(a, "%s/%.*s", root,
					    (int)(base - f->path), f->path),
			.name = base,
			.attr = { .has_size = f->has_size, .size = f->size },
			.complete = true,
			.ranks = w->p.nranks,
			.has_crc = f->has_crc,
			.crc = f->crc,
		};
		if (to->dir == NULL)
			return error_no_memory(err);
		r->unsized = r->unsized || !f->has_size;
	}
	r->map_known = r->composed = true;
	return plan_name_map(w, rank, err);
}

int
plan_compose_maps(struct planner *w, size_t *count, struct error *err)
{
	struct buf root = BUF_INIT;
	int rc = 0;

	*count = 0;
	for (int64_t i = 0; i < w->p.nranks; i++)
		if (!w->p.ranks[i].map_known) {
			plan_record_ask(w);
			break;
		}
	for (int64_t i = 0; rc == 0 && i < w->p.nranks; i++) {
		const struct rank2file_rank *from =
			plan_record_rank(w, (uint32_t)i);

		if (w->p.ranks[i].map_known || from == NULL)
			continue;
		if (root.len == 0)
			rc = recorded_root(w, &root, err);
		if (rc == 0)
			rc = compose_map(w, (uint32_t)i, from, root.data, err);
		(*count)++;
	}
	buf_free(&root);
	return rc;
}

/* --- From headers --- */

/* More directories than this are not searched. */
#define DIRS_MAX 64

struct search {
	struct planner *w;
	const char *dirs[DIRS_MAX]; /* relative to the prefix, with '/' at the
				       end unless empty */
	size_t ndirs;
	bool too_many;
	struct map *claimed; /* paths of known files */
};

/* List the directories and the paths of all known files. */
static int
list_dirs(struct search *s, struct error *err)
{
	const struct plan *p = &s->w->p;

	s->claimed = map_new();
	for (size_t i = 0; i < p->nfiles && !s->too_many; i++) {
		const char *path = p->files[i].path;
		const size_t len = (size_t)(path_base(path) - path);
		size_t k = 0;

		if (map_put(s->claimed, path, i) < 0)
			return error_no_memory(err);
		while (k < s->ndirs && (strlen(s->dirs[k]) != len ||
					memcmp(s->dirs[k], path, len) != 0))
			k++;
		if (k < s->ndirs)
			continue;
		s->too_many = s->ndirs == DIRS_MAX;
		if (s->too_many)
			break;
		s->dirs[s->ndirs] = arena_strndup(p->arena, path, len);
		if (s->dirs[s->ndirs++] == NULL)
			return error_no_memory(err);
	}
	return 0;
}

/* The only directory with an unclaimed file of this name, size and time: one of
 * another time may be an older dataset's.  NULL: none, or several. */
static const char *
find_dir(const struct search *s, const struct redset_file *f)
{
	const char *found = NULL;
	size_t count = 0;
	struct buf path = BUF_INIT;
	struct stat st;

	for (size_t i = 0; i < s->ndirs; i++) {
		buf_clear(&path);
		if (buf_printf(&path, "%s%s", s->dirs[i], path_base(f->path)) <
			    0 ||
		    map_get(s->claimed, path.data) != MAP_NONE ||
		    path_stat_beneath(s->w->p.places[0].root_fd, path.data, &st,
				      NULL) < 0 ||
		    !S_ISREG(st.st_mode) ||
		    (uint64_t)st.st_size != f->attr.size ||
		    !f->attr.has_times ||
		    st.st_mtim.tv_sec != f->attr.mtime.tv_sec ||
		    /* Some file systems keep whole seconds. */
		    (st.st_mtim.tv_nsec != f->attr.mtime.tv_nsec &&
		     st.st_mtim.tv_nsec != 0))
			continue;
		found = s->dirs[i];
		count++;
	}
	buf_free(&path);
	return count == 1 ? found : NULL;
}

/*
 * Compose the filemap of a member.  Returns 1, 0 if a file is not found, or -1
 * on error.  A header has the names in the cache, but not the paths on the
 * prefix.  So a filemap in a cache cannot be written, but the files of the rank
 * are known.
 */
static int
compose_member(const struct search *s, const struct plan_member *m,
	       const char *root, struct error *err)
{
	struct planner *w = s->w;
	struct plan_rank *r = &w->p.ranks[m->rank];
	const bool cache = w->p.places[0].cache;
	const struct redset_member *l = &m->list;
	struct filemap map = { .nfiles = l->nfiles, .ranks = l->desc.ranks };

	map.files = arena_alloc(w->p.arena, l->nfiles + 1, sizeof(*map.files));
	if (map.files == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < l->nfiles; i++) {
		const struct redset_file *f = &l->files[l->nfiles - 1 - i];
		struct filemap_file *to = &map.files[i];
		const char *dir = cache ? NULL : find_dir(s, f);

		*to = (struct filemap_file){
			.cache_path = f->path,
			.attr = f->attr,
			.complete = true,
			.ranks = l->desc.ranks,
		};
		if (cache)
			continue;
		if (dir == NULL)
			return 0;
		to->name = path_base(f->path);
		to->dir = arena_printf(w->p.arena, "%s/%s", root, dir);
		if (to->dir == NULL)
			return error_no_memory(err);
	}
	w->filemaps[m->rank] = map;
	r->map_known = r->composed = true;
	if (!cache)
		return plan_name_map(w, m->rank, err) < 0 ? -1 : 1;
	if (m->name != NULL)
		r->map.place = m->place;
	r->map.fate = FATE_LOST;
	r->unplaced = true;
	return 1;
}

static int
compose_set(const struct search *s, struct plan_set *set, const char *root,
	    size_t *count, struct error *err)
{
	struct planner *w = s->w;

	if (!set->opened && plan_open_set(w, set, w->p.arena, err) < 0)
		return -1;
	for (uint32_t i = 0; i < set->n && !set->foreign; i++) {
		const struct plan_member *m = &set->members[i];
		const struct plan_rank *r = plan_rank_of(&w->p, m);
		int rc = 0;

		if (r == NULL || r->map_known || !m->list.known)
			continue;
		rc = compose_member(s, m, root, err);
		if (rc < 0)
			return -1;
		*count += rc > 0;
	}
	return 0;
}

int
plan_compose_from_headers(struct planner *w, size_t *count, struct error *err)
{
	struct search s = { .w = w };
	struct buf root = BUF_INIT;
	int rc = 0;

	*count = 0;
	if (w->by_hand || w->reported || w->searched)
		return 0;
	for (size_t i = 0; rc == 0 && !s.too_many && i < w->p.nsets; i++) {
		struct plan_set *set = &w->p.sets[i];
		bool lacks = false;

		for (uint32_t m = 0; !set->map && m < set->n && !lacks; m++) {
			const struct plan_rank *r =
				plan_rank_of(&w->p, &set->members[m]);

			lacks = r != NULL && !r->map_known;
		}
		if (!lacks)
			continue;
		if (!w->searched) {
			w->searched = true;
			rc = w->p.places[0].cache ? 0 : list_dirs(&s, err);
			if (rc == 0)
				rc = recorded_root(w, &root, err);
		}
		if (rc == 0 && !s.too_many)
			rc = compose_set(&s, set, root.data, count, err);
	}
	map_free(s.claimed);
	buf_free(&root);
	return rc;
}

/* --- Contents --- */

/* Encode the filemap of a rank, with the additions from its set. */
static int
encode_map(struct planner *w, struct plan_rank *r, const struct filemap *m,
	   struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	struct buf path = BUF_INIT, dir = BUF_INIT;
	int rc = t == NULL || kvtree_put(t, "FILE", err) == NULL ? -1 : 0;

	for (size_t i = 0; i < m->nfiles && rc == 0; i++) {
		const struct plan_file *pf = &w->p.files[r->first_file + i];
		struct filemap_file f = m->files[i];

		if (path_normal(f.dir, &dir, err) < 0 ||
		    path_join(&path, dir.data, f.name, err) < 0) {
			rc = -1;
			break;
		}
		f.dir = dir.data;
		f.orig = path.data;
		f.cache_path =
			pf->cache_path[0] == '/' ? pf->cache_path : path.data;
		f.attr = pf->attr;
		f.has_crc = f.has_crc && pf->has_crc;
		rc = filemap_add(t, &f, err);
	}
	if (rc == 0)
		rc = plan_keep_image(t, w->p.arena, &r->map, err);
	if (rc == 0)
		r->map.fate = FATE_REBUILD;
	kvtree_free(t);
	buf_free(&path);
	buf_free(&dir);
	return rc;
}

int
plan_compose_set(struct planner *w, struct plan_set *s, struct error *err)
{
	const bool coded = redset_is_redundant(s->type);
	bool unsized = !coded, composed = false;

	/* Are all filemaps read or composed, and at least one composed? */
	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_rank *r = plan_rank_of(&w->p, &s->members[m]);

		if (r == NULL || !r->map_known || r->unplaced)
			return 0;
		composed = composed || r->composed;
	}
	if (!composed)
		return 0;
	/* Does a rank lack sizes that rank2file and the headers of its set do
	 * not have? */
	for (uint32_t m = 0; m < s->n && !unsized; m++) {
		struct plan_rank *r = &w->p.ranks[s->members[m].rank];

		for (size_t i = 0; r->unsized && i < r->nfiles && !unsized; i++)
			unsized = !w->p.files[r->first_file + i].attr.has_size;
		r->unsized = unsized && r->unsized;
	}
	/* Nothing needs the composed filemaps of a set without redundancy:
	 * rank2file has the same files.  So they do not count as missing; nor
	 * do those that lack sizes, of which none can be written. */
	for (uint32_t m = 0; unsized && m < s->n; m++)
		w->p.ranks[s->members[m].rank].map.fate = FATE_KEEP;
	if (!coded)
		return plan_solve_set(w, s, w->p.arena, err) < 0 ? -1 : 1;
	if (unsized) {
		plan_forget_solution(s);
		s->verdict = SET_WHOLE;
		s->missing = 0;
		for (uint32_t i = 0; i < s->n; i++)
			s->members[i].fate = FATE_KEEP;
		return 1;
	}
	for (uint32_t m = 0; m < s->n; m++) {
		const uint32_t rank = s->members[m].rank;
		struct plan_rank *r = &w->p.ranks[rank];

		/* What the old redundancy has restored is written, too. */
		if (r->composed &&
		    encode_map(w, r, &w->filemaps[rank], err) < 0)
			return -1;
		r->composed = r->composed || (r->map.fate == FATE_REBUILD &&
					      r->map.image != NULL);
	}
	/* All redundancy files of the set are computed again. */
	for (uint32_t i = 0; i < s->n; i++) {
		struct plan_member *m = &s->members[i];
		struct plan_red *red = m->red;

		m->state = RED_MISSING;
		m->problem = NULL;
		m->list = (struct redset_member){ .known = false };
		*red = (struct plan_red){ .descriptor = red->descriptor };
	}
	plan_forget_solution(s);
	s->flaw = NULL;
	if (plan_renew_lists(w, s, w->p.arena, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->members[i].list.known &&
		    (plan_name_member(w, s, i, w->p.arena, err) < 0 ||
		     plan_make_header(w, s, i, w->p.arena, err) < 0))
			return -1;
	return plan_solve_set(w, s, w->p.arena, err) < 0 ? -1 : 1;
}
