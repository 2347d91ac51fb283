/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline.c - the log of a prefix as a part of an HTML page: a bar for each
 * run of a job on one axis of time, and a table of failures and halts.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "num.h"
#include "report/report_impl.h"
#include "report/svg.h"
#include "report/table.h"
#include "site/joblog.h"
#include "str.h"
#include "when.h"

/* Rows, and boxes (approximate), of a picture. */
#define RUNS_MAX 500
#define BOXES_MAX 20000

#define CROSS "\xe2\x9c\x95"

/* By joblog_phase; that of a run is last. */
static const char styles[][5] = { "p0", "p1", "p2", "p3",  "p3",
				  "p5", "p6", "p7", "none" };

static const struct svg_key keys[] = {
	{ "p0", "compute" },	    { "p1", "checkpoint" },
	{ "p2", "output" },	    { "p3", "flush, async" },
	{ "p5", "fetch" },	    { "p6", "rebuild" },
	{ "p7", "scavenge" },	    { "bad", "failed" },
	{ "mark", "this dataset" },
};

/* Job, run (a log has fewer than 1 << 30 lines), and in the last two bits the
 * lane: the run itself, its bar, and what is below. */
static uint64_t
key(const struct joblog_span *s)
{
	return s->job << 32 | s->run << 2 |
	       (s->phase == JOBLOG_RUN		 ? 0
		: s->phase == JOBLOG_ASYNC_FLUSH ? 2
						 : 1);
}

