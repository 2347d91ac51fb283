/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_record.c - other records of the files: rank2file has their paths, and
 * often sizes and checksums; copied_R.scr has the checksums of files that a
 * scavenge copied.
 *
 * Both are read only if a file is missing or wrong, or if checksums are to be
 * compared: a rebuilt file must match all records.
 */
#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "map.h"
#include "mem.h"
#include "meta/copied.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"

struct plan_record {
	struct rank2file own;	       /* read for this record */
	const struct rank2file *ranks; /* `own`, or that of the containers */
	struct plan_paths paths;       /* of `ranks` */
};

/* --- Files by path --- */

int
plan_paths(const struct rank2file *r, bool summed, struct plan_paths *out,
	   struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nranks; i++)
		for (size_t k = 0; k < r->ranks[i].nfiles; k++)
			n += !summed || r->ranks[i].files[k].has_crc;
	out->by_path = map_new();
	out->entries = mem_calloc(n + 1, sizeof(*out->entries));
	if (out->by_path == NULL || out->entries == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < r->nranks; i++) {
		const struct rank2file_rank *rank = &r->ranks[i];

		for (size_t k = 0; k < rank->nfiles; k++) {
			const struct rank2file_file *f = &rank->files[k];

			if (summed && !f->has_crc)
				continue;
			out->entries[out->count].rank = (uint32_t)i;
			out->entries[out->count].file = f;
			if (map_put(out->by_path, f->path, out->count++) < 0)
				return error_no_memory(err);
		}
	}
	return 0;
}

void
plan_paths_free(struct plan_paths *p)
{
	map_free(p->by_path);
	mem_free(p->entries);
}

void
plan_record_free(struct plan_record *r)
{
	if (r == NULL)
		return;
	rank2file_free(&r->own);
	plan_paths_free(&r->paths);
	mem_free(r);
}

/* --- rank2file --- */

/* Does a file of one rank have the place of another one's?  Then one of the
 * filemaps may be a copy of the other. */
static int
find_overlap(const struct planner *w, const struct plan_file **one,
	     const struct plan_file **other, struct error *err)
{
	struct map *places = map_new();
	int rc = places == NULL ? -1 : 0;

	*one = *other = NULL;
	for (size_t i = 0; rc == 0 && *one == NULL && i < w->p.nfiles; i++) {
		const struct plan_file *f = &w->p.files[i];
		const size_t at = map_get(places, f->path);

		if (at == MAP_NONE) {
			rc = map_put(places, f->path, i);
		} else if (w->p.files[at].rank != f->rank) {
			*one = &w->p.files[at];
			*other = f;
		}
	}
	map_free(places);
	return rc < 0 ? error_no_memory(err) : 0;
}

static bool
has_record(const struct planner *w)
{
	return !w->p.places[0].cache && !w->bare && !w->by_hand && !w->reported;
}

/* Are these records needed?  If data and redundancy differ, only a checksum may
 * show which file is wrong.  Without redundancy over the filemaps, rank2file
 * may restore them. */
static bool
needed(const struct planner *w)
{
	if ((w->o->flags & (PLAN_CHECKSUMS | PLAN_HEADERS)) ||
	    plan_maps_alone(w))
		return true;
	for (int64_t i = 0; i < w->p.nranks; i++)
		if (!w->p.ranks[i].map_known)
			return true;
	for (size_t i = 0; i < w->p.nfiles; i++)
		if (plan_file_lost(&w->p.files[i]))
			return true;
	return false;
}

/* Read rank2file, if it is that of a complete dataset.  A damaged one counts as
 * empty. */
static int
load(struct planner *w, struct error *err)
{
	struct plan_record *r = NULL;
	struct error why = ERROR_INIT;
	bool complete = false;

	if (plan_owner_is_complete(w, &complete, err) < 0)
		return -1;
	if (!complete)
		return 0;
	r = mem_calloc(1, sizeof(*r));
	if (r == NULL)
		return error_no_memory(err);
	r->ranks = plan_packed_ranks(&w->p);
	if (r->ranks == NULL &&
	    rank2file_load_some(w->p.places[0].meta_fd, RANK2FILE_FILE, w->par,
				NULL, &r->own, &why) == 0)
		r->ranks = &r->own;
	if (r->ranks != NULL) {
		w->record = r;
		return 0;
	}
	plan_record_free(r);
	if (why.kind == ERROR_ABSENT || plan_blames_file(&why))
		return 0;
	return error_pass(err, &why);
}

