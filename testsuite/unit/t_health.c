/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_health.c - which nodes are healthy.  Nodes are played by a mock ssh, which
 * runs the command on this machine, and by a helper whose answer depends on the
 * name of the node.
 */
#include "site/health.h"

#include <errno.h>
#include <sys/mount.h>
#include <time.h>

#include "arena.h"
#include "hostlist.h"
#include "json.h"
#include "remote/remote.h"
#include "scratch.h"
#include "site/job.h"

static char root[128];

/* --- On the node --- */

static int
test_one(const char *path, uint64_t bytes, bool spare, enum health_use use,
	 struct buf *out)
{
	const struct health_dir d = { .path = path, .bytes = bytes };
	const struct health_test t = { .free = spare, .use = use };

	buf_clear(out);
	return health_test_dir(&t, &d, out);
}

static void
test_dirs(void)
{
	struct buf out = BUF_INIT;
	const char *dir = fmt("%s/a/b", root), *file = fmt("%s/file", root);

	is_int(test_one(dir, 0, false, HEALTH_READ, &out), HEALTH_MISSING,
	       "nothing to be read from a directory that is not there");
	ok(!exists(dir), "... which is not made");
	is_str(out.data,
	       fmt(HEALTH_FAIL "missing: %s: No such file or directory\n", dir),
	       "... why");
	is_int(test_one(dir, 1 << 20, false, HEALTH_RUN, &out), HEALTH_OK,
	       "for a run it is made");
	ok(exists(dir), "... and stays");
	ok(rmdir(dir) == 0 && mkdir(dir, 0700) == 0, "... empty");
	is_int(test_one(dir, UINT64_C(1) << 60, false, HEALTH_RUN, &out),
	       HEALTH_SMALL, "no file system is that large");
	ok(strstr(out.data, "1.0 EiB needed") != NULL, "... it is said");
	is_int(test_one(dir, UINT64_C(1) << 60, false, HEALTH_READ, &out),
	       HEALTH_OK, "... which is no harm to a reader");
	is_int(test_one(dir, 1, true, HEALTH_RUN, &out), HEALTH_OK,
	       "a byte is free");
	write_text(file, "");
	is_int(test_one(file, 0, false, HEALTH_RUN, &out), HEALTH_MISSING,
	       "a file in its place");
	is_int(test_one(fmt("%s/x", file), 0, false, HEALTH_RUN, &out),
	       HEALTH_MISSING, "a file above it");
	is_int(test_one("a/b", 0, false, HEALTH_RUN, &out), HEALTH_MISSING,
	       "a relative path");
	ok(strstr(out.data, "not an absolute path") != NULL, "... it is said");
	is_int(test_one("/proc/none/x", 0, false, HEALTH_RUN, &out),
	       HEALTH_MISSING, "where nothing can be made");
	is_int(test_one("/proc/self", 0, false, HEALTH_READ, &out), HEALTH_OK,
	       "a read-only place can be read");
	ok(test_one("/sys/kernel", 0, false, HEALTH_RUN, &out) ==
		   HEALTH_UNWRITABLE,
	   "... but not written");
	buf_free(&out);
}

