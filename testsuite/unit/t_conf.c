/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR parameters: the grammar of the files, the precedence of sources, the
 * table of parameters, and values by their kind. */
#include "conf.h"
#include "scratch.h"

/* Remove the caller's environment. */
static void
clean(void)
{
	clearenv();
	scratch_new();
	must(setenv("SCRKIT_SYSTEM_CONF", here("none.conf"), 1) == 0);
}

/* The configuration that was read last. */
static struct conf *c;

static void
read_at(const struct conf_where *w)
{
	conf_close(c);
	c = conf_open(w, &why);
	if (c == NULL)
		printf("# %s\n", why.text);
	must(c != NULL);
}

/* Read a configuration with this text as the user's file. */
static void
read_bytes(const char *text, size_t len)
{
	write_file(here(".scrconf"), text, len);
	read_at(&(struct conf_where){ .prefix = scratch_root });
}

static void
read_text(const char *text)
{
	read_bytes(text, strlen(text));
}

/* The notice of the configuration, or "". */
static const char *
notice(void)
{
	const char *text = conf_notice(c);

	return text != NULL ? text : "";
}

static void
value_is(const char *key, const char *want, const char *what)
{
	is_str(conf_get(c, key), want, what);
}

/* --- Grammar --- */

/* One line of a file, and the value of KEY.  NULL: no value, but a notice. */
static const struct {
	const char *name, *text, *value;
} lines[] = {
	{ "plain", "KEY=v\n", "v" },
	{ "no newline at the end", "KEY=v", "v" },
	{ "blanks around =", "KEY \t= v\n", "v" },
	{ "indented", "   KEY=v\n", "v" },
	{ "Windows line end", "KEY=v\r\n", "v" },
	{ "key in lower case", "kEy=v\n", "v" },
	{ "indented comment above", "A=1\n  # KEY=no\nKEY=v\n", "v" },
	{ "comment behind", "KEY=v # KEY=no\n", "v" },
	{ "# in a value", "KEY=v#1\n", "v#1" },
	{ "; behind a value's blank", "KEY=v ;x=y\n", "v" },
	{ "; in a value", "KEY=v;1\n", "v;1" },
	{ "semicolon comment", "; KEY=no\nKEY=v\n", "v" },
	{ "byte order mark", "\xef\xbb\xbfKEY=v\n", "v" },
	{ "the first of two lines", "KEY=v\nKEY=w\n", "v" },
	{ "another pair behind", "KEY=v KEY=w B=2\n", "v" },
	{ "quotes are nothing special", "KEY=\"v\"\n", "\"v\"" },
	{ "escapes", "KEY=a\\tb\\\\c\\q\n", "a\tb\\cq" },
	{ "an escaped blank", "KEY=run\\ 5 B=1\n", "run 5" },
	{ "an escaped =", "KEY=a\\=b\n", "a=b" },
	{ "an escaped #", "KEY=\\#1\n", "#1" },
	{ "a backslash at the end", "KEY=a\\", "a\\" },
	{ "variables", "KEY=$WHO:${WHO}x\n", "me:mex" },
	{ "variable with a digit", "KEY=$WHO2x\n", NULL },
	{ "digits are part of a name", "KEY=$N1/x\n", "one/x" },
	{ "an escaped variable", "KEY=\\$WHO\n", "$WHO" },
	{ "a dollar alone", "KEY=a$ B=1\n", "a$" },
	{ "braces that do not close", "KEY=${WHO\n", "${WHO" },
	{ "braces around nothing", "KEY=${}\n", "${}" },
	{ "no variable", "KEY=$1\n", "$1" },
	{ "an unset variable", "KEY=$NOBODY\n", NULL },
	{ "an empty variable", "KEY=$EMPTY\n", NULL },
	{ "no =", "KEY v\n", NULL },
	{ "a colon for the =", "KEY: v\n", NULL },
	{ "a colon, then a pair", "KEY: A=v\n", NULL },
	{ "no value", "KEY=\n", NULL },
	{ "a comment for a value", "KEY= # v\n", NULL },
	{ "no value, another pair", "KEY= B=2\n", NULL },
	{ "= in a value", "KEY=a=b\n", NULL },
	{ "no key", "=v KEY=v\n", NULL },
	{ "a bad word first", "FOO KEY=v\n", NULL },
	{ "a section", "[KEY]\n", NULL },
	{ "a section with a =", "[KEY=v]\n", NULL },
	{ "a section that does not end", "[KEY=v\n", NULL },
	{ "a bad line above", "[x]\nnothing\n=\n:\nKEY=v\n", "v" },
};

