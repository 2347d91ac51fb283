/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "conf.h"
#include "error.h"
#include "io.h"
#include "run/launcher.h"
#include "run/run_impl.h"
#include "site/halt.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"

/* scr_postrun is run so often if its answer is "unknown", with a pause. */
#define SAVES 3
#define SAVE_PAUSE 15.0

/* --- The job --- */

/* May the program be launched, by the halt file, the time, and the runs before?
 * A halt condition is reported once. */
static bool
may_launch(struct run *r)
{
	const enum run_halt before = r->facts.halt;
	struct error why = ERROR_INIT;
	struct buf lines = BUF_INIT;
	bool stop = false;
	const char *line = NULL;
	struct halt_state s = { .exists = false };
	uint64_t seconds = 0;

	r->facts.halt = RUN_HALT_NONE;
	if (halt_check(r->job->prefix, r->job->conf, clock_now(), &stop, &lines,
		       &why) < 0) {
		run_say(r, "%s", why.text);
		r->facts.halt = RUN_HALT_UNKNOWN;
	} else if (stop) {
		r->facts.halt = RUN_HALT_MET;
		if (halt_load(r->job->prefix, &s, &why) < 0 || s.damaged)
			/* A dry run: scr_prerun would make the prefix. */
			r->facts.halt = why.kind == ERROR_ABSENT
						? RUN_HALT_NONE
						: RUN_HALT_UNKNOWN;
		line = lines.len > 0 ? lines.data : "";
		/* With another condition, or a halt that was asked for, it has
		 * come to its end for that.  A dry run: scr_prerun would remove
		 * this reason. */
		if (s.is.reason != NULL && str_eq(s.is.reason, HALT_FINISHED) &&
		    r->facts.halt == RUN_HALT_MET) {
			line += strcspn(line, "\n");
			line += *line == '\n';
			if (*line == '\0' && s.is.obeyed == NULL)
				r->facts.halt = r->facts.end == RUN_NEVER
							? RUN_HALT_NONE
							: RUN_HALT_FINISHED;
		}
		if (r->facts.halt == RUN_HALT_MET && before != RUN_HALT_MET &&
		    *line != '\0')
			run_say(r, "%.*s", (int)strcspn(line, "\n"), line);
		halt_state_free(&s);
	}
	buf_free(&lines);
	r->facts.late = r->late || run_is_late(r);
	/* Did libscr tell the program to stop, before the time ends? */
	if (r->facts.end == RUN_OK && r->end > 0) {
		seconds = 2 * run_saving_time(r);
		if (conf_is_set(r->job->conf, "SCR_HALT_SECONDS"))
			(void)conf_u64(r->job->conf, "SCR_HALT_SECONDS",
				       seconds, &seconds, NULL);
		r->facts.late |= clock_now() + (int64_t)seconds >= r->end;
	}
	/* Nodes are asked only if nothing else stops the job. */
	r->facts.nodes_known = false;
	return run_launches(run_decide(&r->facts));
}

/* Save the caches, again if the answer is unknown and there is time. */
static int
save(struct run *r)
{
	/* Of a job that launched nothing, an older one has left the caches. */
	const int most = r->record.runs > 0 ? SAVES : 1;
	int status = STATUS_FAILED;
	double took = 0;

	run_note(r, RUN_SAVING);
	for (int i = 0; i < most; i++) {
		const double start = clock_seconds();

		status = run_tool(r, r->o->postrun, false);
		took = clock_seconds() - start + SAVE_PAUSE;
		if (status != STATUS_FAILED || i + 1 == most ||
		    (r->end > 0 && clock_now() + (int64_t)took >= r->end))
			break;
		run_say(r,
			"it is unknown what is saved: scr_postrun is run again "
			"in %.0f s",
			SAVE_PAUSE);
		/* A signal that has come does not shorten this pause. */
		run_pause(r, SAVE_PAUSE);
	}
	return status;
}

