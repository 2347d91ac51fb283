/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * marks.h - rebuild.scr (DATASET_DIR_MARK): byte ranges of containers that an
 * interrupted rebuild may have left half written, or that are still missing.
 *
 *   FILE -> container -> offset -> LENGTH
 */
#ifndef CONTAINER_MARKS_H
#define CONTAINER_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct kvtree;
struct segmap;

/* Read the marks of a dataset in directory `meta_fd`, for kvtree_free(); NULL
 * if there is no such file.  ERROR_CORRUPT. */
int marks_load(struct kvtree **marks, int meta_fd, struct error *err);

/* Remove the marks, which are no longer needed. */
int marks_remove(int meta_fd, struct error *err);

/* Is the segment at offset `off` of the container marked?  `marks` may be
 * NULL. */
bool marks_has(const struct kvtree *marks, const char *container, uint64_t off);

/* Is any of `count` segments of `m` from `first` on marked?  A mark is that of
 * a segment: while there are marks, no map is made with others. */
bool marks_any(const struct kvtree *marks, const struct segmap *m, size_t first,
	       size_t count);

#endif /* CONTAINER_MARKS_H */
