/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks.c - verbs of scr_env: where the ranks of scr_run are, and their end.
 */

#include "buf.h"
#include "conf.h"
#include "env.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "run/runfile.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"

/* Seconds for all processes of a node. */
#define NODE_SECS 60

/* From SIGTERM to SIGKILL, in tenths of a second. */
#define GRACE "50"

/* Run on each node: the processes that $1 marks.  A launcher has the mark, too;
 * the ranks have, beside it, what numbers them.  Two looks: within exec(2) a
 * process has no environment. */
#define MARKED \
	"look() { grep -slzFxe \"$1\" /proc/[0-9]*/environ; }\n" \
	"marked() {\n" \
	"	{ look \"$1\"; sleep 0.1; look \"$1\"; } |\n" \
	"		tr -cd '0-9\\n' | sort -u\n" \
	"}\n"

static const char traces[] = MARKED
	"type gdb >/dev/null 2>&1 || { echo 'no gdb'; exit; }\n"
	"trace() {\n"
	"	r=$(tr '\\0' '\\n' </proc/$1/environ | sed -n '"
	"s/^\\(PMI\\|PMIX\\|OMPI_COMM_WORLD\\)_RANK=//p; "
	"s/^SLURM_PROCID=//p' | head -n 1)\n"
	"	[ -n \"$r\" ] || return\n"
	"	echo \"rank $r, process $1: $(tr '\\0' ' ' </proc/$1/cmdline)\"\n"
	"	gdb -nx -batch -p $1 -ex 'thread apply all backtrace' 2>&1"
	" </dev/null | grep '^Thread\\|^#\\|ptrace'\n"
	"}\n"
	"for p in $(marked \"$1\"); do trace $p; done\n";

/* TERM, and KILL after $2 tenths of a second. */
static const char end[] =
	MARKED "all=$(marked \"$1\")\n"
	       "[ -n \"$all\" ] || exit 0\n"
	       "echo $all\n"
	       "kill -TERM $all 2>/dev/null\n"
	       "n=0\n"
	       "while [ $n -lt $2 ] && [ -n \"$(marked \"$1\")\" ]; do\n"
	       "	n=$((n + 1))\n"
	       "	sleep 0.1\n"
	       "done\n"
	       "kill -KILL $(marked \"$1\") 2>/dev/null\n"
	       "exit 0\n";

/* The mark of the run, in `a`.  Without a resource manager, the nodes are those
 * of the run, too. */
static const char *
mark_of(struct job *j, struct arena *a, struct error *err)
{
	const int scr = jobfiles_open(j->prefix, false, err);
	struct run_record r = { .mark = NULL };

	/* Whatever has this word in its environment may be ended. */
	if (scr >= 0 && run_record_read(scr, &r, a, err) == 0 &&
	    (run_record_is_mine(scr, err) < 0 || r.mark == NULL ||
	     !str_starts(r.mark, RUN_MARK "="))) {
		if (err->kind == ERROR_NONE)
			error_set(err, ERROR_CORRUPT,
				  RUN_RECORD ": has no mark");
		r.mark = NULL;
	}
	if (r.mark != NULL && j->nodes_given == NULL &&
	    !conf_is_set(j->conf, "SCR_NODELIST") &&
	    str_eq(resmgr_name(j->rm), "none"))
		j->nodes_given = r.nodes;
	hostlist_free(&r.bad);
	hostlist_free(&r.steps);
	io_close(scr);
	if (r.mark == NULL)
		error_wrap(err, "%s%s", j->prefix_real,
			   err->kind == ERROR_ABSENT ? ": no scr_run" : "");
	return r.mark;
}

int
env_ranks(const struct env_call *c)
{
	struct job_where w = { .prefix = NULL };
	struct env_remote how = { .timeout = NODE_SECS };
	struct remote_options o = { .kind = REMOTE_AUTO };
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT, said = BUF_INIT;
	const char *argv[] = { "sh",  "-c", c->tool->which ? end : traces,
			       "sh",  NULL, /* the mark */
			       GRACE, NULL };
	struct remote_result *r = NULL;
	const struct opt opts[] = {
		OPT_GROUP("How to ask"),
		ENV_REMOTE_OPTIONS(how),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};
	struct job j;
	int rc = -1;

	env_start(c, opts, NULL);
	app_catch_signals();
	if (env_open_job(&j, &w, &err) < 0)
		return env_finish(-1, &out, &err);
	argv[4] = mark_of(&j, j.arena, &err);
	if (argv[4] != NULL && env_job_nodes(&j, &err) == 0 &&
	    env_set_remote(&j, &how, &o, &said, &err) == 0) {
		r = mem_calloc(j.nodes.count + 1, sizeof(*r));
		rc = remote_run(&j.nodes, argv, &o, r, &err);
	}
	for (size_t i = 0; rc == 0 && i < j.nodes.count; i++)
		if (r[i].why != NULL || r[i].out.len > 0)
			buf_printf(&out, "node %s: %s\n%.*s", j.nodes.names[i],
				   r[i].why != NULL ? r[i].why : "",
				   (int)r[i].out.len,
				   r[i].out.len > 0 ? r[i].out.data : "");
	if (r != NULL)
		remote_results_free(r, j.nodes.count);
	mem_free(r);
	buf_free(&said);
	remote_forget(&o);
	job_close(&j);
	return env_finish(rc, &out, &err);
}
