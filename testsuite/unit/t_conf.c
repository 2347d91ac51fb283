/* SPDX-License-Identifier: BSD-3-Clause */
/* SCR parameters: the grammar of the files, and the precedence of sources. */
#include "conf.h"

#include "scratch.h"
#include "str.h"

static char root[128];

/* The path of a file in the scratch directory. */
static const char *
file(const char *name)
{
	return fmt("%s/%s", root, name);
}

/* Remove the caller's environment. */
static void
clean(void)
{
	clearenv();
	scratch_dir(root, sizeof(root));
	must(setenv("SCRKIT_SYSTEM_CONF", file("none.conf"), 1) == 0);
}

/* Read a configuration with this text as the user's file. */
static struct conf *
conf_of(const char *text, size_t len)
{
	struct conf_where w = { .prefix = root };
	struct error err = ERROR_INIT;
	struct conf *c = NULL;

	write_file(file(".scrconf"), text, len);
	c = conf_open(&w, &err);
	if (c == NULL)
		printf("# %s\n", err.text);
	must(c != NULL);
	return c;
}

static struct conf *
conf_text(const char *text)
{
	return conf_of(text, strlen(text));
}

/* --- Grammar --- */

/* One line of a file, and the value of KEY.  NULL: no value, but a notice. */
static const struct {
	const char *name, *text, *value;
} lines[] = {
	{ "plain", "KEY=v\n", "v" },
	{ "no newline at the end", "KEY=v", "v" },
	{ "blanks around =", "KEY = v\n", "v" },
	{ "tabs around =", "KEY\t=\tv\n", "v" },
	{ "indented", "   KEY=v\n", "v" },
	{ "indented below another", "A=1\n\tKEY=v\n", "v" },
	{ "Windows line end", "KEY=v\r\n", "v" },
	{ "key in lower case", "kEy=v\n", "v" },
	{ "comment above", "# KEY=no\nKEY=v\n", "v" },
	{ "indented comment above", "A=1\n  # KEY=no\nKEY=v\n", "v" },
	{ "comment behind", "KEY=v # KEY=no\n", "v" },
	{ "# in a value", "KEY=v#1\n", "v#1" },
	{ "; behind a value's blank", "KEY=v ;x=y\n", "v" },
	{ "; in a value", "KEY=v;1\n", "v;1" },
	{ "semicolon comment", "; KEY=no\nKEY=v\n", "v" },
	{ "colon in a value", "KEY=a:b\n", "a:b" },
	{ "byte order mark", "\xef\xbb\xbfKEY=v\n", "v" },
	{ "the first of two lines", "KEY=v\nKEY=w\n", "v" },
	{ "another pair behind", "KEY=v KEY=w B=2\n", "v" },
	{ "quotes are nothing special", "KEY=\"v\"\n", "\"v\"" },
	{ "escapes", "KEY=a\\tb\\\\c\\q\n", "a\tb\\cq" },
	{ "an escaped blank", "KEY=run\\ 5 B=1\n", "run 5" },
	{ "an escaped =", "KEY=a\\=b\n", "a=b" },
	{ "an escaped #", "KEY=\\#1\n", "#1" },
	{ "a backslash at the end", "KEY=a\\", "a\\" },
	{ "variable", "KEY=/ssd/$WHO\n", "/ssd/me" },
	{ "variable in braces", "KEY=${WHO}x\n", "mex" },
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
	{ "a word alone", "KEY\n", NULL },
	{ "a colon for the =", "KEY: v\n", NULL },
	{ "a colon, then a pair", "KEY: A=v\n", NULL },
	{ "no value", "KEY=\n", NULL },
	{ "a comment for a value", "KEY= # v\n", NULL },
	{ "no value, another pair", "KEY= B=2\n", NULL },
	{ "= in a value", "KEY=a=b\n", NULL },
	{ "two =", "KEY==b\n", NULL },
	{ "no key", "=v KEY=v\n", NULL },
	{ "a bad word first", "FOO KEY=v\n", NULL },
	{ "a section", "[KEY]\n", NULL },
	{ "a section with a =", "[KEY=v]\n", NULL },
	{ "a section that does not end", "[KEY=v\n", NULL },
	{ "a bad line above", "[x]\nnothing\n=\n:\nKEY=v\n", "v" },
};

