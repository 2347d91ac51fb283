/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue.h"
#include "clock.h"
#include "conf.h"
#include "error.h"
#include "meta/dataset.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "meta/log.h"
#include "num.h"
#include "run/launcher.h"
#include "run/run_impl.h"
#include "site/eventlog.h"
#include "site/interval.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "site/step.h"
#include "str.h"

/* Seconds for saving the caches if their size or the speed is unknown, but at
 * most this part of the job's time; and what is added to an estimate. */
#define SAVE_UNKNOWN 300
#define SAVE_PART 4
#define SAVE_MORE 30

/* Seconds for which an estimate lasts: the log can be long. */
#define SAVE_LASTS 60

/* Seconds between two looks for steps of the program; fewer at first. */
#define STEP_LOOK 60

/* --- Time --- */

uint64_t
run_saving_time(struct run *r)
{
	struct jobfiles_flush f = { .count = 0 };
	struct interval_stats past;
	struct dataset d;
	const double part =
		r->end > r->began ? (double)(r->end - r->began) / SAVE_PART : 0;
	double rate = 0, seconds = part < SAVE_UNKNOWN ? part : SAVE_UNKNOWN;

	if (r->o->save > 0)
		return r->o->save;
	if (r->saving_at > 0 && clock_now() < r->saving_at + SAVE_LASTS)
		return r->saving;
	if (interval_read_prefix(r->job->prefix, &past, NULL) == 0)
		rate = interval_scavenge_rate(&past);
	if (rate > 0 && jobfiles_flush_read(r->job->prefix, &f, NULL) == 0 &&
	    f.count > 0 &&
	    dataset_read(f.all[f.count - 1].desc, &d, NULL) == 0 &&
	    d.files >= 0)
		seconds = SAVE_MORE + 2 * (double)d.bytes / rate;
	jobfiles_flush_free(&f);
	r->saving_at = clock_now();
	return r->saving = (uint64_t)seconds;
}

bool
run_is_late(struct run *r)
{
	return r->end > 0 &&
	       clock_now() + (int64_t)run_saving_time(r) >= r->end;
}

/* --- A run --- */

const char **
run_words(struct run *r, struct error *err)
{
	const struct run_nodes n = {
		.all = &r->job->nodes,
		.use = &r->use,
		.hosts = r->hosts,
		.scr = r->o->dry_run ? -1 : r->scr,
		.ranks = r->ranks,
	};
	struct catalogue *c = NULL;
	struct index *ix = NULL;
	struct index_entry e;
	const char *name = NULL, **argv = NULL;

	if (r->o->restart != NULL &&
	    (c = catalogue_open(r->job->prefix, NULL)) != NULL &&
	    (ix = catalogue_read_quietly(c, NULL)) != NULL &&
	    index_find_id(ix, catalogue_restart_point(c), &e, NULL) == 0)
		name = arena_strdup(r->arena, e.name != NULL ? e.name : "");
	index_free(ix);
	catalogue_close(c);
	argv = run_launcher_argv(name != NULL ? r->o->restart : r->o->command,
				 &n, r->arena, err);
	for (size_t i = 0; name != NULL && argv != NULL && argv[i] != NULL; i++)
		if (str_eq(argv[i], RUN_CKPT_NAME))
			argv[i] = name;
	return argv;
}

/* A node of the run did not answer: was it silent at the last look, too? */
static void
silent(struct run *r, const char *name, const char *why)
{
	for (size_t i = 0; i < r->silent.count; i++) {
		if (!str_eq(r->silent.names[i], name))
			continue;
		r->hung = true;
		run_give_up(r, name, why);
		return;
	}
	(void)hostlist_add_name(&r->now_silent, name, NULL);
}

/* Watch the program until it has ended. */
static void
watch(struct run *r, struct run_child *c)
{
	struct run_child probe = RUN_CHILD_INIT;
	static const char *const verb[] = { "down-nodes", "--json", "--read",
					    NULL };
	struct run_progress now;
	struct run_watch w;
	const double start = clock_seconds();
	double ending = 0, asked = start, look = start + RUN_TICK, t = 0;

	run_progress_read(r->job->prefix, &now);
	now.cached = r->cached;
	run_watch_start(&w, &r->o->limits, &now, start);
	while (!run_child_poll(c)) {
		run_listen(r, c, &probe, RUN_TICK);
		t = clock_seconds();
		run_progress_read(r->job->prefix, &now);
		now.cached = r->cached;
		if (now.newest > r->record.dataset)
			r->record.dataset = now.newest;
		if (!r->hung && run_watch_look(&w, &now, t)) {
			r->hung = true;
			run_say(r,
				"no progress for %.0f s (last dataset: %" PRId64
				"%s%s): the run is ended",
				t - w.since, now.newest,
				now.cached < 0 ? "" : ", in the caches ",
				now.cached < 0 ? "" : num_str(now.cached));
			if (r->o->traces)
				run_traces(r);
		}
		if (!r->late && run_is_late(r)) {
			r->late = true;
			run_say(r,
				"the time ends in %" PRId64
				" s: the run is ended",
				r->end - clock_now());
		}
		if (probe.pid > 0 && run_child_poll(&probe)) {
			(void)run_answers(r, &probe, silent, NULL);
			hostlist_free(&r->silent);
			r->silent = r->now_silent;
			r->now_silent = (struct hostlist)HOSTLIST_INIT;
			run_child_free(&probe);
			asked = t;
		}
		if (probe.pid == 0 && r->o->node_watch > 0 && !r->hung &&
		    r->use.count > 0 && t - asked > (double)r->o->node_watch)
			(void)run_ask(r, &r->use, verb, &probe, NULL);
		if (ending == 0 && t > look) {
			run_find_steps(r);
			look = t +
			       (t - start < STEP_LOOK ? t - start : STEP_LOOK);
		}
		if (ending == 0 &&
		    (r->hung || r->late || r->facts.signal != 0)) {
			ending = t;
			if (r->facts.signal == 0)
				run_child_kill(c, SIGTERM);
		} else if (ending > 0 && t - ending > (double)r->o->grace) {
			/* With SIGKILL srun leaves its step behind, and nothing
			 * shows any more whose it is. */
			run_find_steps(r);
			run_child_kill(c, SIGKILL);
			run_end_steps(r, 1);
			ending = t;
		}
	}
	if (probe.pid > 0) {
		run_child_kill(&probe, SIGTERM);
		run_finish(r, &probe, 2);
	}
	run_child_free(&probe);
}

