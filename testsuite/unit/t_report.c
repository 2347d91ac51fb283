/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of a plan, tables with columns that a user chooses, and
 * colours and widths of terminals. */
#include <sys/ioctl.h>

#include "json.h"
#include "report/hint.h"
#include "report/plan_text.h"
#include "report/table.h"
#include "rescue/deep.h"
#include "rescue/rebuild.h"
#include "scene.h"
#include "style.h"

static struct scene xor4 = { SCENE(XOR, 4, 1, 1, 1) };

/* A plan for a XOR set without these ranks; `b` is PLAN_NONE: only `a`. */
static struct plan *
plan_without(uint32_t a, uint32_t b)
{
	struct plan *p = NULL;

	scene_make(&xor4);
	scene_lose(&xor4, a);
	if (b != PLAN_NONE)
		scene_lose(&xor4, b);
	p = scene_plan(&xor4, PLAN_HEADERS, NULL);
	must(p != NULL);
	return p;
}

static bool
has(const struct buf *b, const char *text)
{
	return b->data != NULL && strstr(b->data, text) != NULL;
}

/* What a prefix with such a plan does not show: scr_inspect.bats has the
 * rest. */
TEST(odd)
{
	const struct style narrow = { .width = 20 };
	const struct style utf8 = { .utf8 = true, .color = true };
	struct plan *p = plan_without(2, PLAN_NONE);
	auto_buf b = BUF_INIT;

	p->files[1].path = "a/\033[1m";
	report_files(p, true, 3, &b);
	ok(has(&b, "a/\\x1b[1m") && !has(&b, "\033"), "printable names");
	ok(has(&b, "... and 13 more"), "a limit");
	is_str(report_spare(p, true), "the loss of any 1 rank in each set",
	       "spare after a rebuild");
	buf_clear(&b);
	report_map(p, &narrow, &b);
	ok(has(&b, "2 o\n") && has(&b, "3 #\n"), "a narrow map");
	is_int(plan_data_status(p), STATUS_DAMAGED, "status");
	plan_free(p);

	p = plan_without(1, 3);
	buf_clear(&b);
	report_summary(p, NULL, NULL, plan_data_status(p), &b);
	ok(has(&b, "state       lost: ranks 1 3 lack 2 filemaps and 4 "
		   "redundancy files"),
	   "summary");
	is_int(plan_data_status(p), STATUS_LOST, "status");
	/* A set without any remaining file. */
	p->sets[1].n = 0;
	buf_clear(&b);
	report_sets(p, &b);
	report_map(p, &utf8, &b);
	ok(has(&b, "lost") && has(&b, "none of its files is left"),
	   "a set that is gone");
	plan_free(p);
}

TEST(command)
{
	static const struct {
		const char *verb, *prefix, *name, *want;
	} list[] = {
		{ "scr_rebuild", ".", "5", "scr_rebuild 5" },
		{ "scr_index --build", "/p/a b", "5",
		  "scr_index -p '/p/a b' --build 5" },
		{ "scr_index --build", "it's", "5",
		  "scr_index -p 'it'\\''s' --build 5" },
		{ "scr_container list", ".", "a'b c",
		  "scr_container list 'a'\\''b c'" },
		{ "scr_rebuild", ".", "", "scr_rebuild ''" },
	};
	char t[128];

	each (l, list)
		is_str(report_command(l->verb, l->prefix, l->name, t,
				      sizeof(t)),
		       l->want, "a command, quoted for the shell");
	is_str(report_state(99), "unknown", "no such state");
}

/* --- Tables --- */

static const struct table_column columns[] = {
	{ "id", ">ID" },     { "current", "" }, { "name", "NAME" },
	{ "size", ">SIZE" }, { NULL, NULL },
};

/* A table of four rows, as `how` says, into `out`. */
static void
print(const struct columns *how, size_t most, unsigned indent, struct buf *out)
{
	static const struct {
		unsigned id;
		const char *current, *name;
		uint64_t size;
	} rows[] = {
		{ 2, "", "ckpt.10", 2000 },
		{ 10, "*", "ckpt.9", 1500000 },
		{ 7, "", "", 999 },
		{ 9, "", "bad\nname", 0 },
	};
	struct table t;

	buf_clear(out);
	table_start_named(&t, columns);
	each (r, rows) {
		table_cell(&t, "%u", r->id);
		table_cell(&t, "%s", r->current);
		table_name(&t, r->name);
		table_size(&t, r->size);
	}
	table_choose(&t, how, most);
	table_end(&t, indent, out);
}

