/* SPDX-License-Identifier: BSD-3-Clause */
/* halt_due.c - evaluate the halt conditions, for the job and for a loop that
 * restarts it, and list them. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "buf.h"
#include "conf.h"
#include "error.h"
#include "hostlist.h"
#include "json.h"
#include "site/halt.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "str.h"

/* Bytes of a time as text. */
#define TIME_TEXT 64

#define NO_FILE "CONTINUE RUN: No halt file found.\n"

/* The end of the reason to halt that a damaged or unreadable file is. */
#define REMOVE "; remove the file to run again\n"

/* The time in the format of asctime(), without the newline.  A time without a
 * date in the calendar is given in seconds. */
static const char *
time_text(char to[static TIME_TEXT], int64_t epoch)
{
	time_t at = (time_t)epoch;
	struct tm tm;

	if (localtime_r(&at, &tm) == NULL ||
	    strftime(to, TIME_TEXT, "%a %b %e %H:%M:%S %Y", &tm) == 0)
		snprintf(to, TIME_TEXT, "@%" PRId64, epoch);
	return to;
}

/* The time at which ExitBefore stops the job.  -1: it is not set. */
static int64_t
stop_time(const struct halt *h, int64_t halt_seconds)
{
	if (h->exit_before < 0)
		return -1;
	return h->exit_before > halt_seconds ? h->exit_before - halt_seconds
					     : 0;
}

static bool
due_time(int64_t now, int64_t at, const char *what, struct buf *why)
{
	char then[TIME_TEXT], current[TIME_TEXT];

	if (at < 0 || now < at)
		return false;
	buf_printf(why,
		   HALT_LINE "Current time (%s) is past %s time "
			     "(%s).\n",
		   time_text(current, now), what, time_text(then, at));
	return true;
}

/* Report a damaged file as a reason to halt. */
static void
add_damaged(struct buf *lines, const struct halt_state *s)
{
	buf_printf(lines, HALT_LINE "%s: damaged: %s" REMOVE, s->path.data,
		   s->why.text);
}

/* HaltSeconds, or else the parameter. */
static int64_t
seconds_of(const struct halt *h, uint64_t halt_seconds)
{
	return h->halt_seconds >= 0	  ? h->halt_seconds
	       : halt_seconds > INT64_MAX ? INT64_MAX
					  : (int64_t)halt_seconds;
}

/*
 * As halt_due(); *reason: the reason that the library records for the first
 * condition met.  The rules of the library and of scr_retries_halt, in their
 * order.
 */
static int
find_due(const struct halt *h, int64_t now, int64_t remaining, int64_t secs,
	 struct buf *why, const char **reason)
{
	const char *met[5];
	int n = 0;

	if (secs > 0 && remaining >= 0 && remaining <= secs) {
		buf_printf(why,
			   HALT_LINE "Reached time limit: (seconds remaining = "
				     "%" PRId64
				     ") <= (SCR_HALT_SECONDS = %" PRId64 ").\n",
			   remaining, secs);
		met[n++] = HALT_TIME_LIMIT;
	}
	if (h->reason != NULL && h->reason[0] != '\0') {
		buf_printf(why, HALT_LINE "Reason: %s.\n",
			   str_shown(h->reason));
		met[n++] = h->reason;
	}
	if (h->checkpoints_left == 0) {
		buf_add_str(why, HALT_LINE "No checkpoints remaining.\n");
		met[n++] = HALT_NO_CHECKPOINTS;
	}
	if (due_time(now, stop_time(h, secs), "ExitBefore-HaltSeconds", why))
		met[n++] = HALT_EXIT_BEFORE;
	if (due_time(now, h->exit_after, "ExitAfter", why))
		met[n++] = HALT_EXIT_AFTER;
	*reason = n > 0 ? met[0] : NULL;
	return n;
}

int
halt_due(const struct halt *h, int64_t now, int64_t remaining,
	 uint64_t halt_seconds, struct buf *why)
{
	const char *reason = NULL;

	return find_due(h, now, remaining, seconds_of(h, halt_seconds), why,
			&reason);
}

int
halt_running(const struct halt_state *s, const struct halt_job *j,
	     const char **reason, struct buf *why, struct error *err)
{
	struct halt h = s->is;
	const int64_t secs = seconds_of(&h, j->halt_seconds);
	int64_t end = 0, left = -1;

	*reason = NULL;
	if (s->damaged) {
		add_damaged(why, s);
		*reason = HALT_DAMAGED;
		return buf_check(why, err) < 0 ? -1 : 1;
	}
	if (h.reason != NULL && str_eq(h.reason, HALT_FINISHED))
		h.reason = NULL; /* of another job in this prefix */
	if (secs > 0)
		end = j->end(j->arg);
	if (end > 0)
		left = end > j->now ? end - j->now : 0;
	(void)find_due(&h, j->now, left, secs, why, reason);
	return buf_check(why, err) < 0 ? -1 : *reason != NULL;
}

/* --- For the relaunch loop --- */

int
halt_check(const char *prefix, const struct conf *c, int64_t now, bool *stop,
	   struct buf *lines, struct error *err)
{
	struct error why = ERROR_INIT;
	struct halt_state s;
	uint64_t halt_seconds = 0;
	int64_t end = 0, remaining = -1;
	int met = 0;

