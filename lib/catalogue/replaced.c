/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replaced.c - a dataset whose files another one has replaced, by the mark of
 * catalogue_retire().
 *
 * Files of the other dataset may have the same sizes, so only recorded
 * checksums prove that files are still its own.
 */
#include <inttypes.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "meta/index.h"
#include "str.h"

/* By the marks alone. */
static int
marked(struct catalogue *c, int64_t id, const struct catalogue_options *o,
       int64_t *by, struct error *err)
{
	struct error why = ERROR_INIT;
	struct summary s = { .complete = -1 };
	struct kvtree *t = catalogue_summary(c, id, &s, NULL, &why);
	struct index *read = NULL;
	const struct index *ix = NULL;
	struct index_entry e;

	*by = t != NULL ? s.replaced : 0;
	kvtree_free(t);
	if (t == NULL && !catalogue_is_verdict(&why))
		return error_pass(err, &why);
	/*
	 * Without room to mark the summary, it was removed.  So a complete
	 * summary was written later, or will be marked before the first file is
	 * replaced.
	 */
	if (*by > 0 || (t != NULL && s.complete == 1))
		return 0;
	error_clear(&why);
	ix = catalogue_index(c, o, &read, &why);
	if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
	    e.complete == 0)
		*by = e.replaced;
	index_free(read);
	return ix == NULL && !catalogue_is_verdict(&why) ? error_pass(err, &why)
							 : 0;
}

int
catalogue_replaced(struct catalogue *c, int64_t id,
		   const struct catalogue_options *o, int64_t *by,
		   struct error *err)
{
	if (marked(c, id, o, by, err) < 0)
		return -1;
	if (*by > 0 && catalogue_spared(c, id, *by, o))
		*by = 0;
	return 0;
}

int
catalogue_refuse_replaced(struct catalogue *c, int64_t id,
			  const struct catalogue_options *o, struct error *err)
{
	int64_t by = 0;

	if (catalogue_replaced(c, id, o, &by, err) < 0)
		return -1;
	if (by == 0)
		return 0;
	error_set(
		err, ERROR_DAMAGED,
		"dataset %" PRId64 ": dataset %" PRId64
		" replaced its files; it can be built again only if checksums "
		"prove that its files are still present",
		id, by);
	return error_remedy(err, REMEDY_INDEX);
}

bool
catalogue_sums_recorded(const struct rank2file *r)
{
	for (size_t i = 0; i < r->nranks; i++)
		for (size_t k = 0; k < r->ranks[i].nfiles; k++) {
			const struct rank2file_file *f = &r->ranks[i].files[k];

			if (f->nsegs == 0 && !f->has_crc)
				return false;
		}
	return true;
}

bool
catalogue_plan_proved(const struct plan *p)
{
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->nsegs == 0 && f->state == FILE_PRESENT && !f->has_crc)
			return false;
	}
	return true;
}

int
catalogue_unproved(int64_t id, int64_t by, struct error *err)
{
	return error_set(
		err, ERROR_LOST,
		"dataset %" PRId64 ": dataset %" PRId64
		" replaced its files, and no checksums show which of them are "
		"left",
		id, by);
}

int
catalogue_refuse_unproved(const struct plan *p, int64_t by, struct error *err)
{
	return by == 0 || p->outdated || catalogue_plan_proved(p)
		       ? 0
		       : catalogue_unproved(p->id, by, err);
}
