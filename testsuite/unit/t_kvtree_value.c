/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Typed values in a tree, and printing.
 */
#include <stdlib.h>

#include "json.h"
#include "metatest.h"

/* --- Values --- */

static void
test_set_numbers(void)
{
	struct kvtree *t = kvtree_new(NULL);

	kvtree_set_u64(t, "u", UINT64_MAX, NULL);
	kvtree_set_i64(t, "i", INT64_MIN, NULL);
	kvtree_set_crc(t, "c", 0x1f, NULL);
	is_str(kvtree_value(t, "u"), "18446744073709551615", "set_u64");
	is_str(kvtree_value(t, "i"), "-9223372036854775808", "set_i64");
	is_str(kvtree_value(t, "c"), "0x1f", "set_crc");
	kvtree_set_crc(t, "c", 0, NULL);
	is_str(kvtree_value(t, "c"), "0", "set_crc of zero");
	kvtree_free(t);
}

/* A value, the error kind, and the number as u64 up to 1000 and as i64 in
 * -10..1000. */
static const struct {
	const char *value;
	enum error_kind u, i;
	int64_t number;
} values[] = {
	{ "0", ERROR_NONE, ERROR_NONE, 0 },
	{ "1000", ERROR_NONE, ERROR_NONE, 1000 },
	{ "0x1f", ERROR_NONE, ERROR_NONE, 31 },
	{ "010", ERROR_NONE, ERROR_NONE, 8 },
	{ "-0", ERROR_CORRUPT, ERROR_NONE, 0 },
	{ "-10", ERROR_CORRUPT, ERROR_NONE, -10 },
	{ "-11", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "1001", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "-", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "--1", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "+1", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ " 1", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "1 ", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "1x", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "08", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "0x", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "18446744073709551616", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "-9223372036854775808", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
	{ "-9223372036854775809", ERROR_CORRUPT, ERROR_CORRUPT, 0 },
};

static void
test_get_numbers(void)
{
	struct kvtree *t = kvtree_new(NULL);
	struct error err = ERROR_INIT;
	uint64_t u = 77;
	int64_t n = 77;
	char what[64];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		kvtree_set(t, "K", values[i].value, NULL);
		u = 77;
		n = 77;
		error_clear(&err);
		kvtree_u64(t, "K", 1000, &u, &err);
		snprintf(what, sizeof(what), "u64 \"%s\"", values[i].value);
		ok(err.kind == values[i].u &&
			   u == (values[i].u == ERROR_NONE
					 ? (uint64_t)values[i].number
					 : 77),
		   what);
		error_clear(&err);
		kvtree_i64(t, "K", -10, 1000, &n, &err);
		snprintf(what, sizeof(what), "i64 \"%s\"", values[i].value);
		ok(err.kind == values[i].i &&
			   n == (values[i].i == ERROR_NONE ? values[i].number
							   : 77),
		   what);
	}
	kvtree_set(t, "K", "-9223372036854775808", NULL);
	ok(kvtree_i64(t, "K", INT64_MIN, 0, &n, NULL) == 0 && n == INT64_MIN,
	   "the least i64");
	kvtree_free(t);
}

static void
test_get_nothing(void)
{
	struct kvtree *t = tree_of("EMPTY\nTWO>1\nTWO>2\nBAD>x\ny\n");
	struct error err = ERROR_INIT;
	uint64_t u = 0;
	int64_t n = 0;

	ok(kvtree_u64(t, "NO", 9, &u, &err) < 0 && err.kind == ERROR_ABSENT,
	   "a key that is not there");
	ok(strstr(err.text, "NO") != NULL, "is named");
	ok(kvtree_i64(NULL, "NO", 0, 9, &n, &err) < 0 &&
		   err.kind == ERROR_ABSENT,
	   "nor in NULL");
	ok(kvtree_u64(t, "EMPTY", 9, &u, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "a key without value");
	is_str(err.text, "EMPTY: not exactly one value", "is named");
	ok(kvtree_i64(t, "TWO", 0, 9, &n, &err) < 0 &&
		   err.kind == ERROR_CORRUPT,
	   "two values");
	is_str(err.text, "TWO: not exactly one value", "is named");
	ok(kvtree_u64(t, "BAD", 9, &u, &err) < 0, "no number");
	ok(strstr(err.text, "BAD") != NULL && strstr(err.text, "\"x\"") != NULL,
	   "key and value are named");
	kvtree_free(t);
}

/* --- Printing --- */

static void
test_print(void)
{
	struct kvtree *t = tree_of("A>1\nB>x>y\nC>1\nC>2\nD\n>\n");
	struct buf b = BUF_INIT;

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
	buf_free(&b);
	kvtree_free(t);
}

static void
test_json(void)
{
	struct kvtree *t =
		tree_of("A>1\nB>x>y\nB>z>q>1\nC>1\nC>2>3>4\nD\n\"\n");
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	ok(json_print(kvtree_json(t), f, NULL) == 0, "print as JSON");
	fclose(f);
	is_str(text,
	       "{\n  \"A\": \"1\",\n  \"B\": {\n    \"x\": \"y\",\n    \"z\": "
	       "{\n      \"q\": \"1\"\n    }\n  },\n  \"C\": {\n    \"1\": "
	       "null,\n    \"2\": {\n      \"3\": \"4\"\n    }\n  },\n  "
	       "\"D\": null,\n  \"\\\"\": null\n}\n",
	       "leaves are null, values strings");
	free(text);
	kvtree_free(t);
}

static int
try_print(void *arg, struct error *err)
{
	struct buf b = BUF_INIT;
	int rc = kvtree_print(arg, KVTREE_TREE, &b, err);

	if (rc < 0 && b.len != 0)
		error_set(err, ERROR_CORRUPT, "half a print");
	buf_free(&b);
	return rc;
}

static int
try_json(void *arg, struct error *err)
{
	FILE *null = fopen("/dev/null", "w");
	int rc = json_print(kvtree_json(arg), null, err);

	fclose(null);
	return rc;
}

static void
test_memory(void)
{
	struct kvtree *t = tree_of("A>1\nB>x>y\nB>z\nC>1\nC>2>3>4\nD\n");

	ok(fail_each_alloc(try_print, t) > 0, "print survives ENOMEM\n");
	ok(fail_each_alloc(try_json, t) > 5, "JSON does");
	kvtree_free(t);
}

int
main(void)
{
	test_set_numbers();
	test_get_numbers();
	test_get_nothing();
	test_print();
	test_json();
	test_memory();
	return tap_done();
}