static void
test_lines(void)
{
	struct conf *c = NULL;
	const char *value = NULL;

	clean();
	setenv("WHO", "me", 1);
	setenv("N1", "one", 1);
	setenv("EMPTY", "", 1);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		c = conf_text(lines[i].text);
		value = conf_get(c, "KEY");
		is_str(value, lines[i].value, lines[i].name);
		if (value == NULL)
			ok(conf_notice(c) != NULL, "... and it is told");
		else
			is_str(conf_source(c, "KEY"), file(".scrconf"),
			       "... from the file");
		conf_close(c);
	}
}

/* Only the line of the notice is lost. */
static void
test_notices(void)
{
	struct conf *c = NULL;
	const char *text = NULL;

	clean();
	c = conf_text("A=1\n\nSCR_FLUSH 3\nB=2\nFOO\nBAR=\"a b\"\nC=3\n"
		      "SCR_PREFIX_SIZE=$NOSUCHVAR\nD=4\n");
	text = conf_notice(c);
	must(text != NULL);
	ok(strstr(text, ".scrconf:3: \"SCR_FLUSH\" is left out") != NULL,
	   "a line without =");
	ok(strstr(text, ".scrconf:5: \"FOO\"") != NULL, "... a word alone");
	ok(strstr(text, ".scrconf:6: \"b\"\" is left out") != NULL,
	   "... a quoted blank");
	ok(strstr(text, ".scrconf:8: SCR_PREFIX_SIZE is left out: "
			"environment variable NOSUCHVAR is not set") != NULL,
	   "... a variable that is not set");
	is_str(conf_get(c, "BAR"), "\"a", "... what was understood is used");
	ok(conf_get(c, "A") && conf_get(c, "B") && conf_get(c, "C") &&
		   conf_get(c, "D"),
	   "... the other lines are");
	is_str(conf_get(c, "SCR_PREFIX_SIZE"), "0",
	       "... and a parameter without value has the built-in one");
	conf_complain(c, "%s is odd", "A");
	ok(strstr(conf_notice(c), "\nA is odd\n") != NULL, "a notice added");
	conf_close(c);

	c = conf_of("A=1\nB=\0002\nC=3\n", 13);
	ok(conf_get(c, "A") && !conf_get(c, "B") && conf_get(c, "C"),
	   "a NUL costs its line");
	ok(strstr(conf_notice(c), ":2: ") && strstr(conf_notice(c), "NUL"),
	   "... and is told");
	conf_close(c);
}

/* As usually built, inih reads at most 199 bytes of a line. */
static void
test_long(void)
{
	struct buf text = BUF_INIT, key = BUF_INIT;
	const struct conf_group *g = NULL;
	struct conf *c = NULL;

	clean();
	must(buf_add_str(&text, "SCR_EXCLUDE_NODES=") == 0);
	for (int i = 0; i < 5000; i++)
		must(buf_printf(&text, "%snode%d", i ? "," : "", 2 * i) == 0);
	must(buf_add_str(&text, " SEEN=1\nNEXT=2\nGROUPS=/ssd") == 0);
	for (int i = 0; i < 500; i++)
		must(buf_printf(&text, " P%d=%d", i, i) == 0);
	must(buf_add_str(&text, "\nLAST=3\n") == 0);
	c = conf_of(text.data, text.len);
	ok(conf_notice(c) == NULL, "long lines are fine");
	ok(conf_get(c, "SCR_EXCLUDE_NODES") &&
		   strlen(conf_get(c, "SCR_EXCLUDE_NODES")) > 40000 &&
		   str_ends(conf_get(c, "SCR_EXCLUDE_NODES"), "node9998"),
	   "... a long value is whole");
	is_int((int64_t)conf_groups(c, "SCR_EXCLUDE_NODES", &g), 1, "...");
	is_str(conf_property(&g[0], "SEEN"), "1", "... with what is behind it");
	is_str(conf_get(c, "NEXT"), "2", "... and the next line");
	is_int((int64_t)conf_groups(c, "GROUPS", &g), 1, "... many pairs");
	is_int((int64_t)g[0].npairs, 500, "... are all there");
	is_str(conf_property(&g[0], "P499"), "499", "... in place");
	is_str(conf_get(c, "LAST"), "3", "... and the line behind");
	conf_close(c);

	/* A line that exceeds the limit gives a notice. */
	for (int i = 0; i < 3000; i++)
		must(buf_add_char(&key, 'K') == 0);
	must(buf_add_str(&key, "=1\nA=1\n") == 0);
	c = conf_of(key.data, key.len);
	ok(conf_notice(c) != NULL && strstr(conf_notice(c), ":1: ") != NULL,
	   "a key of 3,000 bytes is refused");
	is_str(conf_get(c, "A"), "1", "... alone");
	conf_close(c);
	buf_free(&key);
	buf_free(&text);
}

