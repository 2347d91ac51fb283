/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Redundancy headers, and names of redundancy files.  The first byte is the
 * owner for a name (255: none).  A header with all its lists that was read,
 * built and read again is the same.
 */
#include "fuzz_tree.h"
#include "meta/redset.h"

/* The input as a name: one that can be parsed is formatted the same. */
static void
try_name(const uint8_t *data, size_t size)
{
	char name[256], again[256];
	struct redset_name n;
	size_t stem = 0;

	if (size >= sizeof(name))
		return;
	memcpy(name, data, size);
	name[size] = '\0';
	if (redset_name_parse(name, &n, NULL)) {
		redset_name_format(again, sizeof(again), &n, NULL);
		fuzz_require(strcmp(name, again) == 0);
		fuzz_require(redset_name_parse(name, &n, &stem));
	}
	if (redset_name_parse(name, &n, &stem)) {
		char text[256];

		memcpy(text, name, stem);
		text[stem] = '\0';
		redset_name_format(again, sizeof(again), &n, text);
		fuzz_require(strcmp(name, again) == 0);
	}
}

/* Does the header of `h` have all its lists? */
static bool
is_whole(const struct redset_header *h)
{
	uint32_t d = 0, j = h->desc.member;

	for (d = 0; d <= redset_neighbours(&h->desc); d++) {
		if (!h->members[j].known)
			return false;
		j = j > 0 ? j - 1 : h->desc.members - 1;
	}
	return true;
}

static void
try_build(const struct redset_header *h, struct arena *arena)
{
	const uint32_t owner = h->desc.member;
	struct redset_header again;
	uint64_t body = 0, other = 0;
	auto_kvtree *t = redset_header_build(h->members, h->ranks, h->chunk,
					     owner, NULL);

	fuzz_require(t != NULL);
	fuzz_require(
		redset_header_read(t, 1, UINT32_MAX, arena, &again, NULL) == 0);
	fuzz_require(again.desc.member == owner && again.chunk == h->chunk);
	if (redset_body_size(h->members, h->chunk, owner, &body, NULL) == 0)
		fuzz_require(redset_body_size(again.members, again.chunk, owner,
					      &other, NULL) == 0 &&
			     body == other);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena *arena = arena_new();
	struct redset_header h;
	struct error err = ERROR_INIT;
	auto_kvtree *t = NULL;

	try_name(data, size);
	if (size > 0) {
		uint32_t owner = data[0] == 255 ? UINT32_MAX : data[0];

		t = fuzz_tree(data + 1, size - 1);
		if (t != NULL &&
		    redset_header_read(t, size, owner, arena, &h, &err) == 0) {
			fuzz_require(h.members[h.desc.member].known);
			for (uint32_t j = 0; j < h.desc.members; j++)
				fuzz_require(!h.members[j].known ||
					     h.members[j].desc.member == j);
			if (is_whole(&h))
				try_build(&h, arena);
		} else {
			fuzz_require(t == NULL || err.kind == ERROR_CORRUPT);
		}
	}
	return 0;
}
