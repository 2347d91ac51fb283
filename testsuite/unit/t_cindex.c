/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/cindex.h"

#include "metatest.h"

static const char full[] = "CURRENT>a\nDSET>12>DSETDESC>ID>12\n"
			   "DSET>12>BYPASS>0\nDSET>12>PATH>/c/scr.dataset.12\n"
			   "DSET>2>PATH>/c/scr.dataset.2\nDSET>2>BYPASS>1\n"
			   "DSET>3>NEW>x\n";

static void
test_read(void)
{
	struct kvtree *t = tree_of(full);
	struct error err = ERROR_INIT;
	size_t count = 0;
	struct cindex_entry *e = cindex_entries(t, &count, &err);

	is_int((int64_t)count, 3, "entries are read");
	ok(e[0].id == 2 && e[1].id == 3 && e[2].id == 12, "... by id");
	is_str(e[2].path, "/c/scr.dataset.12", "... path");
	ok(!e[2].bypass && e[0].bypass, "... bypass");
	is_str(kvtree_value(e[2].desc, "ID"), "12", "... descriptor");
	ok(e[1].path == NULL && e[1].desc == NULL && !e[1].bypass,
	   "... an entry that says nothing");
	mem_free(e);
	kvtree_clear(t);
	ok(cindex_entries(t, &count, &err) == NULL && count == 0, "none");
	tree_add(t, "DSET>1>PATH\n");
	ok(cindex_entries(t, &count, &err) == NULL && count == (size_t)-1 &&
		   err.kind == ERROR_CORRUPT,
	   err.text);
	kvtree_clear(t);
	tree_add(t, "DSET>01>PATH>x\n");
	ok(cindex_entries(t, &count, &err) == NULL && count == (size_t)-1 &&
		   err.kind == ERROR_CORRUPT,
	   err.text);
	kvtree_free(t);
}

static void
test_nodes(void)
{
	struct kvtree *t = tree_of("NODES>4\n");
	struct error err = ERROR_INIT;
	int64_t nodes = 0;

	ok(nodes_read(t, &nodes, &err) == 0 && nodes == 4, "nodes");
	kvtree_clear(t);
	is_int(nodes_read(t, &nodes, &err), -1, "no nodes");
	is_int(err.kind, ERROR_ABSENT, err.text);
	tree_add(t, "NODES>-1\n");
	is_int(nodes_read(t, &nodes, &err), -1, "less than none");
	is_int(err.kind, ERROR_CORRUPT, err.text);
	kvtree_free(t);
}

static void
read_any(const struct kvtree *t, void *arg)
{
	struct error err = ERROR_INIT;
	size_t count = 0;

	mem_free(cindex_entries(t, &count, &err));
	if (count == (size_t)-1 && err.kind != ERROR_CORRUPT)
		++*(int *)arg;
}

static int
read_all(void *arg, struct error *err)
{
	size_t count = 0;

	mem_free(cindex_entries(arg, &count, err));
	return count == (size_t)-1 ? -1 : 0;
}

int
main(void)
{
	struct kvtree *t = tree_of(full);
	int odd = 0;

	test_read();
	test_nodes();
	ok(tree_flip_each(t, read_any, &odd) > 30, "flipped bytes");
	is_int((int64_t)tree_drop_each(t, read_any, &odd), 19, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	is_int(fail_each_alloc(read_all, t), 1, "no memory to read");
	kvtree_free(t);
	return tap_done();
}
