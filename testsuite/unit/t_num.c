/* SPDX-License-Identifier: BSD-3-Clause */
#include "num.h"
#include "scratch.h"

#define MARK 4711 /* output that a failed call must not change */
#define EXA (UINT64_C(1) << 60)
#define MOST UINT64_MAX

enum form { DECIMAL, ANY, BYTES };

static const char *const forms[] = { "decimal", "any base", "bytes" };

static const struct {
	enum form form;
	const char *text;
	uint64_t max, value;
} good[] = {
	{ DECIMAL, "0", 10, 0 },
	{ DECIMAL, "10", 10, 10 },
	{ DECIMAL, "007", 10, 7 },
	{ DECIMAL, "18446744073709551615", MOST, MOST },
	{ DECIMAL, "00000000000000000000000000001", 10, 1 },
	{ ANY, "0", 10, 0 },
	{ ANY, "8", 10, 8 },
	{ ANY, "0x1f", 100, 31 },
	{ ANY, "0X1F", 100, 31 },
	{ ANY, "0xcbf43926", UINT32_MAX, 0xcbf43926 },
	{ ANY, "017", 100, 15 },
	{ ANY, "0xffffffffffffffff", MOST, MOST },
	{ ANY, "01777777777777777777777", MOST, MOST },
	{ BYTES, "0", MOST, 0 },
	{ BYTES, "4096", MOST, 4096 },
	{ BYTES, "4096B", MOST, 4096 },
	{ BYTES, "64K", MOST, 65536 },
	{ BYTES, "64KB", MOST, 65536 },
	{ BYTES, "64KiB", MOST, 65536 },
	{ BYTES, "64kib", MOST, 65536 },
	{ BYTES, "1.5G", MOST, UINT64_C(3) << 29 },
	{ BYTES, "0.5k", MOST, 512 },
	{ BYTES, "1.3K", MOST, 1331 },
	{ BYTES, "2m", MOST, UINT64_C(2) << 20 },
	{ BYTES, "3T", MOST, UINT64_C(3) << 40 },
	{ BYTES, "3PiB", MOST, UINT64_C(3) << 50 },
	{ BYTES, "15E", MOST, 15 * EXA },
	{ BYTES, "0.1E", MOST, EXA / 10 },
	{ BYTES, "0.99999999999999999999999E", MOST, EXA - 1 },
	{ BYTES, "0.00000000000000000000000E", MOST, 0 },
	{ BYTES, "15.9999999999999999999999E", MOST, 16 * EXA - 1 },
	{ BYTES, "18446744073709551615", MOST, MOST },
	{ BYTES, "1K", 1024, 1024 },
};

static const struct {
	enum form form;
	uint64_t max;
	const char *texts; /* separated by | */
} bad[] = {
	{ DECIMAL, MOST, "18446744073709551616|99999999999999999999999" },
	{ DECIMAL, 10, "11|| 7|7 |+7|-7|-0|0x7|7\n|1.0|a" },
	{ DECIMAL, 100, "12x" },
	{ ANY, MOST, "02000000000000000000000|0x10000000000000000|-1" },
	{ ANY, 30, "0x1f" },
	{ ANY, 100, "08|0x|0xg|0x-1|| 1|1a" },
	{ BYTES, MOST, "16E|18446744073709551616|18014398509481984K|1.5|1.0B" },
	{ BYTES, MOST, "1.K|.5K|1.2.3K|K||1 K|1Ki|1iB|1KBB|1KiBx|1X|1\xeb" },
	{ BYTES, MOST, "-1K|+1K|0x10" },
	{ BYTES, 1024, "1.1K" },
};

static int
parse_num(enum form form, const char *text, uint64_t max, uint64_t *out,
	  struct error *err)
{
	return form == DECIMAL ? num_u64(text, 0, max, out, err)
	       : form == ANY   ? num_u64_any(text, max, out, err)
			       : num_bytes(text, max, out, err);
}

TEST(num_tables)
{
	each (g, good) {
		uint64_t out = MARK;
		int rc = parse_num(g->form, g->text, g->max, &out, &why);

		ok(rc == 0 && out == g->value,
		   fmt("%s \"%s\" up to %" PRIu64, forms[g->form], g->text,
		       g->max));
	}
	each (b, bad) {
		char *rest = fmt("%s", b->texts), *text = NULL;

		while ((text = strsep(&rest, "|")) != NULL) {
			const char *quoted = strpbrk(text, "\n\xeb") != NULL
						     ? NULL
						     : fmt("\"%s\": ", text);
			uint64_t out = MARK;
			auto_mem char *copy =
				mem_strdup(text); /* ends where it ends */
			int rc = parse_num(b->form, copy, b->max, &out, &why);

			ok(fails_as(rc, &why, ERROR_USAGE, quoted) &&
				   out == MARK,
			   fmt("not %s: %s", forms[b->form],
			       quoted != NULL ? quoted : "strange"));
		}
	}
}