/* The entry of a file of the plan; NULL: none. */
static const struct rank2file_file *
find(const struct plan_record *r, const struct plan_file *f)
{
	size_t at = map_get(r->paths.by_path, f->path);

	if (at == MAP_NONE || r->paths.entries[at].rank != f->rank)
		return NULL;
	return r->paths.entries[at].file;
}

/* Is rank2file right about the files of this rank, and the filemap wrong? */
static bool
contradicts(const struct planner *w, uint32_t rank)
{
	const struct plan_record *r = w->record;
	const struct plan_rank *pr = &w->p.ranks[rank];

	if (!pr->map_known || rank >= r->ranks->nranks ||
	    !r->ranks->ranks[rank].present)
		return pr->map_known && rank >= r->ranks->nranks;
	if (r->ranks->ranks[rank].nfiles != pr->nfiles)
		return true;
	for (size_t i = 0; i < pr->nfiles; i++) {
		const struct plan_file *f = &w->p.files[pr->first_file + i];
		const struct rank2file_file *is = find(r, f);

		if (is == NULL || (is->has_size && is->size != f->attr.size) ||
		    (is->has_crc && f->has_crc && is->crc != f->crc))
			return true;
	}
	return false;
}

/* Do the filemaps together name another number of files than the descriptor? */
static bool
totals_differ(const struct planner *w)
{
	uint64_t bytes = 0;

	for (int64_t i = 0; i < w->p.nranks; i++)
		if (!w->p.ranks[i].map_known)
			return false;
	for (size_t i = 0; i < w->p.nfiles; i++)
		bytes += w->p.files[i].attr.size;
	return w->owner.known && w->owner.is.files >= 0 &&
	       ((uint64_t)w->owner.is.files != w->p.nfiles ||
		w->owner.is.bytes != bytes);
}

/* Take the checksums in rank2file. */
static void
take_sums(struct planner *w)
{
	for (size_t i = 0; i < w->p.nfiles; i++) {
		struct plan_file *f = &w->p.files[i];
		const struct rank2file_file *is = NULL;

		if (f->has_crc)
			continue;
		is = find(w->record, f);
		if (is == NULL || !is->has_crc)
			continue;
		f->has_crc = true;
		f->crc = is->crc;
	}
}

/* Two filemaps name a file, rank2file is lost, and the descriptor tells of
 * others. */
static int
refuse_overlap(const struct plan_file *one, const struct plan_file *other,
	       struct error *err)
{
	return error_set(err, ERROR_DAMAGED,
			 "filemaps of ranks %" PRIu32 " and %" PRIu32
			 " both name %s: one of them is a copy: remove it, so "
			 "that it is rebuilt",
			 one->rank, other->rank, str_shown(one->path));
}

int
plan_record_load(struct planner *w, size_t *dropped, struct error *err)
{
	const struct plan_file *one = NULL, *other = NULL;
	bool all = false;

	*dropped = 0;
	if (w->record != NULL || !has_record(w))
		return 0;
	if (find_overlap(w, &one, &other, err) < 0)
		return -1;
	if (one == NULL && !needed(w))
		return 0;
	if (load(w, err) < 0)
		return -1;
	if (w->record == NULL)
		return one != NULL && totals_differ(w)
			       ? refuse_overlap(one, other, err)
			       : 0;
	if (plan_paths(w->record->ranks, false, &w->record->paths, err) < 0)
		return -1;
	/* A copy spoils the totals, too. */
	all = one == NULL && totals_differ(w);
	for (int64_t i = 0; i < w->p.nranks; i++) {
		if (!all && !contradicts(w, (uint32_t)i))
			continue;
		plan_owner_forget(w, i);
		(*dropped)++;
	}
	if (*dropped == 0)
		return 0;
	plan_owner_sweep(w);
	for (size_t i = 0; all && i < w->p.nsets; i++)
		w->p.sets[i].foreign = true;
	plan_owner_drop_sets(w);
	return plan_count_ranks(w, err);
}

