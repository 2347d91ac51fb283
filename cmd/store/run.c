/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c - verb run of scr_store: a program with the preload, and somebody who
 * tends its store meanwhile. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "run/child.h"
#include "store/tend.h"
#include "str.h"
#include "verbs.h"

#define PRELOAD "libscr_preload.so"
#ifndef SCRKIT_LIBDIR
#define SCRKIT_LIBDIR "/usr/local/lib"
#endif

/* A program that does not start, as shells say it. */
#define STATUS_MISSING 127
#define STATUS_EXEC 126

bool
store_preload(char to[static PATH_MAX], struct error *err)
{
	static const char *const places[] = { "../" PRELOAD, "../lib/" PRELOAD,
					      "../../lib/" PRELOAD };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (str_starts(app_beside(to, PATH_MAX, places[i]), "/") &&
		    access(to, R_OK) == 0)
			return true;
	snprintf(to, PATH_MAX, "%s/%s", SCRKIT_LIBDIR, PRELOAD);
	if (access(to, R_OK) == 0)
		return true;
	error_sys(err, "%s: not found, nor beside this program", to);
	return false;
}

struct tender {
	struct store *store;
	atomic_bool ended;
	struct tend_done done;
	struct error err;
};

static bool
has_ended(void *arg)
{
	return atomic_load(&((struct tender *)arg)->ended);
}

/* The thread that tends the store, after all that compute. */
static void *
tend(void *arg)
{
	struct tender *t = arg;

	/* Of this thread only. */
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)tend_run(t->store, has_ended, t, &t->done, &t->err);
	return NULL;
}

/* Put `word` before the value of a variable that is a list. */
static void
put_first(const char *name, const char *word)
{
	const char *is = getenv(name);
	struct buf value = BUF_INIT;

	(void)buf_printf(&value, "%s%s%s", word, is != NULL ? ":" : "",
			 is != NULL ? is : "");
	(void)setenv(name, value.data, 1);
	buf_free(&value);
}

/* Run the program, and pass signals on to it.  Returns its exit status. */
static int
run(char **argv, struct tender *t)
{
	struct run_child child = RUN_CHILD_INIT;
	struct run_signals signals = { .fd = -1 };
	struct run_signal got;
	struct error err = ERROR_INIT;
	pthread_t thread;
	bool tended = false;
	int status = STATUS_FAILED;

	if (run_signals_open(&signals, &err) == 0 &&
	    run_child_start(&child, (const char *const *)argv,
			    RUN_CHILD_PROGRAM, &signals, &err) == 0) {
		tended = pthread_create(&thread, NULL, tend, t) == 0;
		while (!run_child_poll(&child))
			if (run_child_wait(&signals, NULL, 1, &got) &&
			    !got.terminal)
				run_child_kill(&child, got.number);
		status = child.status;
	} else {
		status =
			err.kind == ERROR_ABSENT ? STATUS_MISSING : STATUS_EXEC;
	}
	atomic_store(&t->ended, true);
	if (tended)
		(void)pthread_join(thread, NULL);
	run_child_free(&child);
	run_signals_close(&signals);
	app_report(STATUS_OK, &err);
	return status;
}

int
store_run_run(const struct app_call *c)
{
	struct store_given given = { .job = "", .spill = "" };
	const char *dir = NULL;
	const struct opt opts[] = {
		OPT_STRING(0, "store", &dir, "DIR", OPT_DIR,
			   "the store, made if it is none (default: "
			   "$SCR_STORE, else the configured one)"),
		STORE_OPTIONS(given),
		OPT_END,
	};
	struct tender t = { .store = NULL };
	char preload[PATH_MAX], *none[] = { NULL };
	struct error err = ERROR_INIT;
	struct opt_list names = { .count = 0 };
	int count = 0, status = STATUS_OK;
	char **args = store_start(c, opts, &count);

	if (count == 0)
		app_usage("give a program");
	if (dir == NULL) {
		store_names(&names, none);
		dir = names.items[0];
	}
	if (store_check_job(given.job, &err) == 0 &&
	    store_preload(preload, &err) &&
	    store_set(dir, &given, false, &err) == 0)
		t.store = store_open(dir, &err);
	if (t.store != NULL) {
		/* As the program calls it, if links lead there. */
		(void)setenv("SCR_STORE",
			     dir[0] == '/' ? dir : store_dir(t.store), 1);
		put_first("LD_PRELOAD", preload);
		status = run(args, &t);
		/* What the program left unfinished, if it was killed. */
		if (tend_once(t.store, &t.done, &err) < 0 &&
		    err.errnum == EWOULDBLOCK)
			error_clear(&err);
		app_report(STATUS_OK, &t.err);
	}
	status = t.store != NULL ? status : STATUS_FAILED;
	app_report(STATUS_OK, &err);
	store_close(t.store);
	store_names_free(&names);
	return status;
}
