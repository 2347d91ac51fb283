/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenged.c - the plan and the result of a scavenge, as text and JSON.
 */
#include "report/scavenged.h"

#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "error.h"
#include "hostlist.h"
#include "json.h"
#include "report/plan_text.h"
#include "report/table.h"
#include "scavenge/salvage.h"
#include "scavenge/scavenge.h"
#include "site/job.h"
#include "str.h"

static const char *
state(const struct salvage_dataset *d)
{
	if (d->done)
		return "saved";
	if (d->unfinished)
		return "unfinished";
	if (d->taken != SALVAGE_FREE)
		return salvage_state_name(d->state);
	if (d->flaw != NULL && d->state == SALVAGE_LOST)
		return report_state(d->found);
	if (scavenge_is_unknown(d))
		return report_state(STATUS_FAILED);
	return salvage_state_name(d->state);
}

/* The reason why it is not saved, or NULL. */
static const char *
reason(const struct salvage_dataset *d)
{
	return d->flaw != NULL && (d->taken != SALVAGE_FREE ||
				   d->state == SALVAGE_LOST)
		       ? d->flaw
		       : d->why;
}

void
report_salvage(const struct salvage *p, double rate, struct buf *out)
{
	struct table t;

	table_start(&t, ">DSET|STATE|KIND|>RANKS|>TO COPY|>TIME|NAME|");
	for (size_t i = p->count; i-- > 0;) {
		const struct salvage_dataset *d = &p->datasets[i];
		const uint64_t todo = d->done ? 0 : d->bytes;
		const double secs = rate > 0 ? (double)todo / rate : -1;

		table_number(&t, (uint64_t)d->id);
		table_add(&t, state(d));
		table_add(&t, d->ckpt && d->output ? "both"
			      : d->output	   ? "output"
			      : d->ckpt		   ? "checkpoint"
						   : "unknown");
		if (d->world >= 0)
			table_cell(&t, "%" PRId64 "/%" PRId64,
				   d->world - d->missing, d->world);
		else
			table_add(&t, "?");
		table_size(&t, todo);
		if (secs < 0)
			table_add(&t, "?");
		else if (secs < 120)
			table_cell(&t, "%.0f s", secs);
		else if (secs < 7200)
			table_cell(&t, "%.0f min", secs / 60);
		else
			table_cell(&t, "%.1f h", secs / 3600);
		table_name(&t, d->name != NULL ? d->name : "-");
		table_add(&t, !d->done && reason(d) != NULL ? reason(d) : "");
	}
	table_end(&t, 0, out);
}

struct json *
report_salvage_json(const struct salvage *p, double rate)
{
	struct json *all = json_new_array();

	for (size_t i = 0; i < p->count; i++) {
		const struct salvage_dataset *d = &p->datasets[i];
		struct json *j = json_new_object();
		uint64_t bytes = d->done ? 0 : d->bytes;

		json_set_i64(j, "id", d->id);
		json_set_str(j, "name", d->name);
		json_set_bool(j, "checkpoint", d->ckpt);
		json_set_bool(j, "output", d->output);
		json_set_bool(j, "bypass", d->bypass);
		json_set_str(j, "state", state(d));
		json_set_or_null(j, "rank_count", d->world);
		json_set_u64(j, "ranks_missing", d->missing);
		json_set_u64(j, "file_count", d->done ? 0 : d->files);
		json_set_u64(j, "bytes", bytes);
		if (rate > 0)
			json_set_u64(j, "seconds",
				     (uint64_t)((double)bytes / rate + 0.5));
		else
			json_set_null(j, "seconds");
		json_set_str(j, "reason", reason(d));
		json_push(all, j);
	}
	return all;
}

/* --- Result --- */

static void
put_name(const struct scavenge *s, int64_t id, struct buf *out)
{
	const struct salvage_dataset *d = salvage_find(&s->plan, id);

	if (d == NULL || d->name == NULL)
		buf_printf(out, "dataset %" PRId64, id);
	else
		buf_printf(out, "%s (dataset %" PRId64 ")", str_shown(d->name),
			   id);
}

/* Is it left in the caches, though its files can be had? */
static bool
is_left(const struct salvage_dataset *d)
{
	return d->taken != SALVAGE_FREE || d->unplaced;
}

static const char *
is_saved(const struct salvage_dataset *d)
{
	return d != NULL && d->done ? " is saved" : " can be saved";
}

