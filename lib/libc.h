/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libc.h - which C library we are built with, and what stands in for its
 * functions.
 */
#ifndef LIBC_H
#define LIBC_H

#include <limits.h> /* any header tells */

/* Is it glibc of at least this version?  Others have few of its extensions. */
#ifdef __GLIBC__
#define LIBC_GLIBC(major, minor) __GLIBC_PREREQ(major, minor)
#else
#define LIBC_GLIBC(major, minor) 0
#endif

/*
 * What wrapped functions use at each call is side by side: these data, and code
 * with the attribute "hot".  After a system call, a page that was not touched
 * for a while costs more than all instructions of the wrapper.
 */
#define LIBC_HOT_DATA __attribute__((section("scr_hot")))

#endif /* LIBC_H */
