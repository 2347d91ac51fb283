/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_health.c - which nodes are healthy.  Nodes are played by a mock ssh, which
 * runs the command on this machine, and by a helper whose answer depends on the
 * name of the node.
 */
#include "site/health.h"

#include <sys/mount.h>

#include "clock.h"
#include "hostlist.h"
#include "json.h"
#include "remote/remote.h"
#include "scratch.h"
#include "site/job.h"

/* --- On the node --- */

/* What the last test of a directory said. */
static struct buf said;

/* Is this the state of a directory?  `spare`: so much must be free. */
static void
state_is(const char *path, uint64_t bytes, bool spare, enum health_use use,
	 enum health_state want, const char *what)
{
	const struct health_dir d = { .path = path, .bytes = bytes };
	const struct health_test t = { .free = spare, .use = use };

	buf_clear(&said);
	is_int(health_test_dir(&t, &d, &said), want, what);
}

#define RUN HEALTH_RUN
#define READ HEALTH_READ

static void
test_dirs(void)
{
	const uint64_t exa = UINT64_C(1) << 60;
	const char *dir = here("a/b"), *file = here("file");

	state_is(dir, 0, false, READ, HEALTH_MISSING, "nothing to be read");
	ok(!exists(dir), "... which is not made");
	is_str(said.data,
	       fmt(HEALTH_FAIL "missing: %s: No such file or directory\n", dir),
	       "... why");
	state_is(dir, 1 << 20, false, RUN, HEALTH_OK, "for a run it is made");
	ok(exists(dir), "... and stays");
	ok(rmdir(dir) == 0 && mkdir(dir, 0700) == 0, "... empty");
	state_is(dir, exa, false, RUN, HEALTH_SMALL, "nothing is that large");
	ok(strstr(said.data, "1.0 EiB needed") != NULL, "... it is said");
	state_is(dir, exa, false, READ, HEALTH_OK, "... no harm to a reader");
	state_is(dir, 1, true, RUN, HEALTH_OK, "a byte is free");
	write_text(file, "");
	state_is(file, 0, false, RUN, HEALTH_MISSING, "a file in its place");
	state_is("a/b", 0, false, RUN, HEALTH_MISSING, "a relative path");
	ok(strstr(said.data, "not an absolute path") != NULL, "... it is said");
	state_is("/proc/none/x", 0, false, RUN, HEALTH_MISSING, "no directory");
	state_is("/proc/self", 0, false, READ, HEALTH_OK, "read-only");
	state_is("/sys/kernel", 0, false, RUN, HEALTH_UNWRITABLE, "... write");
}

