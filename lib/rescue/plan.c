/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - the steps that make a plan, its totals, and its messages.
 *
 * names -> filemaps -> sets over filemaps (rebuild lost filemaps in memory) ->
 * files -> states on disk -> sets over files -> verdicts.
 */
#include "rescue/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/packed.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "rescue/plan_impl.h"
#include "str.h"
#include "work.h"

/* --- Freeing --- */

void
plan_free(struct plan *p)
{
	struct planner *w = (struct planner *)p;

	if (p == NULL)
		return;
	for (size_t i = 0; i < p->nsets; i++)
		plan_forget_solution(&p->sets[i]);
	for (size_t i = 0; p->places != NULL && i < p->nplaces; i++) {
		if (p->places[i].root_fd >= 0)
			close(p->places[i].root_fd);
		if (p->places[i].meta_fd >= 0)
			close(p->places[i].meta_fd);
	}
	for (unsigned i = 0; w->arenas != NULL && i < w->nworkers; i++)
		arena_free(w->arenas[i]);
	mem_free(w->arenas);
	mem_free(w->maps);
	mem_free(w->reds);
	mem_free(w->filemaps);
	mem_free(p->places);
	mem_free(p->ranks);
	mem_free(p->files);
	mem_free(p->sets);
	plan_packed_free(w->packed);
	plan_record_free(w->record);
	arena_free(w->p.arena);
	mem_free(w);
}

/* --- Totals --- */

static void
count_files(struct planner *w)
{
	struct plan *p = &w->p;

	p->bytes = 0;
	p->files_missing = p->files_rebuild = p->files_lost = p->barred = 0;
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (!plan_concerns(w, &p->ranks[f->rank]))
			continue;
		p->bytes += f->attr.size;
		p->files_missing +=
			f->state != FILE_PRESENT && f->state != FILE_ELSEWHERE;
		p->files_rebuild += f->fate == FATE_REBUILD;
		p->files_lost += f->fate == FATE_LOST;
		p->barred += f->state == FILE_PRESENT && f->barred;
	}
}

static void
count_ranks(struct planner *w)
{
	struct plan *p = &w->p;

	p->maps_missing = p->maps_lost = p->maps_unplaced = p->ranks_lost = 0;
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_rank *r = &p->ranks[i];
		bool lost = r->map.fate == FATE_LOST;

		p->maps_missing += r->map.fate != FATE_KEEP;
		p->maps_lost += lost;
		p->maps_unplaced += lost && r->unplaced;
		for (size_t f = 0; !lost && f < r->nfiles; f++)
			lost = p->files[r->first_file + f].fate == FATE_LOST;
		p->ranks_lost += lost;
	}
}

static void
count_sets(struct plan *p)
{
	p->red_missing = 0;
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		if (s->verdict > p->verdict)
			p->verdict = s->verdict;
		for (uint32_t m = 0; m < s->n; m++)
			p->red_missing += s->members[m].fate == FATE_REBUILD;
	}
}

/* --- Bytes that a rebuild reads and writes --- */

/* A chunk can reach beyond the end of its string: nothing is read there. */
static uint64_t
bytes_in(const struct plan_set *s, const struct solve_job *j)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < j->nin; i++) {
		const struct solve_ref *r = &j->in[i];
		const struct plan_member *m = &s->members[r->member];
		const uint64_t end =
			r->body ? m->red->body_size : m->list.bytes;

		if (r->off < end)
			sum += end - r->off < j->len ? end - r->off : j->len;
	}
	return sum;
}

/* The files of a member that are written: data or a filemap, redundancy. */
static uint64_t
bytes_out(const struct plan *p, const struct plan_set *s,
	  const struct plan_member *m)
{
	const struct plan_rank *r =
		m->rank < p->nranks ? &p->ranks[m->rank] : NULL;
	uint64_t sum = 0;

	for (size_t i = 0; m->files != NULL && i < m->list.nfiles; i++)
		if (m->files[i] != PLAN_NONE &&
		    p->files[m->files[i]].fate == FATE_REBUILD)
			sum += p->files[m->files[i]].attr.size;
	if (s->map && r != NULL && r->map.fate == FATE_REBUILD)
		sum += r->map.image_size;
	if (m->fate == FATE_REBUILD && m->name != NULL)
		sum += m->red->header_size + m->red->body_size +
		       (plan_writes_descriptor(m)
				? m->red->descriptor.image_size
				: 0);
	return sum;
}

