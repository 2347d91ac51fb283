/* SPDX-License-Identifier: BSD-3-Clause */
/* Several ways to a node: which one reaches it, what is learned, and what the
 * failures tell; and nodes that print too much. */
#include "remote/remote.h"

#include <stdlib.h>

#include "remotetest.h"
#include "str.h"

/* Choose the ways to the nodes of a run. */
static void
resolve(struct scene_run *s)
{
	struct hostlist h;

	h = (struct hostlist)HOSTLIST_INIT;
	must(hostlist_add(&h, "a,b", NULL) == 0);
	must(remote_resolve(&h, &s->o, NULL, NULL) == 0);
	hostlist_free(&h);
}

/* How often does the log of the stubs contain `words`? */
static size_t
logged(const char *words)
{
	struct buf log = BUF_INIT;
	size_t n = 0;

	read_whole(getenv("STUB_LOG"), &log);
	for (const char *p = log.data; p != NULL; n += p != NULL) {
		p = strstr(p, words);
		p = p != NULL ? p + strlen(words) : NULL;
	}
	buf_free(&log);
	return n;
}

static void
test_next_way(void)
{
	struct scene_run s = {
		.o = { .around = REMOTE_SRUN, .connect = 0.6, .polite = 0.2 }
	};
	double first = 0;

	resolve(&s);
	write_text(getenv("STUB_LOG"), "");
	is_int(run_line(&s, "ok1,nosrun1,refuse1,mute[1-3],mix1", "echo hi"), 0,
	       "srun, then ssh");
	is_str(out_of(&s.r[0]), "hi\n", "srun reaches a node");
	ok(came(&s.r[1], REMOTE_DONE, 0, NULL), "ssh reaches one");
	is_str(out_of(&s.r[1]), "hi\n", "its output is that of one attempt");
	is_str(err_of(&s.r[1]), "", "without srun's words");
	ok(came(&s.r[2], REMOTE_REFUSED, -1, "srun: ssh: connect"),
	   "why srun does not");
	ok(came(&s.r[2], REMOTE_REFUSED, -1,
		have_pdsh() ? "; pdsh: ssh: connect" : "; ssh: ssh: connect"),
	   "nor ssh");
	for (size_t i = 3; i < 6; i++)
		ok(came(&s.r[i], REMOTE_TIMEOUT, -1, "no answer") &&
			   remote_is_dead(&s.r[i]),
		   "no sign of life: dead");
	ok(came(&s.r[6], REMOTE_REFUSED, -1, "Permission denied") &&
		   !remote_is_dead(&s.r[6]),
	   "one sign of life: not dead");
	/* Two attempts by each of two ways, with three pauses. */
	ok(s.seconds < 4 * 0.9 + 3 + 3, fmt("all side by side: %f", s.seconds));
	is_int((int64_t)logged("--nodelist=nosrun1"), 2, "srun asked twice");
	first = s.seconds;

	write_text(getenv("STUB_LOG"), "");
	is_int(run_line(&s, "ok1,nosrun1", "echo hi"), 0, "again");
	ok(came(&s.r[1], REMOTE_DONE, 0, NULL), "ssh reaches it");
	is_int((int64_t)logged("--nodelist=nosrun1"), 0, "at once");
	ok(s.seconds < 1 && first > 1, "without a pause");
	remote_forget(&s.o);
}

static void
test_once_more(void)
{
	struct scene_run s = { .o = { .kind = REMOTE_SSH } };

	resolve(&s);
	is_int(run_line(&s, "shy1,refuse1", "echo hi"), 0, "only ssh");
	ok(came(&s.r[0], REMOTE_DONE, 0, NULL), "it is asked once more");
	ok(came(&s.r[1], REMOTE_REFUSED, -1, "ssh: connect to host refuse1"),
	   "a reason without the name of the only way");
	is_int(run_line(&s, "broken1", "echo x; kill -9 $PPID"), 0,
	       "one that began");
	ok(came(&s.r[0], REMOTE_KILLED, -1, "cut off") && s.r[0].begun &&
		   !remote_is_dead(&s.r[0]),
	   "is not started again");
	is_str(out_of(&s.r[0]), "x\n", "what it did say");
	remote_forget(&s.o);
}

/* A launcher of another version, or built otherwise. */
static void
test_old(void)
{
	struct scene_run s = { .o = { .kind = REMOTE_SRUN } };
	struct scene_run p = { .o = { .kind = REMOTE_PDSH } };

	setenv("OLD_SRUN", "1", 1);
	resolve(&s);
	is_int(run_line(&s, "a", "echo hi"), 0, "srun without --overlap");
	is_str(out_of(&s.r[0]), "hi\n", "runs");
	write_text(getenv("STUB_LOG"), "");
	is_int(run_line(&s, "a", "echo hi"), 0, "again");
	is_int((int64_t)logged("--overlap"), 0, "that is remembered");
	remote_forget(&s.o);
	unsetenv("OLD_SRUN");

	if (!have_pdsh()) {
		skip("pdsh without its module exec", "pdsh is not installed");
		return;
	}
	remote_play("pdsh",
		    "#!/bin/sh\n"
		    "case \" $* \" in *' -R exec '*)\n"
		    "	echo 'pdsh@here: No such rcmd module \"exec\"' >&2\n"
		    "	exit 1 ;;\n"
		    "esac\n"
		    "pdsh=$(PATH=/usr/bin:/usr/local/bin "
		    "command -v pdsh)\n"
		    "exec \"$pdsh\" \"$@\"\n");
	resolve(&p);
	is_int(run_line(&p, "a,b", "echo hi"), 0, "pdsh without its module");
	is_str(out_of(&p.r[1]), "hi\n", "runs by its module ssh");
	remote_play_no_more("pdsh");
	remote_forget(&p.o);
}

static void
test_talk(enum remote_kind kind)
{
	struct scene_run s = {
		.o = { .kind = kind, .idle = 30, .polite = 0.2, .keep = 20000 }
	};

	is_int(run_line(&s, "a,b,c,ok1",
			"case $NODE in\n"
			"a) yes | head -c 200000; sleep 20 ;;\n"
			"b) yes | head -c 200000 >&2; sleep 20 ;;\n"
			"c) echo begin >&2; seq 10000 >&2; echo end >&2 ;;\n"
			"esac"),
	       0, remote_kind_name(kind));
	for (size_t i = 0; i < 2; i++)
		ok(came(&s.r[i], REMOTE_KILLED, -1,
			"printed more than 78 KiB: ended"),
		   "one that prints without end is ended");
	ok(came(&s.r[2], REMOTE_DONE, 0, NULL), "one that prints much is not");
	ok(str_starts(err_of(&s.r[2]), "begin\n1\n2\n"), "its first lines");
	ok(str_ends(err_of(&s.r[2]), "9999\n10000\nend\n"), "its last lines");
	ok(s.r[2].err.len <= 20000 && s.r[2].cut, "not what is between");
	ok(came(&s.r[3], REMOTE_DONE, 0, NULL), "the others do it");
	ok(s.seconds < 8, "soon");
}

int
main(void)
{
	remote_setup();
	test_next_way();
	test_once_more();
	test_old();
	test_talk(REMOTE_SSH);
	test_talk(REMOTE_SRUN);
	if (have_pdsh())
		test_talk(REMOTE_PDSH);
	remote_leave();
	return tap_done();
}
