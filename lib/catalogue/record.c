/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.c - write rank2file, summary and index entry of a dataset: of a
 * complete one, and of one that a job itself writes to the prefix, before and
 * after.
 */
#include <errno.h>
#include <inttypes.h>

#include "catalogue/catalogue_impl.h"
#include "catalogue/written.h"
#include "container/packed.h"
#include "create.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset.h"
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
	if (old != NULL && old->flaw == NULL && same_ranks(old, r))
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
		*same = rc == 0 && buf_equal(&x, &y);
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

static int
put_entry(struct index *ix, const struct catalogue_desc *desc,
	  const char *moved, bool changed, const struct catalogue_options *o,
	  struct error *err)
{
	const struct dataset *v = &desc->view;
	const char *root = index_extra(ix, v->id, INDEX_ROOT);
	const bool known =
		moved == NULL || (root != NULL && str_eq(root, moved));
	char *kept = NULL;
	struct index_entry e;
	bool same = false;
	int rc = -1;

	/* An existing entry that is right is kept, as a new one would lose the
	 * FETCHED stamps. */
	if (!changed && known && index_find_id(ix, v->id, &e, NULL) == 0 &&
	    index_entry_valid(&e)) {
		if (same_tree(index_desc(ix, v->id), desc->tree, &same, err) <
		    0)
			return -1;
		if (same)
			return 1;
	}
	if (moved != NULL)
		root = moved;
	if (root != NULL) {
		/* `root` may be part of the entry that is replaced. */
		kept = mem_strdup(root);
		if (kept == NULL)
			return error_no_memory(err);
	}
	if (index_find_id(ix, v->id, &e, NULL) == 0 && e.failed != NULL)
		work_say(&o->work,
			 "dataset %" PRId64
			 ": the mark of the failed fetch of %s is gone",
			 v->id, str_quoted(e.failed));
	if (index_find_name(ix, v->name, &e, NULL) == 0 && e.id != v->id)
		work_say(&o->work,
			 "dataset %" PRId64 " had the name %s, too, and "
			 "is no longer in the index",
			 e.id, str_shown(v->name));
	rc = index_add(ix, desc->tree, 1, index_stamp_str(-1), err);
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
	struct catalogue_change t;
	int rc = catalogue_begin(c, &t, err);

	if (rc == 0)
		rc = put_entry(t.ix, desc, root, changed, o, err);
	return catalogue_end(&t, rc, err);
}

/* --- Ids --- */

int
catalogue_written_ids(struct catalogue *c, int64_t *id, int64_t *ckpt,
		      struct error *err)
{
	struct catalogue_entries all;
	const int rc = catalogue_entries(c, &all, err);
	int64_t *dirs = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all.count; i++) {
		const struct index_entry *e = &all.list[i];

		*id = e->id > *id ? e->id : *id;
		*ckpt = e->desc.ckpt_id > *ckpt ? e->desc.ckpt_id : *ckpt;
	}
	catalogue_entries_free(&all);
	if (rc < 0)
		return -1;
	dirs = catalogue_dirs(c, &n, err); /* ascending */
	if (n == (size_t)-1)
		return -1;
	if (n > 0 && dirs[n - 1] > *id)
		*id = dirs[n - 1];
	mem_free(dirs);
	return 0;
}

/* --- Datasets that are written --- */

/* An entry of the same name is removed; CURRENT moves on from it. */
static int
add_begun(struct index *ix, const struct kvtree *desc, const struct dataset *v,
	  struct error *err)
{
	struct index_entry e;
	bool any = index_find_id(ix, v->id, &e, NULL) == 0;

	if (any && index_entry_valid(&e) && e.desc.created_us != v->created_us)
		return error_set(err, ERROR_USAGE,
				 "another job has written a dataset of this "
				 "number, %s",
				 str_shown(e.name != NULL ? e.name : "?"));
	any = index_find_name(ix, v->name, &e, NULL) == 0;
	if (any &&
	    (e.id == v->id ? e.complete == 0
			   : index_entry_valid(&e) || e.replaced == v->id))
		return 1;
	if (any && index_remove(ix, v->name, err) < 0)
		return -1;
	return index_add(ix, desc, 0, NULL, err);
}

/*
 * Make the directory first: the change of the index then syncs its name, too.
 */
int
catalogue_written_begin(struct catalogue *c, const struct kvtree *desc,
			enum catalogue_map map, struct error *err)
{
	const unsigned parts = CATALOGUE_KIND(RANK2FILE_PART) |
			       CATALOGUE_KIND(COPY) | CATALOGUE_KIND(PACKED);
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct catalogue_change t;
	struct dataset view;
	const char *name = NULL;
	bool made = false, listed = false;
	int rc = 0;

