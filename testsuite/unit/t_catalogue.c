/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_catalogue.c - the index of a prefix: read, changed, rebuilt.  The verbs
 * that edit it, and what is kept of a damaged one: cmd/scr_index.bats.
 */
#include "catalogue/catalogue_impl.h"
#include "cattest.h"

TEST(open)
{
	auto_catalogue *c = NULL;

	scratch_new();
	write_text(here("file"), "x");
	refuses(catalogue_open(here("file"), &why), ERROR_SYSTEM, NULL,
		"a prefix that is a file");
	c = catalogue_open(scratch_root, NULL);
	ok(c != NULL && catalogue_scr_fd(c) == -1 &&
		   catalogue_prefix_fd(c) >= 0,
	   "a prefix without .scr");
	is_str(catalogue_path(c), scratch_root, "... its path");
	refuses(catalogue_read(c, &why), ERROR_ABSENT, NULL,
		"... has no index");
	ok(catalogue_notice(c) == NULL, "... and nothing to note");
	catalogue_close(NULL);
}

/* With any truncation or flipped byte, reading gives no error and no crash, but
 * the index or the datasets with summaries. */
TEST(broken)
{
	auto_buf whole = BUF_INIT;
	auto_catalogue *c = NULL;
	auto_index *ix = NULL;
	char *path = NULL;
	size_t bad = 0, noted = 0;

	make_prefix(3, true, true);
	path = here(".scr/index.scr");
	read_whole(path, &whole);
	c = open_prefix();
	ix = catalogue_read(c, NULL);
	ok(ix != NULL && index_count(ix) == 3 && catalogue_notice(c) == NULL,
	   "an index is read");
	index_free(ix);
	for (size_t i = 0; i < 2 * whole.len; i++) {
		const size_t at = i / 2;

		whole.data[at] ^= i % 2 ? 0x10 : 0;
		write_file(path, whole.data, i % 2 ? whole.len : at);
		whole.data[at] ^= i % 2 ? 0x10 : 0;
		ix = catalogue_read(c, NULL);
		bad += ix == NULL || index_count(ix) != 3;
		noted += catalogue_notice(c) != NULL &&
			 index_current(ix) == NULL;
		index_free(ix);
	}
	is_int(bad, 0, "an index of any length, with any byte flipped");
	/* Unknown flags are no damage. */
	ok(noted > 2 * whole.len - 9, "... is noted, without a restart point");
	/* Without an index; dataset 2 could be built, 3 could not. */
	must(unlink(path) == 0);
	must(unlink(here(".scr/scr.dataset.2/summary.scr")) == 0);
	write_text(here(".scr/scr.dataset.2/filemap_0"), "x");
	must(unlink(here(".scr/scr.dataset.3/summary.scr")) == 0);
	ix = catalogue_read(c, NULL);
	ok(ix != NULL && index_count(ix) == 1 &&
		   strstr(catalogue_notice(c), "dataset 2: not listed"),
	   "only what could be built is named");
	index_free(ix);
	must(mkdir(path, 0777) == 0);
	ix = catalogue_read(c, NULL);
	ok(ix != NULL && index_count(ix) == 1, "a directory in its place");
}

/* Invalid summaries. */
TEST(summaries)
{
	static const struct {
		const char *what, *tree;
		size_t taken;
	} cases[] = {
		{ "a summary",
		  "DSET>ID>1\nDSET>NAME>a\nCOMPLETE>1\nVERSION>6\n", 1 },
		{ "one of an incomplete dataset",
		  "DSET>ID>1\nDSET>NAME>a\nCOMPLETE>0\n", 1 },
		{ "LLNL's of a failed build", "DSET>ID>1\nDSET>NAME>a\n", 0 },
		{ "LLNL's without flush.scr", "COMPLETE>1\nVERSION>6\n", 0 },
		{ "no name", "DSET>ID>1\nCOMPLETE>1\n", 0 },
		{ "a name that is none",
		  "DSET>ID>1\nDSET>NAME>a\tb\nCOMPLETE>1\n", 0 },
		{ "another dataset's", "DSET>ID>2\nDSET>NAME>a\nCOMPLETE>1\n",
		  0 },
		{ "no number", "DSET>ID>x\nDSET>NAME>a\nCOMPLETE>1\n", 0 },
		{ "nothing", "", 0 },
	};

	each (x, cases) {
		auto_kvtree *t = tree_of(x->tree);
		auto_catalogue *c = NULL;
		auto_index *ix = NULL;

		make_prefix(0, false, false);
		make_parents(here(".scr/scr.dataset.1/x"));
		must(kvtree_write_file(t, AT_FDCWD,
				       here(".scr/scr.dataset.1/summary.scr"),
				       NULL) == 0);
		write_text(here(".scr/scr.dataset.1/rank2file"), "");
		c = open_prefix();
		ix = catalogue_read(c, NULL);
		ok(ix != NULL && index_count(ix) == x->taken, x->what);
	}
}

/* A change that ends with `rc`, and sets CURRENT if that is 0. */
static int
change(struct catalogue *c, int rc, struct error *err)
{
	struct catalogue_change t;

	must(catalogue_begin(c, &t, err) == 0);
	if (rc < 0)
		error_set(err, ERROR_ABSENT, "told to fail");
	if (rc == 0)
		must(index_set_current(t.ix, "set.1", err) == 0);
	return catalogue_end(&t, rc, err);
}

static bool
current_is(struct catalogue *c, const char *name)
{
	auto_index *ix = catalogue_read(c, NULL);
	const char *now = ix != NULL ? index_current(ix) : NULL;

	return name == NULL || now == NULL ? now == name
					   : strcmp(now, name) == 0;
}

TEST(change)
{
	auto_catalogue *c = NULL;

	make_prefix(3, true, true);
	c = open_prefix();
	ok(change(c, 1, NULL) == 0 && current_is(c, NULL),
	   "a change that wants nothing written");
	ok(change(c, -1, &why) == -1 && says(&why, "told to fail") &&
		   current_is(c, NULL),
	   "a change that fails");
	ok(change(c, 0, NULL) == 0 && current_is(c, "set.1"), "a change");
	ok(!exists(here(".scr/index.scr.bak")), "... without backup");
	catalogue_close(c);

	scratch_new();
	c = open_prefix();
	ok(change(c, 1, NULL) == 0 && !exists(here(".scr/index.scr")),
	   "no index is made where nothing is to be written");
}

static int
read_all(struct error *err)
{
	auto_catalogue *c = catalogue_open(scratch_root, err);
	auto_mem struct index_entry *e = NULL;
	auto_index *ix = NULL;
	size_t n = 0;

	if (c != NULL)
		ix = catalogue_read(c, err);
	if (ix != NULL)
		e = index_entries(ix, &n, err);
	return e != NULL ? 0 : -1;
}

TEST(memory)
{
	make_prefix(5, true, true);
	for (int missing = 0; missing < 2; missing++) {
		without_memory (m, 2, missing ? "making anew" : "reading")
			m.rc = read_all(&m.err);
		must(missing || unlink(here(".scr/index.scr")) == 0);
	}
	for (int missing = 0; missing < 2; missing++)
		without_memory_after (m, make_prefix(2, !missing, true), 2,
				      missing ? "no index" : "changing one") {
			auto_catalogue *c =
				catalogue_open(scratch_root, &m.err);
			struct catalogue_edit e;

			m.rc = c == NULL ? -1
					 : edit(c, CATALOGUE_DROP, "set.1", &e,
						&m.err);
		}
}
