/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_record.c - other records of the files: rank2file has their paths, and
 * often sizes and checksums; copied_R.scr has the checksums of files that a
 * scavenge copied.
 *
 * A rebuilt file must match all records.
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
	const struct rank2file *ranks; /* `own`, or that of the containers;
					  NULL: see `why` */
	struct error why;
	bool usable;		 /* false: the plan does without it */
	struct plan_paths paths; /* of `ranks` */
	bool vouched; /* summary or index say that the dataset is complete */
};

/* --- Files by path --- */

int
plan_paths(const struct rank2file *r, struct plan_paths *out, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nranks; i++)
		n += r->ranks[i].nfiles;
	out->by_path = map_new();
	out->entries = mem_calloc(n + 1, sizeof(*out->entries));
	if (out->entries == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < r->nranks; i++) {
		const struct rank2file_rank *rank = &r->ranks[i];

		for (size_t k = 0; k < rank->nfiles; k++) {
			const struct rank2file_file *f = &rank->files[k];

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

/* Leave out the ranks whose files are those of another dataset. */
static int
sift(struct planner *w, struct rank2file *r, struct error *err)
{
	for (size_t i = 0; i < r->nranks; i++) {
		struct rank2file_rank *k = &r->ranks[i];
		const char *path = k->nfiles > 0 ? k->files[0].path : NULL;
		int64_t id = 0;

		if (plan_other_of(w, (uint32_t)i, path, &id, err) < 0)
			return -1;
		if (id == 0)
			continue;
		if (r->flaw == NULL)
			r->flaw = arena_printf(w->p.arena,
					       RANK2FILE_FILE
					       ": names %s, a file of dataset "
					       "%" PRId64,
					       str_shown(path), id);
		if (r->flaw == NULL)
			return error_no_memory(err);
		k->present = false;
		k->nfiles = 0;
	}
	return 0;
}

/* Only the rank2file of a complete dataset names all its files.  Where nothing
 * else names any, that of an unfinished flush is better than nothing. */
int
plan_record_load(struct planner *w, struct error *err)
{
	struct plan_record *r = mem_calloc(1, sizeof(*r));

	if (r == NULL)
		return error_no_memory(err);
	w->record = r;
	/* Only complete datasets are packed. */
	r->vouched = w->owner.complete || w->packed != NULL;
	r->ranks = w->packed != NULL ? &w->packed->r2f : NULL;
	if (r->ranks == NULL) {
		/* If it is damaged or missing, r->why says so: then it counts
		 * as empty. */
		if (rank2file_load_left(w->p.places[0].meta_fd, &r->own,
					&r->why) == 0)
			r->ranks = &r->own;
		else if (r->why.kind != ERROR_ABSENT &&
			 !plan_blames_file(&r->why))
			return error_pass(err, &r->why);
	}
	if (r->ranks == &r->own && sift(w, &r->own, err) < 0)
		return -1;
	r->usable =
		r->ranks != NULL && (r->vouched || w->nmaps + w->nreds == 0);
	return r->ranks != NULL ? plan_paths(r->ranks, &r->paths, err) : 0;
}

bool
plan_record_usable(const struct planner *w)
{
	return w->record != NULL && w->record->usable;
}

const struct rank2file *
plan_rank2file(const struct plan *p, struct error *why)
{
	const struct planner *w = (const struct planner *)p;

	if (w->record != NULL && w->record->ranks != NULL)
		return w->record->ranks;
	if (w->record != NULL)
		(void)error_pass(why, &w->record->why);
	return NULL;
}

int64_t
plan_record_ranks(const struct planner *w)
{
	return plan_record_usable(w) ? (int64_t)w->record->ranks->nranks : 0;
}

void
plan_record_ask(const struct planner *w)
{
	struct plan_record *r = w->record;

	if (r == NULL || r->ranks == NULL || r->usable || w->p.outdated)
		return;
	r->usable = true;
	r->vouched = plan_record_fits(w);
	/* Another dataset's can have the same totals. */
	for (int64_t i = 0; r->vouched && i < w->p.nranks; i++)
		r->vouched = !plan_contradicts(w, (uint32_t)i, true) ||
			     plan_record_exchanged(w, (uint32_t)i);
	r->usable = r->vouched;
}

static const struct plan_path *
find_path(const struct planner *w, const struct plan_file *f)
{
	const struct plan_record *r = w->record;
	size_t at = MAP_NONE;

	if (r != NULL && r->ranks != NULL && !w->p.outdated && f->path != NULL)
		at = map_get(r->paths.by_path, f->path);
	return at == MAP_NONE ? NULL : &r->paths.entries[at];
}

/* The entry of a file of the plan; NULL: none. */
const struct rank2file_file *
plan_record_find(const struct planner *w, const struct plan_file *f)
{
	const struct plan_path *is = find_path(w, f);

	return is != NULL && is->rank == f->rank ? is->file : NULL;
}

const struct rank2file_rank *
plan_record_rank(const struct planner *w, uint32_t rank)
{
	const struct rank2file_rank *r = NULL;

	if (rank >= (uint64_t)plan_record_ranks(w))
		return NULL;
	r = &w->record->ranks->ranks[rank];
	return r->present ? r : NULL;
}

bool
plan_record_exchanged(const struct planner *w, uint32_t rank)
{
	const struct plan_rank *pr = &w->p.ranks[rank];
	const struct rank2file_rank *r = NULL;
	int64_t owner = -1;

	for (size_t i = 0; i < pr->nfiles; i++) {
		const struct plan_path *is =
			find_path(w, &w->p.files[pr->first_file + i]);

		if (is == NULL || (i > 0 && is->rank != owner))
			return false;
		owner = is->rank;
	}
	r = owner < 0 ? NULL : plan_record_rank(w, (uint32_t)owner);
	return r != NULL && owner != rank && r->nfiles == pr->nfiles;
}

bool
plan_record_denies(const struct planner *w, const struct redset_member *l)
{
	const struct rank2file_rank *r = NULL;

	if (!plan_record_usable(w) || !l->known)
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

		if (strcmp(path_base(r->files[back].path), name) == 0)
			f = &r->files[back];
		for (size_t k = 0; f == NULL && k < r->nfiles; k++)
			if (strcmp(path_base(
					   r->files[(i + k) % r->nfiles].path),
				   name) == 0)
				f = &r->files[(i + k) % r->nfiles];
		if (f == NULL ||
		    (f->has_size && f->size != l->files[i].attr.size))
			return true;
	}
	return false;
}

/* --- Whose it is --- */

/* Of a few small files: does any on disk have its checksum in rank2file, and do
 * others not?  Files that are themselves of an older run say nothing. */
static int
compare_sums(struct planner *w, bool *equal, bool *differ, struct error *err)
{
	bool *look = mem_calloc(w->p.nfiles + 1, sizeof(*look));
	uint32_t *crcs = mem_calloc(w->p.nfiles + 1, sizeof(*crcs));
	size_t tries[4], n = 0;
	struct error why = ERROR_INIT;
	int rc = look == NULL || crcs == NULL ? error_no_memory(&why) : 0;

	for (; rc == 0 && n < 4; n++) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < w->p.nfiles; i++) {
			const struct plan_file *f = &w->p.files[i];
			const struct rank2file_file *is =
				plan_record_find(w, f);

			if (is != NULL && is->has_crc && f->attr.size > 0 &&
			    !look[i] &&
			    (best == SIZE_MAX ||
			     f->attr.size < w->p.files[best].attr.size))
				best = i;
		}
		if (best == SIZE_MAX)
			break;
		look[best] = true;
		tries[n] = best;
	}
	if (rc == 0 && n > 0)
		rc = plan_check_files(&w->p, w->work, look, crcs, &why);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct plan_file *f = &w->p.files[tries[i]];

		if (plan_file_age(&w->p, f) == AGE_OLDER)
			continue;
		if (plan_record_find(w, f)->crc == crcs[tries[i]])
			*equal = true;
		else if (!look[tries[i]]) /* it could be read */
			*differ = true;
	}
	mem_free(look);
	mem_free(crcs);
	return why.kind == ERROR_NOMEM ? error_pass(err, &why) : 0;
}

