/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_owner.c - which filemaps and redundancy files belong to the dataset.
 *
 * A directory scr.dataset.ID can hold files of two datasets.  When ids start
 * again, LLNL's flush of the new dataset replaces only data, summary and
 * rank2file; the filemaps and redundancy files of an older scavenge stay.
 * Using these would restore the older dataset, or garbage.
 *
 * A job creates a dataset (CREATED in its descriptor), then writes the files,
 * then the filemaps, then the redundancy; filemaps and headers record the times
 * of the files (scr-dataset(5) and scr-redset(5)).  So times before CREATED
 * show an older dataset.  Later times do not show a newer one: a job that
 * fetches the dataset writes filemaps and redundancy of its own, with its own
 * job id in the paths.
 */
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "str.h"
#include "when.h"
#include "work.h"

#define SECOND INT64_C(1000000)

/* Largest difference between the clocks of a job's nodes. */
#define SKEW (2 * SECOND)

/* The same if files on disk confirm the filemap. */
#define SKEW_CONFIRMED (3600 * SECOND)

/* --- The descriptor --- */

static void
adopt(struct planner *w, enum descriptor_source s)
{
	w->owner.is = w->owner.found.from[s].view;
	w->owner.known = w->owner.is.created_us > 0;
	w->owner.floor = w->owner.is.created_us - SKEW;
}

const struct descriptors *
plan_descriptors(const struct plan *p)
{
	return &((const struct planner *)p)->owner.found;
}

int
plan_owner_load(struct planner *w, struct error *err)
{
	const struct descriptor_at at = {
		.prefix_fd = w->p.places[0].root_fd,
		.meta_fd = w->p.places[0].meta_fd,
		.meta = w->p.places[0].meta,
		.id = w->p.id,
		.index = w->o->remade ? NULL : w->o->index,
	};
	struct descriptors *found = &w->owner.found;

	if (descriptors_read(&at, found, err) < 0)
		return -1;
	if (found->chosen != DESCRIPTOR_SOURCES)
		adopt(w, found->chosen);
	else
		w->owner.is.files = -1;
	w->owner.complete = found->complete;
	return 0;
}

/* --- Times --- */

static int64_t
micros(const struct timespec *t)
{
	if (t->tv_sec > INT64_MAX / SECOND - 1)
		return INT64_MAX;
	return (int64_t)t->tv_sec * SECOND + t->tv_nsec / 1000;
}

/* Raise *newest to the time at which the file was last written. */
static void
raise(int64_t *newest, const struct attr *a)
{
	const int64_t m = micros(&a->mtime), c = micros(&a->ctime);

	if (!a->has_times)
		return;
	if (m > *newest)
		*newest = m;
	if (c > *newest)
		*newest = c;
}

/* The newest time in a filemap; -1: none. */
static int64_t
newest_of_map(const struct filemap *m)
{
	int64_t newest = -1;

	for (size_t i = 0; i < m->nfiles; i++)
		raise(&newest, &m->files[i].attr);
	return newest;
}

bool
plan_owner_is_older(const struct planner *w, int64_t newest)
{
	return w->owner.known && newest >= 0 && newest < w->owner.floor;
}

bool
plan_owner_is_before(const struct planner *w, const struct attr *a)
{
	int64_t at = -1;

	raise(&at, a);
	return w->owner.known && w->owner.is.created_us + SKEW_CONFIRMED < at;
}

bool
plan_owner_two_runs(const struct planner *w)
{
	int64_t first = INT64_MAX, last = -1;

	for (size_t i = 0; !w->owner.known && i < w->nmaps; i++) {
		const int64_t rank = w->maps[i].rank;
		const int64_t at = w->p.ranks[rank].map_known
					   ? newest_of_map(&w->filemaps[rank])
					   : -1;

		first = at >= 0 && at < first ? at : first;
		last = at > last ? at : last;
	}
	return last >= 0 && first < last - SKEW_CONFIRMED;
}

/* --- Filemaps --- */

