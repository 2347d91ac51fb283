/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * add.c - scr_index --add: index a dataset that has a summary.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/index.h"
#include "meta/summary.h"
#include "str.h"

/* Can the library fetch it? */
static int
check(struct catalogue *c, const struct catalogue_dir *d,
      const struct catalogue_options *o, struct error *err)
{
	const struct index_entry none = { .id = d->id, .complete = -1 };
	char word[WORD_ID_SIZE];
	struct fetchable f;

	if (catalogue_fetchable(c, &none, o, &f, err) < 0)
		return -1;
	if (fetchable_error(&f, err) == 0)
		return 0;
	return error_wrap(err, "%s: not added, %s --build %s", d->name,
			  f.status == STATUS_DAMAGED ? "mended by" : "try",
			  catalogue_word_now(c, d->id, word));
}

static int
add(struct catalogue *c, const struct catalogue_dir *d,
    const struct catalogue_options *o, struct buf *name, struct error *err)
{
	struct catalogue_desc desc = { .tree = NULL };
	int complete = -1, rc = -1;
	char word[WORD_ID_SIZE];

	if (catalogue_read_summary(d, &desc, &complete, err) < 0)
		return error_wrap(err, "%s: not added, try --build %s", d->name,
				  catalogue_word_now(c, d->id, word));
	if (desc.replaced > 0)
		error_set(err, ERROR_DAMAGED,
			  "%s: not added: dataset %" PRId64
			  " replaced its files; --build %s can tell by "
			  "checksums what is left of them",
			  d->name, desc.replaced,
			  catalogue_word_now(c, d->id, word));
	else if (complete != 1)
		error_set(err, ERROR_DAMAGED,
			  "%s: its summary does not say that it is complete; "
			  "--build %s can tell",
			  d->name, catalogue_word_now(c, d->id, word));
	else if (catalogue_check_given_up(d, &desc, err) == 0 &&
		 check(c, d, o, err) == 0)
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