/* A stale summary makes nothing stale that agrees with the filemaps.  What is
 * in containers has its times; other files are on disk, to be compared. */
int
plan_judge_record(struct planner *w, struct error *err)
{
	const int64_t newest = w->packed != NULL ? plan_packed_newest(w) : -1;
	bool equal = false, differ = false;

	if (!w->p.older_summary || w->judged)
		return 0;
	w->judged = true;
	if (newest < 0) {
		differ = !plan_record_usable(w);
		for (int64_t i = 0; i < w->p.nranks; i++)
			differ = differ ||
				 plan_contradicts(w, (uint32_t)i, true);
	}
	if (newest >= 0)
		differ = plan_owner_is_older(w, newest);
	else if (w->packed == NULL && compare_sums(w, &equal, &differ, err) < 0)
		return -1;
	if (newest < 0 && w->packed != NULL && !differ)
		return plan_set_flaw(
			&w->p, STATUS_FAILED,
			"its summary is that of an older dataset, and nothing "
			"shows of which one the containers are",
			err);
	if (!differ || equal)
		return 0;
	w->p.outdated = true;
	w->p.packed = false; /* the containers are the older one's */
	w->record->usable = false;
	return 0;
}

/* --- copied_R.scr --- */

int
plan_copied(const struct plan *p, uint32_t rank, struct arena *arena,
	    struct copied *out, struct error *err)
{
	char name[COPIED_NAME_MAX];
	struct error why = ERROR_INIT;
	struct kvtree *t = kvtree_read_beneath(
		p->places[0].meta_fd, copied_name(name, rank), NULL, &why);
	const int rc = t != NULL ? copied_read(t, arena, out, &why) : -1;

