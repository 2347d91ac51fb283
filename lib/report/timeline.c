/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline.c - the log of a prefix as a part of an HTML page: lanes of marks
 * over time, and a table of the last events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/log.h"
#include "report/report_impl.h"
#include "report/svg.h"
#include "report/table.h"
#include "report/xml.h"
#include "str.h"
#include "when.h"

/* Bytes read from the end of a log, and events in the table. */
#define TAIL (4L << 20)
#define LISTED 40

static const char *const lanes[] = { "runs",	"checkpoints", "flushes",
				     "fetches", "scavenges",   "halts",
				     "failures" };

static const struct {
	const char *event, *lane;
} kinds[] = {
	{ "START", "runs" },
	{ "CHECKPOINT_END", "checkpoints" },
	{ "OUTPUT_END", "checkpoints" },
	{ "FLUSH_SUCCESS", "flushes" },
	{ "ASYNC_FLUSH_SUCCESS", "flushes" },
	{ "FETCH_SUCCESS", "fetches" },
	{ "REBUILD_SUCCESS", "fetches" },
	{ "SCAVENGE_END", "scavenges" },
	{ "HALT", "halts" },
	{ "NODE_FAIL", "failures" },
	{ "FLUSH_FAIL", "failures" },
	{ "ASYNC_FLUSH_FAIL", "failures" },
	{ "FETCH_FAIL", "failures" },
	{ "REBUILD_FAIL", "failures" },
	{ "RESTART_FAIL", "failures" },
};

struct event {
	struct log_line log;
	const char *lane;
	size_t number; /* of the line, in the order of the log */
};

struct timeline {
	struct arena *arena;
	struct event *events;
	size_t count, cap;
	int64_t id;
};

static int
by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->log.time != y->log.time)
		return x->log.time < y->log.time ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Read the end of the log, if there is one, and list its events. */
static int
read_events(int scr, struct timeline *t, struct error *err)
{
	const size_t nkinds = sizeof(kinds) / sizeof(kinds[0]);
	struct error why = ERROR_INIT;
	const int fd = io_open_read(scr, "log", &why);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	char line[LOG_LINE_MAX + 2];
	struct log_line l;
	bool whole = true;
	size_t len = 0, k = 0;

	if (f == NULL)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	/* The first line may have lost its beginning. */
	if (fseek(f, -TAIL, SEEK_END) == 0)
		whole = false;
	while (fgets(line, sizeof(line), f) != NULL) {
		const bool start = whole;

		len = strcspn(line, "\n");
		whole = line[len] == '\n';
		if (!start ||
		    log_parse(arena_strndup(t->arena, line, len), &l, NULL) < 0)
			continue;
		for (k = 0; k < nkinds && l.event != NULL; k++)
			if (str_eq(l.event, kinds[k].event))
				break;
		if (k == nkinds || l.event == NULL || l.time < 0)
			continue;
		(void)MEM_ROOM(t->events, t->count, t->cap);
		t->events[t->count] =
			(struct event){ l, kinds[k].lane, t->count };
		t->count++;
	}
	fclose(f);
	if (t->count > 0)
		qsort(t->events, t->count, sizeof(*t->events), by_time);
	return 0;
}

static void
put_what(const struct event *e, struct buf *out)
{
	const bool failed = str_eq(e->lane, "failures");

	buf_add_str(out, str_shown(e->log.event));
	if (e->log.dataset > 0)
		buf_printf(out, " dataset %" PRId64, e->log.dataset);
	if (e->log.host != NULL && failed)
		buf_printf(out, " on %s", str_shown(e->log.host));
	if (e->log.note != NULL && (failed || str_eq(e->lane, "halts")))
		buf_printf(out, ": %s", str_shown(e->log.note));
}

static void
put_tip(const void *arg, const struct svg_item *s, struct buf *out)
{
	const struct event *e = s->of;
	struct buf what = BUF_INIT;

	(void)arg;
	put_what(e, &what);
	buf_printf(out, "%s ", when_utc(e->log.time));
	xml_escaped(out, what.data);
	buf_free(&what);
}

/* A row for each lane, a box for each event. */
static void
put_lanes(const struct timeline *t, struct buf *out)
{
	const int64_t begin = t->events[0].log.time;
	const int64_t span = t->events[t->count - 1].log.time - begin;
	struct svg_item *items = mem_calloc(t->count, sizeof(*items));
	struct svg d = {
		.left = SVG_MARGIN,
		.wide = 100 - 2 * SVG_MARGIN,
		.bar = 16,
		.thin = 0.8,
		.least = 0.5,
		.tip = put_tip,
		.items = "events",
	};

	for (size_t k = 0; k < sizeof(lanes) / sizeof(lanes[0]); k++) {
		const bool failed = str_eq(lanes[k], "failures");
		size_t n = 0;

		d.mixed = failed ? "fail this" : "mark this";
		for (size_t i = 0; i < t->count; i++) {
			const struct log_line *l = &t->events[i].log;

			if (str_eq(t->events[i].lane, lanes[k]))
				items[n++] = (struct svg_item){
					.of = &t->events[i],
					.off = (uint64_t)(l->time - begin),
					.style =
						t->id > 0 && l->dataset == t->id
							? d.mixed
						: failed ? "fail"
							 : "mark",
				};
		}
		if (n > 0)
			svg_row(&d,
				&(struct svg_row){
					.label = str_printed(64, "%s %zu",
							     lanes[k], n),
					.ground = "none",
					.tip = lanes[k],
					.size = UINT64_MAX,
					.room = span > 0 ? (uint64_t)span : 1,
					.items = items,
					.count = n });
	}
	svg_end(&d, NULL, out);
	mem_free(items);
}

int
timeline_html(int scr, int64_t id, struct buf *out, struct error *err)
{
	struct timeline t = { .id = id, .arena = arena_new() };
	struct buf what = BUF_INIT;
	struct table last;
	int rc = scr >= 0 ? read_events(scr, &t, err) : 0;

	if (t.count > 0) {
		buf_add_str(out, "<h2>Timeline</h2>\n");
		put_lanes(&t, out);
		buf_printf(out,
			   "<p class=\"ends\"><span>%s UTC</span><span>%s UTC"
			   "</span></p>\n",
			   when_utc(t.events[0].log.time),
			   when_utc(t.events[t.count - 1].log.time));
		table_start(&last, "TIME|EVENT");
		for (size_t i = t.count; i-- > 0 && i + LISTED >= t.count;) {
			buf_clear(&what);
			put_what(&t.events[i], &what);
			table_cells(&last, "%s\t%s",
				    when_utc(t.events[i].log.time), what.data);
		}
		picture_table(out, "Last events", false, &last);
	}
	buf_free(&what);
	mem_free(t.events);
	arena_free(t.arena);
	return rc;
}
