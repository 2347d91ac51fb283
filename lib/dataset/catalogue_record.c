/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue_record.c - rank2file and summary of a whole dataset written, its
 * index entry made.
 */
#include <inttypes.h>
#include <string.h>

#include "dataset/catalogue_impl.h"
#include "error.h"
#include "io.h"
#include "meta/index.h"
#include "meta/kvtree.h"
#include "meta/summary.h"
#include "str.h"

/* --- rank2file ---------------------------------------------------------------- */

static bool
same_file(const struct rank2file_file *a, const struct rank2file_file *b)
{
	return a->has_size == b->has_size && a->has_crc == b->has_crc &&
	       (!a->has_size || a->size == b->size) &&
	       (!a->has_crc || a->crc == b->crc) && str_eq(a->path, b->path);
}

/* Does the rank2file `old` say what `r` says? */
static bool
same_ranks(const struct rank2file *old, const struct rank2file *r)
{
	/* Beyond one part LLNL's scr_index writes a RANKS that LLNL's reader
	 * does not take (formats.md 13): better written anew. */
	if (old->nranks != r->nranks || r->nranks > RANK2FILE_PART_RANKS)
		return false;
	for (size_t i = 0; i < r->nranks; i++) {
		const struct rank2file_rank *a = &old->ranks[i];
		const struct rank2file_rank *b = &r->ranks[i];

		if (!a->present || a->nfiles != b->nfiles)
			return false;
		for (size_t k = 0; k < a->nfiles; k++)
			if (!same_file(&a->files[k], &b->files[k]))
				return false;
	}
	return true;
}

int
catalogue_record_ranks(const struct catalogue_dir *d,
		       const struct rank2file *old, const struct rank2file *r,
		       bool *changed, struct error *err)
{
	if (old != NULL && same_ranks(old, r))
		return 0;
	*changed = true;
	if (rank2file_store(d->fd, CATALOGUE_RANK2FILE, r, err) < 0)
		return error_wrap(err, "%s", d->name);
	return 0;
}

/* --- Summary ---------------------------------------------------------------------- */

/* Is what `tree` encodes to already in file `name`? */
static int
is_there(int dirfd, const char *name, const struct kvtree *tree, bool *same,
	 struct error *err)
{
	struct buf want = BUF_INIT, have = BUF_INIT;
	int rc = kvtree_encode(tree, &want, err);

	*same = rc == 0 &&
		io_read_file(dirfd, name, want.len, &have, NULL) == 0 &&
		have.len == want.len &&
		memcmp(have.data, want.data, want.len) == 0;
	buf_free(&want);
	buf_free(&have);
	return rc;
}

/* Does the summary that the descriptor came from need no change? */
static bool
summary_good(const struct catalogue_dir *d)
{
	struct catalogue_desc desc = { .tree = NULL };
	int complete = -1;
	bool good = catalogue_read_summary(d, &desc, &complete, NULL) == 0 &&
		    complete == 1;

	catalogue_desc_free(&desc);
	return good;
}

int
catalogue_record_summary(const struct catalogue_dir *d,
			 const struct catalogue_desc *desc, bool *changed,
			 struct error *err)
{
	struct kvtree *tree = NULL;
	bool same = false;
	int rc = -1;

	if (desc->from == CATALOGUE_SUMMARY && summary_good(d))
		return 0;
	tree = summary_build(desc->tree, 1, err);
	if (tree == NULL || is_there(d->fd, SUMMARY_FILE, tree, &same, err) < 0)
		goto out;
	rc = 0;
	if (!same) {
		*changed = true;
		rc = kvtree_write_file(tree, d->fd, SUMMARY_FILE, err);
	}
out:
	kvtree_free(tree);
	return rc < 0 ? error_wrap(err, "%s", d->name) : 0;
}

/* --- The index entry --------------------------------------------------------------- */

struct entry_job {
	const struct catalogue_desc *desc;
	const char *root;
	bool changed;
	const struct catalogue_options *o;
};

static int
same_tree(const struct kvtree *a, const struct kvtree *b, bool *same,
	  struct error *err)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	int rc = 0;

	*same = false;
	if (a != NULL) {
		rc = kvtree_encode(a, &x, err);
		if (rc == 0)
			rc = kvtree_encode(b, &y, err);
		*same = rc == 0 && x.len == y.len &&
			memcmp(x.data, y.data, x.len) == 0;
	}
	buf_free(&x);
	buf_free(&y);
	return rc;
}

/* Is there an entry that says all there is to say?  A new one would only
 * forget when the dataset was fetched. */
static int
entry_good(const struct entry_job *j, struct index *ix, bool *good,
	   struct error *err)
{
	int64_t id = j->desc->view.id;
	const char *root = index_extra(ix, id, CATALOGUE_ROOT);
	struct index_entry e;
	bool same = false;

	*good = false;
	if (j->changed || index_find_id(ix, id, &e, NULL) < 0 ||
	    !index_entry_valid(&e))
		return 0;
	if (j->root != NULL && (root == NULL || !str_eq(root, j->root)))
		return 0;
	if (same_tree(catalogue_entry_desc(ix, id), j->desc->tree, &same,
		      err) < 0)
		return -1;
	*good = same;
	return 0;
}

/* What goes with the new entry, for the log. */
static void
tell_replaced(const struct entry_job *j, const struct index *ix)
{
	const struct dataset *v = &j->desc->view;
	char shown[256], stamp[64];
	struct index_entry e;

	if (index_find_id(ix, v->id, &e, NULL) == 0 && e.failed != NULL)
		catalogue_say(j->o,
			      "dataset %" PRId64
			      ": the mark of the failed fetch of %s is gone",
			      v->id,
			      str_printable(stamp, sizeof(stamp), e.failed));
	if (index_find_name(ix, v->name, &e, NULL) == 0 && e.id != v->id)
		catalogue_say(j->o,
			      "dataset %" PRId64 " had the name %s, too, and "
			      "is no longer in the index",
			      e.id,
			      str_printable(shown, sizeof(shown), v->name));
}

static int
put_entry(struct index *ix, void *arg, struct error *err)
{
	const struct entry_job *j = arg;
	char stamp[INDEX_STAMP_SIZE];
	bool good = false;

	if (entry_good(j, ix, &good, err) < 0)
		return -1;
	if (good)
		return 1;
	tell_replaced(j, ix);
	if (index_add(ix, j->desc->tree, 1, index_stamp(stamp, -1), err) < 0)
		return -1;
	if (j->root == NULL)
		return 0;
	return index_set_extra(ix, j->desc->view.id, CATALOGUE_ROOT, j->root,
			       err);
}

int
catalogue_record_entry(struct catalogue *c, const struct catalogue_desc *desc,
		       const char *root, bool changed,
		       const struct catalogue_options *o, struct error *err)
{
	struct entry_job j = {
		.desc = desc,
		.root = root,
		.changed = changed,
		.o = o,
	};

	return catalogue_change(c, put_entry, &j, err);
}

bool
catalogue_data_whole(const struct plan *p)
{
	for (int64_t i = 0; i < p->nranks; i++)
		if (!p->ranks[i].map_known)
			return false;
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].state != FILE_PRESENT)
			return false;
	return p->nranks > 0;
}
