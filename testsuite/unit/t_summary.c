/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/summary.h"

#include "metatest.h"

static int
read_one(const struct kvtree *t, struct error *err)
{
	struct summary s;

	return summary_read(t, &s, err);
}

TEST(read)
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
	trees_refused(bad, 2, read_one);
	tree_damaged("DSET>ID>1\nCOMPLETE>1\nVERSION>6\n", 10, 7, read_one);
}

static int
build_all(void *arg, struct error *err)
{
	struct kvtree *t = summary_build(arg, 1, err);

	kvtree_free(t);
	return t == NULL ? -1 : 0;
}

TEST(build)
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
	ok(fail_each_alloc(build_all, desc) > 0, "no memory to build");
}
