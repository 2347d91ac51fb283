/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_tree.h - an input as a tree.  The image of a kvtree file is taken as it
 * is; anything else as what stands between its header and its checksum, so
 * that the fuzzer need not guess sizes and checksums to get anywhere.
 */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include <string.h>

#include "buf.h"
#include "meta/kvtree.h"

/* The input as an image, in a buffer for buf_free(). */
static inline void
fuzz_image(const uint8_t *data, size_t size, struct buf *out)
{
	static const uint8_t head[] = { 0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1 };

	buf_clear(out);
	if (size < sizeof(head) || memcmp(data, head, sizeof(head)) != 0) {
		buf_add(out, head, sizeof(head));
		buf_add_be64(out, KVTREE_HEADER_SIZE + size);
		buf_add_be32(out, 0); /* no checksum */
	}
	buf_add(out, data, size);
}

/* The input as a tree for kvtree_free(), or NULL. */
static inline struct kvtree *
fuzz_tree(const uint8_t *data, size_t size)
{
	struct buf image = BUF_INIT;
	struct kvtree *t = NULL;

	fuzz_image(data, size, &image);
	t = kvtree_decode(image.data, image.len, NULL, NULL);
	buf_free(&image);
	return t;
}

/* What the library promises does not hold: stop as a crash does. */
static inline void
fuzz_require(bool promise)
{
	if (!promise)
		__builtin_trap();
}

#endif /* FUZZ_TREE_H */
