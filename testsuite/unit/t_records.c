/* SPDX-License-Identifier: BSD-3-Clause */
/* Small metadata files: what readers make of trees, and what is written. */
#include <endian.h>

#include "meta/cindex.h"
#include "meta/copied.h"
#include "meta/dataset.h"
#include "meta/flush.h"
#include "meta/haltfile.h"
#include "meta/summary.h"
#include "metatest.h"

/* What the readers below found, as text. */
static struct buf told;

#define tell(...) (void)buf_printf(&told, __VA_ARGS__)

/* A word after a blank, or nothing. */
#define word(text) (text) != NULL ? " " : "", (text) != NULL ? (text) : ""
#define flag(is, name) (is) ? " " name : ""

/* --- Readers --- */

static int
cindex_told(const struct kvtree *t, struct error *err)
{
	size_t count = 0;
	auto_mem struct cindex_entry *e = cindex_entries(t, &count, err);

	for (size_t i = 0; e != NULL && i < count; i++)
		tell("%" PRId64 "%s%s%s%s%s\n", e[i].id, word(e[i].path),
		     flag(e[i].bypass, "bypass"),
		     word(kvtree_value(e[i].desc, "ID")));
	return count == (size_t)-1 ? -1 : 0;
}

static int
nodes_told(const struct kvtree *t, struct error *err)
{
	int64_t nodes = 0;

	if (nodes_read(t, &nodes, err) < 0)
		return -1;
	tell("%" PRId64 " nodes\n", nodes);
	return 0;
}

static void
tell_flush(const struct flush_entry *e)
{
	tell("%" PRId64 "%s%s%s%s%s%s%s%s%s%s\n", e->id, word(e->name),
	     flag(e->is_ckpt, "ckpt"), flag(e->is_output, "output"),
	     flag(e->in_cache, "cache"), flag(e->on_pfs, "pfs"),
	     e->flushing ? e->sync_flushing ? " both" : " flushing"
			 : flag(e->sync_flushing, "sync"),
	     flag(flush_needed(e), "needed"),
	     word(kvtree_value(e->desc, "ID")));
}

static int
flush_told(const struct kvtree *t, struct error *err)
{
	size_t count = 0;
	auto_mem struct flush_entry *e = flush_entries(t, &count, err);

	for (size_t i = 0; e != NULL && i < count; i++)
		tell_flush(&e[i]);
	return count == (size_t)-1 ? -1 : 0;
}

/* One entry. */
static int
flush_told_5(const struct kvtree *t, struct error *err)
{
	struct flush_entry e;

	if (flush_find(t, 5, &e, err) < 0)
		return -1;
	tell_flush(&e);
	return 0;
}

static int
halt_told(const struct kvtree *t, struct error *err)
{
	struct halt h;

	if (halt_read(t, &h, err) < 0)
		return -1;
	tell("left %" PRId64 " before %" PRId64 " after %" PRId64
	     " seconds %" PRId64 "%s%s\n",
	     h.checkpoints_left, h.exit_before, h.exit_after, h.halt_seconds,
	     word(h.reason));
	return 0;
}

static int
left_told(const struct kvtree *t, struct error *err)
{
	int64_t left = 0;

	if (halt_read_checkpoints(t, &left, err) < 0)
		return -1;
	tell("left %" PRId64 "\n", left);
	return 0;
}

static int
summary_told(const struct kvtree *t, struct error *err)
{
	struct summary s;

	if (summary_read(t, &s, err) < 0)
		return -1;
	tell("version %" PRId64 " complete %d%s\n", s.version, s.complete,
	     flag(s.desc != NULL && s.desc == kvtree_get(t, "DSET"), "desc"));
	return 0;
}

static int
copied_told(const struct kvtree *t, struct error *err)
{
	auto_arena *arena = arena_new();
	struct copied c;

	if (arena == NULL)
		return error_no_memory(err);
	if (copied_read(t, arena, &c, err) < 0)
		return -1;
	for (size_t i = 0; i < c.nfiles; i++)
		tell("%s %" PRIu64 " %x %ld.%ld\n", c.files[i].path,
		     c.files[i].size, c.files[i].crc,
		     (long)c.files[i].mtime.tv_sec, c.files[i].mtime.tv_nsec);
	return 0;
}

