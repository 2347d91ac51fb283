/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * retire.c - record that files of a dataset are about to be replaced, before
 * the first one is.
 *
 * First the index: the entry is marked incomplete, and CURRENT moves on, so
 * that no job restarts from a mixture.  Then the summary, from which --add or a
 * rebuilt index would take the dataset again.  It keeps the descriptor but says
 * COMPLETE = 0, which also stops LLNL's `scr_index --add` and `--build`.  Both
 * record which dataset replaces the files (replaced.c).
 */
#include <inttypes.h>

#include "catalogue/describe.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "num.h"
#include "room.h"
#include "str.h"
#include "work.h"

struct retirement {
	int64_t id, by; /* the same: another dataset takes the number */
	const struct catalogue_options *o;
	char print[NUM_TEXT]; /* of its files as they are (replaced.c); "" */
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
			 "dataset %" PRId64 " (%s): marked unfinished: dataset "
			 "%" PRId64 " replaces its files",
			 r->id, shown, r->by);
}

static int
mark_entry(struct index *ix, void *arg, struct error *err)
{
	const struct retirement *r = arg;
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
	if (index_retire(ix, r->id, err) < 0 ||
	    (r->print[0] != '\0' &&
	     index_set_extra(ix, r->id, SUMMARY_FINGERPRINT, r->print, err) <
		     0) ||
	    (e.current &&
	     index_set_extra(ix, r->id, INDEX_WAS_CURRENT, "1", err) < 0))
		return -1;
	return index_set_extra(ix, r->id, INDEX_REPLACED, num_str(r->by), err);
}

/* --- The metadata directory --- */

int
catalogue_write_summary(const struct catalogue_dir *d, const struct kvtree *t,
			struct error *err)
{
	struct buf image = BUF_INIT;
	struct error why = ERROR_INIT;
	int rc = kvtree_encode(t, &image, &why);

	if (rc == 0)
		rc = io_replace(d->fd, SUMMARY_FILE, image.data, image.len,
				0666, &why);
	if (rc < 0 && room_is_short(&why)) {
		error_clear(&why);
		rc = catalogue_write_in_place(d->fd, SUMMARY_FILE, &image,
					      &why);
	}
	buf_free(&image);
	return rc < 0 ? error_as(err, &why, "%s/%s", d->name, why.text) : 0;
}

/* Without room for the mark, remove the summary: the index entry has the
 * descriptor, too. */
static int
mark_or_remove(const struct catalogue_dir *d, const struct kvtree *t,
	       struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = catalogue_write_summary(d, t, &why);

	return rc < 0 && room_is_short(&why)
		       ? catalogue_dir_unlink(d, SUMMARY_FILE, err)
	       : rc < 0 ? error_pass(err, &why)
			: 0;
}

/* Mark a summary that has COMPLETE = 1. */
static int
mark_summary(const struct retirement *r, const struct catalogue_dir *d,
	     struct error *err)
{
	struct error why = ERROR_INIT;
	struct summary s;
	struct kvtree *t = summary_load(d->fd, SUMMARY_FILE, NULL, &s, &why);
	int rc = 0;

	/* An unreadable summary needs no mark. */
	if (t == NULL || s.complete != 1) {
		kvtree_free(t);
		return why.kind == ERROR_NOMEM ? error_pass(err, &why) : 0;
	}
	rc = kvtree_set_i64(t, "COMPLETE", 0, err);
	if (rc == 0)
		rc = kvtree_set_i64(t, SUMMARY_REPLACED, r->by, err);
	if (rc == 0 && r->print[0] != '\0')
		rc = kvtree_set(t, SUMMARY_FINGERPRINT, r->print, err);
	if (rc == 0)
		rc = mark_or_remove(d, t, err);
	kvtree_free(t);
	return rc;
}

/* Mark the index entry, and open the metadata directory. 1: the dataset has
 * none. */
