/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of copied files: a record that was read, written and read again is
 * the same; no path leaves the prefix.
 */
#include "fuzz_tree.h"
#include "meta/copied.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_kvtree *t = fuzz_tree(data, size);
	auto_arena *arena = arena_new();
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct copied c;

	if (t != NULL && copied_read(t, arena, &c, NULL) == 0) {
		for (size_t i = 0; i < c.nfiles; i++)
			fuzz_require(path_is_clean(c.files[i].path));
		fuzz_require(copied_encode(&c, NULL, &a, NULL) == 0);
		kvtree_free(t);
		t = kvtree_decode(a.data, a.len, NULL, NULL);
		fuzz_require(t != NULL && copied_read(t, arena, &c, NULL) == 0);
		fuzz_require(copied_encode(&c, NULL, &b, NULL) == 0);
		fuzz_same(&a, &b);
	}
	return 0;
}
