/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a command line, and settings of a line of text. */
#include "conf.h"
#include "kvtree/kvtree.h"
#include "opt.h"
#include "scr/setting.h"
#include "scratch.h"

struct result {
	bool all, secret;
	int verbose, verb;
	const char *prefix, *arg;
	uint64_t jobs, memory;
	struct opt_list list;
};

enum { LIST, BUILD, DROP, DROP_AFTER };

#define OPT_COUNT_MAX 16

static void
make_table(struct opt *table, struct result *r)
{
	const struct opt opts[] = {
		OPT_GROUP("What to do"),
		OPT_VERB('l', "list", &r->verb, LIST, "list the datasets"),
		OPT_VERB_ARG('b', "build", &r->verb, BUILD, &r->arg, "ID",
			     OPT_ANY, "make the summary of a dataset"),
		OPT_VERB_ARG(0, "drop", &r->verb, DROP, &r->arg, "NAME",
			     OPT_DATASET, "forget a dataset"),
		OPT_VERB_ARG(0, "drop-after", &r->verb, DROP_AFTER, &r->arg,
			     "NAME", OPT_DATASET, "forget all behind it"),
		OPT_VERB_ARG('r', "remove", &r->verb, DROP, &r->arg, "NAME",
			     OPT_DATASET, NULL),
		OPT_GROUP("How"),
		OPT_FLAG('a', "all", &r->all, "all of it"),
		OPT_FLAG(0, "secret", &r->secret, NULL),
		OPT_COUNT('v', "verbose", &r->verbose, "tell more"),
		OPT_STRING('p', "prefix", &r->prefix, "DIR", OPT_DIR,
			   "the prefix directory"),
		OPT_STRING('F', NULL, &r->prefix, "tree|json", OPT_WORDS,
			   "the form"),
		OPT_LIST('x', "xor", &r->list, "FILE", OPT_FILE, "a file"),
		OPT_U64('j', "jobs", &r->jobs, "N", 1, 64, "threads"),
		OPT_BYTES(0, "memory", &r->memory, "SIZE", 4096, UINT64_MAX,
			  "bound"),
		OPT_END,
	};

	_Static_assert(COUNT(opts) <= OPT_COUNT_MAX,
		       "room in the callers' tables");
	memcpy(table, opts, sizeof(opts));
}

