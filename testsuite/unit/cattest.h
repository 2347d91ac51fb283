/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cattest.h - a prefix with an index, for the tests of the catalogue.
 */
#ifndef UNIT_CATTEST_H
#define UNIT_CATTEST_H

#include "dataset/catalogue.h"
#include "meta/index.h"
#include "meta/summary.h"
#include "metatest.h"
#include "unit/scratch.h"

static char root[128];

/* A prefix with an index of 1..n (odd: checkpoints, even: outputs), or without
 * one, and with the summaries of all, or without. */
static inline void
make_prefix(int n, bool indexed, bool summaries)
{
	struct index *ix = index_new(NULL);

	scratch_dir(root, sizeof(root));
	must(mkdir(fmt("%s/.scr", root), 0777) == 0);
	for (int i = 1; i <= n; i++) {
		struct kvtree *d = tree_of(
			fmt("ID>%d\nNAME>set.%d\nFLAG_CKPT>%d\nFLAG_OUTPUT>%d\n"
			    "CKPT>%d\nFILES>2\nSIZE>2048\nCOMPLETE>1\n",
			    i, i, i % 2, !(i % 2), i));
		struct kvtree *s = summary_build(d, 1, NULL);
		const char *dir = fmt("%s/.scr/scr.dataset.%d", root, i);

		must(index_add(ix, d, 1, "2026-11-20T23:00:34", NULL) == 0);
		if (summaries) {
			must(mkdir(dir, 0777) == 0);
			must(kvtree_write_file(s, AT_FDCWD,
					       fmt("%s/summary.scr", dir),
					       NULL) == 0);
		}
		kvtree_free(s);
		kvtree_free(d);
	}
	if (indexed)
		must(kvtree_write_file(index_tree(ix, NULL), AT_FDCWD,
				       fmt("%s/.scr/index.scr", root),
				       NULL) == 0);
	index_free(ix);
}

static inline struct catalogue *
open_prefix(void)
{
	struct catalogue *c = catalogue_open(root, NULL);

	must(c != NULL);
	return c;
}

static inline int
edit(struct catalogue *c, enum catalogue_edit_kind kind, const char *name,
     struct catalogue_edit *e, struct error *err)
{
	*e = (struct catalogue_edit){ .kind = kind, .name = name };
	return catalogue_edit(c, e, err);
}

#endif /* UNIT_CATTEST_H */
