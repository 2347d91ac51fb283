/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tap.h - the few lines a unit test needs to speak TAP (Test Anything
 * Protocol): one "ok N - what" or "not ok N - what" a check, the plan last.
 * A test's main() ends with `return tap_done();`, which is 1 if any failed.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 if this is built with the address sanitizer, else 0. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static int tap_count, tap_failed;

static inline bool
tap_ok(bool good, const char *file, int line, const char *what)
{
	tap_count++;
	printf("%sok %d - %s\n", good ? "" : "not ", tap_count, what);
	if (!good) {
		tap_failed++;
		printf("# at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

static inline bool
tap_int(int64_t got, int64_t want, const char *file, int line, const char *what)
{
	bool good = tap_ok(got == want, file, line, what);

	if (!good)
		printf("# got %lld, expected %lld\n", (long long)got,
		       (long long)want);
	return good;
}

static inline bool
tap_str(const char *got, const char *want, const char *file, int line,
	const char *what)
{
	bool good = got == NULL || want == NULL ? got == want
						: strcmp(got, want) == 0;

	tap_ok(good, file, line, what);
	if (!good)
		printf("# got \"%s\"\n# expected \"%s\"\n",
		       got ? got : "(null)", want ? want : "(null)");
	return good;
}

static inline bool
tap_mem(const void *got, const void *want, size_t len, const char *file,
	int line, const char *what)
{
	const unsigned char *g = got, *w = want;
	size_t i = 0;

	while (i < len && g[i] == w[i])
		i++;
	tap_ok(i == len, file, line, what);
	if (i < len)
		printf("# byte %zu of %zu: got %02x, expected %02x\n", i, len,
		       g[i], w[i]);
	return i == len;
}

#define ok(cond, what) tap_ok((cond), __FILE__, __LINE__, (what))
#define is_int(got, want, what) \
	tap_int((got), (want), __FILE__, __LINE__, (what))
#define is_str(got, want, what) \
	tap_str((got), (want), __FILE__, __LINE__, (what))
#define is_mem(got, want, len, what) \
	tap_mem((got), (want), (len), __FILE__, __LINE__, (what))

static inline void
skip(const char *what, const char *why)
{
	tap_count++;
	printf("ok %d - %s # SKIP %s\n", tap_count, what, why);
	fflush(stdout); /* a child must not print it again */
}

/* Does a time say something here: neither sanitizer nor valgrind? */
static inline bool
tap_timed(void)
{
	return !SANITIZED && getenv("SCRKIT_VALGRIND") == NULL;
}

static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}

#endif /* TAP_H */
