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

/* One check: is `good` true, has `got` the value wanted?  Each says so, and
 * what differs; returns whether it has passed. */
bool tap_ok(bool good, const char *file, int line, const char *what);
bool tap_int(int64_t got, int64_t want, const char *file, int line,
	     const char *what);
bool tap_str(const char *got, const char *want, const char *file, int line,
	     const char *what);
bool tap_mem(const void *got, const void *want, size_t len, const char *file,
	     int line, const char *what);

#define ok(cond, what) tap_ok((cond), __FILE__, __LINE__, (what))
#define is_int(got, want, what) \
	tap_int((got), (want), __FILE__, __LINE__, (what))
#define is_str(got, want, what) \
	tap_str((got), (want), __FILE__, __LINE__, (what))
#define is_mem(got, want, len, what) \
	tap_mem((got), (want), (len), __FILE__, __LINE__, (what))

/* A check that cannot be made here, and why. */
void skip(const char *what, const char *why);

/* Does a time say something here: neither sanitizer nor valgrind? */
bool tap_timed(void);

/* Forget what failed: a child that reports by its exit status begins anew. */
void tap_restart(void);

/* Has a check failed? */
bool tap_has_failed(void);

/* Print the plan; the exit status of main(). */
int tap_done(void);

#endif /* TAP_H */
