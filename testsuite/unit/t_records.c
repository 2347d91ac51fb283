/* SPDX-License-Identifier: BSD-3-Clause */
/* Small metadata files. */
#include <endian.h>

#include "arena.h"
#include "meta/cindex.h"
#include "meta/copied.h"
#include "meta/dataset.h"
#include "meta/flush.h"
#include "meta/haltfile.h"
#include "meta/summary.h"
#include "metatest.h"

/* --- The index of a cache, and the nodes file --- */

static const char cindex_full[] =
	"CURRENT>a\nDSET>12>DSETDESC>ID>12\n"
	"DSET>12>BYPASS>0\nDSET>12>PATH>/c/scr.dataset.12\n"
	"DSET>2>PATH>/c/scr.dataset.2\nDSET>2>BYPASS>1\n"
	"DSET>3>NEW>x\n";

TEST(cindex_read)
{
	auto_kvtree *t = tree_of(cindex_full);
	size_t count = 0;
	struct cindex_entry *e = cindex_entries(t, &count, &why);

	is_int(count, 3, "entries are read");
	ok(e[0].id == 2 && e[1].id == 3 && e[2].id == 12, "... by id");
	is_str(e[2].path, "/c/scr.dataset.12", "... path");
	ok(!e[2].bypass && e[0].bypass, "... bypass");
	is_str(kvtree_value(e[2].desc, "ID"), "12", "... descriptor");
	ok(e[1].path == NULL && e[1].desc == NULL && !e[1].bypass,
	   "... an entry that says nothing");
	mem_free(e);
	tree_clear(t);
	ok(cindex_entries(t, &count, &why) == NULL && count == 0, "none");
	for (int i = 0; i < 2; i++) {
		tree_clear(t);
		tree_add(t, i == 0 ? "DSET>1>PATH\n" : "DSET>01>PATH>x\n");
		ok(cindex_entries(t, &count, &why) == NULL &&
			   count == (size_t)-1 && why.kind == ERROR_CORRUPT,
		   why.text);
	}
}

TEST(cindex_nodes)
{
	auto_kvtree *t = tree_of("NODES>4\n");
	int64_t nodes = 0;

	ok(nodes_read(t, &nodes, &why) == 0 && nodes == 4, "nodes");
	tree_clear(t);
	refuses(nodes_read(t, &nodes, &why), ERROR_ABSENT, NULL, "no nodes");
	tree_add(t, "NODES>-1\n");
	refuses(nodes_read(t, &nodes, &why), ERROR_CORRUPT, NULL,
		"less than none");
}

/* As LLNL's library wrote it on the node of rank 0. */
static int
cindex_write_one(struct kvtree *t, struct error *err)
{
	const struct dataset d = {
		.id = 1,
		.name = "ckpt.1",
		.is_ckpt = true,
		.ckpt_id = 1,
		.created_us = 1795215293017311,
		.user = "golduser",
		.job_name = "goldjob",
		.job_id = "1000",
		.cluster = "goldcluster",
		.files = 28,
		.bytes = 395388,
		.complete = 1,
	};

	return cindex_add(t, &d, false,
			  "/tmp/scrgold/xor_8n4/local/cache/golduser/scr.1000/"
			  "scr.dataset.1",
			  err);
}

TEST(cindex_write)
{
	auto_kvtree *t = kvtree_new(NULL);
	auto_buf b = BUF_INIT;
	uint32_t crc = 0;

	ok(cindex_write_one(t, NULL) == 0 && kvtree_encode(t, &b, NULL) == 0,
	   "an entry is written");
	is_int(b.len, 423, "... to the size of LLNL's file");
	memcpy(&crc, b.data + b.len - 4, 4);
	is_int(be32toh(crc), 0xd16e8298, "... with its checksum");
	ok(cindex_current(t) == NULL, "no CURRENT");
	ok(cindex_set_current(t, "x y", NULL) == 0 &&
		   strcmp(cindex_current(t), "x y") == 0,
	   "... one that was set");
}

static int
cindex_read_all(const struct kvtree *t, struct error *err)
{
	size_t count = 0;

	mem_free(cindex_entries(t, &count, err));
	return count == (size_t)-1 ? -1 : 0;
}

TEST(cindex_damage)
{
	tree_damaged(cindex_full, 30, 19, cindex_read_all);
	without_memory (m, 1, "no memory to write") {
		auto_kvtree *t = kvtree_new(&m.err);

		m.rc = t == NULL ? -1 : cindex_write_one(t, &m.err);
	}
}