static void
test_groups(void)
{
	const struct conf_group *g = NULL;
	struct conf *c = NULL;

	clean();
	c = conf_text("STORE=/dev/shm GROUP=NODE count=1\n"
		      "CNTLDIR=/dev/shm BYTES=1GB\n"
		      "STORE=/p/scratch GROUP=WORLD # all see it\n"
		      "STORE=/ssd COUNT 3 FLUSH=PTHREAD\n");
	is_int((int64_t)conf_groups(c, "STORE", &g), 3, "three stores");
	is_str(g[0].value, "/dev/shm", "the first");
	is_int((int64_t)g[0].npairs, 2, "... has two properties");
	is_str(g[0].pairs[1].key, "COUNT", "... with keys in upper case");
	is_str(conf_property(&g[0], "COUNT"), "1", "... and values");
	ok(conf_property(&g[0], "FLUSH") == NULL, "... and no other");
	is_str(g[1].value, "/p/scratch", "the second");
	is_int((int64_t)g[1].npairs, 1, "... has one, its comment is none");
	is_str(conf_property(&g[2], "FLUSH"), "PTHREAD",
	       "a bad word costs itself alone");
	ok(conf_property(&g[2], "COUNT") == NULL, "... that is gone");
	is_int((int64_t)conf_groups(c, "CNTLDIR", &g), 1, "CNTLDIR");
	is_str(conf_property(&g[0], "BYTES"), "1GB", "... with its size");
	is_str(conf_get(c, "CNTLDIR"), "/dev/shm", "... and as a value");
	is_int((int64_t)conf_groups(c, "CACHEDIR", &g), 0, "no CACHEDIR");
	ok(g == NULL, "... is nothing");
	conf_close(c);
}

/* --- Precedence --- */

/* Set SCR_JOB_NAME in each source above `from`. */
static struct conf *
layers(int from)
{
	struct conf_where w = { .prefix = root };
	struct conf *c = NULL;

	clean();
	write_text(file("system.conf"), "SCR_SET_SIZE=3\nSCR_JOB_NAME=system\n"
					"STORE=/system\nCKPT=0\n");
	setenv("SCRKIT_SYSTEM_CONF", file("system.conf"), 1);
	if (from <= 2)
		write_text(file(".scr/app.conf"),
			   "SCR_JOB_NAME=app\nSTORE=/a\nSTORE=/b\n");
	if (from <= 1)
		write_text(file(".scrconf"), "SCR_JOB_NAME=user\n");
	if (from <= 0)
		setenv("SCR_JOB_NAME", "environment", 1);
	c = conf_open(&w, NULL);
	must(c != NULL);
	return c;
}

static void
test_precedence(void)
{
	static const char *const names[] = { "environment", "user", "app",
					     "system" };
	const char *const sources[] = { "environment", ".scrconf",
					".scr/app.conf", "system.conf" };
	const struct conf_group *g = NULL;
	struct conf *c = NULL;

	for (int i = 0; i < 4; i++) {
		c = layers(i);
		is_str(conf_get(c, "SCR_JOB_NAME"), names[i], names[i]);
		is_str(conf_source(c, "SCR_JOB_NAME"),
		       i == 0 ? sources[0] : file(sources[i]), "... is named");
		ok(conf_is_set(c, "SCR_JOB_NAME"), "... and set");
		conf_close(c);
	}
	c = layers(0);
	is_str(conf_get(c, "SCR_SET_SIZE"), "3", "what the system's file has");
	is_str(conf_get(c, "SCR_FLUSH"), "10", "what is built in");
	is_str(conf_source(c, "SCR_FLUSH"), "built in", "... is named so");
	ok(!conf_is_set(c, "SCR_FLUSH"), "... and not set");
	ok(conf_get(c, "SCR_CURRENT") == NULL &&
		   conf_source(c, "SCR_CURRENT") == NULL,
	   "what is nowhere");
	is_int((int64_t)conf_groups(c, "STORE", &g), 2,
	       "lines are those of one file");
	is_str(g[1].value, "/b", "... in order");
	is_int((int64_t)conf_groups(c, "CKPT", &g), 1,
	       "... the first with any");
	is_str(conf_file(c, CONF_USER), file(".scrconf"), "the user's file");
	is_str(conf_file(c, CONF_SYSTEM), file("system.conf"),
	       "the system's file");
	conf_close(c);
}

