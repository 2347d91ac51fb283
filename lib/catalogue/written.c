/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * written.c - datasets that a job itself writes to the prefix: their index
 * entry before, and summary and entry after.
 */
#include <errno.h>
#include <stdio.h>

#include "catalogue/catalogue_impl.h"
#include "catalogue/written.h"
#include "create.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "meta/rank2file.h"

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

struct written_job {
	const struct kvtree *desc;
	struct dataset view;
	bool listed; /* is set: the index was changed */
};

/* Remove an entry of the same name; CURRENT moves on from it. */
static int
drop_name(struct index *ix, const struct written_job *j, struct error *err)
{
	struct index_entry e;

	if (index_find_name(ix, j->view.name, &e, NULL) < 0)
		return 0;
	return index_remove(ix, j->view.name, err);
}

static int
add_begun(struct index *ix, void *arg, struct error *err)
{
	struct written_job *j = arg;
	const int64_t id = j->view.id;
	struct index_entry e;

	if (index_find_name(ix, j->view.name, &e, NULL) == 0 &&
	    (e.id == id ? e.complete == 0
			: index_entry_valid(&e) || e.replaced == id))
		return 1;
	j->listed = true;
	if (drop_name(ix, j, err) < 0)
		return -1;
	return index_add(ix, j->desc, 0, NULL, err);
}

/* Remove the map and the summary of the previous dataset with this number. */
static int
empty_dir(struct catalogue *c, int64_t id, struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	int rc = catalogue_dir_open(c, id, &d, err);

	if (rc == 0 && (catalogue_dir_unlink(&d, SUMMARY_FILE, err) < 0 ||
			catalogue_dir_unlink(&d, RANK2FILE_FILE, err) < 0))
		rc = error_wrap(err, "%s/%s", c->path, SCR_DIR);
	catalogue_dir_close(&d);
	return rc;
}

/*
 * Make the directory first: the change of the index then syncs its name, too.
 */
int
catalogue_written_begin(struct catalogue *c, const struct kvtree *desc,
			struct error *err)
{
	struct written_job j = { .desc = desc };
	char name[DATASET_DIR_NAME];
	bool made = false;

	if (dataset_read(desc, &j.view, err) < 0 ||
	    catalogue_open_scr(c, true, err) < 0)
		return -1;
	snprintf(name, sizeof(name), DATASET_DIR_FMT, j.view.id);
	made = create_dir(c->scr_fd, name, 0777, create_owner(c->scr_fd)) == 0;
	if (!made && errno != EEXIST)
		return error_sys(err, "%s/%s/%s", c->path, SCR_DIR, name);
	if (catalogue_change(c, add_begun, &j, err) < 0)
		return -1;
	if (!made)
		return empty_dir(c, j.view.id, err);
	return j.listed ? 0 : io_sync_dir(c->scr_fd, SCR_DIR, err);
}

static int
add_finished(struct index *ix, void *arg, struct error *err)
{
	const struct written_job *j = arg;
	char stamp[INDEX_STAMP_SIZE];

	if (drop_name(ix, j, err) < 0 ||
	    index_add(ix, j->desc, 1, index_stamp(stamp, -1), err) < 0)
		return -1;
	return j->view.is_ckpt ? index_set_current(ix, j->view.name, err) : 0;
}

int
catalogue_written_end(struct catalogue *c, const struct kvtree *desc,
		      struct error *err)
{
	struct written_job j = { .desc = desc };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct kvtree *summary = NULL;
	int rc = -1;

	if (dataset_read(desc, &j.view, err) < 0 ||
	    catalogue_open_scr(c, true, err) < 0 ||
	    catalogue_dir_open(c, j.view.id, &d, err) < 0)
		return -1;
	summary = summary_build(desc, 1, err);
	if (summary != NULL)
		rc = kvtree_write_file(summary, d.fd, SUMMARY_FILE, err);
	kvtree_free(summary);
	if (rc < 0)
		error_wrap(err, "%s", d.name);
	else
		rc = catalogue_change(c, add_finished, &j, err);
	catalogue_dir_close(&d);
	return rc;
}

/* --- Restarts --- */

struct stamp_job {
	int64_t id;
	enum catalogue_stamp stamp;
};

static int
set_stamp(struct index *ix, void *arg, struct error *err)
{
	const struct stamp_job *j = arg;
	char stamp[INDEX_STAMP_SIZE];
	struct index_entry e;

	if (index_find_id(ix, j->id, &e, NULL) < 0)
		return 1;
	index_stamp(stamp, -1);
	switch (j->stamp) {
	case CATALOGUE_FETCHED:
		return index_add_extra(ix, j->id, "FETCHED", stamp, err);
	case CATALOGUE_FAILED:
		if (e.current && index_set_current(ix, NULL, err) < 0)
			return -1;
		return index_set_extra(ix, j->id, "FAILED", stamp, err);
	case CATALOGUE_RESTARTED:
		break;
	}
	if (e.name == NULL || e.current)
		return 1;
	return index_set_current(ix, e.name, err);
}

int
catalogue_stamp(struct catalogue *c, int64_t id, enum catalogue_stamp stamp,
		struct error *err)
{
	struct stamp_job j = { id, stamp };

	return catalogue_change(c, set_stamp, &j, err);
}
