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

static void
test_read(void)
{
	struct kvtree *t = tree_of(full);
	struct flush_entry *all = NULL, e;
	struct error err = ERROR_INIT;
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
	is_int(flush_find(t, 8, &e, &err), -1, "no such entry");
	is_int(err.kind, ERROR_ABSENT, err.text);
	is_int(flush_find(t, -1, &e, &err), -1, "no such id");
	is_int(flush_find(NULL, 1, &e, &err), -1, "no tree");
	all = flush_entries(t, &count, &err);
	ok(count == 3 && all[0].id == 3 && all[1].id == 7 && all[2].id == 11,
	   "all entries by id");
	mem_free(all);
	tree_clear(t);
	ok(flush_entries(t, &count, &err) == NULL && count == 0,
	   "an empty file");
	tree_add(t, "DATASET>x>CKPT>1\n");
	ok(flush_entries(t, &count, &err) == NULL && count == (size_t)-1 &&
		   err.kind == ERROR_CORRUPT,
	   err.text);
	tree_clear(t);
	tree_add(t, "DATASET>5>CKPT>no\n");
	ok(flush_entries(t, &count, &err) == NULL && count == (size_t)-1 &&
		   err.kind == ERROR_CORRUPT,
	   err.text);
	is_int(flush_find(t, 5, &e, &err), -1, "a broken entry");
	is_int(err.kind, ERROR_CORRUPT, err.text);
	kvtree_free(t);
}

static void
read_any(const struct kvtree *t, void *arg)
{
	struct error err = ERROR_INIT;
	size_t count = 0;

	mem_free(flush_entries(t, &count, &err));
	if (count == (size_t)-1 && err.kind != ERROR_CORRUPT)
		++*(int *)arg;
}

static int
read_all(void *arg, struct error *err)
{
	size_t count = 0;

	mem_free(flush_entries(arg, &count, err));
	return count == (size_t)-1 ? -1 : 0;
}

/* Put all entries of a file of LLNL's library into a new tree. */
static struct kvtree *
copy_all(const struct kvtree *from, struct error *err)
{
	size_t count = 0;
	struct flush_entry *all = flush_entries(from, &count, err);
	struct kvtree *t = all == NULL ? NULL : kvtree_new(err);
	struct dataset d;

	for (size_t i = 0; t != NULL && i < count; i++)
		if (dataset_read(all[i].desc, &d, err) < 0 ||
		    flush_put(t, &all[i], &d, err) < 0) {
			kvtree_free(t);
			t = NULL;
		}
	mem_free(all);
	return t;
}

static int
put_all(void *arg, struct error *err)
{
	struct kvtree *t = copy_all(arg, err);

	kvtree_free(t);
	return t == NULL ? -1 : 0;
}

static void
test_write(void)
{
	static const char *const files[] = {
		"scr3/flush_file/dot_scr/flush.scr",
		"scr3/xor_4/cache/prefix/.scr/flush.scr",
	};
	struct error err = ERROR_INIT;

	if (!golden_enter("flush files are written as LLNL's library does"))
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct kvtree *t = kvtree_read_file(AT_FDCWD, files[i], &err);
		struct kvtree *same = copy_all(t, &err);

		ok(same != NULL && tree_same(same, t, false),
		   same == NULL ? err.text : files[i]);
		kvtree_free(same);
		ok(fail_each_alloc(put_all, t) > 0, "no memory to write");
		kvtree_free(t);
	}
}

/* An entry that is there is replaced, and comes first. */
static void
test_replace(void)
{
	const struct flush_entry e = { .id = 3, .on_pfs = true };
	const struct dataset d = { .id = 3,
				   .name = "c",
				   .ckpt_id = -1,
				   .created_us = -1,
				   .files = -1,
				   .complete = -1 };
	struct kvtree *t = tree_of("DATASET>9>LOCATION>CACHE\n"
				   "DATASET>3>LOCATION>CACHE\n"
				   "DATASET>3>CKPT>1\n");
	struct kvtree *all = kvtree_get(t, "DATASET");

	is_int(flush_put(t, &e, &d, NULL), 0, "an entry is replaced");
	is_str(kvtree_key(kvtree_first(all)), "3", "... it is the first");
	is_str(kvtree_value(kvtree_get(all, "3"), "LOCATION"), "PFS",
	       "... its location");
	ok(kvtree_get2(all, "3", "CKPT") == NULL, "... nothing of the old one");
	is_int((int64_t)kvtree_count(all), 2, "... the other stays");
	kvtree_free(t);
}

int
main(void)
{
	struct kvtree *t = tree_of(full);
	int odd = 0;

	test_read();
	test_write();
	test_replace();
	ok(tree_flip_each(t, read_any, &odd) > 50, "flipped bytes");
	is_int((int64_t)tree_drop_each(t, read_any, &odd), 22, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	is_int(fail_each_alloc(read_all, t), 1, "no memory to read");
	kvtree_free(t);
	return tap_done();
}