/* Variables for the program, unless they are set. */
static void
export_facts(struct run *r)
{
	char text[32];

	setenv("SCR_JOB_ID", r->job->id, 0);
	if (r->end == RESMGR_END_UNKNOWN)
		return;
	snprintf(text, sizeof(text), "%" PRId64, r->end);
	setenv("SCR_END_TIME", text, 0);
	if (r->end < 0 || conf_is_set(r->job->conf, "SCR_HALT_SECONDS"))
		return;
	snprintf(text, sizeof(text), "%" PRIu64, 2 * run_saving_time(r));
	setenv("SCR_HALT_SECONDS", text, 0);
}

/* Without a resource manager and SCR_NODELIST, the nodes are those that the
 * user names to mpiexec, else this machine. */
static int
find_nodes(struct run *r, struct error *err)
{
	struct hostlist found = HOSTLIST_INIT;
	struct buf list = BUF_INIT;
	int rc = job_nodes(r->job, err);

	if (rc == 0 || err->kind != ERROR_ABSENT)
		return rc;
	error_clear(err);
	rc = run_launcher_hosts(r->o->command, &found, err);
	if (rc == 0 && found.count == 0)
		rc = hostlist_add_name(&found, r->record.host, err);
	if (rc == 0) {
		(void)hostlist_text(&found, &list, NULL);
		r->job->nodes_given = arena_strdup(r->arena, list.data);
		rc = job_nodes(r->job, err);
		/* For our own commands, and those of the program. */
		setenv("SCR_NODELIST", list.data, 1);
	}
	hostlist_free(&found);
	buf_free(&list);
	return rc;
}

/* End the steps of a wrapper that was killed. */
static void
end_old_steps(struct run *r, const struct run_record *old)
{
	const char *own = r->record.mark, *round = NULL;

	if (old->mark == NULL || !str_starts(old->mark, RUN_MARK "=") ||
	    (round = strrchr(old->mark, '.')) == NULL)
		return;
	/* If the job was requeued, all steps have ended, and their ids are
	 * used again.  Not all managers count that. */
	if (!str_eq(round, strrchr(own, '.')) || resmgr_own_by_time(r->job->rm))
		return;
	(void)hostlist_add_list(&r->record.steps, &old->steps, NULL);
	r->record.mark = old->mark;
	run_find_steps(r);
	run_end_steps(r, (double)r->o->grace);
	hostlist_free(&r->record.steps);
	r->record.mark = own;
}

/* Without locks: does a wrapper still write its record? */
static bool
changes(struct run *r, const struct run_record *old)
{
	const double until = clock_seconds() + RUN_LEASE;
	int64_t last = old->written;
	struct run_record now;

	run_say(r,
		"this file system has no locks: waiting up to %d s for a sign "
		"of scr_run on %s, process %" PRId64,
		RUN_LEASE, old->host != NULL ? old->host : "?", old->pid);
	/* Not yet with a record of our own. */
	r->beaten = until;
	while (last == old->written && r->facts.signal == 0 &&
	       clock_seconds() < until) {
		run_pause(r, RUN_TICK);
		now = run_look(r);
		last = now.job != NULL ? now.written : last;
	}
	return last != old->written || r->facts.signal != 0;
}