TEST(lines)
{
	clean();
	setenv("WHO", "me", 1);
	setenv("N1", "one", 1);
	setenv("EMPTY", "", 1);
	each (l, lines) {
		read_text(l->text);
		value_is("KEY", l->value, l->name);
		if (l->value == NULL)
			ok(conf_notice(c) != NULL, "... and it is told");
		else
			is_str(conf_source(c, "KEY"), here(".scrconf"),
			       "... from the file");
	}
}

/* Only the line of the notice is lost. */
TEST(notices)
{
	static const char *const notices[] = {
		".scrconf:3: \"SCR_FLUSH\" is left out",
		".scrconf:5: \"FOO\"",
		".scrconf:6: \"b\"\" is left out",
		".scrconf:8: SCR_PREFIX_SIZE is left out: environment ",
		"environment variable NOSUCHVAR is not set",
		"\nA is odd\n",
	};

	clean();
	read_text("A=1\n\nSCR_FLUSH 3\nB=2\nFOO\nBAR=\"a b\"\nC=3\n"
		  "SCR_PREFIX_SIZE=$NOSUCHVAR\nD=4\n");
	conf_complain(c, "%s is odd", "A");
	each (n, notices)
		ok(strstr(notice(), *n) != NULL, *n);
	value_is("BAR", "\"a", "what was understood is used");
	ok(conf_get(c, "A") && conf_get(c, "B") && conf_get(c, "C") &&
		   conf_get(c, "D"),
	   "... the other lines are");
	value_is("SCR_PREFIX_SIZE", "0",
		 "... and a parameter without value has the built-in one");

	read_bytes("A=1\nB=\0002\nC=3\n", 13);
	ok(conf_get(c, "A") && !conf_get(c, "B") && conf_get(c, "C"),
	   "a NUL costs its line");
	ok(strstr(notice(), ":2: ") && strstr(notice(), "NUL"),
	   "... and is told");
}

/* As usually built, inih reads at most 199 bytes of a line. */
TEST(long)
{
	auto_buf text = BUF_INIT, key = BUF_INIT;
	const struct conf_group *g = NULL;
	const char *value = NULL;

	clean();
	must(buf_add_str(&text, "SCR_EXCLUDE_NODES=") == 0);
	for (int i = 0; i < 5000; i++)
		must(buf_printf(&text, "%snode%d", i ? "," : "", 2 * i) == 0);
	must(buf_add_str(&text, " SEEN=1\nNEXT=2\nGROUPS=/ssd") == 0);
	for (int i = 0; i < 500; i++)
		must(buf_printf(&text, " P%d=%d", i, i) == 0);
	must(buf_add_str(&text, "\nLAST=3\n") == 0);
	read_bytes(text.data, text.len);
	is_str(notice(), "", "long lines are fine");
	value = conf_get(c, "SCR_EXCLUDE_NODES");
	ok(value != NULL && strlen(value) > 40000 &&
		   str_ends(value, "node9998"),
	   "... a long value is whole");
	is_int(conf_groups(c, "SCR_EXCLUDE_NODES", &g), 1, "...");
	is_str(conf_property(&g[0], "SEEN"), "1", "... with what is behind it");
	value_is("NEXT", "2", "... and the next line");
	is_int(conf_groups(c, "GROUPS", &g), 1, "... many pairs");
	is_int(g[0].npairs, 500, "... are all there");
	is_str(conf_property(&g[0], "P499"), "499", "... in place");
	value_is("LAST", "3", "... and the line behind");

	/* A line that exceeds the limit gives a notice. */
	for (int i = 0; i < 3000; i++)
		must(buf_add_char(&key, 'K') == 0);
	must(buf_add_str(&key, "=1\nA=1\n") == 0);
	read_bytes(key.data, key.len);
	ok(strstr(notice(), ":1: ") != NULL, "a key of 3,000 bytes is refused");
	value_is("A", "1", "... alone");
}

