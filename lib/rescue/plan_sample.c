/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_sample.c - the tolerance of a set that lacks nothing, from one header.
 *
 * Opening all headers would take two more files for each rank.  Instead, the
 * sizes and times of the other redundancy files are compared.  If one does not
 * fit, all headers of the set are read.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "dir.h"
#include "error.h"
#include "mem.h"
#include "rescue/plan_impl.h"

#define SECOND INT64_C(1000000)

/* --- Does a set have losses? --- */

bool
plan_rank_lacks(const struct planner *w, const struct plan_member *m, bool map)
{
	const struct plan_rank *r = plan_rank_of(&w->p, m);

	if (r == NULL || (!r->map_known && !w->bare))
		return true;
	for (size_t i = 0; !map && i < r->nfiles; i++)
		if (plan_file_lost(&w->p.files[r->first_file + i]))
			return true;
	return false;
}

bool
plan_set_lacks(const struct planner *w, const struct plan_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];

		if (m->state == RED_MISSING || m->state == RED_DAMAGED ||
		    plan_rank_lacks(w, m, s->map) ||
		    w->p.ranks[m->rank].composed) /* its list is needed */
			return true;
	}
	return false;
}

/* Bytes of the files of a rank. */
static uint64_t
rank_bytes(const struct plan *p, int64_t rank)
{
	const struct plan_rank *r = &p->ranks[rank];
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nfiles; i++)
		sum += p->files[r->first_file + i].attr.size;
	return sum;
}

/* What the filemaps and the header `h` of one member tell about all members. */
static struct redset_member *
list_members(const struct planner *w, const struct plan_set *s,
	     const struct redset_header *h)
{
	struct redset_member *all = mem_calloc(s->n, sizeof(*all));

	for (uint32_t i = 0; all != NULL && i < s->n; i++) {
		all[i].desc = h->desc;
		all[i].desc.member = i;
		all[i].known = true;
		if (!s->map)
			all[i].bytes = rank_bytes(&w->p, s->members[i].rank);
	}
	return all;
}

/* Are size and time of the redundancy file plausible?  It must have room for a
 * header and its `body`, and not be older than the dataset.  The headers of a
 * set differ little in size. */
static bool
fits(const struct planner *w, const struct plan_set *s,
     const struct plan_member *m, uint64_t body)
{
	const uint64_t header = s->members[0].red->body_start;
	struct stat st;

	if (m->red->report != NULL || m->red->nsegs > 0)
		return true;
	return dir_stat(w->p.places[m->place].meta_fd, m->name, &st,
			AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size >= body + header - header / 4 &&
	       (!w->owner.known ||
		st.st_mtim.tv_sec >= w->owner.floor / SECOND);
}

/* Read a header.  s->sampled: everything fits. */
static int
sample_set(struct planner *w, struct plan_set *s, struct arena *arena,
	   struct error *err)
{
	const struct plan_member *m = &s->members[0];
	struct redset_table table = { .arena = arena };
	struct redset_member *all = NULL;
	uint64_t body = 0;
	bool good = false;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->members[i].state != RED_UNCHECKED)
			return 0;
	if (plan_read_header(w, s, 0, &table, err) < 0)
		return -1;
	if (m->state != RED_PRESENT)
		return 0;
	plan_owner_set(w, s);
	s->foreign = false; /* all headers together decide */
	if (m->state != RED_PRESENT)
		return 0;
	s->failures = m->red->read->desc.failures;
	s->chunk = m->red->read->chunk;
	all = list_members(w, s, m->red->read);
	if (all == NULL)
		return error_no_memory(err);
	good = redset_body_size(all, s->chunk, 0, &body, NULL) == 0 &&
	       m->file_size >= m->red->body_start + body;
	for (uint32_t i = 1; good && i < s->n; i++)
		good = redset_body_size(all, s->chunk, i, &body, NULL) == 0 &&
		       fits(w, s, &s->members[i], body);
	s->sampled = good;
	mem_free(all);
	return 0;
}

/* Does the header that was read agree with the filemaps?  If so, the set is
 * whole. */
static int
take_sample(struct planner *w, size_t set, struct error *err)
{
	struct plan_set *s = &w->p.sets[set];
	struct solve_member *none = NULL;
	struct solve_set whole;

	if (!s->sampled)
		return 0;
	if (plan_join_set(w, (uint32_t)set, err) < 0)
		return -1;
	s->sampled = s->flaw == NULL && !plan_set_lacks(w, s);
	if (s->flaw != NULL) {
		/* One header against a filemap: all headers together decide. */
		struct plan_member *m = &s->members[0];

		s->flaw = NULL;
		m->state = RED_UNCHECKED;
		m->red->read = NULL;
		m->list.known = false;
		for (uint32_t i = 0; i < s->n; i++)
			s->members[i].files = NULL;
		return 0;
	}
	none = mem_calloc(s->n, sizeof(*none));
	if (none == NULL)
		return error_no_memory(err);
	whole = plan_solve_of(s, none);
	s->spare = scheme_of(s->type)->spare(&whole);
	mem_free(none);
	return 0;
}

bool
plan_wants_headers(const struct planner *w, bool map)
{
	return (w->o->flags & PLAN_HEADERS) || w->overlap ||
	       (!map && (w->o->flags & PLAN_UNPROVED) && !plan_provable(&w->p));
}

int
plan_sample_sets(struct planner *w, size_t *sets, size_t *count,
		 struct error *err)
{
	size_t *whole = mem_alloc(*count + 1, sizeof(*whole));
	size_t n = 0, kept = 0;
	int rc = 0;

	if (whole == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < *count; i++)
		if (plan_set_lacks(w, &w->p.sets[sets[i]]))
			sets[kept++] = sets[i];
		else
			whole[n++] = sets[i];
	rc = plan_each_set(w, whole, n, sample_set, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = take_sample(w, whole[i], err);
		if (rc == 0 && !w->p.sets[whole[i]].sampled)
			sets[kept++] = whole[i];
	}
	mem_free(whole);
	*count = kept;
	return rc;
}
