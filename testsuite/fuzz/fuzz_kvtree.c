/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_kvtree.c - decode any bytes.  A decoded tree must be the same after
 * encoding, respect the limit of depth, and survive printing, merging, sorting
 * and look-up.
 */
#include "bigend.h"
#include "fuzz_tree.h"
#include "json.h"

/* Every child is found by its key, and their number is the count. */
static void
look_up(const struct kvtree *t)
{
	const struct kvtree *n = NULL;
	size_t count = 0;

	kvtree_foreach (n, t) {
		fuzz_require(kvtree_get(t, kvtree_key(n)) == n);
		look_up(n);
		count++;
	}
	fuzz_require(kvtree_count(t) == count);
}

/* Check the properties of a decoded tree. */
static void
use(struct kvtree *t)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	auto_kvtree *u = NULL, *copy = kvtree_new(NULL);
	size_t used = 0;

	look_up(t);
	fuzz_require(kvtree_encode(t, &a, NULL) == 0);
	u = kvtree_decode(a.data, a.len, &used, NULL);
	fuzz_require(u != NULL && used == a.len);
	fuzz_require(kvtree_encode(u, &b, NULL) == 0);
	fuzz_require(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);

	/* A copy is equal, and merging it into the original adds nothing. */
	fuzz_require(kvtree_merge(copy, t, NULL) == 0);
	fuzz_require(kvtree_merge(t, copy, NULL) == 0);
	buf_clear(&b);
	fuzz_require(kvtree_encode(t, &b, NULL) == 0);
	fuzz_same(&a, &b);

	fuzz_require(kvtree_print(t, KVTREE_TREE, &b, NULL) == 0);
	fuzz_require(kvtree_print(t, KVTREE_KEYVAL, &b, NULL) == 0);
	json_free(kvtree_json(t));
	fuzz_require(kvtree_sort(t, NULL) == 0);
	look_up(t);
	while (kvtree_first(copy) != NULL)
		kvtree_remove(copy, kvtree_key(kvtree_first(copy)));
	fuzz_require(kvtree_count(copy) == 0);
	buf_free(&b);
}

/* Decode the bytes as a whole file with its header. */
static void
as_file(const uint8_t *data, size_t size)
{
	size_t used = 0;
	auto_kvtree *t = kvtree_decode(data, size, &used, NULL);

	if (t != NULL) {
		fuzz_require(used <= size);
		use(t);
	}
}

/* The same with size and checksum corrected, to reach the decoder of trees. */
static void
as_tree(const uint8_t *data, size_t size)
{
	auto_buf b = BUF_INIT;
	uint8_t *exact = NULL;
	size_t body = size > KVTREE_MIN_ENCODED ? size - 24 : 4;

	fuzz_require(bigend_add32(&b, 0x951fc3f5) == 0);
	fuzz_require(bigend_add32(&b, 0x00010001) == 0);
	fuzz_require(bigend_add64(&b, body + 24) == 0);
	fuzz_require(bigend_add32(&b, 1) == 0);
	if (size > KVTREE_MIN_ENCODED)
		fuzz_require(buf_add(&b, data + KVTREE_HEADER_SIZE, body) == 0);
	else
		fuzz_require(bigend_add32(&b, 0) == 0);
	fuzz_require(bigend_add32(&b, crc_update(0, b.data, b.len)) == 0);
	/* An exact allocation, so that reads beyond the image are detected. */
	exact = malloc(b.len);
	fuzz_require(exact != NULL);
	memcpy(exact, b.data, b.len);
	as_file(exact, b.len);
	free(exact);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_file(data, size);
	as_tree(data, size);
	return 0;
}