static void
put_checkpoint(const struct scavenge *s, const struct scavenge_outlook *o,
	       struct buf *out)
{
	const struct salvage_dataset *n = salvage_find(&s->plan, o->newest);

	buf_add_str(out, o->saved < o->newest || o->gone > 0
				 ? "OLDER checkpoint "
			 : o->newer > 0 ? "checkpoint "
					: "newest checkpoint ");
	put_name(s, o->saved, out);
	buf_add_str(out, is_saved(salvage_find(&s->plan, o->saved)));
	if (o->saved < o->newest) {
		buf_add_str(out, ", newest ");
		put_name(s, o->newest, out);
		buf_add_str(out, n == NULL || !scavenge_is_unknown(n)
					 ? " is not"
				 : is_left(n) ? " is left in the caches"
					      : " could not be judged");
	}
	if (o->newer > 0) {
		buf_add_str(out, ", ");
		put_name(s, o->newer, out);
		buf_add_str(out, " may be a newer one");
	}
}

/* The verdict on all datasets. */
static void
put_all(const struct scavenge *s, struct buf *out)
{
	const struct scavenge_outlook o = scavenge_outlook(s);
	const char *what = "read";
	/* Datasets that are left in the caches, because others are in the way,
	 * or their filemaps are lost. */
	size_t left = 0;

	for (size_t i = 0; i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];

		left += is_left(d) && scavenge_is_unknown(d);
		if (d->undecided)
			what = "judged";
	}
	if (s->plan.count == 0 && s->alive > 0 && s->there[0] == 0)
		buf_printf(out,
			   "nothing to save: no node has %s or a cache of job "
			   "%s of user %s",
			   s->job->cntl_dir, s->job->id, s->job->user);
	else if (s->plan.count == 0)
		buf_add_str(out, scavenge_status(s) == STATUS_OK
					 ? "nothing to save: the caches hold "
					   "no dataset"
					 : "UNKNOWN: the nodes that answered "
					   "hold no dataset");
	else if (o.saved == 0 && o.unknown > 0 && left > 0)
		buf_add_str(out, "NO checkpoint of the caches is saved");
	else if (o.saved == 0 && o.unknown > 0 && s->plan.hidden)
		buf_add_str(out, "UNKNOWN: not all nodes that may have the "
				 "checkpoints answered");
	else if (o.saved == 0 && o.unknown > 0)
		buf_printf(out, "UNKNOWN: the checkpoints cannot be %s", what);
	else if (o.newest == 0 && o.gone == 0)
		buf_add_str(out, "no completed checkpoint in the caches");
	else if (o.saved == 0)
		buf_add_str(out, "LOST: no checkpoint of the caches can be "
				 "saved");
	else
		put_checkpoint(s, &o, out);
	if (o.gone > 0)
		buf_printf(out,
			   "; dataset %" PRId64
			   " is in no cache and not in the index",
			   o.gone);
	if (o.unfinished > 0) {
		buf_add_str(out, "; ");
		put_name(s, o.unfinished, out);
		buf_add_str(out, " is unfinished");
	}
	if (s->restart != NULL)
		buf_printf(out, "; the next job restarts from %s", s->restart);
	if (o.outputs > 0)
		buf_printf(out, "; output: %zu of %zu %s",
			   o.outputs - o.outputs_lost - o.outputs_unknown,
			   o.outputs,
			   s->work->dry_run ? "can be saved" : "saved");
	if (o.outputs_lost > 0)
		buf_printf(out, ", %zu LOST", o.outputs_lost);
	if (o.outputs_unknown > 0)
		buf_printf(out, ", %zu could not be judged", o.outputs_unknown);
	if (left > 0)
		buf_printf(out, "; %zu %s left in the caches",
			   str_count(left, "dataset"));
	if (o.unknown > left)
		buf_printf(out, "; %zu %s could not be %s",
			   str_count(o.unknown - left, "dataset"), what);
}

