/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of any content arrive unchanged. */
#include "remote/remote.h"

#include <stdlib.h>

#include "remotetest.h"
#include "str.h"

/* Parts of real paths, and attacks. */
static const char *const nasty[] = {
	"/tmp/x/run 5",
	"it's",
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

#define COUNT (sizeof(nasty) / sizeof(nasty[0]))

/* printf prints each argument, followed by a mark that none contains: the nasty
 * ones, and every byte between others. */
static void
check(struct scene_run *s, const char *what, bool newline)
{
	char texts[255][4];
	const char *argv[COUNT + 255 + 3] = { "printf", "<%s>\\n" };
	struct buf want = BUF_INIT;
	size_t n = 2;

	for (size_t i = 0; i < COUNT; i++)
		argv[n++] = nasty[i];
	for (int c = 1; c < 256; c++) {
		if (c == '\n' && !newline)
			continue;
		snprintf(texts[c - 1], 4, "%c%c%c", c, 'x', c);
		argv[n++] = texts[c - 1];
	}
	for (size_t i = 2; i < n; i++)
		must(buf_printf(&want, "<%s>\n", argv[i]) == 0);
	is_int(run_on(s, "b1,c", argv), 0, what);
	for (size_t i = 0; i < s->nodes.count; i++) {
		ok(came(&s->r[i], REMOTE_DONE, 0, NULL), "it is done");
		is_int((int64_t)s->r[i].out.len, (int64_t)want.len,
		       "all bytes");
		is_str(out_of(&s->r[i]), want.data, "all arguments arrive");
	}
	buf_free(&want);
}

/* An unfinished line of a dying node is not joined with another node's line. */
static void
test_glue(void)
{
	struct scene_run s = { .o = { .kind = REMOTE_PDSH, .connect = 10 } };
	bool whole = true;

	is_int(run_line(&s, "broken1,n2,n3,broken4,n5,n6",
			"case $NODE in\n"
			"broken*) printf half; sleep 0.1; kill -9 $PPID ;;\n"
			"*) for i in 1 2 3; do echo $NODE.$i; "
			"sleep 0.1; done ;;\n"
			"esac"),
	       0, "two nodes die in the middle of a line");
	for (size_t i = 0; i < s.nodes.count; i++) {
		const char *name = s.nodes.names[i];

		if (str_starts(name, "broken"))
			ok(came(&s.r[i], REMOTE_KILLED, -1, "closed by"), name);
		else
			whole = whole && came(&s.r[i], REMOTE_DONE, 0, NULL) &&
				str_starts(out_of(&s.r[i]),
					   fmt("%s.1\n", name)) &&
				str_ends(out_of(&s.r[i]),
					 fmt("%s.2\n%s.3\n", name, name));
	}
	ok(whole, "and the others lose nothing");
}

int
main(void)
{
	static const struct {
		const char *name;
		size_t shells; /* login shells that read the line; 0: none */
	} ways[] = { { "local", 0 },	{ "ssh", 7 },  { "srun", 0 },
		     { "mpiexec", 0 },	{ "pdsh", 7 }, { "pdsh:ssh", 1 },
		     { "pdsh:exec", 0 } };
	static const char *const shells[] = { "/bin/sh",      "/bin/bash",
					      "/bin/tcsh",    "/bin/csh",
					      "/bin/ksh",     "/bin/zsh",
					      "/usr/bin/fish" };

	remote_setup();
	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
		struct scene_run s = { .o = { .kind = REMOTE_AUTO } };

		must(remote_choose(ways[w].name, &s.o, NULL) == 0);
		if (s.o.kind == REMOTE_PDSH && !have_pdsh()) {
			skip(ways[w].name, "pdsh is not installed");
			continue;
		}
		if (ways[w].shells == 0)
			check(&s, ways[w].name, true);
		for (size_t i = 0; i < ways[w].shells; i++) {
			const char *what =
				fmt("%s, %s", ways[w].name, shells[i]);

			if (access(shells[i], X_OK) != 0) {
				skip(what, "not installed");
				continue;
			}
			setenv("LOGIN", shells[i], 1);
			check(&s, what, strstr(shells[i], "csh") == NULL);
			unsetenv("LOGIN");
		}
	}
	if (have_pdsh())
		test_glue();
	remote_leave();
	return tap_done();
}
