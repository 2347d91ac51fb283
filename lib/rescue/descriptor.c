/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor.c - read the descriptors of a dataset, and choose.
 *
 * A scavenge leaves the descriptor beside the files that it copied: flush.scr
 * may be that of another job with a dataset of this number, so the copied one
 * goes before it.  The summary is written last, when the files of the dataset
 * are in place: it goes before one of another time.  But a summary that both
 * flush.scr and the index contradict was put there later.
 */
#include "rescue/descriptor.h"

#include <inttypes.h>

#include "kvtree/kvtree.h"
#include "meta/copied.h"
#include "meta/dataset_dir.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "meta/summary.h"
#include "rescue/rescue_impl.h"
#include "str.h"

/* --- Reading --- */

int
descriptor_read(const struct kvtree *desc, int64_t id, const char *name,
		struct dataset *view, struct error *err)
{
	if (dataset_read(desc, view, err) < 0)
		return -1;
	if (view->name == NULL)
		view->name = name;
	if (view->id != id)
		return error_set(err, ERROR_CORRUPT,
				 "the descriptor is that of dataset %" PRId64,
				 view->id);
	if (view->name != NULL && !dataset_name_ok(view->name))
		return error_set(err, ERROR_CORRUPT,
				 "\"%s\" is not a valid name of a dataset",
				 str_shown(view->name));
	return 0;
}

/* Take the descriptor `desc`, in d->tree. */
static void
take(struct descriptor *d, const struct kvtree *desc, const char *name,
     int64_t id)
{
	if (descriptor_read(desc, id, name, &d->view, &d->why) == 0)
		d->desc = desc;
}

struct copied_search {
	struct descriptor *d;
	int64_t id;
};

/* 1: done.  A descriptor that is not usable is ignored. */
static int
take_copied(void *arg, const struct kvtree *desc, struct error *err)
{
	const struct copied_search *s = arg;
	struct descriptor *d = s->d;

	error_clear(&d->why);
	d->tree = kvtree_new(err);
	if (d->tree == NULL || kvtree_merge(d->tree, desc, err) < 0)
		return -1;
	take(d, d->tree, NULL, s->id);
	if (d->why.kind == ERROR_NONE)
		return 1;
	kvtree_free(d->tree);
	d->tree = NULL;
	return 0;
}

/* The entry in the index is written after all else. */
static void
ask_index(const struct descriptor_at *at, struct descriptor *d, bool *complete)
{
	const struct index *ix = at->index;
	struct index *own = NULL;
	struct kvtree *t = NULL;
	struct index_entry e;

	if (ix == NULL)
		t = kvtree_read_beneath(at->prefix_fd, SCR_DIR "/" INDEX_FILE,
					NULL, &d->why);
	if (t != NULL)
		ix = own = index_from_tree(t, &d->why);
	if (ix != NULL && index_find_id(ix, at->id, &e, &d->why) == 0) {
		/* The index may not outlive this. */
		d->tree = kvtree_new(&d->why);
		if (d->tree != NULL &&
		    kvtree_merge(d->tree, index_desc(ix, at->id), &d->why) ==
			    0 &&
		    (kvtree_get(d->tree, "NAME") != NULL || e.name == NULL ||
		     kvtree_set(d->tree, "NAME", e.name, &d->why) == 0))
			take(d, d->tree, NULL, at->id);
		*complete = e.complete == 1 || e.replaced > 0;
	}
	index_free(own);
}

/* --- Choosing --- */

static bool
usable(const struct descriptors *all, enum descriptor_source s)
{
	return all->from[s].tree != NULL && all->from[s].why.kind == ERROR_NONE;
}

/* When the dataset was created; 0: unknown. */
static int64_t
created(const struct descriptors *all, enum descriptor_source s)
{
	const int64_t us = s < DESCRIPTOR_SOURCES && usable(all, s)
				   ? all->from[s].view.created_us
				   : 0;

	return us > 0 ? us : 0;
}

/* Has the source another time of creation than the summary? */
static bool
contradicts(const struct descriptors *all, enum descriptor_source from)
{
	const int64_t is = created(all, DESCRIPTOR_SUMMARY);

	return is > 0 && created(all, from) > 0 && created(all, from) != is;
}

static int
ask_all(const struct descriptor_at *at, struct descriptors *all, bool *listed,
	struct error *err)
{
	struct descriptor *from = all->from, *copied = &from[DESCRIPTOR_COPIED];
	struct descriptor *flush = &from[DESCRIPTOR_FLUSH];
	struct descriptor *summary = &from[DESCRIPTOR_SUMMARY];
	struct flush_entry e;
	struct summary s;
	struct error why = ERROR_INIT;

