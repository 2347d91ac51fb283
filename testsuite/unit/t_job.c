/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories of the job around the process.  All else: cmd/resmgr.bats. */
#include "site/job.h"

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
	open_job(&(struct job_where){ .prefix = scratch_root });
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

TEST(memory)
{
	struct job_where w = { .prefix = "not/there", .nodes = "a[1-3]" };

	clean();
	job_close(&j);
	unsetenv("USER");
	setenv("SCR_JOB_ID", "1", 1);
	must(chdir(scratch_root) == 0);
	must(job_open(&j, &w, NULL) == 0);
	without_memory (m, 2, "when there is no memory: what libscr asks") {
		struct arena *a = arena_new();
		const char *user = NULL, *id = NULL;
		int64_t end = 0;

		m.rc = a != NULL &&
				       job_identity(j.conf, a, &user, &id,
						    &m.err) == 0 &&
				       job_end_of(j.conf, &end, &m.err) == 0
			       ? 0
			       : -1;
		if (a == NULL)
			(void)error_no_memory(&m.err);
		arena_free(a);
	}
	job_close(&j);
	job_close(&j);
	ok(j.prefix == NULL && j.conf == NULL, "closed, also twice");
	must(chdir("/") == 0);
}
