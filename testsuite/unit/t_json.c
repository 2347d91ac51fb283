/* SPDX-License-Identifier: BSD-3-Clause */
#include "json.h"

#include "scratch.h"

#define BAD "\xef\xbf\xbd" /* U+FFFD */

/* Print `j`; for free().  NULL: json_print() failed. */
static char *
print(struct json *j, struct error *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	int rc = json_print(j, to, err);

	fclose(to);
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

static void
check(struct json *j, const char *want, const char *what)
{
	auto_free char *got = print(j, NULL);

	is_str(got, want, what);
}

static struct json *
make_document(void)
{
	struct json *doc = json_new_object(), *files = json_new_array();
	struct json *file = json_new_object();

	json_set_str(doc, "zeta", "first");
	json_set_str(doc, "alpha", "quote \" slash / back \\ tab \t end");
	json_set_u64(doc, "size", UINT64_C(9007199254740993));
	json_set_i64(doc, "least", INT64_MIN);
	json_set_bool(doc, "good", true);
	json_set_bool(doc, "bad", false);
	json_set_null(doc, "nothing");
	json_push_str(files, "a");
	json_set_str(file, "name", NULL);
	json_push(files, file);
	json_push(files, json_new_array());
	json_set(doc, "files", files);
	json_set(doc, "empty", json_new_object());
	return doc;
}

static const char document[] =
	"{\n  \"zeta\": \"first\",\n"
	"  \"alpha\": \"quote \\\" slash / back \\\\ tab \\t end\",\n"
	"  \"size\": 9007199254740993,\n"
	"  \"least\": -9223372036854775808,\n"
	"  \"good\": true,\n  \"bad\": false,\n  \"nothing\": null,\n"
	"  \"files\": [\n    \"a\",\n"
	"    {\n      \"name\": null\n    },\n"
	"    []\n  ],\n  \"empty\": {}\n}\n";

TEST(document)
{
	struct json *doc = NULL;

	check(make_document(), document, "members in the order they were set");

	doc = json_new_object();
	json_set_u64(doc, "most", INT64_MAX);
	json_set_u64(doc, "more", (uint64_t)INT64_MAX + 1);
	json_set_u64(doc, "max", UINT64_MAX);
	check(doc,
	      "{\n  \"most\": 9223372036854775807,\n"
	      "  \"more\": 9223372036854775807,\n"
	      "  \"max\": 9223372036854775807\n}\n",
	      "numbers above INT64_MAX are written as INT64_MAX");

	doc = json_new_object();
	json_set_or_null(doc, "none", -1);
	json_set_or_null(doc, "least", 0);
	check(doc, "{\n  \"none\": null,\n  \"least\": 0\n}\n",
	      "negative numbers may be null");

	json_free(make_document());
	json_free(NULL);
}

static const struct {
	const char *bytes, *text, *hex; /* hex NULL: valid UTF-8 */
} strings[] = {
	{ "", "", NULL },
	{ "\xdf\xbf", "\xdf\xbf", NULL },
	{ "\xe0\xa0\x80", "\xe0\xa0\x80", NULL },
	{ "\xed\x9f\xbf", "\xed\x9f\xbf", NULL },
	{ "\xf0\x90\x80\x80", "\xf0\x90\x80\x80", NULL },
	{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", NULL },
	{ "a\xff", "a" BAD, "61ff" },
	{ "\x80z", BAD "z", "807a" },
	{ "\xc3", BAD, "c3" },
	{ "\xc1\xbf", BAD BAD, "c1bf" },	   /* overlong */
	{ "\xe0\x9f\xbf", BAD BAD BAD, "e09fbf" }, /* overlong */
	{ "\xed\xa0\x80", BAD BAD BAD, "eda080" }, /* a surrogate */
	{ "\xe2\x82z", BAD BAD "z", "e2827a" },
	{ "\xf0\x8f\xbf\xbf", BAD BAD BAD BAD, "f08fbfbf" },
	{ "\xf4\x90\x80\x80", BAD BAD BAD BAD, "f4908080" },
	{ "\xf0\x9f\x98", BAD BAD BAD, "f09f98" },
	{ "\xf5\x80\x80\x80", BAD BAD BAD BAD, "f5808080" },
};

TEST(strings)
{
	each (s, strings) {
		struct json *doc = json_new_object(), *list = json_new_array();
		const char *bytes = s->bytes, *text = s->text;
		const char *hex = s->hex;

		json_set_str(doc, "k", bytes);
		check(doc,
		      hex == NULL ? fmt("{\n  \"k\": \"%s\"\n}\n", text)
				  : fmt("{\n  \"k\": \"%s\",\n"
					"  \"k_hex\": \"%s\"\n}\n",
					text, hex),
		      "a string and its bytes");
		json_push_str(list, bytes);
		check(list, fmt("[\n  \"%s\"\n]\n", text),
		      "in an array, without them");
		doc = json_new_object();
		json_set_bool(doc, bytes, true);
		check(doc,
		      fmt("{\n  \"%s%s%s\": true\n}\n", text,
			  hex == NULL ? "" : "_hex_", hex == NULL ? "" : hex),
		      "as a key");
	}
}

/* Parsers refuse strings that are not UTF-8, so all must be converted. */
TEST(all_bytes)
{
	struct json *list = json_new_array(), *doc = json_new_object();
	unsigned a, b;
	char *got = NULL;

	for (a = 1; a < 256; a++) {
		for (b = 1; b < 256; b++) {
			char s[] = { (char)a, (char)b, '\0' };
			char t[] = { '\xe1', (char)a, (char)b, '\0' };

			json_push_str(list, s);
			json_push_str(list, t);
		}
	}
	got = print(list, NULL);
	ok(got != NULL, "all strings of two bytes");
	free(got);
	for (a = 1; a < 256; a++) {
		char s[] = { (char)a, '\0' };

		json_set_str(doc, s, s);
	}
	got = print(doc, NULL);
	ok(got != NULL, "all keys of one byte");
	for (a = 0, b = 0; got != NULL && got[a] != '\0'; a++)
		b += got[a] == '\n';
	is_int(b, 255 + 128 + 2, "none of which replaces another");
	free(got);
}

/* A document deeper than any kvtree (KVTREE_MAX_DEPTH). */
TEST(deep)
{
	struct json *inner = json_new_array(), *top = NULL;
	auto_free char *got = NULL;

	for (int i = 0; i < 300; i++) {
		top = json_new_object();
		json_set(top, "in", inner);
		inner = top;
	}
	got = print(top, NULL);
	ok(got != NULL, "300 levels");
}

static char *made;

TEST(no_memory)
{
	without_memory (m, 11, "too little memory is told") {
		struct json *doc = make_document();

		json_set_str(doc, "odd\xff", "\xff");
		free(made);
		made = print(doc, &m.err);
		m.rc = made != NULL ? 0 : -1;
	}
	ok(strstr(made, "\"odd" BAD "_hex_6f6464ff_hex\": \"ff\"") != NULL,
	   "and then nothing is missing");
	free(made);
	is_int(json_print(NULL, stdout, &why), -1, "NULL is not printed");
	is_int(why.kind, ERROR_NOMEM, "but taken for lack of memory");
}

/* After a failed allocation the document stays invalid, even if later
 * allocations succeed. */
TEST(forgiving)
{
	struct json *doc = json_new_object(), *part = json_new_object();
	char text[4096] = "";

	memset(text, 'x', sizeof(text) - 1);
	mem_fail_after(0);
	json_set_str(part, "lost", text);
	mem_fail_after(-1);
	json_set(doc, "part", part);
	json_set_u64(doc, "later", 2);
	is_int(json_print(doc, stdout, &why), -1, "a part without memory");
	is_int(why.kind, ERROR_NOMEM, "fails the whole");

	part = json_new_object();
	json_set(NULL, "k", part);
	json_push(NULL, json_new_array());
	json_set_str(NULL, "k", "v");
	doc = json_new_object();
	json_set(doc, "k", NULL);
	ok(print(doc, NULL) == NULL, "a NULL part fails the whole too");
}

TEST(full_disk)
{
	FILE *full = fopen("/dev/full", "w");

	if (full == NULL) {
		skip("a full disk", "no /dev/full");
		return;
	}
	setvbuf(full, NULL, _IONBF, 0);
	is_int(json_print(make_document(), full, &why), -1, "a full disk");
	is_int(why.kind, ERROR_SYSTEM, "is told");
	is_int(why.errnum, ENOSPC, "with its reason");
	is_str(why.text, "JSON output: cannot write: No space left on device",
	       "in words");
	fclose(full);
}
