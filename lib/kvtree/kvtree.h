/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree.h - ordered tree of string keys: the in-memory form of all metadata
 * that this toolkit reads or writes.  On-disk form: kvtree(5).
 *
 * Every node is a `struct kvtree`.  The node returned by kvtree_new() or
 * kvtree_decode() is the root: its key is "", and it owns all other nodes.
 * Keys are arbitrary bytes without NUL, including the empty string and file
 * names with '/'.  Siblings keep the order in which they were read or added, so
 * reading and writing a file leaves it unchanged.  A lookup does not depend on
 * the order, and its expected cost does not grow with the number of siblings,
 * whatever the keys are.
 *
 * A scalar value V of key K is a child of K named V: kvtree_value().
 *
 * Ownership: the tree copies its inputs.  A pointer returned by the tree is
 * borrowed, and valid until that node is removed or the root is freed.
 *
 * Errors: int functions return 0, or -1 with *err filled in (err may be NULL);
 * on error the tree is unchanged, except by kvtree_merge().  Building a tree
 * needs no check at each step: once memory for an addition was missing, or if
 * there is no tree at all, kvtree_check() and kvtree_encode() fail.
 *
 * Threads: one thread at a time may change a tree; any number may read a tree
 * that no thread changes.
 */
#ifndef KVTREE_KVTREE_H
#define KVTREE_KVTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;
struct error;
struct stat;
struct kvwrite;
struct json;
struct kvtree;

/* No valid file is larger.  Check the size before reading a file into
 * memory. */
#define KVTREE_MAX_ENCODED ((size_t)1 << 30)

/* Deeper nesting is refused; the formats need fewer than 16 levels. */
#define KVTREE_MAX_DEPTH 256

/* Size of the header, and of the smallest image (kvtree(5)). */
#define KVTREE_HEADER_SIZE 20
#define KVTREE_CRC_SIZE 4
#define KVTREE_MIN_ENCODED 28

/* --- Create and free --- */

/* Return an empty root for kvtree_free(), or NULL: ERROR_NOMEM. */
struct kvtree *kvtree_new(struct error *err);

/* Free the root `t` and all its nodes.  NULL is ignored. */
void kvtree_free(struct kvtree *t);

/* -1: ERROR_NOMEM, `t` is NULL, or something was not added to its tree. */
int kvtree_check(const struct kvtree *t, struct error *err);

/* The root `t` if nothing is missing in it; else free it.  NULL:
 * ERROR_NOMEM. */
struct kvtree *kvtree_checked(struct kvtree *t, struct error *err);

/* --- Read --- */

const char *kvtree_key(const struct kvtree *t); /* borrowed; root: "" */
size_t kvtree_count(const struct kvtree *t);	/* number of children */

/* The child of `t` named `key`, or NULL.  If `t` is NULL, return NULL. */
struct kvtree *kvtree_get(const struct kvtree *t, const char *key);

/* kvtree_get() of `key`, then of `sub`. */
struct kvtree *kvtree_get2(const struct kvtree *t, const char *key,
			   const char *sub);

/* First child and next sibling, or NULL.  `t` may be NULL. */
struct kvtree *kvtree_first(const struct kvtree *t);
struct kvtree *kvtree_next(const struct kvtree *t);
#define kvtree_foreach(child, t) \
	for (child = kvtree_first(t); child != NULL; child = kvtree_next(child))

/* The value of `key`: the name of its only child.  NULL if the key is missing,
 * or has no child or several.  `t` may be NULL. */
const char *kvtree_value(const struct kvtree *t, const char *key);

/*
 * Read the value of `key` as a number (kvtree(5)) within the bounds.
 * Return 0; or -1: ERROR_ABSENT (no such key), ERROR_CORRUPT (several
 * values, not a number, out of range).  The message names the key and quotes
 * the value.
 */
int kvtree_u64(const struct kvtree *t, const char *key, uint64_t max,
	       uint64_t *out, struct error *err);
int kvtree_i64(const struct kvtree *t, const char *key, int64_t min,
	       int64_t max, int64_t *out, struct error *err);

/* --- Change --- */

/* Return the child of `t` named `key` (borrowed).  If it is missing, append it
 * as the last child.  NULL: ERROR_NOMEM; or `t` is NULL, as another call has
 * failed, and *err stays as it is. */
struct kvtree *kvtree_put(struct kvtree *t, const char *key, struct error *err);

/* The same, but a missing child is added as the first one.  An existing child
 * is not moved. */
struct kvtree *kvtree_put_first(struct kvtree *t, const char *key,
				struct error *err);

/* Make `value` the only child of the child `key`.  An existing key keeps its
 * place; a missing one is appended as the last child.  -1 also if `t` is NULL,
 * as by kvtree_put(). */
int kvtree_set(struct kvtree *t, const char *key, const char *value,
	       struct error *err);
int kvtree_set_u64(struct kvtree *t, const char *key, uint64_t value,
		   struct error *err);
int kvtree_set_i64(struct kvtree *t, const char *key, int64_t value,
		   struct error *err);
/* The same, but `key` becomes the first child of `t`; NULL: it is removed. */
int kvtree_set_first(struct kvtree *t, const char *key, const char *value,
		     struct error *err);
