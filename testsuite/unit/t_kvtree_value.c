/* SPDX-License-Identifier: BSD-3-Clause */
/* Typed values in a tree.  Printing, and files: golden/rebuild.bats,
 * damage.bats. */
#include "kvtree/value.h"

#include "metatest.h"
#include "num.h"

/* Numbers as keys and in names have exactly one spelling. */
TEST(value_numbers)
{
	static const char bad[] = "|-1|+1| 1|1 |01|00|0x1|1x|a|1\n|"
				  "18446744073709551616|"
				  "99999999999999999999999";
	char text[NUM_TEXT], *rest = fmt("%s", bad), *word = NULL;
	uint64_t n = 7;

	while ((word = strsep(&rest, "|")) != NULL)
		ok(!value_number(word, UINT64_MAX, &n) && n == 7, label(word));
	ok(value_number("0", 0, &n) && n == 0, "0");
	ok(value_number("18446744073709551615", UINT64_MAX, &n) &&
		   n == UINT64_MAX,
	   "the largest");
	is_str(num_text(text, n), "18446744073709551615", "... and back");
	ok(!value_number("11", 10, &n), "above the bound");
	ok(value_number("10", 10, &n) && n == 10, "at the bound");
	is_str(value_scan("12_of_3", 100, &n), "_of_3", "a number in a name");
	is_int(n, 12, "... is read");
	ok(value_scan("_of_3", 100, &n) == NULL, "no number");
}

TEST(typed_values)
{
	auto_kvtree *t = tree_of("a>1\nb>0x10\nc>1\nc>2\nd\ne>x y\nf>0\n"
				 "g>4294967296\nk\x01\x1b>x\n");
	const struct kvtree *a = kvtree_get(t, "a"), *b = kvtree_get(t, "b");
	const char *s = NULL;
	uint64_t n = 0;
	uint32_t u = 0;
	bool flag = true;

	ok(value_u64(a, 1, &n, &why) == 0 && n == 1, "u64");
	ok(value_u64(b, 16, &n, &why) == 0 && n == 16, "hexadecimal");
	refuses(value_u64(b, 15, &n, &why), ERROR_CORRUPT,
		"b: \"0x10\" is not a number from 0 to 15", "too large");
	refuses(value_u64(kvtree_get(t, "c"), 15, &n, &why), ERROR_CORRUPT,
		NULL, "two values");
	is_int(value_u64(kvtree_get(t, "d"), 15, &n, &why), -1, "no value");
	is_int(value_str(kvtree_get(t, "d"), &s, &why), -1, "... as text");
	is_int(value_str(kvtree_get(t, "e"), &s, &why), 0, "text");
	is_str(s, "x y", "... with a blank");
	ok(value_flag(a, &flag, &why) == 0 && flag, "true");
	ok(value_flag(kvtree_get(t, "f"), &flag, &why) == 0 && !flag, "false");
	is_int(value_flag(b, &flag, &why), -1, "neither");
	ok(value_u32(a, 5, &u, &why) == 0 && u == 1, "u32");
	is_int(value_u32(kvtree_get(t, "g"), UINT32_MAX, &u, &why), -1,
	       "too large for 32 bits");
	ok(value_u64(kvtree_get(t, "k\x01\x1b"), 5, &n, &why) < 0 &&
		   strchr(why.text, '\x1b') == NULL,
	   "a key that drives terminals is made harmless");
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

TEST(file_memory)
{
	auto_kvtree *t = kvtree_new(NULL);
	char name[] = "large.kv";

	scratch_new();
	must(chdir(scratch_root) == 0);
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
