/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_impl.h - how the files of a rank2file are named: what reading and
 * writing share.  Nobody else includes it.
 */
#ifndef META_RANK2FILE_IMPL_H
#define META_RANK2FILE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

/* SCR 1.1.8 has the suffix behind the numbers, and in the top file gives the
 * names of the parts from the dataset's directory on (containers.md 1). */
#define RANK2FILE_OLD_SUFFIX ".scr"
#define RANK2FILE_OLD_DIR ".scr/"

/* "rank2file", or stem "rank2file" and suffix ".scr". */
struct rank2file_base {
	const char *base;
	const char *suffix; /* "" or RANK2FILE_OLD_SUFFIX */
	struct buf stem;
};

/* Take `base` apart; the stem is for buf_free().  -1: out of memory. */
int rank2file_base_split(struct rank2file_base *b, const char *base);

/* Is `tail`, what stands behind the stem, ".L.W" and the suffix? */
bool rank2file_part_scan(const struct rank2file_base *b, const char *tail,
			 uint64_t *level, uint64_t *writer);

struct arena;
struct error;
struct kvtree;
struct rank2file;
struct rank2file_rank;

/* Put what the tree of a part says into out->ranks; strings are borrowed from
 * it. */
int rank2file_read_part(struct rank2file *out, const struct kvtree *part,
			struct error *err);

/*
 * Read a part straight from the elements of its image (kvtree_body()), if it
 * is as all writers write it: known keys, each once, plain numbers.  0: done.
 * 1: it is not, or it makes no sense: a tree will tell; `out` is as it was.
 * -1: out of memory.  Lists and segments go to `arena`.
 *
 * Several threads may read parts at the same time: `claimed`, by rank and all
 * 0 at first, sees to it that no two write one rank, whatever the parts say.
 */
int rank2file_scan(struct rank2file *out, struct arena *arena,
		   _Atomic unsigned char *claimed, const char *body,
		   size_t len);

/* Is each path of a rank there once?  1 or 0, or -1: out of memory. */
int rank2file_distinct(const struct rank2file_rank *r);

#endif /* META_RANK2FILE_IMPL_H */
