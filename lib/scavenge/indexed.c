/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * indexed.c - what index and flush.scr say: whether a number is free, that a
 * dataset is saved, which one is current; and old ones that are deleted.
 */
#include <inttypes.h>
#include <stdio.h>

#include "arena.h"
#include "catalogue/fetchable.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "num.h"
#include "scavenge/scavenge_impl.h"
#include "str.h"
#include "work.h"

int
scavenge_yield(struct scavenge *s, struct salvage_dataset *d,
	       enum salvage_taken how, const char *why, struct error *err)
{
	d->taken = how;
	d->flaw = arena_strdup(s->arena, why);
	if (d->flaw == NULL)
		return error_no_memory(err);
	work_say(s->work,
		 "dataset %" PRId64 ": not saved; it is still in the caches: "
		 "%s",
		 d->id, d->flaw);
	return 0;
}

/* Is `e` valid, and another dataset than `d`? */
static bool
is_another(const struct index_entry *e, const struct salvage_dataset *d)
{
	return index_entry_valid(e) && d->created > 0 &&
	       e->desc.created_us > 0 &&
	       e->desc.created_us != (int64_t)d->created;
}

int
scavenge_check_number(struct scavenge *s, struct salvage_dataset *d,
		      bool copied, struct error *err)
{
	struct error why = ERROR_INIT;
	struct index *ix = catalogue_read(s->prefix, &why);
	char text[512], shown[256];
	struct index_entry e;
	bool older = false;
	int rc = 0;

	if (ix == NULL && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	if (ix != NULL && index_find_id(ix, d->id, &e, NULL) == 0 &&
	    is_another(&e, d)) {
		older = !scavenge_is_later(s, &e, d);
		str_printable(shown, sizeof(shown), e.name ? e.name : "?");
		snprintf(text, sizeof(text),
			 "the prefix has %s dataset of this number, %s",
			 older ? "an older" : "a newer", shown);
		rc = scavenge_yield(
			s, d, older ? SALVAGE_TAKEN_OLDER : SALVAGE_TAKEN_NEWER,
			text, err);
		if (rc == 0 && copied)
			rc = catalogue_uncopy(s->prefix, d->id, err);
	}
	index_free(ix);
	return rc;
}

void
scavenge_mark_flushed(const struct scavenge *s, int64_t id)
{
	const int dir = catalogue_scr_fd(s->prefix);
	struct error why = ERROR_INIT;
	struct kvtree *t = kvtree_read_file(dir, FLUSH_FILE, &why), *k = NULL;

	if (t == NULL)
		return;
	k = kvtree_get2(t, "DATASET", num_str(id));
	k = kvtree_get(k, "LOCATION");
	if (k != NULL && kvtree_get(k, "PFS") == NULL &&
	    (kvtree_put_first(k, "PFS", &why) == NULL ||
	     kvtree_write_file(t, dir, FLUSH_FILE, &why) < 0))
		work_say(s->work, "%s: not changed", why.text);
	kvtree_free(t);
}

/* The restart point of the index before this run; false: there was none. */
static bool
find_current(const struct scavenge *s, struct index_entry *was)
{
	const char *name =
		s->known.index == NULL ? NULL : index_current(s->known.index);

	return name != NULL &&
	       index_find_name(s->known.index, name, was, NULL) == 0;
}

/* Is it bad, or not later than `d`? */
static int
yields(struct scavenge *s, const struct index_entry *was,
       const struct salvage_dataset *d, bool *yields, struct error *err)
{
	struct salvage_dataset *k = salvage_find(&s->plan, was->id);

	if (k != NULL && scavenge_look(s, k, err) < 0)
		return -1;
	*yields =
		!scavenge_is_later(s, was, d) ||
		(k != NULL && k->looked && !k->done && !scavenge_is_unknown(k));
	return 0;
}

int
scavenge_make_current(struct scavenge *s, const struct salvage_dataset *d,
		      struct error *err)
{
	char word[WORD_ID_SIZE];
	struct catalogue_edit e = {
		.kind = CATALOGUE_CURRENT,
		.word = word,
		.forward = true,
	};
	struct index_entry was;
	bool yield = false;

	snprintf(word, sizeof(word), WORD_ID_FMT, d->id);
	if (find_current(s, &was) && yields(s, &was, d, &yield, err) < 0)
		return -1;
	if (yield)
		e.broken = &was;
	if (catalogue_edit(s->prefix, &e, err) < 0)
		return -1;
	if (d->name != NULL && !str_eq(e.current, d->name))
		work_say(s->work,
			 "dataset %" PRId64
			 ": saved; the restart point stays %s, which is newer",
			 d->id, str_shown(e.current));
	return 0;
}

/* Can the next job restart from this checkpoint?  1, 0; -1: error. */
static int
is_restart(struct scavenge *s, const struct index_entry *e, struct error *err)
{
	struct fetchable f;

	if (!index_entry_valid(e) || !e->desc.is_ckpt)
		return 0;
	if (catalogue_fetchable(s->prefix, e, s->o->catalogue, &f, err) < 0)
		return -1;
	return f.status == STATUS_OK;
}

/* The restart point, if a checkpoint is or can be saved: does it stay another
 * one? */
static bool
is_other_restart(const struct scavenge *s, const struct index_entry *e)
{
	const int64_t saved = scavenge_outlook(s).saved;
	const struct salvage_dataset *d = salvage_find(&s->plan, saved);

	return e->current && index_entry_valid(e) && d != NULL &&
	       e->id != saved &&
	       (!s->work->dry_run || scavenge_is_later(s, e, d));
}

int
scavenge_find_restart(struct scavenge *s, struct error *err)
{
	const bool saved = scavenge_outlook(s).saved > 0;
	struct catalogue_entries all;
	struct error why = ERROR_INIT;
	char shown[256];
	int rc = 0;

	if (s->stopped || s->o->only > 0)
		return 0;
	/* As in scavenge_add_known(). */
	if (catalogue_entries(s->prefix, &all, &why) < 0 &&
	    why.kind == ERROR_NOMEM)
		rc = error_pass(err, &why);
	/* The restart point of the index, and then the newest one. */
	for (size_t i = 0; i < 2 * all.count && rc == 0; i++) {
		const struct index_entry *e =
			&all.list[i < all.count ? i : i - all.count];

		if (saved ? !is_other_restart(s, e)
			  : e->current != (i < all.count) ||
				    (rc = is_restart(s, e, err)) <= 0)
			continue;
		str_printable(shown, sizeof(shown), e->name ? e->name : "?");
		s->restart = arena_printf(s->arena, "%s (dataset %" PRId64 ")",
					  shown, e->id);
		rc = s->restart == NULL ? error_no_memory(err) : 1;
	}
	catalogue_entries_free(&all);
	return rc < 0 ? -1 : 0;
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

void
scavenge_prune(struct scavenge *s)
{
	struct error err = ERROR_INIT;
	struct index *ix = catalogue_read(s->prefix, &err);
	const struct catalogue_keep keep = { .last = s->o->keep };
	size_t count = 0;
	int64_t *ids = ix == NULL ? NULL
				  : catalogue_prune(s->prefix, ix, &keep,
						    &count, &err);
	const struct delete_listener listener = { report_pruned, s };
	int rc = ix == NULL || count == (size_t)-1 ? -1 : 0;

	if (rc == 0)
		rc = catalogue_prune_check(
			s->prefix, ix, &(struct catalogue_goes){ ids, count },
			&keep, s->o->catalogue, &err);
	if (rc == 0)
		rc = catalogue_delete_all(s->prefix, ids, count,
					  s->o->catalogue, &listener, &err);
	if (rc < 0)
		work_say(s->work, "older checkpoints are not all deleted: %s",
			 err.text);
	mem_free(ids);
	index_free(ix);
}
