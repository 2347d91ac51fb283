/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvwrite.h - kvtree images (formats.md 1.1) written in one pass, without a
 * tree: for maps of millions of files.  The other way round: kvscan.h.
 *
 * Whoever writes sees to it that no key comes twice under one parent, and says
 * how many children each has, at once or later.  Errors stick: only
 * kvtree_seal() is asked.
 */
#ifndef META_KVWRITE_H
#define META_KVWRITE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buf.h"
#include "num.h"

struct kvwrite {
	struct buf *out;
	size_t start; /* of the image in it */
	bool failed;  /* out of memory */
};

/* Set the number of children, whose place is `at` (kvwrite_key()). */
static inline void
kvwrite_set_count(struct kvwrite *w, size_t at, uint32_t children)
{
	children = htobe32(children);
	if (!w->failed)
		memcpy(w->out->data + at, &children, 4);
}

/* Room for a key and its count; NULL: none. */
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

/* A key and how many children follow; the place of that number. */
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

/* A key and its value. */
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

/* "%#x", zero as "0": how a CRC is written. */
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

#endif /* META_KVWRITE_H */
