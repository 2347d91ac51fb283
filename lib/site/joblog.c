/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/joblog.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "fnv.h"
#include "mem.h"
#include "meta/log.h"
#include "site/interval.h"
#include "str.h"

/* A longer span, and more bytes, are those of a malformed line. */
#define SECS_MAX (10.0 * 365 * 86400)
#define BYTES_MAX 1e18

/* Events of a phase are these words with _START, _END and so on. */
static const struct {
	const char *event, *xfer, *name;
} phases[JOBLOG_PHASES] = {
	{ "COMPUTE", NULL, "compute" },
	{ "CHECKPOINT", "CHECKPOINT", "checkpoint" },
	{ "OUTPUT", "OUTPUT", "output" },
	{ "FLUSH", "FLUSH_SYNC", "flush" },
	{ "ASYNC_FLUSH", "FLUSH_ASYNC", "async_flush" },
	{ "FETCH", "FETCH", "fetch" },
	{ "REBUILD", NULL, "rebuild" },
	{ "SCAVENGE", LOG_SCAVENGE, "scavenge" },
};

const char *
joblog_phase_name(enum joblog_phase p)
{
	return phases[p].name;
}

uint64_t
joblog_first(uint64_t seen, uint64_t most)
{
	return seen > most ? seen - most : 0;
}

/* --- What is kept --- */

struct joblog_job *
joblog_job(const struct joblog *g, uint64_t number)
{
	return number < g->jobs_seen &&
			       number >= joblog_first(g->jobs_seen, JOBLOG_JOBS)
		       ? &g->jobs[number % JOBLOG_JOBS]
		       : NULL;
}

/* The job of a line: mostly that of the line before. */
static struct joblog_job *
find_job(struct joblog *g, const struct log_line *l)
{
	const uint64_t hash = fnv_text(l->job_id);
	struct joblog_job *j = &g->jobs[g->last_job];

	if (g->jobs_seen > 0 && j->hash == hash)
		return j;
	for (size_t i = 0; i < JOBLOG_JOBS && i < g->jobs_seen; i++)
		if (g->jobs[i].hash == hash) {
			g->last_job = i;
			return &g->jobs[i];
		}
	g->last_job = (size_t)(g->jobs_seen % JOBLOG_JOBS);
	j = &g->jobs[g->last_job];
	*j = (struct joblog_job){
		.number = g->jobs_seen++,
		.hash = hash,
		.first = l->time,
		.last = l->time,
		.seen = -1,
		.halt = -1,
		.from = -1,
	};
	for (int p = 0; p < JOBLOG_PHASES; p++)
		j->since[p] = -1;
	(void)str_print(j->id, sizeof(j->id), "%s", l->job_id);
	return j;
}

/* The dataset of a line; `begins`: a new one, if one with its number is
 * complete. */
static struct joblog_dataset *
find_dataset(struct joblog *g, const struct log_line *l, bool begins)
{
	struct joblog_dataset *d = NULL;

	if (l->dataset <= 0)
		return NULL;
	d = &g->datasets[l->dataset % JOBLOG_DATASETS];
	if (d->id != l->dataset || (begins && d->done))
		*d = (struct joblog_dataset){ .id = l->dataset,
					      .order = g->datasets_seen++,
					      .job = UINT64_MAX };
	if (d->name[0] == '\0' && l->name != NULL)
		(void)str_print(d->name, sizeof(d->name), "%s", l->name);
	return d;
}

/* Failure `n` - 1, or NULL: there is none, or it is no longer kept. */
static struct joblog_failure *
failure_at(const struct joblog *g, uint64_t n)
{
	return n > joblog_first(g->failures_seen, JOBLOG_FAILURES)
		       ? &g->failures[(n - 1) % JOBLOG_FAILURES]
		       : NULL;
}

/* The run that follows the last failure of the job. */
static void
follow(const struct joblog *g, const struct joblog_job *j, int64_t start,
       uint64_t by)
{
	struct joblog_failure *f = failure_at(g, j->latest);

	if (f != NULL && f->next < 0) {
		f->next = start;
		f->by = by;
	}
}

