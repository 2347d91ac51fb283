/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LSF, Flux, PBS and ALPS, with mock commands.
 */
#include "resmgrtest.h"

/* --- LSF --- */

static void
test_lsf_nodes(void)
{
	clean();
	setenv("LSB_JOBID", "77", 1);
	open_as(NULL);
	is_str(resmgr_job_id(rm), "77", "LSF: id");
	ok(nodes_of()[0] == '!', "... no host file named");
	setenv("LSB_DJOB_HOSTFILE", file("hosts"), 1);
	ok(nodes_of()[0] == '!', "... or none there");
	write_text(file("hosts"), "batch1\nh3\nh3\nh1\nh1\nh2\nh2\n");
	is_str(nodes_of(), "h3,h1,h2", "each once, in order");
	write_text(file("hosts"), "batch1\nh1\nh2\n");
	is_str(nodes_of(), "h1,h2", "... with one slot each");
	write_text(file("hosts"), "h1\nh1\nh2\nh2");
	is_str(nodes_of(), "h1,h2", "a first node with slots stays");
	write_text(file("hosts"), "h1\n");
	is_str(nodes_of(), "h1", "an only node stays");
	write_text(file("hosts"), "\n");
	ok(nodes_of()[0] == '!', "an empty file");
	write_text(file("hosts"), "a b\n-x\n");
	ok(nodes_of()[0] == '!', "not host names");
	is_str(down_of("h1,h2"), "", "LSF: none known to be down");
}

static void
test_lsf_end(void)
{
	clean();
	setenv("LSB_JOBID", "77", 1);
	open_as(NULL);
	is_int(end_of(), RESMGR_END_UNKNOWN, "LSF: without bjobs");
	prints("bjobs", "1:30 L\n");
	ok(from_now(end_of(), 5400), "... an hour and a half");
	ok(called("bjobs", "-noheader -o time_left 77"), "... of our job");
	prints("bjobs", "TIME_LEFT\n  100:00 L \n");
	ok(from_now(end_of(), 360000), "... hundred hours, below a header");
	prints("bjobs", "-\n");
	is_int(end_of(), RESMGR_END_NEVER, "... no limit");
	prints("bjobs", "Job <77> is not found\n");
	is_int(end_of(), RESMGR_END_UNKNOWN, "... something else");
}

/* --- Flux --- */

/* A mock `flux` with its sub-commands. */
static void
flux(const char *jobid, const char *all, const char *down, const char *left)
{
	command("flux",
		fmt("case \"$*\" in\n\"getattr jobid\") %s ;;\n"
		    "\"resource list -n -o {nodelist} -s all\") %s ;;\n"
		    "\"resource list -n -o {nodelist} -s down\") %s ;;\n"
		    "\"job timeleft\") %s ;;\n*) exit 9 ;;\nesac",
		    jobid, all, down, left));
}

static void
test_flux(void)
{
	clean();
	setenv("FLUX_URI", "local:///run/flux", 1);
	flux("echo f23ABC", "echo 'fluke[3,6-8]'", "echo fluke7", "echo 3600");
	open_as(NULL);
	is_str(resmgr_job_id(rm), "f23ABC", "Flux: the instance's id");
	is_str(nodes_of(), "fluke3,fluke6,fluke7,fluke8", "... nodes");
	is_str(down_of("fluke[6-8]"), "fluke7", "... down");
	ok(from_now(end_of(), 3600), "... end");
	flux("exit 1", "exit 1", "echo", "echo inf");
	ok(nodes_of()[0] == '!', "no answer");
	is_str(down_of("fluke[6-8]"), "", "... none down");
	is_int(end_of(), RESMGR_END_NEVER, "... no limit");
	flux("exit 1", "echo", "exit 1", "echo soon");
	ok(nodes_of()[0] == '!', "an empty answer");
	is_int(end_of(), RESMGR_END_UNKNOWN, "... not a number");
	setenv("FLUX_JOB_ID", "f9", 1);
	open_as(NULL);
	is_str(resmgr_job_id(rm), "f9", "the job's own id");
	unsetenv("FLUX_JOB_ID");
	open_as(NULL);
	ok(resmgr_job_id(rm) == NULL, "no id to be had");
}

/* --- PBS --- */

static void
test_pbs_nodes(void)
{
	clean();
	setenv("PBS_JOBID", "12.server", 1);
	open_as(NULL);
	is_str(resmgr_job_id(rm), "12.server", "PBS: id");
	ok(nodes_of()[0] == '!', "... no node file named");
	setenv("PBS_NODEFILE", file("nodes"), 1);
	write_text(file("nodes"), "r1i0n3\nr1i0n3\nr1i0n4\nr1i0n3\n");
	is_str(nodes_of(), "r1i0n3,r1i0n4", "... each node once");
	is_str(down_of("r1i0n[3-4]"), "", "... without pbsnodes");
	prints("pbsnodes", "r1i0n4   offline,down   bad disk\n"
			   "r1i0n3   offline        down for tea\n"
			   "n9 state-unknown,down\n");
	is_str(down_of("r1i0n[3-4]"), "r1i0n4", "offline is not down");
}