/* Parameters that LLNL's scripts read only from the environment also work in
 * files. */
static void
test_everywhere(void)
{
	static const char *const keys[] = {
		"SCR_ENABLE",	"SCR_DEBUG",	     "SCR_RUNS",
		"SCR_RETRIES",	"SCR_MIN_NODES",     "SCR_WATCHDOG",
		"SCR_NODELIST", "SCR_FILE_BUF_SIZE", "SCR_NODE_TESTS",
		"SCR_JOB_ID",	"SCR_USER_NAME",     "SCR_CRC_ON_FLUSH",
		"SCR_END_TIME",
	};
	struct conf *c = NULL;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		clean();
		c = conf_text(fmt("%s=77\n", keys[i]));
		is_str(conf_get(c, keys[i]), "77", keys[i]);
		conf_close(c);
		setenv(keys[i], "78", 1);
		c = conf_text(fmt("%s=77\n", keys[i]));
		is_str(conf_get(c, keys[i]), "78", "... from the environment");
		conf_close(c);
	}
}

static void
test_environment(void)
{
	struct conf *c = NULL;

	clean();
	setenv("WHO", "me", 1);
	setenv("SCR_CACHE_BASE", "/tmp/$WHO${NOBODY}/a b=c#d", 1);
	setenv("SCR_CNTL_BASE", "", 1);
	setenv("SCR_GROUP", "$NOBODY", 1);
	setenv("STORE", "/stray", 1);
	c = conf_text("SCR_CNTL_BASE=/file\n");
	is_str(conf_get(c, "SCR_CACHE_BASE"), "/tmp/me/a b=c#d",
	       "variables in the environment's values");
	is_str(conf_get(c, "SCR_CNTL_BASE"), "/file", "an empty one is none");
	is_str(conf_get(c, "SCR_GROUP"), "NODE", "... also after expansion");
	ok(conf_get(c, "STORE") == NULL, "names without SCR_ are not ours");
	setenv("SCR_CNTL_BASE", "/later", 1);
	is_str(conf_get(c, "SCR_CNTL_BASE"), "/file", "it is looked at once");
	ok(conf_notice(c) == NULL, "nothing of this is told");
	conf_close(c);
}

/* --- Files --- */

/* The user's file is found relative to the prefix, not to the working
 * directory. */
