/* SPDX-License-Identifier: BSD-3-Clause */
#include "num.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "error.h"
#include "str.h"

int
num_mul(uint64_t *a, uint64_t b)
{
	uint64_t product = 0;

	if (__builtin_mul_overflow(*a, b, &product))
		return -1;
	*a = product;
	return 0;
}

int
num_add(uint64_t *a, uint64_t b)
{
	uint64_t sum = 0;

	if (__builtin_add_overflow(*a, b, &sum))
		return -1;
	*a = sum;
	return 0;
}

/* The value of a digit in bases up to 16; 16: not a digit. */
static unsigned int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned int)(c - 'A') + 10;
	return 16;
}

/* Parse one or more digits at *s, and move *s behind them. */
static bool
digits(const char **s, unsigned int base, uint64_t *out)
{
	const char *p = *s;
	uint64_t v = 0;

	for (; digit(*p) < base; p++)
		if (num_mul(&v, base) < 0 || num_add(&v, digit(*p)) < 0)
			return false;
	if (p == *s)
		return false;
	*s = p;
	*out = v;
	return true;
}

int
num_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out,
	struct error *err)
{
	const char *p = s;
	uint64_t v = 0;

	if (digits(&p, 10, &v) && *p == '\0' && v >= min && v <= max) {
		*out = v;
		return 0;
	}
	return error_set(err, ERROR_USAGE,
			 "\"%s\": expected a whole number from %" PRIu64
			 " to %" PRIu64,
			 str_quoted(s), min, max);
}

int
num_i64(const char *s, int64_t min, int64_t max, int64_t *out,
	struct error *err)
{
	const bool minus = *s == '-';
	const char *p = s + minus;
	uint64_t v = 0;
	int64_t value = 0;

	if (!digits(&p, 10, &v) || *p != '\0' ||
	    v > (uint64_t)INT64_MAX + minus)
		goto refuse;
	/* -(v - 1) - 1 reaches INT64_MIN without passing INT64_MAX. */
	value = minus && v > 0 ? -(int64_t)(v - 1) - 1 : (int64_t)v;
	if (value < min || value > max)
		goto refuse;
	*out = value;
	return 0;
refuse:
	return error_set(err, ERROR_USAGE,
			 "\"%s\": expected a whole number from %" PRId64
			 " to %" PRId64,
			 str_quoted(s), min, max);
}

int
num_u64_any(const char *s, uint64_t max, uint64_t *out, struct error *err)
{
	unsigned int base = 10;
	const char *p = s;
	uint64_t v = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	} else if (p[0] == '0') {
		base = 8;
	}
	if (digits(&p, base, &v) && *p == '\0' && v <= max) {
		*out = v;
		return 0;
	}
	return error_set(err, ERROR_USAGE,
			 "\"%s\": expected a whole number (decimal, 0x... or "
			 "octal) up to %" PRIu64,
			 str_quoted(s), max);
}

/*
 * Parse the whole rest of the text as a unit: "", "K", "KB", "KiB" and so on up
 * to E, in upper or lower case.  *shift is its power of two.  False: not a
 * unit.
 */
static bool
unit(const char *s, unsigned int *shift)
{
	static const char letters[] = "kmgtpe";
	const char *letter = NULL;

	*shift = 0;
	if (*s == '\0')
		return true;
	letter = strchr(letters, *s | 0x20);
	if (letter != NULL) {
		*shift = 10 * (unsigned int)(letter - letters + 1);
		s++;
		if (*s == 'i' || *s == 'I')
			return (s[1] == 'b' || s[1] == 'B') && s[2] == '\0';
	}
	if (*s == 'b' || *s == 'B')
		s++;
	return *s == '\0';
}

int
num_decimal(const char *s, double *out, struct error *err)
{
	const char *p = s, *point = NULL;
	uint64_t whole = 0, part = 0;
	bool good = *p == '.' || digits(&p, 10, &whole);
	double scale = 1;

	if (good && *p == '.') {
		point = ++p;
		good = (*p == '\0' && point - s > 1) || digits(&p, 10, &part);
	}
	if (!good || *p != '\0')
		return error_set(err, ERROR_USAGE, "\"%s\": expected a number",
				 str_quoted(s));
	for (; point != NULL && point < p; point++)
		scale *= 10;
	*out = (double)whole + (double)part / scale;
	return 0;
}

int
num_bytes(const char *s, uint64_t max, uint64_t *out, struct error *err)
{
	const char *p = s, *point = NULL;
	unsigned int shift = 0;
	uint64_t v = 0, part = 0;
	char limit[32];

	if (!digits(&p, 10, &v))
		goto refuse;
	if (*p == '.') {
		point = p++;
		p += strspn(p, "0123456789");
		if (p == point + 1)
			goto refuse;
	}
	if (!unit(p, &shift) || num_mul(&v, UINT64_C(1) << shift) < 0 ||
	    (point != NULL && shift == 0)) /* a fraction of a byte */
		goto refuse;
	/* The fraction of 2^shift, rounded down, from its last digit on.
	 * Dropping the remainders does not change the result, and
	 * 9 * 2^60 + 2^60 does not overflow. */
	while (point != NULL && p > point + 1)
		part = (((uint64_t)digit(*--p) << shift) + part) / 10;
	if (num_add(&v, part) == 0 && v <= max) {
		*out = v;
		return 0;
	}
refuse:
	return error_set(err, ERROR_USAGE,
			 "\"%s\": expected a number of bytes such as 4096, 64K "
			 "or 1.5G, up to %s",
			 str_quoted(s), str_bytes(limit, sizeof(limit), max));
}

char *
num_text(char to[static NUM_TEXT], uint64_t n)
{
	char digits[NUM_TEXT];
	size_t i = sizeof(digits), len = 0;

	do {
		digits[--i] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	len = sizeof(digits) - i;
	memcpy(to, digits + i, len);
	to[len] = '\0';
	return to;
}

int
num_by_id(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int
num_by_u32(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int
num_by_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}
