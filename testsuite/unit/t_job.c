/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job around the process: precedence of options, parameters and resource
 * manager; directories of the job.
 */
#include "site/job.h"

#include <pwd.h>
#include <time.h>

#include "conf.h"
#include "path.h"
#include "scratch.h"
#include "site/resmgr.h"
#include "str.h"

static char root[128];

static const char *
file(const char *name)
{
	return fmt("%s/%s", root, name);
}

/* Clear the environment and make an empty prefix. */
static void
clean(void)
{
	clearenv();
	scratch_dir(root, sizeof(root));
	must(setenv("SCRKIT_SYSTEM_CONF", file("none.conf"), 1) == 0);
	must(setenv("PATH", "/usr/bin:/bin", 1) == 0);
	must(setenv("USER", "me", 1) == 0);
}

static const struct job_where *
in_root(void)
{
	static struct job_where w;

	w = (struct job_where){ .prefix = root };
	return &w;
}

static void
open_job(struct job *j, const struct job_where *w)
{
	struct error err = ERROR_INIT;

	if (job_open(j, w, &err) == 0)
		return;
	printf("# %s\n", err.text);
	must(!"job_open");
}

/* Open the job with this text as the prefix's configuration file. */
static void
open_conf(struct job *j, const char *text)
{
	write_text(file(".scrconf"), text);
	open_job(j, in_root());
}

static const char *
nodes_of(struct job *j)
{
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;
	const char *got = NULL;

	if (job_nodes(j, &err) < 0)
		return fmt("!%s", err.text);
	must(hostlist_text(&j->nodes, &text, NULL) == 0);
	got = fmt("%s", text.data);
	buf_free(&text);
	return got;
}

/* "dir[+bytes][S][N][-] ...", with S: shared, N: node.N, -: implied. */
static const char *
dirs(const struct job_cache *list, size_t n)
{
	char text[1024] = "";
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "%s%s+%llu%s%s%s",
			i ? " " : "", list[i].dir,
			(unsigned long long)list[i].bytes,
			list[i].shared ? "S" : "", list[i].per_node ? "N" : "",
			list[i].implied ? "-" : "");
	return fmt("%s", text);
}

/* --- User and job --- */

static void
test_defaults(void)
{
	char want[512];
	struct job j;

	clean();
	open_job(&j, in_root());
	is_str(j.prefix, root, "the prefix as given");
	is_str(j.user, "me", "USER");
	ok(j.outside && strncmp(j.id, path_base(root), 8) == 0,
	   "no job: an id that is made of the prefix");
	snprintf(want, sizeof(want), "/dev/shm/me/scr.%s", j.id);
	is_str(j.cntl_dir, want, "control directory");
	snprintf(want, sizeof(want), "/dev/shm/me/scr.%s+0-", j.id);
	is_str(dirs(j.caches, j.ncaches), want,
	       "cache directory, that nobody named");
	ok(!j.nodes_known && strstr(nodes_of(&j), "SCR_NODELIST"),
	   "no nodes, and what to do");
	job_close(&j);
	ok(j.prefix == NULL && j.conf == NULL, "closed");
	job_close(&j);
}

static void
test_user(void)
{
	const struct passwd *pw = getpwuid(geteuid());
	struct job_where w = { .prefix = root };
	struct error err = ERROR_INIT;
	struct job j;

	clean();
	open_conf(&j, "SCR_USER_NAME=file\n");
	is_str(j.user, "file", "SCR_USER_NAME from a file beats USER");
	ok(strstr(j.user_from, "SCR_USER_NAME from ") != NULL, "... told");
	job_close(&j);
	setenv("SCR_USER_NAME", "env", 1);
	w.user = "option";
	open_job(&j, &w);
	is_str(j.user, "option", "an option beats all");
	job_close(&j);
	clean();
	unsetenv("USER");
	setenv("LOGNAME", "log", 1);
	open_job(&j, in_root());
	is_str(j.user, "log", "LOGNAME");
	job_close(&j);
	unsetenv("LOGNAME");
	open_job(&j, in_root());
	is_str(j.user, pw != NULL ? pw->pw_name : fmt("%d", (int)geteuid()),
	       "nothing set: the account");
	job_close(&j);
	w.user = "../you";
	ok(job_open(&j, &w, &err) < 0 && err.kind == ERROR_USAGE &&
		   says(&err, "../you") && says(&err, "given"),
	   "a user that leads elsewhere");
	ok(j.arena == NULL, "... leaves nothing");
}