static void
test_where(void)
{
	struct conf_where w = { .prefix = NULL };
	struct error err = ERROR_INIT;
	struct conf *c = NULL;

	clean();
	write_text(file("p/.scrconf"), "SCR_JOB_NAME=prefix\n");
	write_text(file("here/.scrconf"), "SCR_JOB_NAME=here\n");
	write_text(file("mine.conf"), "SCR_JOB_NAME=mine\n");
	must(chdir(file("here")) == 0);
	w.prefix = file("p");
	c = conf_open(&w, &err);
	is_str(conf_get(c, "SCR_JOB_NAME"), "prefix", "below the prefix given");
	conf_close(c);
	w.prefix = NULL;
	c = conf_open(&w, &err);
	is_str(conf_get(c, "SCR_JOB_NAME"), "here", "below the working one");
	conf_close(c);
	setenv("SCR_PREFIX", file("p"), 1);
	c = conf_open(&w, &err);
	is_str(conf_get(c, "SCR_JOB_NAME"), "prefix", "below SCR_PREFIX");
	conf_close(c);
	setenv("SCR_CONF_FILE", file("mine.conf"), 1);
	c = conf_open(&w, &err);
	is_str(conf_get(c, "SCR_JOB_NAME"), "mine", "SCR_CONF_FILE");
	conf_close(c);
	unsetenv("SCR_CONF_FILE");
	write_text(file("p/.scr/app.conf"),
		   fmt("SCR_CONF_FILE=%s\n", file("mine.conf")));
	c = conf_open(&w, &err);
	is_str(conf_get(c, "SCR_JOB_NAME"), "mine",
	       "... as the application set it");
	conf_close(c);
	write_text(file("p/.scr/app.conf"), "");
	write_text(file("p/.scrconf"),
		   fmt("SCR_JOB_NAME=prefix\nSCR_CONF_FILE=%s\n",
		       file("mine.conf")));
	c = conf_open(&w, &err);
	is_str(conf_get(c, "SCR_JOB_NAME"), "prefix",
	       "... but not as the user's file sets it");
	ok(!conf_is_set(c, "SCR_CONF_FILE"), "... which is not in force");
	ok(conf_notice(c) != NULL &&
		   strstr(conf_notice(c),
			  "p/.scrconf:2: SCR_CONF_FILE is left out: only the "
			  "environment and SCR_Config can set it") != NULL,
	   "... and reported");
	conf_close(c);
	w.user_file = "../here/.scrconf";
	c = conf_open(&w, &err);
	is_str(conf_get(c, "SCR_JOB_NAME"), "here", "a file that is given");
	conf_close(c);
	must(chdir("/") == 0);
}

static void
test_unreadable(void)
{
	struct conf_where w = { .prefix = root };
	struct error err = ERROR_INIT;
	struct conf *c = NULL;

	clean();
	c = conf_open(&w, &err);
	ok(c != NULL && conf_notice(c) == NULL, "no files are no error");
	conf_close(c);
	w.user_file = file("not.there");
	ok(conf_open(&w, &err) == NULL && err.kind == ERROR_ABSENT &&
		   says(&err, "not.there"),
	   "but for one that is given");
	ok(conf_open(&w, NULL) == NULL, "... also if nobody asks why");
	w.user_file = NULL;
	setenv("SCR_CONF_FILE", file("not.there"), 1);
	c = conf_open(&w, &err);
	ok(c != NULL && conf_notice(c) &&
		   strstr(conf_notice(c), "not.there") != NULL,
	   "one that the environment names is told");
	conf_close(c);
	unsetenv("SCR_CONF_FILE");
	must(mkdir(file(".scrconf"), 0777) == 0);
	setenv("SCR_SET_SIZE", "5", 1);
	c = conf_open(&w, &err);
	ok(c != NULL && conf_notice(c) &&
		   strstr(conf_notice(c), ".scrconf") != NULL,
	   "and one that cannot be read");
	is_str(conf_get(c, "SCR_SET_SIZE"), "5", "... the rest is used");
	conf_close(c);
	conf_close(NULL);
}

/* One process reads the files, another gets their bytes. */
static void
test_bytes(void)
{
	static const enum conf_level files[] = { CONF_FILES };
	struct conf_where w = { .prefix = root };
	struct conf *one = NULL, *two = NULL;
	const char *path = NULL;
	struct buf b = BUF_INIT;

	clean();
	must(mkdir(file(".scr"), 0777) == 0);
	write_text(file(".scr/app.conf"),
		   fmt("SCR_CONF_FILE=%s\nSCR_RUNS=7\n", file("mine.conf")));
	write_text(file("mine.conf"), "STORE=/a\nbad\n");
	one = conf_new(NULL);
	two = conf_new(NULL);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		must(conf_fetch(one, &w, files[i], &b, NULL) == 0);
		path = conf_file(one, files[i]);
		must(conf_add_bytes(one, files[i], path, b.data, b.len, NULL) ==
			     0 &&
		     conf_add_bytes(two, files[i], path, b.data, b.len, NULL) ==
			     0);
	}
	is_str(conf_source(two, "STORE"), file("mine.conf"), "bytes of a file");
	is_str(conf_get(two, "SCR_RUNS"), "7", "... of another");
	ok(conf_notice(two) != NULL && strstr(conf_notice(two), "mine.conf:2"),
	   "... are told of by file and line");
	conf_close(one);
	conf_close(two);
	buf_free(&b);
}

/* --- Values --- */

