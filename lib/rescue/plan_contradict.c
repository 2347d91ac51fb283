/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_contradict.c - filemap, rank2file and the headers of redundancy files
 * name different files of a rank: which of them is right?
 *
 * Each can be left over from an older dataset, or be that of another one, put
 * there by mistake.  None decides alone.  The headers of the redundancy, the
 * times of the files, the files on disk and the totals of the descriptor are
 * asked; if they do not decide, the dataset is unknown.  Of the headers of one
 * set, and the filemaps of its ranks, one that most others contradict is that
 * of another dataset.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"

/* Are the recorded times those of one version of a file?  Whole seconds: not
 * all file systems keep more. */
static bool
same_time(const struct attr *a, const struct attr *b)
{
	return !a->has_times || !b->has_times ||
	       (a->mtime.tv_sec <= b->mtime.tv_sec + 1 &&
		b->mtime.tv_sec <= a->mtime.tv_sec + 1);
}

bool
plan_map_has_list(const struct planner *w, const struct plan_rank *r,
		  const struct redset_member *l, enum plan_agreement how)
{
	if (!r->map_known || r->composed || r->nfiles != l->nfiles)
		return false;
	for (size_t i = 0; i < l->nfiles; i++) {
		/* Mostly in reverse order. */
		const size_t guess = l->nfiles - 1 - i;
		size_t k = 0;

		for (; k < r->nfiles; k++) {
			const struct plan_file *f =
				&w->p.files[r->first_file +
					    (guess + k) % r->nfiles];

			if ((how < PLAN_BY_SIZE ||
			     f->attr.size == l->files[i].attr.size) &&
			    (how < PLAN_BY_TIME ||
			     same_time(&f->attr, &l->files[i].attr)) &&
			    strcmp(f->cache_path, l->files[i].path) == 0)
				break;
		}
		if (k == r->nfiles)
			return false;
	}
	return true;
}

/* --- Headers of one set --- */

static bool
same_list(const struct redset_member *a, const struct redset_member *b)
{
	if (a->nfiles != b->nfiles)
		return false;
	for (size_t i = 0; i < a->nfiles; i++)
		if (a->files[i].attr.size != b->files[i].attr.size ||
		    !same_time(&a->files[i].attr, &b->files[i].attr) ||
		    strcmp(a->files[i].path, b->files[i].path) != 0)
			return false;
	return true;
}

int
plan_outvote_headers(const struct planner *w, struct plan_set *s,
		     struct error *err)
{
	uint32_t *disputes = mem_calloc(s->n, sizeof(*disputes));
	bool one = disputes != NULL;

	while (one) {
		uint32_t most = 0;

		/* Count for each member the lists of its header that others
		 * contradict: their own headers, and if there are any, the
		 * filemaps of their ranks. */
		memset(disputes, 0, s->n * sizeof(*disputes));
		for (uint32_t i = 0; i < s->n; i++) {
			const struct redset_header *h = s->members[i].red->read;

			for (uint32_t d = 1; h != NULL && d < s->n &&
					     d <= redset_neighbours(&h->desc);
			     d++) {
				const uint32_t j = redset_left(&h->desc, i, d);
				const struct redset_header *g =
					s->members[j].red->read;

				if (g == NULL || !h->members[j].known ||
				    same_list(&h->members[j], &g->members[j]))
					continue;
				disputes[i]++;
				disputes[j]++;
			}
		}
		for (uint32_t i = 0; i < s->n; i++) {
			const struct redset_header *h = s->members[i].red->read;

			for (uint32_t k = 0; disputes[i] > 0 && k < s->n; k++) {
				const struct plan_rank *r =
					plan_rank_of(&w->p, &s->members[k]);

				disputes[i] +=
					!s->map && h->members[k].known &&
					r != NULL && r->map_known &&
					!r->composed &&
					!plan_map_has_list(w, r, &h->members[k],
							   PLAN_BY_TIME);
			}
		}
		for (uint32_t i = 0; i < s->n; i++)
			most = disputes[i] > most ? disputes[i] : most;
		/* If all are contradicted alike, nothing shows who is right. */
		one = false;
		for (uint32_t i = 0; i < s->n; i++)
			one = one || (disputes[i] > 0 && disputes[i] < most);
		s->disputed = most > 0 && !one;
		for (uint32_t i = 0; one && i < s->n; i++) {
			if (disputes[i] < most)
				continue;
			s->members[i].state = RED_DAMAGED;
			s->members[i].problem = "belongs to another dataset";
			s->members[i].red->foreign = true;
			s->members[i].red->read = NULL;
			s->members[i].list.known = false;
		}
	}
	mem_free(disputes);
	return disputes == NULL ? error_no_memory(err) : 0;
}

