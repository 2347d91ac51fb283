/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/step.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "num.h"
#include "site/resmgr.h"
#include "str.h"

/* Seconds: default time limit of a manager's command, and between two polls of
 * what still runs. */
#define ANSWER 15
#define LOOK 0.25

/* Bytes of a /proc/PID/stat, far above the real size, and fields of it. */
#define STAT_MAX 4096
#define STAT_VSIZE 23
#define STAT_ENV_END 51
/* Most bytes of an environment that is searched. */
#define ENVIRON_MAX ((size_t)8 << 20)
/* Looks at a process within exec(2), 1 ms apart. */
#define EXEC_LOOKS 1000
#define EMPTY_LOOKS 10

/* --- Steps --- */

static void
say(const struct step_where *w, const char *what, const char *id)
{
	char line[512];

	snprintf(line, sizeof(line), "%s %s", what, id);
	if (w->log != NULL)
		w->log(w->arg, line);
}

static void
say_each(const struct step_where *w, const char *what,
	 const struct hostlist *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		say(w, what, steps->names[i]);
}

/* Pause between two polls.  -1: the user asked to stop. */
static int
pause_look(const struct step_where *w, double left, struct error *err)
{
	double secs = left < LOOK ? left : LOOK;
	struct timespec t = { 0, (long)(secs * 1e9) };

	if (secs > 0)
		nanosleep(&t, NULL);
	if (w->stop == NULL || !w->stop())
		return 0;
	errno = EINTR;
	return error_sys(err, "steps may still run: interrupted");
}

/*
 * Wait at most w->grace seconds until all of `steps` have ended.  The steps
 * that still run stay in the list.  A query that fails is repeated; it is an
 * error only if the manager never answered.
 */
static int
await_end(const struct step_where *w, struct hostlist *steps, struct error *err)
{
	const double end = clock_seconds() + w->grace;
	struct error why = ERROR_INIT;
	bool answered = false, over = false;
	int rc = 0;

	while (rc == 0 && steps->count > 0 && !over) {
		struct hostlist now = HOSTLIST_INIT;

		over = clock_seconds() >= end; /* poll once more */
		error_clear(&why);
		/* If the manager does not know the job any more, it has
		 * ended. */
		if (resmgr_steps(w->manager, &w->job, &now, &why) == 0 ||
		    why.kind == ERROR_ABSENT) {
			rc = hostlist_both(steps, &now, err);
			answered |= rc == 0;
		}
		hostlist_free(&now);
		if (rc == 0 && steps->count > 0 && !over)
			rc = pause_look(w, end - clock_seconds(), err);
	}
	if (rc == 0 && !answered && why.kind != ERROR_NONE)
		return error_pass(err, &why);
	return rc;
}

/*
 * Send SIGTERM, wait, send SIGKILL, wait.  Managers report an error although
 * they delivered the signal, for example SLURM if a task of the step has died
 * already: what counts is whether the steps have ended.
 */
static int
stop_steps(const struct step_where *w, struct step_result *r, struct error *err)
{
	struct hostlist steps = HOSTLIST_INIT;
	struct error why = ERROR_INIT;
	int rc = 0;

	resmgr_limit(w->manager, w->answer > 0 ? w->answer : ANSWER, w->stop);
	rc = resmgr_steps(w->manager, &w->job, &steps, err);
	if (rc == 0 && w->only != NULL)
		rc = hostlist_both(&steps, w->only, err);
	if (rc == 0)
		r->found = steps.count;
	if (rc == 0 && steps.count == 0 && !w->job.around &&
	    resmgr_runs(w->manager, w->job.id) == 0)
		rc = error_set(
			err, ERROR_ABSENT,
			"job %s: %s has no record of it: it has ended or never "
			"existed",
			w->job.id, resmgr_name(w->manager));
	if (rc == 0 && w->dry_run)
		say_each(w, "would stop step", &steps);
	for (int hard = 0;
	     rc == 0 && !w->dry_run && steps.count > 0 && hard < 2; hard++) {
		error_clear(&why);
		r->killed = hard ? steps.count : 0;
		say_each(w, hard ? "killing step" : "stopping step", &steps);
		if (resmgr_signal(w->manager, &w->job, &steps, hard, &why) <
			    0 &&
		    why.kind != ERROR_SYSTEM)
			rc = error_pass(err, &why);
		else
			rc = await_end(w, &steps, err);
	}
	if (rc == 0 && !w->dry_run && steps.count > 0)
		rc = error_set(err, ERROR_SYSTEM,
			       "step %s: still runs %.0f s after SIGKILL%s%s",
			       steps.names[0], w->grace,
			       why.kind != ERROR_NONE ? ": " : "", why.text);
	hostlist_free(&steps);
	return rc;
}

/* --- A process in place of steps --- */

/* The text of /proc/PID/stat from the ')' behind the name on, which may contain
 * others, in `raw`.  NULL: there is no such process. */
static const char *
stat_of(const char *pid, struct buf *raw)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	return io_read_file(AT_FDCWD, path, STAT_MAX, raw, NULL) == 0 &&
			       raw->len > 0
		       ? strrchr(raw->data, ')')
		       : NULL;
}

/* Does the process run?  A zombie does not.  *group is that of the process; -1:
 * it is not known, as for want of descriptors the process cannot be looked at,
 * and may run. */
