/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resource managers, with mock commands: short scripts first in PATH that print
 * what the real commands print.
 */
#include "site/resmgr.h"

#include "clock.h"
#include "conf.h"
#include "hostlist.h"
#include "scratch.h"

/* The resource manager that is open; clean() or the next one closes it. */
static struct resmgr *rm;

/* Clear the environment and set PATH to the mocks and the tools that scripts
 * need. */
static void
clean(void)
{
	resmgr_close(rm);
	rm = NULL;
	clearenv();
	scratch_new();
	must(mkdir(here("bin"), 0777) == 0);
	must(setenv("PATH", fmt("%s:/usr/bin:/bin", here("bin")), 1) == 0);
	must(setenv("TZ", "UTC", 1) == 0);
	tzset();
}

/* Make a mock command of this script; its arguments are recorded. */
static void
command(const char *name, const char *script)
{
	const char *path = here("bin/%s", name);

	write_text(path, fmt("#!/bin/sh\nprintf '%%s\\n' \"$*\" >>%s\n%s\n",
			     here("%s.args", name), script));
	must(chmod(path, 0755) == 0);
}

/* Make a mock command that prints this text. */
static void
prints(const char *name, const char *text)
{
	write_text(here("%s.out", name), text);
	command(name, fmt("cat %s", here("%s.out", name)));
}

/* Was the mock called with these words among its arguments? */
static bool
called(const char *name, const char *words)
{
	auto_buf args = BUF_INIT;
	bool good = false;

	if (exists(here("%s.args", name))) {
		read_whole(here("%s.args", name), &args);
		good = args.len > 0 && strstr(args.data, words) != NULL;
		if (!good)
			printf("# called: %s\n", args.data);
	}
	return good;
}

static void
open_with(const struct conf *c, const char *name)
{
	resmgr_close(rm);
	rm = resmgr_open(c, name, NULL);
	must(rm != NULL);
}

/* The nodes as a plain list, or "!" and the error message. */
static const char *
nodes_of(void)
{
	struct error err = ERROR_INIT;
	auto_buf text = BUF_INIT;
	auto_hostlist h = HOSTLIST_INIT;
	const char *got = NULL;

	if (resmgr_nodes(rm, &h, &err) < 0) {
		got = fmt("!%s", err.text);
		ok(err.kind == ERROR_ABSENT, "an honest error");
	} else {
		must(hostlist_plain(&h, ",", &text, NULL) == 0);
		got = fmt("%s", text.data);
	}
	return got;
}

/* The nodes of `among` that are down, as a plain list. */
static const char *
down_of(const char *among)
{
	auto_hostlist nodes = HOSTLIST_INIT, down = HOSTLIST_INIT;
	auto_buf text = BUF_INIT;

	must(hostlist_add(&nodes, among, NULL) == 0);
	must(hostlist_add(&down, "stale", NULL) == 0);
	must(resmgr_down(rm, &nodes, &down, NULL) == 0);
	must(hostlist_plain(&down, ",", &text, NULL) == 0);
	return fmt("%s", text.len > 0 ? text.data : "");
}

static int64_t
end_of(void)
{
	int64_t epoch = 77;

	must(resmgr_end_time(rm, &epoch, NULL) == 0);
	return epoch;
}

/* Is `epoch` about `seconds` from now? */
static bool
from_now(int64_t epoch, int64_t seconds)
{
	return epoch >= time(NULL) + seconds - 5 &&
	       epoch <= time(NULL) + seconds;
}

static bool
notes(const char *words)
{
	const char *text = resmgr_notice(rm);

	if (text != NULL && strstr(text, words) != NULL)
		return true;
	printf("# notice: %s\n", text != NULL ? text : "(none)");
	return false;
}

/* --- Detection --- */

static void
is_found(const char *want, const char *what)
{
	open_with(NULL, NULL);
	is_str(resmgr_name(rm), want, what);
}

TEST(detection)
{
	auto_conf *c = NULL;

	clean();
	is_found("none", "no job");
	ok(resmgr_job_id(rm) == NULL && nodes_of()[0] == '!' &&
		   end_of() == RESMGR_END_UNKNOWN && resmgr_notice(rm) == NULL,
	   "... no id, no nodes, no end, and nothing to say about it");
	is_str(down_of("a,b"), "", "... none down");
	setenv("SLURM_JOB_ID", "", 1);
	is_found("none", "an empty variable is none");
	setenv("SLURM_JOBID", "7", 1);
	is_found("slurm", "SLURM_JOBID");
	setenv("SLURM_JOB_ID", "8", 1);
	is_found("slurm", "SLURM_JOB_ID");
	is_str(resmgr_job_id(rm), "8", "... which is asked first");
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
	open_with(NULL, "none");
	is_str(resmgr_name(rm), "none", "a name beats what is found");
	open_with(NULL, "SLURM");
	is_str(resmgr_name(rm), "slurm", "... in either case");
	ok(resmgr_job_id(rm) == NULL, "... it knows of no job then");
	open_with(NULL, "aprun");
	is_str(resmgr_name(rm), "pbs", "LLNL's name");
	refuses(resmgr_open(NULL, "loadleveler", &why), ERROR_USAGE,
		"loadleveler", "an unknown name");

	setenv("SCRKIT_SYSTEM_CONF", here("none"), 1);
	write_text(here(".scrconf"), "SCR_RESOURCE_MANAGER=lsf\n"
				     "SCR_RESOURCE_MANAGER_TIMEOUT=1\n");
	c = conf_open(&(struct conf_where){ .prefix = scratch_root }, NULL);
	open_with(c, NULL);
	is_str(resmgr_name(rm), "lsf", "named in a file");
	open_with(c, "auto");
	is_str(resmgr_name(rm), "pbs", "auto looks after all");
	conf_close(c);
	setenv("SCR_RESOURCE_MANAGER_TIMEOUT", "soon", 1);
	c = conf_open(&(struct conf_where){ .prefix = scratch_root }, NULL);
	refuses(resmgr_open(c, NULL, &why), ERROR_USAGE,
		"SCR_RESOURCE_MANAGER_TIMEOUT from environment",
		"a time limit that is not a number");
	resmgr_close(NULL);
}