/* Are all files that the filemap names older than those of the list? */
static bool
map_is_older(const struct planner *w, const struct plan_rank *r,
	     const struct redset_member *l)
{
	int64_t newest = INT64_MIN;

	for (size_t i = 0; i < r->nfiles; i++) {
		const struct attr *a = &w->p.files[r->first_file + i].attr;

		if (!a->has_times)
			return false;
		if (a->mtime.tv_sec > newest)
			newest = a->mtime.tv_sec;
	}
	for (size_t i = 0; i < l->nfiles; i++)
		if (!l->files[i].attr.has_times ||
		    l->files[i].attr.mtime.tv_sec <= newest + 1)
			return false;
	return l->nfiles > 0;
}

/* A filemap that does not have the list of its rank: has it one of another? */
static bool
is_misplaced(const struct planner *w, const struct plan_rank *r)
{
	for (size_t i = 0; i < w->p.nsets; i++) {
		const struct plan_set *s = &w->p.sets[i];

		for (uint32_t k = 0; !s->map && k < s->n; k++)
			if (s->members[k].list.known &&
			    plan_map_has_list(w, r, &s->members[k].list,
					      PLAN_BY_SIZE))
				return true;
	}
	return false;
}

bool
plan_outvote_maps(struct planner *w, const struct plan_set *s)
{
	uint32_t agree = 0, contradict = 0, misplaced = 0;

	/* First count, then forget. */
	for (uint32_t i = 0; i < 2 * s->n; i++) {
		const struct plan_member *m = &s->members[i % s->n];
		struct plan_rank *r = plan_rank_of(&w->p, m);

		if (i == s->n && (contradict + misplaced == 0 ||
				  agree + misplaced <= contradict))
			return false;
		if (r == NULL || !r->map_known || r->composed || !m->list.known)
			continue;
		if (plan_map_has_list(w, r, &m->list, PLAN_BY_NAME) &&
		    !map_is_older(w, r, &m->list)) {
			agree += i < s->n;
		} else if (i >= s->n) {
			r->doubted = true;
			plan_owner_forget(w, m->rank);
		} else if (r->doubted &&
			   (r->refused != NULL ||
			    !plan_map_has_list(w, r, &m->list, PLAN_BY_NAME))) {
			/* Its own redundancy made it again; of an older one of
			 * the same files, the list is enough. */
			return false;
		} else {
			const bool other = is_misplaced(w, r);

			misplaced += other;
			contradict += !other;
		}
	}
	plan_owner_sweep(w);
	return true;
}

/* Does a file of one rank have the place of another one's?  Then one of the
 * filemaps may be a copy of the other. */