const struct rank2file_rank *
plan_record_rank(const struct planner *w, uint32_t rank)
{
	const struct rank2file_rank *r = NULL;

	if (w->record == NULL || rank >= w->record->ranks->nranks)
		return NULL;
	r = &w->record->ranks->ranks[rank];
	for (size_t i = 0; i < r->nfiles; i++)
		if (!r->files[i].has_size)
			return NULL;
	return r->present ? r : NULL;
}

bool
plan_record_has_all(const struct planner *w)
{
	for (int64_t i = 0; i < w->p.nranks; i++)
		if (plan_record_rank(w, (uint32_t)i) == NULL)
			return false;
	return true;
}

/* The file of rank `r` with this base name, first tried at `guess`; NULL:
 * none. */
static const struct rank2file_file *
by_name(const struct rank2file_rank *r, const char *name, size_t guess)
{
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct rank2file_file *f =
			&r->files[(guess + i) % r->nfiles];

		if (strcmp(path_base(f->path), name) == 0)
			return f;
	}
	return NULL;
}

bool
plan_record_denies(const struct planner *w, const struct redset_member *l)
{
	const struct rank2file_rank *r = NULL;

	if (w->record == NULL || !l->known)
		return false;
	if (l->desc.rank >= w->record->ranks->nranks)
		return true;
	r = &w->record->ranks->ranks[l->desc.rank];
	if (!r->present)
		return false;
	if (r->nfiles != l->nfiles)
		return true;
	for (size_t i = 0; i < l->nfiles; i++) {
		/* The order is mostly that of rank2file, or the reverse. */
		const struct rank2file_file *f = NULL;
		const char *name = path_base(l->files[i].path);
		const size_t back = l->nfiles - 1 - i;

		f = strcmp(path_base(r->files[back].path), name) == 0
			    ? &r->files[back]
			    : by_name(r, name, i);
		if (f == NULL ||
		    (f->has_size && f->size != l->files[i].attr.size))
			return true;
	}
	return false;
}

/* --- copied_R.scr --- */

static void
take_copied(struct plan_file *f, const struct copied *c)
{
	for (size_t i = 0; i < c->nfiles; i++) {
		const struct copied_file *k = &c->files[i];

		if (strcmp(k->path, f->path) != 0 || k->size != f->attr.size ||
		    k->mtime.tv_sec != f->attr.mtime.tv_sec ||
		    k->mtime.tv_nsec != f->attr.mtime.tv_nsec)
			continue;
		f->has_crc = true;
		f->crc = k->crc;
		return;
	}
}

/* Take the checksums of missing files of a rank from the list of the scavenge
 * that copied them. */
static int
ask_copied(struct planner *w, const struct plan_rank *r, uint32_t rank,
	   struct arena *arena, struct error *err)
{
	char name[COPIED_NAME_MAX];
	struct error why = ERROR_INIT;
	struct kvtree *t = kvtree_read_beneath(
		w->p.places[0].meta_fd, copied_name(name, rank), NULL, &why);
	struct copied c;

	if (t != NULL && copied_read(t, arena, &c, &why) == 0)
		for (size_t i = 0; i < r->nfiles; i++) {
			struct plan_file *f = &w->p.files[r->first_file + i];

			if (plan_file_lost(f) && !f->has_crc &&
			    f->attr.has_times)
				take_copied(f, &c);
		}
	kvtree_free(t);
	if (why.kind == ERROR_NONE || why.kind == ERROR_ABSENT ||
	    plan_blames_file(&why))
		return 0;
	return error_pass(err, &why);
}

static bool
lacks_sum(const struct planner *w, const struct plan_rank *r)
{
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct plan_file *f = &w->p.files[r->first_file + i];

		if (plan_file_lost(f) && !f->has_crc)
			return true;
	}
	return false;
}

int
plan_record_sums(struct planner *w, struct error *err)
{
	struct arena *arena = NULL;
	int rc = 0;

	if (w->record != NULL)
		take_sums(w);
	if (!has_record(w))
		return 0;
	arena = arena_new();
	if (arena == NULL)
		return error_no_memory(err);
	for (int64_t i = 0; i < w->p.nranks && rc == 0; i++) {
		if (!lacks_sum(w, &w->p.ranks[i]))
			continue;
		arena_reset(arena);
		rc = ask_copied(w, &w->p.ranks[i], (uint32_t)i, arena, err);
	}
	arena_free(arena);
	return rc;
}