/* --- SLURM --- */

/* The nodes that the environment names. */
#define ALL "node1,node2,node3,node4"

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
	open_with(NULL, NULL);
}

TEST(slurm_nodes)
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
	slurm("JobId=42 HetJobId=42 NodeList=a[1-2]\nJobId=43 HetJobId=42 "
	      "NodeList=b1\nJobId=44 HetJobId=40 NodeList=c1\n");
	is_str(nodes_of(), "a1,a2,b1", "33.8 all components of a job");
	slurm(JOB("41", "a1", "1", "2026-11-21T10:00:00"));
	is_str(nodes_of(), ALL, "of another job: the environment's");
	ok(notes("no record of job 42"), "... and it is told");
	slurm(JOB("42", "(null)", "1:00", "NONE"));
	is_str(nodes_of(), ALL, "not a list");
	is_int(end_of(), RESMGR_END_NEVER, "an end that is none");
	slurm(NULL);
	is_str(nodes_of(), ALL, "without scontrol");
	is_int(end_of(), RESMGR_END_UNKNOWN, "... the end is unknown");
	setenv("SLURM_JOB_END_TIME", "1800000000", 1);
	is_int(end_of(), 1800000000, "... unless the environment has it");
	unsetenv("SLURM_JOB_NODELIST");
	setenv("SLURM_NODELIST", "old[1-2]", 1);
	is_str(nodes_of(), "old1,old2", "... the older variable");
	unsetenv("SLURM_NODELIST");
	ok(nodes_of()[0] == '!', "... nothing at all");
	setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "a[1-2]", 1);
	setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "b1", 1);
	is_str(nodes_of(), "a1,a2,b1", "... by the environment");
	unsetenv("SLURM_JOB_NODELIST_HET_GROUP_0");
	setenv("SLURM_NODELIST", "bad[1-", 1);
	ok(nodes_of()[0] == '!', "... no list");
	slurm("");
	command("scontrol", "echo sorry; exit 1");
	is_str(nodes_of(), ALL, "scontrol fails");
	ok(notes("scontrol: failed") && notes("SLURM_JOB_NODELIST"),
	   "... told");
}

TEST(slurm_down)
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
	is_str(down_of("node[1-4],node07"), "node2,node3,node07", "... ranges");
	prints("sinfo", "node[2-3] down*\n");
	is_str(down_of("node[1-4]"), "node2,node3", "... with a state");
	prints("sinfo", "node[2- down\nnode1 down\n");
	is_str(down_of("node[1-4]"), "node1", "nonsense costs its line");
	ok(resmgr_notice(rm) != NULL, "... and is told");
}

/* --- Commands that misbehave --- */

TEST(commands)
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
	write_text(here("bin/sinfo"), "junk");
	must(chmod(here("bin/sinfo"), 0644) == 0);
	is_str(down_of("node[1-4]"), "", "not executable");
}

/* Does the process end within a second?  It may still be a zombie. */
static bool
is_gone(const char *number)
{
	const char *path = fmt("/proc/%d/stat", atoi(number));
	auto_buf text = BUF_INIT;
	bool gone = false;

	for (int i = 0; i < 100 && !gone; i++) {
		if (i > 0)
			usleep(10000);
		gone = io_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0 ||
		       strstr(text.data, ") Z ") != NULL;
	}
	return gone;
}