/* Written as "%#x", and zero as "0": the form of a CRC. */
int kvtree_set_crc(struct kvtree *t, const char *key, uint32_t value,
		   struct error *err);

/* Remove the child `key` and everything below it, if it exists.  The memory is
 * released when the root is freed.  `t` may be NULL. */
void kvtree_remove(struct kvtree *t, const char *key);

/* Add deep copies of all children of `from` (of any tree; NULL: none) to `t`,
 * in order.  If `t` already has a key, the sub-trees are merged.  On error `t`
 * keeps what was merged until then. */
int kvtree_merge(struct kvtree *t, const struct kvtree *from,
		 struct error *err);

/* Sort the children of `t`, and of all nodes below, by the bytes of their keys.
 * NULL is ignored. */
int kvtree_sort(struct kvtree *t, struct error *err);

/* --- Encoded form --- */

/*
 * For readers that build no tree: check header, length and checksum of an image
 * as kvtree_decode() does.  Return its elements, borrowed from `data`: a count,
 * then for each child its key, a NUL, and the child's own elements.  NULL:
 * ERROR_CORRUPT.
 */
const char *kvtree_body(const void *data, size_t len, size_t *body,
			struct error *err);

/*
 * Decode an image at the start of `len` untrusted bytes.  Bytes after the image
 * are ignored; *used (may be NULL) receives the size of the image.  Equal keys
 * under one parent are merged into the first.  Return a root for kvtree_free(),
 * or NULL: ERROR_CORRUPT (the text gives the byte offset), ERROR_NOMEM.
 *
 * Unlike LLNL's reader, these are errors: empty input, a count or a key that
 * exceeds the image, bytes between the tree and its checksum, and nesting below
 * KVTREE_MAX_DEPTH (kvtree(5)).  Like LLNL's reader, accept a clear CRC
 * flag and unknown flags.
 */
struct kvtree *kvtree_decode(const void *data, size_t len, size_t *used,
			     struct error *err);

/* The same, but the tree takes over the buffer, so that no byte is copied; *raw
 * is empty then. */
struct kvtree *kvtree_decode_buf(struct buf *raw, struct error *err);

/* Decode a sound image (kvtree_body()) without one child of the root: the `cut`
 * bytes at `from` are that child, its key and everything below it. */
struct kvtree *kvtree_decode_without(const void *data, size_t len,
				     const void *from, size_t cut,
				     struct error *err);

/* Read the size of the image from its first `len` >= KVTREE_HEADER_SIZE bytes;
 * ERROR_CORRUPT if it exceeds KVTREE_MAX_ENCODED. */
int kvtree_peek(const void *data, size_t len, size_t *size, struct error *err);

/* Does an image with this header (KVTREE_HEADER_SIZE bytes) end with a checksum
 * of KVTREE_CRC_SIZE bytes? */
bool kvtree_has_crc(const void *header);

/* Append the image of `t`.  `t` may be any node: its children become the top
 * level. */
int kvtree_encode(const struct kvtree *t, struct buf *out, struct error *err);

/* Write an image without a tree (kvwrite.h), appended to `out`.  kvtree_begin()
 * takes the number of children at the top, then the caller writes them, and
 * kvtree_seal() completes header and checksum, or fails and removes the image
 * from `out`. */
void kvtree_begin(struct kvwrite *w, struct buf *out, uint32_t children);
/* Write everything below `t`.  If it has more than KVTREE_MAX_DEPTH levels,
 * kvtree_seal() fails. */
void kvtree_put_children(struct kvwrite *w, const struct kvtree *t);
/* The same below a new key. */
void kvtree_put_tree(struct kvwrite *w, const char *key,
		     const struct kvtree *t);
int kvtree_seal(struct kvwrite *w, struct error *err);

/* --- Files --- */

/* io_read_file() and kvtree_decode().  The error names the file. */
struct kvtree *kvtree_read_file(int dirfd, const char *name, struct error *err);

/* The same.  `st` (may be NULL) receives its stat data. */
struct kvtree *kvtree_read_beneath(int dirfd, const char *rel, struct stat *st,
				   struct error *err);

/* Read a file into `out` (initialised), and check it by kvtree_body().  The
 * error names the file. */
int kvtree_read_sound(int dirfd, const char *name, struct buf *out,
		      struct error *err);

/* kvtree_encode() and io_replace() with mode 0666.  The error names the
 * file. */
int kvtree_write_file(const struct kvtree *t, int dirfd, const char *name,
		      struct error *err);

/* The same; if `lazy`, by io_replace_lazy(). */
int kvtree_write(const struct kvtree *t, int dirfd, const char *name, bool lazy,
		 struct error *err);

/* --- Print (kvtree(5)) --- */

enum kvtree_style {
	KVTREE_TREE,   /* one key per line, indented by two blanks per level */
	KVTREE_KEYVAL, /* as above, but a key whose only child is a leaf: KEY =
			  CHILD */
};
int kvtree_print(const struct kvtree *t, enum kvtree_style style,
		 struct buf *out, struct error *err);

/* Convert to JSON: a leaf becomes null, a key whose only child is a leaf
 * becomes a string, anything else an object. */
struct json *kvtree_json(const struct kvtree *t);

#endif /* KVTREE_KVTREE_H */
