/* SPDX-License-Identifier: BSD-3-Clause */
/* The check of nodes without memory.  All else about it: scr_env.bats. */
#include "site/health.h"

#include "hostlist.h"
#include "remote/remote.h"
#include "scratch.h"
#include "site/job.h"

TEST(no_memory)
{
	const struct job_where w = { .prefix = scratch_root,
				     .nodes = "good1",
				     .user = "me",
				     .job_id = "1",
				     .resmgr = "none" };
	const struct remote_options remote = { .kind = REMOTE_SSH,
					       .limit = 1,
					       .connect = 1 };
	struct job job;
	/* All are down, so no node is probed. */
	const struct health_options o = { .down = &job.nodes,
					  .helper = "/bin/true",
					  .remote = &remote };

	setenv("SCRKIT_SYSTEM_CONF", "/nonexistent", 1);
	scratch_new();
	write_text(here("ssh"), "#!/bin/sh\n");
	must(chmod(here("ssh"), 0755) == 0);
	setenv("PATH", scratch_root, 1);
	must(job_open(&job, &w, NULL) == 0 && job_nodes(&job, NULL) == 0);
	without_memory (m, 2, "no memory") {
		struct health h = { .nodes = NULL };

		m.rc = health_check(&job, &job.nodes, &o, &h, &m.err);
		health_free(&h);
	}
	job_close(&job);
}
