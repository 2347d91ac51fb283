/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_impl.h - names of the files of a rank2file, shared by reader and
 * writer.  No other file includes it.
 */
#ifndef META_RANK2FILE_IMPL_H
#define META_RANK2FILE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

/* SCR 1.1.8 puts a suffix after the numbers.  Its top file gives the names of
 * the parts relative to the dataset's directory (containers.md 1). */
#define RANK2FILE_OLD_SUFFIX ".scr"
#define RANK2FILE_OLD_DIR ".scr/"

/* `base` split: "rank2file", or stem "rank2file" and suffix ".scr". */
struct rank2file_base {
	const char *base;
	const char *suffix; /* "" or RANK2FILE_OLD_SUFFIX */
	struct buf stem;
};

/* Split `base`; free the stem with buf_free(). -1: out of memory. */
int rank2file_base_split(struct rank2file_base *b, const char *base);

/* Is `tail`, the text after the stem, ".L.W" plus the suffix? */
bool rank2file_part_scan(const struct rank2file_base *b, const char *tail,
			 uint64_t *level, uint64_t *writer);

struct arena;
struct error;
struct kvtree;
struct rank2file;
struct rank2file_rank;

/* Add the ranks in the tree of a part to out->ranks.  Strings are borrowed from
 * the tree. */
int rank2file_read_part(struct rank2file *out, const struct kvtree *part,
			struct error *err);

/*
 * Read a part from the elements of its image (kvtree_body()), if it has the
 * plain form of all known writers: known keys, each once, plain numbers.  Lists
 * and segments are allocated in `arena`.  Return 0: done. 1: another form or
 * invalid, and `out` is unchanged; read it as a tree, which reports what is
 * wrong. -1: out of memory.
 *
 * Several threads may read parts at once.  `claimed` has one element per rank,
 * all 0 at first, and prevents two threads from writing the same rank, whatever
 * the parts contain.
 */
int rank2file_scan(struct rank2file *out, struct arena *arena,
		   _Atomic unsigned char *claimed, const char *body,
		   size_t len);

/* Are the paths of a rank unique?  Return 1 or 0, or -1: out of memory. */
int rank2file_distinct(const struct rank2file_rank *r);

#endif /* META_RANK2FILE_IMPL_H */