static void
test_id(void)
{
	struct job_where w = { .prefix = root };
	struct error err = ERROR_INIT;
	struct job j;

	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	open_job(&j, in_root());
	is_str(j.id, "42", "SLURM's id");
	is_str(j.cntl_dir, "/dev/shm/me/scr.42", "... is in the path");
	job_close(&j);
	open_conf(&j, "SCR_JOB_ID=j1\n");
	is_str(j.id, "j1", "SCR_JOB_ID beats it");
	job_close(&j);
	w.job_id = "j2";
	open_job(&j, &w);
	is_str(j.id, "j2", "an option beats both");
	job_close(&j);
	w.job_id = "a/b";
	ok(job_open(&j, &w, &err) < 0 && err.kind == ERROR_USAGE,
	   "an id with a slash");
	w.job_id = "";
	ok(job_open(&j, &w, NULL) < 0, "... or without anything");
	w.job_id = NULL;
	w.resmgr = "loadleveler";
	ok(job_open(&j, &w, &err) < 0 && err.kind == ERROR_USAGE,
	   "no such resource manager");
	w.resmgr = NULL;
	w.conf_file = "/not/there";
	ok(job_open(&j, &w, &err) < 0 && err.kind == ERROR_ABSENT,
	   "no such configuration");
}

static void
test_prefix(void)
{
	struct job_where w = { .prefix = NULL };
	struct job j;

	clean();
	must(mkdir(file("run 5"), 0777) == 0);
	must(mkdir(file("here"), 0777) == 0);
	must(symlink("run 5", file("link")) == 0);
	write_text(file("run 5/.scrconf"), "SCR_JOB_ID=of-run-5\n");
	must(chdir(file("here")) == 0);
	open_job(&j, &w);
	is_str(j.prefix, ".", "the working directory");
	is_str(j.prefix_real, file("here"), "... and where it is");
	job_close(&j);
	w.prefix = "../link";
	open_job(&j, &w);
	is_str(j.prefix, "../link", "an option");
	is_str(j.prefix_real, file("run 5"), "... with a blank, by a link");
	is_str(j.id, "of-run-5", "... its configuration is found");
	job_close(&j);
	w.prefix = NULL;
	setenv("SCR_PREFIX", file("link"), 1);
	open_job(&j, &w);
	is_str(j.prefix, file("link"), "SCR_PREFIX");
	is_str(j.id, "of-run-5", "... its configuration is found");
	job_close(&j);
	unsetenv("SCR_PREFIX");
	write_text(file("here/.scrconf"),
		   "SCR_PREFIX=../run\\ 5\nSCR_USER_NAME=u\n");
	write_text(file("run 5/.scr/app.conf"), "SCR_JOB_NAME=app\n");
	open_job(&j, &w);
	is_str(j.prefix_real, file("run 5"), "SCR_PREFIX in a file");
	is_str(j.user, "u", "... the file is still the user's");
	is_str(conf_get(j.conf, "SCR_JOB_NAME"), "app",
	       "... what the application set is read there");
	ok(strstr(j.prefix_from, "SCR_PREFIX from ./.scrconf"), "... told");
	job_close(&j);
	unlink("../here/.scrconf");
	w.prefix = "not/../there/";
	open_job(&j, &w);
	is_str(j.prefix_real, file("here/there"), "one that is not there yet");
	job_close(&j);
	must(chdir("/") == 0);
}

/* --- Directories --- */

static void
test_cntl(void)
{
	struct job_where w = { .prefix = root };
	struct job j;

	clean();
	setenv("SCR_JOB_ID", "1", 1);
	/* Settings as in the template of the configuration. */
	open_conf(&j, "CNTLDIR=/ssd BYTES=1GB\nCACHEDIR=/ssd BYTES=50\n");
	is_str(j.cntl_dir, "/ssd/me/scr.1", "CNTLDIR with a size");
	is_str(dirs(j.cntls, j.ncntls),
	       "/ssd/me/scr.1+1073741824 /dev/shm/me/scr.1+0-",
	       "... and where the library has it");
	is_str(dirs(j.caches, j.ncaches),
	       "/ssd/me/scr.1+50 "
	       "/dev/shm/me/scr.1+0-",
	       "CACHEDIR with a bare number");
	ok(conf_notice(j.conf) == NULL, "... nothing is wrong with it");
	job_close(&j);
	setenv("SCR_CNTL_BASE", "/tmp//c/", 1);
	open_conf(&j, "CNTLDIR=/ssd BYTES=1x\nCNTLDIR=/tmp/c BYTES=2\n");
	is_str(dirs(j.cntls, j.ncntls), "/tmp/c/me/scr.1+2 /ssd/me/scr.1+0",
	       "SCR_CNTL_BASE is where the library has it");
	is_str(j.cntl_dir, "/tmp/c/me/scr.1", "... so it is the one");
	ok(conf_notice(j.conf) && strstr(conf_notice(j.conf), "\"1x\""),
	   "a size that is none is told");
	job_close(&j);
	w.cntl_base = "/opt";
	open_job(&j, &w);
	is_str(dirs(j.cntls, j.ncntls), "/opt/me/scr.1+0",
	       "an option stands alone");
	is_str(j.cntl_dir, "/opt/me/scr.1", "... and is the one");
	job_close(&j);
	w.cntl_base = "/";
	open_job(&j, &w);
	is_str(j.cntl_dir, "/me/scr.1", "the root as a base");
	job_close(&j);
}

