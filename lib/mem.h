/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mem.h - the only place that allocates memory.
 *
 * All allocations of the library use these functions, so that products are
 * checked for overflow and tests can make the n-th allocation fail.
 *
 * Without memory, a command ends: app_start() sets mem_exhausted(), and what
 * only commands use (archive, find, fti, ftijob, report, run, scavenge, cmd; of
 * container what packs and unpacks; of remote the ways to nodes; of site jobs,
 * lists, logs, crews, launches; of catalogue what shares a plan out) does not
 * check allocations.  libscr must not end the application: all other rooms
 * check, as these functions then return NULL with errno = ENOMEM.
 */
#ifndef MEM_H
#define MEM_H

#include <stdbool.h>
#include <stddef.h>

/* `count` objects of `size` bytes; mem_calloc() zeroes them. */
void *mem_alloc(size_t count, size_t size) __attribute__((malloc));
void *mem_calloc(size_t count, size_t size) __attribute__((malloc));

/* Resize to `count` objects of `size` bytes; on failure `p` is unchanged. */
void *mem_realloc(void *p, size_t count, size_t size);

/*
 * MEM_ROOM(list, count, cap): is there room for one more in `list`, a pointer
 * to `cap` objects of which `count` are used?  A full list is doubled first.
 * false: no memory; `list` and `cap` are unchanged.
 */
#define MEM_ROOM(list, count, cap) \
	((count) < (cap) || mem_double(&(list), &(cap), sizeof(*(list))))

/* For MEM_ROOM: `list` points to the pointer. */
bool mem_double(void *list, size_t *cap, size_t size);

/* `size` bytes on an `align` boundary (a power of two). */
void *mem_aligned(size_t align, size_t size) __attribute__((malloc));

char *mem_strdup(const char *s) __attribute__((malloc));

/* Consistent with free(): NULL is ignored. */
void mem_free(void *p);

/* From now on, call `end` when an allocation fails.  It does not return. */
void mem_exhausted(void (*end)(void));

/* Another library lacks memory: the same as when an allocation fails here. */
void mem_missing(void);

/*
 * For tests: let `after` more allocations succeed and every later one fail;
 * negative: never fail (the default).  Returns the previous value.
 */
long mem_fail_after(long after);

#endif /* MEM_H */