/* Take over from a wrapper of this job that was killed. */
static int
take_over(struct run *r, struct error *err)
{
	struct run_record old;
	struct error why = ERROR_INIT;
	bool ours = false;
	int rc = 0;

	r->lock = run_record_lock(r->scr, &why);
	if (r->lock == -1) {
		/* A look at the record holds it for a moment. */
		run_pause(r, RUN_TICK);
		error_clear(&why);
		r->lock = run_record_lock(r->scr, &why);
	}
	if (run_record_read(r->scr, &old, r->arena, NULL) < 0)
		old = (struct run_record){ .state = RUN_ENDED };
	ours = old.job != NULL && str_eq(old.job, r->job->id);
	if (ours &&
	    ((r->lock == -1 && why.errnum == EWOULDBLOCK) ||
	     (r->lock == -2 && old.state != RUN_ENDED && changes(r, &old))))
		rc = error_set(err, ERROR_SYSTEM,
			       "%s: scr_run runs this job already (%s, process "
			       "%" PRId64 ")",
			       r->job->prefix,
			       old.host != NULL ? old.host : "?", old.pid);
	else if (r->lock == -1 && why.errnum != EWOULDBLOCK)
		run_say(r, "%s", why.text);
	if (rc == 0 && r->lock != -1 && old.state != RUN_ENDED && ours &&
	    run_record_is_mine(r->scr, NULL) == 0) {
		run_say(r,
			"scr_run on %s, process %" PRId64
			", was killed %s %" PRId64 ": taking over",
			old.host != NULL ? old.host : "?", old.pid,
			old.state == RUN_SAVING ? "while it saved run"
						: "in run",
			old.runs);
		r->record.runs = old.runs;
		r->record.dataset = old.dataset;
		r->facts.runs_left = old.left;
		/* The run that it did not see end does not count, unless the
		 * one that was given back before has brought nothing. */
		r->record.given_back = old.given_back;
		if (old.left >= 0 && old.state == RUN_RUNNING &&
		    old.given_back <= old.dataset) {
			r->facts.runs_left++;
			r->record.given_back = old.dataset + 1;
		}
		r->record.left = r->facts.runs_left;
		if (old.state == RUN_SAVING)
			r->ends_with = old.status;
		for (size_t i = 0; i < old.bad.count; i++)
			run_give_up(r, old.bad.names[i],
				    old.reasons[i] != NULL ? old.reasons[i]
							   : "");
		end_old_steps(r, &old);
		/* Where no manager lists them as ours: ranks whose launcher
		 * died with its node would write beside the next run. */
		if (str_eq(resmgr_name(r->job->rm), "none") ||
		    resmgr_own_by_time(r->job->rm))
			run_end_ranks(r);
	}
	hostlist_free(&old.bad);
	hostlist_free(&old.steps);
	return rc;
}

static void
report_dry(struct run *r, const char *const *argv, enum run_why why)
{
	struct buf text = BUF_INIT;

	run_say(r, "%s: %s", run_launches(why) ? "launch" : "no launch",
		run_why_text(why));
	if (r->facts.nodes_known) {
		(void)hostlist_text(&r->use, &text, NULL);
		run_say(r, "nodes: %s (%zu usable, %zu needed)",
			text.len > 0 ? text.data : "none", r->facts.usable,
			r->facts.needed);
	}
	buf_clear(&text);
	for (; argv != NULL && *argv != NULL; argv++)
		buf_printf(&text, " %s", *argv);
	if (text.len > 0)
		run_say(r, "command:%s", text.data);
	buf_free(&text);
}

static int
loop(struct run *r, int *status, struct error *err)
{
	uint64_t pause = r->o->pause;
	enum run_why why = RUN_WHY_START;
	int saved = STATUS_FAILED;

	while (r->ends_with < 0) {
		if (may_launch(r) && run_choose_nodes(r, err) < 0)
			break;
		why = run_decide(&r->facts);
		r->record.why = run_why_text(why);
		if (r->o->dry_run) {
			report_dry(r, run_words(r, err), why);
			if (err->kind != ERROR_NONE)
				return -1;
			*status = STATUS_OK;
			return 0;
		}
		if (!run_launches(why))
			break;
		/* Only what is on the prefix can be read by fewer ranks. */
		if (r->ranks > 0) {
			run_say(r, "%" PRIu64 " ranks on %zu %s", r->ranks,
				str_count(r->facts.usable, "node"));
			(void)save(r);
		}
		if (run_once(r, err) < 0)
			break;
		if (!may_launch(r))
			continue;
		run_note(r, RUN_PAUSING);
		run_pause(r, (double)pause);
		if (r->facts.futile > 0)
			pause *= 2;
	}
	if (err->kind != ERROR_NONE)
		error_wrap(err, "not launched%s",
			   r->record.runs > 0 ? " again" : "");
	else if (why == RUN_WHY_NODES)
		run_say(r,
			"not launched%s: %s: %zu can be used, %zu are needed",
			r->record.runs > 0 ? " again" : "", run_why_text(why),
			r->facts.usable, r->facts.needed);
	else if (why != RUN_WHY_DONE && r->ends_with < 0)
		run_say(r, "not launched%s: %s",
			r->record.runs > 0 ? " again" : "", run_why_text(why));
	if (r->ends_with < 0)
		r->ends_with = err->kind != ERROR_NONE && r->record.runs == 0
				       ? RUN_STATUS_FAILED
				       : run_status(why, &r->facts, r->status,
						    r->o->again);
	/* Whoever takes over from here saves, and ends with this. */
	r->record.status = r->ends_with;
	saved = r->scr >= 0 ? save(r) : STATUS_FAILED;
	*status = run_status_saved(r->ends_with, r->o->again, saved);
	r->record.status = *status;
	run_note(r, RUN_ENDED);
	if (r->record.runs > 0 && (*status != 0 || r->record.runs > 1))
		run_say(r, "the job ended with %d, scr_postrun with %d",
			*status, saved);
	return err->kind != ERROR_NONE ? -1 : 0;
}