static void
count_bytes(struct plan *p)
{
	p->bytes_read = p->bytes_written = 0;
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		if (s->solution == NULL || s->verdict == SET_WHOLE)
			continue;
		for (size_t j = 0; j < s->solution->njobs; j++)
			p->bytes_read += bytes_in(s, &s->solution->jobs[j]);
		for (uint32_t m = 0; m < s->n; m++) {
			const struct plan_member *is = &s->members[m];

			p->bytes_written += bytes_out(p, s, is);
			if (plan_copies_body(s, is))
				p->bytes_read += is->red->body_size;
		}
	}
}

static void
add_unread(struct plan *p, const char *text)
{
	if (p->unread++ == 0)
		p->first_unread = text;
}

/* Count what could not be read. */
static void
count_unread(struct plan *p)
{
	p->unread = 0;
	p->first_unread = NULL;
	for (int64_t i = 0; i < p->nranks; i++)
		if (p->ranks[i].map.unread)
			add_unread(p, p->ranks[i].map.why);
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t m = 0; m < p->sets[i].n; m++)
			if (p->sets[i].members[m].unread)
				add_unread(p, p->sets[i].members[m].problem);
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].state == FILE_UNREAD)
			add_unread(p, p->unread == 0
					      ? plan_unread_text(
							p, p->files[i].path)
					      : NULL);
}

bool
plan_maps_alone(const struct planner *w)
{
	bool data = false;

	if (w->bare || w->by_hand || w->reported)
		return false;
	for (size_t i = 0; i < w->p.nsets; i++) {
		if (w->p.sets[i].map)
			return false;
		data = data || redset_is_redundant(w->p.sets[i].type);
	}
	return data;
}

void
plan_finish(struct planner *w)
{
	struct plan *p = &w->p;

	plan_set_fates(w);
	p->exposed = plan_maps_alone(w) && !plan_record_has_all(w);
	count_unread(p);
	p->verdict = SET_WHOLE;
	count_files(w);
	count_ranks(w);
	count_sets(p);
	count_bytes(p);
	if (p->files_rebuild + p->maps_missing > 0 && p->verdict == SET_WHOLE)
		p->verdict = SET_REBUILDABLE;
	if (p->files_lost + p->maps_lost > 0)
		p->verdict = SET_LOST;
}

/* --- Making one --- */

/* Choose the threads, and make an arena for each of them. */
static int
start_workers(struct planner *w, struct error *err)
{
	w->par = work_waiting(w->work, w->p.places[0].meta_fd);
	w->nworkers = par_threads(w->par);
	w->arenas = mem_calloc(w->nworkers, sizeof(*w->arenas));
	for (unsigned i = 0; w->arenas != NULL && i < w->nworkers; i++) {
		w->arenas[i] = arena_new();
		if (w->arenas[i] == NULL)
			return error_no_memory(err);
	}
	return w->arenas != NULL ? 0 : error_no_memory(err);
}

/* ERROR_ABSENT if the dataset has no metadata for a plan. */
static int
check_any(const struct planner *w, struct error *err)
{
	struct error why = { .kind = ERROR_ABSENT };

	if (w->nmaps + w->p.nsets > 0)
		return 0;
	if (w->packed == NULL && !w->p.places[0].cache &&
	    packed_map_lost(w->p.places[0].meta_fd, &why))
		return error_set(err, ERROR_LOST, "%s: %s", w->p.places[0].meta,
				 why.text);
	return error_set(err, ERROR_ABSENT,
			 "%s: no filemap and no redundancy file of "
			 "this dataset",
			 w->p.places[0].meta);
}