TEST(table_choice)
{
	static const struct {
		const char *columns, *sort;
		size_t most;
		const char *text, *what;
	} cases[] = {
		{ NULL, NULL, 0,
		  "ID     NAME          SIZE\n"
		  " 2     ckpt.10    2.0 KiB\n"
		  "10  *  ckpt.9     1.4 MiB\n"
		  " 7                  999 B\n"
		  " 9     bad\\nname      0 B\n",
		  "as it is" },
		{ "name,id", NULL, 0,
		  "NAME       ID\n"
		  "ckpt.10     2\n"
		  "ckpt.9     10\n"
		  "-           7\n"
		  "bad\\nname   9\n",
		  "chosen columns, in this order, without an empty cell" },
		{ "id,current", "-id", 0,
		  "ID  CURRENT\n10  *\n 9  -\n 7  -\n 2  -\n",
		  "numbers descending; a column without a heading has one" },
		{ "id", "size", 0, "ID\n 9\n 7\n 2\n10\n",
		  "sizes by their bytes, also of a column not shown" },
		{ "id", "name", 0, "ID\n 9\n10\n 2\n 7\n",
		  "names: ckpt.9 before ckpt.10, unknown last" },
		{ "id", "-name", 0, "ID\n 2\n10\n 9\n 7\n",
		  "... in both directions" },
		{ "id", "current", 2, "ID\n10\n 2\n",
		  "equal ones as they were, and the first two only" },
		{ "id,id", NULL, 1, "ID  ID\n 2   2\n", "a column twice" },
	};
	char words[COLUMNS_WORDS];
	auto_buf out = BUF_INIT;

	is_str(table_words(columns, words), "id|current|name|size",
	       "the words");
	each (c, cases) {
		struct columns how = { .count = 0 };

		if (c->columns != NULL)
			must(columns_choose(&how, words, c->columns, NULL) ==
			     0);
		if (c->sort != NULL)
			must(columns_sort(&how, words, c->sort, NULL) == 0);
		print(&how, c->most, 0, &out);
		is_str(out.data, c->text, c->what);
	}
}

TEST(table_words)
{
	static const char words[] = "id|name";
	struct columns how = { .count = 0 };

	refuses(columns_choose(&how, words, "id,colour", &why), ERROR_USAGE,
		"unknown column 'colour': one of id, name",
		"a wrong column is named, with all that there are");
	refuses(columns_choose(&how, words, "", &why), ERROR_USAGE, NULL,
		"no column");
	refuses(columns_choose(&how, words, "i", &why), ERROR_USAGE, NULL,
		"half a word");
	refuses(columns_choose(&how, words,
			       "id,id,id,id,id,id,id,id,id,id,id,id,id,id,id,"
			       "id,id",
			       &why),
		ERROR_USAGE, "more than 16 columns", "too many");
	refuses(columns_sort(&how, words, "-", &why), ERROR_USAGE, NULL,
		"no order");
	must(columns_sort(&how, words, "+name", NULL) == 0);
	ok(how.sort == 2 && !how.descending, "ascending");
}

TEST(table_empty)
{
	const struct columns how = { { 0 }, 1, 1, false };
	auto_buf out = BUF_INIT;
	struct table t;

	table_start(&t, ">SIZE|NAME|");
	table_cell(&t, "%d", 1);
	table_cell(&t, "%s", "a");
	table_cell(&t, "%s", "last");
	table_end(&t, 1, &out);
	is_str(out.data, " SIZE  NAME\n    1  a     last\n",
	       "headings in one text, the last one empty");
	for (int drop = 0; drop < 2; drop++) {
		buf_clear(&out);
		table_start_named(&t, columns);
		if (drop)
			table_drop_empty(&t);
		table_choose(&t, &how, 0);
		table_end(&t, 0, &out);
		is_str(out.data, drop ? "" : "ID\n", "no rows; nor headings");
	}
}

/* --- Terminals --- */

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

TEST(style_dress)
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

TEST(style_terminal)
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
	auto_fd int slave = -1;
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
	close(master);
}

TEST(style_no_memory)
{
	const struct style style = { .color = true };

	without_memory (m, 2, "out of memory") {
		auto_buf text = BUF_INIT;
		int rc = buf_add_str(&text, "   1 whole\n");

		rc = rc < 0 ? rc : style_dress((void *)&style, &text);
		if (text.failed != (rc < 0))
			rc = error_set(&m.err, ERROR_USAGE, "not told");
		m.rc = rc < 0 && m.err.kind == ERROR_NONE
			       ? error_no_memory(&m.err)
			       : rc;
	}
}
