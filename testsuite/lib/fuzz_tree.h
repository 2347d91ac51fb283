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
void fuzz_image(const uint8_t *data, size_t size, struct buf *out);

/* The input as a tree for kvtree_free(), or NULL. */
struct kvtree *fuzz_tree(const uint8_t *data, size_t size);

/* What the library promises does not hold: stop as a crash does. */
void fuzz_require(bool promise);

#endif /* FUZZ_TREE_H */
