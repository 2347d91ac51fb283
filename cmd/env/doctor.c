/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor.c - the verb doctor of scr_env: does this job have all that it
 * and a scavenge need?  One line for each check, with the remedy.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "conf.h"
#include "dir.h"
#include "env.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "json.h"
#include "mem.h"
#include "meta/redset.h"
#include "path.h"
#include "remote/complaints.h"
#include "report/hint.h"
#include "room.h"
#include "site/health.h"
#include "site/interval.h"
#include "site/jobfiles.h"
#include "site/tmpfs.h"
#include "str.h"
#include "token.h"

/* Descriptors that a scavenge needs: two for each of 64 nodes, and files. */
#define DESCRIPTORS 256

/* A text in this libscr, and the most bytes of a library. */
#define OURS "SCRKIT_SYSTEM_CONF"
#define LIBRARY_MAX ((size_t)64 << 20)

/* Seconds by which clocks may differ. */
#define SKEW 2

enum verdict { GOOD, WARNING, BAD };

struct doctor {
	struct job_where where;
	struct env_remote how;
	struct json *list; /* of checks; NULL: lines in `out` */
	struct buf out;
	bool bad;   /* a check has failed */
	int prefix; /* a descriptor; -1: cannot be opened */
};

/* --- Results --- */

/* Add a result.  `remedy`: what to do; NULL: nothing. */
static void __attribute__((format(printf, 5, 6)))
add(struct doctor *d, enum verdict v, const char *what, const char *remedy,
    const char *fmt, ...)
{
	static const char *const words[] = { "ok", "warning", "failed" };
	char text[ERROR_TEXT_MAX], shown[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_printable(shown, sizeof(shown), text);
	d->bad = d->bad || v == BAD;
	if (app_json()) {
		struct json *j = json_new_object();

		json_set_str(j, "check", what);
		json_set_str(j, "state", words[v]);
		json_set_str(j, "text", text);
		json_set_known_str(j, "remedy", v != GOOD ? remedy : NULL);
		json_push(d->list, j);
	} else if (v != GOOD || app_verbosity() >= 0) {
		buf_printf(&d->out, "%-8s %-11s %s%s%s\n", words[v], what,
			   shown, v != GOOD && remedy != NULL ? ": " : "",
			   v != GOOD && remedy != NULL ? remedy : "");
	}
}

/* Add a result for each line of `text`, which is freed. */
static void
add_lines(struct doctor *d, enum verdict v, const char *what,
	  const char *remedy, struct buf *text)
{
	const char *at = text->data, *line = NULL;
	size_t len = 0;

	while ((line = str_line(&at, &len)) != NULL)
		add(d, v, what, remedy, "%.*s", (int)len, line);
	buf_free(text);
}

/* --- This machine --- */

/* Complain of a redundancy scheme that there is not; NULL: none is named. */
static void
check_scheme(struct conf *c, const char *type)
{
	bool known = type == NULL || strcasecmp(type, "FILE") == 0;

	for (int t = 0; !known && t < REDSET_TYPES; t++)
		known = strcasecmp(type,
				   redset_type_name((enum redset_type)t)) == 0;
	if (!known)
		conf_complain(c, "%s: no such redundancy scheme", type);
}

/* Is another libscr found before this one? */
static void
check_library(struct doctor *d)
{
	const char *path = getenv("LD_LIBRARY_PATH"), *dir = NULL;
	char *copy = mem_strdup(path != NULL ? path : ""), *rest = copy;
	struct buf file = BUF_INIT, raw = BUF_INIT;
	bool found = false;

	while (!found && (dir = strsep(&rest, ":")) != NULL) {
		buf_clear(&file);
		buf_clear(&raw);
		(void)path_join(&file, dir, "libscr.so", NULL);
		found = io_read_file(AT_FDCWD, file.data, LIBRARY_MAX, &raw,
				     NULL) == 0;
		if (found &&
		    memmem(raw.data, raw.len, OURS, strlen(OURS)) == NULL)
			add(d, WARNING, "library",
			    "put the one of scrkit first in LD_LIBRARY_PATH, "
			    "or relink the program",
			    "%s is another libscr", file.data);
	}
	buf_free(&file);
	buf_free(&raw);
	mem_free(copy);
}

/* Are stores in memory there, and have their files large pages? */
static void
check_stores(struct doctor *d, const struct job *j)
{
	const struct conf_group *g = NULL;
	struct tmpfs fs;

	for (size_t n = conf_groups(j->conf, "STORE", &g); n-- > 0;) {
		const char *type = conf_property(&g[n], "TYPE");
		const char *spill = conf_property(&g[n], "SPILL");
		const bool there = tmpfs_of(g[n].value, &fs);

		if (type == NULL || strcasecmp(type, "MEMORY") != 0)
			continue;
		add(d, there && fs.huge[0] != '\0' ? GOOD : WARNING, "store",
		    str_printed(PATH_MAX + 64,
				"in /etc/fstab: scr_store %s tmpfs "
				"mode=1777,huge=%s 0 0",
				g[n].value, tmpfs_best_huge()),
		    "%s: %s", g[n].value,
		    !there		 ? "not in memory on this machine"
		    : fs.huge[0] == '\0' ? "in memory, without huge pages"
					 : "in memory, with huge pages");
		if (spill != NULL && access(spill, W_OK | X_OK) < 0)
			add(d, WARNING, "spill", "make the directory", "%s: %s",
			    spill, strerror(errno));
	}
}

static void
check_job(struct doctor *d, struct job *j)
{
	struct buf notice = BUF_INIT;
	struct error err = ERROR_INIT;
	const struct conf_param *p = NULL;
	const struct conf_group *g = NULL;
	struct jobfiles_owner owner;
	union conf_value v;
	int64_t end = 0;

	add(d, j->outside ? WARNING : GOOD, "job",
	    "run this inside of the job, or give --job-id and --nodes",
	    "%s (%s), user %s, resource manager %s", j->id, j->id_from, j->user,
	    resmgr_name(j->rm));
	if (job_end_time(j, &end, &err) < 0)
		add(d, BAD, "end", "correct SCR_END_TIME", "%s", err.text);
	else
		add(d,
		    end == 0 || (end < 0 && str_eq(resmgr_name(j->rm), "slurm"))
			    ? WARNING
			    : GOOD,
		    "end",
		    end < 0 ? "give sbatch --time, if the partition ends jobs"
			    : "set SCR_END_TIME to seconds since 1970, so that "
			      "the job can stop in time",
		    end == 0  ? "unknown"
		    : end < 0 ? "no time limit"
			      : "%" PRId64 " s from now",
		    end - clock_now());
	if (!interval_chosen(j->conf))
		add(d, WARNING, "checkpoints",
		    "set SCR_CHECKPOINT_SECONDS, _INTERVAL or _OVERHEAD",
		    "no interval is set: one is due every %d seconds",
		    INTERVAL_SECONDS);
	/* Values that are not allowed are found when they are asked for. */
	for (size_t i = 0; (p = conf_param_at(i)) != NULL; i++)
		(void)conf_in_force(j->conf, p, &v);
	check_scheme(j->conf, conf_get(j->conf, "SCR_COPY_TYPE"));
	for (size_t n = conf_groups(j->conf, "CKPT", &g); n-- > 0;)
		check_scheme(j->conf, conf_property(&g[n], "TYPE"));
	job_notice(j, false, &notice);
	add_lines(d, WARNING, "settings", "correct it", &notice);
	if (!str_eq(j->cntls[0].base, conf_get(j->conf, "SCR_CNTL_BASE")))
		add(d, BAD, "control", "set SCR_CNTL_BASE",
		    "CNTLDIR=%s is for commands only: the library uses %s",
		    j->cntls[0].base, conf_get(j->conf, "SCR_CNTL_BASE"));
	jobfiles_owner(j->prefix, &owner);
	if (str_eq(owner.id, j->id) && owner.user[0] != '\0' &&
	    !str_eq(owner.user, j->user))
		add(d, WARNING, "user", "set SCR_USER_NAME, or give --user",
		    "%s, but job %s is of %s: its caches are not found",
		    j->user, j->id, owner.user);
}

static void
check_prefix(struct doctor *d, const struct job *j)
{
	struct error err = ERROR_INIT;
	struct statvfs fs;
	int lock = -1;

	d->prefix = dir_open(AT_FDCWD, j->prefix_real);
	if (d->prefix < 0) {
		add(d, BAD, "prefix",
		    report_command_str("scr_prerun", j->prefix_real, NULL),
		    "%s: cannot open: %s", j->prefix_real, strerror(errno));
		return;
	}
	/* Can files be written and locked in this directory? */
	if (room_try(d->prefix, &err) < 0)
		add(d, BAD, "prefix", "make room, or correct its permissions",
		    "%s: %s", j->prefix_real, err.text);
	else if (fstatvfs(d->prefix, &fs) == 0 && fs.f_blocks > 0)
		add(d, GOOD, "prefix", NULL, "%s: writable, %s free",
		    j->prefix_real,
		    str_size((uint64_t)fs.f_bavail * fs.f_frsize));
	else
		add(d, GOOD, "prefix", NULL, "%s: writable", j->prefix_real);
	error_clear(&err);
	lock = io_lock_dir(d->prefix, app_stop, &err);
	add(d, lock >= 0 ? GOOD : WARNING, "locks",
	    "mount it with them (Lustre: option flock); until then use only "
	    "one command at a time on a dataset",
	    "%s", lock >= 0 ? "supported on the prefix" : err.text);
	io_close(lock);
}

/* --- The nodes --- */

/* Nodes of one kind, as a line of their own; the list is freed. */
static void
add_nodes(struct doctor *d, enum verdict v, const char *what,
	  const char *remedy, struct hostlist *nodes)
{
	struct buf names = BUF_INIT;

	(void)hostlist_text(nodes, &names, NULL);
	add_lines(d, v, what, remedy, &names);
	hostlist_free(nodes);
}

/* Nodes that complain: a line for each complaint. */
static void
add_complaints(struct doctor *d, const char *what, const char *remedy,
	       struct complaints *c)
{
	struct buf lines = BUF_INIT;

	complaints_take(c, &lines);
	add_lines(d, BAD, what, remedy, &lines);
}

/* Judge the answers: reached, how fast, the same version, the same time, the
 * same mounts. */
static void
judge_probes(struct doctor *d, const struct job *j,
	     const struct remote_result *r, int64_t before, int64_t after)
{
	struct hostlist old = HOSTLIST_INIT, late = HOSTLIST_INIT,
			elsewhere = HOSTLIST_INIT, mount = HOSTLIST_INIT;
	struct complaints silent = { .count = 0 };
	double fast = 1e9, slow = 0;
	size_t count = 0;

	for (size_t i = 0; i < j->nodes.count; i++) {
		const char *node = j->nodes.names[i], *space = NULL;
		int64_t clock = 0;

		/* The answer: "VERSION SECONDS", and perhaps ENV_ELSEWHERE. */
		if (r[i].state == REMOTE_DONE && r[i].status == 0 &&
		    r[i].out.len > 0)
			space = strchr(r[i].out.data, ' ');
		if (space == NULL || sscanf(space, "%" SCNd64, &clock) != 1) {
			complaints_add(&silent, node,
				       r[i].why != NULL ? r[i].why
				       : r[i].err.len > 0
					       ? r[i].err.data
					       : "no answer of scr_env");
			continue;
		}
		count++;
		fast = r[i].seconds < fast ? r[i].seconds : fast;
		slow = r[i].seconds > slow ? r[i].seconds : slow;
		if (!str_starts(r[i].out.data, SCRKIT_VERSION " "))
			(void)hostlist_add_name(&old, node, NULL);
		if (clock < before - SKEW || clock > after + SKEW)
			(void)hostlist_add_name(&late, node, NULL);
		if (strstr(space, ENV_ELSEWHERE) != NULL)
			(void)hostlist_add_name(&elsewhere, node, NULL);
	}
	add_complaints(d, "node", "make it reachable, or exclude it", &silent);
	add(d, count == j->nodes.count ? GOOD : BAD, "nodes", NULL,
	    count > 0 ? "%zu of %zu answered, in %.2f to %.2f s"
		      : "%zu of %zu answered",
	    count, j->nodes.count, fast, slow);
	add_nodes(d, BAD, "version", "install " SCRKIT_VERSION " there", &old);
	add_nodes(d, WARNING, "clock",
		  "set the clock: it differs by more than 2 s from this "
		  "machine's",
		  &late);
	add_nodes(d, BAD, "prefix",
		  "the prefix is another directory there: mount its file "
		  "system, or exclude the node",
		  &elsewhere);
	/* Caches that are part of the root directory's file system on some
	 * nodes, and not on others. */
	for (size_t k = 0; k < j->ncaches; k++) {
		struct buf line = BUF_INIT;

		buf_printf(&line, ENV_ROOT "%s\n", j->caches[k].base);
		for (size_t i = 0; i < j->nodes.count; i++)
			if (r[i].out.len > 0 &&
			    strstr(r[i].out.data, line.data) != NULL)
				(void)hostlist_add_name(
					&mount, j->nodes.names[i], NULL);
		if (mount.count < count)
			add_nodes(d, BAD, "mount",
				  "the cache is not mounted there: mount it, "
				  "or exclude the node",
				  &mount);
		hostlist_free(&mount);
		buf_free(&line);
	}
}

static int
probe_all(struct doctor *d, struct job *j, const struct remote_options *o,
	  struct error *err)
{
	const char **argv = mem_calloc(2 * j->ncaches + 4, sizeof(*argv));
	struct remote_result *r = mem_calloc(j->nodes.count + 1, sizeof(*r));
	const int64_t before = clock_now();
	struct token token = TOKEN_INIT;
	struct buf path = BUF_INIT;
	size_t n = 0;
	int rc = 0;

	argv[n++] = d->how.helper;
	argv[n++] = "probe";
	for (size_t i = 0; i < j->ncaches; i++) {
		argv[n++] = "--mount";
		argv[n++] = j->caches[i].base;
	}
	if (d->prefix >= 0 && token_make(&token, d->prefix, "doctor") == 0 &&
	    path_join(&path, j->prefix_real, token.name, NULL) == 0)
		argv[n] = path.data;
	rc = remote_run(&j->nodes, argv, o, r, err);
	if (rc == 0)
		judge_probes(d, j, r, before, clock_now());
	token_end(&token);
	buf_free(&path);
	remote_results_free(r, j->nodes.count);
	mem_free(r);
	mem_free(argv);
	return rc;
}

static void
check_nodes(struct doctor *d, struct job *j)
{
	struct remote_options o = { .kind = REMOTE_AUTO };
	struct health_options ho = { .use = HEALTH_RUN, .remote = &o };
	struct health h = { .count = 0 };
	struct complaints bad = { .count = 0 };
	struct error err = ERROR_INIT;
	struct buf said = BUF_INIT;
	size_t good = 0;

	if (env_job_nodes(j, &err) < 0) {
		add(d, BAD, "nodes", NULL, "%s", err.text);
		goto out;
	}
	if (env_set_remote(j, &d->how, &o, &said, &err) < 0) {
		add(d, BAD, "launcher", NULL, "%s", err.text);
		goto out;
	}
	add(d, GOOD, "launcher", NULL, "%s",
	    said.len > 0 ? said.data : remote_kind_name(o.kind));
	ho.helper = d->how.helper;
	if (probe_all(d, j, &o, &err) < 0 ||
	    health_check(j, &ho, &h, &err) < 0) {
		add(d, BAD, "nodes", NULL, "%s", err.text);
		goto out;
	}
	/* The control and cache directories of each node that answers. */
	for (size_t i = 0; i < h.count; i++) {
		good += h.nodes[i].state == HEALTH_OK;
		if (h.nodes[i].state != HEALTH_OK &&
		    h.nodes[i].state != HEALTH_UNREACHABLE)
			complaints_add(&bad, h.nodes[i].name, h.nodes[i].why);
	}
	add_complaints(d, "directories",
		       "repair or exclude the node, or set SCR_CACHE_BASE and "
		       "SCR_CNTL_BASE",
		       &bad);
	if (good > 0)
		add(d, GOOD, "directories", NULL,
		    "writable on %zu of %zu nodes", good, h.count);
out:
	health_free(&h);
	remote_forget(&o);
	buf_free(&said);
}

/* --- The verb --- */

int
env_doctor(const struct env_call *c)
{
	struct doctor d = { .prefix = -1 };
	struct error err = ERROR_INIT;
	const struct opt opts[] = {
		OPT_GROUP("How to ask"),
		ENV_REMOTE_OPTIONS(d.how),
		ENV_JOB_OPTIONS(d.where),
		OPT_END,
	};
	struct buf command = BUF_INIT;
	struct json *out = NULL;
	char next[16384] = "";
	struct rlimit files = { .rlim_cur = RLIM_INFINITY };
	struct job j;
	int status = STATUS_OK;

	env_start(c, opts, NULL);
	d.how.job_id = d.where.job_id;
	if (job_open(&j, &d.where, &err) < 0)
		return app_report(STATUS_OK, &err);
	app_catch_signals();
	if (app_json())
		d.list = json_new_array();
	check_job(&d, &j);
	check_stores(&d, &j);
	check_prefix(&d, &j);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	add(&d, files.rlim_cur < DESCRIPTORS ? WARNING : GOOD, "limits",
	    "ulimit -n 1024",
	    files.rlim_cur < DESCRIPTORS ? "%llu open files"
					 : "enough open files",
	    (unsigned long long)files.rlim_cur);
	check_library(&d);
	check_nodes(&d, &j);
	/* The scavenge of this job with the options that choose it; it needs
	 * the nodes. */
	if (j.nodes.count > 0) {
		buf_add_str(&command, "scr_postrun --plan");
		report_add_options(&command, &d.where, NULL, d.how.remote);
		report_command(command.data, j.prefix_real, NULL, next,
			       sizeof(next));
		buf_free(&command);
	}
	if (app_json()) {
		out = json_new_object();
		json_set(out, "checks", d.list);
		json_set_str(out, "next", j.nodes.count > 0 ? next : NULL);
		app_answer(out);
	} else {
		app_next(next);
		status = app_print(&d.out);
	}
	io_close(d.prefix);
	job_close(&j);
	return d.bad ? STATUS_FAILED : status;
}
