/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/loop.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "clock.h"
#include "conf.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "json.h"
#include "meta/dataset.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "run/child.h"
#include "run/decide.h"
#include "run/launcher.h"
#include "run/record.h"
#include "site/halt.h"
#include "site/interval.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "site/step.h"
#include "str.h"

/* Seconds for saving the caches if their size or the speed is unknown, but at
 * most this part of the job's time; and what is added to an estimate. */
#define SAVE_UNKNOWN 300
#define SAVE_PART 4
#define SAVE_MORE 30

/* Seconds between two looks at a running program, and for an answer of all
 * nodes. */
#define TICK 1.0
#define ANSWER 120.0

/* scr_postrun is run so often if its answer is "unknown", with a pause. */
#define SAVES 3
#define SAVE_PAUSE 15.0

/* Words of a command of the toolkit that the user gives. */
#define TOOL_WORDS 62

struct run {
	const struct run_options *o;
	struct job *job;
	struct run_signals signals;
	struct run_facts facts;
	struct run_record record;
	/* Nodes of this run; those that did not answer at the last look, and at
	 * this one. */
	struct hostlist use, silent, now_silent;
	struct arena *arena;
	const char *hosts; /* path of RUN_HOSTS */
	int scr, lock;
	int64_t began, end; /* seconds since 1970; the end: or RESMGR_END_* */
	bool late, hung;    /* why the run is being ended */
	int status;	    /* of the last run */
};

static void say(const struct run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void
say(const struct run *r, const char *fmt, ...)
{
	char line[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	r->o->log(line);
}

/* Record the state.  A prefix that is full or read-only does not stop the job.
 */
static void
note(struct run *r, enum run_state state)
{
	r->record.state = state;
	r->record.since = clock_now();
	if (r->scr < 0)
		return;
	/* While another job has the record, this one has none. */
	if (r->lock == -1)
		r->lock = run_record_lock(r->scr, NULL);
	if (r->lock != -1)
		(void)run_record_write(r->scr, &r->record, NULL);
}

/* --- Signals --- */

/* A signal to the wrapper.  `c` runs the program; NULL: none runs. */
static void
obey(struct run *r, const struct run_signal *got, const struct run_child *c)
{
	switch (got->number) {
	case SIGQUIT:
	case SIGUSR2:
	case SIGCONT:
		/* Those of the terminal have reached the program. */
		if (c != NULL && !got->terminal)
			run_child_kill(c, got->number);
		return;
	case SIGCHLD:
		return;
	default:
		if (r->facts.signal == 0)
			r->facts.signal = got->number;
		if (c != NULL && !got->terminal)
			run_child_kill(c, got->number == SIGUSR1 ? SIGTERM
								 : got->number);
	}
}

/* Wait for a command of the toolkit, at most `seconds` (< 0: without end). */
static void
finish(struct run *r, struct run_child *c, double seconds)
{
	const double until = clock_seconds() + seconds;
	struct run_signal got;

	while (!run_child_poll(c)) {
		if (seconds >= 0 && clock_seconds() > until)
			run_child_kill(c, SIGKILL);
		if (run_child_wait(&r->signals, &c, 1, TICK, &got))
			obey(r, &got, NULL);
	}
}

static void
pause_for(struct run *r, double seconds)
{
	const double until = clock_seconds() + seconds;
	struct run_signal got;
	double left = 0;

	while (r->facts.signal == 0 && (left = until - clock_seconds()) > 0)
		if (run_child_wait(&r->signals, NULL, 0, left, &got))
			obey(r, &got, NULL);
}

/* Run a command of the toolkit, its words in `text`, on the prefix.  Returns its
 * exit status. */
static int
tool(struct run *r, const char *text)
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
		say(r, "%s", err.text);
		return status;
	}
	finish(r, &c, -1);
	status = c.status;
	run_child_free(&c);
	return status;
}

/* End the steps of the job that still run, if the resource manager can. */
static void
end_steps(const struct run *r, double grace)
{
	const struct step_where w = {
		.manager = r->job->rm,
		.job = { .id = r->job->id, .around = true },
		.grace = grace,
		.answer = 5,
	};
	struct step_result done;
	struct error err = ERROR_INIT;

	if (step_check(&w, NULL) == 0 && step_stop(&w, &done, &err) < 0)
		say(r, "%s", err.text);
}

/* --- Nodes --- */

