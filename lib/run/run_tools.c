/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "conf.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "run/launcher.h"
#include "run/run_impl.h"
#include "site/halt.h"
#include "site/job.h"
#include "site/resmgr.h"
#include "site/step.h"
#include "str.h"

/* Seconds for an answer of all nodes. */
#define ANSWER_SECONDS 120.0

/* Seconds for an answer about steps: signals wait for it. */
#define STEP_SECONDS 3

/* Words of a command of the toolkit that the user gives. */
#define TOOL_WORDS 62

void
run_say(const struct run *r, const char *fmt, ...)
{
	char line[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	r->o->log(line);
}

struct run_record
run_look(struct run *r)
{
	struct run_record now;

	arena_reset(r->looks);
	if (run_record_read(r->scr, &now, r->looks, NULL) < 0)
		now.state = RUN_ENDED;
	hostlist_free(&now.bad);
	hostlist_free(&now.steps);
	return now;
}

void
run_note(struct run *r, enum run_state state)
{
	struct error why = ERROR_INIT;

	r->record.state = state;
	r->record.since = clock_now();
	if (r->scr < 0)
		return;
	/* While another job has the record, this one has none. */
	if (r->lock == -1)
		r->lock = run_record_lock(r->scr, NULL);
	if (r->lock == -2) {
		const struct run_record now = run_look(r);

		if (now.state != RUN_ENDED && !str_eq(now.job, r->record.job) &&
		    clock_now() < now.written + RUN_LEASE)
			return;
	}
	if (r->lock == -1 || run_record_write(r->scr, &r->record, &why) == 0)
		return;
	if (!r->untold)
		run_say(r, "%s: other commands do not know what this one does",
			why.text);
	r->untold = true;
	/* An old record would say that this wrapper was killed. */
	if (state == RUN_ENDED)
		(void)unlinkat(r->scr, RUN_RECORD, 0);
}

/* --- Signals --- */

/* A signal to the wrapper.  `program`: see run_listen(). */
static void
obey(struct run *r, const struct run_signal *got,
     const struct run_child *program)
{
	const bool passes = got->number == SIGQUIT || got->number == SIGUSR2 ||
			    got->number == SIGCONT;

	if (!passes && r->facts.signal == 0)
		r->facts.signal = got->number;
	/* Those of the terminal have reached the program. */
	if (program != NULL && !got->terminal)
		run_child_kill(program,
			       got->number == SIGUSR1 ? SIGTERM : got->number);
}

void
run_listen(struct run *r, const struct run_child *program,
	   const struct run_child *asked, double seconds)
{
	struct run_signal got;
	struct run_record now;

	if (run_child_wait(&r->signals, asked, seconds, &got))
		obey(r, &got, program);
	/* Without locks: show that this wrapper lives.  If another one has
	 * taken over, stop, and leave the job to it. */
	if (r->lock != -2 || r->scr < 0 ||
	    clock_seconds() < r->beaten + RUN_BEAT)
		return;
	r->beaten = clock_seconds();
	now = run_look(r);
	if (now.state != RUN_ENDED && !str_eq(now.job, r->record.job))
		return; /* another job has the record */
	if (now.state == RUN_ENDED || now.mark == NULL ||
	    str_eq(now.mark, r->record.mark)) {
		(void)run_record_write(r->scr, &r->record, NULL);
		return;
	}
	run_say(r,
		"scr_run on %s, process %" PRId64
		", has taken over: this one ends",
		now.host != NULL ? now.host : "?", now.pid);
	io_close(r->scr);
	r->scr = -1;
	obey(r, &(struct run_signal){ .number = SIGTERM }, program);
}

void
run_finish(struct run *r, struct run_child *c, double seconds)
{
	const double until = clock_seconds() + seconds;

	while (!run_child_poll(c)) {
		if (seconds >= 0 && clock_seconds() > until)
			run_child_kill(c, SIGKILL);
		run_listen(r, NULL, c, RUN_TICK);
	}
}

void
run_pause(struct run *r, double seconds)
{
	const double until = clock_seconds() + seconds;
	double left = 0;

	while (r->facts.signal == 0 && (left = until - clock_seconds()) > 0)
		run_listen(r, NULL, NULL, left < RUN_TICK ? left : RUN_TICK);
}

int
run_tool(struct run *r, const char *text, bool stops)
{
	char *rest = arena_strdup(r->arena, text);
	const char *argv[TOOL_WORDS + 3] = { NULL };
	size_t n = 0;
	struct error err = ERROR_INIT;
	struct run_child c;
	int status = STATUS_FAILED;

	while (rest != NULL && n < TOOL_WORDS)
		if (*(argv[n] = strsep(&rest, " \t")) != '\0')
			n++;
	argv[n++] = "-p";
	argv[n++] = r->job->prefix_real;
	argv[n] = NULL;
	if (run_child_start(&c, argv, RUN_CHILD_TOOL, &r->signals, &err) < 0) {
		run_say(r, "%s", err.text);
		return status;
	}
	while (stops && r->facts.signal == 0 && !run_child_poll(&c))
		run_listen(r, NULL, &c, RUN_TICK);
	if (stops && r->facts.signal != 0)
		run_child_kill(&c, SIGTERM);
	run_finish(r, &c, -1);
	status = c.status;
	run_child_free(&c);
	return status;
}

static struct step_where
steps_of(const struct run *r)
{
	return (struct step_where){
		.manager = r->job->rm,
		.job = { .id = r->job->id, .around = true },
		.only = &r->record.steps,
		.answer = STEP_SECONDS,
	};
}

void
run_steps_before(struct run *r)
{
	const struct step_where w = steps_of(r);

	hostlist_free(&r->before);
	resmgr_limit(w.manager, w.answer, NULL);
	r->blind = resmgr_own_by_time(w.manager) &&
		   (step_check(&w, NULL) < 0 ||
		    resmgr_steps(w.manager, &w.job, &r->before, NULL) < 0);
}

void
run_find_steps(struct run *r)
{
	const struct step_where w = steps_of(r);
	struct hostlist *steps = &r->record.steps, now = HOSTLIST_INIT;
	const size_t had = steps->count;

	resmgr_limit(w.manager, w.answer, NULL);
	if (!r->blind && step_check(&w, NULL) == 0 &&
	    resmgr_own(w.manager, &w.job, r->record.mark, &r->before, &now,
		       NULL) == 0 &&
	    hostlist_add_list(steps, &now, NULL) == 0 &&
	    hostlist_uniq(steps, NULL) == 0 && steps->count > had)
		run_note(r, r->record.state);
	hostlist_free(&now);
}

void
run_end_steps(struct run *r, double grace)
{
	const struct timespec look = { .tv_nsec = 100000000 };
	const double until = clock_seconds() + grace;
	struct step_where w = steps_of(r);
	struct step_result done;
	struct error err = ERROR_INIT;
	int left = 0;

	w.grace = grace;
	if (w.only->count > 0 && step_check(&w, NULL) == 0 &&
	    step_stop(&w, &done, &err) < 0)
		run_say(r, "%s", err.text);
	/* And what the launcher has left on this machine. */
	left = step_signal_marked(r->record.mark, SIGTERM);
	while (left != 0 && clock_seconds() < until) {
		nanosleep(&look, NULL);
		left = step_signal_marked(r->record.mark,
					  left < 0 ? SIGTERM : 0);
	}
	if (left != 0)
		left = step_signal_marked(r->record.mark, SIGKILL);
	if (left < 0)
		run_say(r, "/proc cannot be read: it is unknown whether the "
			   "processes of the run have ended on this machine");
}

/* --- Nodes --- */

int
run_ask(struct run *r, const struct hostlist *nodes, const char *const *verb,
	struct run_child *c, struct error *err)
{
	struct buf list = BUF_INIT;
	const char *argv[16] = { r->o->env };
	size_t n = 1;
	int rc = 0;

	while (*verb != NULL)
		argv[n++] = *verb++;
	argv[n++] = "--prefix";
	argv[n++] = r->job->prefix_real;
	argv[n++] = "--job-id";
	argv[n++] = r->job->id;
	if (r->o->remote != NULL) {
		argv[n++] = "--remote";
		argv[n++] = r->o->remote;
	}
	(void)hostlist_text(nodes, &list, NULL);
	argv[n++] = "--nodes";
	argv[n] = list.data;
	rc = run_child_start(c, argv, RUN_CHILD_ASK, &r->signals, err);
	buf_free(&list);
	return rc;
}

void
run_end_ranks(struct run *r)
{
	static const char *const verb[] = { "end-ranks", NULL };
	struct run_child c;

	if (r->job->nodes.count == 0 ||
	    run_ask(r, &r->job->nodes, verb, &c, NULL) < 0)
		return;
	run_finish(r, &c, ANSWER_SECONDS);
	if (c.status != STATUS_OK)
		run_say(r, "it is unknown whether the ranks of that scr_run "
			   "have ended on all nodes");
	run_child_free(&c);
}

void
run_traces(struct run *r)
{
	static const char *const verb[] = { "traces", NULL };
	struct run_child c;

	if (r->scr < 0 || run_ask(r, &r->use, verb, &c, NULL) < 0)
		return;
	run_finish(r, &c, ANSWER_SECONDS);
	if (c.said.len > 0 && io_replace_lazy(r->scr, RUN_TRACES, c.said.data,
					      c.said.len, 0600, NULL) == 0)
		run_say(r, "the stacks of its ranks: %s/.scr/" RUN_TRACES,
			r->job->prefix_real);
	run_child_free(&c);
}

void
run_give_up(struct run *r, const char *name, const char *why)
{
	struct run_record *rec = &r->record;
	const size_t count = rec->bad.count;
	const char **reasons = NULL;

	for (size_t i = 0; i < count; i++)
		if (str_eq(rec->bad.names[i], name))
			return;
	if (hostlist_add_name(&rec->bad, name, NULL) < 0)
		return; /* no node has this name */
	reasons = arena_alloc(r->arena, count + 1, sizeof(*reasons));
	if (count > 0)
		memcpy(reasons, rec->reasons, count * sizeof(*reasons));
	reasons[count] = arena_strdup(r->arena, why);
	rec->reasons = reasons;
	run_say(r, "%s is not used any more: %s", name, why);
}

int
run_answers(struct run *r, const struct run_child *c,
	    void (*fn)(struct run *r, const char *name, const char *why),
	    struct error *err)
{
	struct json_value *v = json_parse(
		c->said.data != NULL ? c->said.data : "", c->said.len, err);
	const struct json_value *list = json_get(v, "nodes");
	const char *name = NULL, *why = NULL;
	int rc = v == NULL ? -1 : 0;
	bool usable = false;

	if (rc == 0 && c->status != STATUS_OK)
		rc = error_set(err, ERROR_SYSTEM, "status %d", c->status);
	for (size_t i = 0; rc == 0 && i < json_count(list); i++) {
		const struct json_value *node = json_at(list, i);
		int64_t newest = 0;

		(void)json_get_i64(node, "newest", 1, INT64_MAX, &newest);
		if (newest > r->cached)
			r->cached = newest;
		if (json_get_bool(node, "usable", &usable) && usable)
			continue;
		if (json_get_str(node, "name", r->arena, &name, err) < 0 ||
		    json_get_str(node, "reason", r->arena, &why, err) < 0)
			rc = -1;
		else if (name != NULL)
			fn(r, name, why != NULL ? why : "");
	}
	json_release(v);
	return rc;
}

int
run_choose_nodes(struct run *r, struct error *err)
{
	struct run_facts *f = &r->facts;
	uint64_t given = r->o->min_nodes > 0 ? r->o->min_nodes : r->o->nodes;
	uint64_t ranks = 0, fewer = 0;
	const char *verb[] = { "down-nodes", "--json", NULL, NULL, NULL };
	struct error why = ERROR_INIT;
	struct buf down = BUF_INIT;
	struct run_child c;

	hostlist_free(&r->use);
	f->nodes_known = r->job->nodes.count > 0;
	if (!f->nodes_known)
		return 0;
	(void)hostlist_text(&r->record.bad, &down, NULL);
	if (down.len > 0) {
		verb[2] = "--down";
		verb[3] = down.data;
	}
	if (run_ask(r, &r->job->nodes, verb, &c, &why) == 0) {
		run_finish(r, &c, ANSWER_SECONDS);
		if (f->signal == 0 && run_answers(r, &c, run_give_up, &why) < 0)
			run_say(r,
				"the nodes cannot be asked (%s): go on with "
				"what is known of them",
				why.text);
		run_child_free(&c);
	} else {
		run_say(r, "%s", why.text);
	}
	buf_free(&down);
	/* Not as many as the last run: that had perhaps fewer ranks. */
	if (r->o->min_ranks > 0 && given == 0 &&
	    !conf_is_set(r->job->conf, "SCR_MIN_NODES"))
		given = r->job->nodes.count;
	if (halt_nodes_needed(r->job, given, &f->needed, err) < 0)
		return -1;
	(void)hostlist_add_list(&r->use, &r->job->nodes, NULL);
	(void)hostlist_minus(&r->use, &r->record.bad, NULL);
	f->usable = r->use.count;
	/* On fewer nodes than needed: as many ranks on each as there would be,
	 * if the user allows it. */
	r->ranks = 0;
	if (r->o->min_ranks > 0 && f->usable > 0 && f->usable < f->needed) {
		ranks = run_launcher_ranks(r->o->command);
		fewer = ranks * f->usable / f->needed;
		if (ranks == 0) {
			run_say(r, "--min-ranks: the command does not say how "
				   "many ranks there are");
		} else if (fewer < r->o->min_ranks) {
			run_say(r,
				"%zu of %zu nodes are left, for %" PRIu64
				" ranks: at least %" PRIu64 " are needed",
				f->usable, f->needed, fewer, r->o->min_ranks);
		} else {
			r->ranks = fewer;
			f->needed = f->usable;
		}
	}
	/* Spares are the last ones. */
	if (r->o->nodes > 0)
		hostlist_keep(&r->use, (int64_t)r->o->nodes);
	return 0;
}