static void
test_numbers(void)
{
	struct error err = ERROR_INIT;
	struct conf *c = NULL;
	uint64_t u = 0;
	int64_t i = 0;
	bool b = false;

	clean();
	c = conf_text(
		"SCR_RUNS=-1\nN=12\nBUF=1.5M\nBARE=4096\nGB=1GB\nYES=Yes\n"
		"OFF=off\nTWO=2\nJUNK=12x\n");
	ok(conf_u64(c, "N", 5, &u, &err) == 0 && u == 12, "a number");
	ok(conf_u64(c, "NONE", 5, &u, &err) == 0 && u == 5, "... none");
	ok(conf_i64(c, "SCR_RUNS", 1, &i, &err) == 0 && i == -1, "below 0");
	ok(conf_i64(c, "NONE", -7, &i, &err) == 0 && i == -7, "... none");
	ok(conf_bytes(c, "BUF", 1, &u, &err) == 0 && u == 3 << 19, "bytes");
	ok(conf_bytes(c, "BARE", 1, &u, &err) == 0 && u == 4096,
	   "... without a unit");
	ok(conf_bytes(c, "GB", 1, &u, &err) == 0 && u == 1 << 30, "... GB");
	ok(conf_bytes(c, "NONE", 9, &u, &err) == 0 && u == 9, "... none");
	ok(conf_bytes(c, "SCR_FILE_BUF_SIZE", 1, &u, &err) == 0 &&
		   u == 32 << 20,
	   "... built in");
	ok(conf_bool(c, "YES", false, &b, &err) == 0 && b, "yes");
	ok(conf_bool(c, "OFF", true, &b, &err) == 0 && !b, "off");
	ok(conf_bool(c, "TWO", false, &b, &err) == 0 && b, "a number");
	ok(conf_bool(c, "NONE", true, &b, &err) == 0 && b, "... none");
	ok(conf_bool(c, "SCR_ENABLE", false, &b, &err) == 0 && b,
	   "... built in");
	ok(conf_u64(c, "JUNK", 5, &u, &err) < 0 && err.kind == ERROR_USAGE &&
		   says(&err, "JUNK from ") &&
		   says(&err, ".scrconf:9: \"12x\""),
	   "a wrong number: key, source and value");
	ok(conf_i64(c, "JUNK", 5, &i, &err) < 0 && err.kind == ERROR_USAGE,
	   "... signed");
	ok(conf_bytes(c, "JUNK", 5, &u, &err) < 0 && err.kind == ERROR_USAGE,
	   "... bytes");
	ok(conf_bool(c, "JUNK", true, &b, &err) < 0 &&
		   err.kind == ERROR_USAGE && says(&err, "JUNK from "),
	   "... yes or no");
	conf_close(c);
}

/* --- Faults --- */

static int
open_once(void *arg, struct error *err)
{
	const struct conf_where *w = arg;
	struct conf *c = conf_open(w, err);

	if (c == NULL)
		return -1;
	conf_close(c);
	return 0;
}

static void
test_memory(void)
{
	struct conf_where w = { .prefix = root };

	clean();
	setenv("SCR_GROUP", "$PATH", 1);
	write_text(file(".scrconf"), "A=1 B=2\nC=3\nC=4 D=$SCR_GROUP\n");
	ok(fails_well(open_once, NULL, &w), "when there is no memory");
}

/* A damaged file is read all the same. */
static void
test_damage(void)
{
	static const char text[] = "A=1 B=2 # c\n\tC = ${PATH}x\nD=\\$ \\\n"
				   "STORE=/ssd GROUP=NODE\r\n";
	char copy[sizeof(text)];
	bool good = true;

	clean();
	for (size_t i = 0; i < sizeof(text); i++) {
		conf_close(conf_of(text, i));
		for (unsigned bit = i % 3; bit < 8; bit += 3) {
			memcpy(copy, text, sizeof(text));
			copy[i] = (char)(copy[i] ^ 1 << bit);
			conf_close(conf_of(copy, sizeof(text) - 1));
		}
	}
	ok(good, "every length, flipped bits in every byte");
}

int
main(void)
{
	test_lines();
	test_notices();
	test_long();
	test_groups();
	test_precedence();
	test_everywhere();
	test_environment();
	test_where();
	test_unreadable();
	test_bytes();
	test_numbers();
	test_memory();
	test_damage();
	remove_tree(root);
	return tap_done();
}