/* A small file system that runs full; root only. */
static void
test_full(void)
{
	const char *dir = fmt("%s/small", root);
	static char block[1 << 20];
	struct buf out = BUF_INIT;

	must(mkdir(dir, 0777) == 0);
	if (mount("none", dir, "tmpfs", 0, "size=256k") < 0) {
		skip("a full file system", strerror(errno));
		rmdir(dir);
		return;
	}
	is_int(test_one(dir, 200 << 10, false, HEALTH_RUN, &out), HEALTH_OK,
	       "a small file system, large enough");
	is_int(test_one(dir, 1 << 20, false, HEALTH_RUN, &out), HEALTH_SMALL,
	       "... not large enough");
	write_file(fmt("%s/x", dir), block, 192 << 10);
	is_int(test_one(dir, 200 << 10, false, HEALTH_RUN, &out), HEALTH_OK,
	       "a part of it is taken");
	is_int(test_one(dir, 200 << 10, true, HEALTH_RUN, &out), HEALTH_FULL,
	       "... when that much had to be free");
	write_file(fmt("%s/y", dir), block, 64 << 10);
	is_int(test_one(dir, 200 << 10, false, HEALTH_RUN, &out), HEALTH_FULL,
	       "a full one");
	ok(strstr(out.data, "No space left on device") != NULL, "... why");
	is_int(test_one(dir, 200 << 10, false, HEALTH_READ, &out), HEALTH_OK,
	       "... can be read");
	must(mount("none", dir, "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0);
	is_int(test_one(dir, 0, false, HEALTH_RUN, &out), HEALTH_UNWRITABLE,
	       "a read-only one");
	must(umount(dir) == 0);
	buf_free(&out);
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
	write_text(fmt("%s/%s", root, name), text);
	must(chmod(fmt("%s/%s", root, name), 0755) == 0);
}

struct scene {
	struct job job;
	struct health_options o;
	struct remote_options remote;
	struct hostlist down;
	struct health h;
};

static void
open_scene(struct scene *s, const char *nodes)
{
	const struct job_where w = { .prefix = root,
				     .nodes = nodes,
				     .user = "me",
				     .job_id = "1",
				     .resmgr = "none" };

	memset(s, 0, sizeof(*s));
	must(job_open(&s->job, &w, NULL) == 0);
	must(job_nodes(&s->job, NULL) == 0);
	s->down = (struct hostlist)HOSTLIST_INIT;
	s->remote.kind = REMOTE_SSH;
	s->remote.limit = s->remote.connect = 1;
	s->o = (struct health_options){ .down = &s->down,
					.helper = fmt("%s/helper", root),
					.remote = &s->remote };
}

static void
close_scene(struct scene *s)
{
	health_free(&s->h);
	hostlist_free(&s->down);
	job_close(&s->job);
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
	const size_t count = sizeof(want) / sizeof(want[0]);
	struct buf asked = BUF_INIT, text = BUF_INIT;
	struct hostlist bad;
	struct scene s;
	struct timespec from, to;

	open_scene(&s, "good1,full1,worse1,odd1,refuse1,dead1,good2,dead2,"
		       "good3");
	must(hostlist_add(&s.down, "good3", NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	is_int(health_check(&s.job, &s.job.nodes, &s.o, &s.h, NULL), 0,
	       "nodes are asked");
	clock_gettime(CLOCK_MONOTONIC, &to);
	ok(to.tv_sec - from.tv_sec < 8, "... a dead one holds nobody up");
	for (size_t i = 0; i < count; i++) {
		is_int(s.h.nodes[i].state, want[i].state, want[i].node);
		if (want[i].why != NULL)
			is_str(s.h.nodes[i].why, want[i].why, "... why");
		else
			ok(s.h.nodes[i].why[0] != '\0', s.h.nodes[i].why);
	}
	bad = (struct hostlist)HOSTLIST_INIT;
	is_int(health_bad_nodes(&s.h, &s.job.nodes, HEALTH_RUN, &bad, NULL), 0,
	       "those that are no good");
	is_int((int64_t)bad.count, 8, "... all but one");
	for (size_t i = 0; i < bad.count; i++)
		ok(strcmp(bad.names[i], "good1") != 0, bad.names[i]);
	is_int(health_reasons(&s.h, &s.job.nodes, HEALTH_READ, &text, NULL), 0,
	       "reasons");
	ok(strstr(text.data, "good3: Specified as down\n") != NULL &&
		   strstr(text.data, "full1") == NULL,
	   "... without a full node for a reader");
	json_free(health_json(&s.h, &s.job.nodes, HEALTH_RUN));
	read_whole(fmt("%s/asked", root), &asked);
	ok(strstr(asked.data, "good1 check-node --cntl /shm:0 --cache "
			      "/ssd with blank:0\n") != NULL,
	   "the command, a path with a blank");
	ok(strstr(asked.data, "good2") == NULL &&
		   strstr(asked.data, "good3") == NULL,
	   "those known to be bad are not asked");
	health_free(&s.h);
	s.o.use = HEALTH_READ;
	is_int(health_check(&s.job, &s.job.nodes, &s.o, &s.h, NULL), 0,
	       "asked for reading");
	for (size_t i = 0; i < count; i++)
		is_int(s.h.nodes[i].state, want[i].to_read, want[i].node);
	ok(strncmp(s.h.nodes[7].why, "User excluded via SCR_EXCLUDE_NODES; ",
		   37) == 0,
	   s.h.nodes[7].why);
	hostlist_free(&bad);
	buf_free(&asked);
	buf_free(&text);
	close_scene(&s);
}

static void
test_errors(void)
{
	struct error err = ERROR_INIT;
	struct scene s;

	setenv("SCR_EXCLUDE_NODES", "a[1-", 1);
	open_scene(&s, "good1");
	is_int(health_check(&s.job, &s.job.nodes, &s.o, &s.h, &err), -1,
	       "an exclude list that is none");
	ok(err.kind == ERROR_USAGE &&
		   says(&err, "SCR_EXCLUDE_NODES from environment"),
	   err.text);
	close_scene(&s);
	unsetenv("SCR_EXCLUDE_NODES");
	open_scene(&s, "good1");
	setenv("PATH", "/nonexistent", 1);
	is_int(health_check(&s.job, &s.job.nodes, &s.o, &s.h, &err), -1,
	       "no way to reach nodes");
	is_int(err.kind, ERROR_ABSENT, err.text);
	close_scene(&s);
	setenv("PATH", fmt("%s:/usr/bin:/bin", root), 1);
}

static void
test_job_dirs(void)
{
	struct buf asked = BUF_INIT;
	struct scene s;

	write_text(fmt("%s/.scrconf", root),
		   "CNTLDIR=/shm BYTES=1GB\nCACHEDIR=/ssd BYTES=2GB\n");
	must(unlink(fmt("%s/asked", root)) == 0);
	open_scene(&s, "good1");
	is_int(health_check(&s.job, &s.job.nodes, &s.o, &s.h, NULL), 0,
	       "directories of a job");
	read_whole(fmt("%s/asked", root), &asked);
	ok(strstr(asked.data, "good1 check-node --cntl /shm:1073741824 "
			      "--cache /ssd:2147483648 --cache ") != NULL,
	   "... control and cache, with sizes in units");
	must(unlink(fmt("%s/.scrconf", root)) == 0);
	close_scene(&s);
	buf_free(&asked);
}

static void
test_words(void)
{
	ok(health_good(HEALTH_FULL, HEALTH_READ) &&
		   !health_good(HEALTH_FULL, HEALTH_RUN) &&
		   health_good(HEALTH_UNWRITABLE, HEALTH_READ) &&
		   !health_good(HEALTH_MISSING, HEALTH_READ) &&
		   !health_good(HEALTH_EXCLUDED, HEALTH_READ),
	   "a full or read-only node is good for reading");
	for (int i = 0; i < HEALTH_STATES; i++)
		ok(health_word((enum health_state)i) != NULL, "a word");
}

static int
check(void *arg, struct error *err)
{
	struct scene *s = arg;
	int rc = health_check(&s->job, &s->job.nodes, &s->o, &s->h, err);

	/* A command that cannot be started counts against its node only, not as
	 * an error. */
	health_free(&s->h);
	return rc;
}

int
main(void)
{
	struct scene s;

	setenv("SCRKIT_SYSTEM_CONF", "/nonexistent", 1);
	scratch_dir(root, sizeof(root));
	setenv("PATH", fmt("%s:/usr/bin:/bin", root), 1);
	script("ssh", stub_ssh);
	script("helper", stub_helper);
	test_words();
	test_dirs();
	test_full();
	setenv("SCR_EXCLUDE_NODES", "good2,dead2", 1);
	setenv("SCR_CNTL_BASE", "/shm", 1);
	setenv("SCR_CACHE_BASE", "/ssd with blank", 1);
	test_nodes();
	unsetenv("SCR_CNTL_BASE");
	unsetenv("SCR_CACHE_BASE");
	test_errors();
	test_job_dirs();
	open_scene(&s, "good1");
	s.o.down = &s.job.nodes; /* so no node is probed */
	ok(fails_well(check, NULL, &s), "no memory");
	close_scene(&s);
	remove_tree(root);
	return tap_done();
}