/* The lines of a key as "VALUE [KEY=VALUE]...", one below the other. */
static const char *
groups(const char *key)
{
	const struct conf_group *g = NULL;
	size_t n = conf_groups(c, key, &g);
	const char *text = "";

	for (size_t i = 0; i < n; i++) {
		text = fmt("%s%s%s", text, i > 0 ? "\n" : "", g[i].value);
		for (size_t k = 0; k < g[i].npairs; k++)
			text = fmt("%s [%s=%s]", text, g[i].pairs[k].key,
				   g[i].pairs[k].value);
	}
	return g != NULL ? text : NULL;
}

TEST(groups)
{
	const struct conf_group *g = NULL;

	clean();
	read_text("STORE=/dev/shm GROUP=NODE count=1\n"
		  "CNTLDIR=/dev/shm BYTES=1GB\n"
		  "STORE=/p/scratch GROUP=WORLD # all see it\n"
		  "STORE=/ssd COUNT 3 FLUSH=PTHREAD\n");
	is_str(groups("STORE"),
	       "/dev/shm [GROUP=NODE] [COUNT=1]\n"
	       "/p/scratch [GROUP=WORLD]\n/ssd [FLUSH=PTHREAD]",
	       "stores; a bad word costs itself alone");
	must(conf_groups(c, "STORE", &g) == 3);
	is_str(conf_property(&g[0], "COUNT"), "1", "a property");
	is_str(conf_property(&g[0], "FLUSH"), NULL, "... and no other");
	is_str(groups("CNTLDIR"), "/dev/shm [BYTES=1GB]", "CNTLDIR");
	value_is("CNTLDIR", "/dev/shm", "... and as a value");
	is_str(groups("CACHEDIR"), NULL, "no CACHEDIR");
}

/* --- Precedence --- */

/* Set SCR_JOB_NAME in each source above `from`. */
static void
layers(int from)
{
	clean();
	write_text(here("system.conf"), "SCR_SET_SIZE=3\nSCR_JOB_NAME=system\n"
					"STORE=/system\nCKPT=0\n");
	setenv("SCRKIT_SYSTEM_CONF", here("system.conf"), 1);
	if (from <= 2)
		write_text(here(".scr/app.conf"),
			   "SCR_JOB_NAME=app\nSTORE=/a\nSTORE=/b\n");
	if (from <= 1)
		write_text(here(".scrconf"), "SCR_JOB_NAME=user\n");
	if (from <= 0)
		setenv("SCR_JOB_NAME", "environment", 1);
	read_at(&(struct conf_where){ .prefix = scratch_root });
}

TEST(precedence)
{
	static const char *const names[] = { "environment", "user", "app",
					     "system" };
	const char *const sources[] = { "environment", ".scrconf",
					".scr/app.conf", "system.conf" };

	for (int i = 0; i < 4; i++) {
		layers(i);
		value_is("SCR_JOB_NAME", names[i], names[i]);
		is_str(conf_source(c, "SCR_JOB_NAME"),
		       i == 0 ? sources[0] : here("%s", sources[i]),
		       "... is named");
		ok(conf_is_set(c, "SCR_JOB_NAME"), "... and set");
	}
	layers(0);
	value_is("SCR_SET_SIZE", "3", "what the system's file has");
	value_is("SCR_FLUSH", "10", "what is built in");
	is_str(conf_source(c, "SCR_FLUSH"), "built in", "... is named so");
	ok(!conf_is_set(c, "SCR_FLUSH"), "... and not set");
	value_is("SCR_CURRENT", NULL, "what is nowhere");
	is_str(conf_source(c, "SCR_CURRENT"), NULL, "... has no source");
	is_str(groups("STORE"), "/a\n/b", "lines are those of one file");
	is_str(groups("CKPT"), "0", "... the first with any");
	is_str(conf_file(c, CONF_USER), here(".scrconf"), "the user's file");
	is_str(conf_file(c, CONF_SYSTEM), here("system.conf"), "the system's");
}