static int
by_key(const void *a, const void *b)
{
	const struct joblog_span *x = a, *y = b;

	if (key(x) != key(y))
		return key(x) < key(y) ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void
put_span_tip(const void *arg, const struct svg_item *item, struct buf *out)
{
	const struct joblog_span *s = item->of;

	buf_add_str(out,
		    s->phase < JOBLOG_PHASES
			    ? joblog_phase_name((enum joblog_phase)s->phase)
			    : "run");
	if (s->dataset > 0)
		buf_printf(out, " of dataset %" PRId64, s->dataset);
	buf_printf(out, "%s: %.1f s from %s\n%s",
		   s->failed ? ", failed or cut off" : "", s->end - s->begin,
		   when_local((int64_t)s->begin),
		   s->phase == JOBLOG_RUN ? (const char *)arg : "");
}

/* What the failure of a run cost: "lost 20.5 s". */
static const char *
lost(const struct joblog *g, const struct joblog_span *s, char to[static 64])
{
	const struct joblog_failure *f = g->failures,
				    *end = f + JOBLOG_FAILURES;

	for (; f < end && (f->job != s->job || f->run != s->run);)
		f++;
	if (f == end || f->lost < 0)
		return "lost ?";
	return str_print(to, 64,
			 f->lost_max > f->lost ? "lost %.1f-%.1f s"
					       : "lost %.1f s",
			 f->lost, f->lost_max);
}

/* Lines with the time of day, or the day. */
static void
put_axis(struct svg *d, double begin, double end)
{
	const bool days = end - begin > 2 * 86400;

	d->y += 18;
	for (int k = 0; k <= 4; k++) {
		const double at = begin + (end - begin) * k / 4;
		const double x = d->left + d->wide * k / 4;
		const char *text = when_local((int64_t)at);

		buf_printf(&d->body,
			   "<rect class=\"none\" x=\"%.2f%%\" width=\"1\" "
			   "y=\"%u\" height=\"100%%\"/><text class=\"dim\" "
			   "text-anchor=\"middle\" x=\"%.2f%%\" y=\"%u\">"
			   "%.*s</text>\n",
			   x, d->y, x, d->y - 4, days ? 5 : 8,
			   text + (strlen(text) < 19 ? 0
				   : days	     ? 5
						     : 11));
	}
}

/* The last failures and halts. */
static void
put_events(const struct joblog *g, struct buf *out)
{
	const uint64_t first = joblog_first(g->events_seen, JOBLOG_EVENTS);
	struct table t;

	table_start(&t, "TIME|EVENT");
	for (uint64_t n = g->events_seen; n-- > first;) {
		const struct joblog_event *e = &g->events[n % JOBLOG_EVENTS];

		table_cell(&t, "%s", when_local(e->time));
		table_name(&t, e->text);
	}
	picture_table(out, "Failures and halts", false, &t);
}

/* Draw the rows.  Returns how many boxes they have. */
static size_t
put_runs(struct svg *d, const struct joblog *g, const struct svg_item *items,
	 size_t count, uint64_t room)
{
	char label[NUM_TEXT], cost[64];
	uint64_t last = UINT64_MAX;
	size_t boxes = 0;
	unsigned y = 0;

	for (size_t i = 0, to = 0; i < count; i = to) {
		const struct joblog_span *s = items[i].of;
		const struct joblog_job *j = joblog_job(g, s->job);
		const int lane = (int)(key(s) & 3);
		struct svg_row row = { .label = "",
				       .items = &items[i],
				       .room = room };

		for (; to < count && key(items[to].of) == key(s); to++)
			row.alarm |= items[to].bad && lane == 0;
		row.count = to - i;
		if (last >> 32 != s->job)
			svg_text(d, "", "job %s%s", str_shown(j->id),
				 j->back ? ": its clock went back" : "");
		if (last >> 2 != key(s) >> 2) {
			row.label = num_text(label, s->run);
			y = d->y;
		}
		last = key(s);
		row.state = d->arg = row.alarm ? lost(g, s, cost) : "";
		d->y = y + (lane == 2 ? 19 : 0);
		d->bar = lane == 2 ? 6 : 18;
		if (row.alarm)
			buf_printf(&d->body,
				   "<text class=\"alarm\" x=\"%.2f%%\" "
				   "dx=\"6\" y=\"%u\">" CROSS "</text>",
				   d->left + d->wide *
						     (double)(items[i].off +
							      items[i].len) /
						     (double)room,
				   d->y + 14);
		boxes += svg_boxes(d, row.items, row.count, room);
		svg_row(d, &row);
	}
	return boxes;
}

void
timeline_runs(struct joblog *g, const char *job, int64_t id, struct buf *out)
{
	const size_t kept =
		g->spans_seen < JOBLOG_SPANS ? g->spans_seen : JOBLOG_SPANS;
	struct svg_item *items = mem_calloc(kept + 1, sizeof(*items));
	struct svg d = {
		.left = 9,
		.wide = 71,
		.thin = 0.1,
		.least = 0.1,
		.stack = keys,
		.nstack = sizeof(keys) / sizeof(keys[0]),
		.tip = put_span_tip,
		.items = "spans",
		.wrong = "failed or cut off",
	};
	const struct joblog_span *s = NULL;
	uint64_t last = UINT64_MAX;
	double begin = INFINITY, end = -INFINITY;
	size_t first = 0, n = 0, runs = 0, boxes = 0;
	uint64_t room = 1;

	qsort(g->spans, kept, sizeof(*g->spans), by_key);
	for (size_t i = 0; i < kept; i++) {
		const struct joblog_job *j = joblog_job(g, g->spans[i].job);

		if (j != NULL && (job == NULL || str_eq(j->id, job)))
			items[n++].of = &g->spans[i];
	}
	/* The last runs, and their time. */
	for (first = n; first > 0; first--) {
		s = items[first - 1].of;
		if (last != key(s) >> 2 && runs == RUNS_MAX)
			break;
		runs += last != key(s) >> 2;
		last = key(s) >> 2;
		begin = fmin(begin, s->begin);
		end = fmax(end, s->end);
	}
	begin = n > 0 ? begin : 0;
	end = fmax(end, begin + 1);
	room = (uint64_t)((end - begin) * 1000);
	for (size_t i = first; i < n; i++) {
		s = items[i].of;
		items[i].off = (uint64_t)((s->begin - begin) * 1000);
		items[i].len = (uint64_t)((s->end - s->begin) * 1000);
		items[i].style =
			id > 0 && s->dataset == id ? "mark" : styles[s->phase];
		/* What only ended with its run does not hide the others. */
		items[i].bad = s->failed &&
			       (s->dataset > 0 || s->phase == JOBLOG_RUN ||
				items[i].len > room / 100);
	}
	while (svg_boxes(&d, items + first, n - first, room) > BOXES_MAX)
		d.thin *= 2;
	svg_keys(&d, keys, 4);
	svg_keys(&d, keys + 4, 4);
	if (id > 0)
		svg_keys(&d, keys + 8, 1);
	put_axis(&d, begin, end);
	boxes = put_runs(&d, g, items + first, n - first, room);
	buf_add_str(out, "<h2>Timeline</h2>\n");
	if (n == 0)
		buf_add_str(out, "<p>The log has no runs.</p>\n");
	else
		buf_printf(
			out,
			"<p>%zu %s from %s to %s, local time as in the "
			"log%s.</p>\n<p class=\"dim\">%zu spans are drawn as "
			"%zu boxes: those thinner than a pixel share a box "
			"with their neighbours.</p>\n",
			str_count(runs, "run"), when_local((int64_t)begin),
			when_local((int64_t)end),
			first > 0 || g->spans_seen > kept
				? "; earlier ones are not drawn"
				: "",
			n - first, boxes);
	if (n > 0)
		svg_end(&d, NULL, out);
	put_events(g, out);
	buf_free(&d.body);
	mem_free(items);
}

int
timeline_html(int scr, int64_t id, struct buf *out, struct error *err)
{
	struct error why = ERROR_INIT;
	struct joblog g;
	int rc = 0;

	if (scr < 0)
		return 0;
	rc = joblog_read(scr, "log", &g, &why);
	if (rc == 0)
		timeline_runs(&g, NULL, id, out);
	joblog_free(&g);
	if (why.kind == ERROR_CORRUPT) /* the page has more to say */
		buf_printf(out, "<p>No timeline: %s</p>\n",
			   svg_shown(why.text));
	return why.kind == ERROR_SYSTEM || why.kind == ERROR_NOMEM
		       ? error_pass(err, &why)
		       : 0;
}