/* --- Runs and failures --- */

/* Add a span to the run. */
static void
put_span(struct joblog *g, struct joblog_job *j, struct joblog_span s)
{
	const bool behind =
		s.phase == JOBLOG_ASYNC_FLUSH || s.phase == JOBLOG_RUN;
	const double late = behind ? 0 : fmax(j->until - s.begin, 0);

	s.job = j->number;
	s.run = j->runs;
	s.begin += late;
	s.end = fmax(s.begin, s.end + late);
	j->until = behind ? j->until : s.end;
	g->spans[g->spans_seen++ % JOBLOG_SPANS] = s;
}

/* The run, or the log, ends at `end`, and with it what has not. */
static void
cut_spans(struct joblog *g, struct joblog_job *j, int64_t end, bool failed)
{
	struct joblog_span s = { .end = (double)end, .failed = failed };

	for (s.phase = 0; s.phase < JOBLOG_PHASES; s.phase++) {
		if (j->since[s.phase] < 0)
			continue;
		s.begin = (double)j->since[s.phase];
		if (s.phase != JOBLOG_ASYNC_FLUSH)
			s.begin = fmax(s.begin, j->until);
		put_span(g, j, s);
	}
	s.begin = s.end;
	if (failed)
		put_span(g, j, s);
	s.begin = (double)j->start;
	s.failed = false;
	put_span(g, j, s);
}

static void
compute(struct joblog_job *j, double secs)
{
	j->work += secs;
	j->before += secs;
	j->since[JOBLOG_COMPUTE] = -1;
}

/* The run has ended: at `died`, or -1; before `next`, or -1, which is the START
 * of a run of `by`. */
static void
end_run(struct joblog *g, struct joblog_job *j, int64_t died, int64_t next,
	uint64_t by)
{
	const int64_t open = j->since[JOBLOG_COMPUTE];
	const int64_t until = died >= 0 ? died : next;
	const int64_t end = died >= 0 ? died : j->seen;
	struct joblog_failure *f = NULL;

	if (!j->running)
		return;
	j->running = false;
	cut_spans(g, j, j->halt >= 0 ? j->halt : end, j->halt < 0);
	if (end > j->start)
		j->run_secs += (double)(end - j->start);
	if (j->halt >= 0) {
		/* Finalize does not log the end of the computation. */
		if (open >= 0 && j->halt >= open) {
			j->phases[JOBLOG_COMPUTE].count++;
			j->phases[JOBLOG_COMPUTE].secs +=
				(double)(j->halt - open);
			compute(j, (double)(j->halt - open));
		}
		j->end = JOBLOG_HALTED;
		j->pending = 0;
		return;
	}
	j->end = JOBLOG_FAILED;
	j->owes = true;
	j->failures++;
	f = &g->failures[g->failures_seen++ % JOBLOG_FAILURES];
	*f = (struct joblog_failure){ .job = j->number,
				      .run = j->runs,
				      .seen = j->seen,
				      .died = died,
				      .next = next,
				      .by = by,
				      .from = -1,
				      .restart = -1,
				      .early = !j->settled };
	/* The computation that did not end; resume() adds the rest. */
	if (open >= 0 && until >= open) {
		f->lost = died >= 0 ? (double)(died - open) : 0;
		f->lost_max = (double)(until - open);
		j->lost += f->lost;
		j->lost_max += f->lost_max;
	}
	j->vague |= open > until;
	j->latest = g->failures_seen;
	/* One that died early has lost nothing that is not lost already. */
	if (j->settled || j->pending == 0)
		j->pending = j->latest;
}

/* Set the work of the job back to `to` (negative: unknown), because the run of
 * job `by` goes on from dataset `from`. */
