/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detection of the resource manager, SLURM, and commands that misbehave.
 */

#include "clock.h"
#include "conf.h"
#include "resmgrtest.h"

/* --- Detection --- */

static void
is_found(const char *want, const char *what)
{
	open_as(NULL);
	is_str(resmgr_name(rm), want, what);
}

static void
test_detection(void)
{
	struct error err = ERROR_INIT;
	struct conf *c = NULL;

	clean();
	is_found("none", "no job");
	setenv("SLURM_JOB_ID", "", 1);
	is_found("none", "an empty variable is none");
	setenv("SLURM_JOBID", "7", 1);
	is_found("slurm", "SLURM_JOBID");
	setenv("SLURM_JOB_ID", "8", 1);
	open_as(NULL);
	is_str(resmgr_job_id(rm), "8", "SLURM_JOB_ID is asked first");
	setenv("FLUX_URI", "local:///run/flux", 1);
	is_found("slurm", "Flux without its command is no use");
	command("flux", "exit 1");
	is_found("flux", "Flux inside of SLURM");
	clean();
	setenv("FLUX_JOB_ID", "f2", 1);
	is_found("flux", "... but better than none");
	clean();
	setenv("LSB_JOBID", "9", 1);
	is_found("lsf", "LSF");
	clean();
	setenv("PBS_JOBID", "10.server", 1);
	is_found("pbs", "PBS");
	open_as("none");
	is_str(resmgr_name(rm), "none", "a name beats what is found");
	open_as("SLURM");
	is_str(resmgr_name(rm), "slurm", "... in either case");
	ok(resmgr_job_id(rm) == NULL, "... it knows of no job then");
	open_as("aprun");
	is_str(resmgr_name(rm), "pbs", "LLNL's name");
	ok(resmgr_open(NULL, "loadleveler", &err) == NULL &&
		   err.kind == ERROR_USAGE && says(&err, "loadleveler"),
	   "an unknown name");

	setenv("SCRKIT_SYSTEM_CONF", file("none"), 1);
	write_text(file(".scrconf"), "SCR_RESOURCE_MANAGER=lsf\n");
	c = conf_open(&(struct conf_where){ .prefix = resmgr_root }, NULL);
	open_with(c, NULL);
	is_str(resmgr_name(rm), "lsf", "named in a file");
	open_with(c, "auto");
	is_str(resmgr_name(rm), "pbs", "auto looks after all");
	conf_close(c);
	resmgr_close(NULL);
}

static void
test_none(void)
{
	clean();
	open_as("none");
	ok(resmgr_job_id(rm) == NULL, "none: no id");
	ok(nodes_of()[0] == '!', "... no nodes");
	is_str(down_of("a,b"), "", "... none down");
	is_int(end_of(), RESMGR_END_UNKNOWN, "... no end");
	ok(resmgr_notice(rm) == NULL, "... nothing to say about it");
}

/* --- SLURM --- */

#define JOB(id, nodes, limit, end) \
	"JobId=" id " JobName=run UserId=me(1000) GroupId=me(1000) " \
	"JobState=RUNNING Reason=None RunTime=00:01:00 TimeLimit=" limit \
	" StartTime=2026-11-21T09:00:00 EndTime=" end " ReqNodeList=(null) " \
	"ExcNodeList=(null) NodeList=" nodes " BatchHost=node1 NumNodes=3 " \
	"WorkDir=/a b EndTime=x\n"

static void
slurm(const char *scontrol)
{
	clean();
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_NODELIST", "node[1-4]", 1);
	if (scontrol != NULL)
		prints("scontrol", scontrol);
	open_as(NULL);
}