	kvtree_free(t);
	if (rc == 0)
		return 1;
	*out = (struct copied){ .nfiles = 0 };
	return why.kind == ERROR_ABSENT || plan_blames_file(&why)
		       ? 0
		       : error_pass(err, &why);
}

/* Take the checksums of missing files of a rank from the list of the scavenge
 * that copied them. */
static int
ask_copied(struct planner *w, const struct plan_rank *r, uint32_t rank,
	   struct arena *arena, struct error *err)
{
	struct copied c;

	if (plan_copied(&w->p, rank, arena, &c, err) < 0)
		return -1;
	for (size_t i = 0; i < r->nfiles; i++) {
		struct plan_file *f = &w->p.files[r->first_file + i];

		for (size_t k = 0; plan_file_lost(f) && !f->has_crc &&
				   f->attr.has_times && k < c.nfiles;
		     k++) {
			const struct copied_file *is = &c.files[k];

			f->has_crc = strcmp(is->path, f->path) == 0 &&
				     is->size == f->attr.size &&
				     is->mtime.tv_sec == f->attr.mtime.tv_sec &&
				     is->mtime.tv_nsec == f->attr.mtime.tv_nsec;
			f->crc = is->crc;
		}
	}
	return 0;
}

static bool
is_suspect(const struct planner *w, const struct plan_file *f)
{
	return f->older && f->record_crc && f->state == FILE_PRESENT &&
	       !plan_owner_is_before(w, &f->attr);
}

/* A file is older than recorded: with another checksum it is wrong.  If it has
 * that of rank2file, and no newer file has, rank2file is as old as it: unless
 * the dataset is, too, and so the filemaps are what is left of another. */
