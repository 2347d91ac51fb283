/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_tree.h - targets of fuzzers, and trees of their inputs.  The input, or
 * what is between header and checksum if it is a whole kvtree file, becomes the
 * body of a file with a valid header and no checksum, so that the fuzzer does
 * not have to guess them.
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

struct fuzz_target {
	const char *name;
	void (*run)(const uint8_t *data, size_t size);
	struct fuzz_target *next;
};

void fuzz_add(struct fuzz_target *t);

/* A target; its inputs are in testsuite/data/corpus/NAME. */
#define FUZZ(target) \
	static void fuzz_##target(const uint8_t *data, size_t size); \
	__attribute__((constructor)) static void add_##target(void) \
	{ \
		static struct fuzz_target me = { #target, fuzz_##target, \
						 NULL }; \
\
		fuzz_add(&me); \
	} \
	static void fuzz_##target(const uint8_t *data, size_t size)

/* Run the target that the name of the program ends with: replay_NAME or
 * fuzz_NAME. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_TREE_H */
