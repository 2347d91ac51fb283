/* SPDX-License-Identifier: BSD-3-Clause */
/* preload_impl.h - what the wrappers share: the functions of libc, and which
 * calls are asked about. */
#ifndef PRELOAD_PRELOAD_IMPL_H
#define PRELOAD_PRELOAD_IMPL_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libc.h"
#include "preload/route.h"

/* Some are macros. */
#undef fwrite_unlocked

#define OURS __attribute__((visibility("default")))
#define HOT __attribute__((hot)) /* LIBC_HOT_DATA */

/* The functions of libc, found before a program calls any of ours, or a library
 * does in its constructor.  Those of other versions of libc are NULL here. */
/* clang-format off */
#define NAMES(X) \
	X(open) X(openat) X(fopen) X(freopen) X(fdopen) \
	X(write) X(pwrite) X(writev) X(pwritev) X(fwrite) \
	X(fwrite_unlocked) X(read) X(pread) X(fsync) X(fdatasync) X(ftruncate) \
	X(close) X(fclose) X(dup) X(dup2) X(dup3) \
	X(fcntl) X(lockf) X(unlink) X(unlinkat) \
	X(mmap) X(remove) X(rename) X(renameat) X(chdir) X(fchdir) \
	X(access) X(faccessat) X(truncate) X(mkdir) X(mkdirat)
#ifdef __GLIBC__
#define NAMES_64(X) \
	X(fopen64) X(freopen64) X(pwrite64) X(pwritev64) \
	X(pread64) X(ftruncate64) X(fcntl64) X(lockf64) X(mmap64) \
	X(truncate64) X(statx) X(renameat2) X(euidaccess) \
	X(__xstat) X(__lxstat) X(__fxstatat) \
	X(__xstat64) X(__lxstat64) X(__fxstatat64)
/* Of old programs; newer headers do not have them. */
int __xstat(int version, const char *path, struct stat *to);
int __lxstat(int version, const char *path, struct stat *to);
int __fxstatat(int version, int dir, const char *path, struct stat *to,
	       int how);
int __xstat64(int version, const char *path, struct stat64 *to);
int __lxstat64(int version, const char *path, struct stat64 *to);
int __fxstatat64(int version, int dir, const char *path, struct stat64 *to,
		 int how);
#else
#define NAMES_64(X)
#endif
/* Before 2.33, they were no functions of glibc. */
#if !defined(__GLIBC__)
#define NAMES_STAT(X) X(stat) X(lstat) X(fstatat)
#elif LIBC_GLIBC(2, 33)
#define NAMES_STAT(X) \
	X(stat) X(lstat) X(fstatat) X(stat64) X(lstat64) X(fstatat64)
#else
#define NAMES_STAT(X)
#endif
/* clang-format on */

extern struct preload_libc {
	bool found;
#define MEMBER(name) __typeof__(&name) name;
	NAMES(MEMBER)
	NAMES_64(MEMBER)
	NAMES_STAT(MEMBER)
#undef MEMBER
} preload_libc;

void preload_find(void);

#define LIBC(name) \
	(__builtin_expect(preload_libc.found, 1) ? (void)0 : preload_find(), \
	 preload_libc.name)

/* The descriptor is of no checkpoint, and no store is used: libc's turn.  Apart
 * from these, this one test is what the library costs. */
#define PLAIN(fd) __builtin_expect(!route_has(fd) && !store_used(), 1)

/* The call is one of the program, of a name that could be routed: not one of
 * libscr, or of this library. */
#define CALLER __builtin_return_address(0)
#define ROUTED_BY(caller, path) \
	(__builtin_expect(route_on, 0) && route_seems(path) && \
	 preload_asks(caller))
#define ROUTED(path) ROUTED_BY(CALLER, path)
bool preload_asks(const void *caller);

/* Around what changes a file: `done` is what it returns. */
#define BEFORE(fd) (route_has(fd) ? route_writing(fd) : (void)0)
#define AFTER(fd, done) \
	((done) < 0 && route_has(fd) ? (route_failed(fd), (done)) : (done))

/* May the program's file be where it would be without libscr, after this error
 * of its place in the cache?  Not if it is an error of the program. */
bool preload_elsewhere(const struct route_open *to);

/* Open a file that may be routed. */
int preload_open(int dir, const char *path, int flags, mode_t mode);

#endif /* PRELOAD_PRELOAD_IMPL_H */