/* Start to ask `nodes` whether they can be used, or, for `read`, whether they
 * answer. */
static int
ask(struct run *r, const struct hostlist *nodes, bool read, struct run_child *c,
    struct error *err)
{
	struct buf list = BUF_INIT, down = BUF_INIT;
	const char *argv[16] = {
		r->o->env,	     "down-nodes", "--json",   "--prefix",
		r->job->prefix_real, "--job-id",   r->job->id, "--nodes"
	};
	size_t n = 8;
	int rc = -1;

	if (hostlist_text(nodes, &list, err) < 0 ||
	    hostlist_text(&r->record.bad, &down, err) < 0)
		goto out;
	argv[n++] = list.data;
	if (down.len > 0 && !read) {
		argv[n++] = "--down";
		argv[n++] = down.data;
	}
	if (read)
		argv[n++] = "--read";
	if (r->o->remote != NULL) {
		argv[n++] = "--remote";
		argv[n++] = r->o->remote;
	}
	rc = run_child_start(c, argv, RUN_CHILD_ASK, &r->signals, err);
out:
	buf_free(&list);
	buf_free(&down);
	return rc;
}

/* A node that is not used any more. */
static int
give_up(struct run *r, const char *name, const char *why, struct error *err)
{
	struct run_record *rec = &r->record;
	const char **reasons =
		arena_alloc(r->arena, rec->bad.count + 1, sizeof(*reasons));

	for (size_t i = 0; i < rec->bad.count; i++)
		if (str_eq(rec->bad.names[i], name))
			return 0;
	if (reasons == NULL || hostlist_add_name(&rec->bad, name, err) < 0)
		return reasons == NULL ? error_no_memory(err) : -1;
	if (rec->bad.count > 1)
		memcpy(reasons, rec->reasons,
		       (rec->bad.count - 1) * sizeof(*reasons));
	reasons[rec->bad.count - 1] = arena_strdup(r->arena, why);
	rec->reasons = reasons;
	say(r, "%s is not used any more: %s", name, why);
	return 0;
}

/* Take the answer of ask(): call fn() for each node that cannot be used.  -1:
 * it is no answer. */
static int
answers(struct run *r, const struct run_child *c,
	int (*fn)(struct run *r, const char *name, const char *why,
		  struct error *err),
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

		if (json_get_bool(node, "usable", &usable) && usable)
			continue;
		rc = json_get_str(node, "name", r->arena, &name, err);
		if (rc == 0)
			rc = json_get_str(node, "reason", r->arena, &why, err);
		if (rc == 0 && name != NULL)
			rc = fn(r, name, why != NULL ? why : "", err);
	}
	json_release(v);
	return rc;
}

/* Before a run: which nodes can be used?  If the nodes cannot be asked, those
 * that are known to be down stay so, and the run is tried. */
static int
choose_nodes(struct run *r, struct error *err)
{
	struct error why = ERROR_INIT;
	struct run_child c = RUN_CHILD_INIT;

	hostlist_free(&r->use);
	r->facts.nodes_known = r->job->nodes.count > 0;
	if (!r->facts.nodes_known)
		return 0;
	if (ask(r, &r->job->nodes, false, &c, &why) == 0) {
		finish(r, &c, ANSWER);
		if (r->facts.signal == 0 && answers(r, &c, give_up, &why) < 0)
			say(r,
			    "the nodes cannot be asked (%s): go on with "
			    "what is known of them",
			    why.text);
		run_child_free(&c);
	} else {
		say(r, "%s", why.text);
	}
	if (hostlist_add_list(&r->use, &r->job->nodes, err) < 0 ||
	    hostlist_minus(&r->use, &r->record.bad, err) < 0 ||
	    halt_nodes_needed(
		    r->job, r->o->min_nodes > 0 ? r->o->min_nodes : r->o->nodes,
		    &r->facts.needed, err) < 0)
		return -1;
	r->facts.usable = r->use.count;
	/* Spares are the last ones. */
	if (r->o->nodes > 0)
		hostlist_keep(&r->use, (int64_t)r->o->nodes);
	return 0;
}

/* --- Time --- */

/* Seconds that saving the caches may take: twice what the newest dataset takes
 * at the speed of the last scavenge or flush. */
