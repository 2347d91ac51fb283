/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes.c - verbs of scr_env: which nodes are healthy, whether to restart the
 * job, and where its ranks are.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "clock.h"
#include "conf.h"
#include "dir.h"
#include "env.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "mem.h"
#include "meta/log.h"
#include "num.h"
#include "run/runfile.h"
#include "site/eventlog.h"
#include "site/halt.h"
#include "site/health.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"

/* Time-out in seconds of the connection to a node. */
#define CONNECT_SECS 10

/* --- Node health --- */

/* SCR_NODE_TESTS is LLNL's list of tests.  Without dir_capacity no directory is
 * checked; whether a node answers is always tested. */
static bool
reach_only(const struct conf *c)
{
	const char *tests = conf_get(c, "SCR_NODE_TESTS");
	bool dirs = tests == NULL;

	for (size_t n = 0; tests != NULL && *tests != '\0'; tests += n) {
		tests += strspn(tests, ", \t");
		n = strcspn(tests, ", \t");
		if (n == 12 && strncmp(tests, "dir_capacity", n) == 0)
			dirs = true;
		else if (n > 0 && strncmp(tests, "ping", n) != 0 &&
			 strncmp(tests, "echo", n) != 0)
			app_warn("SCR_NODE_TESTS from %s: unknown test "
				 "%.*s",
				 conf_place(c, "SCR_NODE_TESTS"), (int)n,
				 tests);
	}
	return !dirs;
}

/* Log an event for each node that is down.  A failure to write the log is
 * reported, but does not change the answer. */
static void
log_down(const struct job *j, const struct health *h, double secs)
{
	struct log_line l = {
		LOG_LINE_NONE,
		.job_id = j->id,
		.user = j->user,
		.event = "NODE_FAIL",
	};
	struct error err = ERROR_INIT;
	struct buf note = BUF_INIT;

	l.secs = secs;
	for (size_t i = 0; i < h->count && err.kind == ERROR_NONE; i++) {
		if (h->nodes[i].usable)
			continue;
		buf_clear(&note);
		buf_printf(&note, "%s: %s", h->nodes[i].name, h->nodes[i].why);
		l.note = note.data;
		(void)eventlog_add(j->prefix, j->conf, &l, &err);
	}
	if (err.kind != ERROR_NONE)
		app_warn("%s", err.text);
	buf_free(&note);
}

int
env_set_remote(struct job *j, struct env_remote *r, struct remote_options *o,
	       struct buf *said, struct error *err)
{
	const char *name = r->remote;

	if (r->helper == NULL)
		r->helper = app_beside(r->beside, sizeof(r->beside), "scr_env");
	if (name == NULL)
		name = r->launcher;
	if (name == NULL)
		name = conf_get(j->conf, "SCR_REMOTE");
	if (remote_choose(name, o, err) < 0 ||
	    (r->timeout == 0 &&
	     conf_u64(j->conf, "SCR_NODE_TIMEOUT", ENV_ANSWER_SECS, &r->timeout,
		      err) < 0))
		return -1;
	o->fanout = (unsigned)r->fanout;
	o->limit = (double)r->timeout;
	o->connect = r->timeout < CONNECT_SECS ? o->limit : CONNECT_SECS;
	o->job_id = r->job_id;
	o->around = resmgr_launcher(j->rm);
	o->stop = app_stop;
	return j->nodes.count > 0 ? remote_resolve(&j->nodes, o, said, err) : 0;
}

