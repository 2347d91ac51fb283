/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manifests: one that was read has clean paths and finds them, and is the same
 * after it was written and read again.
 */
#include "archive/manifest.h"
#include "fuzz_tree.h"

static void
write_again(const struct manifest *m, struct buf *to)
{
	const struct manifest_entry *e = NULL;

	for (size_t i = 0; i < manifest_count(m); i++) {
		e = manifest_at(m, i);
		fuzz_require(path_is_clean(e->path));
		fuzz_require(manifest_find(m, e->path) == i);
		fuzz_require(manifest_add(to, e->sum, e->path, NULL) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_manifest *m = manifest_parse(data, size, NULL), *n = NULL;
	struct buf a = BUF_INIT, b = BUF_INIT;

	if (m != NULL) {
		write_again(m, &a);
		n = manifest_parse(a.data, a.len, NULL);
		fuzz_require(n != NULL &&
			     manifest_count(n) == manifest_count(m));
		write_again(n, &b);
		fuzz_same(&a, &b);
	}
	return 0;
}
