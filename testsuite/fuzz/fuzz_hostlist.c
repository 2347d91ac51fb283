/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Node lists: a list that was read, written and read again has the same nodes,
 * and each name alone is a list of one node.
 */
#include "fuzz_tree.h"
#include "hostlist.h"

/* Longer lists are slow and find nothing new. */
#define ROOM ((size_t)2000)

static void
check_name(const char *name)
{
	auto_hostlist h;

	fuzz_require(strlen(name) <= HOSTLIST_NAME_MAX);
	h = (struct hostlist)HOSTLIST_INIT;
	fuzz_require(hostlist_add_name(&h, name, NULL) == 0);
	fuzz_require(hostlist_add(&h, name, NULL) == 0);
	fuzz_require(h.count == 2 && strcmp(h.names[0], name) == 0 &&
		     strcmp(h.names[1], name) == 0);
}

static void
check_list(struct hostlist *h)
{
	auto_buf text = BUF_INIT, plain = BUF_INIT;
	auto_hostlist again;

	fuzz_require(hostlist_text(h, &text, NULL) == 0);
	fuzz_require(hostlist_plain(h, ",", &plain, NULL) == 0);
	fuzz_require(text.len <= plain.len + 2 * h->count);
	again = (struct hostlist)HOSTLIST_INIT;
	fuzz_require(hostlist_add(&again, text.data, NULL) == 0);
	fuzz_require(again.count == h->count);
	for (size_t i = 0; i < h->count; i++) {
		fuzz_require(strcmp(again.names[i], h->names[i]) == 0);
		if (i < 100)
			check_name(h->names[i]);
	}
	fuzz_require(hostlist_both(&again, h, NULL) == 0 &&
		     again.count == h->count);
	fuzz_require(hostlist_uniq(h, NULL) == 0 && h->count <= again.count);
	fuzz_require(hostlist_minus(h, &again, NULL) == 0 && h->count == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A list with space for only ROOM more names, to reach the limit. */
	static const char *names[HOSTLIST_MAX];
	const size_t full = HOSTLIST_MAX - ROOM;
	auto_buf text = BUF_INIT;
	struct hostlist h, found;

	fuzz_require(buf_add(&text, data, size) == 0);
	h = (struct hostlist)HOSTLIST_INIT;
	h.names = names;
	h.cap = HOSTLIST_MAX;
	h.count = full;
	found = h;
	if (hostlist_add(&h, text.data, NULL) < 0) {
		fuzz_require(h.count == full);
	} else {
		fuzz_require(h.names == names && h.count <= HOSTLIST_MAX);
		found.names = names + full;
		found.count = h.count - full;
		check_list(&found);
	}
	h.names = NULL; /* `names` is static */
	hostlist_free(&h);
	return 0;
}
