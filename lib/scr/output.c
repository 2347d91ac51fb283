/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/output.h"

#include <stdio.h>
#include <sys/time.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/written.h"
#include "clock.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "scr/events.h"
#include "scr/flushing.h"
#include "scr/held.h"
#include "scr/memory.h"
#include "scr/onprefix.h"
#include "scr/outset.h"
#include "scr/owned.h"
#include "scr/run.h"
#include "site/jobfiles.h"
#include "team/say.h"

/* --- Ids --- */

void
output_raise(struct run *run, int64_t id, int64_t ckpt)
{
	if (id > run->dataset_id)
		run->dataset_id = id;
	if (ckpt > run->ckpt_id)
		run->ckpt_id = ckpt;
}

void
output_number(struct run *run)
{
	struct jobfiles_flush f = { .count = 0 };
	struct dataset d;

	/* A damaged file is ignored. */
	if (run->world.rank != 0 ||
	    jobfiles_flush_read(run->p.prefix, &f, NULL) < 0)
		return;
	for (size_t i = 0; i < f.count; i++)
		if (dataset_read(f.all[i].desc, &d, NULL) == 0)
			output_raise(run, f.all[i].id, d.ckpt_id);
		else
			output_raise(run, f.all[i].id, 0);
	jobfiles_flush_free(&f);
}

/* --- Descriptor --- */

/* Rank 0: make the descriptor.  `own` is the name if the application gives
 * none.  At first, ids are raised to the highest existing ones. */
static int
describe(struct run *run, const char *name, int flags,
	 char own[static DATASET_DIR_NAME], struct dataset *d,
	 struct error *err)
{
	struct catalogue *c = NULL;
	struct timeval now;
	int rc = -1;

	*d = (struct dataset){
		.name = name,
		.is_ckpt = (flags & SCR_FLAG_CHECKPOINT) != 0,
		.is_output = (flags & SCR_FLAG_OUTPUT) != 0,
		.ckpt_id = -1,
		.user = run->p.user,
		.job_name = run->p.job_name,
		.job_id = run->p.job_id,
		.cluster = run->p.cluster,
		.files = -1,
		.complete = -1,
	};
	if (!run->numbered) {
		c = catalogue_open(run->p.prefix, err);
		if (c != NULL) {
			rc = catalogue_written_ids(c, &run->dataset_id,
						   &run->ckpt_id, err);
			say_warn_lines(catalogue_notice(c));
		}
		catalogue_close(c);
		if (rc < 0)
			return -1;
		output_raise(run, run->held->other_id, 0);
		for (size_t i = 0; i < run->held->count; i++)
			output_raise(run, run->held->list[i]->d.id,
				     run->held->list[i]->d.ckpt_id);
	}
	if (run->dataset_id >= DATASET_ID_MAX || run->ckpt_id >= DATASET_ID_MAX)
		return error_set(err, ERROR_USAGE, "no dataset id is left");
	d->id = run->dataset_id + 1;
	if (d->is_ckpt)
		d->ckpt_id = run->ckpt_id + 1;
	snprintf(own, DATASET_DIR_NAME, DATASET_DIR_FMT, d->id);
	if (name == NULL)
		d->name = own;
	if (!dataset_name_ok(d->name))
		return error_set(err, ERROR_USAGE,
				 "a dataset name has at most 1023 bytes, and "
				 "no control characters");
	gettimeofday(&now, NULL);
	d->created_us = (int64_t)now.tv_sec * 1000000 + now.tv_usec;
	return 0;
}

int
output_share(const struct run *run, int rc, const struct dataset *mine,
	     struct kvtree **t, struct dataset *d, struct error *err)
{
	const struct team *world = &run->world;
	struct buf image = BUF_INIT;

	*t = NULL;
	if (rc == 0 && mine != NULL) {
		struct kvtree *own = kvtree_new(err);

		rc = own == NULL ? -1 : dataset_write(own, mine, err);
		if (rc == 0)
			rc = kvtree_encode(own, &image, err);
		kvtree_free(own);
	}
	rc = team_share(world, 0, rc, &image, err);
	if (rc == 0 && image.len > 0) {
		*t = kvtree_decode(image.data, image.len, NULL, err);
		rc = *t == NULL ? -1 : dataset_read(*t, d, err);
		rc = team_agree(world, rc, err);
	}
	buf_free(&image);
	return rc;
}

/* --- Log --- */

/* CHECKPOINT_START, OUTPUT_END, ...; `secs` is negative at the start. */
static void
note(struct run *run, const struct held_set *s, bool ckpt, double secs)
{
	struct log_line l = events_line(&s->d);

	l.event = ckpt	     ? secs < 0 ? "CHECKPOINT_START" : "CHECKPOINT_END"
		  : secs < 0 ? "OUTPUT_START"
			     : "OUTPUT_END";
	l.note = s->store->base;
	l.secs = secs;
	events_add(run, &l);
}