static void
test_slurm_nodes(void)
{
	slurm(JOB("42", "node[1-2,4]", "01:00:00", "2026-11-21T10:00:00"));
	setenv("SLURM_TIME_FORMAT", "relative", 1);
	is_str(nodes_of(), "node1,node2,node4", "the nodes that are left");
	is_int(end_of(), 1795255200, "... and the end");
	ok(called("scontrol", "--oneliner show job 42"), "... of our job");
	ok(resmgr_notice(rm) == NULL, "... all is well");

	slurm(JOB("41", "a1", "1", "Unknown")
		      JOB("42", "node08,node09,x1000c0s0b0n[0-1]", "UNLIMITED",
			  "Unknown") JOB("43", "c1", "1", "Unknown"));
	is_str(nodes_of(), "node08,node09,x1000c0s0b0n0,x1000c0s0b0n1",
	       "the line with our id, any names");
	is_int(end_of(), RESMGR_END_NEVER, "no limit");

	slurm(JOB("41", "a1", "1", "2026-11-21T10:00:00"));
	is_str(nodes_of(), "node1,node2,node3,node4", "of another job");
	ok(notes("no record of job 42"), "... and it is told");

	slurm(JOB("42", "(null)", "1:00", "NONE"));
	is_str(nodes_of(), "node1,node2,node3,node4", "not a list");
	is_int(end_of(), RESMGR_END_NEVER, "an end that is none");

	slurm(NULL);
	is_str(nodes_of(), "node1,node2,node3,node4", "without scontrol");
	is_int(end_of(), RESMGR_END_UNKNOWN, "... the end is unknown");
	setenv("SLURM_JOB_END_TIME", "1800000000", 1);
	is_int(end_of(), 1800000000, "... unless the environment has it");
	unsetenv("SLURM_JOB_NODELIST");
	setenv("SLURM_NODELIST", "old[1-2]", 1);
	is_str(nodes_of(), "old1,old2", "... the older variable");
	unsetenv("SLURM_NODELIST");
	ok(nodes_of()[0] == '!', "... nothing at all");
	setenv("SLURM_NODELIST", "bad[1-", 1);
	ok(nodes_of()[0] == '!', "... no list");

	slurm("");
	command("scontrol", "echo sorry; exit 1");
	is_str(nodes_of(), "node1,node2,node3,node4", "scontrol fails");
	ok(notes("scontrol: failed") && notes("SLURM_JOB_NODELIST"),
	   "... and it is told");
}

static void
test_slurm_down(void)
{
	slurm(NULL);
	is_str(down_of("node[1-4]"), "", "without sinfo none is down");
	prints("sinfo", "node1 idle\nnode2 down*\nnode3 drained\nnode4 "
			"drained*\nnode5 DOWN\nnode6 fail\nnode7 failing\n"
			"node8 mixed*\nnode9 idle~\nnode10 powered_down\n"
			"node11 allocated\nnode12 downhill\nother down\n"
			"node2 down*\n");
	setenv("SINFO_FORMAT", "%all", 1);
	is_str(down_of("node12,node[1-11]"), "node2,node5,node9,node10",
	       "dead or switched off, in our order");
	ok(called("sinfo", "--nodes=node[12,1-11]"), "... those asked for");
	/* sinfo prints ranges of nodes. */
	prints("sinfo", "node[2-3,07]\n");
	is_str(down_of("node[1-4],node07"), "node2,node3,node07",
	       "ranges are expanded");
	prints("sinfo", "node[2-3] down*\n");
	is_str(down_of("node[1-4]"), "node2,node3", "... with a state");
	prints("sinfo", "node[2- down\nnode1 down\n");
	is_str(down_of("node[1-4]"), "node1", "nonsense costs its line");
	ok(resmgr_notice(rm) != NULL, "... and is told");
	prints("sinfo", "");
	is_str(down_of("node[1-4]"), "", "no node");
}

/* --- Commands that misbehave --- */

