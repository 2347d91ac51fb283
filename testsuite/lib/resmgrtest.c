/* SPDX-License-Identifier: BSD-3-Clause */
#include "resmgrtest.h"

char resmgr_root[128];

struct resmgr *rm;

const char *
file(const char *name)
{
	return fmt("%s/%s", resmgr_root, name);
}

void
clean(void)
{
	resmgr_close(rm);
	rm = NULL;
	clearenv();
	scratch_dir(resmgr_root, sizeof(resmgr_root));
	must(mkdir(file("bin"), 0777) == 0);
	must(setenv("PATH", fmt("%s:/usr/bin:/bin", file("bin")), 1) == 0);
	must(setenv("TZ", "UTC", 1) == 0);
	tzset();
}

void
command(const char *name, const char *script)
{
	const char *path = file(fmt("bin/%s", name));

	write_text(path, fmt("#!/bin/sh\nprintf '%%s\\n' \"$*\" >>%s\n%s\n",
			     file(fmt("%s.args", name)), script));
	must(chmod(path, 0755) == 0);
}

void
prints(const char *name, const char *text)
{
	write_text(file(fmt("%s.out", name)), text);
	command(name, fmt("cat %s", file(fmt("%s.out", name))));
}

bool
called(const char *name, const char *words)
{
	struct buf args = BUF_INIT;
	bool good = false;

	if (exists(file(fmt("%s.args", name)))) {
		read_whole(file(fmt("%s.args", name)), &args);
		good = args.len > 0 && strstr(args.data, words) != NULL;
		if (!good)
			printf("# called: %s\n", args.data);
	}
	buf_free(&args);
	return good;
}

void
open_with(const struct conf *c, const char *name)
{
	struct error err = ERROR_INIT;

	resmgr_close(rm);
	rm = resmgr_open(c, name, &err);
	if (rm == NULL)
		printf("# %s\n", err.text);
	must(rm != NULL);
}

void
open_as(const char *name)
{
	open_with(NULL, name);
}

const char *
nodes_of(void)
{
	struct error err = ERROR_INIT;
	struct buf text = BUF_INIT;
	struct hostlist h;
	const char *got = NULL;

	h = (struct hostlist)HOSTLIST_INIT;
	if (resmgr_nodes(rm, &h, &err) < 0) {
		got = fmt("!%s", err.text);
		ok(err.kind == ERROR_ABSENT, "an honest error");
	} else {
		must(hostlist_plain(&h, ",", &text, NULL) == 0);
		got = fmt("%s", text.data);
	}
	buf_free(&text);
	hostlist_free(&h);
	return got;
}

const char *
down_of(const char *among)
{
	struct hostlist nodes, down;
	struct buf text = BUF_INIT;
	const char *got = NULL;

	nodes = (struct hostlist)HOSTLIST_INIT;
	down = (struct hostlist)HOSTLIST_INIT;
	must(hostlist_add(&nodes, among, NULL) == 0);
	must(hostlist_add(&down, "stale", NULL) == 0);
	must(resmgr_down(rm, &nodes, &down, NULL) == 0);
	must(hostlist_plain(&down, ",", &text, NULL) == 0);
	got = fmt("%s", text.len > 0 ? text.data : "");
	buf_free(&text);
	hostlist_free(&down);
	hostlist_free(&nodes);
	return got;
}

int64_t
end_of(void)
{
	int64_t epoch = 77;

	must(resmgr_end_time(rm, &epoch, NULL) == 0);
	return epoch;
}

bool
from_now(int64_t epoch, int64_t seconds)
{
	return epoch >= time(NULL) + seconds - 5 &&
	       epoch <= time(NULL) + seconds;
}

bool
notes(const char *words)
{
	const char *text = resmgr_notice(rm);

	if (text != NULL && strstr(text, words) != NULL)
		return true;
	printf("# notice: %s\n", text != NULL ? text : "(none)");
	return false;
}
