/* SPDX-License-Identifier: BSD-3-Clause */
/* Typed values in a tree, printing, and files. */
#include "metatest.h"

TEST(set_numbers)
{
	auto_kvtree *t = kvtree_new(NULL);

	kvtree_set_u64(t, "u", UINT64_MAX, NULL);
	kvtree_set_i64(t, "i", INT64_MIN, NULL);
	kvtree_set_crc(t, "c", 0x1f, NULL);
	is_str(kvtree_value(t, "u"), "18446744073709551615", "set_u64");
	is_str(kvtree_value(t, "i"), "-9223372036854775808", "set_i64");
	is_str(kvtree_value(t, "c"), "0x1f", "set_crc");
	kvtree_set_crc(t, "c", 0, NULL);
	is_str(kvtree_value(t, "c"), "0", "set_crc of zero");
}

/* A value, and whether it is a u64 up to 1000 and an i64 in -10..1000. */
static const struct {
	const char *value;
	bool u, i;
	int64_t number;
} values[] = {
	{ "0", true, true, 0 },
	{ "1000", true, true, 1000 },
	{ "0x1f", true, true, 31 },
	{ "010", true, true, 8 },
	{ "-0", false, true, 0 },
	{ "-10", false, true, -10 },
	{ "-11", false, false, 0 },
	{ "1001", false, false, 0 },
	{ "", false, false, 0 },
	{ "-", false, false, 0 },
	{ "--1", false, false, 0 },
	{ "+1", false, false, 0 },
	{ " 1", false, false, 0 },
	{ "1 ", false, false, 0 },
	{ "1x", false, false, 0 },
	{ "08", false, false, 0 },
	{ "0x", false, false, 0 },
	{ "18446744073709551616", false, false, 0 },
	{ "-9223372036854775808", false, false, 0 },
	{ "-9223372036854775809", false, false, 0 },
};

TEST(get_numbers)
{
	auto_kvtree *t = kvtree_new(NULL);
	int64_t n = 77;

	for (size_t i = 0; i < COUNT(values); i++) {
		struct error u_err = ERROR_INIT, i_err = ERROR_INIT;
		uint64_t u = 77;

		n = 77;
		kvtree_set(t, "K", values[i].value, NULL);
		kvtree_u64(t, "K", 1000, &u, &u_err);
		ok(u_err.kind == (values[i].u ? ERROR_NONE : ERROR_CORRUPT) &&
			   (int64_t)u == (values[i].u ? values[i].number : 77),
		   fmt("u64 \"%s\"", values[i].value));
		kvtree_i64(t, "K", -10, 1000, &n, &i_err);
		ok(i_err.kind == (values[i].i ? ERROR_NONE : ERROR_CORRUPT) &&
			   n == (values[i].i ? values[i].number : 77),
		   fmt("i64 \"%s\"", values[i].value));
	}
	kvtree_set(t, "K", "-9223372036854775808", NULL);
	ok(kvtree_i64(t, "K", INT64_MIN, 0, &n, NULL) == 0 && n == INT64_MIN,
	   "the least i64");
}

TEST(get_nothing)
{
	static const struct {
		const char *key;
		enum error_kind kind;
		const char *says;
	} cases[] = {
		{ "NO", ERROR_ABSENT, "NO" },
		{ "EMPTY", ERROR_CORRUPT, "EMPTY: not exactly one value" },
		{ "TWO", ERROR_CORRUPT, "TWO: not exactly one value" },
		{ "BAD", ERROR_CORRUPT, "BAD: " },
	};
	auto_kvtree *t = tree_of("EMPTY\nTWO>1\nTWO>2\nBAD>x\ny\n");
	uint64_t u = 0;
	int64_t n = 0;

	each (c, cases) {
		ok(kvtree_u64(t, c->key, 9, &u, &why) < 0 &&
			   why.kind == c->kind && says(&why, c->says),
		   fmt("no u64: %s", c->key));
		ok(kvtree_i64(t, c->key, 0, 9, &n, &why) < 0 &&
			   why.kind == c->kind && says(&why, c->says),
		   fmt("no i64: %s", c->key));
	}
	(void)kvtree_u64(t, "BAD", 9, &u, &why);
	ok(says(&why, "\"x\""), "the value is named");
	refuses(kvtree_i64(NULL, "NO", 0, 9, &n, &why), ERROR_ABSENT, NULL,
		"nor in NULL");
}

