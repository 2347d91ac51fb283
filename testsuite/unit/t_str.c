/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"
#include "str.h"

TEST(questions)
{
	static const char *const lines[] = { "one", "", "three" };
	const char *text = "one\n\nthree", *none = NULL, *empty = "";
	size_t len = 0;

	ok(str_eq("a", "a") && !str_eq("a", "A") && !str_eq("a", ""), "equal");
	ok(str_starts("abc", "ab") && str_starts("abc", "") &&
		   str_starts("abc", "abc") && !str_starts("abc", "abcd") &&
		   !str_starts("", "a"),
	   "str_starts()");
	ok(str_ends("abc", "bc") && str_ends("abc", "") &&
		   str_ends("abc", "abc") && !str_ends("abc", "ab") &&
		   !str_ends("bc", "abc"),
	   "str_ends()");
	ok(str_glob("ckpt.10", "ckpt.*") && str_glob("a.b", "?.[a-c]") &&
		   str_glob("a/b", "a*b") && !str_glob("ckpt.10", "ckpt") &&
		   !str_glob("a", "[!a]"),
	   "str_glob()");
	ok(str_is_digit('0') && str_is_digit('9') && !str_is_digit('a') &&
		   !str_is_digit('/') && !str_is_digit(':'),
	   "str_is_digit()");
	is_str(str_plural(1, "file"), "file", "one file");
	is_str(str_plural(0, "file"), "files", "no files");
	is_str(str_plural(2, "file"), "files", "two files");
	for (size_t i = 0; i < 3; i++) {
		const char *line = str_line(&text, &len);

		ok(line != NULL && len == strlen(lines[i]) &&
			   strncmp(line, lines[i], len) == 0,
		   "str_line(): the first, an empty one, one without newline");
	}
	ok(str_line(&text, &len) == NULL && str_line(&none, &len) == NULL &&
		   str_line(&empty, &len) == NULL,
	   "then none, nor of nothing");
}

