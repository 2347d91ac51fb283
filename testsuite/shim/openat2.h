/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openat2.h - the system call openat2(2), which older headers do not have.
 */
#ifndef SHIM_OPENAT2_H
#define SHIM_OPENAT2_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* The kernel's struct open_how. */
struct openat2_how {
	uint64_t flags, mode, resolve;
};

/* RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS */
#define OPENAT2_CONFINED 0x0a

/* Returns a descriptor, or -1 with errno. */
static inline int
openat2_call(int dir, const char *path, const struct openat2_how *how)
{
	return (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
}

#endif /* SHIM_OPENAT2_H */
