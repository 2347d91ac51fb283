/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job around the process: precedence of options, parameters and resource
 * manager; directories of the job.
 */
#include "site/job.h"

#include <pwd.h>

#include "conf.h"
#include "scratch.h"

/* Clear the environment and make an empty prefix. */
static void
clean(void)
{
	clearenv();
	scratch_new();
	must(setenv("SCRKIT_SYSTEM_CONF", here("none.conf"), 1) == 0);
	must(setenv("PATH", "/usr/bin:/bin", 1) == 0);
	must(setenv("USER", "me", 1) == 0);
}

static const struct job_where *
in_root(void)
{
	static struct job_where w;

	w = (struct job_where){ .prefix = scratch_root };
	return &w;
}

/* The job that was opened last. */
static struct job j;

static void
open_job(const struct job_where *w)
{
	job_close(&j);
	if (job_open(&j, w, &why) == 0)
		return;
	printf("# %s\n", why.text);
	must(!"job_open");
}

/* Open the job with this text as the prefix's configuration file. */
static void
open_conf(const char *text)
{
	write_text(here(".scrconf"), text);
	open_job(in_root());
}

/* Is the job refused with this kind of error, in these words? */
static void
refused(const struct job_where *w, enum error_kind kind, const char *words,
	const char *what)
{
	job_close(&j);
	ok(job_open(&j, w, &why) < 0 && why.kind == kind && says(&why, words) &&
		   j.arena == NULL,
	   what);
}