/* Log RUN_START, or RUN_END after `secs`, as LLNL's scripts do: libscr does not
 * know when a run dies. */
static void
log_run(const struct run *r, const char *event, double secs)
{
	struct log_line l = { LOG_LINE_NONE };
	struct error why = ERROR_INIT;

	l.event = event;
	l.note = str_printed(32, "run=%" PRId64, r->record.runs);
	l.secs = secs;
	l.user = r->job->user;
	l.job_id = r->job->id;
	if (eventlog_add(r->job->prefix, r->job->conf, &l, &why) < 0)
		run_say(r, "%s", why.text);
}

int
run_once(struct run *r, struct error *err)
{
	struct run_facts *f = &r->facts;
	const char **argv = run_words(r, err);
	struct error why = ERROR_INIT;
	struct buf list = BUF_INIT;
	struct run_child c = RUN_CHILD_INIT;
	const int64_t before = r->record.dataset;
	const size_t bad = r->record.bad.count;
	const double start = clock_seconds();
	struct jobfiles_restarts old = { .count = 0 }, then = { .count = 0 };
	uint64_t most = 0;
	bool counted = false, soon = false;
	int started = 0, left = 0;

	(void)jobfiles_restarts(r->scr, &old, NULL);
	(void)conf_u64(r->job->conf, "SCR_RESTART_ATTEMPTS", 3, &most, NULL);
	if (argv == NULL)
		return -1;
	hostlist_free(&r->silent);
	r->hung = false;
	(void)hostlist_plain(&r->use, ",", &list, NULL);
	if (r->use.count > 0)
		setenv("SCR_RUN_NODES", list.data, 1);
	buf_free(&list);
	r->record.runs++;
	if (f->runs_left > 0)
		f->runs_left--;
	r->record.left = f->runs_left;
	run_note(r, RUN_RUNNING);
	run_steps_before(r);
	setenv(RUN_MARK, strchr(r->record.mark, '=') + 1, 1);
	log_run(r, "RUN_START", -1);
	started =
		run_child_start(&c, argv, RUN_CHILD_PROGRAM, &r->signals, &why);
	/* Our own commands are not part of the program. */
	unsetenv(RUN_MARK);
	if (started < 0) {
		run_say(r, "%s", why.text);
		log_run(r, "RUN_END", 0);
		f->end = RUN_NOT_STARTED;
		r->status = why.kind == ERROR_ABSENT ? RUN_STATUS_MISSING
						     : RUN_STATUS_EXEC;
		return 0;
	}
	watch(r, &c);
	/* Steps can outlive their launcher, and ranks a program. */
	left = step_signal_marked(r->record.mark, 0);
	if (c.status == 0 && left > 0)
		run_say(r,
			"the command has ended, but not all of its processes "
			"(%d): they are ended",
			left);
	if (c.status != 0 || left != 0)
		run_end_steps(r, (double)r->o->grace);
	log_run(r, "RUN_END", clock_seconds() - start);
	r->status = c.status;
	soon = clock_seconds() - start < RUN_SOON;
	if (r->hung)
		f->end = RUN_HUNG;
	else if (r->late || f->signal != 0)
		f->end = RUN_STOPPED;
	else if (c.status == 0)
		f->end = RUN_OK;
	else if (soon && (c.status == RUN_STATUS_EXEC ||
			  c.status == RUN_STATUS_MISSING))
		/* env(1), a shell and the loader say so of a program. */
		f->end = RUN_NOT_STARTED;
	else
		f->end = RUN_FAILED;
	(void)jobfiles_restarts(r->scr, &then, NULL);
	/* libscr itself gives up a checkpoint that is the cause. */
	counted = then.count > 0 && memcmp(&then, &old, sizeof(old)) != 0;
	if (r->record.dataset != before || counted || r->record.bad.count > bad)
		f->fruitless = f->futile = 0;
	else if (f->end == RUN_FAILED || f->end == RUN_HUNG)
		f->fruitless++;
	f->futile = f->end == RUN_FAILED && f->fruitless > 0 && soon
			    ? f->futile + 1
			    : 0;
	run_child_free(&c);
	if (f->end == RUN_OK)
		return 0;
	run_say(r, "run %" PRId64 " ended with status %d after %.0f s",
		r->record.runs, r->status, clock_seconds() - start);
	if (counted)
		run_say(r,
			"restart %" PRIu64 " of %" PRIu64
			" from dataset %" PRIu64 " has failed%s",
			then.count, most, then.id,
			then.count < most
				? ""
				: ": this dataset is not tried again");
	return 0;
}
