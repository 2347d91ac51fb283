/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no command shows of resource managers: notices about sinfo, and answers
 * without memory.  All else: cmd/resmgr.bats.
 */
#include "site/resmgr.h"

#include "conf.h"
#include "hostlist.h"
#include "scratch.h"

/* The environment of a job, with this setting. */
static void
clean(const char *name, const char *value)
{
	clearenv();
	scratch_new();
	must(mkdir(here("bin"), 0777) == 0);
	setenv("PATH", fmt("%s:/usr/bin:/bin", here("bin")), 1);
	setenv("TZ", "UTC", 1);
	setenv(name, value, 1);
}

/* Make a mock command of this script. */
static void
command(const char *name, const char *script)
{
	write_text(here("bin/%s", name), fmt("#!/bin/sh\n%s\n", script));
	must(chmod(here("bin/%s", name), 0755) == 0);
}

TEST(notices)
{
	static const char *const cases[][2] = {
		{ "echo 'node[2- down'", "node list: character 6" },
		{ "echo node1 down; exec >&-; sleep 60",
		  "sinfo: no answer in time" },
	};
	static const char *names[] = { "node1" };
	const struct hostlist nodes = { .names = names, .count = 1 };

	clean("SLURM_JOB_ID", "42");
	setenv("SCR_RESOURCE_MANAGER_TIMEOUT", "1", 1);
	each (c, cases) {
		auto_conf *conf = conf_open(
			&(struct conf_where){ .prefix = scratch_root }, NULL);
		struct resmgr *r = resmgr_open(conf, NULL, NULL);
		auto_hostlist down = HOSTLIST_INIT;

		command("sinfo", (*c)[0]);
		must(hostlist_add(&down, "stale", NULL) == 0);
		ok(resmgr_down(r, &nodes, &down, NULL) == 0 && down.count == 0,
		   (*c)[0]);
		ok(strstr(resmgr_notice(r), (*c)[1]) != NULL, (*c)[1]);
		resmgr_close(r);
	}
	resmgr_close(NULL);
}

/* Ask all questions. */
static int
ask_all(const char *name, struct error *err)
{
	static const char *names[] = { "h1", "h2" };
	const struct hostlist nodes = { .names = names, .count = 2 };
	struct resmgr *r = resmgr_open(NULL, name, err);
	auto_hostlist h = HOSTLIST_INIT;
	int64_t end = 0;
	int rc = -1;

	if (r != NULL && resmgr_nodes(r, &h, err) == 0 &&
	    resmgr_down(r, &nodes, &h, err) == 0 &&
	    resmgr_end_time(r, &end, err) == 0)
		rc = 0;
	resmgr_close(r);
	return rc;
}

TEST(memory)
{
	clean("LSB_JOBID", "77");
	setenv("LSB_DJOB_HOSTFILE", here("hosts"), 1);
	write_text(here("hosts"), "batch1\nh1\nh2\n");
	without_memory (m, 2, "LSF, no memory")
		m.rc = ask_all("lsf", &m.err);
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_NODELIST", "h[1-2]", 1);
	command("scontrol", "echo 'JobId=42 TimeLimit=1 "
			    "EndTime=2026-11-21T10:00:00 NodeList=h[1-2]'");
	command("sinfo", "echo 'h[1-2] down'");
	without_memory (x, 2, "SLURM, no memory")
		x.rc = ask_all("slurm", &x.err);
}
