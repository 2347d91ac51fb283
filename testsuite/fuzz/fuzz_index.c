/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of datasets: index.scr, flush.scr, cindex.scrinfo, halt.scr and
 * nodes.scr.  Each reader gets the same tree.
 */
#include "fuzz_tree.h"
#include "meta/cindex.h"
#include "meta/flush.h"
#include "meta/haltfile.h"
#include "meta/index.h"

static void
check_flush(const struct kvtree *t)
{
	struct flush_entry one, *all = NULL;
	size_t count = 0;

	all = flush_entries(t, &count, NULL);
	for (size_t i = 0; all != NULL && i < count; i++) {
		fuzz_require(i == 0 || all[i].id > all[i - 1].id);
		fuzz_require(flush_find(t, all[i].id, &one, NULL) == 0 &&
			     one.id == all[i].id);
	}
	mem_free(all);
}

static void
check_cindex(const struct kvtree *t)
{
	size_t count = 0;
	struct cindex_entry *all = cindex_entries(t, &count, NULL);

	for (size_t i = 0; all != NULL && i < count; i++)
		fuzz_require(all[i].id > 0 &&
			     (i == 0 || all[i].id > all[i - 1].id));
	mem_free(all);
}

static void
check_halt(const struct kvtree *t)
{
	int64_t number = 0;
	struct halt h;

	if (halt_read(t, &h, NULL) == 0)
		fuzz_require(h.checkpoints_left >= -1 && h.exit_before >= -1 &&
			     h.exit_after >= -1 && h.halt_seconds >= -1);
	(void)halt_read_checkpoints(t, &number, NULL);
	if (nodes_read(t, &number, NULL) == 0)
		fuzz_require(number >= 0);
}

/* Find its entries by id and by name; remove the last one. */
static void
check_entries(struct index *ix)
{
	size_t count = 0;
	struct index_entry *all = index_entries(ix, &count, NULL), one;
	char text[64];

	fuzz_require(count == index_count(ix) || all == NULL);
	for (size_t i = 0; all != NULL && i < count; i++) {
		fuzz_require(i == 0 || all[i].id < all[i - 1].id);
		fuzz_require(index_find_id(ix, all[i].id, &one, NULL) == 0);
		fuzz_require(index_entry_valid(&one) ==
			     (*index_entry_reason(&one, text, sizeof(text)) ==
			      '\0'));
		/* The name may be missing in the other table. */
		if (all[i].name != NULL &&
		    index_find_name(ix, all[i].name, &one, NULL) == 0)
			fuzz_require(one.id == all[i].id);
	}
	if (all != NULL && count > 0 && all[0].name != NULL &&
	    index_find_name(ix, all[0].name, &one, NULL) == 0) {
		fuzz_require(index_remove(ix, all[0].name, NULL) == 0);
		fuzz_require(index_count(ix) == count - 1);
	}
	mem_free(all);
}

static void
check_index(struct kvtree *t)
{
	struct index *ix = index_from_tree(t, NULL);
	struct buf a = BUF_INIT;

	if (ix == NULL)
		return;
	t = index_tree(ix);
	if (t != NULL) {
		fuzz_require(kvtree_encode(t, &a, NULL) == 0);
		index_free(ix);
		t = kvtree_decode(a.data, a.len, NULL, NULL);
		fuzz_require(t != NULL);
		ix = index_from_tree(t, NULL);
		fuzz_require(ix != NULL && !index_is_old(ix));
		check_entries(ix);
	}
	buf_free(&a);
	index_free(ix);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kvtree *t = fuzz_tree(data, size);

	if (t == NULL)
		return 0;
	check_flush(t);
	check_cindex(t);
	check_halt(t);
	check_index(t); /* takes ownership of t */
	return 0;
}