TEST(environment)
{
	clean();
	setenv("WHO", "me", 1);
	setenv("SCR_CACHE_BASE", "/tmp/$WHO${NOBODY}/a b=c#d", 1);
	setenv("SCR_CNTL_BASE", "", 1);
	setenv("SCR_GROUP", "$NOBODY", 1);
	setenv("STORE", "/stray", 1);
	read_text("SCR_CNTL_BASE=/file\n");
	value_is("SCR_CACHE_BASE", "/tmp/me/a b=c#d",
		 "variables in the environment's values");
	value_is("SCR_CNTL_BASE", "/file", "an empty one is none");
	value_is("SCR_GROUP", "NODE", "... also after expansion");
	value_is("STORE", NULL, "names without SCR_ are not ours");
	setenv("SCR_CNTL_BASE", "/later", 1);
	value_is("SCR_CNTL_BASE", "/file", "it is looked at once");
	is_str(notice(), "", "nothing of this is told");
}

/* --- Files --- */

/* Read the configuration at *w: does it have this name of the job? */
static void
named(const struct conf_where *w, const char *want, const char *what)
{
	read_at(w);
	value_is("SCR_JOB_NAME", want, what);
}

/* The user's file is found relative to the prefix, not to the working
 * directory. */
TEST(where)
{
	struct conf_where w = { .prefix = NULL };
	const char *set = NULL;

	clean();
	set = fmt("SCR_CONF_FILE=%s\n", here("mine"));
	w.prefix = here("p");
	write_text(here("p/.scrconf"), "SCR_JOB_NAME=prefix\n");
	write_text(here("here/.scrconf"), "SCR_JOB_NAME=here\n");
	write_text(here("mine"), "SCR_JOB_NAME=mine\n");
	must(chdir(here("here")) == 0);
	named(&w, "prefix", "below the prefix given");
	w.prefix = NULL;
	named(&w, "here", "below the working directory");
	setenv("SCR_PREFIX", here("p"), 1);
	named(&w, "prefix", "below SCR_PREFIX");
	setenv("SCR_CONF_FILE", here("mine"), 1);
	named(&w, "mine", "SCR_CONF_FILE");
	unsetenv("SCR_CONF_FILE");
	write_text(here("p/.scr/app.conf"), set);
	named(&w, "mine", "... as the application set it");
	write_text(here("p/.scr/app.conf"), "");
	write_text(here("p/.scrconf"), fmt("SCR_JOB_NAME=prefix\n%s", set));
	named(&w, "prefix", "... not as the user's file does");
	ok(!conf_is_set(c, "SCR_CONF_FILE"), "... which is not in force");
	ok(strstr(notice(), "p/.scrconf:2: SCR_CONF_FILE is left out: only the "
			    "environment and SCR_Config can set it") != NULL,
	   "... and reported");
	w.user_file = "../here/.scrconf";
	named(&w, "here", "a file that is given");
	must(chdir("/") == 0);
}

static int
open_once(const struct conf_where *w, struct error *e)
{
	auto_conf *one = conf_open(w, e);

	return one != NULL ? 0 : -1;
}