/* --- What they read --- */

static const char cindex_full[] =
	"CURRENT>a\nDSET>12>DSETDESC>ID>12\n"
	"DSET>12>BYPASS>0\nDSET>12>PATH>/c/scr.dataset.12\n"
	"DSET>2>PATH>/c/scr.dataset.2\nDSET>2>BYPASS>1\n"
	"DSET>3>NEW>x\n";

static const char flush_full[] =
	"DATASET>7>DSETDESC>ID>7\nDATASET>7>CKPT>1\n"
	"DATASET>7>LOCATION>PFS\nDATASET>7>LOCATION>CACHE\n"
	"DATASET>7>NAME>ckpt.7\n"
	"DATASET>3>OUTPUT>1\nDATASET>3>LOCATION>CACHE\n"
	"DATASET>3>LOCATION>FLUSHING\n"
	"DATASET>3>LOCATION>SYNC_FLUSHING\n"
	"DATASET>11>LOCATION>CACHE\n";

static const char halt_full[] = "HaltSeconds>30\nExitAfter>1900000000\n"
				"ExitBefore>2000000000\nCheckpointsLeft>10\n"
				"ExitReason>reason with spaces\n";

#define A "FILE>ckpt.1/a>"
#define B "FILE>.scr/scr.dataset.1/b>"

static const char copied_full[] = A
	"SIZE>7\n" A "CRC>0xda711cb\n" A "MTIME_SECS>5\n" A "MTIME_NSECS>6\n" B
	"SIZE>0\n" B "CRC>0\n" B "MTIME_SECS>0\n" B "MTIME_NSECS>0\n";

