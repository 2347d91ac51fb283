/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

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
parse(enum form form, const char *text, uint64_t max, uint64_t *out,
      struct error *err)
{
	return form == DECIMAL ? num_u64(text, 0, max, out, err)
	       : form == ANY   ? num_u64_any(text, max, out, err)
			       : num_bytes(text, max, out, err);
}

TEST(tables)
{
	each (g, good) {
		uint64_t out = MARK;
		int rc = parse(g->form, g->text, g->max, &out, &why);

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
			int rc = parse(b->form, copy, b->max, &out, &why);

			ok(fails_as(rc, &why, ERROR_USAGE, quoted) &&
				   out == MARK,
			   fmt("not %s: %s", forms[b->form],
			       quoted != NULL ? quoted : "strange"));
		}
	}
}

TEST(i64)
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

TEST(decimal)
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

TEST(sentences)
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

TEST(arithmetic)
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