TEST(unreadable)
{
	struct conf_where w = { .prefix = scratch_root };

	clean();
	read_at(&w);
	is_str(notice(), "", "no files are no error");
	w.user_file = here("not.there");
	is_error(open_once(&w, &why), &why, ERROR_ABSENT, "not.there",
		 "but for one that is given");
	is_int(open_once(&w, NULL), -1, "... also if nobody asks why");
	w.user_file = NULL;
	setenv("SCR_CONF_FILE", here("not.there"), 1);
	read_at(&w);
	ok(strstr(notice(), "not.there") != NULL, "one from SCR_CONF_FILE");
	unsetenv("SCR_CONF_FILE");
	must(mkdir(here(".scrconf"), 0777) == 0);
	setenv("SCR_SET_SIZE", "5", 1);
	read_at(&w);
	ok(strstr(notice(), ".scrconf") != NULL, "and one that is unreadable");
	value_is("SCR_SET_SIZE", "5", "... the rest is used");
	conf_close(NULL);
}

/* --- Values --- */

TEST(numbers)
{
	uint64_t u = 0;
	int64_t i = 0;
	bool b = false;

	clean();
	read_text("SCR_RUNS=-1\nN=12\nBUF=1.5M\nBARE=4096\nGB=1GB\nYES=Yes\n"
		  "OFF=off\nTWO=2\nJUNK=12x\n");
	ok(conf_u64(c, "N", 5, &u, &why) == 0 && u == 12, "a number");
	ok(conf_u64(c, "NONE", 5, &u, &why) == 0 && u == 5, "... none");
	ok(conf_i64(c, "SCR_RUNS", 1, &i, &why) == 0 && i == -1, "below 0");
	ok(conf_i64(c, "NONE", -7, &i, &why) == 0 && i == -7, "... none");
	ok(conf_bytes(c, "BUF", 1, &u, &why) == 0 && u == 3 << 19, "bytes");
	ok(conf_bytes(c, "BARE", 1, &u, &why) == 0 && u == 4096, "... bare");
	ok(conf_bytes(c, "GB", 1, &u, &why) == 0 && u == 1 << 30, "... GB");
	ok(conf_bytes(c, "NONE", 9, &u, &why) == 0 && u == 9, "... none");
	ok(conf_bool(c, "YES", false, &b, &why) == 0 && b, "yes");
	ok(conf_bool(c, "OFF", true, &b, &why) == 0 && !b, "off");
	ok(conf_bool(c, "TWO", false, &b, &why) == 0 && b, "a number");
	ok(conf_bool(c, "NONE", true, &b, &why) == 0 && b, "... none");
	is_error(conf_u64(c, "JUNK", 5, &u, &why), &why, ERROR_USAGE,
		 fmt("JUNK from %s:9: \"12x\"", here(".scrconf")),
		 "a wrong number: key, source and value");
	ok(conf_i64(c, "JUNK", 5, &i, &why) < 0, "... signed");
	ok(conf_bytes(c, "JUNK", 5, &u, &why) < 0, "... bytes");
	ok(conf_bool(c, "JUNK", true, &b, &why) < 0, "... yes or no");
}

/* --- Faults --- */

TEST(memory)
{
	struct conf_where w = { .prefix = scratch_root };

	clean();
	setenv("SCR_GROUP", "$PATH", 1);
	write_text(here(".scrconf"), "A=1 B=2\nC=3\nC=4 D=$SCR_GROUP\n");
	without_memory (m, 2, "when there is no memory")
		m.rc = open_once(&w, &m.err);
}

/* --- Parameters by their kind --- */

/* The last value. */
static union conf_value v;

/* Read a configuration with this text as the user's file, and nothing else. */
static void
read_alone(const char *text)
{
	clean();
	read_text(text);
}

static bool
in_force(const char *key)
{
	return conf_in_force(c, conf_param(key), &v);
}

