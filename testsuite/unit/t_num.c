/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "error.h"
#include "num.h"
#include "tap.h"

#define MARK 4711 /* output that a failed call must not change */
#define EXA (UINT64_C(1) << 60)

struct vector {
	const char *text;
	uint64_t min, max;
	bool good;
	uint64_t value;
};

static const struct vector u64s[] = {
	{ "0", 0, 10, true, 0 },
	{ "10", 0, 10, true, 10 },
	{ "007", 0, 10, true, 7 },
	{ "18446744073709551615", 0, UINT64_MAX, true, UINT64_MAX },
	{ "00000000000000000000000000001", 0, 10, true, 1 },
	{ "18446744073709551616", 0, UINT64_MAX, false, 0 },
	{ "99999999999999999999999", 0, UINT64_MAX, false, 0 },
	{ "11", 0, 10, false, 0 },
	{ "4", 5, 10, false, 0 },
	{ "", 0, 10, false, 0 },
	{ " 7", 0, 10, false, 0 },
	{ "7 ", 0, 10, false, 0 },
	{ "+7", 0, 10, false, 0 },
	{ "-7", 0, 10, false, 0 },
	{ "-0", 0, 10, false, 0 },
	{ "12x", 0, 100, false, 0 },
	{ "0x7", 0, 10, false, 0 },
	{ "7\n", 0, 10, false, 0 },
	{ "1.0", 0, 10, false, 0 },
	{ "a", 0, 10, false, 0 },
};

static const struct vector anys[] = {
	{ "0", 0, 10, true, 0 },
	{ "8", 0, 10, true, 8 },
	{ "0x1f", 0, 100, true, 31 },
	{ "0X1F", 0, 100, true, 31 },
	{ "0xcbf43926", 0, UINT32_MAX, true, 0xcbf43926 },
	{ "017", 0, 100, true, 15 },
	{ "0xffffffffffffffff", 0, UINT64_MAX, true, UINT64_MAX },
	{ "01777777777777777777777", 0, UINT64_MAX, true, UINT64_MAX },
	{ "02000000000000000000000", 0, UINT64_MAX, false, 0 },
	{ "0x10000000000000000", 0, UINT64_MAX, false, 0 },
	{ "0x1f", 0, 30, false, 0 },
	{ "08", 0, 100, false, 0 },
	{ "0x", 0, 100, false, 0 },
	{ "0xg", 0, 100, false, 0 },
	{ "0x-1", 0, 100, false, 0 },
	{ "", 0, 100, false, 0 },
	{ "-1", 0, UINT64_MAX, false, 0 },
	{ " 1", 0, 100, false, 0 },
	{ "1a", 0, 100, false, 0 },
};