/* A small file system that runs full; root only. */
static void
test_full(void)
{
	const char *dir = here("small");
	static char block[1 << 20];

	must(mkdir(dir, 0777) == 0);
	if (mount("none", dir, "tmpfs", 0, "size=256k") < 0) {
		skip("a full file system", strerror(errno));
		rmdir(dir);
		return;
	}
	state_is(dir, 200 << 10, false, RUN, HEALTH_OK, "small, large enough");
	state_is(dir, 1 << 20, false, RUN, HEALTH_SMALL, "... not enough");
	write_file(fmt("%s/x", dir), block, 192 << 10);
	state_is(dir, 200 << 10, false, RUN, HEALTH_OK, "a part is taken");
	state_is(dir, 200 << 10, true, RUN, HEALTH_FULL, "... must be free");
	write_file(fmt("%s/y", dir), block, 64 << 10);
	state_is(dir, 200 << 10, false, RUN, HEALTH_FULL, "a full one");
	ok(strstr(said.data, "No space left on device") != NULL, "... why");
	state_is(dir, 200 << 10, false, READ, HEALTH_OK, "... can be read");
	must(mount("none", dir, "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0);
	state_is(dir, 0, false, RUN, HEALTH_UNWRITABLE, "a read-only one");
	must(umount(dir) == 0);
}

/* --- Many nodes --- */

static const char stub_ssh[] =
	"#!/bin/sh\n"
	"while :; do case $1 in\n"
	"-o|-l|-p) shift 2;; -*) shift;; *) break;; esac; done\n"
	"NODE=$1; export NODE; shift\n"
	"case $NODE in\n"
	"refuse*) echo 'ssh: connect to host: Connection refused' >&2\n"
	"  exit 255;;\n"
	"dead*) exec sleep 60;;\n"
	"esac\n"
	"exec sh -c \"$*\"\n";

static const char stub_helper[] =
	"#!/bin/sh\n"
	"echo \"$NODE $*\" >>\"${0%/*}/asked\"\n"
	"echo 'Welcome to this machine'\n"
	"case $NODE in\n"
	"full*) echo 'scr_check_node: FAIL: full: /ssd: No space left'\n"
	"  exit 1;;\n"
	"worse*) echo 'scr_check_node: FAIL: full: /ssd: No space left'\n"
	"  echo 'scr_check_node: FAIL: missing: /x: gone'; exit 1;;\n"
	"odd*) echo 'oh dear' >&2; exit 7;;\n"
	"esac\n"
	"echo 'scr_check_node: PASS'\n";

static void
script(const char *name, const char *text)
{
	write_text(here("%s", name), text);
	must(chmod(here("%s", name), 0755) == 0);
}

/* The job and its nodes, and what came of the check. */
static struct {
	struct job job;
	struct health_options o;
	struct remote_options remote;
	struct hostlist down;
	struct health h;
} s;

static void
close_scene(void)
{
	health_free(&s.h);
	hostlist_free(&s.down);
	job_close(&s.job);
}

static void
open_scene(const char *nodes)
{
	const struct job_where w = { .prefix = scratch_root,
				     .nodes = nodes,
				     .user = "me",
				     .job_id = "1",
				     .resmgr = "none" };

	close_scene();
	memset(&s, 0, sizeof(s));
	must(job_open(&s.job, &w, NULL) == 0);
	must(job_nodes(&s.job, NULL) == 0);
	s.remote.kind = REMOTE_SSH;
	s.remote.limit = s.remote.connect = 1;
	s.o = (struct health_options){ .down = &s.down,
				       .helper = here("helper"),
				       .remote = &s.remote };
}

static int
ask(struct error *err)
{
	health_free(&s.h);
	return health_check(&s.job, &s.job.nodes, &s.o, &s.h, err);
}

static void
test_nodes(void)
{
	static const struct {
		const char *node, *why;
		enum health_state state, to_read;
	} want[] = {
		{ "good1", "", HEALTH_OK, HEALTH_OK },
		{ "full1", "full: /ssd: No space left", HEALTH_FULL,
		  HEALTH_FULL },
		{ "worse1", "full: /ssd: No space left; missing: /x: gone",
		  HEALTH_MISSING, HEALTH_MISSING },
		{ "odd1", "its check failed, status 7: oh dear",
		  HEALTH_UNREACHABLE, HEALTH_UNREACHABLE },
		{ "refuse1", NULL, HEALTH_UNREACHABLE, HEALTH_UNREACHABLE },
		{ "dead1", NULL, HEALTH_UNREACHABLE, HEALTH_UNREACHABLE },
		{ "good2", "User excluded via SCR_EXCLUDE_NODES",
		  HEALTH_EXCLUDED, HEALTH_OK },
		{ "dead2", "User excluded via SCR_EXCLUDE_NODES",
		  HEALTH_EXCLUDED, HEALTH_EXCLUDED },
		{ "good3", "Specified as down", HEALTH_SPECIFIED,
		  HEALTH_SPECIFIED },
	};
	const size_t count = COUNT(want);
	auto_buf asked = BUF_INIT, text = BUF_INIT;
	auto_hostlist bad;
	double from = 0;

	open_scene("good1,full1,worse1,odd1,refuse1,dead1,good2,dead2,"
		   "good3");
	must(hostlist_add(&s.down, "good3", NULL) == 0);
	from = clock_seconds();
	is_int(ask(NULL), 0, "nodes are asked");
	ok(clock_seconds() - from < 8, "... a dead one holds nobody up");
	for (size_t i = 0; i < count; i++) {
		is_int(s.h.nodes[i].state, want[i].state, want[i].node);
		if (want[i].why != NULL)
			is_str(s.h.nodes[i].why, want[i].why, "... why");
		else
			ok(s.h.nodes[i].why[0] != '\0', s.h.nodes[i].why);
	}
	bad = (struct hostlist)HOSTLIST_INIT;
	must(health_bad_nodes(&s.h, &s.job.nodes, HEALTH_RUN, &bad, NULL) == 0);
	must(hostlist_text(&bad, &text, NULL) == 0);
	is_str(text.data, "full1,worse1,odd1,refuse1,dead1,good2,dead2,good3",
	       "those that are no good");
	buf_clear(&text);
	json_free(health_json(&s.h, &s.job.nodes, HEALTH_RUN));
	is_int(health_reasons(&s.h, &s.job.nodes, HEALTH_READ, &text, NULL), 0,
	       "reasons");
	ok(strstr(text.data, "good3: Specified as down\n") != NULL &&
		   strstr(text.data, "full1") == NULL,
	   "... without a full node for a reader");
	read_whole(here("asked"), &asked);
	ok(strstr(asked.data, "good1 check-node --cntl /shm:0 --cache "
			      "/ssd with blank:0\n") != NULL,
	   "the command, a path with a blank");
	ok(strstr(asked.data, "good2") == NULL &&
		   strstr(asked.data, "good3") == NULL,
	   "those known to be bad are not asked");
	s.o.use = HEALTH_READ;
	is_int(ask(NULL), 0, "asked for reading");
	for (size_t i = 0; i < count; i++)
		is_int(s.h.nodes[i].state, want[i].to_read, want[i].node);
	ok(strncmp(s.h.nodes[7].why, "User excluded via SCR_EXCLUDE_NODES; ",
		   37) == 0,
	   s.h.nodes[7].why);
}

int
main(void)
{
	setenv("SCRKIT_SYSTEM_CONF", "/nonexistent", 1);
	scratch_new();
	setenv("PATH", fmt("%s:/usr/bin:/bin", scratch_root), 1);
	script("ssh", stub_ssh);
	script("helper", stub_helper);
	test_dirs();
	test_full();
	setenv("SCR_EXCLUDE_NODES", "good2,dead2", 1);
	setenv("SCR_CNTL_BASE", "/shm", 1);
	setenv("SCR_CACHE_BASE", "/ssd with blank", 1);
	test_nodes();
	unsetenv("SCR_CNTL_BASE");
	unsetenv("SCR_CACHE_BASE");
	setenv("SCR_EXCLUDE_NODES", "a[1-", 1);
	open_scene("good1");
	refuses(ask(&why), ERROR_USAGE, "SCR_EXCLUDE_NODES from environment",
		"an exclude list that is none");
	unsetenv("SCR_EXCLUDE_NODES");
	open_scene("good1");
	setenv("PATH", "/nonexistent", 1);
	refuses(ask(&why), ERROR_ABSENT, NULL, "no way to reach nodes");
	setenv("PATH", fmt("%s:/usr/bin:/bin", scratch_root), 1);
	open_scene("good1");
	s.o.down = &s.job.nodes; /* so no node is probed */
	without_memory (m, 2, "no memory")
		m.rc = ask(&m.err);
	close_scene();
	buf_free(&said);
	return tap_done();
}