TEST(readers)
{
	static const struct {
		TREE_READER(read);
		const char *tree, *want; /* want: or the kind of the error */
	} cases[] = {
		{ cindex_told, cindex_full,
		  "2 /c/scr.dataset.2 bypass\n3\n12 /c/scr.dataset.12 12\n" },
		{ cindex_told, "", "" },
		{ cindex_told, "DSET>1>PATH\n", "corrupt" },
		{ cindex_told, "DSET>01>PATH>x\n", "corrupt" },
		{ nodes_told, "NODES>4\n", "4 nodes\n" },
		{ nodes_told, "", "absent" },
		{ nodes_told, "NODES>-1\n", "corrupt" },
		{ flush_told, flush_full,
		  "3 output cache both needed\n7 ckpt.7 ckpt cache pfs 7\n"
		  "11 cache needed\n" },
		{ flush_told, "", "" },
		{ flush_told, "DATASET>5>CKPT>no\n", "corrupt" },
		{ flush_told, "DATASET>x>CKPT>1\n", "corrupt" },
		{ flush_told_5, flush_full, "absent" },
		{ flush_told_5, "DATASET>6>CKPT>1\nDATASET>5>CKPT>1\n",
		  "5 ckpt\n" },
		{ flush_told_5, "DATASET>5>CKPT>no\n", "corrupt" },
		{ halt_told, halt_full,
		  "left 10 before 2000000000 after 1900000000 seconds 30 "
		  "reason with spaces\n" },
		{ halt_told, "", "left -1 before -1 after -1 seconds -1\n" },
		{ halt_told, "CheckpointsLeft>-3\n",
		  "left 0 before -1 after -1 seconds -1\n" },
		/* As LLNL's tool writes it. */
		{ halt_told, "CheckpointsLeft>4294967295\n",
		  "left 0 before -1 after -1 seconds -1\n" },
		{ left_told, "CheckpointsLeft>4294967295\n", "left -1\n" },
		{ left_told, "", "absent" },
		{ halt_told, "ExitAfter>soon\n", "corrupt" },
		{ halt_told, "ExitReason\n", "corrupt" },
		{ summary_told,
		  "DSET>ID>1\nDSET>NAME>a\nCOMPLETE>1\nVERSION>6\nRS>1\n",
		  "version 6 complete 1 desc\n" },
		{ summary_told, "", "version -1 complete -1\n" },
		{ summary_told, "COMPLETE>0\n", "version -1 complete 0\n" },
		{ summary_told, "COMPLETE>2\n", "corrupt" },
		{ summary_told, "VERSION>six\n", "corrupt" },
		{ copied_told, copied_full,
		  "ckpt.1/a 7 da711cb 5.6\n.scr/scr.dataset.1/b 0 0 0.0\n" },
		{ copied_told, "", "" },
		{ copied_told, "FILES>x\n", "corrupt" },
		{ copied_told, "FILE>/abs>SIZE>1\n", "corrupt" },
		{ copied_told, "FILE>../out>SIZE>1\n", "corrupt" },
		{ copied_told, "FILE>a/../../b>SIZE>1\n", "corrupt" },
		{ copied_told, "FILE>>SIZE>1\n", "corrupt" },
		{ copied_told, A "SIZE>7\n" A "CRC>0x1\n" A "MTIME_SECS>5\n",
		  "corrupt" },
		{ copied_told,
		  A "SIZE>7\n" A "MTIME_NSECS>1\n" A "MTIME_SECS>5\n",
		  "corrupt" },
		{ copied_told,
		  A "SIZE>-1\n" A "CRC>0x1\n" A "MTIME_SECS>5\n" A
		    "MTIME_NSECS>1\n",
		  "corrupt" },
		{ copied_told,
		  A "SIZE>1\n" A "CRC>0x100000000\n" A "MTIME_SECS>5\n" A
		    "MTIME_NSECS>1\n",
		  "corrupt" },
		{ copied_told,
		  A "SIZE>1\n" A "CRC>0x1\n" A "MTIME_SECS>5\n" A
		    "MTIME_NSECS>1000000000\n",
		  "corrupt" },
	};

	each (c, cases) {
		auto_kvtree *t = tree_of(c->tree);

		buf_clear(&told);
		tell("%s", "");
		if (c->read(t, &why) == 0)
			is_str(told.data, c->want, label(c->tree));
		else
			is_str(c->want,
			       why.kind == ERROR_CORRUPT  ? "corrupt"
			       : why.kind == ERROR_ABSENT ? "absent"
							  : why.text,
			       label(c->tree));
	}
	is_int(flush_find(NULL, 1, &(struct flush_entry){ 0 }, &why), -1,
	       "no tree");
	tree_damaged(cindex_full, 30, 19, cindex_told);
	tree_damaged(flush_full, 50, 22, flush_told);
	tree_damaged(halt_full, 30, 10, halt_told);
	tree_damaged("DSET>ID>1\nCOMPLETE>1\nVERSION>6\n", 10, 7, summary_told);
	tree_damaged(copied_full, 50, 19, copied_told);
}

/* --- What is written --- */

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
	ok(cindex_current(t) == NULL &&
		   cindex_set_current(t, "x y", NULL) == 0 &&
		   strcmp(cindex_current(t), "x y") == 0,
	   "no CURRENT, then one that was set");
	without_memory (m, 1, "no memory to write") {
		auto_kvtree *new = kvtree_new(&m.err);

		m.rc = new == NULL ? -1 : cindex_write_one(new, &m.err);
	}
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

/* Values set in the order of LLNL's tool are stored in the order of its
 * file. */
TEST(halt_set)
{
	auto_kvtree *t = tree_of("HaltSeconds>1\nOurs>x\n");
	auto_kvtree *want = tree_of(halt_full);
	char long_reason[5000] = "";

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
	memset(long_reason, 'x', sizeof(long_reason) - 1);
	without_memory (m, 1, "no memory to set") {
		auto_kvtree *new = kvtree_new(&m.err);

		m.rc = new == NULL || halt_set_reason(new, long_reason,
						      &m.err) < 0
			       ? -1
			       : halt_set_number(new, "ExitAfter", 1, &m.err);
	}
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

	must(copied_read(t, arena, &c, NULL) == 0);
	copy = copied_rewrite(&c, NULL, arena);
	ok(tree_same(copy, t, false), "a record is written as it was");
	kvtree_free(copy);
	kvtree_free(t);
	without_memory (m, 1, "no memory to write") {
		auto_buf image = BUF_INIT;

		m.rc = copied_encode(&c, NULL, &image, &m.err);
	}
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
	kvtree_free(t);
}
