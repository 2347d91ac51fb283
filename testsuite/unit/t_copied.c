/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/copied.h"

#include "arena.h"
#include "metatest.h"

#define A "FILE>ckpt.1/a>"
#define B "FILE>.scr/scr.dataset.1/b>"

static const char full[] = A "SIZE>7\n" A "CRC>0xda711cb\n" A "MTIME_SECS>5\n" A
			     "MTIME_NSECS>6\n" B "SIZE>0\n" B "CRC>0\n" B
			     "MTIME_SECS>0\n" B "MTIME_NSECS>0\n";

/* Write `c` as an image, and read it again: returns the tree. */
static struct kvtree *
rewrite(struct copied *c, const struct kvtree *desc, struct arena *arena)
{
	auto_buf image = BUF_INIT;
	struct kvtree *t = NULL;

	must(copied_encode(c, desc, &image, NULL) == 0);
	t = kvtree_decode(image.data, image.len, NULL, NULL);
	must(t != NULL && copied_read(t, arena, c, NULL) == 0);
	return t;
}

TEST(round_trip)
{
	struct kvtree *t = tree_of(full), *copy = NULL, *desc = NULL;
	auto_arena *arena = arena_new();
	struct copied c;

	is_int(copied_read(t, arena, &c, NULL), 0, "a record is read");
	copy = rewrite(&c, NULL, arena);
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
	kvtree_free(rewrite(&c, NULL, arena));
	is_int(c.files[0].mtime.tv_sec, 0, "a time before 1970 is none");
	desc = tree_of("ID>7\nNAME>out.7\nFLAG_OUTPUT>1\n");
	t = rewrite(&c, desc, arena);
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

TEST(refused)
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
	auto_arena *arena = arena_new();
	struct copied c;

	each (b, bad) {
		auto_kvtree *t = tree_of(*b);

		refuses(copied_read(t, arena, &c, &why), ERROR_CORRUPT, NULL,
			label(*b));
	}
}

static int
read_all(void *arg, struct error *err)
{
	auto_arena *arena = arena_new();
	struct copied c;
	int rc = -1;

	if (arena == NULL)
		return error_no_memory(err);
	rc = copied_read(arg, arena, &c, err);
	return rc;
}

static void
read_any(const struct kvtree *t, void *arg)
{
	*(int *)arg += read_all((struct kvtree *)t, &why) < 0 &&
		       why.kind != ERROR_CORRUPT;
}

TEST(damage)
{
	auto_kvtree *t = tree_of(full);
	auto_arena *arena = arena_new();
	struct copied c;
	int odd = 0;

	ok(tree_flip_each(t, read_any, &odd) > 50, "flipped bytes");
	is_int(tree_drop_each(t, read_any, &odd), 19, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	ok(fail_each_alloc(read_all, t) > 0, "no memory to read");
	copied_read(t, arena, &c, NULL);
	without_memory (m, 1, "no memory to write") {
		auto_buf image = BUF_INIT;

		m.rc = copied_encode(&c, NULL, &image, &m.err);
	}
}

TEST(names)
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