/* --- The flush file --- */

static const char flush_full[] =
	"DATASET>7>DSETDESC>ID>7\nDATASET>7>CKPT>1\n"
	"DATASET>7>LOCATION>PFS\nDATASET>7>LOCATION>CACHE\n"
	"DATASET>7>NAME>ckpt.7\n"
	"DATASET>3>OUTPUT>1\nDATASET>3>LOCATION>CACHE\n"
	"DATASET>3>LOCATION>FLUSHING\n"
	"DATASET>3>LOCATION>SYNC_FLUSHING\n"
	"DATASET>11>LOCATION>CACHE\n";

TEST(flush_read)
{
	auto_kvtree *t = tree_of(flush_full);
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
flush_read_all(const struct kvtree *t, struct error *err)
{
	size_t count = 0;

	mem_free(flush_entries(t, &count, err));
	return count == (size_t)-1 ? -1 : 0;
}

static int
flush_find_one(const struct kvtree *t, struct error *err)
{
	struct flush_entry e;

	return flush_find(t, 5, &e, err);
}

TEST(flush_damage)
{
	static const char *const bad[] = {
		"DATASET>5>CKPT>no\n",
		"DATASET>x>CKPT>1\n",
	};

	trees_refused(bad, 2, flush_read_all);
	trees_refused(bad, 1, flush_find_one);
	tree_damaged(flush_full, 50, 22, flush_read_all);
}

/* Put all entries of a file of LLNL's library into a new tree. */
static struct kvtree *
flush_copy_all(const struct kvtree *from, struct error *err)
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

TEST(flush_write)
{
	static const char *const files[] = {
		"scr3/flush_file/dot_scr/flush.scr",
		"scr3/xor_4/cache/prefix/.scr/flush.scr",
	};

	if (!golden_enter("flush files are written as LLNL's library does"))
		return;
	each (f, files) {
		auto_kvtree *t = kvtree_read_file(AT_FDCWD, *f, &why);
		struct kvtree *same = flush_copy_all(t, &why);

		ok(same != NULL && tree_same(same, t, false),
		   same == NULL ? why.text : *f);
		kvtree_free(same);
		without_memory (m, 1, "no memory to write") {
			auto_kvtree *copy = flush_copy_all(t, &m.err);

			m.rc = copy == NULL ? -1 : 0;
		}
	}
}

/* An entry that is there is replaced, and comes first. */
TEST(flush_replace)
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

/* --- The halt file --- */

static const char halt_full[] = "HaltSeconds>30\nExitAfter>1900000000\n"
				"ExitBefore>2000000000\nCheckpointsLeft>10\n"
				"ExitReason>reason with spaces\n";

TEST(halt_read)
{
	auto_kvtree *t = tree_of(halt_full);
	struct halt h;

	is_int(halt_read(t, &h, NULL), 0, "halt file");
	is_str(h.reason, "reason with spaces", "... reason");
	is_int(h.checkpoints_left, 10, "... checkpoints");
	is_int(h.exit_before, 2000000000, "... before");
	is_int(h.exit_after, 1900000000, "... after");
	is_int(h.halt_seconds, 30, "... seconds");
	tree_clear(t);
	is_int(halt_read(t, &h, NULL), 0, "nothing set");
	ok(h.reason == NULL && h.checkpoints_left == -1 &&
		   h.exit_before == -1 && h.exit_after == -1 &&
		   h.halt_seconds == -1,
	   "... is nothing");
	tree_add(t, "CheckpointsLeft>-3\n");
	ok(halt_read(t, &h, NULL) == 0 && h.checkpoints_left == 0,
	   "less than none left is none");
	tree_clear(t);
	tree_add(t, "CheckpointsLeft>4294967295\n");
	ok(halt_read(t, &h, NULL) == 0 && h.checkpoints_left == 0 &&
		   halt_read_checkpoints(t, &h.checkpoints_left, NULL) == 0 &&
		   h.checkpoints_left == -1,
	   "... also as LLNL's tool writes it");
	tree_clear(t);
	is_int(halt_read_checkpoints(t, &h.checkpoints_left, &why), -1,
	       "no count");
	is_int(why.kind, ERROR_ABSENT, "... is absent");
	tree_add(t, "ExitAfter>soon\n");
	is_int(halt_read(t, &h, &why), -1, "no number");
	is_int(why.kind, ERROR_CORRUPT, why.text);
	tree_clear(t);
	tree_add(t, "ExitReason\n");
	is_int(halt_read(t, &h, &why), -1, "no reason");
}

/* Values set in the order of LLNL's tool are stored in the order of its
 * file. */
TEST(halt_set)
{
	auto_kvtree *t = tree_of("HaltSeconds>1\nOurs>x\n");
	auto_kvtree *want = tree_of(halt_full);

	ok(halt_set_reason(t, "reason with spaces", NULL) == 0 &&
		   halt_set_number(t, "CheckpointsLeft", 10, NULL) == 0 &&
		   halt_set_number(t, "ExitBefore", 2000000000, NULL) == 0 &&
		   halt_set_number(t, "ExitAfter", 1900000000, NULL) == 0 &&
		   halt_set_number(t, "HaltSeconds", 30, NULL) == 0,
	   "conditions are set");
	tree_add(want, "Ours>x\n");
	ok(tree_same(t, want, false), "... each as the first key");
	ok(halt_set_reason(t, NULL, NULL) == 0 &&
		   halt_set_number(t, "ExitAfter", -1, NULL) == 0,
	   "conditions are removed");
	kvtree_remove(want, "ExitReason");
	kvtree_remove(want, "ExitAfter");
	ok(tree_same(t, want, false), "... those alone");
}

static int
halt_read_one(const struct kvtree *t, struct error *err)
{
	struct halt h;

	return halt_read(t, &h, err);
}

TEST(halt_damage)
{
	char long_reason[5000];

	tree_damaged(halt_full, 30, 10, halt_read_one);
	memset(long_reason, 'x', sizeof(long_reason));
	long_reason[sizeof(long_reason) - 1] = '\0';
	without_memory (m, 1, "no memory to set") {
		auto_kvtree *t = kvtree_new(&m.err);

		m.rc = t == NULL || halt_set_reason(t, long_reason, &m.err) < 0
			       ? -1
			       : halt_set_number(t, "ExitAfter", 1, &m.err);
	}
}

/* --- Summaries --- */

static int
summary_read_one(const struct kvtree *t, struct error *err)
{
	struct summary s;

	return summary_read(t, &s, err);
}

TEST(summary_read)
{
	static const char *const bad[] = { "COMPLETE>2\n", "VERSION>six\n" };
	static const struct {
		const char *text;
		int version, complete;
	} cases[] = {
		{ "DSET>ID>1\nDSET>NAME>a\nCOMPLETE>1\nVERSION>6\nRS>1\n", 6,
		  1 },
		{ "", -1, -1 },
		{ "COMPLETE>0\n", -1, 0 },
	};
	struct summary s;

	each (c, cases) {
		auto_kvtree *t = tree_of(c->text);

		ok(summary_read(t, &s, NULL) == 0 && s.version == c->version &&
			   s.complete == c->complete &&
			   s.desc == kvtree_get(t, "DSET"),
		   label(c->text));
	}
	trees_refused(bad, 2, summary_read_one);
	tree_damaged("DSET>ID>1\nCOMPLETE>1\nVERSION>6\n", 10, 7,
		     summary_read_one);
}

TEST(summary_build)
{
	static const struct {
		bool described;
		int complete;
		const char *text;
	} cases[] = {
		/* the descriptor backwards */
		{ true, 1,
		  "VERSION>6\nCOMPLETE>1\nDSET>X>y>z\nDSET>X>w\nDSET>NAME>a\n"
		  "DSET>ID>1\n" },
		{ true, 0,
		  "VERSION>6\nDSET>X>y>z\nDSET>X>w\nDSET>NAME>a\nDSET>ID>1\n" },
		{ false, 0, "VERSION>6\n" },
	};
	auto_kvtree *desc = tree_of("ID>1\nNAME>a\nX>y>z\nX>w\n");

	each (c, cases) {
		auto_kvtree *t = summary_build(c->described ? desc : NULL,
					       c->complete, NULL);

		ok(tree_says(t, c->text), label(c->text));
	}
	without_memory (m, 1, "no memory to build") {
		auto_kvtree *t = summary_build(desc, 1, &m.err);

		m.rc = t == NULL ? -1 : 0;
	}
}

/* --- Records of copied files --- */

#define A "FILE>ckpt.1/a>"
#define B "FILE>.scr/scr.dataset.1/b>"

static const char copied_full[] = A
	"SIZE>7\n" A "CRC>0xda711cb\n" A "MTIME_SECS>5\n" A "MTIME_NSECS>6\n" B
	"SIZE>0\n" B "CRC>0\n" B "MTIME_SECS>0\n" B "MTIME_NSECS>0\n";

/* Write `c` as an image, and read it again: returns the tree. */
static struct kvtree *
copied_rewrite(struct copied *c, const struct kvtree *desc, struct arena *arena)
{
	auto_buf image = BUF_INIT;
	struct kvtree *t = NULL;

	must(copied_encode(c, desc, &image, NULL) == 0);
	t = kvtree_decode(image.data, image.len, NULL, NULL);
	must(t != NULL && copied_read(t, arena, c, NULL) == 0);
	return t;
}

TEST(copied_round_trip)
{
	struct kvtree *t = tree_of(copied_full), *copy = NULL, *desc = NULL;
	auto_arena *arena = arena_new();
	struct copied c;

	is_int(copied_read(t, arena, &c, NULL), 0, "a record is read");
	copy = copied_rewrite(&c, NULL, arena);
	ok(tree_same(copy, t, false), "... and written as it was");
	kvtree_free(copy);
	kvtree_free(t);
	is_int(c.nfiles, 2, "... two files");
	is_str(c.files[0].path, "ckpt.1/a", "... path");
	ok(c.files[0].size == 7 && c.files[0].crc == 0xda711cb, "... sum");
	ok(c.files[0].mtime.tv_sec == 5 && c.files[0].mtime.tv_nsec == 6,
	   "... time");
	is_str(c.files[1].path, ".scr/scr.dataset.1/b", "... in order");
	c.files[0].mtime.tv_sec = -1;
	kvtree_free(copied_rewrite(&c, NULL, arena));
	is_int(c.files[0].mtime.tv_sec, 0, "a time before 1970 is none");
	desc = tree_of("ID>7\nNAME>out.7\nFLAG_OUTPUT>1\n");
	t = copied_rewrite(&c, desc, arena);
	kvtree_free(desc);
	desc = kvtree_get(t, "DSETDESC");
	ok(c.nfiles == 2 && desc != NULL && kvtree_count(desc) == 3 &&
		   kvtree_get2(desc, "NAME", "out.7") != NULL,
	   "with a descriptor, which is read again");
	tree_clear(t);
	ok(copied_read(t, arena, &c, NULL) == 0 && c.nfiles == 0,
	   "an empty one has no files");
	kvtree_free(t);
}

static int
copied_read_all(const struct kvtree *t, struct error *err)
{
	auto_arena *arena = arena_new();
	struct copied c;

	return arena == NULL ? error_no_memory(err)
			     : copied_read(t, arena, &c, err);
}

TEST(copied_damage)
{
	static const char *const bad[] = {
		"FILES>x\n",
		"FILE>/abs>SIZE>1\n",
		"FILE>../out>SIZE>1\n",
		"FILE>a/../../b>SIZE>1\n",
		"FILE>>SIZE>1\n",
		A "SIZE>7\n" A "CRC>0x1\n" A "MTIME_SECS>5\n",
		A "SIZE>7\n" A "MTIME_NSECS>1\n" A "MTIME_SECS>5\n",
		A "SIZE>-1\n" A "CRC>0x1\n" A "MTIME_SECS>5\n" A
		  "MTIME_NSECS>1\n",
		A "SIZE>1\n" A "CRC>0x100000000\n" A "MTIME_SECS>5\n" A
		  "MTIME_NSECS>1\n",
		A "SIZE>1\n" A "CRC>0x1\n" A "MTIME_SECS>5\n" A
		  "MTIME_NSECS>1000000000\n",
	};
	auto_kvtree *t = tree_of(copied_full);
	auto_arena *arena = arena_new();
	struct copied c;

	trees_refused(bad, COUNT(bad), copied_read_all);
	tree_damaged(copied_full, 50, 19, copied_read_all);
	copied_read(t, arena, &c, NULL);
	without_memory (m, 1, "no memory to write") {
		auto_buf image = BUF_INIT;

		m.rc = copied_encode(&c, NULL, &image, &m.err);
	}
}

TEST(copied_names)
{
	static const char *const bad[] = {
		"copied_",	 "copied_1",
		"copied_01.scr", "copied_-1.scr",
		"xcopied_1.scr", "copied_1.scr.bak",
		"copied_.scr",	 "",
	};
	char name[COPIED_NAME_MAX];

	each (b, bad)
		is_int(copied_name_rank(*b), -1, label(*b));
	is_int(copied_name_rank("copied_0.scr"), 0, "rank 0");
	is_int(copied_name_rank("copied_12.scr"), 12, "rank 12");
	is_str(copied_name(name, 12), "copied_12.scr", "... and back");
}