/* The prefix cannot be prepared: who could do that? */
static void
name_owner(const struct run *r)
{
	const char *prefix = r->job->prefix;
	const struct passwd *who = NULL;
	struct stat st;

	if (stat(prefix, &st) == 0 && st.st_uid != geteuid())
		run_say(r, "%s: belongs to user %s, not to you", prefix,
			(who = getpwuid(st.st_uid)) != NULL ? who->pw_name
							    : "unknown");
}

int
run_job(const struct run_options *o, int *status, struct error *err)
{
	char host[256] = "", dir[PATH_MAX] = "";
	struct run r = {
		.o = o,
		.job = o->job,
		.signals = { .fd = -1 },
		.facts = { .runs_left = o->runs },
		.record = { .job = o->job->id,
			    .host = host,
			    .pid = getpid(),
			    .left = o->runs,
			    .argv = o->argv,
			    .dir = dir,
			    .status = -1 },
		.arena = arena_new(),
		.looks = arena_new(),
		.began = clock_now(),
		.cached = -1,
		.ends_with = -1,
		.scr = -1,
		.lock = -1,
	};
	const char *round = getenv("SLURM_RESTART_COUNT");
	struct buf nodes = BUF_INIT;
	int rc = -1;

	*status = RUN_STATUS_FAILED;
	(void)gethostname(host, sizeof(host) - 1);
	if (getcwd(dir, sizeof(dir)) == NULL)
		r.record.dir = NULL;
	r.hosts = arena_printf(r.arena, "%s/.scr/" RUN_HOSTS,
			       o->job->prefix_real);
	r.record.mark = arena_printf(r.arena, RUN_MARK "=%s.%d.%" PRId64 ".%s",
				     host, (int)getpid(), r.began,
				     round != NULL ? round : "0");
	if (run_signals_open(&r.signals, err) < 0 || find_nodes(&r, err) < 0 ||
	    job_end_time(o->job, &r.end, err) < 0)
		goto out;
	(void)hostlist_text(&o->job->nodes, &nodes, NULL);
	r.record.nodes = nodes.data;
	if (!o->dry_run) {
		r.scr = jobfiles_open(o->job->prefix, true, err);
		if (r.scr < 0)
			name_owner(&r);
		if (r.scr < 0 || take_over(&r, err) < 0)
			goto out;
		run_note(&r, RUN_STARTING);
		export_facts(&r);
		if (run_tool(&r, o->prerun, true) != STATUS_OK) {
			if (r.facts.signal != 0)
				*status = 128 + r.facts.signal;
			else
				error_set(err, ERROR_SYSTEM,
					  "%s: scr_prerun failed: nothing is "
					  "launched",
					  o->job->prefix);
			name_owner(&r);
			r.record.status = *status;
			run_note(&r, RUN_ENDED);
			goto out;
		}
		if (r.end > 0 && r.end <= clock_now())
			run_say(&r, "the time of the job has ended");
		else if (r.end > 0)
			run_say(&r,
				"the time ends in %" PRId64
				" s: the last %" PRIu64
				" s are for saving the caches",
				r.end - clock_now(), run_saving_time(&r));
	}
	rc = loop(&r, status, err);
out:
	run_signals_close(&r.signals);
	hostlist_free(&r.use);
	hostlist_free(&r.silent);
	hostlist_free(&r.now_silent);
	hostlist_free(&r.before);
	hostlist_free(&r.record.bad);
	hostlist_free(&r.record.steps);
	buf_free(&nodes);
	io_close(r.scr);
	io_close(r.lock);
	arena_free(r.looks);
	arena_free(r.arena);
	return rc;
}