static void
resume(struct joblog *g, struct joblog_job *j, double to, int64_t from,
       const struct joblog_job *by, int64_t now)
{
	struct joblog_failure *f = failure_at(g, j->pending);
	const double back = to >= 0 ? j->work - to : 0;

	if (to < 0) {
		j->vague |= j->work > 0;
		j->epoch++;
	}
	j->owes = false;
	j->work -= back;
	j->lost += back;
	j->lost_max += back;
	j->mark = j->work;
	j->before = 0;
	if (f == NULL)
		return;
	/* The dataset can be newer than the last one: then nothing is lost. */
	f->lost = to < 0 || f->lost < 0 ? -1 : fmax(f->lost + back, 0);
	f->lost_max = f->lost < 0 ? -1 : fmax(f->lost_max + back, 0);
	if (f->restart < 0 || j == by || back > 0)
		f->from = from;
	if (f->restart < 0 || j == by)
		f->restart = now > f->next ? now - f->next : 0;
}

/* The run of the job computes, or has fetched another dataset since. */
static void
settle(struct joblog *g, struct joblog_job *j, int64_t now)
{
	const int64_t id = j->from;
	const bool fresh = j->whole && j->saved == 0;
	const struct joblog_dataset *d =
		id > 0 ? &g->datasets[id % JOBLOG_DATASETS] : NULL;
	struct joblog_job *owner = d != NULL && d->id == id && d->done
					   ? joblog_job(g, d->job)
					   : NULL;
	double to = -1;

	j->settled = true;
	if (owner == j && d->epoch == j->epoch)
		to = d->work;
	else if (owner != j &&
		 (owner != NULL || fresh || (id > 0 && id == j->base)))
		to = 0; /* where the job began */
	resume(g, j, to,
	       id <= 0 && fresh && !j->restarts && j->base == 0 ? 0 : id, j,
	       now);
	if (id > 0 && fresh)
		j->base = id;
	if (owner == NULL || owner == j)
		return;
	/* What the other job did after its dataset is lost, too. */
	end_run(g, owner, -1, j->start, j->number);
	follow(g, owner, j->start, j->number);
	resume(g, owner, d->epoch == owner->epoch ? d->work : -1, id, j, now);
}

/* --- Lines --- */

static bool
is_span(double secs)
{
	return secs >= 0 && secs < SECS_MAX;
}

static void
add(struct joblog_sum *s, double secs, bool failed)
{
	s->count++;
	s->failed += failed;
	s->untimed += secs < 0;
	if (secs > 0)
		s->secs += secs;
}

/* _START of a phase. */
static void
begin(struct joblog *g, struct joblog_job *j, enum joblog_phase p,
      const struct log_line *l)
{
	struct joblog_dataset *d = NULL;

	if (p == JOBLOG_COMPUTE && !j->settled)
		settle(g, j, l->time);
	j->since[p] = l->time;
	if ((p != JOBLOG_CHECKPOINT && p != JOBLOG_OUTPUT) ||
	    (d = find_dataset(g, l, true)) == NULL)
		return;
	d->is_ckpt |= p == JOBLOG_CHECKPOINT;
	if (d->phases[JOBLOG_COMPUTE].count == 0)
		add(&d->phases[JOBLOG_COMPUTE], j->before, false);
	j->before = 0;
}

/* _END, _SUCCESS or _FAIL. */
static void
end(struct joblog *g, struct joblog_job *j, enum joblog_phase p,
    const struct log_line *l, bool failed)
{
	const int64_t since = j->since[p];
	struct joblog_dataset *d = find_dataset(g, l, false);
	const double secs = is_span(l->secs) ? l->secs
			    : since >= 0 && l->time >= since
				    ? (double)(l->time - since)
				    : -1;

	/* If it began later, it is another one. */
	if ((double)since <= (double)l->time - secs + 1)
		j->since[p] = -1;
	/* An output that is a checkpoint, too, was counted as one. */
	if (p == JOBLOG_OUTPUT && d != NULL && d->is_ckpt)
		return;
	add(&j->phases[p], secs, failed);
	if (secs >= 0)
		put_span(g, j,
			 (struct joblog_span){ .phase = (int)p,
					       .begin = (double)l->time - secs,
					       .end = (double)l->time,
					       .failed = failed,
					       .dataset = l->dataset });
	if (d != NULL && p != JOBLOG_COMPUTE)
		add(&d->phases[p], secs, failed);
	if (p == JOBLOG_COMPUTE && secs > 0)
		compute(j, secs);
	if (p == JOBLOG_FLUSH && d != NULL && d->is_ckpt && secs > 0)
		j->ckpt_flush += secs;
	if (p == JOBLOG_FETCH && !failed) {
		j->restarts = true;
		j->from = l->dataset > 0 ? l->dataset : -1;
		/* The application could not read the one before. */
		if (j->settled && j->running)
			settle(g, j, l->time);
	}
	if (p != JOBLOG_CHECKPOINT && p != JOBLOG_OUTPUT)
		return;
	if (p == JOBLOG_CHECKPOINT) {
		j->saved++;
		j->spacings++;
		j->spacing += j->work - j->mark;
		j->mark = j->work;
	}
	if (d != NULL) {
		d->done = true;
		d->job = j->number;
		d->work = j->work;
		d->epoch = j->epoch;
	}
}

