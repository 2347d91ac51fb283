/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvwrite.h - write kvtree images (kvtree(5)) in one pass, without a tree:
 * for maps of millions of files.  The counterpart is kvstream.h.
 *
 * The caller makes sure that keys are unique under one parent, and gives the
 * number of children of each key, either at once or later.  Errors are sticky:
 * only kvtree_seal() reports them.
 */
#ifndef KVTREE_KVWRITE_H
#define KVTREE_KVWRITE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buf.h"
#include "num.h"

struct kvwrite {
	struct buf *out;
	size_t start;  /* offset of the image in `out` */
	bool failed;   /* out of memory */
	bool too_deep; /* deeper than KVTREE_MAX_DEPTH */
};

/* Set the number of children at offset `at`, as returned by kvwrite_key(). */
static inline void
kvwrite_set_count(struct kvwrite *w, size_t at, uint32_t children)
{
	children = htobe32(children);
	if (!w->failed)
		memcpy(w->out->data + at, &children, 4);
}

/* Reserve `len` bytes for keys and counts; NULL: out of memory. */
static inline char *
kvwrite_room(struct kvwrite *w, size_t len)
{
	if (w->failed || buf_reserve(w->out, len) < 0) {
		w->failed = true;
		return NULL;
	}
	return w->out->data + w->out->len;
}

static inline char *
kvwrite_put(char *to, const char *key, size_t len, uint32_t children)
{
	children = htobe32(children);
	memcpy(to, key, len);
	to[len] = '\0';
	memcpy(to + len + 1, &children, 4);
	return to + len + 5;
}

/* Write a key and the number of its children.  Return the offset of that
 * number. */
static inline size_t
kvwrite_key(struct kvwrite *w, const char *key, uint32_t children)
{
	const size_t len = strlen(key);
	char *to = kvwrite_room(w, len + 5);

	if (to == NULL)
		return 0;
	kvwrite_put(to, key, len, children);
	w->out->len += len + 5;
	return w->out->len - 4;
}

/* Write a key and its value. */
static inline void
kvwrite_text(struct kvwrite *w, const char *key, const char *value)
{
	const size_t len = strlen(key), vlen = strlen(value);
	char *to = kvwrite_room(w, len + vlen + 10);

	if (to == NULL)
		return;
	kvwrite_put(kvwrite_put(to, key, len, 1), value, vlen, 0);
	w->out->len += len + vlen + 10;
}

static inline void
kvwrite_u64(struct kvwrite *w, const char *key, uint64_t value)
{
	char text[NUM_TEXT];

	kvwrite_text(w, key, num_text(text, value));
}

/* Written as "%#x", and zero as "0": the form of a CRC. */
static inline void
kvwrite_crc(struct kvwrite *w, const char *key, uint32_t value)
{
	static const char digits[] = "0123456789abcdef";
	char text[12] = "0", *p = text + sizeof(text);

	if (value == 0) {
		kvwrite_text(w, key, text);
		return;
	}
	for (*--p = '\0'; value != 0; value >>= 4)
		*--p = digits[value & 15];
	*--p = 'x';
	*--p = '0';
	kvwrite_text(w, key, p);
}

#endif /* KVTREE_KVWRITE_H */
