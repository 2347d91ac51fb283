/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prune.c - which datasets to delete, by rules about what to keep.  The rules
 * are about index entries; of the checkpoints that stay, one has to be whole.
 */
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "mem.h"
#include "meta/index.h"
#include "str.h"

/* Length of the date in a stamp: "2026-11-21". */
#define DAY 10

/* Is `e` of the kind counted: a checkpoint, or a mere output? */
static bool
is_kind(const struct index_entry *e, bool checkpoint)
{
	return checkpoint ? e->desc.is_ckpt
			  : e->desc.is_output && !e->desc.is_ckpt;
}

/*
 * Mark the entries of one kind that go; the list is sorted, newest first.
 * Everything down to the `last` newest valid entry stays: newer ones that are
 * not valid may be repairable, or still being written.  If there are fewer
 * valid ones, everything.
 */
static void
mark_old(const struct index_entry *list, size_t count,
	 const struct catalogue_keep *keep, bool checkpoints, bool *goes)
{
	const size_t last = keep->last > 0 ? keep->last : 1;
	size_t valid = 0, end = 0, days = keep->daily;
	bool *stays = mem_calloc(count, sizeof(*stays));
	const char *day = NULL;

	for (size_t i = 0; i < count && valid < last; i++) {
		valid += is_kind(&list[i], checkpoints) &&
			 index_entry_valid(&list[i]);
		stays[i] = true;
	}
	if (valid < last) {
		mem_free(stays);
		return;
	}
	/* The newest valid entry of each of the newest days that have one. */
	for (size_t i = 0; i < count && days > 0; i++) {
		const char *stamp = list[i].flushed;

		if (!is_kind(&list[i], checkpoints) ||
		    !index_entry_valid(&list[i]) || stamp == NULL ||
		    (day != NULL && strncmp(stamp, day, DAY) == 0))
			continue;
		stays[i] = true;
		day = stamp;
		days--;
	}
	/* All entries flushed at keep->since or later, valid or not, and those
	 * without a stamp among them. */
	for (size_t i = 0; keep->since != NULL && i < count; i++)
		if (is_kind(&list[i], checkpoints) && list[i].flushed != NULL &&
		    strcmp(list[i].flushed, keep->since) >= 0)
			end = i + 1;
	for (size_t i = 0; i < end; i++)
		stays[i] = stays[i] || list[i].flushed == NULL ||
			   strcmp(list[i].flushed, keep->since) >= 0;
	for (size_t i = 0; i < count; i++)
		goes[i] =
			goes[i] || (is_kind(&list[i], checkpoints) &&
				    !stays[i] && !list[i].current &&
				    (keep->outputs || !list[i].desc.is_output));
	mem_free(stays);
}

int64_t *
catalogue_prune(const struct catalogue *c, const struct index *ix,
		const struct catalogue_keep *keep, size_t *count,
		struct error *err)
{
	size_t n = 0, found = 0;
	struct index_entry *list = NULL;
	int64_t *ids = NULL;
	bool *goes = NULL;

	*count = (size_t)-1;
	if (c->remade)
		return error_set_null(
			err, ERROR_DAMAGED,
			"the index is damaged or missing: repair it, look at "
			"the list, then prune");
	list = index_entries(ix, &n, err);
	*count = n;
	if (n == 0 || n == (size_t)-1)
		return NULL;
	ids = mem_alloc(n, sizeof(*ids));
	goes = mem_calloc(n, sizeof(*goes));
	mark_old(list, n, keep, true, goes);
	if (keep->outputs)
		mark_old(list, n, keep, false, goes);
	for (size_t i = n; i-- > 0;)
		if (goes[i])
			ids[found++] = list[i].id;
	*count = found;
	mem_free(goes);
	mem_free(list);
	return ids;
}

int
catalogue_prune_check(struct catalogue *c, const struct index *ix,
		      const struct catalogue_goes *goes,
		      const struct catalogue_keep *keep,
		      const struct catalogue_options *o, struct error *err)
{
	struct catalogue_options strong = *o;
	struct verify_result v;
	struct error why = ERROR_INIT;
	char shown[256] = "";
	bool unknown = false;
	size_t n = 0, whole = 0, left = keep->last > 0 ? keep->last : 1;
	struct index_entry *list = index_entries(ix, &n, err);
	int rc = n == (size_t)-1 ? -1 : 0;

	strong.checksums = strong.deep = true;
	strong.work.log = NULL;
	for (size_t i = n; goes->count > 0 && rc >= 0 && left > 0 && i-- > 0;) {
		bool gone = false;

		for (size_t k = 0; k < goes->count; k++)
			gone = gone || goes->ids[k] == list[i].id;
		if (!index_entry_valid(&list[i]) || !list[i].desc.is_ckpt ||
		    gone)
			continue;
		/* Redundancy is of no use to a job that restarts. */
		v = (struct verify_result){ .status = STATUS_OK };
		error_clear(&why);
		if (catalogue_verify(c, &list[i], &strong, NULL, &v, &why) == 0)
			rc = v.status == STATUS_DAMAGED && !v.undecided
				     ? v.fetch.status
				     : v.status;
		else if (why.kind != ERROR_NOMEM && !work_stopped(&o->work))
			rc = STATUS_FAILED;
		else
			rc = error_pass(err, &why);
		left -= rc == STATUS_OK;
		whole += rc == STATUS_OK;
		unknown |= rc == STATUS_FAILED;
		if (rc > STATUS_OK && shown[0] == '\0')
			str_printable(shown, sizeof(shown),
				      list[i].name != NULL ? list[i].name
							   : "?");
	}
	mem_free(list);
	/* Fewer than the rule says are not in the index at all. */
	if (rc >= 0 && shown[0] != '\0' && left > 0)
		return error_set(
			err, unknown ? ERROR_SYSTEM : ERROR_DAMAGED,
			"only %zu of the checkpoints that would be kept "
			"%s whole, %s is not: verify it with --deep "
			"--checksums, and delete it if it is lost",
			whole, whole == 1 ? "is" : "are", shown);
	return rc < 0 ? -1 : 0;
}

int64_t *
catalogue_ids(struct catalogue *c, const struct index *ix, const char *text,
	      size_t *count, struct error *err)
{
	size_t n = 1;
	struct index_entry *list =
		text == NULL ? index_entries(ix, &n, err) : NULL;
	int64_t *ids = NULL;

	*count = n;
	if (n == 0 || n == (size_t)-1)
		return NULL;
	ids = mem_alloc(n, sizeof(*ids));
	if (text != NULL)
		ids[0] = catalogue_resolve(c, ix, text, err);
	for (size_t i = 0; list != NULL && i < n; i++)
		ids[i] = list[i].id;
	if (ids[0] <= 0)
		*count = (size_t)-1;
	mem_free(list);
	return ids;
}