static int
begin(struct catalogue *c, const struct retirement *r, struct catalogue_dir *d,
      struct error *err)
{
	struct retirement change = *r;
	struct error why = ERROR_INIT;

	if (catalogue_change(c, mark_entry, &change, err) < 0)
		return -1;
	if (catalogue_dir_open(c, r->id, d, &why) == 0)
		return 0;
	return why.kind == ERROR_ABSENT ? 1 : error_pass(err, &why);
}

int
catalogue_retire(struct catalogue *c, int64_t id, int64_t by,
		 const struct catalogue_options *o, struct error *err)
{
	struct retirement r = { .id = id, .by = by, .o = o };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	int rc = 0;

	/* Without the fingerprint, the mark cannot be taken back. */
	if (catalogue_fingerprint(c, id, o, r.print) < 0)
		r.print[0] = '\0';
	rc = begin(c, &r, &d, err);
	if (rc == 0)
		rc = mark_summary(&r, &d, err);
	catalogue_dir_close(&d);
	return rc < 0 ? -1 : 0;
}

/* --- Another dataset with the same number --- */

static void
compare_times(int64_t a, int64_t b, enum catalogue_identity *out)
{
	if (a > 0 && b > 0 && a != b)
		*out = CATALOGUE_ANOTHER;
	else if ((a <= 0 || b <= 0) && *out == CATALOGUE_SAME)
		*out = CATALOGUE_UNSURE;
}

int
catalogue_identify(struct catalogue *c, int64_t id, int64_t created,
		   enum catalogue_identity *out, struct error *err)
{
	struct error why = ERROR_INIT;
	struct catalogue_desc desc = { .tree = NULL };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct index *ix = catalogue_read(c, &why);
	struct index_entry e;

	*out = CATALOGUE_SAME;
	if (ix == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	error_clear(&why);
	if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0)
		compare_times(e.desc.created_us, created, out);
	index_free(ix);
	if (catalogue_dir_open(c, id, &d, &why) == 0 &&
	    catalogue_read_summary(&d, &desc, &why) == 0)
		compare_times(desc.view.created_us, created, out);
	catalogue_desc_free(&desc);
	catalogue_dir_close(&d);
	return catalogue_is_verdict(&why) ? 0 : error_pass(err, &why);
}

/* What a scavenge copies into the metadata directory. */
#define COPIED_KINDS \
	(CATALOGUE_KIND(FILEMAP) | CATALOGUE_KIND(REDUNDANCY) | \
	 CATALOGUE_KIND(DESCRIPTOR) | CATALOGUE_KIND(COPIED))

int
catalogue_uncopy(struct catalogue *c, int64_t id, struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	int rc = catalogue_dir_open(c, id, &d, err);

	if (rc == 0)
		rc = catalogue_dir_clear(&d, COPIED_KINDS, err);
	catalogue_dir_close(&d);
	return rc;
}

int
catalogue_supersede(struct catalogue *c, int64_t id, bool all,
		    const struct catalogue_options *o, struct error *err)
{
	const struct retirement r = { .id = id, .by = id, .o = o };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	unsigned kinds = CATALOGUE_KIND(RANK2FILE_PART) |
			 CATALOGUE_KIND(PACKED) | CATALOGUE_KIND(COPY);
	int rc = begin(c, &r, &d, err);

	if (all)
		kinds |= COPIED_KINDS | CATALOGUE_KIND(KEPT) |
			 CATALOGUE_KIND(MARKED);
	/* Remove the summary first, and rank2file last: without rank2file, its
	 * copy would still be read. */
	if (rc == 0 && (catalogue_dir_unlink(&d, SUMMARY_FILE, err) < 0 ||
			catalogue_dir_clear(&d, kinds, err) < 0 ||
			catalogue_dir_unlink(&d, RANK2FILE_FILE, err) < 0 ||
			io_sync_dir(d.fd, d.name, err) < 0))
		rc = -1;
	catalogue_dir_close(&d);
	return rc < 0 ? -1 : 0;
}
