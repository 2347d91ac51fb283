/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline.c - the log of a prefix as a part of an HTML page: lanes of marks
 * over time, and a table of the last events.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/log.h"
#include "report/report_impl.h"
#include "report/xml.h"
#include "str.h"
#include "when.h"

/* Bytes read from the end of a log, and events in the table. */
#define TAIL (UINT64_C(4) << 20)
#define LISTED 40

/* Marks of a lane that are nearer share one: thousandths of its width. */
#define NEAR 8

const char timeline_css[] =
	".lane{position:relative;height:26px;margin:2px 0 2px 7.5em;"
	"border-bottom:1px solid var(--line)}"
	".lane>span{position:absolute;left:-7.5em;top:4px}"
	".lane>b{position:absolute;top:5px;width:4px;height:16px;"
	"margin-left:-2px;background:var(--mark);border-radius:2px}"
	".lane>b.fail{background:var(--lost)}"
	".lane>b.this{outline:2px solid var(--ink)}"
	".ends{margin-left:7.5em;display:flex;justify-content:space-between}\n";

enum lane {
	RUNS,
	CHECKPOINTS,
	FLUSHES,
	FETCHES,
	SCAVENGES,
	HALTS,
	FAILURES,
	LANES
};

static const char *const lanes[LANES] = { "runs",    "checkpoints", "flushes",
					  "fetches", "scavenges",   "halts",
					  "failures" };

static const struct {
	const char *event; /* or how it starts */
	enum lane lane;
} kinds[] = {
	{ "START", RUNS },
	{ "CHECKPOINT_END", CHECKPOINTS },
	{ "OUTPUT_END", CHECKPOINTS },
	{ "FLUSH_SUCCESS", FLUSHES },
	{ "ASYNC_FLUSH_SUCCESS", FLUSHES },
	{ "FETCH_SUCCESS", FETCHES },
	{ "REBUILD_SUCCESS", FETCHES },
	{ "SCAVENGE_END", SCAVENGES },
	{ "HALT", HALTS },
	{ "NODE_FAIL", FAILURES },
	{ "FLUSH_FAIL", FAILURES },
	{ "ASYNC_FLUSH_FAIL", FAILURES },
	{ "FETCH_FAIL", FAILURES },
	{ "REBUILD_FAIL", FAILURES },
	{ "RESTART_FAIL", FAILURES },
};

struct event {
	struct log_line log; /* borrowed from the text */
	enum lane lane;
};

struct timeline {
	struct buf text;
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
	return x->log.event < y->log.event ? -1 : x->log.event > y->log.event;
}

