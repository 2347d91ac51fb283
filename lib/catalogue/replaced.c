/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replaced.c - refuse a dataset whose files another one has replaced.
 *
 * Files of the other dataset may have the same sizes, so only recorded
 * checksums prove that files are still its own.
 */
#include <inttypes.h>

#include "catalogue/files.h"
#include "error.h"
#include "meta/rank2file.h"

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
