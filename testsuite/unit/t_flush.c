/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/flush.h"

#include "meta/dataset.h"
#include "metatest.h"

static const char full[] = "DATASET>7>DSETDESC>ID>7\nDATASET>7>CKPT>1\n"
			   "DATASET>7>LOCATION>PFS\nDATASET>7>LOCATION>CACHE\n"
			   "DATASET>7>NAME>ckpt.7\n"
			   "DATASET>3>OUTPUT>1\nDATASET>3>LOCATION>CACHE\n"
			   "DATASET>3>LOCATION>FLUSHING\n"
			   "DATASET>3>LOCATION>SYNC_FLUSHING\n"
			   "DATASET>11>LOCATION>CACHE\n";

TEST(read)
{
	auto_kvtree *t = tree_of(full);
	struct flush_entry *all = NULL, e;
	size_t count = 0;

	is_int(flush_find(t, 7, &e, NULL), 0, "an entry is found");
	ok(e.id == 7 && e.is_ckpt && !e.is_output && e.in_cache && e.on_pfs &&
		   !e.flushing && !e.sync_flushing,
	   "... flags");
	is_str(e.name, "ckpt.7", "... name");
	is_str(kvtree_value(e.desc, "ID"), "7", "... descriptor");
	ok(!flush_needed(&e), "... needs no flush");
	is_int(flush_find(t, 3, &e, NULL), 0, "another entry");
	ok(!e.is_ckpt && e.is_output && e.flushing && e.sync_flushing &&
		   e.name == NULL && e.desc == NULL && flush_needed(&e),
	   "... needs flush");
	is_int(flush_find(t, 8, &e, &why), -1, "no such entry");
	is_int(why.kind, ERROR_ABSENT, why.text);
	is_int(flush_find(t, -1, &e, &why), -1, "no such id");
	is_int(flush_find(NULL, 1, &e, &why), -1, "no tree");
	all = flush_entries(t, &count, &why);
	ok(count == 3 && all[0].id == 3 && all[1].id == 7 && all[2].id == 11,
	   "all entries by id");
	mem_free(all);
	tree_clear(t);
	ok(flush_entries(t, &count, &why) == NULL && count == 0,
	   "an empty file");
}

static int
read_all(const struct kvtree *t, struct error *err)
{
	size_t count = 0;

	mem_free(flush_entries(t, &count, err));
	return count == (size_t)-1 ? -1 : 0;
}

static int
find_one(const struct kvtree *t, struct error *err)
{
	struct flush_entry e;

	return flush_find(t, 5, &e, err);
}

TEST(damage)
{
	static const char *const bad[] = {
		"DATASET>5>CKPT>no\n",
		"DATASET>x>CKPT>1\n",
	};

	trees_refused(bad, 2, read_all);
	trees_refused(bad, 1, find_one);
	tree_damaged(full, 50, 22, read_all);
}

/* Put all entries of a file of LLNL's library into a new tree. */
static struct kvtree *
copy_all(const struct kvtree *from, struct error *err)
{
	size_t count = 0;
	auto_mem struct flush_entry *all = flush_entries(from, &count, err);
	struct kvtree *t = all == NULL ? NULL : kvtree_new(err);
	struct dataset d;

	for (size_t i = 0; t != NULL && i < count; i++)
		if (dataset_read(all[i].desc, &d, err) < 0 ||
		    flush_put(t, &all[i], &d, err) < 0) {
			kvtree_free(t);
			t = NULL;
		}
	return t;
}

static int
put_all(void *arg, struct error *err)
{
	struct kvtree *t = copy_all(arg, err);

	kvtree_free(t);
	return t == NULL ? -1 : 0;
}

TEST(write)
{
	static const char *const files[] = {
		"scr3/flush_file/dot_scr/flush.scr",
		"scr3/xor_4/cache/prefix/.scr/flush.scr",
	};

	if (!golden_enter("flush files are written as LLNL's library does"))
		return;
	each (f, files) {
		auto_kvtree *t = kvtree_read_file(AT_FDCWD, *f, &why);
		struct kvtree *same = copy_all(t, &why);

		ok(same != NULL && tree_same(same, t, false),
		   same == NULL ? why.text : *f);
		kvtree_free(same);
		ok(fail_each_alloc(put_all, t) > 0, "no memory to write");
	}
}

/* An entry that is there is replaced, and comes first. */
TEST(replace)
{
	const struct flush_entry e = { .id = 3, .on_pfs = true };
	const struct dataset d = { .id = 3,
				   .name = "c",
				   .ckpt_id = -1,
				   .created_us = -1,
				   .files = -1,
				   .complete = -1 };
	auto_kvtree *t = tree_of("DATASET>9>LOCATION>CACHE\n"
				 "DATASET>3>LOCATION>CACHE\n"
				 "DATASET>3>CKPT>1\n");

	is_int(flush_put(t, &e, &d, NULL), 0, "an entry is replaced");
	kvtree_remove(kvtree_get2(t, "DATASET", "3"), "DSETDESC");
	ok(tree_says(t, "DATASET>3>LOCATION>PFS\nDATASET>3>NAME>c\n"
			"DATASET>9>LOCATION>CACHE\n"),
	   "... first, with nothing of the old one");
}
