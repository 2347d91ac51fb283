/* SPDX-License-Identifier: BSD-3-Clause */
/* Several ways to a node: which one reaches it, what is learned, and what the
 * failures tell; nodes that print too much; complaints of many nodes as few
 * lines. */
#include "remote/complaints.h"
#include "remotetest.h"

/* Choose the ways to the nodes of a run. */
static void
resolve(struct scene_run *s)
{
	auto_hostlist h;

	h = (struct hostlist)HOSTLIST_INIT;
	must(hostlist_add(&h, "a,b", NULL) == 0);
	must(remote_resolve(&h, &s->o, NULL, NULL) == 0);
}

/* How often does the log of the stubs contain `words`? */
static size_t
logged(const char *words)
{
	auto_buf log = BUF_INIT;
	size_t n = 0;

	read_whole(getenv("STUB_LOG"), &log);
	for (const char *p = log.data; p != NULL; n += p != NULL) {
		p = strstr(p, words);
		p = p != NULL ? p + strlen(words) : NULL;
	}
	return n;
}

TEST(next_way)
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
	ok(came(&s.r[2], REMOTE_REFUSED, -1, "; ssh: ssh: connect"), "nor ssh");
	for (size_t i = 3; i < 6; i++)
		ok(came(&s.r[i], REMOTE_TIMEOUT, -1, "no answer"),
		   "silence proves nothing");
	ok(came(&s.r[6], REMOTE_REFUSED, -1, "Permission denied"),
	   "one sign of life");
	/* Two attempts by each of two ways, with three pauses. */
	ok(s.seconds < 4 * 0.9 + 3 + 3, fmt("all side by side: %f", s.seconds));
	is_int(logged("--nodelist=nosrun1"), 2, "srun asked twice");
	first = s.seconds;

	write_text(getenv("STUB_LOG"), "");
	is_int(run_line(&s, "ok1,nosrun1", "echo hi"), 0, "again");
	ok(came(&s.r[1], REMOTE_DONE, 0, NULL), "ssh reaches it");
	is_int(logged("--nodelist=nosrun1"), 0, "at once");
	ok(s.seconds < 1 && first > 1, "without a pause");
	remote_forget(&s.o);
}

TEST(once_more)
{
	struct scene_run s = { .o = { .kind = REMOTE_SSH } };

	resolve(&s);
	is_int(run_line(&s, "shy1,refuse1", "echo hi"), 0, "only ssh");
	ok(came(&s.r[0], REMOTE_DONE, 0, NULL), "it is asked once more");
	ok(came(&s.r[1], REMOTE_REFUSED, -1, "ssh: connect to host refuse1"),
	   "a reason without the name of the only way");
	is_int(run_line(&s, "broken1", "echo x; kill -9 $PPID"), 0,
	       "one that began");
	ok(came(&s.r[0], REMOTE_KILLED, -1, "cut off") && s.r[0].begun,
	   "is not started again");
	is_str(out_of(&s.r[0]), "x\n", "what it did say");
	remote_forget(&s.o);
}

/* 33.6: what is known of a node by two attempts, and what is said. */
TEST(signs)
{
	static const struct {
		const char *node;
		enum remote_state state;
		const char *words;
	} nodes[] = {
		{ "late1", REMOTE_DEAD, "ssh: connect to host late1" },
		{ "fade1", REMOTE_REFUSED,
		  "timed out during banner exchange; ssh: ssh: connect to" },
		{ "greet1", REMOTE_REFUSED, "no answer within 0.6 s" },
		{ "mute1", REMOTE_TIMEOUT, "no answer within 0.6 s" },
		/* Ended by what they print, not by the clock. */
		{ "flood1", REMOTE_REFUSED, "printed more than 1024 KiB" },
		{ "shout1", REMOTE_KILLED, "printed more than 1024 KiB" },
	};
	struct scene_run s = { .o = { .kind = REMOTE_SSH, .connect = 0.6 } };

	resolve(&s);
	is_int(run_line(&s, "late1,fade1,greet1,mute1", "echo hi"), 0,
	       "nodes that are not reached");
	for (size_t i = 0; i < 4; i++)
		ok(came(&s.r[i], nodes[i].state, -1, nodes[i].words),
		   nodes[i].node);
	s.o.connect = 60;
	is_int(run_line(&s, "flood1,shout1", "echo hi"), 0, "nor these");
	for (size_t i = 4; i < 6; i++)
		ok(came(&s.r[i - 4], nodes[i].state, -1, nodes[i].words),
		   nodes[i].node);
	ok(s.seconds < 50, "long before their time");
	remote_forget(&s.o);
}