/* A controller that does not answer costs one time-out, here a second. */
TEST(slurm_hangs)
{
	auto_buf text = BUF_INIT;
	struct conf *c = NULL;
	double from = 0, seconds = 0;

	slurm(NULL);
	command("scontrol",
		fmt("sleep 60 & echo $! >>%s\nsleep 60", here("pid")));
	command("sinfo", "echo node1 down; exec >&-; sleep 60");
	setenv("SCR_RESOURCE_MANAGER_TIMEOUT", "1", 1);
	c = conf_open(&(struct conf_where){ .prefix = scratch_root }, NULL);
	open_with(c, NULL);
	conf_close(c);
	from = clock_seconds();
	is_str(nodes_of(), ALL, "scontrol hangs");
	is_int(end_of(), RESMGR_END_UNKNOWN, "... the end is unknown");
	seconds = clock_seconds() - from;
	read_whole(here("pid"), &text);
	ok(seconds >= 1 && seconds < 30, "... for a second");
	ok(strchr(text.data, '\n') == text.data + text.len - 1, "... once");
	ok(notes("scontrol: no answer in time"), "... and it is told");
	ok(is_gone(text.data), "... what it started is gone");
	is_str(down_of("node[1-4]"), "", "sinfo closes its output and hangs");
	ok(notes("sinfo: no answer in time"), "... and it is told");
}

/* --- LSF --- */

TEST(lsf_nodes)
{
	clean();
	setenv("LSB_JOBID", "77", 1);
	open_with(NULL, NULL);
	is_str(resmgr_job_id(rm), "77", "LSF: id");
	ok(nodes_of()[0] == '!', "... no host file named");
	setenv("LSB_DJOB_HOSTFILE", here("hosts"), 1);
	ok(nodes_of()[0] == '!', "... or none there");
	write_text(here("hosts"), "batch1\nh3\nh3\nh1\nh1\nh2\nh2\n");
	is_str(nodes_of(), "h3,h1,h2", "each once, in order");
	write_text(here("hosts"), "batch1\nh1\nh2\n");
	is_str(nodes_of(), "h1,h2", "... with one slot each");
	write_text(here("hosts"), "h1\nh1\nh2\nh2");
	is_str(nodes_of(), "h1,h2", "a first node with slots stays");
	write_text(here("hosts"), "h1\n");
	is_str(nodes_of(), "h1", "an only node stays");
	write_text(here("hosts"), "\n");
	ok(nodes_of()[0] == '!', "an empty file");
	write_text(here("hosts"), "a b\n-x\n");
	ok(nodes_of()[0] == '!', "not host names");
	is_str(down_of("h1,h2"), "", "LSF: none known to be down");
}

TEST(lsf_end)
{
	clean();
	setenv("LSB_JOBID", "77", 1);
	open_with(NULL, NULL);
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

TEST(flux)
{
	clean();
	setenv("FLUX_URI", "local:///run/flux", 1);
	flux("echo f23ABC", "echo 'fluke[3,6-8]'", "echo fluke7", "echo 3600");
	open_with(NULL, NULL);
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
	open_with(NULL, NULL);
	is_str(resmgr_job_id(rm), "f9", "the job's own id");
	unsetenv("FLUX_JOB_ID");
	open_with(NULL, NULL);
	ok(resmgr_job_id(rm) == NULL, "no id to be had");
}

/* --- PBS --- */

TEST(pbs_nodes)
{
	clean();
	setenv("PBS_JOBID", "12.server", 1);
	open_with(NULL, NULL);
	is_str(resmgr_job_id(rm), "12.server", "PBS: id");
	ok(nodes_of()[0] == '!', "... no node file named");
	setenv("PBS_NODEFILE", here("nodes"), 1);
	write_text(here("nodes"), "r1i0n3\nr1i0n3\nr1i0n4\nr1i0n3\n");
	is_str(nodes_of(), "r1i0n3,r1i0n4", "... each node once");
	is_str(down_of("r1i0n[3-4]"), "", "... without pbsnodes");
	prints("pbsnodes", "r1i0n4   offline,down   bad disk\n"
			   "r1i0n3   offline        down for tea\n"
			   "n9 state-unknown,down\n");
	is_str(down_of("r1i0n[3-4]"), "r1i0n4", "offline is not down");
}

TEST(pbs_end)
{
	clean();
	setenv("PBS_JOBID", "12.server", 1);
	open_with(NULL, NULL);
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

TEST(alps)
{
	clean();
	setenv("PBS_JOBID", "12.sdb", 1);
	setenv("PBS_NODEFILE", here("nodes"), 1);
	write_text(here("nodes"), "mom1\n");
	setenv("PBS_NUM_NODES", "3", 1);
	prints("aprun", "12\n40\n13\nApplication 123 resources: utime ~0s\n");
	open_with(NULL, NULL);
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
	clean();
	setenv("LSB_JOBID", "77", 1);
	setenv("LSB_DJOB_HOSTFILE", here("hosts"), 1);
	write_text(here("hosts"), "batch1\nh1\nh2\n");
	without_memory (m, 2, "LSF, no memory")
		m.rc = ask_all("lsf", &m.err);
	setenv("SLURM_JOB_ID", "42", 1);
	setenv("SLURM_JOB_NODELIST", "h[1-2]", 1);
	prints("scontrol", "JobId=42 TimeLimit=1 EndTime=2026-11-21T10:00:00 "
			   "NodeList=h[1-2]\n");
	prints("sinfo", "h[1-2] down\n");
	without_memory (x, 2, "SLURM, no memory")
		x.rc = ask_all("slurm", &x.err);
}