int
env_down_nodes(const struct env_call *c)
{
	struct job_where where = { .prefix = NULL };
	struct env_remote how = { .remote = NULL };
	struct remote_options remote = { .kind = REMOTE_AUTO };
	struct hostlist down = HOSTLIST_INIT, bad = HOSTLIST_INIT;
	struct health_options o = { .down = &down, .remote = &remote };
	struct health h = { .count = 0 };
	struct error err = ERROR_INIT;
	struct buf list = BUF_INIT, said = BUF_INIT, out = BUF_INIT;
	const char *given = NULL;
	bool reason = false, log = false;
	uint64_t secs = UINT64_MAX;
	const struct opt opts[] = {
		OPT_FLAG('r', "reason", &reason, "lines with NODES: REASON"),
		OPT_FLAG('f', "free", &o.free,
			 "sizes are of free space, not of the file system"),
		OPT_STRING('d', "down", &given, "LIST", OPT_ANY,
			   "nodes that are down, not contacted"),
		OPT_FLAG(0, "read", &o.newest,
			 "list only nodes from which no data can be read"),
		OPT_FLAG('l', "log", &log, "add an event for each to the log"),
		OPT_U64('s', "secs", &secs, "N", 0, INT32_MAX,
			"seconds to record in these events"),
		OPT_GROUP("How to ask"),
		OPT_STRING('j', "joblauncher", &how.launcher, "NAME", OPT_ANY,
			   "as --remote"),
		ENV_REMOTE_OPTIONS(how),
		ENV_JOB_OPTIONS(where),
		OPT_END,
	};
	int count = 0, rc = 0;
	char **args = env_start(c, opts, &count);
	struct job j;

	how.job_id = where.job_id;
	/* The arguments are nodes to check. */
	for (; *args != NULL; args++)
		buf_printf(&list, "%s%s", list.len > 0 ? "," : "", *args);
	if (list.len > 0)
		where.nodes = list.data;
	if (env_open_job(&j, &where, &err) < 0) {
		buf_free(&list);
		return app_report(STATUS_OK, &err);
	}
	app_catch_signals();
	o.use = o.newest ? HEALTH_READ : HEALTH_RUN;
	o.reach_only = reach_only(j.conf);
	rc = env_job_nodes(&j, &err);
	if (rc == 0 && given != NULL && hostlist_add(&down, given, &err) < 0)
		rc = error_wrap(&err, "--down");
	if (rc == 0)
		rc = env_set_remote(&j, &how, &remote, &said, &err);
	if (said.len > 0)
		app_note("%s", said.data);
	o.helper = how.helper;
	if (rc == 0)
		rc = health_check(&j, &o, &h, &err);
	if (rc == 0 && app_json()) {
		app_answer_list("nodes", health_json(&h));
	} else if (reason) {
		health_reasons(&h, &out);
	} else {
		health_bad_nodes(&h, &bad);
		(void)hostlist_text(&bad, &out, NULL);
		buf_add_str(&out, bad.count > 0 ? "\n" : "");
	}
	if (log)
		log_down(&j, &h, secs == UINT64_MAX ? -1 : (double)secs);
	remote_forget(&remote);
	health_free(&h);
	job_close(&j);
	hostlist_free(&bad);
	hostlist_free(&down);
	buf_free(&said);
	buf_free(&list);
	return env_finish(rc, &out, &err);
}

/* --- On the node --- */

/* Check the directories of an option, "DIR" or "DIR:BYTES"; an item may be a
 * list with `separator`.  *worst is raised to the worst state. */
static void
check_dirs(const struct opt_list *list, const char *separator, bool spare,
	   enum health_use use, enum health_state *worst, struct buf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		char *copy = mem_strdup(list->items[i]);
		char *rest = copy, *one = NULL;

		while ((one = strsep(&rest, separator)) != NULL) {
			char *colon = strrchr(one, ':');
			uint64_t bytes = 0;
			enum health_state is = HEALTH_OK;

			if (one[0] == '\0')
				continue;
			if (colon != NULL &&
			    num_bytes(colon + 1, UINT64_MAX, &bytes, NULL) == 0)
				*colon = '\0';
			is = health_test_dir(one, bytes, spare, use, out);
			*worst = is > *worst ? is : *worst;
		}
		mem_free(copy);
	}
}

int
env_check_node(const struct env_call *c)
{
	struct opt_list cntl = { .count = 0 }, cache = { .count = 0 };
	struct opt_list jobs = { .count = 0 };
	enum health_state worst = HEALTH_OK;
	enum health_use use = HEALTH_RUN;
	/* In LLNL's program an item may be a list with commas. */
	const char *separator = c->llnl ? "," : "";
	const struct job_where w = { .prefix = NULL };
	struct job j;
	struct buf out = BUF_INIT, text = BUF_INIT;
	int64_t newest = 0;
	bool look = false, spare = false;
	int status = STATUS_OK;
	const struct opt opts[] = {
		OPT_LIST(0, "cntl", &cntl, "DIR[:SIZE]", OPT_DIR,
			 "control directory, and the size it needs"),
		OPT_LIST(0, "cache", &cache, "DIR[:SIZE]", OPT_DIR,
			 "cache directory, and the size it needs"),
		OPT_FLAG('f', "free", &spare,
			 "sizes are of free space, not of the file system"),
		OPT_LIST(0, "newest", &jobs, "DIR", OPT_DIR,
			 "cache directory of a job: print its newest dataset"),
		OPT_FLAG(0, "read", &look, "only check that they can be read"),
		OPT_END,
	};

	env_start(c, opts, NULL);
	use = look ? HEALTH_READ : HEALTH_RUN;
	/* Warn of caches that other jobs have left on this node.  That the job
	 * is not known is no failure of the node. */
	if (!look && job_open(&j, &w, NULL) == 0) {
		job_old_caches(&j, &text);
		app_warn_lines(text.data);
		buf_free(&text);
		job_close(&j);
	}
	check_dirs(&cntl, separator, spare, use, &worst, &out);
	check_dirs(&cache, separator, spare, use, &worst, &out);
	for (size_t i = 0; i < jobs.count; i++)
		health_newest(jobs.items[i], &newest);
	if (newest > 0)
		buf_printf(&out, HEALTH_NEWEST "%" PRId64 "\n", newest);
	if (worst == HEALTH_OK)
		buf_add_str(&out, HEALTH_PASS "\n");
	status = app_print(&out);
	opt_list_free(&cntl);
	opt_list_free(&cache);
	opt_list_free(&jobs);
	return worst == HEALTH_OK ? status : STATUS_FAILED;
}

