/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c - the steps that make a plan, its totals, and its states.
 *
 * names -> filemaps -> sets over filemaps (rebuild lost filemaps in memory) ->
 * files -> states on disk -> sets over files -> verdicts.
 */
#include "rescue/plan.h"

#include "arena.h"
#include "container/joint.h"
#include "container/packed.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "par.h"
#include "rescue/plan_impl.h"
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
		io_close(p->places[i].root_fd);
		io_close(p->places[i].meta_fd);
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
	plan_others_free(w->others);
	descriptors_free(&w->owner.found);
	arena_free(w->p.arena);
	mem_free(w);
}

/* --- Totals --- */

void
plan_count_set(const struct plan *p, const struct plan_set *s, uint64_t *reads,
	       uint64_t *writes)
{
	if (s->away || s->solution == NULL || s->verdict == SET_WHOLE)
		return;
	for (size_t j = 0; j < s->solution->njobs; j++) {
		const struct solve_job *job = &s->solution->jobs[j];

		/* A chunk can reach beyond the end of its string: nothing is
		 * read there. */
		for (uint32_t k = 0; k < job->nin; k++) {
			const struct solve_ref *r = &job->in[k];
			const struct plan_member *m = &s->members[r->member];
			const uint64_t end =
				r->body ? m->red->body_size : m->list.bytes;

			if (r->off < end)
				*reads += end - r->off < job->len ? end - r->off
								  : job->len;
		}
	}
	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *is = &s->members[m];
		const struct plan_rank *r = plan_rank_of(p, is);
		const struct plan_red *red = is->red;

		for (size_t k = 0; k < is->list.nfiles; k++) {
			const struct plan_file *f = plan_member_file(p, is, k);

			if (f != NULL && f->fate == FATE_REBUILD)
				*writes += f->attr.size;
		}
		if (s->map && r != NULL && r->map.fate == FATE_REBUILD)
			*writes += r->map.image_size;
		if (is->fate == FATE_REBUILD && is->name != NULL)
			*writes += red->header_size + red->body_size;
		if (is->fate == FATE_REBUILD && is->name != NULL &&
		    plan_writes_descriptor(is))
			*writes += red->descriptor.image_size;
		if (plan_copies_body(s, is))
			*reads += red->body_size;
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

/* A set without remaining files is lost if a rank that may have been a member
 * of it has missing files.  Otherwise the set is not needed. */
static void
judge_gone(struct planner *w, bool map, bool matters)
{
	for (size_t i = 0; i < w->p.nsets; i++) {
		struct plan_set *s = &w->p.sets[i];

		if (s->n > 0 || s->map != map)
			continue;
		s->verdict = matters ? SET_LOST : SET_WHOLE;
		s->reason = matters ? "no redundancy file of it survived"
				    : "no redundancy file of it is left";
	}
}

/* Set the fates of files and filemaps that are in no set. */
static void
set_fates(struct planner *w)
{
	bool map_lost = false, data_lost = false;

	for (int64_t i = 0; i < w->p.nranks; i++) {
		struct plan_rank *r = &w->p.ranks[i];

		if (!plan_concerns(w, r))
			continue;
		if (!r->map_known && !w->bare &&
		    !(w->reported && r->map.fate == FATE_REBUILD))
			r->map.fate = FATE_LOST;
		map_lost |= (!r->map_known || r->unplaced) &&
			    r->map_set == PLAN_NONE;
		data_lost |= !r->map_known && r->data_set == PLAN_NONE;
		for (size_t f = 0; f < r->nfiles; f++) {
			struct plan_file *pf = &w->p.files[r->first_file + f];

			if (!plan_file_lost(pf))
				continue;
			/* The file is in no set, or its set does not list
			 * it. */
			if (pf->fate == FATE_KEEP)
				pf->fate = FATE_LOST;
			data_lost |= r->data_set == PLAN_NONE;
		}
	}
	judge_gone(w, true, map_lost);
	judge_gone(w, false, data_lost);
}

/* Does rank2file have the sizes of all files of all ranks? */
static bool
record_has_all(const struct planner *w)
{
	for (int64_t i = 0; i < w->p.nranks; i++) {
		const struct rank2file_rank *r =
			plan_record_rank(w, (uint32_t)i);

		if (r == NULL)
			return false;
		for (size_t k = 0; k < r->nfiles; k++)
			if (!r->files[k].has_size)
				return false;
	}
	return true;
}

void
plan_finish(struct planner *w)
{
	struct plan *p = &w->p;
	bool data = false, maps = w->bare || w->by_hand || w->reported;

	set_fates(w);
	count_unread(p);
	p->bytes = 0;
	p->files_missing = p->files_rebuild = p->files_lost = p->barred = 0;
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (!plan_concerns(w, &p->ranks[f->rank]))
			continue;
		p->bytes += f->attr.size;
		p->files_missing += plan_file_lost(f);
		p->files_rebuild += f->fate == FATE_REBUILD;
		p->files_lost += f->fate == FATE_LOST;
		p->barred += f->state == FILE_PRESENT && f->barred;
	}
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
	p->verdict = SET_WHOLE;
	p->red_missing = 0;
	p->unproved = NULL;
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		maps = maps || s->map;
		data = data || redset_is_redundant(s->type);
		if (s->verdict > p->verdict)
			p->verdict = s->verdict;
		for (uint32_t m = 0; m < s->n; m++) {
			p->red_missing += s->members[m].fate == FATE_REBUILD;
			if (s->unproved && p->unproved == NULL &&
			    plan_uses_body(s, &s->members[m]))
				p->unproved = s->members[m].name;
		}
	}
	/* Is there redundancy over files, but none over the filemaps? */
	p->exposed = data && !maps && !record_has_all(w);
	p->bytes_read = p->bytes_written = 0;
	for (size_t i = 0; i < p->nsets; i++)
		plan_count_set(p, &p->sets[i], &p->bytes_read,
			       &p->bytes_written);
	if (p->files_rebuild + p->maps_missing > 0 && p->verdict == SET_WHOLE)
		p->verdict = SET_REBUILDABLE;
	if (p->files_lost + p->maps_lost > 0)
		p->verdict = SET_LOST;
}