/* The job id in a path of a cache (scr-dataset(5)): does it contradict the
 * descriptor? */
static bool
other_job(const struct planner *w, const char *path)
{
	const char *at = path != NULL ? strstr(path, "/scr.") : NULL;
	size_t len = 0;

	if (at == NULL || w->owner.is.job_id == NULL)
		return false;
	at += strlen("/scr.");
	len = strcspn(at, "/");
	return strlen(w->owner.is.job_id) != len ||
	       memcmp(at, w->owner.is.job_id, len) != 0;
}

/* Does the file on the prefix have the recorded time, to the nanosecond, and
 * is no other dataset's?  1: yes. */
static int
is_as_recorded(struct planner *w, uint32_t rank, const char *root,
	       const struct filemap_file *f, struct error *err)
{
	struct buf path = BUF_INIT;
	const char *rel = NULL;
	struct stat st;
	bool same = false;
	int64_t other = 0;
	int rc = 0;

	if (root != NULL && f->dir != NULL && f->name != NULL &&
	    f->attr.has_times && path_join(&path, f->dir, f->name, NULL) == 0)
		rel = path_below(path.data, root);
	if (rel != NULL && path_is_clean(rel) &&
	    path_stat_beneath(w->p.places[0].root_fd, rel, &st, NULL) == 0)
		same = S_ISREG(st.st_mode) &&
		       (uint64_t)st.st_size == f->attr.size &&
		       st.st_mtim.tv_sec == f->attr.mtime.tv_sec &&
		       st.st_mtim.tv_nsec == f->attr.mtime.tv_nsec;
	if (same)
		rc = plan_other_of(w, rank, rel, &other, err);
	buf_free(&path);
	return rc < 0 ? -1 : same && other == 0;
}

/* Slightly old filemaps may come from a node with a slow clock.  If files on
 * disk match such a filemap exactly, accept times as old as theirs. */
static int
allow_for_clocks(struct planner *w, struct error *err)
{
	const int64_t least = w->owner.is.created_us - SKEW_CONFIRMED;
	int64_t floor = w->owner.floor;
	struct buf root = BUF_INIT;
	int rc = 0;

	(void)path_real(w->p.places[0].root, &root, NULL);
	for (size_t i = 0; i < w->nmaps && rc >= 0; i++) {
		const struct filemap *m = &w->filemaps[w->maps[i].rank];
		int64_t newest = newest_of_map(m);

		if (!w->p.ranks[w->maps[i].rank].map_known ||
		    !plan_owner_is_older(w, newest) || newest < least ||
		    newest >= floor || other_job(w, m->files[0].cache_path))
			continue;
		rc = 0;
		for (size_t k = 0; k < m->nfiles && rc == 0; k++)
			rc = is_as_recorded(w, (uint32_t)w->maps[i].rank,
					    root.data, &m->files[k], err);
		floor = rc > 0 ? newest : floor;
	}
	w->owner.floor = floor;
	buf_free(&root);
	return rc < 0 ? -1 : 0;
}

bool
plan_owner_dates(const struct planner *w, uint32_t rank)
{
	return w->owner.known &&
	       newest_of_map(&w->filemaps[rank]) >= w->owner.is.created_us;
}

void
plan_owner_forget(struct planner *w, int64_t rank)
{
	struct plan_rank *r = &w->p.ranks[rank];

	if (r->map.fate == FATE_REBUILD) {
		r->refused = r->map.image;
		r->refused_size = r->map.image_size;
	}
	r->map = (struct plan_meta){ .why = "that of another dataset" };
	r->map_known = false;
	w->filemaps[rank] = (struct filemap){ .ranks = -1 };
}

void
plan_owner_sweep(struct planner *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->nmaps; i++)
		if (w->p.ranks[w->maps[i].rank].map.name != NULL)
			w->maps[kept++] = w->maps[i];
	w->owner.maps += w->nmaps - kept;
	w->nmaps = kept;
}

/* The dataset in whose cache directory a file was, by its path there; -1:
 * unknown. */