static int
compare_older(struct planner *w, struct error *err)
{
	struct plan *p = &w->p;
	bool *wrong = mem_calloc(p->nfiles + 1, sizeof(*wrong));
	bool any = false, old = false, equal = false, differ = false;
	int rc = wrong == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		wrong[i] = is_suspect(w, &p->files[i]);
		any = any || wrong[i];
	}
	if (any)
		rc = plan_check_files(p, w->work, wrong, NULL, err);
	for (size_t i = 0; any && rc == 0 && i < p->nfiles; i++) {
		struct plan_file *f = &p->files[i];

		if (wrong[i])
			f->state = f->unread ? FILE_UNREAD : FILE_WRONG_CRC;
		else
			old = old || (f->attr.size > 0 && is_suspect(w, f));
	}
	if (rc == 0 && old)
		rc = compare_sums(w, &equal, &differ, err);
	p->old_sums = p->old_sums || (old && !equal);
	for (size_t i = 0; any && rc == 0 && p->old_sums && i < p->nfiles;
	     i++) {
		p->files[i].has_crc &= !p->files[i].record_crc;
		p->files[i].record_crc &= p->files[i].has_crc;
	}
	mem_free(wrong);
	return rc;
}

int
plan_record_sums(struct planner *w, struct error *err)
{
	struct arena *arena = NULL;
	int rc = 0;

	if (w->record == NULL)
		return 0;
	for (size_t i = 0; i < w->p.nfiles; i++) {
		struct plan_file *f = &w->p.files[i];
		const struct rank2file_file *is =
			f->has_crc || w->p.old_sums ? NULL
						    : plan_record_find(w, f);

		if (is == NULL || !is->has_crc ||
		    (is->has_size && is->size != f->attr.size))
			continue;
		f->has_crc = f->record_crc = true;
		f->crc = is->crc;
	}
	if (!w->reported && compare_older(w, err) < 0)
		return -1;
	arena = arena_new();
	for (int64_t i = 0; i < w->p.nranks && rc == 0; i++) {
		const struct plan_rank *r = &w->p.ranks[i];
		bool lacks = false;

		for (size_t k = 0; k < r->nfiles; k++)
			lacks = lacks ||
				(plan_file_lost(
					 &w->p.files[r->first_file + k]) &&
				 !w->p.files[r->first_file + k].has_crc);
		if (!lacks)
			continue;
		arena_reset(arena);
		rc = ask_copied(w, &w->p.ranks[i], (uint32_t)i, arena, err);
	}
	arena_free(arena);
	return rc;
}

/* LLNL's flush records no sizes.  Then the total must be that of the
 * descriptor.  Only a rank2file that the summary vouches for needs no total. */
int
plan_unsized(struct planner *w, struct error *err)
{
	uint64_t bytes = 0;
	size_t unsized = 0;

	for (size_t i = 0; i < w->p.nfiles; i++) {
		const struct plan_file *f = &w->p.files[i];

		if (plan_file_lost(f))
			return 0;
		unsized += !f->attr.has_size;
		bytes += f->attr.size;
	}
	if (unsized == 0 || w->p.flaw != NULL)
		return 0;
	if (w->owner.is.files != (int64_t)w->p.nfiles)
		return plan_record_usable(w) && w->record->vouched
			       ? 0
			       : plan_set_flaw(
					 &w->p, STATUS_FAILED,
					 "nothing records the size of its "
					 "files, so they cannot be checked",
					 err);
	w->p.total_compared = w->owner.is.bytes == bytes;
	if (w->p.total_compared)
		return 0;
	return plan_set_flaw(&w->p, STATUS_LOST,
			     arena_printf(w->p.arena,
					  "its %zu %s add up to %" PRIu64
					  " bytes, the descriptor says %" PRIu64
					  ": one was cut or overwritten",
					  str_count(w->p.nfiles, "file"), bytes,
					  w->owner.is.bytes),
			     err);
}
