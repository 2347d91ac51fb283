/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * indexed.c - the index after a scavenge: the current dataset, and old ones
 * that are deleted.
 */
#include <inttypes.h>
#include <stdio.h>

#include "error.h"
#include "mem.h"
#include "meta/index.h"
#include "scavenge/scavenge_impl.h"
#include "work.h"

int
scavenge_make_current(struct scavenge *s, const struct salvage_dataset *d,
		      struct error *err)
{
	char word[WORD_ID_SIZE];
	struct catalogue_edit e = { .kind = CATALOGUE_CURRENT, .word = word };
	struct index *ix = catalogue_read(s->prefix, err);
	struct index_entry k;
	int rc = ix == NULL ? -1 : index_find_id(ix, d->id, &k, err);

	snprintf(word, sizeof(word), WORD_ID_FMT, d->id);
	if (rc == 0 && !k.current)
		rc = catalogue_edit(s->prefix, &e, err);
	index_free(ix);
	return rc;
}

static void
report_pruned(void *arg, int64_t id, const struct delete_result *r,
	      const struct error *why)
{
	const struct scavenge *s = arg;

	(void)r;
	if (why == NULL)
		work_say(s->work,
			 "dataset %" PRId64 ": deleted, older than the %" PRIu64
			 " newest",
			 id, s->o->keep);
}

int
scavenge_prune(struct scavenge *s, struct error *err)
{
	struct index *ix = catalogue_read(s->prefix, err);
	size_t count = 0;
	int64_t *ids = ix == NULL ? NULL
				  : catalogue_prune(s->prefix, ix, s->o->keep,
						    false, &count, err);
	const struct delete_listener listener = { report_pruned, s };
	int rc = ix == NULL || count == (size_t)-1 ? -1 : 0;

	if (rc == 0)
		rc = catalogue_delete_all(s->prefix, ids, count,
					  s->o->catalogue, &listener, err);
	mem_free(ids);
	index_free(ix);
	return rc;
}
