/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenge.c - list the caches of all nodes, decide which datasets are saved in
 * which order, and judge the result.
 */
#include "scavenge/scavenge.h"

#include <inttypes.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "dir.h"
#include "error.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "room.h"
#include "scavenge/scavenge_impl.h"
#include "scavenge/turn.h"
#include "site/job.h"
#include "site/jobfiles.h"

bool
scavenge_stop(struct scavenge *s)
{
	s->stopped = s->stopped || work_stopped(s->work);
	return s->stopped;
}

/* --- What is unknown --- */

/* Is the kind of the dataset unknown?  Its directory is in a cache, but neither
 * the index of the cache nor flush.scr describes it. */
static bool
is_undescribed(const struct salvage_dataset *d)
{
	return !d->ckpt && !d->output && d->name == NULL && d->nranks > 0;
}

bool
scavenge_is_unknown(const struct salvage_dataset *d)
{
	if (d->done || d->unfinished)
		return false;
	return is_undescribed(d) ||
	       (d->taken != SALVAGE_FREE && d->state != SALVAGE_LOST) ||
	       (d->state == SALVAGE_LOST &&
		(d->unread || d->unplaced || d->hidden || d->unbuilt ||
		 d->undecided || (d->looked && d->found == STATUS_FAILED)));
}

/* Report the datasets that are not saved, because the job did not complete them
 * or nothing describes them. */
static void
report_left(const struct scavenge *s)
{
	for (size_t i = 0; i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];

		if (d->unfinished)
			work_say(s->work,
				 "dataset %" PRId64 "%s%s: unfinished: the job "
				 "ended before it was complete: not saved; "
				 "--id %" PRId64 " saves the files that exist",
				 d->id, d->name != NULL ? " " : "",
				 d->name != NULL ? d->name : "", d->id);
		else if (is_undescribed(d) && d->id != s->o->only)
			work_say(s->work,
				 "dataset %" PRId64
				 ": in the caches, but not recorded as "
				 "checkpoint or output: not saved; to save it: "
				 "--id %" PRId64,
				 d->id, d->id);
	}
}

/* --- Opening --- */

int
scavenge_open(struct scavenge *s, struct job *job,
	      const struct scavenge_options *o, struct error *err)
{
	const double start = clock_seconds();
	const struct turn turn = {
		.prefix = job->prefix,
		.seconds = o->wait,
		.job = job->id,
		.work = &o->catalogue->work,
	};
	const char *sees = NULL;
	int64_t ran = 0;
	int scr = -1;

	*s = (struct scavenge){
		.job = job,
		.o = o,
		.work = &o->catalogue->work,
		.lock = -1,
		.token = TOKEN_INIT,
	};
	s->arena = arena_new();
	s->nodes =
		arena_alloc(s->arena, job->nodes.count + 1, sizeof(*s->nodes));
	s->there = arena_alloc(s->arena, 1 + job->ncaches, sizeof(*s->there));
	salvage_init(&s->plan, (uint32_t)job->nodes.count);
	s->prefix = catalogue_open(job->prefix, err);
	if (s->prefix == NULL)
		return -1;
	catalogue_stop_on(s->prefix, s->work->stop);
	if (!s->work->dry_run) {
		if (catalogue_open_scr(s->prefix, true, err) < 0)
			return -1;
		s->lock = turn_take(catalogue_scr_fd(s->prefix), &turn, err);
		if (s->lock == -1)
			return -1;
	}
	/* The file that shows a node that its prefix is ours.  A plan makes
	 * none: it takes flush.scr, which is missing where nothing is mounted.
	 * Without room for a file the nodes are asked all the same, as the
	 * prefix may have the files of the job already. */
	scr = catalogue_scr_fd(s->prefix);
	if (s->work->dry_run)
		sees = scr >= 0 && dir_access(scr, FLUSH_FILE, F_OK) == 0
			       ? FLUSH_FILE
			       : NULL;
	else if (token_make(&s->token, scr, "scavenge") == 0)
		sees = s->token.name;
	if (sees != NULL)
		s->sees = arena_printf(s->arena, "%s/" SCR_DIR "/%s",
				       job->prefix_real, sees);
	/* nodes.scr has the number of nodes of the last run. */
	if (jobfiles_nodes(job->prefix, &ran, NULL) == 0 &&
	    ran > (int64_t)job->nodes.count) {
		s->unasked = (size_t)ran - job->nodes.count;
		s->plan.hidden = true;
	}
	if (scavenge_ask(s, err) < 0 || scavenge_add_known(s, err) < 0)
		return -1;
	s->seconds[SCAVENGE_ASK] = clock_seconds() - start;
	if (scavenge_check_places(s, err) < 0)
		return -1;
	report_left(s);
	if (s->alive > 0 && s->o->only > 0 &&
	    salvage_find(&s->plan, s->o->only) == NULL)
		return error_set(err, ERROR_ABSENT,
				 "dataset %" PRId64
				 ": no node has it in its cache",
				 s->o->only);
	if (s->alive > 0)
		return 0;
	/* flush.scr and the index show that nothing is left to save. */
	if (s->flush_known && scavenge_status(s) == STATUS_OK) {
		work_say(s->work,
			 "none of %zu nodes answered; by " FLUSH_FILE
			 " nothing is left to save",
			 job->nodes.count);
		return 0;
	}
	return error_set(
		err, ERROR_SYSTEM,
		"none of %zu nodes answered: nothing can be saved now; make "
		"them reachable (-v shows the commands), and run this again",
		job->nodes.count);
}

