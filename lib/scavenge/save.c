/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * save.c - save one dataset: its nodes copy it to the prefix (gather.c), then
 * it is rebuilt and indexed here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "error.h"
#include "meta/dataset_dir.h"
#include "meta/log.h"
#include "progress.h"
#include "room.h"
#include "scavenge/scavenge_impl.h"
#include "site/eventlog.h"
#include "site/job.h"

const char *
scavenge_without_id(const char *text, int64_t id)
{
	char start[2][48];

	snprintf(start[0], sizeof(start[0]), "dataset %" PRId64 ": ", id);
	snprintf(start[1], sizeof(start[1]), DATASET_DIR_FMT ": ", id);
	for (size_t i = 0; i < 2; i++)
		if (strncmp(text, start[i], strlen(start[i])) == 0)
			return text + strlen(start[i]);
	return text;
}

static int
build(struct scavenge *s, struct salvage_dataset *d, struct error *err)
{
	const double start = clock_seconds();
	struct error why = ERROR_INIT;
	struct build_result r;
	int rc = catalogue_build(s->prefix, d->id, s->o->catalogue, &r, &why);

	s->seconds[SCAVENGE_BUILD] += clock_seconds() - start;
	if (scavenge_stop(s))
		return error_set(err, ERROR_SYSTEM,
				 "stopped; run it again to resume");
	if (rc < 0) {
		if (why.kind == ERROR_NOMEM)
			return error_no_memory(err);
		if (s->blocked != NULL)
			return error_set(
				err, ERROR_SYSTEM,
				"dataset %" PRId64 ": not all copied: %s: %s; "
				"it is still in the caches: repair that and "
				"run it again",
				d->id, s->blocked->name, s->blocked->why);
		/* No older dataset has room either. */
		if (room_is_short(&why)) {
			error_pass(err, &why);
			return error_wrap(err, "dataset %" PRId64, d->id);
		}
		d->state = SALVAGE_LOST;
		d->undecided =
			why.kind == ERROR_DAMAGED || why.kind == ERROR_CORRUPT;
		/* An error on the prefix, or of a lock, leaves the data in the
		 * caches. */
		d->unbuilt = !d->undecided && why.kind != ERROR_LOST;
		d->why = arena_printf(
			s->arena, "%s%s", scavenge_without_id(why.text, d->id),
			r.undecided ? "; --no-compare saves it as it is" : "");
		if (d->found == STATUS_DAMAGED) /* and cannot be mended */
			d->found = scavenge_is_unknown(d) ? STATUS_FAILED
							  : STATUS_LOST;
		if (d->why == NULL)
			return error_no_memory(err);
		work_say(s->work, "dataset %" PRId64 ": %s%s", d->id, d->why,
			 d->unbuilt && d->cached
				 ? "; not saved; it is still in "
				   "the caches"
				 : "");
		return 0;
	}
	d->done = true;
	s->saved_now++;
	scavenge_mark_flushed(s, d->id);
	return 0;
}

/* Log the dataset with the event or transfer of `l`, as LLNL's scripts do. */
static void
log_line(const struct scavenge *s, const struct salvage_dataset *d,
	 struct log_line l)
{
	struct error why = ERROR_INIT;

	l.time = -1;
	l.user = s->job->user;
	l.job_id = s->job->id;
	l.name = d->name;
	l.dataset = d->id;
	l.procs = l.nodes = l.files = -1;
	if (eventlog_add(s->job->prefix, s->job->conf, &l, &why) < 0)
		work_say(s->work, "%s", why.text);
}

bool
scavenge_is_mendable(const struct salvage_dataset *d)
{
	return d->looked && !d->done && d->found == STATUS_DAMAGED;
}

int
scavenge_save(struct scavenge *s, struct salvage_dataset *d, struct error *err)
{
	const double start = clock_seconds();
	const double spent = s->seconds[SCAVENGE_COPY];
	const uint64_t copied = s->copied;
	const bool mend = d->state == SALVAGE_LOST && scavenge_is_mendable(d);
	int rc = 0;

	if (d->taken == SALVAGE_FREE &&
	    scavenge_check_number(s, d, false, err) < 0)
		return -1;
	if (d->taken != SALVAGE_FREE)
		return 0;
	if (d->state == SALVAGE_LOST && !mend && s->o->only != d->id) {
		/* Problems on the prefix were reported already. */
		if (d->flaw == NULL)
			work_say(s->work, "dataset %" PRId64 "%s%s: %s: %s",
				 d->id, d->name ? " " : "",
				 d->name ? d->name : "",
				 !scavenge_is_unknown(d) ? "lost"
				 : d->unread		 ? "cannot be read"
							 : "unknown, not lost",
				 d->why);
		return 0;
	}
	s->blocked = NULL;
	progress_subject(s->work->progress, "dataset %" PRId64, d->id);
	log_line(s, d,
		 (struct log_line){
			 .event = "SCAVENGE_START", .secs = -1, .bytes = -1 });
	if (!mend)
		rc = scavenge_copy(s, d, err);
	/* The next plan estimates its duration from this line. */
	if (s->copied > copied)
		log_line(s, d,
			 (struct log_line){
				 .xfer = LOG_SCAVENGE,
				 .to = s->job->prefix_real,
				 .secs = s->seconds[SCAVENGE_COPY] - spent,
				 .bytes = (double)(s->copied - copied),
			 });
	if (rc == 0 && d->taken == SALVAGE_FREE)
		rc = scavenge_check_number(s, d, true, err);
	if (rc == 0 && d->taken == SALVAGE_FREE)
		rc = build(s, d, err);
	if (rc == 0 && mend && d->done)
		work_say(s->work,
			 "dataset %" PRId64 ": repaired on the prefix: %s",
			 d->id, d->flaw);
	log_line(s, d,
		 (struct log_line){
			 .event = "SCAVENGE_END",
			 .secs = clock_seconds() - start,
			 .bytes = -1,
		 });
	return rc;
}