static int
find_overlap(const struct planner *w, const struct plan_file **one,
	     const struct plan_file **other, struct error *err)
{
	struct map *places = map_new();
	int rc = 0;

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

bool
plan_contradicts(const struct planner *w, uint32_t rank, bool sums)
{
	const struct rank2file_rank *r = plan_record_rank(w, rank);
	const struct plan_rank *pr = &w->p.ranks[rank];

	if (!pr->map_known || pr->composed)
		return false;
	if (r == NULL)
		return (int64_t)rank >= plan_record_ranks(w);
	if (r->nfiles != pr->nfiles)
		return true;
	for (size_t i = 0; i < pr->nfiles; i++) {
		const struct plan_file *f = &w->p.files[pr->first_file + i];
		const struct rank2file_file *is = plan_record_find(w, f);

		if (is == NULL || (is->has_size && is->size != f->attr.size) ||
		    (sums && is->has_crc && f->has_crc && is->crc != f->crc))
			return true;
	}
	return false;
}

/* Has the filemap, as the job wrote it, checksums that rank2file has, too? */
static bool
shares_sums(const struct planner *w, uint32_t rank)
{
	const struct plan_rank *r = &w->p.ranks[rank];

	for (size_t i = 0; !r->composed && i < r->nfiles; i++) {
		const struct plan_file *f = &w->p.files[r->first_file + i];
		const struct rank2file_file *is = plan_record_find(w, f);

		if (f->has_crc && !f->record_crc && is != NULL && is->has_crc)
			return true;
	}
	return false;
}

/* --- What the other witnesses say --- */

/* Number of files and bytes, compared with the descriptor. */
enum totals { TOTALS_UNKNOWN, TOTALS_EQUAL, TOTALS_DIFFER };

static enum totals
compare_totals(const struct planner *w, size_t files, uint64_t bytes)
{
	if (w->owner.is.files < 0)
		return TOTALS_UNKNOWN;
	return (uint64_t)w->owner.is.files == files &&
			       w->owner.is.bytes == bytes
		       ? TOTALS_EQUAL
		       : TOTALS_DIFFER;
}

static enum totals
totals_of_maps(const struct planner *w)
{
	uint64_t bytes = 0;

	for (int64_t i = 0; i < w->p.nranks; i++)
		if (!w->p.ranks[i].map_known)
			return TOTALS_UNKNOWN;
	for (size_t i = 0; i < w->p.nfiles; i++)
		bytes += w->p.files[i].attr.size;
	return compare_totals(w, w->p.nfiles, bytes);
}

/* Is a file of rank2file there?  *size: as recorded, else as found;
 * UINT64_MAX: unknown. */
static bool
is_there(const struct planner *w, const struct rank2file_file *f,
	 uint64_t *size)
{
	struct stat st;

	*size = f->has_size ? f->size : UINT64_MAX;
	if (f->nsegs > 0)
		return plan_packed_knows(&w->p, f->path, f->size);
	if (!path_is_clean(f->path) ||
	    path_stat_beneath(w->p.places[0].root_fd, f->path, &st, NULL) < 0)
		return false;
	if (!f->has_size)
		*size = (uint64_t)st.st_size;
	return file_state_of(&st, size) == FILE_PRESENT;
}

static enum totals
totals_of_record(const struct planner *w)
{
	uint64_t bytes = 0, size = 0;
	size_t files = 0;

	for (int64_t i = 0; i < plan_record_ranks(w); i++) {
		const struct rank2file_rank *r =
			plan_record_rank(w, (uint32_t)i);

		if (r == NULL)
			return TOTALS_UNKNOWN;
		files += r->nfiles;
		for (size_t k = 0; k < r->nfiles; k++) {
			size = r->files[k].size;
			if (!r->files[k].has_size)
				(void)is_there(w, &r->files[k], &size);
			if (size == UINT64_MAX)
				return TOTALS_UNKNOWN;
			bytes += size;
		}
	}
	return compare_totals(w, files, bytes);
}

bool
plan_record_fits(const struct planner *w)
{
	return totals_of_record(w) == TOTALS_EQUAL;
}

/* --- The verdict --- */

/* Who is right about a rank?  > 0: the filemap; < 0: rank2file. */
static int
weigh(struct planner *w, uint32_t rank, enum totals maps, enum totals record,
      int *out, struct error *err)
{
	const struct plan_rank *pr = &w->p.ranks[rank];
	const struct rank2file_rank *r = plan_record_rank(w, rank);
	struct plan_set *s =
		pr->data_set == PLAN_NONE ? NULL : &w->p.sets[pr->data_set];
	const struct redset_member *list = NULL; /* in the headers of its set */
	bool fits = true, record_fits = r != NULL;
	uint64_t size = 0;

	if (s != NULL && s->n > 0) {
		if (!s->opened && plan_open_set(w, s, w->p.arena, err) < 0)
			return -1;
		if (!s->foreign && s->members[pr->data_member].list.known)
			list = &s->members[pr->data_member].list;
	}
	/* Of these, only the descriptor was written by neither.  Headers came
	 * with the filemaps, but there are several for each list.  Files that
	 * fit can be those of another dataset.  Totals say nothing of
	 * checksums. */
	*out = plan_contradicts(w, rank, true) &&
			       !plan_contradicts(w, rank, false)
		       ? 0
		       : 4 * ((maps == TOTALS_EQUAL &&
			       record != TOTALS_UNKNOWN) -
			      (record == TOTALS_EQUAL));
	if (list != NULL)
		*out += 2 * plan_map_has_list(w, pr, list, PLAN_BY_SIZE) -
			2 * !plan_record_denies(w, list);
	for (size_t i = 0; i < pr->nfiles && fits; i++)
		fits = !plan_file_lost(&w->p.files[pr->first_file + i]);
	for (size_t i = 0; r != NULL && i < r->nfiles && record_fits; i++)
		record_fits = is_there(w, &r->files[i], &size);
	*out += plan_owner_dates(w, rank) + fits - record_fits -
		2 * plan_record_exchanged(w, rank);
	return 0;
}

int
plan_refuse_overlap(const struct planner *w, struct error *err)
{
	const struct plan_file *one = NULL, *other = NULL;

	if (w->record == NULL || plan_record_usable(w))
		return 0;
	if (find_overlap(w, &one, &other, err) < 0)
		return -1;
	if (one == NULL || totals_of_maps(w) != TOTALS_DIFFER)
		return 0;
	return error_set(err, ERROR_DAMAGED,
			 "filemaps of ranks %" PRIu32 " and %" PRIu32
			 " both name %s: one of them is a copy: remove it, so "
			 "that it is rebuilt",
			 one->rank, other->rank, str_shown(one->path));
}

/* Drop the filemaps that were found to be wrong, and the headers that agree
 * with these alone.  `all`: because the totals are those of rank2file. */
static int
drop(struct planner *w, bool all, struct error *err)
{
	plan_owner_sweep(w);
	for (size_t i = 0; i < w->p.nsets; i++) {
		struct plan_set *s = &w->p.sets[i];
		uint32_t gone = 0;

		if (s->opened && !s->map)
			plan_owner_set(w, s);
		for (uint32_t m = 0; s->map && m < s->n; m++)
			gone += plan_rank_of(&w->p, &s->members[m]) != NULL &&
				w->p.ranks[s->members[m].rank].map.name == NULL;
		s->foreign = s->foreign || all || (gone > 0 && gone == s->n);
	}
	plan_owner_drop_sets(w);
	return plan_count_ranks(w, err);
}

/* The dataset whose files the filemap of a rank names; 0: this one's. */
static int
other_of(struct planner *w, uint32_t rank, int64_t *id, struct error *err)
{
	const struct plan_rank *r = &w->p.ranks[rank];

	*id = 0;
	return !r->map_known || r->composed || r->nfiles == 0
		       ? 0
		       : plan_other_of(w, rank, w->p.files[r->first_file].path,
				       id, err);
}

/* Drop the filemaps that name files of another dataset.  Without any that does
 * not, or if the redundancy makes it again, it is unknown whose they are. */
static int
drop_others(struct planner *w, size_t *dropped, struct error *err)
{
	int64_t id = 0, first = -1, owner = 0;
	bool undecided = false;
	size_t ours = 0;

	for (int64_t i = 0; i < w->p.nranks; i++) {
		const struct plan_rank *r = &w->p.ranks[i];

		if (other_of(w, (uint32_t)i, &id, err) < 0)
			return -1;
		if (id == 0) {
			ours += r->map_known ||
				plan_record_rank(w, (uint32_t)i) != NULL;
			continue;
		}
		undecided = undecided || r->doubted;
		owner = first < 0 ? id : owner;
		first = first < 0 ? i : first;
	}
	if (first < 0)
		return 0;
	if (undecided || ours == 0)
		return plan_set_flaw(
			&w->p, STATUS_FAILED,
			arena_printf(
				w->p.arena,
				"filemap_%" PRId64
				" names %s, a file of dataset %" PRId64,
				first,
				str_shown(
					w->p.files[w->p.ranks[first].first_file]
						.path),
				owner),
			err);
	for (int64_t i = first; i < w->p.nranks; i++) {
		if (other_of(w, (uint32_t)i, &id, err) < 0)
			return -1;
		if (id == 0)
			continue;
		w->p.ranks[i].doubted = true;
		plan_owner_forget(w, i);
		(*dropped)++;
	}
	return drop(w, false, err);
}

int
plan_contradictions(struct planner *w, size_t *dropped, struct error *err)
{
	const struct plan_file *one = NULL, *other = NULL;
	enum totals maps = TOTALS_UNKNOWN, record = TOTALS_UNKNOWN;
	bool all = false, any = false;
	int64_t sum = 0, old_sums = 0;
	int *balance = NULL, rc = 0;

	*dropped = 0;
	if (w->record == NULL || w->p.flaw != NULL)
		return 0;
	if (drop_others(w, dropped, err) < 0)
		return -1;
	if (*dropped > 0 || w->p.flaw != NULL || w->compared)
		return 0;
	w->compared = true;
	if (find_overlap(w, &one, &other, err) < 0)
		return -1;
	w->overlap = one != NULL;
	maps = totals_of_maps(w);
	if (!plan_record_usable(w))
		return 0;
	for (int64_t i = 0; i < w->p.nranks && !any; i++)
		any = plan_contradicts(w, (uint32_t)i, true);
	if (any || maps == TOTALS_DIFFER)
		record = totals_of_record(w);
	/* A copy spoils the totals, too. */
	all = one == NULL && maps == TOTALS_DIFFER && record == TOTALS_EQUAL;
	balance = any || all ? mem_calloc((size_t)w->p.nranks + 1,
					  sizeof(*balance))
			     : NULL;
	if (balance == NULL)
		return any || all ? error_no_memory(err) : 0;
	for (int64_t i = 0; rc == 0 && i < w->p.nranks; i++) {
		if ((all && w->p.ranks[i].map_known) ||
		    plan_contradicts(w, (uint32_t)i, true))
			rc = weigh(w, (uint32_t)i, maps, record, &balance[i],
				   err);
		sum += balance[i];
	}
	/* Filemaps are many files, a part of rank2file is one. */
	for (int64_t i = 0; rc == 0 && i < w->p.nranks; i++) {
		const bool differ = plan_contradicts(w, (uint32_t)i, true);

		if (shares_sums(w, (uint32_t)i) &&
		    !plan_contradicts(w, (uint32_t)i, false))
			old_sums += differ && balance[i] >= 0 ? 1 : -1;

		if (balance[i] == 0 && differ && sum == 0)
			rc = plan_set_flaw(
				&w->p, STATUS_FAILED,
				arena_printf(
					w->p.arena,
					"filemap_%" PRId64
					" and rank2file name "
					"different files of rank %" PRId64
					", and "
					"nothing shows which of them is right",
					i, i),
				err);
		else if (balance[i] < 0 ||
			 (balance[i] == 0 && differ && sum < 0)) {
			plan_owner_forget(w, i);
			(*dropped)++;
		}
		if (w->p.flaw != NULL)
			break;
	}
	mem_free(balance);
	if (rc < 0)
		return -1;
	/* The checksums of an older rank2file. */
	w->p.old_sums = w->p.old_sums || old_sums > 0;
	for (size_t i = 0; w->p.old_sums && i < w->p.nfiles; i++)
		w->p.files[i].has_crc &= !w->p.files[i].record_crc;
	return *dropped > 0 ? drop(w, all, err) : 0;
}