TEST(print)
{
	auto_kvtree *t = tree_of("A>1\nB>x>y\nC>1\nC>2\nD\n>\n");
	auto_buf b = BUF_INIT;

	buf_add_str(&b, "before\n");
	ok(kvtree_print(t, KVTREE_TREE, &b, NULL) == 0, "print as tree");
	is_str(b.data,
	       "before\n  A\n    1\n  B\n    x\n      y\n  C\n    1\n    2\n"
	       "  D\n  \n    \n",
	       "each key on its line");
	buf_clear(&b);
	ok(kvtree_print(t, KVTREE_KEYVAL, &b, NULL) == 0, "print as keyval");
	is_str(b.data,
	       "  A = 1\n  B\n    x = y\n  C\n    1\n    2\n  D\n   = \n",
	       "values on the line of their key");
}

TEST(json)
{
	auto_kvtree *t = tree_of("A>1\nB>x>y\nB>z>q>1\nC>1\nC>2>3>4\nD\n\"\n");
	auto_free char *text = json_text(kvtree_json(t));

	is_str(text,
	       "{\n  \"A\": \"1\",\n  \"B\": {\n    \"x\": \"y\",\n    \"z\": "
	       "{\n      \"q\": \"1\"\n    }\n  },\n  \"C\": {\n    \"1\": "
	       "null,\n    \"2\": {\n      \"3\": \"4\"\n    }\n  },\n  "
	       "\"D\": null,\n  \"\\\"\": null\n}\n",
	       "leaves are null, values strings");
}

TEST(memory)
{
	auto_kvtree *t = tree_of("A>1\nB>x>y\nB>z\nC>1\nC>2>3>4\nD\n");
	without_memory (m, 6, "no memory to print") {
		auto_buf b = BUF_INIT;
		FILE *null = fopen("/dev/null", "w");

		m.rc = json_print(kvtree_json(t), null, &m.err);
		if (m.rc == 0)
			m.rc = kvtree_print(t, KVTREE_TREE, &b, &m.err);
		if (m.rc < 0 && b.len != 0)
			error_set(&m.err, ERROR_CORRUPT, "half a print");
		fclose(null);
	}
}

/* --- Files --- */

TEST(files)
{
	struct kvtree *t = tree_of("NODES>4\n"), *u = NULL;
	struct stat st;

	scratch_new();
	must(chdir(scratch_root) == 0);
	ok(kvtree_write_file(t, AT_FDCWD, "a.kv", NULL) == 0, "write");
	ok(stat("a.kv", &st) == 0 && st.st_size == 44 &&
		   (st.st_mode & 0777) == 0644,
	   "size and mode");
	u = kvtree_read_file(AT_FDCWD, "a.kv", &why);
	ok(tree_says(u, "NODES>4\n"), "read");
	kvtree_free(u);
	refuses(kvtree_read_file(AT_FDCWD, "none.kv", &why), ERROR_ABSENT,
		"none.kv", "no such file");
	must(truncate("a.kv", 30) == 0);
	ok(kvtree_read_file(AT_FDCWD, "a.kv", &why) == NULL,
	   "a truncated file");
	is_str(why.text, "a.kv: needs 44 bytes, has 30: truncated", "why");
	must(truncate("a.kv", 0) == 0);
	ok(kvtree_read_file(AT_FDCWD, "a.kv", &why) == NULL, "an empty file");
	is_str(why.text, "a.kv: empty file: interrupted write", "why");
	ok(kvtree_write_file(t, AT_FDCWD, "no/dir.kv", &why) < 0, "no place");
	ok(kvtree_read_file(AT_FDCWD, ".", &why) == NULL, "a directory");
	must(unlink("a.kv") == 0);
	kvtree_free(t);
}

TEST(file_memory)
{
	auto_kvtree *t = kvtree_new(NULL);
	char name[] = "large.kv";

	for (int i = 0; i < 5000; i++)
		kvtree_set(t, fmt("key %d", i), "1", NULL);
	kvtree_write_file(t, AT_FDCWD, name, NULL);
	without_memory (m, 5, "reading survives ENOMEM") {
		auto_kvtree *u = kvtree_read_file(AT_FDCWD, name, &m.err);

		m.rc = u != NULL ? 0 : -1;
	}
	without_memory (m, 1, "writing does")
		m.rc = kvtree_write_file(t, AT_FDCWD, "fails.kv", &m.err);
	unlink("fails.kv");
	unlink(name);
	ok(rmdir(scratch_root) == 0, "nothing is left behind");
}
