/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_encode.c - from trees to bytes.
 */
#include <string.h>

#include "buf.h"
#include "crc.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/kvtree_impl.h"
#include "kvtree/kvwrite.h"

static char *
put_be(char *p, uint64_t v, size_t bytes)
{
	while (bytes-- > 0)
		*p++ = (char)(v >> (8 * bytes));
	return p;
}

/* Check that a tree of `size` bytes fits into an image. */
static int
check_size(size_t size, struct error *err)
{
	const size_t most =
		KVTREE_MAX_ENCODED - KVTREE_HEADER_SIZE - KVTREE_CRC_SIZE;

	if (size <= most)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "metadata would take %zu bytes, at most %zu", size,
			 most);
}

/* Write the header before the elements and the checksum after them.  Return the
 * end of the image. */
static char *
frame(char *start, char *end)
{
	const size_t size = (size_t)(end - start) + KVTREE_CRC_SIZE;
	char *p = put_be(start, KVTREE_MAGIC, 4);

	p = put_be(p, KVTREE_TYPE_TREE, 2);
	p = put_be(p, KVTREE_VERSION, 2);
	p = put_be(p, size, 8);
	put_be(p, KVTREE_FLAG_CRC, 4);
	return put_be(end, crc_update(0, start, (size_t)(end - start)),
		      KVTREE_CRC_SIZE);
}

void
kvtree_begin(struct kvwrite *w, struct buf *out, uint32_t children)
{
	char *to = NULL;

	*w = (struct kvwrite){ .out = out, .start = out->len };
	to = kvwrite_room(w, KVTREE_HEADER_SIZE + KVTREE_COUNT_SIZE);
	if (to == NULL)
		return;
	put_be(to + KVTREE_HEADER_SIZE, children, KVTREE_COUNT_SIZE);
	out->len += KVTREE_HEADER_SIZE + KVTREE_COUNT_SIZE;
}

int
kvtree_seal(struct kvwrite *w, struct error *err)
{
	char *p = kvwrite_room(w, KVTREE_CRC_SIZE + 1);
	char *start = p == NULL ? NULL : w->out->data + w->start;

	if (p == NULL)
		error_no_memory(err);
	else if (w->too_deep)
		error_set(err, ERROR_USAGE, "nested deeper than %d levels",
			  KVTREE_MAX_DEPTH);
	else if (check_size((size_t)(p - start) - KVTREE_HEADER_SIZE, err) ==
		 0) {
		p = frame(start, p);
		*p = '\0';
		w->out->len = (size_t)(p - w->out->data);
		return 0;
	}
	w->out->len = w->start;
	if (w->out->data != NULL)
		w->out->data[w->start] = '\0';
	return -1;
}

void
kvtree_put_children(struct kvwrite *w, const struct kvtree *t)
{
	struct kvtree_walk walk;
	const struct kvtree *n = NULL;

	kvtree_walk_start(&walk, t);
	while ((n = kvtree_walk_next(&walk)) != NULL)
		kvwrite_key(w, n->key, (uint32_t)kvtree_count(n));
	w->too_deep = w->too_deep || walk.too_deep;
}

void
kvtree_put_tree(struct kvwrite *w, const char *key, const struct kvtree *t)
{
	kvwrite_key(w, key, (uint32_t)kvtree_count(t));
	kvtree_put_children(w, t);
}

int
kvtree_encode(const struct kvtree *t, struct buf *out, struct error *err)
{
	struct kvwrite w;

	kvtree_begin(&w, out, (uint32_t)kvtree_count(t));
	kvtree_put_children(&w, t);
	return kvtree_seal(&w, err);
}