static int64_t
id_in_path(const char *path)
{
	size_t len = path == NULL ? 0 : (size_t)(path_base(path) - path);
	size_t from = 0;

	if (len > strlen("/" SCR_DIR "/") &&
	    str_starts(path + len - strlen("/" SCR_DIR "/"), "/" SCR_DIR "/"))
		len -= strlen(SCR_DIR "/"); /* a filemap */
	from = len > 0 ? len - 1 : 0;
	while (from > 0 && path[from - 1] != '/')
		from--;
	if (from == 0 || len - from > DATASET_DIR_NAME)
		return -1;
	return dataset_dir_id(str_printed(DATASET_DIR_NAME, "%.*s",
					  (int)(len - 1 - from), path + from));
}

int
plan_owner_maps(struct planner *w, struct error *err)
{
	const enum descriptor_source later = w->owner.found.later;
	bool ours = false, foreign = false;

	/* Some filemaps name files of the cache directory of this dataset:
	 * those that name files of another one's are not of this dataset. */
	for (int pass = 0; pass < 2 && w->p.id > 0; pass++)
		for (size_t i = 0; i < w->nmaps; i++) {
			const int64_t rank = w->maps[i].rank;
			const struct filemap *m = &w->filemaps[rank];
			const int64_t id =
				m->nfiles > 0
					? id_in_path(m->files[0].cache_path)
					: -1;

			w->owner.by_id = w->owner.by_id || id == w->p.id;
			if (pass > 0 && w->owner.by_id && id > 0 &&
			    id != w->p.id)
				plan_owner_forget(w, rank);
		}
	plan_owner_sweep(w);
	if (!w->owner.known)
		return 0;
	/* flush.scr describes a later dataset than the summary.  If a filemap
	 * is as new as the later dataset, the summary is left over.  If a
	 * scavenge has replaced the data, so are rank2file and containers: see
	 * plan_judge_record(). */
	for (size_t i = 0; later != DESCRIPTOR_SOURCES && i < w->nmaps; i++) {
		const int64_t rank = w->maps[i].rank;

		if (!w->p.ranks[rank].map_known ||
		    newest_of_map(&w->filemaps[rank]) <
			    w->owner.found.from[later].view.created_us - SKEW)
			continue;
		adopt(w, later);
		w->owner.is.files = -1;
		w->p.older_summary = true;
		break;
	}
	if (allow_for_clocks(w, err) < 0)
		return -1;
	for (size_t i = 0; i < w->nmaps; i++) {
		const int64_t rank = w->maps[i].rank;
		const struct plan_rank *r = &w->p.ranks[rank];
		/* -1: unknown, or another entry of this rank was read. */
		const int64_t newest =
			r->map_known && r->map.name == w->maps[i].name
				? newest_of_map(&w->filemaps[rank])
				: -1;

		if (!plan_owner_is_older(w, newest)) {
			ours = ours || newest >= 0;
			continue;
		}
		if (newest > w->owner.newest)
			w->owner.newest = newest;
		plan_owner_forget(w, rank);
		foreign = true;
	}
	/* Filemaps without files follow the others. */
	for (size_t i = 0; foreign && !ours && i < w->nmaps; i++)
		plan_owner_forget(w, w->maps[i].rank);
	plan_owner_sweep(w);
	return 0;
}

/* --- Redundancy --- */

int
plan_owner_names(struct planner *w, struct error *err)
{
	for (size_t i = 0; w->said_ranks >= 0 && i < w->p.nsets; i++) {
		struct plan_set *s = &w->p.sets[i];

		for (uint32_t m = 0; m < s->n; m++)
			s->foreign |= s->members[m].rank != PLAN_NONE &&
				      s->members[m].rank >= w->said_ranks;
	}
	return plan_owner_drop_sets(w) > 0 ? plan_count_ranks(w, err) : 0;
}

/* Do both the rank2file and the filemap of its rank, as far as they are known,
 * contradict this list in a header? */