/* The nodes that may have what is missing, and what to do if they have it. */
static void
put_hiding(const struct scavenge *s, struct buf *out)
{
	const int status = scavenge_status(s);
	const bool open = status == STATUS_FAILED;

	for (int alive = 0; alive < 2; alive++) {
		struct hostlist list = HOSTLIST_INIT;

		for (size_t i = 0; i < s->job->nodes.count; i++)
			if (s->nodes[i].hides &&
			    (s->nodes[i].state == SCAVENGE_NODE_ALIVE) ==
				    (alive != 0))
				(void)hostlist_add_name(&list, s->nodes[i].name,
							NULL);
		if (list.count > 0) {
			buf_add_str(out, alive ? "; caches not readable on "
					       : "; not reached, and maybe "
						 "alive: ");
			(void)hostlist_text(&list, out, NULL);
		}
		hostlist_free(&list);
	}
	if (s->hiding > 0 && open)
		buf_add_str(out, ": repair that, or name them with --down, and "
				 "run it again");
	if (s->unasked > 0 && status != STATUS_OK)
		buf_printf(out,
			   "; the job ran on %zu nodes, and %zu were not asked"
			   "%s",
			   s->job->nodes.count + s->unasked, s->unasked,
			   open ? ": name all of them with --nodes" : "");
}

void
report_verdict(const struct scavenge *s, struct buf *out)
{
	const struct salvage_dataset *d = salvage_find(&s->plan, s->o->only);
	const int status = scavenge_status(s);
	const bool left = d != NULL && is_left(d);
	const struct job *j = s->job;

	if (s->o->only <= 0) {
		put_all(s, out);
	} else {
		/* The verdict on the only dataset to save. */
		if (status == STATUS_LOST)
			buf_add_str(out, "LOST: ");
		else if (status != STATUS_OK)
			buf_add_str(out, left ? "NOT SAVED: " : "UNKNOWN: ");
		put_name(s, s->o->only, out);
		buf_add_str(out, status == STATUS_LOST ? " cannot be saved"
				 : status == STATUS_OK ? is_saved(d)
				 : left ? " is left in the caches"
					: " could not be judged");
	}
	if (s->saved_now > 0)
		buf_printf(out, "; %s copied", str_size(s->copied));
	if (s->dead > 0)
		buf_printf(out, "; %zu of %zu nodes dead", s->dead,
			   s->job->nodes.count);
	/* Of what may be missing: the directories that some nodes do not
	 * have. */
	for (size_t i = 0;
	     s->plan.count > 0 && status != STATUS_OK && i < 1 + j->ncaches;
	     i++) {
		const char *dir = i == 0 ? j->cntl_dir : j->caches[i - 1].dir;

		if (s->there[i] < s->alive &&
		    (i == 0 || !str_eq(dir, j->cntl_dir)))
			buf_printf(out, "; %s exists on %zu of %zu nodes", dir,
				   s->there[i], s->alive);
	}
	put_hiding(s, out);
}

/* The id of a dataset; 0: none. */
static void
set_id(struct json *j, const char *key, int64_t id)
{
	json_set_or_null(j, key, id > 0 ? id : -1);
}

struct json *
report_scavenge_json(const struct scavenge *s)
{
	static const char *const phases[] = { "ask", "copy", "build", "pack" };
	static const char *const states[] = { "skipped", "alive", "dead",
					      "unknown", "unreachable" };
	struct json *j = json_new_object(), *list = json_new_array();
	struct json *times = json_new_object();
	const struct scavenge_outlook o = scavenge_outlook(s);
	struct buf text = BUF_INIT;

	json_set_str(j, "prefix", s->job->prefix);
	json_set_str(j, "job_id", s->job->id);
	for (size_t i = 0; i < s->job->nodes.count; i++) {
		const struct scavenge_node *n = &s->nodes[i];
		struct json *k = json_new_object();

		json_set_str(k, "name", n->name ? n->name : "");
		json_set_str(k, "state", states[n->state]);
		json_set_str(k, "reason", n->why);
		json_push(list, k);
	}
	json_set(j, "nodes", list);
	json_set(j, "datasets", report_salvage_json(&s->plan, s->o->rate));
	set_id(j, "newest_id", o.newest);
	set_id(j, "saved_id", o.saved);
	set_id(j, "unfinished_id", o.unfinished);
	json_set_u64(j, "output_count", o.outputs);
	json_set_u64(j, "outputs_lost", o.outputs_lost);
	json_set_u64(j, "outputs_unknown", o.outputs_unknown);
	json_set_u64(j, "bytes_copied", s->copied);
	for (int i = 0; i < SCAVENGE_PHASES; i++)
		json_set_u64(times, phases[i],
			     (uint64_t)(s->seconds[i] * 1000 + 0.5));
	json_set(j, "phase_milliseconds", times);
	report_verdict(s, &text);
	json_set_str(j, "verdict", text.data);
	buf_free(&text);
	return j;
}
