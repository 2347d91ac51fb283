/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/interval.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "conf.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "meta/dataset_dir.h"
#include "meta/log.h"
#include "site/jobfiles.h"
#include "str.h"

/* Number of checkpoint ids kept.  A flush comes soon after its checkpoint, so
 * these suffice to recognise flushes of checkpoints. */
#define RECENT 64

/* A run longer than this has a wrong time stamp. */
#define RUN_SECS_MAX (10.0 * 365 * 86400)

/* A transfer of more bytes than this is a malformed line. */
#define BYTES_MAX 1e18

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Weight of a transfer relative to the next one. */
#define FADE 0.5

struct reading {
	struct interval_stats *s;
	int64_t recent[RECENT];
	size_t next;
	bool in_run;
	double start, last; /* of the run, epoch seconds */
};

static void
end_run(struct reading *r)
{
	const double secs = r->last - r->start;

	if (r->in_run && secs > 0 && secs < RUN_SECS_MAX)
		r->s->runs.secs += secs;
	r->in_run = false;
}

/*
 * A run begins with START and ends with its last event.  RUN_START, RUN_END
 * and scavenges are written by scripts between runs and do not count.  The
 * stamp of a transfer is the time of its start.
 */
static void
take_time(struct reading *r, const struct log_line *l)
{
	double end = (double)l->time;

	if (l->event != NULL && str_eq(l->event, "START")) {
		end_run(r);
		r->in_run = true;
		r->start = r->last = end;
		r->s->runs.count++;
		return;
	}
	if (l->event != NULL &&
	    (str_starts(l->event, "RUN_") || str_starts(l->event, "SCAVENGE_")))
		return;
	if (l->xfer != NULL && str_eq(l->xfer, LOG_SCAVENGE))
		return;
	if (l->xfer != NULL && l->secs > 0 && l->secs < RUN_SECS_MAX)
		end += l->secs;
	if (end > r->last)
		r->last = end;
}

static void
take_event(struct reading *r, const struct log_line *l)
{
	struct interval_stats *s = r->s;
	const struct {
		const char *event;
		struct interval_sum *sum;
		uint64_t *count;
	} table[] = {
		{ "COMPUTE_END", &s->compute, NULL },
		{ "CHECKPOINT_END", &s->checkpoint, NULL },
		{ "OUTPUT_END", &s->output, NULL },
		{ "FLUSH_SUCCESS", &s->output_flush, NULL },
		{ "FLUSH_FAIL", &s->output_flush, &s->flush_failed },
		{ "ASYNC_FLUSH_SUCCESS", &s->async_flush, NULL },
		{ "ASYNC_FLUSH_FAIL", &s->async_flush, &s->flush_failed },
		{ "FETCH_SUCCESS", &s->fetch, NULL },
		{ "FETCH_FAIL", &s->fetch, &s->fetch_failed },
		{ "REBUILD_SUCCESS", &s->rebuild, NULL },
		{ "REBUILD_FAIL", &s->rebuild, &s->rebuild_failed },
		{ "RESTART_SUCCESS", NULL, &s->restart },
		{ "RESTART_FAIL", NULL, &s->restart_failed },
		{ "HALT", NULL, &s->halts },
		{ "NODE_FAIL", NULL, &s->node_failures },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		struct interval_sum *sum = table[i].sum;

		if (!str_eq(l->event, table[i].event))
			continue;
		/* Is it that of a checkpoint? */
		for (size_t k = 0; sum == &s->output_flush && k < RECENT; k++)
			if (l->dataset > 0 && r->recent[k] == l->dataset)
				sum = &s->flush;
		if (sum != NULL) {
			sum->count++;
			if (l->secs > 0 && l->secs < RUN_SECS_MAX)
				sum->secs += l->secs;
		}
		if (table[i].count != NULL)
			++*table[i].count;
	}
	if (str_eq(l->event, "CHECKPOINT_END"))
		r->recent[r->next++ % RECENT] = l->dataset;
}

int
interval_read(int dirfd, const char *path, struct interval_stats *out,
	      struct error *err)
{
	struct reading r = { .s = out };
	struct interval_speed *to = NULL;
	struct log_reader log;
	struct log_line l;
	int rc = log_open(&log, dirfd, path, 0, err);

	memset(out, 0, sizeof(*out));
	while (rc >= 0 && (rc = log_next(&log, &l, err)) > 0) {
		take_time(&r, &l);
		if (l.event != NULL) {
			take_event(&r, &l);
			continue;
		}
		to = str_eq(l.xfer, LOG_SCAVENGE)   ? &out->scavenging
		     : str_eq(l.xfer, "FLUSH_SYNC") ? &out->flushing
						    : NULL;
		if (to == NULL || !(l.bytes > 0 && l.bytes < BYTES_MAX) ||
		    !(l.secs > 0 && l.secs < RUN_SECS_MAX))
			continue;
		to->bytes = to->bytes * FADE + l.bytes;
		to->secs = to->secs * FADE + l.secs;
	}
	end_run(&r);
	out->lines = log.lines;
	out->unreadable = log.unreadable;
	log_close(&log);
	return rc;
}

int
interval_read_prefix(const char *prefix, struct interval_stats *out,
		     struct error *err)
{
	struct error why = ERROR_INIT;
	int dir = jobfiles_open(prefix, false, &why), rc = -1;