TEST(components)
{
	struct scene_run s = { .o = { .kind = REMOTE_SRUN } };

	setenv("SLURM_JOB_NODELIST_HET_GROUP_0", "a[1-2]", 1);
	setenv("SLURM_JOB_NODELIST_HET_GROUP_1", "b1", 1);
	resolve(&s);
	write_text(getenv("STUB_LOG"), "");
	is_int(run_line(&s, "a2,b1,c", "echo hi"), 0,
	       "33.8 a heterogeneous job");
	is_int(logged("--het-group=0 --nodelist=a2"), 1, "one component");
	is_int(logged("--het-group=1 --nodelist=b1"), 1, "the other");
	is_int(logged("--het-group"), 2, "a node of neither");
	remote_forget(&s.o);
	unsetenv("SLURM_JOB_NODELIST_HET_GROUP_0");
	unsetenv("SLURM_JOB_NODELIST_HET_GROUP_1");
}

/* A launcher of another version. */
TEST(old)
{
	struct scene_run s = { .o = { .kind = REMOTE_SRUN } };

	setenv("OLD_SRUN", "1", 1);
	resolve(&s);
	is_int(run_line(&s, "a", "echo hi"), 0, "srun without --overlap");
	is_str(out_of(&s.r[0]), "hi\n", "runs");
	write_text(getenv("STUB_LOG"), "");
	is_int(run_line(&s, "a", "echo hi"), 0, "again");
	is_int(logged("--overlap"), 0, "that is remembered");
	remote_forget(&s.o);
	unsetenv("OLD_SRUN");
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
			"b) sleep 0.5; yes | head -c 200000 >&2; sleep 20 ;;\n"
			"c) echo begin >&2; seq 10000 >&2; echo end >&2 ;;\n"
			"esac"),
	       0, remote_kind_name(kind));
	for (size_t i = 0; i < 2; i++)
		ok(came(&s.r[i], REMOTE_KILLED, -1,
			"printed more than 78 KiB: ended"),
		   "one that prints without end is ended");
	ok(came(&s.r[2], REMOTE_DONE, 0, NULL), "one that prints much is not");
	ok(str_starts(err_of(&s.r[2]), "begin\n1\n2\n"), "its first lines");
	ok(s.r[2].err.len <= 20000 && s.r[2].cut, "not all of them");
	ok(came(&s.r[3], REMOTE_DONE, 0, NULL), "the others do it");
	ok(s.seconds < 8, "soon");
}

/* --- Arguments of any content arrive unchanged --- */

/* Parts of real paths, and attacks. */
static const char *const nasty[] = {
	"/tmp/x/run 5",
	"it's",
	"back\\'slash",
	"''",
	"\"quoted\"",
	"$HOME",
	"${HOME}",
	"$(touch /tmp/never)",
	"`touch /tmp/never`",
	"a;b&c|d<e>f(g)h{i,j}k[l]m",
	"~root",
	"*",
	"#no",
	"a\\b",
	"\\",
	"100%h",
	"!boo",
	"^x^y",
	"-n",
	"",
	" ",
	"\t",
	"two  blanks ",
	"umlaut \303\244",
	"\001\033[1m",
	"=ls",
	"@scr-0000000000000000:0",
};

/* printf prints each argument, followed by a mark that none contains: the nasty
 * ones, and every byte between others. */
