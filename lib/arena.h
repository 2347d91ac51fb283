/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena.h - memory that is freed all at once.
 *
 * Ownership: what an arena hands out lives until arena_free() or arena_reset().
 * Threads: one arena, one thread at a time.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>

struct arena; /* opaque */

/* Return an empty arena for arena_free(), or NULL (ENOMEM): the calls below
 * take that as an arena without memory, so that only what they return need be
 * checked. */
struct arena *arena_new(void);

/* Free everything allocated from `a`, and `a`.  NULL is ignored. */
void arena_free(struct arena *a);

/* Invalidate everything allocated from `a`, but keep one chunk for reuse. */
void arena_reset(struct arena *a);

/* `count` objects of `size` bytes, zeroed, aligned for any type (16);
 * NULL: ENOMEM or overflow. */
void *arena_alloc(struct arena *a, size_t count, size_t size);

/* Copies of a string, or of `len` bytes followed by a NUL. */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);

/* A formatted string. */
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Bytes that the arena has allocated from the system. */
size_t arena_bytes(const struct arena *a);

#endif /* ARENA_H */