/* Log a transfer of the dataset's bytes since `from`, `secs` long. */
static void
note_transfer(struct run *run, const struct held_set *s, const char *what,
	      double secs)
{
	struct log_line l =
		events_transfer(&s->d, what, s->store->base, s->dir, secs);

	l.time = run->writes_time;
	events_add(run, &l);
}

/* --- The order of a dataset --- */

int
output_start(struct run *run, const char *name, int flags, struct error *err)
{
	const bool first = run->world.rank == 0;
	const struct level *level = NULL;
	const struct held_set *s = NULL;
	char own[DATASET_DIR_NAME];
	struct kvtree *t = NULL;
	struct dataset mine = { .id = 0 }, d = { .id = 0 };
	int rc = first ? describe(run, name, flags, own, &mine, err) : 0;

	memory_pause(run, true);
	rc = output_share(run, rc, first ? &mine : NULL, &t, &d, err);
	if (rc == 0) {
		run->numbered = true;
		if (run->first_id == 0)
			run->first_id = d.id;
		output_raise(run, d.id, d.ckpt_id);
		level = levels_choose(&run->levels, flags, d.ckpt_id);
		/* The application may write files of those, from now on. */
		if (level->bypass)
			flushing_wait(run, INT64_MAX);
		rc = held_start(run, level, &d, &s, err);
	}
	kvtree_free(t);
	if (rc < 0) {
		memory_pause(run, false);
		return -1;
	}
	run->out = outset_begin(run, level, s->dir, s->d.id, err);
	rc = team_agree(&run->world, run->out == NULL ? -1 : 0, err);
	/* With bypass the application now writes to the prefix. */
	if (rc == 0 && level->bypass)
		rc = owned_begin(run, err);
	if (rc == 0 && level->bypass)
		rc = onprefix_begin(run, &s->d, CATALOGUE_MAP_FREE, err);
	if (rc < 0) {
		outset_free(run->out);
		run->out = NULL;
		(void)held_remove(run, s->d.id, NULL);
		memory_pause(run, false);
		return -1;
	}
	events_compute(run, false);
	run->writes_since = clock_seconds();
	run->writes_time = clock_now();
	say_debug_first("Starting dataset %lld `%s'", (long long)s->d.id,
			s->d.name);
	if (s->d.is_ckpt)
		note(run, s, true, -1);
	if (s->d.is_output)
		note(run, s, false, -1);
	return 0;
}

int
output_complete(struct run *run, bool valid, const struct dataset **out,
		struct error *err)
{
	const struct held_set *s = held_find(run->held, run->dataset_id);
	const double written = clock_seconds();
	struct dataset d = s->d;
	const bool is[] = { d.is_ckpt, d.is_output };
	double end = 0, all = 0;
	bool due = false;
	int rc = outset_complete(run->out, valid, &d, err);

	outset_free(run->out);
	run->out = NULL;
	if (rc == 0)
		rc = held_commit(run, &d, err);
	memory_pause(run, false);
	/* With bypass its files are in no cache: the flush that follows records
	 * their place; so does one in the background. */
	due = rc == 0 && flushing_is_due(run, s);
	if (rc == 0 && !s->bypass && !(due && run->flights != NULL))
		onprefix_note(run, &s->d, due ? HELD_FLUSHING : HELD_CACHE);
	/* Log the end, and the transfers if it is complete. */
	end = clock_seconds();
	all = end - run->writes_since;
	if (rc == 0) {
		note_transfer(run, s, "WRITE", written - run->writes_since);
		note_transfer(run, s, "ENCODE", end - written);
	}
	for (int i = 0; i < 2; i++) {
		if (is[i])
			note(run, s, i == 0, all);
		if (is[i] && rc == 0)
			note_transfer(run, s, i == 0 ? "CHECKPOINT" : "OUTPUT",
				      all);
	}
	if (rc < 0) {
		if (s->bypass) {
			onprefix_undo(run, &s->d);
			/* Older ones may be valid again. */
			owned_free(run->owned);
			run->owned = NULL;
		}
		(void)held_remove(run, run->dataset_id, NULL);
	} else {
		*out = &s->d;
		say_debug_first("Completed dataset %lld `%s'",
				(long long)s->d.id, s->d.name);
		if (!flushing_output(run, s->d.id) && s->bypass)
			onprefix_note(run, &s->d, HELD_CACHE);
	}
	events_compute(run, true);
	return rc;
}
