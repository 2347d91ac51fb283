/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tap.h - print the results of a unit test as TAP (Test Anything Protocol): a
 * line "ok N - what" or "not ok N - what" for each check, the plan at the end.
 *
 *	TEST(name)
 *	{
 *		ok(...);
 *	}
 *
 * The tests of a file run in its order.  A main() of its own may prepare them,
 * and ends with `return tap_run();`, or without TEST with `return tap_done();`:
 * 1 if a check failed.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 if built with the address sanitizer, else 0. */
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

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Let `row` point to each element of an array. */
#define each(row, array) \
	for (__typeof__(&*(array)) row = (array); \
	     row < (array) + COUNT(array); row++)

/* A test, with its line. */
struct tap_test {
	void (*run)(void);
	int line;
	struct tap_test *next;
};

void tap_add(struct tap_test *t);

#define TEST(name) \
	static void test_##name(void); \
	__attribute__((constructor)) static void add_##name(void) \
	{ \
		static struct tap_test me = { test_##name, __LINE__, NULL }; \
\
		tap_add(&me); \
	} \
	static void test_##name(void)

/* Run all tests, with umask 022 and in UTC, and end. */
int tap_run(void);

/* Called before each test, if set. */
extern void (*tap_before)(void);

/* One check: is `good` true, is `got` equal to `want`?  Prints the values if
 * they differ.  Returns whether the check passed. */
bool tap_ok(bool good, const char *file, int line, const char *what);
bool tap_int(int64_t got, int64_t want, const char *file, int line,
	     const char *what);
bool tap_str(const char *got, const char *want, const char *file, int line,
	     const char *what);
bool tap_mem(const void *got, const void *want, size_t len, const char *file,
	     int line, const char *what);

#define ok(cond, what) tap_ok((cond), __FILE__, __LINE__, (what))
#define is_int(got, want, what) \
	tap_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, (what))
#define is_str(got, want, what) \
	tap_str((got), (want), __FILE__, __LINE__, (what))
#define is_mem(got, want, len, what) \
	tap_mem((got), (want), (len), __FILE__, __LINE__, (what))

/* Report a check that cannot run here, and why. */
void skip(const char *what, const char *why);

/* Are measured times meaningful: no sanitizer and no valgrind? */
bool tap_timed(void);

/* Forget all failures, for a child that reports by its exit status. */
void tap_restart(void);

/* Has a check failed so far? */
bool tap_has_failed(void);

/* Print the plan; returns the exit status for main(). */
int tap_done(void);

#endif /* TAP_H */