static void
test_pbs_end(void)
{
	clean();
	setenv("PBS_JOBID", "12.server", 1);
	open_as(NULL);
	is_int(end_of(), RESMGR_END_UNKNOWN, "PBS: without qstat");
	prints("qstat", "Job Id: 12.server\n    Job_Name = run\n"
			"    resources_used.walltime = 00:10:00\n"
			"    Resource_List.walltime = 02:00:00\n"
			"    stime = Sat Nov 21 09:00:00 2026\n");
	is_int(end_of(), 1795258800, "begin and limit");
	ok(called("qstat", "-f 12.server"), "... of our job");
	prints("qstat", "    resources_used.walltime = 00:10:00\n"
			"    Resource_List.walltime = 1:02:00:00\n");
	ok(from_now(end_of(), 26 * 3600 - 600), "limit and time used");
	prints("qstat", "    stime = Sat Nov 21 09:00:00 2026\n");
	is_int(end_of(), RESMGR_END_UNKNOWN, "no limit known");
	prints("qstat", "    Resource_List.walltime = long\n");
	is_int(end_of(), RESMGR_END_UNKNOWN, "not a time");
	prints("qstat", "    Resource_List.walltime = 1:1:1:1:1\n");
	is_int(end_of(), RESMGR_END_UNKNOWN, "... too many parts");
}

static void
test_alps(void)
{
	clean();
	setenv("PBS_JOBID", "12.sdb", 1);
	setenv("PBS_NODEFILE", file("nodes"), 1);
	write_text(file("nodes"), "mom1\n");
	setenv("PBS_NUM_NODES", "3", 1);
	prints("aprun", "12\n40\n13\nApplication 123 resources: utime ~0s\n");
	open_as(NULL);
	is_str(nodes_of(), "nid00012,nid00040,nid00013", "ALPS: nodes");
	ok(called("aprun", "-n 3 -N 1 cat /proc/cray_xt/nid"), "... asked");
	prints("xtprocadmin",
	       "   NID    (HEX)    NODENAME     TYPE    STATUS        MODE\n"
	       "    12      0xc  c0-0c0s3n0  compute        up       batch\n"
	       "    13      0xd  c0-0c0s3n1  compute      down       batch\n"
	       "    14      0xe  c0-0c0s3n2  compute admindown       batch\n");
	is_str(down_of("nid000[12-14],nid00040"), "nid00013,nid00014",
	       "... down");
	command("aprun", "exit 1");
	is_str(nodes_of(), "mom1", "... or else the node file");
}

/* --- Memory --- */

struct question {
	struct hostlist nodes;
	const char *name;
};

/* Ask all questions. */
static int
ask_all(void *arg, struct error *err)
{
	struct question *q = arg;
	struct resmgr *r = resmgr_open(NULL, q->name, err);
	struct hostlist h = HOSTLIST_INIT;
	int64_t end = 0;
	int rc = -1;

	if (r != NULL && resmgr_nodes(r, &h, err) == 0 &&
	    resmgr_down(r, &q->nodes, &h, err) == 0 &&
	    resmgr_end_time(r, &end, err) == 0)
		rc = 0;
	hostlist_free(&h);
	resmgr_close(r);
	return rc;
}

static void
test_memory(void)
{
	struct question q = { .name = "lsf" };

	clean();
	q.nodes = (struct hostlist)HOSTLIST_INIT;
	must(hostlist_add(&q.nodes, "h[1-2]", NULL) == 0);
	setenv("LSB_JOBID", "77", 1);
	setenv("LSB_DJOB_HOSTFILE", file("hosts"), 1);
	write_text(file("hosts"), "batch1\nh1\nh2\n");
	ok(fails_well(ask_all, NULL, &q), "LSF when there is no memory");
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_NODELIST", "h[1-2]", 1);
	prints("scontrol", "JobId=42 TimeLimit=1 EndTime=2026-11-21T10:00:00 "
			   "NodeList=h[1-2]\n");
	prints("sinfo", "h[1-2] down\n");
	q.name = "slurm";
	ok(fails_well(ask_all, NULL, &q), "SLURM when there is no memory");
	hostlist_free(&q.nodes);
}

int
main(void)
{
	test_lsf_nodes();
	test_lsf_end();
	test_flux();
	test_pbs_nodes();
	test_pbs_end();
	test_alps();
	test_memory();
	clean();
	remove_tree(resmgr_root);
	return tap_done();
}
