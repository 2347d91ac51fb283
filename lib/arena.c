/* SPDX-License-Identifier: BSD-3-Clause */
#include "arena.h"

#include <errno.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"

#define ALIGN ((size_t)16)

/*
 * Chunk sizes double from the first to the common size: an arena of a few nodes
 * stays small, one of a million nodes needs few calls and wastes little.  They
 * double further, to the last size (large enough for huge pages), only while a
 * chunk is a small part of the arena.
 */
#define CHUNK_FIRST ((size_t)4 << 10)
#define CHUNK_COMMON ((size_t)1 << 20)
#define CHUNK_LAST ((size_t)16 << 20)
#define SMALL_PART 4

struct chunk {
	struct chunk *older;
	size_t size; /* bytes in data */
	alignas(16) char data[];
};

/*
 * Objects grow upwards from the bottom of the newest chunk, on 16-byte
 * boundaries; strings, which need none, downwards from its top.  The bytes
 * between `low` and `high` are free and zero.
 */
struct arena {
	char *low, *high;
	struct chunk *newest;
	size_t next_size; /* of the next chunk */
	size_t bytes;
};

struct arena *
arena_new(void)
{
	struct arena *a = mem_calloc(1, sizeof(*a));

	if (a != NULL)
		a->next_size = CHUNK_FIRST;
	return a;
}

/* Free `chunk` and all older ones, but not `keep`. */
static void
free_chunks(struct chunk *chunk, const struct chunk *keep)
{
	struct chunk *older = NULL;

	while (chunk != NULL) {
		older = chunk->older;
		if (chunk != keep)
			mem_free(chunk);
		chunk = older;
	}
}

void
arena_free(struct arena *a)
{
	if (a == NULL)
		return;
	free_chunks(a->newest, NULL);
	mem_free(a);
}

void
arena_reset(struct arena *a)
{
	struct chunk *keep = a != NULL ? a->newest : NULL, *c = NULL;

	if (keep == NULL)
		return;
	for (c = keep->older; c != NULL; c = c->older)
		if (c->size > keep->size)
			keep = c;
	free_chunks(a->newest, keep);
	if (keep == a->newest) { /* its middle is unused, so zero */
		memset(keep->data, 0, (size_t)(a->low - keep->data));
		memset(a->high, 0, (size_t)(keep->data + keep->size - a->high));
	} else {
		memset(keep->data, 0, keep->size);
	}
	keep->older = NULL;
	a->newest = keep;
	a->low = keep->data;
	a->high = keep->data + keep->size;
	a->bytes = sizeof(*keep) + keep->size;
}

static struct chunk *
new_chunk(struct arena *a, size_t size)
{
	struct chunk *c = NULL;

	if (size > SIZE_MAX - sizeof(*c)) {
		errno = ENOMEM;
		return NULL;
	}
	/* calloc() gets large chunks zeroed from the kernel at no cost. */
	c = mem_calloc(1, sizeof(*c) + size);
	if (c == NULL)
		return NULL;
	c->size = size;
	a->bytes += sizeof(*c) + size;
	if (a->next_size < CHUNK_COMMON ||
	    (a->next_size < CHUNK_LAST &&
	     a->next_size < a->bytes / SMALL_PART / 2))
		a->next_size *= 2;
	return c;
}

/* Give a large object a chunk of its own, linked behind the newest chunk so
 * that the free rest of the newest stays in use. */
static void *
alloc_large(struct arena *a, size_t size)
{
	struct chunk *c = new_chunk(a, size);

	if (c == NULL)
		return NULL;
	if (a->newest != NULL) {
		c->older = a->newest->older;
		a->newest->older = c;
	} else {
		a->newest = c;
		a->low = a->high = c->data + size;
	}
	return c->data;
}

static bool
is_large(const struct arena *a, size_t size)
{
	return size > a->next_size / 4;
}

/* Start a new chunk, with room for any object that is not large. */
static int
add_chunk(struct arena *a)
{
	struct chunk *c = new_chunk(a, a->next_size);

	if (c == NULL)
		return -1;
	c->older = a->newest;
	a->newest = c;
	a->low = c->data;
	a->high = c->data + c->size;
	return 0;
}

void *
arena_alloc(struct arena *a, size_t count, size_t size)
{
	size_t bytes = 0;
	char *p = NULL;

	if (a == NULL || __builtin_mul_overflow(count, size, &bytes) ||
	    bytes > SIZE_MAX - ALIGN) {
		errno = ENOMEM;
		return NULL;
	}
	bytes = bytes > 0 ? (bytes + ALIGN - 1) & ~(ALIGN - 1) : ALIGN;
	if (bytes > (size_t)(a->high - a->low)) {
		if (is_large(a, bytes))
			return alloc_large(a, bytes);
		if (add_chunk(a) < 0)
			return NULL;
	}
	p = a->low;
	a->low += bytes;
	return p;
}

/* Room for a string of `len` bytes and its NUL. */
static char *
alloc_string(struct arena *a, size_t len)
{
	if (a == NULL || len == SIZE_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	if (len >= (size_t)(a->high - a->low)) {
		if (is_large(a, len + 1))
			return alloc_large(a, len + 1);
		if (add_chunk(a) < 0)
			return NULL;
	}
	a->high -= len + 1;
	return a->high;
}

char *
arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *copy = alloc_string(a, len);

	if (copy == NULL)
		return NULL;
	if (len > 0)
		memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *
arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	char brief[128], *p = NULL;
	va_list ap;
	int n = 0;

	va_start(ap, fmt);
	n = vsnprintf(brief, sizeof(brief), fmt, ap);
	va_end(ap);
	if (n < 0) {
		errno = ENOMEM;
		return NULL;
	}
	if ((size_t)n < sizeof(brief))
		return arena_strndup(a, brief, (size_t)n);
	p = alloc_string(a, (size_t)n);
	if (p == NULL)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

size_t
arena_bytes(const struct arena *a)
{
	return sizeof(*a) + a->bytes;
}