/* Split `line` at blanks, in place; "''" is an empty word. */
static int
split(char *line, char **argv, int max)
{
	int argc = 0;
	char *word, *rest = NULL;

	for (word = strtok_r(line, " ", &rest); word != NULL && argc < max;
	     word = strtok_r(NULL, " ", &rest)) {
		if (strcmp(word, "''") == 0)
			*word = '\0';
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	return argc;
}

/* Parse `line` with the table and describe the result. */
static void
parse_opts(const char *line, struct buf *out)
{
	struct opt table[OPT_COUNT_MAX];
	struct result r = { .verb = -1 };
	char words[512], *argv[34];
	int argc, n;

	make_table(table, &r);
	snprintf(words, sizeof(words), "prog %s", line);
	argc = split(words, argv, 32);
	n = opt_parse(table, argc, argv, false, &why);
	buf_clear(out);
	buf_add_str(out, "");
	if (n < 0) {
		buf_printf(out, "%d: %s", (int)why.kind, why.text);
		opt_list_free(&r.list);
		return;
	}
	if (r.verb >= 0)
		buf_printf(out, " verb=%d", r.verb);
	if (r.arg != NULL)
		buf_printf(out, " arg=%s", r.arg);
	buf_printf(out, "%s%s", r.all ? " all" : "", r.secret ? " secret" : "");
	if (r.verbose > 0)
		buf_printf(out, " v=%d", r.verbose);
	if (r.prefix != NULL)
		buf_printf(out, " prefix=%s", r.prefix);
	if (r.jobs > 0)
		buf_printf(out, " jobs=%" PRIu64, r.jobs);
	if (r.memory > 0)
		buf_printf(out, " memory=%" PRIu64, r.memory);
	for (size_t i = 0; i < r.list.count; i++)
		buf_printf(out, " x=%s", r.list.items[i]);
	for (int i = 0; i < n; i++)
		buf_printf(out, " [%s]", argv[i]);
	if (argv[n] != NULL)
		buf_add_str(out, " arguments not ended by NULL");
	opt_list_free(&r.list);
}

#define USAGE "1: " /* ERROR_USAGE */

static const struct line {
	const char *line, *want;
} good[] = {
	{ "", "" },
	{ "-a", " all" },
	{ "-l", " verb=0" },
	{ "-b7", " verb=1 arg=7" },
	{ "--build=7", " verb=1 arg=7" },
	{ "--build ''", " verb=1 arg=" },
	{ "--prefix=/a=b", " prefix=/a=b" },
	{ "--prefix -a", " prefix=-a" },
	{ "-p --", " prefix=--" },
	{ "-avvp/x", " all v=2 prefix=/x" },
	{ "-p=x", " prefix==x" },
	{ "-vv -v --verbose", " v=4" },
	/* arguments between options, "-", and the end of the options */
	{ "a -a b -p x c", " all prefix=x [a] [b] [c]" },
	{ "- -a", " all [-]" },
	{ "'' -a", " all []" },
	{ "-- -a --all -", " [-a] [--all] [-]" },
	{ "a -- -- b", " [a] [--] [b]" },
	/* abbreviations; an exact name is not ambiguous */
	{ "--bu 7", " verb=1 arg=7" },
	{ "--bu=7", " verb=1 arg=7" },
	{ "--drop x", " verb=2 arg=x" },
	{ "--drop-a x", " verb=3 arg=x" },
	/* hidden options work, and are matched last */
	{ "--secret", " secret" },
	{ "--sec", " secret" },
	{ "--remove x", " verb=2 arg=x" },
	/* the last value counts, except for verbs */
	{ "-p a -p b", " prefix=b" },
	{ "-b 7 --build=7", " verb=1 arg=7" },
	{ "-l --list -l", " verb=0" },
	/* numbers at their limits */
	{ "-j1", " jobs=1" },
	{ "-j 64", " jobs=64" },
	{ "--memory 4K", " memory=4096" },
	{ "-x a --xor b -xc --xor=d -x e", " x=a x=b x=c x=d x=e" },
};

static const struct line bad[] = {
	{ "--foo", "unrecognized option '--foo'" },
	{ "--foo=bar", "unrecognized option '--foo'" },
	{ "-z", "unrecognized option '-z'" },
	{ "-ab", "option '--build' needs a value: ID" },
	{ "-b", "option '--build' needs a value: ID" },
	{ "--build --all 3",
	  "option '--build' needs a value behind it: ID, not --all" },
	{ "-F", "option '-F' needs a value: tree|json" },
	{ "--all=1", "option '--all' takes no value" },
	/* suggestions */
	{ "--biuld 7",
	  "unrecognized option '--biuld'; did you mean '--build'?" },
	{ "--xoe", "unrecognized option '--xoe'; did you mean '--xor'?" },
	{ "--prefixx=1",
	  "unrecognized option '--prefixx'; did you mean '--prefix'?" },
	{ "--buildabc", "unrecognized option '--buildabc'" },
	{ "--secrets", "unrecognized option '--secrets'" },
	{ "--jolt", "unrecognized option '--jolt'" },
	/* ambiguous abbreviations */
	{ "--dro x", "option '--dro' is ambiguous: '--drop', '--drop-after'" },
	/* verbs */
	{ "--build 1 --drop x",
	  "options '--build' and '--drop' cannot be used together" },
	{ "--list -b1",
	  "options '--list' and '--build' cannot be used together" },
	{ "--drop a --drop b",
	  "option '--drop' given twice, with 'a' and 'b'" },
	{ "--drop a -r b", "option '--remove' given twice, with 'a' and 'b'" },
};

TEST(lines)
{
	auto_buf got = BUF_INIT;

	each (g, good) {
		parse_opts(g->line, &got);
		is_str(got.data, g->want, g->line);
	}
	each (b, bad) {
		parse_opts(b->line, &got);
		is_str(got.data, fmt(USAGE "%s", b->want), b->line);
	}
}

/* t_num tests the messages of num.c.  Here: numbers are parsed by it, and
 * errors name the option. */
TEST(numbers)
{
	static const char *const lines[] = { "--jobs=0",      "--jobs=65",
					     "--jobs=12x",    "--jobs=",
					     "--memory=4095", "--memory=1Z",
					     "--memory=''" };
	auto_buf got = BUF_INIT;

	each (l, lines) {
		int len = (int)(strchr(*l, '=') - *l);

		parse_opts(*l, &got);
		ok(str_starts(got.data, fmt(USAGE "option '%.*s': ", len, *l)),
		   *l);
	}
	parse_opts("--memory=4095", &got);
	is_str(got.data,
	       USAGE "option '--memory': '4095' is less than 4096 bytes",
	       "the least size is told");
}

TEST(misuse)
{
	struct opt table[OPT_COUNT_MAX];
	struct result r = { 0 };
	char name[5000], prog[] = "prog", *argv[3] = { prog, name, NULL };
	char *none[1] = { NULL };
	bool bytes_good = true;

	make_table(table, &r);
	is_int(opt_parse(table, 0, none, false, &why), 0, "argc 0");
	ok(none[0] == NULL, "argv stays empty");
	is_int(opt_parse(table, 1, argv, false, NULL), 0, "the name alone");
	ok(argv[0] == NULL, "no argument is left");

	snprintf(name, sizeof(name), "--%04990d", 0);
	argv[0] = prog;
	refuses(opt_parse(table, 2, argv, false, &why), ERROR_USAGE, NULL,
		"a name of 5000 bytes is a usage error");
	is_int(opt_parse(table, 2, argv, false, NULL), -1,
	       "also if nobody asks why");

	/* Any byte as a short option, and as the start of a long one. */
	for (int c = 1; c < 256; c++) {
		struct error e = ERROR_INIT;
		int n;

		snprintf(name, sizeof(name), "-%c", c);
		n = opt_parse(table, 2, argv, false, &e);
		if (n < 0 ? e.kind != ERROR_USAGE : strchr("alv-", c) == NULL)
			bytes_good = false;
		argv[0] = prog;
		argv[1] = name;
		snprintf(name, sizeof(name), "--%c!", c);
		if (opt_parse(table, 2, argv, false, &e) != -1 ||
		    e.kind != ERROR_USAGE)
			bytes_good = false;
	}
	ok(bytes_good, "every byte as an option is known or a usage error");
	opt_list_free(&r.list);
	opt_list_free(&r.list);
	ok(r.list.items == NULL && r.list.count == 0, "a list freed twice");
}

static const char help_want[] =
	"What to do:\n"
	"  -l, --list              list the datasets\n"
	"  -b, --build=ID          make the summary of a dataset\n"
	"      --drop=NAME         forget a dataset\n"
	"      --drop-after=NAME   forget all behind it\n"
	"\n"
	"How:\n"
	"  -a, --all               all of it\n"
	"  -v, --verbose           tell more\n"
	"  -p, --prefix=DIR        the prefix directory\n"
	"  -F tree|json            the form\n"
	"  -x, --xor=FILE          a file\n"
	"  -j, --jobs=N            threads\n"
	"      --memory=SIZE       bound\n";

static const char wrap_want[] =
	"Options:\n"
	"  -x                      one two three four five six seven eight "
	"nine ten\n"
	"                          eleven twelve\n"
	"      --twenty-two-letters\n"
	"                          below\n"
	"      --sixteen-letters_  beside\n"
	"  -y                      "
	"12345678901234567890123456789012345678901234567890123\n"
	"                          "
	"123456789012345678901234567890123456789012345678901234\n";

static const char dump_want[] =
	"l\tlist\t-\tany\tshown\tlist the datasets\n"
	"b\tbuild\tID\tany\tshown\tmake the summary of a dataset\n"
	"-\tdrop\tNAME\tdataset\tshown\tforget a dataset\n"
	"-\tdrop-after\tNAME\tdataset\tshown\tforget all behind it\n"
	"r\tremove\tNAME\tdataset\thidden\t\n"
	"a\tall\t-\tany\tshown\tall of it\n"
	"-\tsecret\t-\tany\thidden\t\n"
	"v\tverbose\t-\tany\tshown\ttell more\n"
	"p\tprefix\tDIR\tdir\tshown\tthe prefix directory\n"
	"F\t-\ttree|json\twords\tshown\tthe form\n"
	"x\txor\tFILE\tfile\tshown\ta file\n"
	"j\tjobs\tN\tany\tshown\tthreads\n"
	"-\tmemory\tSIZE\tany\tshown\tbound\n";

TEST(texts)
{
	bool flag = false;
	const struct opt wide[] = {
		OPT_FLAG('x', NULL, &flag,
			 "one two three four five six seven eight nine ten "
			 "eleven twelve"),
		OPT_FLAG(0, "twenty-two-letters", &flag, "below"),
		OPT_FLAG(0, "sixteen-letters_", &flag, "beside"),
		OPT_FLAG('y', NULL, &flag,
			 "12345678901234567890123456789012345678901234567890123"
			 " 12345678901234567890123456789012345678901234567890"
			 "1234"),
		OPT_END,
	};
	const struct opt none[] = { OPT_END };
	struct opt table[OPT_COUNT_MAX];
	struct result r = { 0 };
	auto_buf out = BUF_INIT;

	make_table(table, &r);
	opt_help(table, &out);
	is_str(out.data, help_want, "hidden options are not in it");
	buf_clear(&out);
	opt_help(wide, &out);
	is_str(out.data, wrap_want, "is wrapped before column 80");
	buf_clear(&out);
	opt_dump(table, &out);
	is_str(out.data, dump_want, "has the hidden options too");
	buf_clear(&out);
	opt_help(none, &out);
	opt_dump(none, &out);
	is_int(out.len, 0, "help and dump of an empty table are empty");
}

/* --- Settings --- */

static struct arena *arena;

/* "?KEY", "KEY=VALUE", "!KEY" (unset), "?P=V CHILD", "P=V [C=V]", or "error". */
static const char *
parsed(const char *text)
{
	static char out[512];
	struct error err = ERROR_INIT;
	struct setting s;
	size_t n = 0;

	if (setting_parse(text, arena, &s, &err) < 0)
		return err.kind == ERROR_USAGE && err.text[0] != '\0'
			       ? "error"
			       : "no reason";
	if (s.kind == SETTING_NOTHING)
		return "nothing";
	n = (size_t)snprintf(out, sizeof(out), "%s%s",
			     s.kind == SETTING_QUERY   ? "?"
			     : s.kind == SETTING_UNSET ? "!"
						       : "",
			     s.key);
	if (s.value != NULL && s.kind != SETTING_UNSET)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "=%s", s.value);
	if (s.child != NULL)
		n += (size_t)snprintf(out + n, sizeof(out) - n, " %s", s.child);
	for (size_t i = 0; i < s.npairs; i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, " [%s=%s]",
				      s.pairs[i].key, s.pairs[i].value);
	return out;
}