	*stop = true;
	if (halt_load(prefix, &s, &why) < 0) {
		buf_printf(lines, HALT_LINE "%s" REMOVE, why.text);
		return 0;
	}
	if (s.damaged) {
		add_damaged(lines, &s);
	} else if (c != NULL &&
		   (conf_u64(c, "SCR_HALT_SECONDS", 0, &halt_seconds, err) <
			    0 ||
		    conf_i64(c, "SCR_END_TIME", 0, &end, err) < 0)) {
		met = -1;
	} else {
		if (end > 0) /* 0: unknown, -1: no limit */
			remaining = end > now ? end - now : 0;
		met = halt_due(&s.is, now, remaining, halt_seconds, lines);
		*stop = met != 0;
		if (met == 0 && !s.exists)
			buf_add_str(lines, NO_FILE);
	}
	halt_state_free(&s);
	return met < 0 ? -1 : 0;
}

int
halt_nodes_needed(struct job *j, uint64_t given, size_t *needed,
		  struct error *err)
{
	struct error why = ERROR_INIT;
	int64_t last = 0;

	if (given == 0 &&
	    conf_u64(j->conf, "SCR_MIN_NODES", 0, &given, err) < 0)
		return -1;
	if (given == 0 && jobfiles_nodes(j->prefix, &last, &why) < 0 &&
	    why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	*needed = given > 0  ? (size_t)given
		  : last > 0 ? (size_t)last
			     : j->nodes.count;
	return 0;
}

int
halt_relaunch(struct job *j, const struct halt_loop *r, bool *stop,
	      struct buf *lines, struct error *err)
{
	const size_t start = lines->len;
	struct error why = ERROR_INIT;
	struct hostlist left = HOSTLIST_INIT;
	size_t needed = 0;
	int rc = 0;

	*stop = false;
	if (halt_check(j->prefix, j->conf, r->now, stop, lines, err) < 0)
		return -1;
	/* Only reasons to stop are reported: drop "CONTINUE RUN" lines. */
	if (!*stop && lines->data != NULL)
		lines->data[lines->len = start] = '\0';
	/* Are there enough nodes that are not down?  Outside of a job the nodes
	 * are unknown.  That is fine if the caller set no condition on them. */
	if (job_nodes(j, &why) == 0) {
		if (hostlist_add_list(&left, &j->nodes, err) < 0 ||
		    (r->down != NULL &&
		     hostlist_minus(&left, r->down, err) < 0) ||
		    halt_nodes_needed(j, r->min_nodes, &needed, err) < 0)
			rc = -1;
		if (rc == 0 && left.count < needed) {
			*stop = true;
			buf_printf(lines,
				   "nodes_remaining=%zu < nodes_needed=%zu\n",
				   left.count, needed);
		}
		hostlist_free(&left);
	} else if (why.kind != ERROR_ABSENT || r->down != NULL ||
		   r->min_nodes > 0) {
		rc = error_pass(err, &why);
	}
	if (rc == 0 && r->runs == 0) {
		*stop = true;
		buf_add_str(lines, "runs_remaining=0\n");
	}
	return rc;
}

/* --- Listings --- */

static void
text_time(struct buf *out, const char *name, int64_t epoch)
{
	char text[TIME_TEXT];

	if (epoch >= 0)
		buf_printf(out, "  %-16s %s\n", name, time_text(text, epoch));
}

void
halt_text(const struct halt_state *s, struct buf *out)
{
	const struct halt *h = &s->is;
	const bool secs = h->halt_seconds >= 0;
	int64_t left = 0;
	size_t start = 0;

	buf_printf(out, "Halt file settings for %s:\n", s->path.data);
	start = out->len;
	if (s->damaged) {
		buf_add_str(out, "  Damaged\n");
	} else {
		if (h->reason != NULL)
			buf_printf(out, "  %-16s %s\n",
				   "ExitReason:", str_shown(h->reason));
		if (halt_read_checkpoints(s->tree, &left, NULL) == 0)
			buf_printf(out, "  %-16s %" PRId64 "\n",
				   "CheckpointsLeft:", left);
		text_time(out, "ExitAfter:", h->exit_after);
		text_time(out, "ExitBefore:", h->exit_before);
		if (secs)
			buf_printf(out, "  %-16s %" PRId64 "\n",
				   "HaltSeconds:", h->halt_seconds);
		if (secs)
			text_time(out, "ExitBefore - HaltSeconds:",
				  stop_time(h, h->halt_seconds));
	}
	if (out->len == start)
		buf_add_str(out, "  None\n");
}

struct json *
halt_json(const char *prefix, const struct halt_state *s, int64_t now)
{
	struct json *j = json_new_object(), *met = json_new_array();
	const struct halt *h = &s->is;
	struct buf why = BUF_INIT;
	int due = s->damaged ? 1 : halt_due(h, now, -1, 0, &why);
	char *rest = why.data, *line = NULL;

	json_set_str(j, "prefix", prefix);
	json_set_str(j, "file", s->path.data);
	json_set_bool(j, "exists", s->exists);
	json_set_str(j, "damage", s->damaged ? s->why.text : NULL);
	json_set_str(j, "reason", h->reason);
	json_set_or_null(j, "checkpoints_left", h->checkpoints_left);
	json_set_time(j, "exit_after", h->exit_after);
	json_set_time(j, "exit_before", h->exit_before);
	json_set_or_null(j, "halt_seconds", h->halt_seconds);
	json_set_time(j, "stop_at",
		      stop_time(h, h->halt_seconds < 0 ? 0 : h->halt_seconds));
	json_set_bool(j, "due", due != 0);
	while ((line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0')
			json_push_str(met, line);
	json_set(j, "met", met);
	buf_free(&why);
	return j;
}