static uint64_t
saving_time(const struct run *r)
{
	struct jobfiles_flush f = { .count = 0 };
	struct interval_stats past;
	struct dataset d;
	const double part = (double)(r->end - r->began) / SAVE_PART;
	double rate = 0, seconds = part < SAVE_UNKNOWN ? part : SAVE_UNKNOWN;

	if (r->o->save > 0)
		return r->o->save;
	if (interval_read_prefix(r->job->prefix, &past, NULL) == 0)
		rate = interval_scavenge_rate(&past);
	if (rate > 0 && jobfiles_flush_read(r->job->prefix, &f, NULL) == 0 &&
	    f.count > 0 &&
	    dataset_read(f.all[f.count - 1].desc, &d, NULL) == 0 &&
	    d.files >= 0)
		seconds = SAVE_MORE + 2 * (double)d.bytes / rate;
	jobfiles_flush_free(&f);
	return (uint64_t)seconds;
}

static bool
is_late(const struct run *r)
{
	return r->end > 0 && clock_now() + (int64_t)saving_time(r) >= r->end;
}

/* --- A run --- */

/* The words of the next run. */
static const char **
words(struct run *r, struct error *err)
{
	const struct run_nodes n = {
		.all = &r->job->nodes,
		.use = &r->use,
		.hosts = r->hosts,
		.scr = r->o->dry_run ? -1 : r->scr,
	};
	const char *const *from = r->o->command;
	const char **copy = NULL;
	struct catalogue *c = NULL;
	struct index *ix = NULL;
	struct index_entry e;
	const char *name = NULL;
	size_t count = 0;

	if (r->o->restart != NULL &&
	    (c = catalogue_open(r->job->prefix, NULL)) != NULL &&
	    (ix = catalogue_read_quietly(c, NULL)) != NULL &&
	    index_find_id(ix, catalogue_restart_point(c), &e, NULL) == 0)
		name = arena_strdup(r->arena, e.name != NULL ? e.name : "");
	index_free(ix);
	catalogue_close(c);
	if (name != NULL)
		from = r->o->restart;
	while (from[count] != NULL)
		count++;
	copy = arena_alloc(r->arena, count + 1, sizeof(*copy));
	if (copy == NULL) {
		error_no_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		copy[i] = name != NULL && str_eq(from[i], RUN_CKPT_NAME)
				  ? name
				  : from[i];
	return run_launcher_argv(copy, &n, r->arena, err);
}

/* A node of the run did not answer: was it silent at the last look, too? */
static int
silent(struct run *r, const char *name, const char *why, struct error *err)
{
	for (size_t i = 0; i < r->silent.count; i++) {
		if (!str_eq(r->silent.names[i], name))
			continue;
		r->hung = true;
		return give_up(r, name, why, err);
	}
	return hostlist_add_name(&r->now_silent, name, err);
}

/* Watch the program until it has ended. */
static void
watch(struct run *r, struct run_child *c)
{
	struct run_child probe = RUN_CHILD_INIT;
	struct run_child *both[] = { c, &probe };
	struct error err = ERROR_INIT;
	struct run_progress now;
	struct run_signal got;
	struct run_watch w;
	double ending = 0, asked = clock_seconds(), t = 0;

	run_progress_read(r->job->prefix, &now);
	run_watch_start(&w, &r->o->limits, &now, asked);
	while (!run_child_poll(c)) {
		if (run_child_wait(&r->signals, both, 2, TICK, &got))
			obey(r, &got, c);
		t = clock_seconds();
		run_progress_read(r->job->prefix, &now);
		if (now.newest > r->record.dataset)
			r->record.dataset = now.newest;
		if (!r->hung && run_watch_look(&w, &now, t)) {
			r->hung = true;
			say(r,
			    "no progress for %.0f s (last dataset: %" PRId64
			    "): the run is ended",
			    t - w.since, now.newest);
		}
		if (!r->late && is_late(r)) {
			r->late = true;
			say(r,
			    "the time ends in %" PRId64 " s: the run is ended",
			    r->end - clock_now());
		}
		if (probe.pid > 0 && run_child_poll(&probe)) {
			(void)answers(r, &probe, silent, &err);
			error_clear(&err);
			hostlist_free(&r->silent);
			r->silent = r->now_silent;
			r->now_silent = (struct hostlist)HOSTLIST_INIT;
			run_child_free(&probe);
			asked = t;
		}
		if (probe.pid == 0 && r->o->node_watch > 0 && !r->hung &&
		    r->use.count > 0 && t - asked > (double)r->o->node_watch)
			(void)ask(r, &r->use, true, &probe, NULL);
		if (ending == 0 &&
		    (r->hung || r->late || r->facts.signal != 0)) {
			ending = t;
			if (r->facts.signal == 0)
				run_child_kill(c, SIGTERM);
		} else if (ending > 0 && t - ending > (double)r->o->grace) {
			/* With SIGKILL srun leaves its step behind. */
			run_child_kill(c, SIGKILL);
			end_steps(r, 1);
			ending = t;
		}
	}
	if (probe.pid > 0) {
		run_child_kill(&probe, SIGTERM);
		finish(r, &probe, 2);
	}
	run_child_free(&probe);
}

/* How the run ended. */
static enum run_end
end_of(const struct run *r, const struct run_child *c)
{
	if (r->hung)
		return RUN_HUNG;
	if (r->late || r->facts.signal != 0)
		return RUN_STOPPED;
	return c->status == 0 ? RUN_OK : RUN_FAILED;
}

static int
run_once(struct run *r, struct error *err)
{
	struct run_facts *f = &r->facts;
	const char **argv = words(r, err);
	struct error why = ERROR_INIT;
	struct buf list = BUF_INIT;
	struct run_child c = RUN_CHILD_INIT;
	const int64_t before = r->record.dataset;
	const double start = clock_seconds();

	if (argv == NULL)
		return -1;
	hostlist_free(&r->silent);
	r->hung = false;
	if (r->use.count > 0 && hostlist_plain(&r->use, ",", &list, err) == 0)
		setenv("SCR_RUN_NODES", list.data, 1);
	buf_free(&list);
	r->record.runs++;
	if (f->runs_left > 0)
		f->runs_left--;
	r->record.left = f->runs_left;
	note(r, RUN_RUNNING);
	if (run_child_start(&c, argv, RUN_CHILD_PROGRAM, &r->signals, &why) <
	    0) {
		say(r, "%s", why.text);
		f->end = RUN_NOT_STARTED;
		r->status = why.kind == ERROR_ABSENT ? RUN_STATUS_MISSING
						     : RUN_STATUS_EXEC;
		return 0;
	}
	watch(r, &c);
	r->status = c.status;
	f->end = end_of(r, &c);
	/* env(1), a shell and the loader say so of a program. */
	if (f->end == RUN_FAILED &&
	    (c.status == RUN_STATUS_EXEC || c.status == RUN_STATUS_MISSING) &&
	    clock_seconds() - start < RUN_SOON)
		f->end = RUN_NOT_STARTED;
	f->futile = f->end == RUN_FAILED && r->record.dataset == before &&
				    clock_seconds() - start < RUN_SOON
			    ? f->futile + 1
			    : 0;
	run_child_free(&c);
	if (f->end != RUN_OK)
		say(r, "run %" PRId64 " ended with status %d after %.0f s",
		    r->record.runs, r->status, clock_seconds() - start);
	return 0;
}

/* --- The job --- */

/* What the halt file says; why it stops the job is reported. */
static void
look_for_halt(struct run *r)
{
	const enum run_halt before = r->facts.halt;
	struct error why = ERROR_INIT;
	struct buf lines = BUF_INIT;
	bool stop = false;
	struct halt_state s = { .exists = false };

	r->facts.halt = RUN_HALT_NONE;
	if (halt_check(r->job->prefix, r->job->conf, clock_now(), &stop, &lines,
		       &why) < 0) {
		say(r, "%s", why.text);
		r->facts.halt = RUN_HALT_UNKNOWN;
	} else if (stop) {
		r->facts.halt = RUN_HALT_MET;
		if (halt_load(r->job->prefix, &s, NULL) < 0 || s.damaged)
			r->facts.halt = RUN_HALT_UNKNOWN;
		else if (s.is.reason != NULL &&
			 str_eq(s.is.reason, HALT_FINISHED))
			r->facts.halt = RUN_HALT_FINISHED;
		else if (before != RUN_HALT_MET && lines.len > 0)
			say(r, "%.*s", (int)strcspn(lines.data, "\n"),
			    lines.data);
		halt_state_free(&s);
	}
	buf_free(&lines);
}

/* Save the caches, again if the answer is unknown and there is time. */
static int
save(struct run *r)
{
	int status = STATUS_FAILED;
	double took = 0;

	note(r, RUN_SAVING);
	for (int i = 0; i < SAVES; i++) {
		const double start = clock_seconds();

		status = tool(r, r->o->postrun);
		took = clock_seconds() - start + SAVE_PAUSE;
		if (status != STATUS_FAILED || i + 1 == SAVES ||
		    (r->end > 0 && clock_now() + (int64_t)took >= r->end))
			break;
		say(r,
		    "it is unknown what is saved: scr_postrun is run again "
		    "in %.0f s",
		    SAVE_PAUSE);
		/* A signal that has come does not shorten this pause. */
		pause_for(r, SAVE_PAUSE);
	}
	return status;
}

/* Variables for the program, unless they are set. */
static void
export_facts(const struct run *r)
{
	char text[32];

	setenv("SCR_JOB_ID", r->job->id, 0);
	if (r->end == RESMGR_END_UNKNOWN)
		return;
	snprintf(text, sizeof(text), "%" PRId64, r->end);
	setenv("SCR_END_TIME", text, 0);
	if (r->end < 0 || conf_is_set(r->job->conf, "SCR_HALT_SECONDS"))
		return;
	snprintf(text, sizeof(text), "%" PRIu64, 2 * saving_time(r));
	setenv("SCR_HALT_SECONDS", text, 0);
}

/* Without a resource manager and SCR_NODELIST: the nodes are those that the
 * user names to mpiexec, else this machine. */
static int
find_nodes(struct run *r, struct error *err)
{
	struct hostlist found = HOSTLIST_INIT;
	struct buf list = BUF_INIT;
	int rc = run_launcher_hosts(r->o->command, &found, err);

	if (rc == 0 && found.count == 0)
		rc = hostlist_add_name(&found, r->record.host, err);
	if (rc == 0)
		rc = hostlist_text(&found, &list, err);
	if (rc == 0) {
		r->job->nodes_given = arena_strdup(r->arena, list.data);
		rc = job_nodes(r->job, err);
		/* For our own commands, and those of the program. */
		setenv("SCR_NODELIST", list.data, 1);
	}
	hostlist_free(&found);
	buf_free(&list);
	return rc;
}

/* Take over from a wrapper of this job that was killed. */
static int
take_over(struct run *r, struct error *err)
{
	struct run_record old;
	struct error why = ERROR_INIT;
	int rc = 0;

	r->lock = run_record_lock(r->scr, &why);
	if (run_record_read(r->scr, &old, r->arena, NULL) < 0)
		old = (struct run_record){ .state = RUN_ENDED };
	if (r->lock == -1 && why.errnum == EWOULDBLOCK && old.job != NULL &&
	    str_eq(old.job, r->job->id))
		rc = error_set(err, ERROR_SYSTEM,
			       "%s: scr_run runs this job already (%s, process "
			       "%" PRId64 ")",
			       r->job->prefix,
			       old.host != NULL ? old.host : "?", old.pid);
	else if (r->lock == -1 && why.errnum != EWOULDBLOCK)
		say(r, "%s", why.text);
	if (rc == 0 && r->lock != -1 && old.state != RUN_ENDED &&
	    str_eq(old.job, r->job->id)) {
		say(r,
		    "scr_run on %s, process %" PRId64
		    ", was killed in run %" PRId64 ": taking over",
		    old.host != NULL ? old.host : "?", old.pid, old.runs);
		end_steps(r, (double)r->o->grace);
		r->record.runs = old.runs;
		/* The run that it did not see end does not count. */
		r->facts.runs_left = old.left >= 0 && old.state == RUN_RUNNING
					     ? old.left + 1
					     : old.left;
		for (size_t i = 0; rc == 0 && i < old.bad.count; i++)
			rc = give_up(r, old.bad.names[i],
				     old.reasons[i] != NULL ? old.reasons[i]
							    : "",
				     err);
	}
	hostlist_free(&old.bad);
	return rc;
}

static void
report_dry(struct run *r, const char *const *argv, enum run_why why)
{
	struct buf text = BUF_INIT;

	say(r, "%s: %s", run_launches(why) ? "launch" : "no launch",
	    run_why_text(why));
	if (r->facts.nodes_known && hostlist_text(&r->use, &text, NULL) == 0)
		say(r, "nodes: %s (%zu usable, %zu needed)",
		    text.len > 0 ? text.data : "none", r->facts.usable,
		    r->facts.needed);
	buf_clear(&text);
	for (; argv != NULL && *argv != NULL; argv++)
		buf_printf(&text, " %s", *argv);
	if (text.len > 0)
		say(r, "command:%s", text.data);
	buf_free(&text);
}

static int
loop(struct run *r, int *status, struct error *err)
{
	struct run_result result = { .again = r->o->again };
	uint64_t pause = r->o->pause;
	enum run_why why = RUN_WHY_START;

	for (;;) {
		look_for_halt(r);
		r->facts.late = r->late || is_late(r);
		/* Nodes are asked only if nothing else stops the job. */
		r->facts.nodes_known = false;
		if (run_launches(run_decide(&r->facts)) &&
		    choose_nodes(r, err) < 0)
			break;
		why = run_decide(&r->facts);
		r->record.why = run_why_text(why);
		if (r->o->dry_run) {
			report_dry(r, words(r, err), why);
			*status = STATUS_OK;
			return 0;
		}
		if (!run_launches(why) || run_once(r, err) < 0)
			break;
		look_for_halt(r);
		r->facts.late = r->late || is_late(r);
		if (!run_launches(run_decide(&r->facts)))
			continue;
		note(r, RUN_PAUSING);
		pause_for(r, (double)pause);
		if (r->facts.futile > 0)
			pause *= 2;
	}
	if (why == RUN_WHY_NODES)
		say(r, "%s: %zu can be used, %zu are needed", run_why_text(why),
		    r->facts.usable, r->facts.needed);
	else if (why != RUN_WHY_DONE)
		say(r, "not launched%s: %s", r->record.runs > 0 ? " again" : "",
		    run_why_text(why));
	result.saved = save(r);
	result.why = why;
	result.end = r->facts.end;
	result.status = r->status;
	result.signal = r->facts.signal;
	*status = err->kind != ERROR_NONE && r->record.runs == 0
			  ? RUN_STATUS_FAILED
			  : run_status(&result);
	r->record.status = *status;
	note(r, RUN_ENDED);
	if (r->record.runs > 0 && (*status != 0 || r->record.runs > 1))
		say(r, "the job ended with %d, scr_postrun with %d", *status,
		    result.saved);
	return err->kind != ERROR_NONE ? -1 : 0;
}

int
run_job(const struct run_options *o, int *status, struct error *err)
{
	char host[256] = "";
	struct run r = {
		.o = o,
		.job = o->job,
		.signals = { .fd = -1 },
		.facts = { .runs_left = o->runs },
		.record = { .job = o->job->id,
			    .host = host,
			    .pid = getpid(),
			    .left = o->runs,
			    .argv = o->command,
			    .status = -1 },
		.arena = arena_new(),
		.began = clock_now(),
		.scr = -1,
		.lock = -1,
	};
	struct error why = ERROR_INIT;
	int rc = -1;

	*status = RUN_STATUS_FAILED;
	(void)gethostname(host, sizeof(host) - 1);
	if (r.arena == NULL)
		return error_no_memory(err);
	r.hosts = arena_printf(r.arena, "%s/.scr/" RUN_HOSTS,
			       o->job->prefix_real);
	if (r.hosts == NULL || run_signals_open(&r.signals, err) < 0)
		goto out;
	if (job_nodes(o->job, &why) < 0 &&
	    (why.kind != ERROR_ABSENT || find_nodes(&r, err) < 0)) {
		if (why.kind != ERROR_ABSENT)
			error_pass(err, &why);
		goto out;
	}
	if (job_end_time(o->job, &r.end, err) < 0)
		goto out;
	if (!o->dry_run) {
		r.scr = jobfiles_open(o->job->prefix, true, err);
		if (r.scr < 0 || take_over(&r, err) < 0)
			goto out;
		note(&r, RUN_STARTING);
		export_facts(&r);
		if (tool(&r, o->prerun) != STATUS_OK) {
			error_set(err, ERROR_SYSTEM,
				  "%s: scr_prerun failed: nothing is launched",
				  o->job->prefix);
			goto out;
		}
	}
	rc = loop(&r, status, err);
out:
	run_signals_close(&r.signals);
	hostlist_free(&r.use);
	hostlist_free(&r.silent);
	hostlist_free(&r.now_silent);
	hostlist_free(&r.record.bad);
	io_close(r.scr);
	if (r.lock >= 0)
		close(r.lock);
	arena_free(r.arena);
	return rc;
}