TEST(setting_parse)
{
	static const struct {
		const char *what, *text, *want;
	} list[] = {
		{ "query, in lower case and with blanks", "  key ", "?KEY" },
		{ "the case of a value is kept", "key=Value", "KEY=Value" },
		{ "unset, with blanks", " KEY =  ", "!KEY" },
		{ "blanks around '='", "KEY  =  VALUE ", "KEY=VALUE" },
		{ "a value with '='", "K==x", "K==x" },
		{ "a value is not quoted", "K='a", "K='a" },
		{ "only blanks separate", "K=a\tb", "K=a\tb" },
		{ "property asked for", "P=V CHILD", "?P=V CHILD" },
		{ "property set", "P=V C=1", "P=V [C=1]" },
		{ "properties set", "p=v c1 = 1  C2=a=b ",
		  "P=v [C1=1] [C2=a=b]" },
		{ "empty", "", "nothing" },
		{ "blank", "   ", "nothing" },
		{ "no '='", "KEY VALUE", "error" },
		{ "set and query", "A=1 B=2 C", "error" },
		{ "query and set", "A=1 B C=2", "error" },
		{ "unset of a property", "A=1 B=", "error" },
		{ "no name", "=1", "error" },
		{ "no name of a property", "A=1 =2", "error" },
		{ "a name that no file can have", "#A=1", "error" },
		{ "a name with a tab", "A\tB=1", "error" },
	};

	each (l, list)
		is_str(parsed(l->text), l->want, l->what);
}