/* --- Making one --- */

/* ERROR_ABSENT if the dataset has no metadata for a plan. */
static int
check_any(const struct planner *w, struct error *err)
{
	struct error why = { .kind = ERROR_ABSENT };

	if (w->nmaps + w->p.nsets > 0 || plan_record_usable(w))
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

/* Make the list of files, and look for them.  Sets w->again if filemaps turn
 * out to be those of another dataset. */
static int
find_files(struct planner *w, struct error *err)
{
	size_t dropped = 0, composed = 0, found = 0;

	do {
		w->p.nfiles = 0;
		if (plan_map_files(w, err) < 0 || plan_judge_record(w, err) < 0)
			return -1;
		plan_place_packed(w);
		if ((!w->reported && plan_stat_files(w, 0, err) < 0) ||
		    plan_contradictions(w, &dropped, err) < 0)
			return -1;
		w->again = dropped > 0;
		if (w->again)
			return 0;
		if (plan_compose_maps(w, &composed, err) < 0 ||
		    plan_compose_from_headers(w, &found, err) < 0)
			return -1;
	} while (composed + found > 0);
	return plan_record_sums(w, err);
}

static int
make(struct planner *w, struct error *err)
{
	const bool reported = w->reported;
	const bool checks =
		(w->o->flags & PLAN_CHECKSUMS) && !w->bare && !reported;

	/* Choose the threads, and make an arena for each of them. */
	w->par = work_waiting(w->work, w->p.places[0].meta_fd);
	w->nworkers = par_threads(w->par);
	w->arenas = mem_calloc(w->nworkers, sizeof(*w->arenas));
	if (w->arenas == NULL)
		return error_no_memory(err);
	for (unsigned i = 0; i < w->nworkers; i++)
		w->arenas[i] = arena_new();
	if (plan_scan_maps(w, err) < 0 || plan_make_sets(w, err) < 0 ||
	    plan_owner_names(w, err) < 0 || check_any(w, err) < 0)
		return -1;
	do {
		/* Files have other numbers when the plan is made again. */
		for (size_t i = 0; w->again && i < w->p.nsets; i++)
			for (uint32_t m = 0; m < w->p.sets[i].n; m++)
				w->p.sets[i].members[m].files = NULL;
		w->again = false;
		if (!w->bare && plan_solve_sets(w, true, err) < 0)
			return -1;
		for (size_t i = 0; !w->bare && !reported && i < w->p.nsets; i++)
			if (w->p.sets[i].map &&
			    plan_restore_set(w, &w->p.sets[i], err) < 0)
				return -1;
		if (w->maps_only) {
			plan_finish(w);
			return 0;
		}
		if (!w->bare && find_files(w, err) < 0)
			return -1;
		if (w->again)
			continue;
		if (checks && plan_check_all(w, err) < 0)
			return -1;
		if (plan_solve_sets(w, false, err) < 0)
			return -1;
	} while (w->again);
	/* The redundancy headers may have sizes. */
	if ((!w->bare && plan_unsized(w, err) < 0) ||
	    plan_refuse_overlap(w, err) < 0)
		return -1;
	/* All sets over files are solved: encode the composed filemaps. */
	for (size_t i = 0; i < w->p.nsets; i++)
		if (w->p.sets[i].map && w->p.sets[i].n > 0 &&
		    plan_compose_set(w, &w->p.sets[i], err) < 0)
			return -1;
	if (check_any(w, err) < 0)
		return -1;
	plan_finish(w);
	if (checks && plan_check_reds(w, err) < 0)
		return -1;
	if (plan_renew_gone(w, err) < 0)
		return -1;
	w->p.unfinished = w->p.verdict == SET_LOST && !w->p.packed &&
			  !w->p.places[0].cache &&
			  joint_is_unfinished(w->p.places[0].meta_fd);
	return w->record != NULL && w->p.maps_lost > w->p.maps_unplaced &&
			       !w->p.packed
		       ? plan_ask_unclaimed(w, err)
		       : 0;
}

int
plan_make(struct planner *w, struct error *err)
{
	struct error why = ERROR_INIT;

	if (make(w, &why) == 0 || why.kind == ERROR_ABSENT)
		plan_owner_say(w);
	plan_others_free(w->others);
	w->others = NULL;
	return why.kind == ERROR_NONE ? 0 : error_pass(err, &why);
}

/* --- States --- */

int
plan_set_flaw(struct plan *p, int status, const char *text, struct error *err)
{
	p->flaw = text;
	p->flaw_status = status;
	return text == NULL ? error_no_memory(err) : 0;
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
	if (p->flaw != NULL)
		return p->flaw_status;
	if (p->verdict == SET_LOST)
		return p->unread > 0 || p->unfinished ||
				       (p->unclaimed != NULL &&
					p->files_lost == 0)
			       ? STATUS_FAILED
			       : STATUS_LOST;
	if (p->barred > 0 || p->unproved != NULL)
		return STATUS_FAILED;
	return p->verdict == SET_REBUILDABLE ? STATUS_DAMAGED : STATUS_OK;
}

int
plan_data_status(const struct plan *p)
{
	if (p->verdict != SET_LOST || p->flaw != NULL)
		return plan_status(p);
	for (int64_t i = 0; i < p->nranks; i++)
		if (!p->ranks[i].map_known)
			return plan_status(p);
	if (p->nranks <= 0 || p->files_lost > 0 ||
	    p->maps_lost > p->maps_unplaced)
		return plan_status(p);
	return p->barred > 0 ? STATUS_FAILED : STATUS_DAMAGED;
}