static void
check(struct scene_run *s, const char *what, bool newline)
{
	char texts[255][4];
	const char *argv[COUNT(nasty) + 255 + 3] = { "printf", "<%s>\\n" };
	/* The first node gets one more. */
	const char *const more[] = { "it's 100%h of $x\\", NULL };
	auto_buf want = BUF_INIT;
	size_t n = 2;

	for (size_t i = 0; i < COUNT(nasty); i++)
		argv[n++] = nasty[i];
	for (int c = 1; c < 256; c++) {
		if (c == '\n' && !newline)
			continue;
		snprintf(texts[c - 1], 4, "%c%c%c", c, 'x', c);
		argv[n++] = texts[c - 1];
	}
	for (size_t i = 2; i < n; i++)
		must(buf_printf(&want, "<%s>\n", argv[i]) == 0);
	s->o.more = more;
	is_int(run_on(s, "b1,c", argv), 0, what);
	for (size_t i = 0; i < s->nodes.count; i++) {
		const size_t len = want.len;

		if (more[i] != NULL)
			must(buf_printf(&want, "<%s>\n", more[i]) == 0);
		ok(came(&s->r[i], REMOTE_DONE, 0, NULL), "it is done");
		is_int(s->r[i].out.len, want.len, "all bytes");
		is_str(out_of(&s->r[i]), want.data, "all arguments arrive");
		want.data[want.len = len] = '\0';
	}
}

TEST(quoting)
{
	static const struct {
		const char *name;
		size_t shells; /* login shells that read the line; 0: none */
	} ways[] = { { "local", 0 },
		     { "ssh", 7 },
		     { "srun", 0 },
		     { "mpiexec", 0 },
		     { "pdsh", 7 } };
	static const char *const shells[] = { "/bin/sh",      "/bin/bash",
					      "/bin/tcsh",    "/bin/csh",
					      "/bin/ksh",     "/bin/zsh",
					      "/usr/bin/fish" };

	each (t, ways) {
		struct scene_run s = { .o = { .kind = REMOTE_AUTO } };

		must(remote_choose(t->name, &s.o, NULL) == 0);
		if (s.o.kind == REMOTE_PDSH && !have_pdsh()) {
			skip(t->name, "pdsh is not installed");
			continue;
		}
		if (t->shells == 0)
			check(&s, t->name, true);
		for (size_t i = 0; i < t->shells; i++) {
			const char *what = fmt("%s, %s", t->name, shells[i]);

			if (access(shells[i], X_OK) != 0) {
				skip(what, "not installed");
				continue;
			}
			setenv("LOGIN", shells[i], 1);
			check(&s, what, strstr(shells[i], "csh") == NULL);
			unsetenv("LOGIN");
		}
	}
}

TEST(talking)
{
	test_talk(REMOTE_SSH);
	test_talk(REMOTE_SRUN);
	if (have_pdsh())
		test_talk(REMOTE_PDSH);
}

/* --- Complaints --- */

static void
note(struct complaints *c, const char *node, const char *text)
{
	complaints_add(c, node, text);
}

TEST(complaints_lines)
{
	struct complaints c = { .count = 0 };
	auto_buf out = BUF_INIT;

	complaints_take(&c, &out);
	is_int(out.len, 0, "no complaint, no line");
	note(&c, "n1", "host n1 port 22: Connection refused");
	note(&c, "n7", "no space, 1.5 GB of n70 is free");
	note(&c, "n3", "host n3 port 22: Connection refused");
	note(&c, "n2", "host n2 port 22: Connection refused");
	note(&c, "n2", "host n2 port 22: Connection refused");
	note(&c, "n4", "closed by 10.0.0.4 port 22");
	note(&c, "n5", "closed by 10.0.0.15 port 22");
	note(&c, "n6", "closed by 10.0.0 of n5");
	complaints_take(&c, &out);
	is_str(out.data,
	       "n[1,3,2]: host NODE port 22: Connection refused\n"
	       "n7: no space, 1.5 GB of n70 is free\n"
	       "n[4-5]: closed by ADDRESS port 22\n"
	       "n6: closed by 10.0.0 of n5\n",
	       "nodes with the same complaint share a line");
	buf_clear(&out);
	complaints_take(&c, &out);
	is_int(out.len, 0, "each is told once");
}

int
main(void)
{
	remote_setup();
	return tap_run();
}
