/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libc.h - which C library we are built with.
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

#endif /* LIBC_H */