int
env_probe(const struct env_call *c)
{
	struct opt_list mounts = { .count = 0 };
	const struct opt opts[] = {
		OPT_LIST(0, "mount", &mounts, "DIR", OPT_DIR,
			 "say if this directory is in the root file system"),
		OPT_END,
	};
	struct stat root, here;
	struct buf out = BUF_INIT;
	int count = 0;
	char **args = env_start(c, opts, &count);
	const bool seen =
		count == 0 || dir_access(AT_FDCWD, args[0], F_OK) == 0;

	buf_printf(&out, "%s %" PRId64 "%s\n", SCRKIT_VERSION, clock_now(),
		   seen ? "" : ENV_ELSEWHERE);
	/* Is a directory, or what is there of its path, in the file system of
	 * "/"? */
	for (size_t i = 0; i < mounts.count; i++) {
		char *path = mem_strdup(mounts.items[i]), *slash = NULL;

		while (stat(path, &here) < 0 &&
		       (slash = strrchr(path, '/')) != NULL && slash != path)
			*slash = '\0';
		if (slash == path ||
		    (stat(path, &here) == 0 && stat("/", &root) == 0 &&
		     here.st_dev == root.st_dev))
			buf_printf(&out, ENV_ROOT "%s\n", mounts.items[i]);
		mem_free(path);
	}
	opt_list_free(&mounts);
	return app_print(&out);
}

/* --- Restart or stop --- */

/* Status 0 means "stop", 1 "restart".  A failure needs a status of its own: a
 * loop that took it for "restart" would never end. */
#define STATUS_STOP 0
#define STATUS_GO_ON 1
#define STATUS_UNKNOWN 2

int
env_should_exit(const struct env_call *c)
{
	struct halt_loop r = { .runs = -1, .now = clock_now() };
	struct hostlist down = HOSTLIST_INIT;
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	struct buf lines = BUF_INIT;
	const char *list = NULL, *runs = NULL;
	bool stop = false;
	int rc = -1;
	const struct opt opts[] = {
		OPT_STRING(0, "down", &list, "LIST", OPT_ANY,
			   "nodes that are down"),
		OPT_U64(0, "min-nodes", &r.min_nodes, "N", 1, HOSTLIST_MAX,
			"needed (default SCR_MIN_NODES, as last run, all)"),
		OPT_STRING(0, "runs", &runs, "N", OPT_ANY,
			   "runs that are left; -1: any number"),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};
	struct job j;

	env_start(c, opts, NULL);
	if (runs != NULL && num_i64(runs, -1, INT32_MAX, &r.runs, &err) < 0)
		app_usage("option '--runs': %s", err.text);
	if (env_open_job(&j, &w, &err) < 0) {
		app_report(STATUS_OK, &err);
		return STATUS_UNKNOWN;
	}
	if (list == NULL || hostlist_add(&down, list, &err) == 0) {
		r.down = list != NULL ? &down : NULL;
		rc = halt_relaunch(&j, &r, &stop, &lines, &err);
	}
	hostlist_free(&down);
	job_close(&j);
	if (rc == 0 && app_verbosity() < 0)
		buf_clear(&lines);
	if (env_finish(rc, &lines, &err) != STATUS_OK)
		return STATUS_UNKNOWN;
	return stop ? STATUS_STOP : STATUS_GO_ON;
}

int
env_retries_halt(const struct env_call *c)
{
	struct job_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	struct buf lines = BUF_INIT, out = BUF_INIT;
	const char *at = NULL, *line = NULL;
	size_t len = 0;
	bool stop = true;
	int rc = -1;
	const struct opt opts[] = {
		OPT_STRING('d', "dir", &w.prefix, "DIR", OPT_DIR,
			   "as --prefix"),
		ENV_JOB_OPTIONS(w),
		OPT_END,
	};
	struct job j;

	env_start(c, opts, NULL);
	/* Like LLNL's program, answer "stop" if the answer is unknown. */
	if (env_open_job(&j, &w, &err) < 0) {
		app_report(STATUS_OK, &err);
		return STATUS_STOP;
	}
	rc = halt_check(j.prefix, j.conf, clock_now(), &stop, &lines, &err);
	job_close(&j);
	/* LLNL's program begins each line with its name. */
	at = lines.data;
	while ((line = str_line(&at, &len)) != NULL)
		buf_printf(&out, "scr_retries_halt: %.*s\n", (int)len, line);
	buf_free(&lines);
	if (env_finish(rc, &out, &err) != STATUS_OK)
		return STATUS_STOP;
	return stop ? STATUS_STOP : STATUS_GO_ON;
}

/* --- The ranks of scr_run --- */

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
