/* SPDX-License-Identifier: BSD-3-Clause */
/* FTI's ini files: the grammar, edits, and the configuration. */
#include "fti/ini.h"

#include "ftijob/tree.h"
#include "scratch.h"

static struct fti_ini *
parse(const char *text)
{
	struct error err = ERROR_INIT;
	struct fti_ini *ini = fti_ini_parse("x", text, strlen(text), &err);

	must(ini != NULL);
	return ini;
}

/* --- Grammar --- */

/* The value of [a] k, or NULL. */
static const struct {
	const char *name, *text, *value;
} lines[] = {
	{ "plain", "[a]\nk = v\n", "v" },
	{ "no blanks", "[a]\nk=v", "v" },
	{ "Windows line ends", "[a]\r\nk = v\r\n", "v" },
	{ "capitals in names", "[A]\nK = Vv\n", "Vv" },
	{ "indented", "  [a]\n\tk = v\n", "v" },
	{ "indented below another", "[a]\nj = 1\n  k = v\n", "v" },
	{ "a value with blanks", "[a]\nk = v w \n", "v w" },
	{ "a comment after the value", "[a]\nk = v # w\n", "v" },
	{ "another", "[a]\nk = v;w\n", "v" },
	{ "quoted", "[a]\nk = \"v # w\" # x\n", "v # w" },
	{ "quoted once", "[a]\nk = 'v w'\n", "v w" },
	{ "a quote without end", "[a]\nk = \"v\n", "\"v" },
	{ "empty", "[a]\nk = \n", "" },
	{ "empty, with a comment", "[a]\nk = ; v\n", "" },
	{ "empty quotes", "[a]\nk = \"\"\n", "" },
	{ "an equals sign in the value", "[a]\nk = v=w\n", "v=w" },
	{ "set twice", "[a]\nk = u\nk = v\n", "v" },
	{ "a section twice", "[a]\nk = u\n[b]\nk = w\n[a]\nk = v\n", "v" },
	{ "a byte order mark", "\xef\xbb\xbf[a]\nk = v\n", "v" },
	{ "after a malformed line", "[a\n[a]\nx\n= 1\nk = v\n", "v" },
	{ "in a comment", "[a]\n# k = v\n;k = v\n", NULL },
	{ "in another section", "[b]\nk = v\n", NULL },
	{ "in no section", "k = v\n[a]\n", NULL },
	{ "a colon", "[a]\nk : v\n", NULL },
	{ "no value", "[a]\nk\n", NULL },
	{ "nothing", "", NULL },
};

TEST(grammar)
{
	each (l, lines) {
		auto_fti_ini *ini = parse(l->text);

		is_str(fti_ini_get(ini, "a", "k"), l->value, l->name);
	}
}

