/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_tree.h"

static struct fuzz_target *targets;

void
fuzz_add(struct fuzz_target *t)
{
	t->next = targets;
	targets = t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fuzz_target *mine;
	const char *name = strchr(program_invocation_short_name, '_');

	if (mine == NULL) {
		mine = targets;
		while (mine != NULL && !str_eq(mine->name, name + 1))
			mine = mine->next;
		fuzz_require(mine != NULL);
	}
	mine->run(data, size);
	return 0;
}

void
fuzz_image(const uint8_t *data, size_t size, struct buf *out)
{
	static const uint8_t head[] = { 0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1 };

	if (size >= KVTREE_HEADER_SIZE + 4 &&
	    memcmp(data, head, sizeof(head)) == 0) {
		size -= KVTREE_HEADER_SIZE +
			(data[KVTREE_HEADER_SIZE - 1] & 1 ? 4 : 0);
		data += KVTREE_HEADER_SIZE;
	}
	buf_clear(out);
	buf_add(out, head, sizeof(head));
	bigend_add64(out, KVTREE_HEADER_SIZE + size);
	bigend_add32(out, 0); /* no checksum */
	buf_add(out, data, size);
}

struct kvtree *
fuzz_tree(const uint8_t *data, size_t size)
{
	auto_buf image = BUF_INIT;
	struct kvtree *t = NULL;

	fuzz_image(data, size, &image);
	t = kvtree_decode(image.data, image.len, NULL, NULL);
	return t;
}

void
fuzz_require(bool promise)
{
	if (!promise)
		__builtin_trap();
}

void
fuzz_same(struct buf *a, struct buf *b)
{
	fuzz_require(a->len == b->len &&
		     (a->len == 0 || memcmp(a->data, b->data, a->len) == 0));
	buf_free(a);
	buf_free(b);
}
