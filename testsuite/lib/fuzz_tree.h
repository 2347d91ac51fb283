/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_tree.h - make a tree of a fuzzer's input.  A whole kvtree file is used
 * as it is.  Any other input becomes the body of one, with a valid header and
 * checksum, so that the fuzzer does not have to guess them.
 */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include "scratch.h"

/* The input as a kvtree file; free with buf_free(). */
void fuzz_image(const uint8_t *data, size_t size, struct buf *out);

/* The input as a tree for kvtree_free(), or NULL if it is not valid. */
struct kvtree *fuzz_tree(const uint8_t *data, size_t size);

/* Abort if the library broke a promise. */
void fuzz_require(bool promise);

/* Require that both have the same bytes; frees them. */
void fuzz_same(struct buf *a, struct buf *b);

/* The target: each file of testsuite/fuzz has one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_TREE_H */