static bool
is_denied(const struct planner *w, const struct redset_member *l)
{
	return plan_record_denies(w, l) &&
	       !(l->desc.rank < w->p.nranks &&
		 plan_map_has_list(w, &w->p.ranks[l->desc.rank], l,
				   PLAN_BY_SIZE));
}

void
plan_owner_set(const struct planner *w, struct plan_set *s)
{
	size_t foreign = 0, ours = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		struct plan_member *m = &s->members[i];
		const struct redset_header *h = m->red->read;
		int64_t newest = -1, id = -1;
		bool old = false, other = false;

		if (m->red->foreign) { /* sampled before */
			foreign++;
			continue;
		}
		/* The newest time in its own list, and in the lists of its left
		 * neighbours. */
		for (uint32_t d = 0;
		     h != NULL && d <= redset_neighbours(&h->desc); d++) {
			const struct redset_member *l =
				&h->members[(i + s->n - d) % s->n];

			for (size_t k = 0; l->known && k < l->nfiles; k++) {
				raise(&newest, &l->files[k].attr);
				id = id_in_path(l->files[k].path);
				other = other || (id > 0 && id != w->p.id);
			}
		}
		old = plan_owner_is_older(w, newest);
		other = other && w->owner.by_id;
		if (!old && !other &&
		    !(h != NULL && !s->map && is_denied(w, &h->members[i]))) {
			ours += newest >= 0;
			continue;
		}
		foreign++;
		m->state = RED_DAMAGED;
		m->problem = "belongs to another dataset";
		m->red->foreign = true;
		m->red->older = old ? newest : 0;
		m->red->read = NULL;
		m->list.known = false;
	}
	s->foreign = foreign > 0 && ours == 0;
}

/* Count the redundancy files of another dataset. */
static void
count_set(struct plan_owner *o, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];

		o->reds += m->red->foreign || (s->foreign && m->name != NULL);
		if (m->red->older > o->newest)
			o->newest = m->red->older;
	}
}

size_t
plan_owner_drop_sets(struct planner *w)
{
	struct plan *p = &w->p;
	size_t kept = 0, dropped = 0;

	for (size_t i = 0; i < p->nsets; i++)
		dropped += p->sets[i].foreign;
	if (dropped == 0)
		return 0;
	for (size_t i = 0; i < p->nsets; i++) {
		struct plan_set *s = &p->sets[i];
		bool left = s->n > 0; /* a set of this kind that has a file */

		for (size_t k = 0; k < p->nsets && !left; k++) {
			const struct plan_set *t = &p->sets[k];

			left = t->n > 0 && !t->foreign && t->map == s->map &&
			       t->type == s->type && t->sets == s->sets;
		}
		s->foreign = s->foreign || !left;
	}
	for (size_t i = 0; i < p->nsets; i++) {
		if (p->sets[i].foreign) {
			count_set(&w->owner, &p->sets[i]);
			plan_forget_solution(&p->sets[i]);
		} else {
			p->sets[kept++] = p->sets[i];
		}
	}
	p->nsets = kept;
	plan_claim_ranks(w);
	return dropped;
}

/* --- Report --- */

void
plan_owner_say(const struct planner *w)
{
	struct plan_owner o = w->owner;
	const char *name =
		w->p.id > 0 ? str_printed(48, "dataset %" PRId64, w->p.id)
			    : "the dataset";

	for (size_t i = 0; i < w->p.nsets; i++)
		count_set(&o, &w->p.sets[i]);
	if (o.maps + o.reds == 0)
		return;
	work_say(w->work,
		 "%s: %zu %s and %zu redundancy %s belong to another dataset: "
		 "not used; compute new redundancy",
		 name, str_count(o.maps, "filemap"), str_count(o.reds, "file"));
	if (o.newest > 0)
		work_detail(
			w->work, "%s: they are of %s, it was created %s", name,
			when_text((char[WHEN_TEXT]){ 0 }, o.newest / SECOND),
			when_text((char[WHEN_TEXT]){ 0 },
				  o.is.created_us / SECOND));
}