static bool
look_at(const char *pid, long long *group)
{
	struct buf raw = BUF_INIT;
	char state = 'Z';
	const char *at = NULL;
	bool seen = false, unseen = false;

	errno = 0;
	at = stat_of(pid, &raw);
	unseen = at == NULL &&
		 (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
	seen = at != NULL && sscanf(at, ") %c %*d %lld", &state, group) == 2;
	if (unseen)
		*group = -1;
	buf_free(&raw);
	return unseen || (seen && state != 'Z');
}

/* Does the process (`who` < 0: any process of the group) run? */
static bool
runs(pid_t who)
{
	const struct dirent *e = NULL;
	long long group = 0;
	bool found = false;
	DIR *all = NULL;

	if (kill(who, 0) < 0 && errno == ESRCH)
		return false;
	if (who >= 0)
		return look_at(num_str(who), &group);
	/* The group is there; if it cannot be asked whether it has more than
	 * zombies, it runs. */
	all = opendir("/proc");
	if (all == NULL)
		return true;
	/* Not a list that is made at once: processes may begin meanwhile. */
	while (!found && (e = readdir(all)) != NULL)
		found = isdigit((unsigned char)e->d_name[0]) &&
			look_at(e->d_name, &group) &&
			(group == -1 || group == -who);
	closedir(all);
	return found;
}

static int
stop_process(const struct step_where *w, struct step_result *r,
	     struct error *err)
{
	const pid_t pid = (pid_t)w->pid;
	/* The whole group if the process leads one: mpiexec and its
	 * children. */
	const pid_t who = getpgid(pid) == pid ? -pid : pid;
	const char *id = num_str(w->pid);
	double end = 0;

	if (!runs(pid))
		return error_set(err, ERROR_ABSENT,
				 "process %s: no such process", id);
	r->found = 1;
	if (w->dry_run) {
		say(w, "would stop process", id);
		return 0;
	}
	for (int hard = 0; hard < 2 && (!hard || runs(who)); hard++) {
		r->killed = (size_t)hard;
		say(w, hard ? "killing process" : "stopping process", id);
		if (kill(who, hard ? SIGKILL : SIGTERM) < 0 && errno != ESRCH)
			return error_sys(err, "process %s: cannot signal", id);
		end = clock_seconds() + w->grace;
		while (runs(who) && clock_seconds() < end)
			if (pause_look(w, (end - clock_seconds()) / 4, err) < 0)
				return -1;
	}
	return 0;
}

/* --- Steps or process --- */

int
step_check(const struct step_where *w, struct error *err)
{
	const pid_t pid = (pid_t)w->pid;

	if (w->pid <= 0)
		return resmgr_step_check(w->manager, &w->job, err);
	if (w->pid > 1 && w->pid <= INT32_MAX && pid != getpid() &&
	    pid != getppid() && (getpgid(pid) != pid || getpgrp() != pid))
		return 0;
	return error_set(err, ERROR_USAGE, "process %lld: cannot be stopped",
			 (long long)w->pid);
}

int
step_stop(const struct step_where *w, struct step_result *r, struct error *err)
{
	*r = (struct step_result){ .found = 0 };
	if (step_check(w, err) < 0)
		return -1;
	return w->pid > 0 ? stop_process(w, r, err) : stop_steps(w, r, err);
}

/* --- Which processes a launcher has started --- */

/* Is the process within exec(2), where it has memory, but no environment? */
static bool
in_exec(const char *pid)
{
	struct buf raw = BUF_INIT;
	const char *at = stat_of(pid, &raw);
	unsigned long memory = 0, environment = 1;

	for (int field = 2; at != NULL && field <= STAT_ENV_END; field++) {
		if (field == STAT_VSIZE)
			memory = strtoul(at, NULL, 10);
		else if (field == STAT_ENV_END)
			environment = strtoul(at, NULL, 10);
		at = strchr(at, ' ');
		at = at != NULL ? at + 1 : NULL;
	}
	buf_free(&raw);
	return memory > 0 && environment == 0;
}

int
step_is_marked(const char *pid, const char *mark)
{
	const struct timespec look = { .tv_nsec = 1000000 };
	struct error why = ERROR_INIT;
	struct buf raw = BUF_INIT;
	char path[64];
	size_t before = SIZE_MAX;
	int same = 0, ours = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	/* An exec(2) takes the environment away under the reader: "no" is what
	 * two looks say, and EMPTY_LOOKS that it is empty, as each of them may
	 * have met another exec. */
	for (int i = 0; i < EXEC_LOOKS && ours == 0; i++) {
		if (io_read_file(AT_FDCWD, path, ENVIRON_MAX, &raw, &why) < 0) {
			/* Ended, or another user's, unless it was not seen. */
			ours = why.kind == ERROR_NOMEM ||
					       why.errnum == EMFILE ||
					       why.errnum == ENFILE
				       ? -1
				       : 0;
			break;
		}
		for (size_t k = 0; k < raw.len && !ours;
		     k += strlen(raw.data + k) + 1)
			ours = str_eq(raw.data + k, mark);
		same = raw.len == before ? same + 1 : 1;
		if (in_exec(pid))
			nanosleep(&look, NULL);
		else if (same >= (raw.len > 0 ? 2 : EMPTY_LOOKS))
			break;
		before = raw.len;
	}
	buf_free(&raw);
	return ours;
}

int
step_signal_marked(const char *mark, int signal)
{
	const struct dirent *e = NULL;
	DIR *all = opendir("/proc");
	bool unseen = false;
	int n = 0;

	if (all == NULL)
		return -1;
	while ((e = readdir(all)) != NULL) {
		const int is = isdigit((unsigned char)e->d_name[0])
				       ? step_is_marked(e->d_name, mark)
				       : 0;

		unseen = unseen || is < 0;
		n += is > 0 &&
		     kill((pid_t)strtol(e->d_name, NULL, 10), signal) == 0;
	}
	closedir(all);
	return unseen ? -1 : n;
}
