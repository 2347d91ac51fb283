/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_encode.c - from trees to bytes.
 */
#include <assert.h>
#include <string.h>

#include "buf.h"
#include "crc.h"
#include "error.h"
#include "meta/kvtree.h"
#include "meta/kvtree_impl.h"

static int
no_memory(struct error *err)
{
	return error_set(err, ERROR_NOMEM, "kvtree: out of memory");
}

static char *
put_be(char *p, uint64_t v, size_t bytes)
{
	while (bytes-- > 0)
		*p++ = (char)(v >> (8 * bytes));
	return p;
}

size_t
kvtree_packed_size(const struct kvtree *t)
{
	struct kvtree_walk w;
	const struct kvtree *n = NULL;
	size_t size = KVTREE_COUNT_SIZE;

	kvtree_walk_start(&w, t);
	while ((n = kvtree_walk_next(&w)) != NULL)
		size += strlen(n->key) + 1 + KVTREE_COUNT_SIZE;
	return w.too_deep ? SIZE_MAX : size;
}

int
kvtree_encode(const struct kvtree *t, struct buf *out, struct error *err)
{
	const size_t frame = KVTREE_HEADER_SIZE + KVTREE_CRC_SIZE;
	size_t size = kvtree_packed_size(t), len = 0;
	struct kvtree_walk w;
	const struct kvtree *n = NULL;
	char *start = NULL, *p = NULL;

	if (size == SIZE_MAX)
		return error_set(err, ERROR_USAGE,
				 "nested deeper than %d levels",
				 KVTREE_MAX_DEPTH);
	if (size > KVTREE_MAX_ENCODED - frame)
		return error_set(err, ERROR_USAGE,
				 "metadata would take %zu bytes, at most %zu",
				 size, KVTREE_MAX_ENCODED - frame);
	size += frame;
	if (kvtree_level_buf(out, size) < 0)
		return no_memory(err);
	start = p = out->data + out->len;
	p = put_be(p, KVTREE_MAGIC, 4);
	p = put_be(p, KVTREE_TYPE_TREE, 2);
	p = put_be(p, KVTREE_VERSION, 2);
	p = put_be(p, size, 8);
	p = put_be(p, KVTREE_FLAG_CRC, 4);
	p = put_be(p, kvtree_count(t), KVTREE_COUNT_SIZE);
	kvtree_walk_start(&w, t);
	while ((n = kvtree_walk_next(&w)) != NULL) {
		len = strlen(n->key) + 1;
		memcpy(p, n->key, len);
		p = put_be(p + len, kvtree_count(n), KVTREE_COUNT_SIZE);
	}
	p = put_be(p, crc_update(0, start, (size_t)(p - start)),
		   KVTREE_CRC_SIZE);
	assert((size_t)(p - start) == size);
	*p = '\0';
	out->len += size;
	return 0;
}
