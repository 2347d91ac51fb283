/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metatest.h - what the tests of the typed views share: trees written as text,
 * trees as bytes, and golden data.
 */
#ifndef METATEST_H
#define METATEST_H

#include <fcntl.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "nomem.h"
#include "str.h"
#include "tap.h"

/* Add to `t` the keys of each line, "A>B>C" being C below B below A.  So long
 * as lines share their first keys only where that is meant, anything can be
 * said. */
bool tree_add(struct kvtree *t, const char *text);

/* A new tree of these lines; for kvtree_free(). */
struct kvtree *tree_of(const char *text);

/* A tree's text, or any other, as the name of a test: on one line. */
const char *label(const char *text);

/* Is the image of `t` these bytes? */
bool tree_is(const struct kvtree *t, const void *data, size_t len);

/* Have both trees the same keys in the same order (`sorted`: in any)? */
bool tree_same(const struct kvtree *a, const struct kvtree *b, bool sorted);

/*
 * Call fn(tree, arg) for the image of `t` with each of its bytes flipped in
 * turn, as far as a checksum made right lets it be read.  fn must not crash;
 * what it says is for it to check.  Returns how many could be read.
 */
size_t tree_flip_each(const struct kvtree *t,
		      void (*fn)(const struct kvtree *t, void *arg), void *arg);

/*
 * Call fn(tree, arg) for `t` without its first, second, ... node and what is
 * below it: what truncation is to bytes.  Returns how many there were.
 */
size_t tree_drop_each(const struct kvtree *t,
		      void (*fn)(const struct kvtree *t, void *arg), void *arg);

/* Once in the golden data: all of it, or the project's selection?  Only all
 * of it has so many cases. */
bool golden_whole(void);

/* Make the golden data the working directory, or skip the test. */
bool golden_enter(const char *what);

/* The last component of a path. */
const char *base_name(const char *path);

/* --- Lists of files --- */

/* What find_files() has found. */
extern struct found {
	char **paths;
	size_t count;
} found;

/* All regular files below `dir`, sorted, into `found`. */
bool find_files(const char *dir);

/* Free what find_files() has found. */
void forget_files(void);

#endif /* METATEST_H */