/* Make the list of files, and look for them.  If filemaps turn out to be those
 * of another dataset, do it again without them. */
static int
find_files(struct planner *w, struct error *err)
{
	size_t dropped = 0, composed = 0, found = 0;

	do {
		w->p.nfiles = 0;
		if (plan_map_files(w, err) < 0 ||
		    plan_place_packed(w, err) < 0 ||
		    (!w->reported && plan_stat_files(w, 0, err) < 0) ||
		    plan_record_load(w, &dropped, err) < 0 ||
		    plan_compose_maps(w, &composed, err) < 0 ||
		    plan_compose_from_headers(w, &found, err) < 0)
			return -1;
	} while (dropped + composed + found > 0);
	return plan_record_sums(w, err);
}

static int
make(struct planner *w, struct error *err)
{
	const bool reported = w->reported;

	if (start_workers(w, err) < 0 || plan_scan_maps(w, err) < 0 ||
	    plan_make_sets(w, err) < 0 || plan_owner_names(w, err) < 0 ||
	    check_any(w, err) < 0)
		return -1;
	if (!w->bare && (plan_solve_sets(w, true, err) < 0 ||
			 (!reported && plan_restore_maps(w, err) < 0)))
		return -1;
	if (w->maps_only) {
		plan_finish(w);
		return 0;
	}
	if (!w->bare && find_files(w, err) < 0)
		return -1;
	if ((w->o->flags & PLAN_CHECKSUMS) && !w->bare && !reported &&
	    plan_check_all(w, err) < 0)
		return -1;
	if (plan_solve_sets(w, false, err) < 0 ||
	    plan_compose_finish(w, err) < 0 || check_any(w, err) < 0)
		return -1;
	plan_finish(w);
	if ((w->o->flags & PLAN_CHECKSUMS) && !w->bare && !reported &&
	    plan_check_reds(w, err) < 0)
		return -1;
	return plan_renew_gone(w, err);
}

int
plan_make(struct planner *w, struct error *err)
{
	struct error why = ERROR_INIT;

	if (make(w, &why) == 0 || why.kind == ERROR_ABSENT)
		plan_owner_say(w);
	return why.kind == ERROR_NONE ? 0 : error_pass(err, &why);
}

/* --- Messages --- */

const char *
file_state_name(enum file_state s)
{
	static const char *const names[FILE_STATES] = {
		"present",	   "missing",	     "wrong size",
		"not a file",	   "wrong checksum", "cannot be read",
		"never completed", "not in cache",
	};

	return (unsigned)s < FILE_STATES ? names[s] : "unknown";
}

const char *
red_state_name(enum red_state s)
{
	static const char *const names[] = {
		"present", "missing", "header damaged", "damaged", "unchecked",
	};

	return (unsigned)s < sizeof(names) / sizeof(names[0]) ? names[s]
							      : "unknown";
}

bool
plan_provable(const struct plan *p)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (!plan_file_provable(&p->files[i]))
			return false;
	return true;
}

int
plan_status(const struct plan *p)
{
	if (p->verdict == SET_LOST)
		return p->unread > 0 ? STATUS_FAILED : STATUS_LOST;
	if (p->barred > 0)
		return STATUS_FAILED;
	return p->verdict == SET_REBUILDABLE ? STATUS_DAMAGED : STATUS_OK;
}

int
plan_data_status(const struct plan *p)
{
	if (p->verdict != SET_LOST)
		return plan_status(p);
	for (int64_t i = 0; i < p->nranks; i++)
		if (!p->ranks[i].map_known)
			return plan_status(p);
	if (p->nranks <= 0 || p->files_lost > 0 ||
	    p->maps_lost > p->maps_unplaced)
		return plan_status(p);
	return STATUS_DAMAGED;
}

static int
compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

