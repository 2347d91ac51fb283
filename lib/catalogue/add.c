/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * add.c - scr_index --add: index a dataset that has a summary.
 */
#include <inttypes.h>

#include "catalogue/describe.h"
#include "error.h"
#include "meta/index.h"

/* The dataset is not added because of *why; `f` says whether a build helps. */
static int
refuse(struct catalogue *c, const struct catalogue_dir *d,
       const struct fetchable *f, const struct error *why, struct error *err)
{
	char word[WORD_ID_SIZE];

	if (f->status != STATUS_DAMAGED)
		return error_as(err, why, "%s: not added: %s", d->name,
				why->text);
	return error_as(err, why,
			"%s: not added: %s: repair it with --build %s", d->name,
			why->text, catalogue_word_now(c, d->id, word));
}

static int
add(struct catalogue *c, const struct catalogue_dir *d,
    const struct catalogue_options *o, struct buf *name, struct error *err)
{
	const struct index_entry none = { .id = d->id, .complete = -1 };
	struct catalogue_desc desc = { .tree = NULL };
	struct fetchable f;
	struct error why = ERROR_INIT;
	int rc = -1;
	char word[WORD_ID_SIZE];

	/* Can the library fetch it? */
	if (catalogue_fetchable(c, &none, o, &f, err) < 0)
		return -1;
	if (catalogue_read_summary(d, &desc, &why) < 0)
		return refuse(c, d, &f, &why, err);
	if (desc.replaced > 0)
		error_set(err, ERROR_DAMAGED,
			  "%s: not added: dataset %" PRId64
			  " replaced its files; --build %s checks by checksums "
			  "which of them are left",
			  d->name, desc.replaced,
			  catalogue_word_now(c, d->id, word));
	else if (desc.complete != 1)
		error_set(err, ERROR_DAMAGED,
			  "%s: its summary does not say that it is complete; "
			  "--build %s checks it",
			  d->name, catalogue_word_now(c, d->id, word));
	else if (catalogue_check_given_up(d, &desc, err) < 0)
		rc = -1;
	else if (fetchable_error(&f, &why) < 0)
		rc = refuse(c, d, &f, &why, err);
	else
		rc = catalogue_record_entry(c, &desc, NULL, true, o, err);
	if (rc == 0 && buf_add_str(name, desc.view.name) < 0)
		rc = error_no_memory(err);
	catalogue_desc_free(&desc);
	return rc;
}

int
catalogue_add(struct catalogue *c, int64_t id,
	      const struct catalogue_options *o, struct buf *name,
	      struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	int rc = -1;

	if (catalogue_dir_open(c, id, &d, NULL) < 0 &&
	    (rc = catalogue_adopt(c, id, o, name, err)) <= 0)
		return rc;
	rc = -1;
	if (catalogue_dir_open(c, id, &d, err) == 0 &&
	    catalogue_dir_lock(c, &d, o, err) == 0)
		rc = add(c, &d, o, name, err);
	catalogue_dir_close(&d);
	return rc;
}