static const struct {
	const char *name, *in, *out;
} printables[] = {
	{ "plain text", "a b~", "a b~" },
	{ "nothing", "", "" },
	{ "newline and tab", "a\nb\tc", "a\\nb\\tc" },
	{ "backslash", "a\\n", "a\\\\n" },
	{ "escape sequence", "\033[2J", "\\x1b[2J" },
	{ "carriage return, bell", "\r\a", "\\x0d\\x07" },
	{ "DEL", "a\x7f", "a\\x7f" },
	{ "UTF-8 of 2, 3, 4 bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "C1 control",
	  "\xc2\x9b"
	  "2J",
	  "\\xc2\\x9b2J" },
	{ "no-break space is no control", "\xc2\xa0", "\xc2\xa0" },
	{ "line separator", "\xe2\x80\xa8", "\\xe2\\x80\\xa8" },
	{ "right-to-left override", "\xe2\x80\xae", "\\xe2\\x80\\xae" },
	{ "isolate", "\xe2\x81\xa6", "\\xe2\\x81\\xa6" },
	{ "stray continuation", "a\x80z", "a\\x80z" },
	{ "cut at the end", "\xe2\x82", "\\xe2\\x82" },
	{ "cut in the middle", "\xe2\x82z", "\\xe2\\x82z" },
	{ "overlong slash", "\xc0\xaf", "\\xc0\\xaf" },
	{ "overlong of 3", "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
	{ "overlong of 4", "\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf" },
	{ "surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	{ "above U+10FFFF", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
	{ "last character", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
	{ "Latin-1", "\xe9t\xe9", "\\xe9t\\xe9" },
	{ "FE and FF", "\xfe\xff", "\\xfe\\xff" },
};

TEST(printable)
{
	char to[64], text[2] = "";
	bool clean = true;

	each (p, printables)
		is_str(str_printable(to, sizeof(to), p->in), p->out, p->name);
	for (int c = 1; c < 256; c++) {
		text[0] = (char)c;
		str_printable(to, sizeof(to), text);
		for (size_t j = 0; to[j] != '\0'; j++)
			clean = clean && to[j] >= ' ' && to[j] <= '~';
	}
	ok(clean, "each single byte comes out as ASCII");
}

/* In a small buffer, whole characters and escapes are kept, in order. */
TEST(room)
{
	static const char in[] = "a\n\xe2\x82\xac\033\\z";
	static const char out[] = "a\\n\xe2\x82\xac\\x1b\\\\z";
	static const size_t stops[] = { 0, 1, 3, 6, 10, 12, 13 };
	char to[32] = "#";
	bool good = str_printable(to, 0, "x") == to && to[0] == '#';

	for (size_t size = 1, want = 0; size <= 14; size++) {
		memset(to, '#', sizeof(to));
		str_printable(to, size, in);
		for (size_t i = 0; i < 7; i++)
			if (stops[i] < size)
				want = stops[i];
		good = good && strlen(to) == want &&
		       memcmp(to, out, want) == 0 && to[size] == '#';
	}
	ok(good, "str_printable() cuts between characters only");
}

/* Sorted. */
static const char *const natural[] = {
	"",	   "0",	       "00",	   "01",      "1",
	"2",	   "9",	       "010",	   "10",      "18446744073709551616",
	"a",	   "a0",       "a1",	   "a01b",    "a1b",
	"a1b9",	   "a1b10",    "a2",	   "a10",     "ab",
	"ckpt",	   "ckpt.",    "ckpt.9",   "ckpt.10", "ckpt.10.1",
	"ckpt.11", "ckpt.abc", "\xc3\xa9",
};

TEST(natural)
{
	const size_t n = COUNT(natural);
	bool right = true;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			int order = str_natural(natural[i], natural[j]);

			if ((order > 0) - (order < 0) == (i < j ? -1 : i > j))
				continue;
			right = false;
			printf("# \"%s\" and \"%s\": %d\n", natural[i],
			       natural[j], order);
		}
	}
	ok(right, "str_natural() of all pairs");
}

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{ 0, "0 B" },
	{ 1, "1 B" },
	{ 512, "512 B" },
	{ 1023, "1023 B" },
	{ 1024, "1.0 KiB" },
	{ 1536, "1.5 KiB" },
	{ 1075, "1.0 KiB" },
	{ 1076, "1.1 KiB" },
	{ 1048524, "1023.9 KiB" },
	{ 1048525, "1.0 MiB" },
	{ 1048575, "1.0 MiB" },
	{ 1048576, "1.0 MiB" },
	{ UINT64_C(3) << 29, "1.5 GiB" },
	{ UINT64_C(5) << 40, "5.0 TiB" },
	{ UINT64_C(7) << 50, "7.0 PiB" },
	{ UINT64_C(1) << 60, "1.0 EiB" },
	{ UINT64_MAX, "16.0 EiB" },
};

TEST(bytes)
{
	char to[32];

	each (s, sizes)
		is_str(str_bytes(to, sizeof(to), s->bytes), s->text, s->text);
	memset(to, '#', sizeof(to));
	is_str(str_bytes(to, 4, 1536), "1.5", "too little room: cut");
	ok(to[4] == '#', "and nothing is written behind it");
}

TEST(distance)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} cases[] = {
		{ "prefix", "prefix", 0 }, { "prefx", "prefix", 1 },
		{ "jobs", "job", 1 },	   { "kitten", "sitting", 3 },
		{ "TYEP", "TYPE", 1 },	   { "abcd", "badc", 2 },
		{ "ab", "bca", 3 },	   { "", "abc", 3 },
	};
	char word[STR_WORD_MAX + 2] = "";

	each (c, cases)
		is_int(str_distance(c->a, strlen(c->a), c->b), c->distance,
		       c->a);
	memset(word, 'x', sizeof(word) - 1);
	ok(str_distance("prefx=1", 5, "prefix") == 1 &&
		   str_distance(word, STR_WORD_MAX, "") == STR_WORD_MAX &&
		   str_distance(word, STR_WORD_MAX + 1, "x") == SIZE_MAX &&
		   str_distance("x", 1, word) == SIZE_MAX,
	   "... of words, not of more");
}