static const struct vector bytes[] = {
	{ "0", 0, UINT64_MAX, true, 0 },
	{ "4096", 0, UINT64_MAX, true, 4096 },
	{ "4096B", 0, UINT64_MAX, true, 4096 },
	{ "64K", 0, UINT64_MAX, true, 65536 },
	{ "64KB", 0, UINT64_MAX, true, 65536 },
	{ "64KiB", 0, UINT64_MAX, true, 65536 },
	{ "64kib", 0, UINT64_MAX, true, 65536 },
	{ "1.5G", 0, UINT64_MAX, true, UINT64_C(3) << 29 },
	{ "0.5k", 0, UINT64_MAX, true, 512 },
	{ "1.3K", 0, UINT64_MAX, true, 1331 },
	{ "2m", 0, UINT64_MAX, true, UINT64_C(2) << 20 },
	{ "3T", 0, UINT64_MAX, true, UINT64_C(3) << 40 },
	{ "3PiB", 0, UINT64_MAX, true, UINT64_C(3) << 50 },
	{ "15E", 0, UINT64_MAX, true, 15 * EXA },
	{ "0.1E", 0, UINT64_MAX, true, EXA / 10 },
	{ "0.99999999999999999999999E", 0, UINT64_MAX, true, EXA - 1 },
	{ "0.00000000000000000000000E", 0, UINT64_MAX, true, 0 },
	{ "15.9999999999999999999999E", 0, UINT64_MAX, true, 16 * EXA - 1 },
	{ "16E", 0, UINT64_MAX, false, 0 },
	{ "18446744073709551615", 0, UINT64_MAX, true, UINT64_MAX },
	{ "18446744073709551616", 0, UINT64_MAX, false, 0 },
	{ "18014398509481984K", 0, UINT64_MAX, false, 0 },
	{ "1K", 0, 1024, true, 1024 },
	{ "1.1K", 0, 1024, false, 0 },
	{ "1.5", 0, UINT64_MAX, false, 0 },
	{ "1.0B", 0, UINT64_MAX, false, 0 },
	{ "1.K", 0, UINT64_MAX, false, 0 },
	{ ".5K", 0, UINT64_MAX, false, 0 },
	{ "1.2.3K", 0, UINT64_MAX, false, 0 },
	{ "K", 0, UINT64_MAX, false, 0 },
	{ "", 0, UINT64_MAX, false, 0 },
	{ "1 K", 0, UINT64_MAX, false, 0 },
	{ "1Ki", 0, UINT64_MAX, false, 0 },
	{ "1iB", 0, UINT64_MAX, false, 0 },
	{ "1KBB", 0, UINT64_MAX, false, 0 },
	{ "1KiBx", 0, UINT64_MAX, false, 0 },
	{ "1X", 0, UINT64_MAX, false, 0 },
	{ "1\xeb", 0, UINT64_MAX, false, 0 },
	{ "-1K", 0, UINT64_MAX, false, 0 },
	{ "+1K", 0, UINT64_MAX, false, 0 },
	{ "0x10", 0, UINT64_MAX, false, 0 },
};

static void
check(const char *what, const struct vector *v, int rc, uint64_t out,
      const struct error *err)
{
	char name[100], quoted[100];

	snprintf(name, sizeof(name), "%s \"%s\" up to %" PRIu64, what,
		 v->text[0] != '\n' ? v->text : "", v->max);
	snprintf(quoted, sizeof(quoted), "\"%s\": expected ", v->text);
	ok(rc == (v->good ? 0 : -1) && out == (v->good ? v->value : MARK) &&
		   err->kind == (v->good ? ERROR_NONE : ERROR_USAGE),
	   name);
	if (!v->good && strpbrk(v->text, "\n\xeb") == NULL)
		ok(strncmp(err->text, quoted, strlen(quoted)) == 0,
		   "the refusal quotes it");
}

static void
test_tables(void)
{
	struct error err = ERROR_INIT;
	uint64_t out = 0;
	size_t i = 0;
	int rc = 0;

	for (i = 0; i < sizeof(u64s) / sizeof(u64s[0]); i++) {
		out = MARK;
		error_clear(&err);
		rc = num_u64(u64s[i].text, u64s[i].min, u64s[i].max, &out,
			     &err);
		check("decimal", &u64s[i], rc, out, &err);
	}
	for (i = 0; i < sizeof(anys) / sizeof(anys[0]); i++) {
		out = MARK;
		error_clear(&err);
		rc = num_u64_any(anys[i].text, anys[i].max, &out, &err);
		check("any base", &anys[i], rc, out, &err);
	}
	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		out = MARK;
		error_clear(&err);
		rc = num_bytes(bytes[i].text, bytes[i].max, &out, &err);
		check("bytes", &bytes[i], rc, out, &err);
	}
}