	memset(out, 0, sizeof(*out));
	if (dir < 0)
		return error_as(err, &why, "%s/" SCR_DIR "/log: %s", prefix,
				why.errnum != 0 ? strerror(why.errnum)
						: why.text);
	rc = interval_read(dir, "log", out, &why);
	close(dir);
	return rc < 0 ? error_as(err, &why, "%s/" SCR_DIR "/%s", prefix,
				 why.text)
		      : 0;
}

double
interval_scavenge_rate(const struct interval_stats *s)
{
	const struct interval_speed *v =
		s->scavenging.secs > 0 ? &s->scavenging : &s->flushing;

	return v->secs > 0 ? v->bytes / v->secs : 0;
}

int
interval_compute(const struct interval_stats *s, enum interval_model model,
		 struct interval *out, struct error *err)
{
	double x = 0;

	memset(out, 0, sizeof(*out));
	if (s->runs.count == 0)
		return error_set(err, ERROR_ABSENT,
				 "no interval: the log has no run");
	if (s->checkpoint.count == 0)
		return error_set(err, ERROR_ABSENT,
				 "no interval: the log has no checkpoint");
	out->cost = (s->checkpoint.secs + s->flush.secs) /
		    (double)s->checkpoint.count;
	out->mtbi = s->runs.secs / (double)s->runs.count;
	if (out->cost <= 0 || out->mtbi <= 0)
		return error_set(
			err, ERROR_ABSENT,
			"no interval: the log has no time spent in runs or "
			"checkpoints");
	out->seconds = sqrt(2 * out->cost * out->mtbi);
	/* Equation 37.  If a checkpoint costs twice the mean time between
	 * interrupts or more, that time is the interval. */
	x = out->cost / (2 * out->mtbi);
	if (model == INTERVAL_DALY && x >= 1)
		out->seconds = out->mtbi;
	else if (model == INTERVAL_DALY)
		out->seconds =
			out->seconds * (1 + sqrt(x) / 3 + x / 9) - out->cost;
	out->percent = 100 * out->cost / (out->seconds + out->cost);
	return 0;
}

/* --- Output --- */

struct figure {
	const char *key, *words;
	size_t at; /* offset in the statistics */
};

#define AT(member) offsetof(struct interval_stats, member)

static const struct figure sums[] = {
	{ "runs", "runs", AT(runs) },
	{ "compute_phases", "compute phases", AT(compute) },
	{ "checkpoints", "checkpoints", AT(checkpoint) },
	{ "flushes", "flushes of checkpoints", AT(flush) },
	{ "outputs", "outputs", AT(output) },
	{ "output_flushes", "flushes of outputs", AT(output_flush) },
	{ "async_flushes", "asynchronous flushes", AT(async_flush) },
	{ "fetches", "fetches", AT(fetch) },
	{ "rebuilds", "rebuilds", AT(rebuild) },
};

static const struct figure counts[] = {
	{ "restarts", "restarts", AT(restart) },
	{ "flush_failures", "failed flushes", AT(flush_failed) },
	{ "fetch_failures", "failed fetches", AT(fetch_failed) },
	{ "rebuild_failures", "failed rebuilds", AT(rebuild_failed) },
	{ "restart_failures", "failed restarts", AT(restart_failed) },
	{ "halts", "halts", AT(halts) },
	{ "node_failures", "node failures", AT(node_failures) },
};

static const void *
value_of(const struct interval_stats *s, const struct figure *f)
{
	return (const char *)s + f->at;
}

void
interval_text(const struct interval_stats *s, struct buf *out)
{
	for (size_t i = 0; i < COUNT(sums); i++) {
		const struct interval_sum *sum = value_of(s, &sums[i]);

		buf_printf(out, "%s: %" PRIu64, sums[i].words, sum->count);
		if (sum->count > 0)
			buf_printf(out, ", %.1f s in all, %.1f s each",
				   sum->secs, sum->secs / (double)sum->count);
		buf_add_char(out, '\n');
	}
	for (size_t i = 0; i < COUNT(counts); i++) {
		const uint64_t *count = value_of(s, &counts[i]);

		if (*count > 0)
			buf_printf(out, "%s: %" PRIu64 "\n", counts[i].words,
				   *count);
	}
	if (s->unreadable > 0)
		buf_printf(out, "lines skipped: %" PRIu64 "\n", s->unreadable);
}

/* Durations are in whole milliseconds. */
struct json *
interval_json(const struct interval_stats *s)
{
	struct json *j = json_new_object(), *one = NULL;

	for (size_t i = 0; i < COUNT(sums); i++) {
		const struct interval_sum *sum = value_of(s, &sums[i]);

		one = json_new_object();
		json_set_u64(one, "count", sum->count);
		json_set_u64(one, "milliseconds", (uint64_t)(sum->secs * 1000));
		json_set(j, sums[i].key, one);
	}
	for (size_t i = 0; i < COUNT(counts); i++)
		json_set_u64(j, counts[i].key,
			     *(const uint64_t *)value_of(s, &counts[i]));
	json_set_u64(j, "line_count", s->lines);
	json_set_u64(j, "lines_skipped", s->unreadable);
	return j;
}

/* A value that does not parse, which libscr replaces, says nothing. */
static bool
says(const struct conf *c, const char *key)
{
	union conf_value v;

	return conf_is_set(c, key) &&
	       conf_parse(conf_param(key), conf_get(c, key), &v, NULL) == 0;
}

bool
interval_chosen(const struct conf *c)
{
	return says(c, "SCR_CHECKPOINT_INTERVAL") ||
	       says(c, "SCR_CHECKPOINT_SECONDS") ||
	       says(c, "SCR_CHECKPOINT_OVERHEAD");
}