const char *
plan_ranks_in(struct arena *a, uint32_t *ranks, size_t count)
{
	struct buf text = BUF_INIT;
	const char *out = NULL;

	qsort(ranks, count, sizeof(*ranks), compare_u32);
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;

		while (end < count && ranks[end] <= ranks[end - 1] + 1)
			end++;
		if (buf_printf(&text, i ? " %u" : "%u", ranks[i]) < 0)
			goto out;
		if (ranks[end - 1] > ranks[i] &&
		    buf_printf(&text,
			       ranks[end - 1] > ranks[i] + 1 ? "-%u" : " %u",
			       ranks[end - 1]) < 0)
			goto out;
		i = end;
	}
	out = arena_strdup(a, text.len ? text.data : "");
out:
	buf_free(&text);
	return out;
}

const char *
plan_ranks_text(struct plan *p, const uint32_t *ranks, size_t count)
{
	uint32_t *copy = mem_alloc(count + 1, sizeof(*copy));
	const char *text = NULL;

	if (copy != NULL && count > 0)
		memcpy(copy, ranks, count * sizeof(*copy));
	if (copy != NULL)
		text = plan_ranks_in(p->arena, copy, count);
	mem_free(copy);
	return text != NULL ? text : "?";
}

/* Report a rank whose filemap is lost and that is in no set with remaining
 * files.  Sets are numbered by their first ranks.  So if whole sets are lost,
 * the first such rank belonged to the first of these sets. */
static int
lost_map(const struct plan *p, int64_t rank, struct error *err)
{
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		if (s->n == 0 && s->map && s->verdict == SET_LOST)
			return error_set(
				err, ERROR_LOST,
				"dataset %lld: no member is left of set %u of "
				"%u (%s over filemaps), to which rank %lld "
				"belongs; the files of %zu of %lld ranks are "
				"unknown",
				(long long)p->id, s->number, s->sets,
				redset_type_name(s->type), (long long)rank,
				p->maps_lost, (long long)p->nranks);
	}
	return error_set(
		err, ERROR_LOST,
		"dataset %lld: the filemap of rank %lld is lost (%s) and no "
		"redundancy is left that could rebuild it; the files of %zu "
		"of %lld ranks are unknown",
		(long long)p->id, (long long)rank, p->ranks[rank].map.why,
		p->maps_lost, (long long)p->nranks);
}

/* Report the first lost file or filemap that is in no set. */
static int
lost_outside(const struct plan *p, struct error *err)
{
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_rank *r = &p->ranks[i];

		if (r->map.fate == FATE_LOST)
			return lost_map(p, i, err);
		for (size_t f = 0; f < r->nfiles; f++) {
			const struct plan_file *pf =
				&p->files[r->first_file + f];

			if (pf->fate == FATE_LOST)
				return error_set(
					err, ERROR_LOST,
					"dataset %lld: %s of rank %lld: %s, "
					"and no redundancy is left that could "
					"rebuild it",
					(long long)p->id, pf->path,
					(long long)i,
					file_state_name(pf->state));
		}
	}
	return error_set(err, ERROR_LOST, "dataset %lld: data are lost",
			 (long long)p->id);
}

/* Write "; NAME: problem" if a file of the set is present but damaged, because
 * the user may be able to repair it.  Else "". */
static const char *
first_problem(const struct plan *p, const struct plan_set *s, char *to,
	      size_t size)
{
	const char *name = NULL, *why = NULL;

	to[0] = '\0';
	for (uint32_t i = 0; i < s->n && why == NULL; i++) {
		const struct plan_member *m = &s->members[i];

		name = m->name;
		why = m->problem;
		if (why == NULL && s->map && m->rank < p->nranks) {
			name = p->ranks[m->rank].map.name;
			why = p->ranks[m->rank].map.why;
		}
		if (name == NULL)
			why = NULL; /* missing: nothing to repair */
	}
	if (why != NULL && str_starts(why, name))
		snprintf(to, size, "; %s", why);
	else if (why != NULL)
		snprintf(to, size, "; %s: %s", name, why);
	return to;
}

/* Write "; the files of 2 of 4 ranks are unknown" if filemaps are lost.  Else
 * "". */