void
scavenge_close(struct scavenge *s)
{
	salvage_free(&s->plan);
	complaints_free(&s->complaints);
	catalogue_entries_free(&s->known);
	token_end(&s->token);
	catalogue_close(s->prefix);
	turn_end(s->lock);
	arena_free(s->arena);
	*s = (struct scavenge){ .lock = -1, .token = TOKEN_INIT };
}

/* --- Order of saving --- */

static int
save_all(struct scavenge *s, struct error *err)
{
	int64_t limit = INT64_MAX;
	bool unsure = false;
	struct salvage_dataset *d = NULL;

	if (s->o->only > 0)
		return scavenge_save(s, salvage_find(&s->plan, s->o->only),
				     err);
	/* Save output datasets, oldest first, until one cannot be saved.  A job
	 * restarted from a later checkpoint would never write that output
	 * again, so no later checkpoint may be saved. */
	for (size_t i = 0; i < s->plan.count && limit == INT64_MAX; i++) {
		d = &s->plan.datasets[i];
		if (!d->output || d->done || d->unfinished)
			continue;
		if (scavenge_save(s, d, err) < 0)
			return -1;
		if (!d->done)
			limit = d->id;
	}
	/* Then the newest checkpoint. */
	for (size_t i = s->plan.count; i-- > 0;) {
		d = &s->plan.datasets[i];
		if (!d->ckpt || d->unfinished || d->id >= limit)
			continue;
		if (scavenge_look(s, d, err) < 0)
			return -1;
		/* Datasets that are output, too, have been tried. */
		if (!d->done && !d->output && scavenge_save(s, d, err) < 0)
			return -1;
		if (d->done && !unsure && scavenge_make_current(s, d, err) < 0)
			return -1;
		if (d->done)
			break;
		/* The index lists it as valid: a restart may succeed in reading
		 * it, and otherwise falls back to the older one. */
		unsure = unsure || (d->claimed && scavenge_is_unknown(d));
	}
	/* And older ones that the job was flushing. */
	for (size_t i = 0; i < s->plan.count; i++) {
		d = &s->plan.datasets[i];
		if (d->flushing && d->ckpt && !d->done && !d->unfinished &&
		    d->id < limit && scavenge_save(s, d, err) < 0)
			return -1;
	}
	if (s->o->keep > 0)
		scavenge_prune(s);
	return 0;
}

