/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/summary.h"

#include "metatest.h"

static void
test_read(void)
{
	struct kvtree *t = tree_of("DSET>ID>1\nDSET>NAME>a\nCOMPLETE>1\n"
				   "VERSION>6\nRS>1\n");
	struct summary s;

	is_int(summary_read(t, &s, NULL), 0, "a summary is read");
	is_int(s.version, 6, "... version");
	is_int(s.complete, 1, "... complete");
	ok(s.desc == kvtree_get(t, "DSET"), "... descriptor");
	tree_clear(t);
	is_int(summary_read(t, &s, NULL), 0, "an empty one");
	ok(s.version == -1 && s.complete == -1 && s.desc == NULL,
	   "... says nothing");
	tree_clear(t);
	tree_add(t, "COMPLETE>0\n");
	ok(summary_read(t, &s, NULL) == 0 && s.complete == 0, "incomplete");
	tree_clear(t);
	tree_add(t, "COMPLETE>2\n");
	is_int(summary_read(t, &s, NULL), -1, "neither complete nor not");
	tree_clear(t);
	tree_add(t, "VERSION>six\n");
	is_int(summary_read(t, &s, NULL), -1, "no version");
	kvtree_free(t);
}

static void
test_build(void)
{
	struct kvtree *desc = tree_of("ID>1\nNAME>a\nX>y>z\nX>w\n");
	struct kvtree *want = tree_of("VERSION>6\nCOMPLETE>1\nDSET>X>y>z\n"
				      "DSET>X>w\nDSET>NAME>a\nDSET>ID>1\n");
	struct kvtree *got = summary_build(desc, 1, NULL);

	ok(tree_same(got, want, false), "a summary, descriptor backwards");
	kvtree_free(got);
	got = summary_build(desc, 0, NULL);
	kvtree_remove(want, "COMPLETE");
	ok(tree_same(got, want, false), "incomplete: without the key");
	kvtree_free(got);
	got = summary_build(NULL, 0, NULL);
	kvtree_remove(want, "DSET");
	ok(tree_same(got, want, false), "without a descriptor");
	kvtree_free(got);
	kvtree_free(want);
	kvtree_free(desc);
}

static void
read_any(const struct kvtree *t, void *arg)
{
	struct error err = ERROR_INIT;
	struct summary s;

	if (summary_read(t, &s, &err) < 0 && err.kind != ERROR_CORRUPT)
		++*(int *)arg;
}

static int
build_all(void *arg, struct error *err)
{
	struct kvtree *t = summary_build(arg, 1, err);

	kvtree_free(t);
	return t == NULL ? -1 : 0;
}

int
main(void)
{
	struct kvtree *t = tree_of("DSET>ID>1\nCOMPLETE>1\nVERSION>6\n");
	int odd = 0;

	test_read();
	test_build();
	ok(tree_flip_each(t, read_any, &odd) > 10, "flipped bytes");
	is_int((int64_t)tree_drop_each(t, read_any, &odd), 7, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	ok(fail_each_alloc(build_all, t) > 0, "no memory to build");
	kvtree_free(t);
	return tap_done();
}
