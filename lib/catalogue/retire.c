/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * retire.c - record that files of a dataset are about to be replaced, before
 * the first one is.
 *
 * First the index: the entry is marked incomplete, and CURRENT moves on, so
 * that no job restarts from a mixture.  Then the summary, from which --add or a
 * rebuilt index would take the dataset again.  It keeps the descriptor but says
 * COMPLETE = 0, which also stops LLNL's `scr_index --add` and `--build`.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "io.h"
#include "meta/index.h"
#include "meta/kvtree.h"
#include "meta/summary.h"
#include "num.h"
#include "room.h"
#include "str.h"
#include "work.h"

struct retirement {
	int64_t id, by;
	const struct catalogue_options *o;
};

/* --- The index --- */

static void
tell(const struct retirement *r, const struct index_entry *e)
{
	char shown[256];

	str_printable(shown, sizeof(shown), e->name != NULL ? e->name : "?");
	if (r->by == r->id)
		work_say(&r->o->work,
			 "dataset %" PRId64 " (%s): replaced by another "
			 "dataset with the same number",
			 r->id, shown);
	else
		work_say(&r->o->work,
			 "dataset %" PRId64 " (%s): marked incomplete: dataset "
			 "%" PRId64 " replaces its files",
			 r->id, shown, r->by);
}

static int
mark_entry(struct index *ix, void *arg, struct error *err)
{
	const struct retirement *r = arg;
	char by[NUM_TEXT];
	struct index_entry e;

	if (index_find_id(ix, r->id, &e, NULL) < 0)
		return 1;
	if (r->by == r->id) {
		tell(r, &e);
		return catalogue_forget(ix, r->id, err);
	}
	if (e.complete == 0 && !e.current)
		return 1;
	tell(r, &e);
	if (index_retire(ix, r->id, err) < 0)
		return -1;
	return index_set_extra(ix, r->id, INDEX_REPLACED,
			       num_text(by, (uint64_t)r->by), err);
}

/* --- The metadata directory --- */

static int
remove_meta(const struct catalogue_dir *d, const char *name, struct error *err)
{
	if (unlinkat(d->fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	return error_sys(err, "%s/%s: cannot remove", d->name, name);
}

/* Rewrite a summary that says COMPLETE = 1.  On a full file system, remove it:
 * the index entry has the descriptor, too. */
static int
mark_summary(const struct catalogue_dir *d, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *t = catalogue_read_tree(d->fd, SUMMARY_FILE, NULL, &why);
	struct summary s = { .complete = -1 };
	int rc = 0;

	/* A summary that cannot be read is of no use to anybody. */
	if (t == NULL || summary_read(t, &s, &why) < 0 || s.complete != 1) {
		kvtree_free(t);
		return why.kind == ERROR_NOMEM ? error_pass(err, &why) : 0;
	}
	rc = kvtree_set_i64(t, "COMPLETE", 0, &why);
	if (rc == 0)
		rc = kvtree_write_file(t, d->fd, SUMMARY_FILE, &why);
	kvtree_free(t);
	if (rc < 0 && room_is_short(&why))
		return remove_meta(d, SUMMARY_FILE, err);
	return rc < 0 ? error_as(err, &why, "%s/%s", d->name, why.text) : 0;
}

static int
mark_dir(const struct retirement *r, const struct catalogue_dir *d,
	 struct error *err)
{
	if (r->by != r->id)
		return mark_summary(d, err);
	if (remove_meta(d, SUMMARY_FILE, err) < 0 ||
	    remove_meta(d, RANK2FILE_FILE, err) < 0)
		return -1;
	return io_sync_dir(d->fd, d->name, err);
}

int
catalogue_retire(struct catalogue *c, int64_t id, int64_t by,
		 const struct catalogue_options *o, struct error *err)
{
	struct retirement r = { id, by, o };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct error why = ERROR_INIT;
	int rc = catalogue_change(c, mark_entry, &r, err);

	if (rc < 0)
		return -1;
	if (catalogue_dir_open(c, id, &d, &why) < 0)
		return why.kind == ERROR_ABSENT ? 0 : error_pass(err, &why);
	rc = mark_dir(&r, &d, err);
	catalogue_dir_close(&d);
	return rc;
}