/* Carry out the texts, which are separated by '|', and return the lines. */
static const char *
after(const char *texts)
{
	static char lines[512];
	auto_buf out = BUF_INIT;
	struct kvtree *s = kvtree_new(NULL);
	struct setting is;
	char copy[512], *rest = copy, *text = NULL;

	snprintf(copy, sizeof(copy), "%s", texts);
	while ((text = strsep(&rest, "|")) != NULL)
		if (setting_parse(text, arena, &is, NULL) < 0 ||
		    settings_change(s, &is, NULL) < 0)
			return "failed";
	if (settings_text(s, &out) < 0)
		return "no memory";
	kvtree_free(s);
	snprintf(lines, sizeof(lines), "%s", out.len > 0 ? out.data : "");
	return lines;
}

TEST(setting_changes)
{
	is_str(after("A=1|B=2"), "A=1\nB=2\n", "two parameters");
	is_str(after("SCR_FLUSH=1|SCR_FLUSH=2"), "SCR_FLUSH=2\n",
	       "the last value counts");
	is_str(after("A=1|B=2|a="), "B=2\n", "unset");
	is_str(after("A="), "", "unset of what is not set");
	is_str(after("CKPT=0 TYPE=XOR|CKPT=1 TYPE=RS"),
	       "CKPT=0 TYPE=XOR\nCKPT=1 TYPE=RS\n", "a key with many values");
	is_str(after("CKPT=0 TYPE=XOR|CKPT=0 SET_SIZE=4 TYPE=RS"),
	       "CKPT=0 TYPE=RS SET_SIZE=4\n", "properties are merged");
	is_str(after("STORE=/a COUNT=1|STORE=/b|STORE="), "", "all are unset");
	is_str(after("A=1 B=2|A=2|A=1"), "A=1\n", "properties go, too");
}