static void
test_caches(void)
{
	struct job_where w = { .prefix = root };
	struct job j;

	clean();
	setenv("SCR_JOB_ID", "1", 1);
	open_conf(&j, "STORE=/a COUNT=2\nSTORE=/b VIEW=GLOBAL\n"
		      "STORE=/c GROUP=WORLD\nSTORE=/d ENABLED=0\n"
		      "CACHE=/a BYTES=5\nCACHE=/e\n"
		      "CACHEDIR=/a BYTES=4K\nSCR_CACHE_BASE=/b\n");
	is_str(dirs(j.caches, j.ncaches),
	       "/a/me/scr.1+4096 /b/me/scr.1+0SN /c/me/scr.1+0S "
	       "/e/me/scr.1+0",
	       "stores, caches, sizes; each once");
	job_close(&j);
	w.cache_base = "/b/";
	open_job(&j, &w);
	is_str(dirs(j.caches, j.ncaches),
	       "/b/me/scr.1+0SN /a/me/scr.1+4096 /c/me/scr.1+0S /e/me/scr.1+0",
	       "an option comes first, and hides no line");
	job_close(&j);
	open_conf(&j, "STORE=/dev/shm ENABLED=0\nSTORE=/a\n");
	is_str(dirs(j.caches, j.ncaches), "/a/me/scr.1+0",
	       "the built-in one can be switched off");
	job_close(&j);
	open_conf(&j, "STORE=/dev/shm ENABLED=0\nSCR_CACHE_BASE=/dev/shm\n");
	is_str(dirs(j.caches, j.ncaches), "/dev/shm/me/scr.1+0",
	       "... unless it is asked for");
	job_close(&j);
}

/* --- Nodes and time --- */

static void
test_nodes(void)
{
	struct job_where w = { .prefix = root };
	struct error err = ERROR_INIT;
	struct job j;

	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_NODELIST", "s[1-2]", 1);
	open_job(&j, in_root());
	is_str(nodes_of(&j), "s[1-2]", "SLURM's nodes");
	is_str(j.nodes_from, "slurm", "... told");
	ok(j.nodes_known && job_nodes(&j, NULL) == 0 && j.nodes.count == 2,
	   "... asked once");
	job_close(&j);
	open_conf(&j, "SCR_NODELIST=f[1-2],f1\n");
	is_str(nodes_of(&j), "f[1-2]", "SCR_NODELIST from a file, each once");
	job_close(&j);
	setenv("SCR_NODELIST", "e1 e2", 1);
	open_job(&j, in_root());
	is_str(nodes_of(&j), "e[1-2]", "... from the environment");
	job_close(&j);
	w.nodes = "x1000c0s0b0n[0-1]";
	open_job(&j, &w);
	is_str(nodes_of(&j), "x1000c0s0b0n[0-1]", "an option");
	job_close(&j);
	w.nodes = "a[3-";
	open_job(&j, &w);
	ok(job_nodes(&j, &err) < 0 && err.kind == ERROR_USAGE &&
		   says(&err, "given") && !j.nodes_known,
	   "no node list");
	job_close(&j);
	w.nodes = " ";
	open_job(&j, &w);
	ok(job_nodes(&j, &err) < 0 && err.kind == ERROR_USAGE, "none in it");
	job_close(&j);
	clean();
	w = (struct job_where){ .prefix = root, .resmgr = "slurm" };
	open_job(&j, &w);
	ok(job_nodes(&j, &err) < 0 && err.kind == ERROR_ABSENT &&
		   says(&err, "SCR_NODELIST") && job_nodes(&j, NULL) < 0,
	   "SLURM knows none");
	job_close(&j);
}