/* Is it that of a run of the job? */
static bool
take_event(struct joblog *g, struct joblog_job *j, const struct log_line *l)
{
	static const char *const ends[] = { "END", "SUCCESS", "FAIL" };
	const char *what = NULL;
	int p = 0, k = 0;

	if (str_eq(l->event, "START")) {
		end_run(g, j, -1, l->time, j->number);
		follow(g, j, l->time, j->number);
		j->whole |= j->runs == 0;
		j->runs++;
		j->running = true;
		j->settled = j->restarts = false;
		j->back |= l->time + 1 < j->tick;
		j->start = j->seen = j->tick = l->time;
		j->halt = j->from = -1;
		for (p = 0; p < JOBLOG_PHASES; p++)
			j->since[p] = -1;
		j->until = (double)l->time;
		return true;
	}
	if (str_eq(l->event, "RUN_END")) {
		end_run(g, j, l->time, -1, 0);
		return false;
	}
	for (; p < JOBLOG_PHASES; p++) {
		const size_t len = strlen(phases[p].event);

		if (strncmp(l->event, phases[p].event, len) == 0 &&
		    l->event[len] == '_')
			what = l->event + len + 1;
		if (what != NULL)
			break;
	}
	if (what == NULL && !str_eq(l->event, "HALT") &&
	    !str_starts(l->event, "RESTART_"))
		return false;
	if (p <= JOBLOG_OUTPUT && !j->running) {
		/* The START of the run is not in the log; or it did not end
		 * when it seemed to.  Flushes can end after the run. */
		j->vague |= j->runs > 0;
		j->runs++;
		j->running = j->settled = true;
		j->start = l->time;
		j->halt = -1;
	}
	if (what == NULL) {
		if (str_eq(l->event, "HALT"))
			j->halt = l->time;
		if (str_eq(l->event, "RESTART_SUCCESS") && !j->settled) {
			j->restarts = true;
			j->from = l->dataset > 0 ? l->dataset : -1;
		}
		return true;
	}
	/* The application has not obeyed a halt. */
	if (p <= JOBLOG_OUTPUT && !(p == JOBLOG_COMPUTE && what[0] == 'S'))
		j->halt = -1;
	if (str_eq(what, "START"))
		begin(g, j, (enum joblog_phase)p, l);
	for (k = 0; k < 3; k++)
		if (str_eq(what, ends[k]))
			end(g, j, (enum joblog_phase)p, l, k == 2);
	/* Of these the stamp is that of the line. */
	if (p <= JOBLOG_OUTPUT) {
		j->back |= l->time + 1 < j->tick;
		j->tick = l->time;
	}
	return p != JOBLOG_SCAVENGE;
}

static bool
take_transfer(struct joblog *g, struct joblog_job *j, const struct log_line *l)
{
	struct joblog_dataset *d = find_dataset(g, l, false);

	for (int p = 0; p < JOBLOG_PHASES; p++) {
		if (phases[p].xfer == NULL || !str_eq(l->xfer, phases[p].xfer))
			continue;
		if ((p == JOBLOG_OUTPUT && d != NULL && d->is_ckpt) ||
		    !(l->secs > 0 && l->secs < SECS_MAX) ||
		    !(l->bytes >= 0 && l->bytes < BYTES_MAX))
			return true;
		j->phases[p].bytes += l->bytes;
		j->phases[p].moving += l->secs;
		if (d != NULL) {
			d->phases[p].bytes += l->bytes;
			d->phases[p].moving += l->secs;
		}
		return p != JOBLOG_SCAVENGE;
	}
	return true;
}