static void
test_i64(void)
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
		{ "-6", -5, 5, false, 0 },
		{ "6", -5, 5, false, 0 },
		{ "9223372036854775807", INT64_MIN, INT64_MAX, true,
		  INT64_MAX },
		{ "-9223372036854775808", INT64_MIN, INT64_MAX, true,
		  INT64_MIN },
		{ "9223372036854775808", INT64_MIN, INT64_MAX, false, 0 },
		{ "-9223372036854775809", INT64_MIN, INT64_MAX, false, 0 },
		{ "--5", -5, 5, false, 0 },
		{ "-", -5, 5, false, 0 },
		{ "", -5, 5, false, 0 },
		{ "- 5", -5, 5, false, 0 },
		{ "+5", -5, 5, false, 0 },
		{ "-5x", -5, 5, false, 0 },
	};
	struct error err = ERROR_INIT;
	int64_t out = 0;
	size_t i = 0;
	int rc = 0;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		out = MARK;
		error_clear(&err);
		rc = num_i64(v[i].text, v[i].min, v[i].max, &out, &err);
		ok(rc == (v[i].good ? 0 : -1) &&
			   out == (v[i].good ? v[i].value : MARK) &&
			   err.kind == (v[i].good ? ERROR_NONE : ERROR_USAGE),
		   v[i].text);
	}
}

static void
test_sentences(void)
{
	struct error err = ERROR_INIT;
	char text[3000];
	uint64_t out = 0;
	int64_t i = 0;

	num_u64("x", 1, 64, &out, &err);
	is_str(err.text, "\"x\": expected a whole number from 1 to 64",
	       "num_u64() says what it takes");
	num_i64("x", -1, 64, &i, &err);
	is_str(err.text, "\"x\": expected a whole number from -1 to 64",
	       "num_i64() says what it takes");
	num_bytes("x", 2048, &out, &err);
	is_str(err.text,
	       "\"x\": expected a number of bytes such as 4096, 64K or 1.5G, "
	       "up to 2.0 KiB",
	       "num_bytes() says what it takes");
	num_u64("\033[2J\n", 1, 64, &out, &err);
	is_str(err.text,
	       "\"\\x1b[2J\\n\": expected a whole number from 1 to 64",
	       "no control character reaches the terminal");
	memset(text, '9', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	num_u64_any(text, 64, &out, &err);
	ok(strlen(err.text) < 200 && strstr(err.text, " up to 64") != NULL,
	   "a long text is quoted in part");
	is_int(num_u64("x", 1, 64, &out, NULL), -1, "no struct, no sentence");
}

static void
test_arithmetic(void)
{
	uint64_t a = 3;

	ok(num_mul(&a, 5) == 0 && a == 15, "num_mul()");
	ok(num_add(&a, 5) == 0 && a == 20, "num_add()");
	ok(num_mul(&a, UINT64_MAX / 19) == -1 && a == 20,
	   "num_mul() does not wrap");
	ok(num_add(&a, UINT64_MAX - 19) == -1 && a == 20,
	   "num_add() does not wrap");
	ok(num_add(&a, UINT64_MAX - 20) == 0 && a == UINT64_MAX,
	   "num_add() reaches the largest number");
	ok(num_mul(&a, 0) == 0 && a == 0, "num_mul() by 0");
}

static void
test_decimal(void)
{
	static const struct {
		const char *text;
		bool good;
		double value;
	} all[] = {
		{ "0", true, 0 },      { "0.0", true, 0 },
		{ "1.5", true, 1.5 },  { ".25", true, 0.25 },
		{ "3.", true, 3 },     { "10.0625", true, 10.0625 },
		{ "", false, 0 },      { ".", false, 0 },
		{ "1.5.2", false, 0 }, { "-1", false, 0 },
		{ "1e3", false, 0 },   { "nan", false, 0 },
		{ " 1", false, 0 },    { "1,5", false, 0 },
		{ "0x1", false, 0 },   { "18446744073709551616", false, 0 },
	};
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		double out = MARK;
		const int rc = num_decimal(all[i].text, &out, &err);

		ok(all[i].good
			   ? rc == 0 && out == all[i].value
			   : rc < 0 && out == MARK && err.kind == ERROR_USAGE,
		   all[i].text);
	}
}

int
main(void)
{
	test_tables();
	test_i64();
	test_sentences();
	test_arithmetic();
	test_decimal();
	return tap_done();
}
