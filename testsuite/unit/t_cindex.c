/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/cindex.h"

#include <endian.h>

#include "meta/dataset.h"
#include "metatest.h"

static const char full[] = "CURRENT>a\nDSET>12>DSETDESC>ID>12\n"
			   "DSET>12>BYPASS>0\nDSET>12>PATH>/c/scr.dataset.12\n"
			   "DSET>2>PATH>/c/scr.dataset.2\nDSET>2>BYPASS>1\n"
			   "DSET>3>NEW>x\n";

TEST(read)
{
	auto_kvtree *t = tree_of(full);
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

TEST(nodes)
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
write_one(struct kvtree *t, struct error *err)
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

TEST(write)
{
	auto_kvtree *t = kvtree_new(NULL);
	auto_buf b = BUF_INIT;
	uint32_t crc = 0;

	ok(write_one(t, NULL) == 0 && kvtree_encode(t, &b, NULL) == 0,
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
write_all(void *arg, struct error *err)
{
	auto_kvtree *t = kvtree_new(err);
	int rc = t == NULL ? -1 : write_one(t, err);

	(void)arg;
	return rc;
}

static void
read_any(const struct kvtree *t, void *arg)
{
	size_t count = 0;

	mem_free(cindex_entries(t, &count, &why));
	if (count == (size_t)-1 && why.kind != ERROR_CORRUPT)
		++*(int *)arg;
}

static int
read_all(void *arg, struct error *err)
{
	size_t count = 0;

	mem_free(cindex_entries(arg, &count, err));
	return count == (size_t)-1 ? -1 : 0;
}

TEST(damage)
{
	auto_kvtree *t = tree_of(full);
	int odd = 0;

	is_int(fail_each_alloc(write_all, NULL), 1, "no memory to write");
	ok(tree_flip_each(t, read_any, &odd) > 30, "flipped bytes");
	is_int(tree_drop_each(t, read_any, &odd), 19, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	is_int(fail_each_alloc(read_all, t), 1, "no memory to read");
}