	summary->tree = summary_load(at->meta_fd, SUMMARY_FILE, NULL, &s,
				     &summary->why);
	if (summary->tree != NULL) {
		if (s.desc != NULL)
			take(summary, s.desc, NULL, at->id);
		else
			error_set(&summary->why, ERROR_CORRUPT,
				  "no descriptor");
		/* Without a descriptor it may be that of this dataset; files of
		 * a complete dataset may have been replaced. */
		all->summary =
			summary->why.kind == ERROR_NONE || s.desc == NULL;
		all->complete =
			all->summary && (s.complete == 1 || s.replaced > 0);
	}
	flush->tree = kvtree_read_beneath(at->prefix_fd, SCR_DIR "/" FLUSH_FILE,
					  NULL, &flush->why);
	if (flush->tree != NULL &&
	    flush_find(flush->tree, at->id, &e, &flush->why) == 0) {
		if (e.desc != NULL)
			take(flush, e.desc, e.name, at->id);
		else /* fetched datasets have none */
			error_set(&flush->why, ERROR_ABSENT, "no descriptor");
	}
	error_set(&copied->why, ERROR_ABSENT, "not read");
	error_set(&from[DESCRIPTOR_ENTRY].why, ERROR_ABSENT, "not read");
	if (usable(all, DESCRIPTOR_FLUSH) || !usable(all, DESCRIPTOR_SUMMARY)) {
		error_set(&copied->why, ERROR_ABSENT, "no descriptor");
		if (copied_each_desc(at->meta_fd, at->meta, take_copied,
				     &(struct copied_search){ copied, at->id },
				     &why) < 0)
			error_pass(&copied->why, &why);
	}
	if (!usable(all, DESCRIPTOR_SUMMARY) ||
	    contradicts(all, DESCRIPTOR_FLUSH)) {
		error_clear(&from[DESCRIPTOR_ENTRY].why);
		ask_index(at, &from[DESCRIPTOR_ENTRY], listed);
	}
	for (int i = 0; i < DESCRIPTOR_SOURCES; i++) {
		const struct error *is = &from[i].why;

		if (is->kind != ERROR_NONE && is->kind != ERROR_ABSENT &&
		    !plan_blames_file(is))
			return error_pass(err, is);
	}
	return 0;
}

int
descriptors_read(const struct descriptor_at *at, struct descriptors *out,
		 struct error *err)
{
	enum descriptor_source first = DESCRIPTOR_FLUSH;
	bool listed = false;

	*out = (struct descriptors){ .chosen = DESCRIPTOR_SOURCES,
				     .later = DESCRIPTOR_SOURCES };
	if (ask_all(at, out, &listed, err) < 0)
		return -1;
	if (usable(out, DESCRIPTOR_COPIED) &&
	    (!usable(out, DESCRIPTOR_FLUSH) ||
	     dataset_differs(&out->from[DESCRIPTOR_FLUSH].view,
			     &out->from[DESCRIPTOR_COPIED].view)))
		first = DESCRIPTOR_COPIED;
	/* One with name and time goes before one with a name alone, and that
	 * before one without. */
	for (int need = 2; need >= 0; need--)
		for (int i = first; i < DESCRIPTOR_SOURCES; i++)
			if (out->chosen == DESCRIPTOR_SOURCES &&
			    usable(out, i) &&
			    (need < 1 || out->from[i].view.name != NULL) &&
			    (need < 2 || created(out, i) > 0))
				out->chosen = i;
	if (contradicts(out, first) &&
	    created(out, DESCRIPTOR_ENTRY) == created(out, first)) {
		out->summary = false;
	} else if (contradicts(out, first)) {
		out->chosen = DESCRIPTOR_SUMMARY;
		if (created(out, first) > created(out, DESCRIPTOR_SUMMARY))
			out->later = first;
	}
	/* The index lists the dataset here, unless a later one came. */
	if (!out->summary)
		out->complete =
			listed && created(out, out->chosen) ==
					  created(out, DESCRIPTOR_ENTRY);
	return 0;
}

void
descriptors_free(struct descriptors *d)
{
	for (int i = 0; i < DESCRIPTOR_SOURCES; i++)
		kvtree_free(d->from[i].tree);
	*d = (struct descriptors){ .chosen = DESCRIPTOR_SOURCES };
}