	if (dataset_read(desc, &view, err) < 0 ||
	    catalogue_open_scr(c, true, err) < 0)
		return -1;
	name = dataset_dir_str(view.id);
	made = create_dir(c->scr_fd, name, 0777, create_owner(c->scr_fd)) == 0;
	if (!made && errno != EEXIST)
		return error_sys(err, "%s/%s/%s", c->path, SCR_DIR, name);
	rc = catalogue_begin(c, &t, err);
	if (rc == 0)
		rc = add_begun(t.ix, desc, &view, err);
	listed = rc == 0;
	if (catalogue_end(&t, rc, err) < 0)
		return -1;
	if (made)
		return listed ? 0 : io_sync_dir(c->scr_fd, SCR_DIR, err);
	/* Remove the map and the summary of the previous dataset with this
	 * number, or of a flush that was interrupted. */
	rc = catalogue_dir_open(c, view.id, &d, err);
	if (rc == 0 && (catalogue_dir_unlink(&d, SUMMARY_FILE, err) < 0 ||
			(map != CATALOGUE_MAP_KEPT &&
			 catalogue_dir_unlink(&d, RANK2FILE_FILE, err) < 0) ||
			(map == CATALOGUE_MAP_GONE &&
			 catalogue_dir_clear(&d, parts, err) < 0)))
		rc = error_wrap(err, "%s/%s", c->path, SCR_DIR);
	catalogue_dir_close(&d);
	return rc;
}

/* Remove the containers of the dataset that had the name: unlike files, they
 * were not replaced. */
static void
drop_older(struct catalogue *c, int64_t id)
{
	const struct catalogue_options o = { .replace = true };
	const struct catalogue_claims none = { .count = 0 };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct delete_result out = { .files = 0 };

	if (catalogue_dir_open(c, id, &d, NULL) == 0 &&
	    packed_has_containers(d.fd) &&
	    catalogue_dir_lock(c, &d, &o, NULL) == 0)
		(void)catalogue_remove(c, &d, &none, &o, &out, NULL);
	catalogue_dir_close(&d);
}

int
catalogue_written_end(struct catalogue *c, const struct kvtree *desc,
		      struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct catalogue_change t;
	struct kvtree *summary = NULL;
	struct index_entry e;
	struct dataset v;
	int64_t older = 0; /* the dataset that had its name */
	int rc = -1;

	if (dataset_read(desc, &v, err) < 0 ||
	    catalogue_open_scr(c, true, err) < 0 ||
	    catalogue_dir_open(c, v.id, &d, err) < 0)
		return -1;
	summary = summary_build(desc, 1, err);
	if (summary != NULL)
		rc = kvtree_write_file(summary, d.fd, SUMMARY_FILE, err);
	kvtree_free(summary);
	if (rc < 0)
		error_wrap(err, "%s", d.name);
	catalogue_dir_close(&d);
	if (rc < 0)
		return -1;
	rc = catalogue_begin(c, &t, err);
	if (rc == 0 && index_find_name(t.ix, v.name, &e, NULL) == 0) {
		older = e.id != v.id ? e.id : 0;
		rc = index_remove(t.ix, v.name, err);
	}
	if (rc == 0)
		rc = index_add(t.ix, desc, 1, index_stamp_str(-1), err);
	if (rc == 0 && v.is_ckpt)
		rc = index_set_current(t.ix, v.name, err);
	rc = catalogue_end(&t, rc, err);
	if (rc == 0 && older > 0)
		drop_older(c, older);
	return rc;
}

/* --- Restarts --- */

int
catalogue_stamp(struct catalogue *c, int64_t id, enum catalogue_stamp stamp,
		struct error *err)
{
	const char *now = index_stamp_str(-1);
	struct catalogue_change t;
	struct index_entry e;
	int rc = catalogue_begin(c, &t, err);

	if (rc < 0 || index_find_id(t.ix, id, &e, NULL) < 0)
		return catalogue_end(&t, rc < 0 ? -1 : 1, err);
	if (stamp == CATALOGUE_FETCHED)
		rc = index_add_extra(t.ix, id, "FETCHED", now, err);
	else if (stamp == CATALOGUE_RESTARTED)
		rc = e.name == NULL || e.current
			     ? 1
			     : index_set_current(t.ix, e.name, err);
	else if (!e.current || index_set_current(t.ix, NULL, err) == 0)
		rc = index_set_extra(t.ix, id, "FAILED", now, err);
	else
		rc = -1;
	return catalogue_end(&t, rc, err);
}