int
scavenge_run(struct scavenge *s, struct error *err)
{
	const int64_t was =
		s->o->containers ? catalogue_restart_point(s->prefix) : 0;

	if (save_all(s, err) < 0) {
		room_explain(catalogue_prefix_fd(s->prefix), 0, err);
		return -1;
	}
	if (s->o->containers)
		scavenge_pack(s, was);
	if (s->o->clean && scavenge_clean(s, err) < 0)
		return -1;
	return scavenge_find_restart(s, err);
}

int
scavenge_forecast(struct scavenge *s, struct error *err)
{
	bool astray = false;

	for (size_t i = 0; i < s->plan.count; i++) {
		struct salvage_dataset *d = &s->plan.datasets[i];

		if (!d->done && d->nranks > 0 && scavenge_is_hopeful(d) &&
		    scavenge_measure(s, d, err) < 0)
			return -1;
		astray = astray || d->astray;
		if (d->astray)
			scavenge_judge(&s->plan, d);
	}
	if (astray && scavenge_look_ahead(s, err) < 0)
		return -1;
	return scavenge_find_restart(s, err);
}

/* --- Result --- */

struct scavenge_outlook
scavenge_outlook(const struct scavenge *s)
{
	struct scavenge_outlook o = { .newest = 0 };
	struct index_entry e;
	int64_t limit = INT64_MAX;

	for (size_t i = 0; i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];
		const bool good = scavenge_is_hopeful(d);

		if (d->unfinished && !d->done) {
			o.unfinished = d->id;
			continue;
		}
		if (d->output) {
			o.outputs++;
			o.outputs_unknown += scavenge_is_unknown(d);
			if (!good && limit == INT64_MAX)
				limit = d->id;
			o.outputs_lost += !d->done && d->id >= limit &&
					  !scavenge_is_unknown(d);
		}
		if (d->ckpt && d->id > o.newest) {
			o.newest = d->id;
			o.unfinished = 0;
		}
		if (d->ckpt && good && d->id < limit && d->id > o.saved)
			o.saved = d->id;
		/* Their ids ascend. */
		if (d->ckpt || (!d->output && scavenge_is_unknown(d)))
			o.newer = d->ckpt ? 0 : d->id;
	}
	for (size_t i = 0; i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];

		/* A checkpoint that cannot be read or placed does not leave the
		 * result open if an older one is saved. */
		if (!scavenge_is_unknown(d) || d->output)
			o.unknown += scavenge_is_unknown(d);
		else if (d->ckpt &&
			 (d->unread || d->unplaced || d->undecided) &&
			 !d->hidden && !d->unbuilt)
			o.unknown += o.saved == 0;
		else
			o.unknown += d->id > o.saved;
	}
	if (o.unfinished - 1 > o.saved &&
	    salvage_find(&s->plan, o.unfinished - 1) == NULL &&
	    (s->known.index == NULL ||
	     index_find_id(s->known.index, o.unfinished - 1, &e, NULL) < 0))
		o.gone = o.unfinished - 1;
	return o;
}

int
scavenge_status(const struct scavenge *s)
{
	const struct scavenge_outlook o = scavenge_outlook(s);
	const struct salvage_dataset *d = NULL;

	/* Without flush.scr only the nodes know the datasets of the job. */
	if (s->stopped ||
	    (s->plan.count == 0 && s->plan.hidden && !s->flush_ours))
		return STATUS_FAILED;
	if (s->o->only > 0) {
		d = salvage_find(&s->plan, s->o->only);
		if (d != NULL && scavenge_is_hopeful(d))
			return STATUS_OK;
		return d == NULL || scavenge_is_unknown(d) ? STATUS_FAILED
							   : STATUS_LOST;
	}
	if (o.outputs_lost > 0 ||
	    ((o.newest > 0 || o.gone > 0) && o.saved == 0 && o.unknown == 0))
		return STATUS_LOST;
	if (o.unknown > 0)
		return STATUS_FAILED;
	return o.saved < o.newest || o.gone > 0 ? STATUS_DAMAGED : STATUS_OK;
}
