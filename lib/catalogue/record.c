/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.c - write rank2file, summary and index entry of a complete dataset.
 */
#include <inttypes.h>
#include <string.h>

#include "catalogue/describe.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "str.h"
#include "work.h"

/* --- rank2file --- */

static bool
same_file(const struct rank2file_file *a, const struct rank2file_file *b)
{
	if (a->nsegs != b->nsegs)
		return false;
	for (size_t i = 0; i < a->nsegs; i++)
		if (a->segs[i].off != b->segs[i].off ||
		    a->segs[i].len != b->segs[i].len ||
		    !str_eq(a->segs[i].file, b->segs[i].file))
			return false;
	return a->has_size == b->has_size && a->has_crc == b->has_crc &&
	       (!a->has_size || a->size == b->size) &&
	       (!a->has_crc || a->crc == b->crc) && str_eq(a->path, b->path);
}

/* Is `old` equal to `r`? */
static bool
same_ranks(const struct rank2file *old, const struct rank2file *r)
{
	if (old->nranks != r->nranks ||
	    (old->refused != NULL && r->containers == NULL))
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
	if (rank2file_store(d->fd, RANK2FILE_FILE, r, err) < 0)
		return error_wrap(err, "%s", d->name);
	return 0;
}

/* --- Summary --- */

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

int
catalogue_record_summary(const struct catalogue_dir *d,
			 const struct catalogue_desc *desc, bool *changed,
			 struct error *err)
{
	struct catalogue_desc there = { .tree = NULL };
	struct kvtree *tree = NULL;
	bool good = false;
	int rc = 0;

	/* Compare descriptors, because LLNL's flush writes the keys in another
	 * order. */
	if (catalogue_read_summary(d, &there, NULL) == 0 && there.complete == 1)
		rc = same_tree(there.tree, desc->tree, &good, err);
	catalogue_desc_free(&there);
	if (rc < 0 || good)
		return rc;
	*changed = true;
	tree = summary_build(desc->tree, 1, err);
	rc = tree == NULL ? -1
			  : kvtree_write_file(tree, d->fd, SUMMARY_FILE, err);
	kvtree_free(tree);
	return rc < 0 ? error_wrap(err, "%s", d->name) : 0;
}

/* --- The index entry --- */

struct entry_job {
	const struct catalogue_desc *desc;
	const char *root;
	bool changed;
	const struct catalogue_options *o;
};

static int
put_entry(struct index *ix, void *arg, struct error *err)
{
	const struct entry_job *j = arg;
	const struct dataset *v = &j->desc->view;
	const char *root = index_extra(ix, v->id, INDEX_ROOT);
	const bool known =
		j->root == NULL || (root != NULL && str_eq(root, j->root));
	char stamp[INDEX_STAMP_SIZE], *kept = NULL;
	struct index_entry e;
	bool same = false;
	int rc = -1;

	/* An existing entry that is right is kept, as a new one would lose the
	 * FETCHED stamps. */
	if (!j->changed && known && index_find_id(ix, v->id, &e, NULL) == 0 &&
	    index_entry_valid(&e)) {
		if (same_tree(index_desc(ix, v->id), j->desc->tree, &same,
			      err) < 0)
			return -1;
		if (same)
			return 1;
	}
	if (j->root != NULL)
		root = j->root;
	if (root != NULL) {
		/* `root` may be part of the entry that is replaced. */
		kept = mem_strdup(root);
		if (kept == NULL)
			return error_no_memory(err);
	}
	if (index_find_id(ix, v->id, &e, NULL) == 0 && e.failed != NULL)
		work_say(&j->o->work,
			 "dataset %" PRId64
			 ": the mark of the failed fetch of %s is gone",
			 v->id, str_quoted(e.failed));
	if (index_find_name(ix, v->name, &e, NULL) == 0 && e.id != v->id)
		work_say(&j->o->work,
			 "dataset %" PRId64 " had the name %s, too, and "
			 "is no longer in the index",
			 e.id, str_shown(v->name));
	rc = index_add(ix, j->desc->tree, 1, index_stamp(stamp, -1), err);
	if (rc == 0 && kept != NULL)
		rc = index_set_extra(ix, v->id, INDEX_ROOT, kept, err);
	mem_free(kept);
	return rc;
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
