/* SPDX-License-Identifier: BSD-3-Clause */
/* room.h - find out whether a file system is full, or a quota exhausted. */
#ifndef ROOM_H
#define ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct error;

/* Is the error a full file system (ENOSPC) or an exhausted quota (EDQUOT)? */
bool room_is_short(const struct error *err);

/* Check that the file system of `fd` has `need` bytes for `what`.  -1:
 * ERROR_SYSTEM with ENOSPC; the text names the file system, the bytes needed
 * and the bytes free.  A file system that reports no size passes. */
int room_check(int fd, uint64_t need, const char *what, struct error *err);

/* Write a small file in directory `dirfd`, and remove it.  Other nodes may do
 * the same at once.  -1: ERROR_SYSTEM. */
int room_try(int dirfd, struct error *err);

/*
 * If room_is_short(), put before the sentence of *err: the full file system
 * (that of `fd`), the bytes needed (0: unknown), the bytes free.  Returns -1.
 */
int room_explain(int fd, uint64_t need, struct error *err);

#endif /* ROOM_H */