/* Read the end of the log, if there is one, and list its events. */
static int
read_events(int scr, struct timeline *t, struct error *err)
{
	const size_t nkinds = sizeof(kinds) / sizeof(kinds[0]);
	const int fd = dir_open_file(
		scr, "log", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	char *rest = NULL, *line = NULL, *end = NULL;
	struct stat st;
	uint64_t size = 0, from = 0;
	struct log_line l;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : error_sys(err, "log: cannot open");
	if (fstat(fd, &st) < 0) {
		rc = error_sys(err, "log: cannot look");
	} else if (S_ISREG(st.st_mode) && st.st_size > 0) {
		size = (uint64_t)st.st_size;
		from = size > TAIL ? size - TAIL : 0;
		size -= from;
		buf_reserve(&t->text, (size_t)size + 1);
		rest = t->text.data;
		end = rest + size;
		rc = io_pread(fd, "log", rest, (size_t)size, from, err);
		*end = '\0';
		/* The first line may have lost its beginning. */
		if (from > 0)
			*rest = '\0';
	}
	close(fd);
	for (; rc == 0 && rest < end; rest = line) {
		size_t k = 0;

		line = rest + strcspn(rest, "\n") + 1;
		line[-1] = '\0';
		if (log_parse(rest, &l, NULL) < 0 || l.event == NULL)
			continue;
		while (k < nkinds && !str_eq(l.event, kinds[k].event))
			k++;
		if (k == nkinds || l.time < 0)
			continue;
		(void)MEM_ROOM(t->events, t->count, t->cap);
		t->events[t->count++] = (struct event){ l, kinds[k].lane };
	}
	if (t->count > 0)
		qsort(t->events, t->count, sizeof(*t->events), by_time);
	return rc;
}

static unsigned
place_of(const struct timeline *t, const struct event *e)
{
	const int64_t first = t->events[0].log.time;
	const int64_t span = t->events[t->count - 1].log.time - first;

	return span > 0 ? (unsigned)((double)(e->log.time - first) * 1000 /
				     (double)span)
			: 500;
}

static void
put_what(const struct event *e, struct buf *out)
{
	buf_add_str(out, xml_shown(e->log.event));
	if (e->log.dataset > 0)
		buf_printf(out, " dataset %" PRId64, e->log.dataset);
	if (e->log.host != NULL && e->lane == FAILURES)
		buf_printf(out, " on %s", xml_shown(e->log.host));
	if (e->log.note != NULL && e->lane >= HALTS)
		buf_printf(out, ": %s", xml_shown(e->log.note));
}

/* One mark for events[from] and those of its lane that are near. */
static size_t
put_mark(const struct timeline *t, size_t from, struct buf *out)
{
	const struct event *a = &t->events[from];
	const unsigned at = place_of(t, a);
	bool mine = false;
	size_t n = 0, i = from;

	for (; i < t->count && place_of(t, &t->events[i]) < at + NEAR; i++) {
		if (t->events[i].lane != a->lane)
			continue;
		n++;
		mine |= t->id > 0 && t->events[i].log.dataset == t->id;
	}
	buf_printf(out, "<b class=\"%s%s\" style=\"left:%u.%u%%\" title=\"%s ",
		   a->lane == FAILURES ? "fail" : "mark", mine ? " this" : "",
		   at / 10, at % 10, when_utc(a->log.time));
	put_what(a, out);
	if (n > 1)
		buf_printf(out, ", and %zu more", n - 1);
	buf_add_str(out, "\"></b>");
	return i;
}

int
timeline_html(int scr, int64_t id, struct buf *out, struct error *err)
{
	struct timeline t = { .id = id };
	int rc = scr >= 0 ? read_events(scr, &t, err) : 0;

	if (t.count > 0) {
		size_t from = 0;

		buf_add_str(out, "<h2>Timeline</h2>\n");
		for (int lane = 0; lane < LANES; lane++) {
			size_t n = 0;

			for (size_t i = 0; i < t.count; i++)
				n += (int)t.events[i].lane == lane;
			if (n == 0)
				continue;
			buf_printf(out,
				   "<div class=\"lane\"><span>%s %zu</span>",
				   lanes[lane], n);
			for (size_t i = 0; i < t.count;)
				if ((int)t.events[i].lane == lane)
					i = put_mark(&t, i, out);
				else
					i++;
			buf_add_str(out, "</div>\n");
		}
		from = t.count > LISTED ? t.count - LISTED : 0;
		buf_printf(out,
			   "<p class=\"ends\"><span>%s UTC</span><span>%s UTC"
			   "</span></p>\n",
			   when_utc(t.events[0].log.time),
			   when_utc(t.events[t.count - 1].log.time));
		buf_printf(out,
			   "<details><summary>last %zu %s</summary><div "
			   "class=\"scroll\"><table>\n",
			   str_count(t.count - from, "event"));
		for (size_t i = t.count; i-- > from;) {
			buf_printf(out, "<tr><td>%s</td><td>",
				   when_utc(t.events[i].log.time));
			put_what(&t.events[i], out);
			buf_add_str(out, "</td></tr>\n");
		}
		buf_add_str(out, "</table></div></details>\n");
	}
	mem_free(t.events);
	buf_free(&t.text);
	return rc;
}