int
joblog_read(int dirfd, const char *path, struct joblog *out, struct error *err)
{
	struct log_reader r;
	struct log_line l;
	int rc = 0;

	*out = (struct joblog){ .jobs = mem_calloc(JOBLOG_JOBS,
						   sizeof(*out->jobs)) };
	out->datasets = mem_calloc(JOBLOG_DATASETS, sizeof(*out->datasets));
	out->failures = mem_calloc(JOBLOG_FAILURES, sizeof(*out->failures));
	out->spans = mem_calloc(JOBLOG_SPANS, sizeof(*out->spans));
	rc = log_open(&r, dirfd, path, 0, err);
	while (rc >= 0 && (rc = log_next(&r, &l, err)) > 0) {
		struct joblog_job *j = NULL;
		int64_t until = l.time;
		bool mine = false;

		if (l.job_id == NULL || l.job_id[0] == '\0') {
			out->jobless++;
			continue;
		}
		j = find_job(out, &l);
		if (l.event != NULL &&
		    (str_ends(l.event, "_FAIL") || str_eq(l.event, "HALT"))) {
			struct joblog_event *e =
				&out->events[out->events_seen++ %
					     JOBLOG_EVENTS];

			e->time = l.time;
			(void)str_print(e->text, sizeof(e->text), "%s %s",
					l.event, l.note != NULL ? l.note : "");
		}
		mine = l.event != NULL ? take_event(out, j, &l)
				       : take_transfer(out, j, &l);
		/* The stamp of a transfer is that of its start. */
		if (l.xfer != NULL && is_span(l.secs))
			until += (int64_t)l.secs;
		if (mine && until > j->seen)
			j->seen = until;
		if (until > j->last)
			j->last = until;
	}
	for (size_t i = 0; i < JOBLOG_JOBS && i < out->jobs_seen; i++) {
		struct joblog_job *j = &out->jobs[i];

		if (j->running && j->halt >= 0)
			end_run(out, j, -1, -1, 0);
		else if (j->running) {
			j->end = JOBLOG_UNKNOWN;
			cut_spans(out, j, j->seen, false);
			if (j->seen > j->start)
				j->run_secs += (double)(j->seen - j->start);
		}
	}
	/* What a failure cost is decided by the restart after it. */
	for (size_t i = 0; i < JOBLOG_FAILURES && i < out->failures_seen; i++)
		if (out->failures[i].restart < 0 && !out->failures[i].early)
			out->failures[i].lost = out->failures[i].lost_max = -1;
	out->lines = r.lines;
	out->unreadable = r.unreadable;
	out->unfinished = r.unfinished;
	log_close(&r);
	return rc;
}

void
joblog_free(struct joblog *g)
{
	mem_free(g->jobs);
	mem_free(g->datasets);
	mem_free(g->failures);
	mem_free(g->spans);
	*g = (struct joblog){ .jobs = NULL };
}

/* --- Figures --- */

double
joblog_efficiency(const struct joblog_job *j)
{
	const double all = (double)(j->last - j->first);

	if (!j->whole || j->back || j->vague || j->owes || all <= 0 ||
	    j->phases[JOBLOG_COMPUTE].untimed > 0)
		return -1;
	return j->work < all ? j->work / all : 1;
}

double
joblog_used(const struct joblog_job *j)
{
	return j->spacings > 0 ? j->spacing / (double)j->spacings : -1;
}

int
joblog_best(const struct joblog_job *j, struct interval *out)
{
	const struct interval_stats s = {
		.runs = { j->failures, j->run_secs },
		.checkpoint = { j->phases[JOBLOG_CHECKPOINT].count,
				j->phases[JOBLOG_CHECKPOINT].secs },
		.flush = { 0, j->ckpt_flush },
	};

	return j->back ? -1 : interval_compute(&s, INTERVAL_DALY, out, NULL);
}