TEST(table)
{
	const struct conf_param *p = NULL;
	bool sorted = true, found = true, parses = true, units = true;
	const char *before = "";
	size_t n = 0;

	read_alone("");
	for (; (p = conf_param_at(n)) != NULL; n++) {
		sorted = sorted && strcmp(before, p->name) < 0;
		found = found && conf_param(p->name) == p &&
			conf_get(c, p->name) == p->value;
		parses = parses && conf_in_force(c, p, &v);
		units = units && (p->unit != NULL) == (p->kind >= CONF_NUMBER);
		before = p->name;
	}
	ok(n > 60 && sorted, "parameters are in order");
	ok(found, "... and each is found, with its built-in value");
	ok(parses && conf_notice(c) == NULL, "... which parses");
	ok(units, "numbers have a unit");
	ok(conf_param("SCR_FLUHS") == NULL && conf_param("") == NULL,
	   "no such parameter");
}

/* Values by the kind of their parameter, and what replaces bad ones. */
TEST(in_force)
{
	read_alone("SCR_FLUSH=3\nSCR_SET_SIZE=0\nSCR_ENABLE=no\n"
		   "SCR_MPI_BUF_SIZE=2K\nSCR_RUNS=-1\nSCR_RETRIES=x\n"
		   "SCR_CHECKPOINT_OVERHEAD=2.5\nSCR_FLUSH_TYPE=pthread\n"
		   "SCR_GROUP=POWER\nSCR_FILE_BUF_SIZE=4\n");
	ok(in_force("SCR_FLUSH") && v.count == 3, "a number");
	ok(in_force("SCR_ENABLE") && !v.on, "no");
	ok(in_force("SCR_MPI_BUF_SIZE") && v.count == 2048, "bytes");
	ok(in_force("SCR_RUNS") && v.number == -1, "below 0");
	ok(in_force("SCR_CHECKPOINT_OVERHEAD") && v.percent == 2.5, "percent");
	ok(in_force("SCR_FLUSH_TYPE") && str_eq(v.text, "PTHREAD"),
	   "a word, as in the table");
	ok(in_force("SCR_GROUP") && str_eq(v.text, "POWER"), "a text");
	ok(in_force("SCR_CURRENT") && v.text == NULL,
	   "not set, and without a default");
	ok(conf_notice(c) == NULL, "... no notice so far");
	ok(!in_force("SCR_SET_SIZE") && v.count == 8,
	   "below the least: the built-in value");
	is_str(conf_notice(c),
	       fmt("SCR_SET_SIZE from %s:2: \"0\": expected a whole number "
		   "from 1 to 4294967295; 8 is used instead\n",
		   here(".scrconf")),
	       "... which a notice says, with file and line");
	ok(!in_force("SCR_RETRIES") && v.count == 0,
	   "no number, and nothing is built in");
	ok(!in_force("SCR_FILE_BUF_SIZE") && v.count == 32 << 20,
	   "too few bytes");
}

/* Properties of a line as numbers and booleans. */
TEST(properties)
{
	const char *bad = "STORE=/ssd: GROUP: \"WORLD\": ";
	const struct conf_group *g = NULL;
	bool yes = true;
	uint64_t n = 0;

	read_alone("STORE=/dev/shm COUNT=1 MKDIR=off\n"
		   "STORE=/ssd GROUP=WORLD\n");
	must(conf_groups(c, "STORE", &g) == 2);
	ok(conf_property_u64(&g[0], "COUNT", 7, &n, &why) == 0 && n == 1,
	   "a number");
	ok(conf_property_bool(&g[0], "MKDIR", true, &yes, &why) == 0 && !yes,
	   "a boolean");
	ok(conf_property_u64(&g[1], "COUNT", 7, &n, &why) == 0 && n == 7,
	   "a missing number");
	ok(conf_property_bool(&g[1], "MKDIR", true, &yes, &why) == 0 && yes,
	   "a missing boolean");
	ok(conf_property_u64(&g[1], "GROUP", 7, &n, &why) == -1 && n == 7 &&
		   str_starts(why.text, bad),
	   why.text);
	ok(conf_property_bool(&g[1], "GROUP", true, &yes, &why) == -1 && yes &&
		   str_starts(why.text, bad),
	   why.text);
}
