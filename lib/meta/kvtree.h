/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree.h - ordered tree of string keys: the in-memory form of all metadata
 * this toolkit reads or writes.  On-disk form: kvtree(5), formats.md 1.
 *
 * Every node is a `struct kvtree`; the one kvtree_new() or kvtree_decode()
 * gives is the root, has the key "", and owns all the others.  Keys are
 * arbitrary bytes without NUL, the empty string and file names with '/' among
 * them.  Siblings keep the order in which they were read or added, so a file
 * that is read and written again is unchanged; lookup does not depend on
 * order, and its expected cost does not grow with the number of siblings,
 * whatever the keys.
 *
 * A scalar value V of key K is a child of K named V: kvtree_value().
 *
 * Ownership: the tree copies what it is given.  A pointer it hands out is
 * borrowed, and valid until that node is removed or the root is freed.
 * Errors: int functions return 0, or -1 with *err filled in (err may be
 * NULL); on error the tree is unchanged.  Threads: one tree, one thread, but
 * any number may read a tree that nobody changes.
 */
#ifndef META_KVTREE_H
#define META_KVTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;
struct error;
struct kvwrite;
struct json;
struct kvtree;

/* No valid file is larger: check before reading one into memory. */
#define KVTREE_MAX_ENCODED ((size_t)1 << 30)

/* Deeper nesting is refused; the formats need less than 16. */
#define KVTREE_MAX_DEPTH 256

/* Header and smallest image (formats.md 1.1). */
#define KVTREE_HEADER_SIZE 20
#define KVTREE_MIN_ENCODED 28

/* --- Life --- */

/* Return an empty root for kvtree_free(), or NULL: ERROR_NOMEM. */
struct kvtree *kvtree_new(struct error *err);

/* Free the root `t` and all it holds.  NULL is ignored. */
void kvtree_free(struct kvtree *t);

/* Make the root `t` empty again, keeping its memory for the next use. */
void kvtree_clear(struct kvtree *t);

/* --- Reading --- */

const char *kvtree_key(const struct kvtree *t); /* borrowed; root: "" */
size_t kvtree_count(const struct kvtree *t);	/* number of children */

/* The child of `t` named `key`, or NULL.  `t` may be NULL: NULL. */
struct kvtree *kvtree_get(const struct kvtree *t, const char *key);

/* kvtree_get() of `key`, then of `sub`. */
struct kvtree *kvtree_get2(const struct kvtree *t, const char *key,
			   const char *sub);

/* First child and next sibling, or NULL: for loops.  `t` may be NULL. */
struct kvtree *kvtree_first(const struct kvtree *t);
struct kvtree *kvtree_next(const struct kvtree *t);
#define kvtree_foreach(child, t) \
	for (child = kvtree_first(t); child != NULL; child = kvtree_next(child))

/*
 * The value of `key`: the name of its only child; NULL if there is no such
 * key, or it has no or several children.  `t` may be NULL.
 */
const char *kvtree_value(const struct kvtree *t, const char *key);

/*
 * The value of `key` as a number (formats.md 1.3), whole and bounded.  Return
 * 0; or -1: ERROR_ABSENT (no such key), ERROR_CORRUPT (several values, not a
 * number, out of range); the sentence names the key and quotes the value.
 */
int kvtree_u64(const struct kvtree *t, const char *key, uint64_t max,
	       uint64_t *out, struct error *err);
int kvtree_i64(const struct kvtree *t, const char *key, int64_t min,
	       int64_t max, int64_t *out, struct error *err);

/* --- Changing --- */

/* The child of `t` named `key` (borrowed), made as the last one if it is
 * missing; NULL: ERROR_NOMEM. */
struct kvtree *kvtree_put(struct kvtree *t, const char *key, struct error *err);

/* The same, but made as (not moved to) the first one. */
struct kvtree *kvtree_put_first(struct kvtree *t, const char *key,
				struct error *err);

/* Make `value` the only child of child `key`; the key keeps its place, or is
 * made as the last one. */
int kvtree_set(struct kvtree *t, const char *key, const char *value,
	       struct error *err);
int kvtree_set_u64(struct kvtree *t, const char *key, uint64_t value,
		   struct error *err);