/* Values beyond what inih keeps of a line. */
TEST(long)
{
	char value[5001], key[FTI_INI_KEY_MAX];
	auto_fti_ini *ini = NULL;

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	ini = parse(fmt("[a]\nk = %.900s\n", value));
	is_int(strlen(fti_ini_get(ini, "a", "k")), 900, "a long value");
	fti_ini_free(ini);
	memset(key, 'k', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	ini = parse(fmt("[a]\n%s = v\nk = w\n", key));
	ok(fti_ini_get(ini, "a", key) == NULL &&
		   str_eq(fti_ini_get(ini, "a", "k"), "w"),
	   "a key longer than FTI's is left out");
	fti_ini_free(ini);
	ini = fti_ini_parse("x", "[a]\nk = v\0w\nj = 1\n", 18, NULL);
	ok(ini != NULL && fti_ini_get(ini, "a", "k") == NULL &&
		   fti_ini_get(ini, "a", "j") != NULL,
	   "a line with a NUL byte is left out");
}

TEST(numbers)
{
	const struct fti_ini_range r = { -1, 10 };
	static const char *const bad[] = { "11", "-2", "1x", "", "0x1", "1 2" };
	struct fti_ini *ini = parse("[a]\nk = 10\nneg = -1\n[b]\nk = 1\n");
	const char *text = NULL;
	int64_t n = 0;
	bool all = true;

	ok(fti_ini_number(ini, "a", "k", r, &n, &why) == 0 && n == 10 &&
		   fti_ini_number(ini, "A", "neg", r, &n, &why) == 0 && n == -1,
	   "numbers");
	refuses(fti_ini_number(ini, "a", "q", r, &n, &why), ERROR_CORRUPT,
		"x: [a] q: missing", "a missing one");
	ok(fti_ini_text(ini, "c", "q", &text, &why) < 0 && text == NULL,
	   "a missing text");
	is_str(fti_ini_section(ini, 0), "a", "a section");
	is_str(fti_ini_section(ini, 1), "b", "another");
	ok(fti_ini_section(ini, 2) == NULL, "no more");
	fti_ini_free(ini);
	each (b, bad) {
		ini = parse(fmt("[a]\nk = %s\n", *b));
		all = all && fti_ini_number(ini, "a", "k", r, &n, &why) < 0 &&
		      why.kind == ERROR_CORRUPT && says(&why, "x: [a] k: ");
		fti_ini_free(ini);
	}
	ok(all, "what is no number in the range");
}

/* --- Edits: [a] k becomes "new" --- */

#define PAD "k                              = new"
static const struct {
	const char *name, *text, *after;
} edits[] = {
	{ "a value", "[a]\nk = v\nj = w\n", "[a]\nk = new\nj = w\n" },
	{ "nothing else of the line", "# c\n[ A ]\n\tK=v ; c\r\n[b]\n",
	  "# c\n[ A ]\n\tK=new ; c\r\n[b]\n" },
	{ "an empty value", "[a]\r\nk = \r\nj=1\r\n",
	  "[a]\r\nk = new\r\nj=1\r\n" },
	{ "an empty value with a comment", "[a]\nk =  ;c\n",
	  "[a]\nk = new ;c\n" },
	{ "in quotes", "[a]\nk = \"v w\"\n", "[a]\nk = \"new\"\n" },
	{ "at the end of the file", "[a]\nk=v", "[a]\nk=new" },
	{ "the last of two", "[a]\nk=1\nk=2\n", "[a]\nk=1\nk=new\n" },
	{ "not in another section", "[b]\nk=1\n[a]\nk=2\n[c]\nk=3\n",
	  "[b]\nk=1\n[a]\nk=new\n[c]\nk=3\n" },
	{ "a missing key", "[a]\nj = 1\n\n[b]\nk = 2\n",
	  "[a]\nj = 1\n" PAD "\n\n[b]\nk = 2\n" },
	{ "in a section without keys", "[a]\n[b]\n", "[a]\n" PAD "\n[b]\n" },
	{ "with the line ends of the file", "[a]\r\nj=1\r\n",
	  "[a]\r\nj=1\r\n" PAD "\r\n" },
	{ "no newline at the end", "[a]\nj = 1", "[a]\nj = 1\n" PAD },
	{ "a missing section", "[b]\nk = 1", "[b]\nk = 1\n[a]\n" PAD "\n" },
	{ "an empty file", "", "[a]\n" PAD "\n" },
};

/* Put the text with the value into *out. */
static int
set_in(const void *text, size_t len, const struct fti_ini_value *v,
       struct buf *out, struct error *err)
{
	buf_clear(out);
	return buf_add(out, text, len) < 0 ? error_no_memory(err)
					   : fti_ini_set(out, v, err);
}

TEST(edits)
{
	const struct fti_ini_value set = { "a", "k", "new", false };
	static const char *const bad[] = { "a\nb", "a;b", "a#b", " a",
					   "a ",   "\"a", "a'" };
	auto_buf out = BUF_INIT;
	bool all = true;

	each (e, edits) {
		auto_fti_ini *ini = NULL;

		is_int(set_in(e->text, strlen(e->text), &set, &out, &why), 0,
		       e->name);
		is_str(out.data, e->after, "is the text expected");
		ini = parse(out.data);
		is_str(fti_ini_get(ini, "a", "k"), "new", "and is read so");
	}
	each (b, bad)
		all = all &&
		      set_in("", 0,
			     &(struct fti_ini_value){ "a", "k", *b, false },
			     &out, &why) < 0 &&
		      why.kind == ERROR_USAGE;
	ok(all, "values that no ini file can hold are refused");
}

/* --- The configuration --- */

static int
take(const char *text, struct fti_config *c, struct error *err)
{
	return fti_config_take(c, parse(text), err);
}

TEST(config)
{
	static const char *const bad[] = {
		"[basic]\nhead = 2\n",
		"[basic]\nnode_size = 0\n",
		"[basic]\nnode_size = 99999999999999999999\n",
		"[basic]\ngroup_size = 32\n",
		"[restart]\nexec_id = ..\n",
		"[restart]\nexec_id = a/b\n",
		"[restart]\nexec_id = /\n",
		"[advanced]\nlocal_test = yes\n",
	};
	struct fti_config c;
	bool all = true;

	ok(take("[basic]\nNode_size = 2\nckpt_dir = ../x\n[restart]\n"
		"failure = 3\n",
		&c, &why) == 0 &&
		   c.node_size == 2 && c.group_size == -1 &&
		   c.exec_id == NULL && str_eq(c.ckpt_dir, "../x") &&
		   c.glbl_dir == NULL,
	   "some keys, others missing");
	fti_config_close(&c);
	each (b, bad) {
		all = all && take(*b, &c, &why) < 0 &&
		      why.kind == ERROR_CORRUPT && says(&why, "x: [");
		fti_config_close(&c);
	}
	ok(all, "values out of range name section and key");
}

TEST(beneath)
{
	static const struct {
		const char *from, *to;
	} paths[] = {
		{ "./Local", "Local" }, { "/a//b/./c/", "a/b/c" },
		{ "/a/../../b", "b" },	{ "/", "." },
		{ ".", "." },		{ "a/..", "." },
		{ "a/../../b", NULL },	{ "..", NULL },
		{ "../../etc", NULL },
	};
	auto_buf out = BUF_INIT;

	each (p, paths) {
		const int rc = fti_config_beneath(p->from, &out, &why);

		ok(p->to != NULL ? rc == 0 && str_eq(out.data, p->to)
				 : rc < 0 && why.kind == ERROR_UNSAFE,
		   p->from);
	}
}

/* --- Misuse --- */

TEST(misuse)
{
	refuses(fti_ini_parse("x", "", FTI_INI_MAX + 1, &why), ERROR_CORRUPT,
		NULL, "a file that is too large is not parsed");
	refuses(fti_ini_read(AT_FDCWD, "/nonexistent/x", &why), ERROR_ABSENT,
		NULL, "a missing file");
	fti_ini_free(NULL);
}
