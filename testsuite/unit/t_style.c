/* SPDX-License-Identifier: BSD-3-Clause */
#include "style.h"

#include <sys/ioctl.h>

#include "scratch.h"

static const struct {
	const char *name;
	bool color;
	unsigned width;
	const char *text, *want;
} cases[] = {
	{ "a pipe", false, 0, "DSET  whole  x\n", "DSET  whole  x\n" },
	{ "a state", true, 0, "   1 whole      2\n",
	  "   1 \033[32mwhole\033[0m      2\n" },
	{ "states at both ends of a line", true, 0, "lost\n   2 damaged\n",
	  "\033[31mlost\033[0m\n   2 \033[33mdamaged\033[0m\n" },
	{ "the first state only", true, 0, "   1 whole      lost\n",
	  "   1 \033[32mwhole\033[0m      lost\n" },
	{ "words that are not a column", true, 0,
	  "wholesale  a lost file  unlost\n",
	  "wholesale  a lost file  unlost\n" },
	{ "a line that fits", false, 30, "name      123456789 123456789x\n",
	  "name      123456789 123456789x\n" },
	{ "one that does not", false, 30, "name      123456789 123456789xy 3\n",
	  "name      123456789\n          123456789xy 3\n" },
	{ "three lines", false, 30,
	  "  node1   12345678901234567 890123456789012345 x y\n",
	  "  node1   12345678901234567\n          890123456789012345 x\n"
	  "          y\n" },
	{ "words that are too long", false, 30,
	  "a     12345678901234567890123456789 b "
	  "12345678901234567890123456789\n",
	  "a     12345678901234567890123456789\n      b\n"
	  "      12345678901234567890123456789\n" },
	{ "no columns", false, 30,
	  "a sentence that is longer than the terminal\n",
	  "a sentence that is longer than the terminal\n" },
	{ "a column that begins late, and padding", false, 30,
	  "12345678901234567890  34 567        90\n",
	  "12345678901234567890  34 567\n        90\n" },
	{ "a command", false, 30,
	  "  next: a  b   0123456789012345678901 23456789\n",
	  "  next: a  b   0123456789012345678901 23456789\n" },
	{ "escape sequences", false, 30,
	  "a   \033[1mb\033[0m   0123456789012345678901 23456789\n",
	  "a   \033[1mb\033[0m   0123456789012345678901 23456789\n" },
	{ "UTF-8", false, 30,
	  "\xc3\xa4    \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 3456789012345678x y\n",
	  "\xc3\xa4    \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 3456789012345678x y\n" },
	{ "a state, folded", true, 30, "   1 whole      12345678901234 x\n",
	  "   1 \033[32mwhole\033[0m      12345678901234\n"
	  "        x\n" },
	{ "a terminal of a few columns", false, 5, "a   b   c\n",
	  "a   b   c\n" },
	{ "empty lines", false, 30, "\n\na\n", "\n\na\n" },
};

TEST(dress)
{
	each (c, cases) {
		const struct style style = { .color = c->color,
					     .width = c->width };
		auto_buf text = BUF_INIT;

		buf_add_str(&text, c->text);
		style_dress(&style, &text);
		is_str(text.data, c->want, c->name);
	}
}

static int
dress(void *arg, struct error *err)
{
	auto_buf text = BUF_INIT;
	int rc = buf_add_str(&text, "   1 whole\n");

	rc = rc < 0 ? rc : style_dress(arg, &text);
	if (text.failed != (rc < 0))
		rc = error_set(err, ERROR_USAGE, "not told");
	return rc < 0 && err->kind == ERROR_NONE ? error_no_memory(err) : rc;
}

TEST(terminal)
{
	static const struct {
		const char *term, *no_color;
		bool color;
	} terms[] = {
		{ "xterm", NULL, true },
		{ "xterm", "", true },
		{ "xterm", "1", false },
		{ "dumb", NULL, false },
	};
	const struct winsize size = { .ws_row = 24, .ws_col = 44 };
	int fds[2] = { -1, -1 }, master = posix_openpt(O_RDWR | O_NOCTTY);
	int slave = -1;
	struct style s;

	must(pipe(fds) == 0);
	s = style_of(fds[1]);
	ok(!s.color && s.width == 0, "a pipe");
	close(fds[0]);
	close(fds[1]);
	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0) {
		skip("a terminal", "no pseudo terminal to be had");
		return;
	}
	ioctl(slave, TIOCSWINSZ, &size);
	each (t, terms) {
		setenv("TERM", t->term, 1);
		unsetenv("NO_COLOR");
		if (t->no_color != NULL)
			setenv("NO_COLOR", t->no_color, 1);
		s = style_of(slave);
		ok(s.color == t->color && s.width == 44,
		   fmt("TERM=%s NO_COLOR=%s", t->term,
		       t->no_color ? t->no_color : "(unset)"));
	}
	close(slave);
	close(master);
}

TEST(no_memory)
{
	const struct style style = { .color = true };

	ok(fail_each_alloc(dress, (void *)&style) > 1, "out of memory");
}