static void
test_commands(void)
{
	slurm(NULL);
	command("sinfo", "echo node1 down; kill -9 $$");
	is_str(down_of("node[1-4]"), "", "killed: nothing is believed");
	command("sinfo", "echo node1 down; echo oops >&2");
	is_str(down_of("node[1-4]"), "node1", "what is on stderr is not");
	command("sinfo", "read x && echo $x; echo \"node3 down\"");
	is_str(down_of("node[1-4]"), "node3", "input is empty");
	command("sinfo", "echo \"node2 down $LC_ALL\" | grep -q 'down C$' && "
			 "echo node2 down");
	setenv("LC_ALL", "xx_XX", 1);
	setenv("LANG", "xx_XX", 1);
	is_str(down_of("node[1-4]"), "node2", "the locale is C");
	command("sinfo", "env | grep -q '^SINFO_' || echo node2 down");
	setenv("SINFO_FORMAT", "%all", 1);
	is_str(down_of("node[1-4]"), "node2", "the user's formats are not");
	command("sinfo", "sleep 60 </dev/null >/dev/null & echo node4 down");
	is_str(down_of("node[1-4]"), "node4", "a child left behind");
	write_text(file("bin/sinfo"), "junk");
	must(chmod(file("bin/sinfo"), 0644) == 0);
	is_str(down_of("node[1-4]"), "", "not executable");
}

/* Does the process end within a second?  It may still be a zombie. */
static bool
is_gone(const char *number)
{
	const char *path = fmt("/proc/%d/stat", atoi(number));
	struct buf text = BUF_INIT;
	bool gone = false;

	for (int i = 0; i < 100 && !gone; i++) {
		if (i > 0)
			usleep(10000);
		gone = io_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0 ||
		       strstr(text.data, ") Z ") != NULL;
	}
	buf_free(&text);
	return gone;
}

/* Commands have a second. */
static void
impatient(void)
{
	struct conf *c = NULL;

	setenv("SCR_RESOURCE_MANAGER_TIMEOUT", "1", 1);
	c = conf_open(&(struct conf_where){ .prefix = resmgr_root }, NULL);
	must(c != NULL);
	open_with(c, NULL);
	conf_close(c);
}

/* A controller that does not answer costs one time-out. */
static void
test_slurm_hangs(void)
{
	struct buf text = BUF_INIT;
	double from = 0, seconds = 0;

	slurm(NULL);
	command("scontrol",
		fmt("sleep 60 & echo $! >>%s\nsleep 60", file("pid")));
	command("sinfo", "echo node1 down; exec >&-; sleep 60");
	impatient();
	from = clock_seconds();
	is_str(nodes_of(), "node1,node2,node3,node4", "scontrol hangs");
	is_int(end_of(), RESMGR_END_UNKNOWN, "... the end is unknown");
	seconds = clock_seconds() - from;
	read_whole(file("pid"), &text);
	ok(seconds >= 1 && seconds < 30, "... for a second");
	ok(strchr(text.data, '\n') == text.data + text.len - 1, "... once");
	ok(notes("scontrol: no answer in time"), "... and it is told");
	ok(is_gone(text.data), "... what it started is gone");
	is_str(down_of("node[1-4]"), "", "sinfo closes its output and hangs");
	ok(notes("sinfo: no answer in time"), "... and it is told");
	buf_free(&text);
}

static void
test_time_limit(void)
{
	struct conf_where w = { .prefix = resmgr_root };
	struct error err = ERROR_INIT;
	struct conf *c = NULL;

	clean();
	setenv("SCR_RESOURCE_MANAGER_TIMEOUT", "soon", 1);
	c = conf_open(&w, NULL);
	must(c != NULL);
	ok(resmgr_open(c, NULL, &err) == NULL && err.kind == ERROR_USAGE &&
		   says(&err, "SCR_RESOURCE_MANAGER_TIMEOUT from environment"),
	   "a time limit that is not a number");
	conf_close(c);
}

int
main(void)
{
	test_detection();
	test_none();
	test_slurm_nodes();
	test_slurm_down();
	test_commands();
	test_slurm_hangs();
	test_time_limit();
	clean();
	remove_tree(resmgr_root);
	return tap_done();
}
