/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metatest.h - shared by the tests of lib/meta: trees from text, trees as
 * bytes, and the golden data.
 */
#ifndef METATEST_H
#define METATEST_H

#include "json.h"
#include "scratch.h"

/* Add the keys of each line to `t`: "A>B>C" adds C below B below A.  Lines with
 * the same first keys share these nodes. */
bool tree_add(struct kvtree *t, const char *text);

/* Make a new tree of these lines; free with kvtree_free(). */
struct kvtree *tree_of(const char *text);

/* Any text on one line, for the name of a check. */
const char *label(const char *text);

/* Remove all nodes below the root `t`. */
void tree_clear(struct kvtree *t);

/* Is the image of `t` these bytes? */
bool tree_is(const struct kvtree *t, const void *data, size_t len);

/* Do both trees have the same keys in the same order (in any, if `sorted`)? */
bool tree_same(const struct kvtree *a, const struct kvtree *b, bool sorted);

/* Is the image of `t` that of tree_of(text)? */
bool tree_says(const struct kvtree *t, const char *text);

/* `j` as text, for free(); frees `j`. */
char *json_text(struct json *j);

/*
 * Flip each byte of the image of `t` in turn, correct the checksum, and call
 * fn(tree, arg) for each image that can be decoded.  fn must not crash, and
 * checks what it reads itself.  Returns the number of calls.
 */
size_t tree_flip_each(const struct kvtree *t,
		      void (*fn)(const struct kvtree *t, void *arg), void *arg);

/*
 * Call fn(tree, arg) for copies of `t` without the first, second, ... node and
 * its children: the counterpart of truncation.  Returns the number of calls.
 */
size_t tree_drop_each(const struct kvtree *t,
		      void (*fn)(const struct kvtree *t, void *arg), void *arg);

/* A reader of metadata: 0, or -1 and an error. */
#define TREE_READER(name) int (*name)(const struct kvtree *t, struct error *err)

/* Check that read() reports each of these trees as ERROR_CORRUPT. */
void trees_refused(const char *const *bad, size_t count, TREE_READER(read));

/* Check that read() accepts each damaged copy of the tree, or reports it as
 * ERROR_CORRUPT: more than `flipped` with a flipped byte, and the `dropped`
 * ones without a node.  Then read the tree without memory. */
void tree_damaged(const char *text, size_t flipped, size_t dropped,
		  TREE_READER(read));

/* Are these the complete golden data, not only the project's selection?  For
 * checks of cases that only the former have. */
bool golden_whole(void);

/* Change to the directory of the golden data, or skip the test. */
bool golden_enter(const char *what);

/* The last component of a path. */
const char *base_name(const char *path);

/* The result of find_files(). */
extern struct found {
	char **paths;
	size_t count;
} found;

/* Find all below `dir` but directories, sorted, into `found`. */
bool find_files(const char *dir);

/* Free the result of find_files(). */
void forget_files(void);

#endif /* METATEST_H */
