/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's answer about its caches: for any input the numbers are in their
 * bounds, and an answer that was parsed, formatted and parsed again is the
 * same.
 */
#include "fuzz_tree.h"
#include "scavenge/nodecache.h"

static void
check_red(const struct nodecache_red *r)
{
	if (!r->there)
		return;
	fuzz_require(r->type < REDSET_TYPES);
	fuzz_require(r->set >= 1 && r->set <= r->sets);
	fuzz_require(r->member >= 1 && r->member <= r->members);
	fuzz_require(r->sets <= REDSET_MAX_RANKS &&
		     r->members <= REDSET_MAX_RANKS);
}

static void
check(const struct nodecache *n)
{
	fuzz_require(n->host != NULL);
	for (size_t i = 0; i < n->ndatasets; i++) {
		const struct nodecache_dataset *d = &n->datasets[i];

		fuzz_require(d->id >= 1 && d->world >= -1);
		for (size_t r = 0; r < d->nranks; r++) {
			fuzz_require(d->ranks[r].rank >= 0);
			fuzz_require(r == 0 ||
				     d->ranks[r].rank > d->ranks[r - 1].rank);
			check_red(&d->ranks[r].red);
			check_red(&d->ranks[r].mapred);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct error err = ERROR_INIT;
	auto_nodecache n;

	if (nodecache_parse(&n, (const char *)data, size, &err) == 0) {
		check(&n);
		fuzz_require(nodecache_json(&n, &a, NULL) == 0);
		nodecache_free(&n);
		fuzz_require(nodecache_parse(&n, a.data, a.len, NULL) == 0);
		fuzz_require(nodecache_json(&n, &b, NULL) == 0);
		fuzz_same(&a, &b);
	} else {
		fuzz_require(err.kind == ERROR_CORRUPT);
	}
	return 0;
}
