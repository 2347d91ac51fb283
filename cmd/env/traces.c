/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traces.c - a verb of scr_env: where the processes of a run are that hangs.
 */
#include <string.h>

#include "app.h"
#include "arena.h"
#include "buf.h"
#include "env.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "remote/remote.h"
#include "run/runfile.h"
#include "site/jobfiles.h"
#include "str.h"

/* Seconds for all processes of a node. */
#define NODE_SECS 60

/* Run on each node: $1 marks the processes.  A launcher has the mark, too; the
 * ranks have, beside it, what numbers them. */
static const char script[] =
	"type gdb >/dev/null 2>&1 || { echo 'no gdb'; exit; }\n"
	"for p in /proc/[0-9]*; do\n"
	"	v=$(tr '\\0' '\\n' <$p/environ) 2>/dev/null || continue\n"
	"	case \"\n$v\n\" in *\"\n$1\n\"*) ;; *) continue ;; esac\n"
	"	r=$(echo \"$v\" | sed -n 's/^\\(PMI\\|PMIX\\|OMPI_COMM_WORLD\\)"
	"_RANK=//p; s/^SLURM_PROCID=//p' | head -n 1)\n"
	"	[ -n \"$r\" ] || continue\n"
	"	echo \"rank $r, process ${p#/proc/}:"
	" $(tr '\\0' ' ' <$p/cmdline)\"\n"
	"	gdb -nx -batch -p ${p#/proc/} -ex 'thread apply all backtrace'"
	" 2>&1 </dev/null | grep '^Thread\\|^#\\|ptrace'\n"
	"done 2>/dev/null\n";

/* The mark of the run, in `a`. */
static const char *
mark_of(const struct job *j, struct arena *a, struct error *err)
{
	const int scr = jobfiles_open(j->prefix, false, err);
	struct run_record r = { .mark = NULL };

	if (scr >= 0 && run_record_read(scr, &r, a, err) == 0 && r.mark == NULL)
		error_set(err, ERROR_CORRUPT, RUN_RECORD ": has no mark");
	hostlist_free(&r.bad);
	hostlist_free(&r.steps);
	io_close(scr);
	if (r.mark == NULL)
		error_wrap(err, "%s: no scr_run", j->prefix_real);
	return r.mark;
}

static int
collect(struct job *j, struct env_remote *how, struct buf *out,
	struct error *err)
{
	struct remote_options o = { .kind = REMOTE_AUTO };
	const char *argv[] = {
		"sh", "-c", script, "sh", mark_of(j, j->arena, err), NULL
	};
	struct buf said = BUF_INIT;
	struct remote_result *r = NULL;
	int rc = -1;

	if (argv[4] != NULL && env_job_nodes(j, err) == 0 &&
	    env_set_remote(j, how, &o, &said, err) == 0 &&
	    (r = mem_calloc(j->nodes.count + 1, sizeof(*r))) == NULL)
		error_no_memory(err);
	if (r != NULL)
		rc = remote_run(&j->nodes, argv, &o, r, err);
	for (size_t i = 0; rc == 0 && i < j->nodes.count; i++)
		buf_printf(out, "node %s: %s%.*s", j->nodes.names[i],
			   r[i].why != NULL ? r[i].why : "\n",
			   (int)r[i].out.len,
			   r[i].out.len > 0 ? r[i].out.data : "");
	if (r != NULL)
		remote_results_free(r, j->nodes.count);
	mem_free(r);
	buf_free(&said);
	remote_forget(&o);
	return rc < 0 ? -1 : buf_check(out, err);
}

int
env_traces(const struct env_call *c)
{
	struct job_where w = { .prefix = NULL };
	struct env_remote how = { .timeout = NODE_SECS };
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	const struct opt opts[] = {
		OPT_GROUP("How to ask"),
		ENV_REMOTE_OPTIONS(how),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};
	struct job j;
	int rc = 0;

	env_options(c, opts);
	app_catch_signals();
	rc = env_open_job(&j, &w, &err);
	if (rc == 0) {
		rc = collect(&j, &how, &out, &err);
		job_close(&j);
	}
	return env_finish(rc, &out, &err);
}