/* Without a resource manager, options can give everything. */
static void
test_none(void)
{
	struct job j;
	int64_t end = 0;

	clean();
	open_conf(&j, "SCR_JOB_ID=laptop\nSCR_NODELIST=worker-a,vm\n"
		      "SCR_END_TIME=1800000000\n");
	is_str(resmgr_name(j.rm), "none", "no resource manager");
	is_str(nodes_of(&j), "worker-a,vm", "... nodes");
	is_str(j.id, "laptop", "... id");
	ok(job_end_time(&j, &end, NULL) == 0 && end == 1800000000, "... end");
	job_close(&j);
}

static void
test_end(void)
{
	struct error err = ERROR_INIT;
	int64_t end = 0;
	struct job j;

	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_END_TIME", "1700000000", 1);
	open_job(&j, in_root());
	ok(job_end_time(&j, &end, NULL) == 0 && end == 1700000000, "SLURM's");
	job_close(&j);
	open_conf(&j, "SCR_END_TIME=0\n");
	ok(job_end_time(&j, &end, NULL) == 0 && end == 1700000000,
	   "an unknown one is none");
	job_close(&j);
	open_conf(&j, "SCR_END_TIME=-1\n");
	ok(job_end_time(&j, &end, NULL) == 0 && end == -1, "no limit");
	job_close(&j);
	open_conf(&j, "SCR_END_TIME=-2\n");
	ok(job_end_time(&j, &end, &err) < 0 && err.kind == ERROR_USAGE &&
		   says(&err, ".scrconf"),
	   "no time");
	job_close(&j);
	open_conf(&j, "SCR_END_TIME=soon\n");
	ok(job_end_time(&j, &end, &err) < 0 && err.kind == ERROR_USAGE,
	   "no number");
	job_close(&j);
}

/* --- Output --- */

static void
test_telling(void)
{
	struct buf text = BUF_INIT;
	struct job j;

	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_NODELIST", "s[1-2]", 1);
	open_conf(&j, "oops\nCACHE=/ssd BYTES=2G\nSTORE=/ssd GROUP=WORLD\n");
	must(job_nodes(&j, NULL) == 0);
	must(job_notice(&j, true, &text) == 0);
	printf("# %zu bytes:\n", text.len);
	for (char *p = text.data, *end; *p != '\0'; p = end + 1) {
		end = strchr(p, '\n');
		must(end != NULL);
		printf("# %.*s\n", (int)(end - p), p);
	}
	ok(strstr(text.data, "user: me (USER)\n") != NULL, "user");
	ok(strstr(text.data, "job id: 42 (slurm)\n") != NULL, "id");
	ok(strstr(text.data, "cache directory: /ssd/me/scr.42 (configured, "
			     "shared by all nodes, at least 2.0 GiB)\n"),
	   "caches");
	ok(strstr(text.data, "nodes: 2: s[1-2] (slurm)\n"), "nodes");
	buf_clear(&text);
	must(job_notice(&j, false, &text) == 0);
	ok(strstr(text.data, ".scrconf:1: \"oops\""), "what the file had");
	ok(strstr(text.data, "slurm: nodes are those the job began with"),
	   "what SLURM did not tell");
	job_close(&j);
	buf_free(&text);
}

static int
open_once(void *arg, struct error *err)
{
	struct buf text = BUF_INIT;
	int64_t end = 0;
	struct job j;
	int rc = -1;

	if (job_open(&j, arg, err) < 0)
		return -1;
	if (job_nodes(&j, err) == 0 && job_end_time(&j, &end, err) == 0) {
		rc = job_notice(&j, true, &text);
		if (rc < 0)
			error_no_memory(err);
	}
	buf_free(&text);
	job_close(&j);
	return rc;
}

static void
test_memory(void)
{
	struct job_where w = { .prefix = "not/there", .nodes = "a[1-3]" };

	clean();
	unsetenv("USER");
	setenv("SCR_JOB_ID", "1", 1);
	must(chdir(root) == 0);
	ok(fails_well(open_once, NULL, &w), "when there is no memory");
	must(chdir("/") == 0);
}

int
main(void)
{
	test_defaults();
	test_user();
	test_id();
	test_prefix();
	test_cntl();
	test_caches();
	test_nodes();
	test_none();
	test_end();
	test_telling();
	test_memory();
	remove_tree(root);
	return tap_done();
}