static const char *
unknown_files(const struct plan *p, char *to, size_t size)
{
	to[0] = '\0';
	if (p->maps_lost > p->maps_unplaced)
		snprintf(to, size,
			 "; the files of %zu of %lld ranks are unknown",
			 p->maps_lost - p->maps_unplaced, (long long)p->nranks);
	return to;
}

/* A set that is lost although files of it are left; NULL: none.  Lost filemaps
 * are no cause if all files are known without them. */
static const struct plan_set *
lost_set(const struct plan *p)
{
	const bool maps = p->maps_unplaced < p->maps_lost || p->files_lost == 0;

	for (size_t i = 0; i < p->nsets; i++)
		if (p->sets[i].verdict == SET_LOST && p->sets[i].n > 0 &&
		    (maps || !p->sets[i].map))
			return &p->sets[i];
	return NULL;
}

/* Something could not be read, so it is unknown whether data are lost. */
static int
unread_error(const struct plan *p, struct error *err)
{
	const struct plan_set *s = lost_set(p);
	char unknown[96];

	if (s == NULL)
		return error_set(
			err, ERROR_SYSTEM,
			"dataset %lld: %s, and no redundancy can rebuild it%s",
			(long long)p->id, p->first_unread,
			unknown_files(p, unknown, sizeof(unknown)));
	return error_set(err, ERROR_SYSTEM,
			 "dataset %lld: %s; without it, set %u of %u (%s%s) "
			 "cannot be rebuilt: %s",
			 (long long)p->id, p->first_unread, s->number, s->sets,
			 redset_type_name(s->type),
			 s->map ? " over filemaps" : "", s->reason);
}

/* No data are lost, only filemaps in caches. */
static int
unplaced_error(const struct plan *p, struct error *err)
{
	return error_set(err, ERROR_LOST,
			 "dataset %lld: %zu %s lost: redundancy headers name "
			 "the files, but nothing tells where they belong on "
			 "the prefix",
			 (long long)p->id, p->maps_lost,
			 p->maps_lost == 1 ? "filemap is" : "filemaps are");
}

static int
lost_error(const struct plan *p, struct error *err)
{
	const struct plan_set *s = lost_set(p);
	char problem[ERROR_TEXT_MAX / 2], unknown[96];

	if (p->maps_unplaced > 0 && plan_data_status(p) == STATUS_DAMAGED)
		return unplaced_error(p, err);
	if (s == NULL)
		return lost_outside(p, err);
	return error_set(err, ERROR_LOST,
			 "dataset %lld: set %u of %u (%s%s) cannot be "
			 "rebuilt: %s%s%s",
			 (long long)p->id, s->number, s->sets,
			 redset_type_name(s->type),
			 s->map ? " over filemaps" : "", s->reason,
			 first_problem(p, s, problem, sizeof(problem)),
			 unknown_files(p, unknown, sizeof(unknown)));
}

static int
barred_error(const struct plan *p, struct error *err)
{
	const struct plan_file *f = p->files;
	char more[48] = "";

	while (f->state != FILE_PRESENT || !f->barred)
		f++;
	if (p->barred > 1)
		snprintf(more, sizeof(more), " (and %zu more %s)",
			 str_count(p->barred - 1, "file"));
	errno = EACCES;
	return error_sys(err, "dataset %lld: %s%s: cannot read",
			 (long long)p->id, f->path, more);
}

int
plan_error(const struct plan *p, struct error *err)
{
	if (p->verdict == SET_LOST)
		return p->unread > 0 ? unread_error(p, err)
				     : lost_error(p, err);
	if (p->barred > 0)
		return barred_error(p, err);
	if (p->verdict == SET_WHOLE)
		return 0;
	return error_set(
		err, ERROR_DAMAGED,
		"dataset %lld: %zu %s, %zu %s and %zu redundancy %s "
		"are missing and can be rebuilt",
		(long long)p->id, p->files_rebuild,
		p->files_rebuild == 1 ? "file" : "files", p->maps_missing,
		p->maps_missing == 1 ? "filemap" : "filemaps", p->red_missing,
		p->red_missing == 1 ? "file" : "files");
}
