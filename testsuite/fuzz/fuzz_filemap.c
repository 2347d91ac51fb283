/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filemaps: one that was read, written and read again is the same.
 */
#include "fuzz_tree.h"
#include "meta/filemap.h"

static struct kvtree *
write_map(const struct filemap *map)
{
	struct kvtree *t = kvtree_new(NULL);

	fuzz_require(t != NULL);
	for (size_t i = 0; i < map->nfiles; i++)
		fuzz_require(filemap_add(t, &map->files[i], NULL) == 0);
	return t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_kvtree *t = fuzz_tree(data, size), *one = NULL, *two = NULL;
	auto_arena *arena = arena_new();
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct filemap map;

	if (t != NULL && filemap_read(t, arena, &map, NULL) == 0) {
		one = write_map(&map);
		fuzz_require(filemap_read(one, arena, &map, NULL) == 0);
		two = write_map(&map);
		fuzz_require(kvtree_encode(one, &a, NULL) == 0 &&
			     kvtree_encode(two, &b, NULL) == 0);
		fuzz_same(&a, &b);
	}
	return 0;
}