TEST(num_i64)
{
	static const struct {
		const char *text;
		int64_t min, max;
		bool good;
		int64_t value;
	} v[] = {
		{ "0", -5, 5, true, 0 },
		{ "-0", -5, 5, true, 0 },
		{ "-5", -5, 5, true, -5 },
		{ "5", -5, 5, true, 5 },
		{ "9223372036854775807", 0, INT64_MAX, true, INT64_MAX },
		{ "-9223372036854775808", INT64_MIN, 0, true, INT64_MIN },
		{ "9223372036854775808", INT64_MIN, INT64_MAX, false, 0 },
		{ "-9223372036854775809", INT64_MIN, INT64_MAX, false, 0 },
		{ "-6", -5, 5, false, 0 },
		{ "6", -5, 5, false, 0 },
		{ "--5", -5, 5, false, 0 },
		{ "-", -5, 5, false, 0 },
		{ "", -5, 5, false, 0 },
		{ "- 5", -5, 5, false, 0 },
		{ "+5", -5, 5, false, 0 },
		{ "-5x", -5, 5, false, 0 },
	};

	each (t, v) {
		int64_t out = MARK;
		int rc = num_i64(t->text, t->min, t->max, &out, &why);

		ok(t->good ? rc == 0 && out == t->value
			   : fails_as(rc, &why, ERROR_USAGE, NULL) &&
				     out == MARK,
		   t->text);
	}
}

TEST(num_decimal)
{
	static const struct {
		const char *text;
		double value; /* negative: refused */
	} v[] = {
		{ "0", 0 },	 { "0.0", 0 },	{ "1.5", 1.5 },
		{ ".25", 0.25 }, { "3.", 3 },	{ "10.0625", 10.0625 },
		{ "", -1 },	 { ".", -1 },	{ "1.5.2", -1 },
		{ "-1", -1 },	 { "1e3", -1 }, { "18446744073709551616", -1 },
		{ "nan", -1 },	 { " 1", -1 },	{ "1,5", -1 },
		{ "0x1", -1 },
	};

	each (t, v) {
		double out = MARK;
		const int rc = num_decimal(t->text, &out, &why);

		ok(t->value >= 0 ? rc == 0 && out == t->value
				 : fails_as(rc, &why, ERROR_USAGE, NULL) &&
					   out == MARK,
		   t->text);
	}
}

TEST(num_sentences)
{
	char text[3000] = "";
	uint64_t out = 0;
	int64_t i = 0;

	refuses(num_u64("x", 1, 64, &out, &why), ERROR_USAGE,
		"\"x\": expected a whole number from 1 to 64",
		"num_u64() says what it takes");
	refuses(num_u64("4", 5, 10, &out, &why), ERROR_USAGE, NULL,
		"too small");
	refuses(num_i64("x", -1, 64, &i, &why), ERROR_USAGE,
		"\"x\": expected a whole number from -1 to 64",
		"num_i64() says what it takes");
	refuses(num_bytes("x", 2048, &out, &why), ERROR_USAGE,
		"\"x\": expected a number of bytes such as 4096, 64K or 1.5G, "
		"up to 2.0 KiB",
		"num_bytes() says what it takes");
	refuses(num_u64("\033[2J\n", 1, 64, &out, &why), ERROR_USAGE,
		"\"\\x1b[2J\\n\": expected a whole number from 1 to 64",
		"no control character reaches the terminal");
	memset(text, '9', sizeof(text) - 1);
	num_u64_any(text, 64, &out, &why);
	ok(strlen(why.text) < 200 && says(&why, " up to 64"),
	   "a long text is quoted in part");
	is_int(num_u64("x", 1, 64, &out, NULL), -1, "no struct, no sentence");
}

TEST(num_arithmetic)
{
	uint64_t a = 3;

	ok(num_mul(&a, 5) == 0 && a == 15, "num_mul()");
	ok(num_add(&a, 5) == 0 && a == 20, "num_add()");
	ok(num_mul(&a, MOST / 19) == -1 && a == 20, "num_mul() does not wrap");
	ok(num_add(&a, MOST - 19) == -1 && a == 20, "num_add() does not wrap");
	ok(num_add(&a, MOST - 20) == 0 && a == MOST,
	   "num_add() to the largest");
	ok(num_mul(&a, 0) == 0 && a == 0, "num_mul() by 0");
}

/* --- Texts --- */

TEST(str_questions)
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

TEST(str_printable)
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
TEST(str_room)
{
	static const char in[] = "a\n\xe2\x82\xac\033\\z";
	static const char out[] = "a\\n\xe2\x82\xac\\x1b\\\\z";
	static const size_t stops[] = { 0, 1, 3, 6, 10, 12, 13 };
	char to[32] = "#";
	bool same = str_printable(to, 0, "x") == to && to[0] == '#';

	for (size_t size = 1, want = 0; size <= 14; size++) {
		memset(to, '#', sizeof(to));
		str_printable(to, size, in);
		for (size_t i = 0; i < 7; i++)
			if (stops[i] < size)
				want = stops[i];
		same = same && strlen(to) == want &&
		       memcmp(to, out, want) == 0 && to[size] == '#';
	}
	ok(same, "str_printable() cuts between characters only");
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

TEST(str_natural)
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

TEST(str_bytes)
{
	char to[32];

	each (s, sizes)
		is_str(str_bytes(to, sizeof(to), s->bytes), s->text, s->text);
	memset(to, '#', sizeof(to));
	is_str(str_bytes(to, 4, 1536), "1.5", "too little room: cut");
	ok(to[4] == '#', "and nothing is written behind it");
}

TEST(str_print)
{
	char to[8];

	memset(to, '#', sizeof(to));
	is_str(str_print(to, 4, "%d-%d", 12, 345), "12-", "too little: cut");
	ok(to[4] == '#', "and nothing is written behind it");
	is_str(str_printed(8, "%s%u", "rank", 7U), "rank7", "as an argument");
}

TEST(str_distance)
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