/* A value that is set and written as text is read back unchanged. */
TEST(setting_round_trip)
{
	static const char *const values[] = { "plain",	"a=b",	 "=x",
					      "#1",	"a\\b",	 "a\tb\rc",
					      "a\nB=2", "\"q\"", "a\\ " };
	auto_buf text = BUF_INIT;
	char set[64];

	each (v, values) {
		struct kvtree *s = kvtree_new(NULL);
		auto_conf *c = conf_new(NULL);
		const struct conf_group *g = NULL;
		struct setting is;

		buf_clear(&text);
		snprintf(set, sizeof(set), "STORE=%s NAME=%s", *v, *v);
		ok(setting_parse(set, arena, &is, NULL) == 0 &&
			   settings_change(s, &is, NULL) == 0 &&
			   settings_text(s, &text) == 0 &&
			   conf_add_bytes(c, CONF_APP, "app", text.data,
					  text.len, NULL) == 0 &&
			   conf_groups(c, "STORE", &g) == 1 &&
			   conf_notice(c) == NULL,
		   "one line, and nothing to complain about");
		is_str(g->value, is.value, "... value");
		is_str(conf_property(g, "NAME"), is.pairs[0].value,
		       "... property");
		kvtree_free(s);
	}
}

TEST(setting_no_memory)
{
	without_memory (m, 3, "without memory") {
		auto_arena *a = arena_new();
		struct kvtree *s = kvtree_new(&m.err);
		auto_buf text = BUF_INIT;
		struct setting is;

		m.rc = -1;
		if (a == NULL)
			error_no_memory(&m.err);
		else if (s != NULL &&
			 setting_parse("CKPT=0 TYPE=XOR SET_SIZE=4", a, &is,
				       &m.err) == 0 &&
			 settings_change(s, &is, &m.err) == 0) {
			m.rc = settings_text(s, &text);
			if (m.rc < 0)
				error_no_memory(&m.err);
		}
		kvtree_free(s);
	}
	arena_free(arena);
}

int
main(void)
{
	arena = arena_new();
	return tap_run();
}