static const char *
nodes_of(void)
{
	struct error err = ERROR_INIT;
	auto_buf text = BUF_INIT;

	if (job_nodes(&j, &err) < 0)
		return fmt("%d: %s", (int)err.kind, err.text);
	must(hostlist_text(&j.nodes, &text, NULL) == 0);
	return fmt("%s", text.data);
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

TEST(defaults)
{
	const char *want = NULL;

	clean();
	open_job(in_root());
	is_str(j.prefix, scratch_root, "the prefix as given");
	is_str(j.user, "me", "USER");
	ok(j.outside && strncmp(j.id, path_base(scratch_root), 8) == 0,
	   "invented id");
	want = fmt("/dev/shm/me/scr.%s", j.id);
	is_str(j.cntl_dir, want, "control directory");
	is_str(dirs(j.caches, j.ncaches), fmt("%s+0-", want), "cache");
	ok(!j.nodes_known && strstr(nodes_of(), "SCR_NODELIST"), "no nodes");
	job_close(&j);
	ok(j.prefix == NULL && j.conf == NULL, "closed");
	job_close(&j);
}

TEST(user)
{
	const struct passwd *pw = getpwuid(geteuid());
	struct job_where w = { .prefix = scratch_root };

	clean();
	open_conf("SCR_USER_NAME=file\n");
	is_str(j.user, "file", "SCR_USER_NAME from a file beats USER");
	ok(strstr(j.user_from, "SCR_USER_NAME from ") != NULL, "... told");
	setenv("SCR_USER_NAME", "env", 1);
	w.user = "option";
	open_job(&w);
	is_str(j.user, "option", "an option beats all");
	clean();
	unsetenv("USER");
	setenv("LOGNAME", "log", 1);
	open_job(in_root());
	is_str(j.user, "log", "LOGNAME");
	unsetenv("LOGNAME");
	open_job(in_root());
	is_str(j.user, pw != NULL ? pw->pw_name : fmt("%d", (int)geteuid()),
	       "nothing set: the account");
	w.user = "../you";
	refused(&w, ERROR_USAGE, "../you", "a user that leads elsewhere");
}

TEST(id)
{
	static const struct {
		struct job_where w;
		enum error_kind kind;
		const char *words;
	} bad[] = {
		{ { .job_id = "a/b" }, ERROR_USAGE, "a/b" },
		{ { .job_id = "" }, ERROR_USAGE, "given" },
		{ { .resmgr = "loadleveler" }, ERROR_USAGE, "loadleveler" },
		{ { .conf_file = "/not/there" }, ERROR_ABSENT, "/not/there" },
	};

	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	open_job(in_root());
	is_str(j.id, "42", "SLURM's id");
	is_str(j.cntl_dir, "/dev/shm/me/scr.42", "... is in the path");
	open_conf("SCR_JOB_ID=j1\n");
	is_str(j.id, "j1", "SCR_JOB_ID beats it");
	open_job(&(struct job_where){ .prefix = scratch_root, .job_id = "j2" });
	is_str(j.id, "j2", "an option beats both");
	each (b, bad)
		refused(&b->w, b->kind, b->words, b->words);
}

TEST(prefix)
{
	struct job_where w = { .prefix = NULL };

	clean();
	must(mkdir(here("run 5"), 0777) == 0);
	must(mkdir(here("here"), 0777) == 0);
	must(symlink("run 5", here("link")) == 0);
	write_text(here("run 5/.scrconf"), "SCR_JOB_ID=of-run-5\n");
	must(chdir(here("here")) == 0);
	open_job(&w);
	is_str(j.prefix, ".", "the working directory");
	is_str(j.prefix_real, here("here"), "... and where it is");
	w.prefix = "../link";
	open_job(&w);
	is_str(j.prefix, "../link", "an option");
	is_str(j.prefix_real, here("run 5"), "... with a blank, by a link");
	is_str(j.id, "of-run-5", "... its configuration is found");
	w.prefix = NULL;
	setenv("SCR_PREFIX", here("link"), 1);
	open_job(&w);
	is_str(j.prefix, here("link"), "SCR_PREFIX");
	is_str(j.id, "of-run-5", "... its configuration is found");
	unsetenv("SCR_PREFIX");
	write_text(here("here/.scrconf"),
		   "SCR_PREFIX=../run\\ 5\nSCR_USER_NAME=u\n");
	write_text(here("run 5/.scr/app.conf"), "SCR_JOB_NAME=app\n");
	open_job(&w);
	is_str(j.prefix_real, here("run 5"), "SCR_PREFIX in a file");
	is_str(j.user, "u", "... the file is still the user's");
	is_str(conf_get(j.conf, "SCR_JOB_NAME"), "app", "... application's");
	ok(strstr(j.prefix_from, "SCR_PREFIX from ./.scrconf"), "... told");
	unlink("../here/.scrconf");
	w.prefix = "not/../there/";
	open_job(&w);
	is_str(j.prefix_real, here("here/there"), "one that is not there yet");
	must(chdir("/") == 0);
}

/* --- Directories --- */

TEST(cntl)
{
	struct job_where w = { .prefix = scratch_root };

	clean();
	setenv("SCR_JOB_ID", "1", 1);
	/* Settings as in the template of the configuration. */
	open_conf("CNTLDIR=/ssd BYTES=1GB\nCACHEDIR=/ssd BYTES=50\n");
	is_str(j.cntl_dir, "/ssd/me/scr.1", "CNTLDIR with a size");
	is_str(dirs(j.cntls, j.ncntls),
	       "/ssd/me/scr.1+1073741824 /dev/shm/me/scr.1+0-",
	       "... and where the library has it");
	is_str(dirs(j.caches, j.ncaches),
	       "/ssd/me/scr.1+50 /dev/shm/me/scr.1+0-",
	       "CACHEDIR with a bare number");
	ok(conf_notice(j.conf) == NULL, "... nothing is wrong with it");
	setenv("SCR_CNTL_BASE", "/tmp//c/", 1);
	open_conf("CNTLDIR=/ssd BYTES=1x\nCNTLDIR=/tmp/c BYTES=2\n");
	is_str(dirs(j.cntls, j.ncntls), "/tmp/c/me/scr.1+2 /ssd/me/scr.1+0",
	       "SCR_CNTL_BASE is where the library has it");
	is_str(j.cntl_dir, "/tmp/c/me/scr.1", "... so it is the one");
	ok(conf_notice(j.conf) && strstr(conf_notice(j.conf), "\"1x\""),
	   "a size that is none is told");
	w.cntl_base = "/opt";
	open_job(&w);
	is_str(dirs(j.cntls, j.ncntls), "/opt/me/scr.1+0", "an option alone");
	is_str(j.cntl_dir, "/opt/me/scr.1", "... and is the one");
	w.cntl_base = "/";
	open_job(&w);
	is_str(j.cntl_dir, "/me/scr.1", "the root as a base");
}

TEST(caches)
{
	struct job_where w = { .prefix = scratch_root };

	clean();
	setenv("SCR_JOB_ID", "1", 1);
	open_conf("STORE=/a COUNT=2\nSTORE=/b VIEW=GLOBAL\n"
		  "STORE=/c GROUP=WORLD\nSTORE=/d ENABLED=0\n"
		  "CACHE=/a BYTES=5\nCACHE=/e\n"
		  "CACHEDIR=/a BYTES=4K\nSCR_CACHE_BASE=/b\n");
	is_str(dirs(j.caches, j.ncaches),
	       "/a/me/scr.1+4096 /b/me/scr.1+0SN /c/me/scr.1+0S /e/me/scr.1+0",
	       "stores, caches, sizes; each once");
	w.cache_base = "/b/";
	open_job(&w);
	is_str(dirs(j.caches, j.ncaches),
	       "/b/me/scr.1+0SN /a/me/scr.1+4096 /c/me/scr.1+0S /e/me/scr.1+0",
	       "an option comes first, and hides no line");
	open_conf("STORE=/dev/shm ENABLED=0\nSTORE=/a\n");
	is_str(dirs(j.caches, j.ncaches), "/a/me/scr.1+0", "switched off");
	open_conf("STORE=/dev/shm ENABLED=0\nSCR_CACHE_BASE=/dev/shm\n");
	is_str(dirs(j.caches, j.ncaches), "/dev/shm/me/scr.1+0",
	       "... asked for");
}

/* --- Nodes and time --- */

TEST(nodes)
{
	struct job_where w = { .prefix = scratch_root };

	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_NODELIST", "s[1-2]", 1);
	open_job(in_root());
	is_str(nodes_of(), "s[1-2]", "SLURM's nodes");
	is_str(j.nodes_from, "slurm", "... told");
	ok(j.nodes_known && job_nodes(&j, NULL) == 0 && j.nodes.count == 2,
	   "... asked once");
	open_conf("SCR_NODELIST=f[1-2],f1\n");
	is_str(nodes_of(), "f[1-2]", "SCR_NODELIST from a file, each once");
	setenv("SCR_NODELIST", "e1 e2", 1);
	open_job(in_root());
	is_str(nodes_of(), "e[1-2]", "... from the environment");
	w.nodes = "x1000c0s0b0n[0-1]";
	open_job(&w);
	is_str(nodes_of(), "x1000c0s0b0n[0-1]", "an option");
	for (int i = 0; i < 2; i++) {
		w.nodes = i == 0 ? "a[3-" : " ";
		open_job(&w);
		ok(str_starts(nodes_of(), fmt("%d: ", ERROR_USAGE)) &&
			   strstr(nodes_of(), "given") != NULL &&
			   !j.nodes_known,
		   "no node list, or none in it");
	}
	clean();
	w = (struct job_where){ .prefix = scratch_root, .resmgr = "slurm" };
	open_job(&w);
	ok(str_starts(nodes_of(), fmt("%d: ", ERROR_ABSENT)) &&
		   strstr(nodes_of(), "SCR_NODELIST") &&
		   job_nodes(&j, NULL) < 0,
	   "SLURM knows none");
}

TEST(end)
{
	static const struct {
		const char *conf;
		int64_t end; /* 0: refused */
		const char *what;
	} ends[] = {
		{ "", 1700000000, "SLURM's" },
		{ "SCR_END_TIME=0\n", 1700000000, "an unknown one is none" },
		{ "SCR_END_TIME=1800000000\n", 1800000000, "a parameter" },
		{ "SCR_END_TIME=-1\n", -1, "no limit" },
		{ "SCR_END_TIME=-2\n", 0, "no time" },
		{ "SCR_END_TIME=soon\n", 0, "no number" },
	};

	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_END_TIME", "1700000000", 1);
	each (e, ends) {
		int64_t end = 0;
		int rc = -1;

		open_conf(e->conf);
		rc = job_end_time(&j, &end, &why);
		ok(e->end != 0 ? rc == 0 && end == e->end
			       : rc < 0 && why.kind == ERROR_USAGE &&
					 says(&why, ".scrconf"),
		   e->what);
	}
}

/* --- Output --- */

TEST(telling)
{
	auto_buf text = BUF_INIT;

	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_NODELIST", "s[1-2]", 1);
	open_conf("oops\nCACHE=/ssd BYTES=2G\nSTORE=/ssd GROUP=WORLD\n");
	must(job_nodes(&j, NULL) == 0);
	must(job_notice(&j, true, &text) == 0);
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
}

TEST(memory)
{
	struct job_where w = { .prefix = "not/there", .nodes = "a[1-3]" };

	clean();
	job_close(&j);
	unsetenv("USER");
	setenv("SCR_JOB_ID", "1", 1);
	must(chdir(scratch_root) == 0);
	without_memory (m, 2, "when there is no memory") {
		auto_buf text = BUF_INIT;
		int64_t end = 0;

		m.rc = job_open(&j, &w, &m.err);
		if (m.rc < 0)
			continue;
		if (job_nodes(&j, &m.err) < 0 ||
		    job_end_time(&j, &end, &m.err) < 0)
			m.rc = -1;
		else if (job_notice(&j, true, &text) < 0)
			m.rc = error_no_memory(&m.err);
		job_close(&j);
	}
	must(chdir("/") == 0);
}