int kvtree_set_i64(struct kvtree *t, const char *key, int64_t value,
		   struct error *err);
/* "%#x", zero as "0": how a CRC is written. */
int kvtree_set_crc(struct kvtree *t, const char *key, uint32_t value,
		   struct error *err);

/* Remove the child `key` and all below it; none: nothing happens.  The memory
 * comes back when the root is freed. */
void kvtree_remove(struct kvtree *t, const char *key);

/* Add copies of all children of `from` (any tree) to `t`, deep, in order;
 * where `t` has the key already, the sub-trees are merged. */
int kvtree_merge(struct kvtree *t, const struct kvtree *from,
		 struct error *err);

/* Sort the children of `t`, and of all below it, by key as bytes. */
int kvtree_sort(struct kvtree *t, struct error *err);

/* --- Encoded form --- */

/*
 * For readers that need no tree: check header, length and checksum of an image
 * as kvtree_decode() does, and give the elements between them, borrowed from
 * `data`: count, then for each key, NUL, and the same again.  NULL:
 * ERROR_CORRUPT.
 */
const char *kvtree_body(const void *data, size_t len, size_t *body,
			struct error *err);

/*
 * Decode an image at the start of `len` untrusted bytes.  Bytes behind the
 * image are not looked at: *used (may be NULL) says how many it has.  Same
 * keys under one parent are merged into the first.  Return a root for
 * kvtree_free(), or NULL: ERROR_CORRUPT (the text gives the byte offset),
 * ERROR_NOMEM.
 *
 * Unlike LLNL's reader: no bytes at all, a count or a key that leaves the
 * image, bytes between the tree and its checksum, and nesting below
 * KVTREE_MAX_DEPTH are errors (formats.md 13).  As LLNL's: a clear CRC flag
 * and unknown flags are accepted.
 */
struct kvtree *kvtree_decode(const void *data, size_t len, size_t *used,
			     struct error *err);

/* The same into an existing root, which is cleared first: saves memory and
 * time when thousands of small files are read one after another.  On error
 * the root is empty. */
int kvtree_decode_into(struct kvtree *t, const void *data, size_t len,
		       size_t *used, struct error *err);

/* How many bytes the image that starts with these `len` >=
 * KVTREE_HEADER_SIZE bytes has, checked against KVTREE_MAX_ENCODED. */
int kvtree_peek(const void *data, size_t len, size_t *size, struct error *err);

/* Append the image of `t` (any node: its children become the top level). */
int kvtree_encode(const struct kvtree *t, struct buf *out, struct error *err);

/*
 * Images without a tree (kvwrite.h), appended to `out`: begin with the number
 * of children at the top, write them, then seal it: header and checksum.
 */
void kvtree_begin(struct kvwrite *w, struct buf *out, uint32_t children);
/* All that is below `t`, no deeper than KVTREE_MAX_DEPTH. */
void kvtree_put_children(struct kvwrite *w, const struct kvtree *t);
int kvtree_seal(struct kvwrite *w, struct error *err);

/* Bytes of the packed tree without header and CRC (formats.md 1.6). */
size_t kvtree_packed_size(const struct kvtree *t);

/* --- Files --- */

/* io_read_file() and kvtree_decode(); the error names the file. */
struct kvtree *kvtree_read_file(int dirfd, const char *name, struct error *err);
int kvtree_read_file_into(struct kvtree *t, int dirfd, const char *name,
			  struct buf *scratch, struct error *err);

/* kvtree_encode() and io_replace() with mode 0666; the error names the file. */
int kvtree_write_file(const struct kvtree *t, int dirfd, const char *name,
		      struct error *err);

/* --- Printing (formats.md 12) --- */

enum kvtree_style {
	KVTREE_TREE,   /* each key on its line, two blanks more a level */
	KVTREE_KEYVAL, /* a key whose only child is a leaf: KEY = CHILD */
};
int kvtree_print(const struct kvtree *t, enum kvtree_style style,
		 struct buf *out, struct error *err);

/* As JSON: a leaf is null, a key whose only child is a leaf is a string,
 * anything else an object. */
struct json *kvtree_json(const struct kvtree *t);

#endif /* META_KVTREE_H */
