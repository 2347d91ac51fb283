/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * whole.c - plans of datasets, and what they mean to the catalogue; the names
 * of their files.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/share.h"
#include "container/packed.h"
#include "error.h"
#include "mem.h"
#include "meta/index.h"
#include "path.h"
#include "rescue/deep.h"
#include "rescue/plan.h"
#include "str.h"
#include "work.h"

/*
 * Files are missing.  If a directory of the dataset was renamed, only the
 * verdict after it is renamed back tells whether the others are lost: with all
 * of them in it the dataset is damaged, else, or if not all could be looked at,
 * unknown.  What can be computed is, unless the directory has it.
 */
static int
weigh_renamed(struct catalogue *c, struct plan *p,
	      const struct catalogue_options *o, struct error *err)
{
	const bool lost = p->verdict == SET_LOST;
	struct catalogue_renamed r = {
		.asks = { c, p->id, .o = o, .all = true }, .sure = !lost
	};
	const char *but = "", *text = NULL;
	int rc = 0;

	if (p->files_missing == 0 || c->weighing)
		return 0;
	c->weighing = true;
	rc = catalogue_find_renamed(p, &r, err);
	c->weighing = false;
	if (rc < 0)
		return -1;
	if (r.files > 0 || (lost && (r.similar > 0 || r.barred))) {
		p->was = r.from;
		p->is = r.to;
	}
	if (p->flaw != NULL || (p->was == NULL && !lost))
		return 0;
	if (p->was != NULL && lost &&
	    (r.lost < p->files_lost || p->maps_lost > 0))
		but = r.similar > 0 ? ", but it has files of another time"
				    : ", but lacks other files";
	if (r.files + r.similar > 0)
		text = arena_printf(
			p->arena,
			"%s: missing, with %zu %s; %s looks like it%s: rename "
			"it back%s",
			str_shown(p->was),
			str_count(r.files + r.similar, "file"),
			str_shown(p->is), but,
			but[0] != '\0' ? " to see what is left" : "");
	else if (r.barred)
		text = arena_printf(p->arena,
				    "%s: missing; %s looks like it, but may "
				    "not be searched: rename it back to see "
				    "what is left",
				    str_shown(r.from), str_shown(r.to));
	else if (r.tired)
		text = "a directory is missing, and there are too many beside "
		       "it to look for its files in";
	else
		return 0;
	return plan_set_flaw(p,
			     p->was != NULL && but[0] == '\0' ? STATUS_DAMAGED
							      : STATUS_FAILED,
			     text, err);
}

/* Files behind a link to nothing may be on a file system that is not mounted.
 */
static int
weigh_dangling(struct plan *p, struct error *err)
{
	char link[PATH_MAX] = "", to[PATH_MAX] = "";
	size_t there = 0;

	for (size_t i = 0; p->flaw == NULL && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];
		bool dangles = f->nsegs > 0;

		if (f->state != FILE_MISSING || f->fate != FATE_LOST ||
		    f->path == NULL)
			continue;
		/* All that is lost of it; the last link goes to `to`. */
		for (size_t k = 0; k < f->nsegs; k++)
			dangles = dangles &&
				  (!f->segs[k].gone ||
				   path_dangles(
					   p->places[0].meta_fd,
					   plan_seg_path(p, &f->segs[k], false),
					   link, to));
		if (!dangles &&
		    (f->nsegs > 0 ||
		     !path_dangles(p->places[0].root_fd, f->path, link, to)))
			return 0;
		there++;
	}
	if (there == 0 || there < p->files_lost || p->maps_lost > 0)
		return 0;
	return plan_set_flaw(
		p, STATUS_FAILED,
		arena_printf(p->arena,
			     "%s: a link to %s, which is missing; it may be on "
			     "a file system that is not mounted",
			     str_shown(link), str_shown(to)),
		err);
}

/* deep_doubt_record(), unless the index has another witness against the files:
 * they were replaced by those of a later dataset. */
int
catalogue_doubt_record(struct catalogue *c, struct plan *p,
		       const struct catalogue_options *o, struct error *err)
{
	const char *doubt = NULL;
	int64_t by = 0;

	if (deep_doubt_record(p, &o->work, &doubt, err) < 0)
		return -1;
	if (doubt == NULL)
		return 0;
	if (catalogue_replaced(c, p->id, o, &by, err) < 0)
		return -1;
	return by > 0 ? 0 : plan_set_flaw(p, STATUS_FAILED, doubt, err);
}

struct plan *
catalogue_plan(struct catalogue *c, int64_t id, unsigned flags,
	       const struct catalogue_options *o, struct error *err)
{
	struct plan_options po = {
		.flags = flags,
		.moved_from = o->moved_from,
		.work = &o->work,
		.index = o->index,
	};
	struct plan_dataset d = {
		.prefix = c->path,
		.prefix_fd = c->prefix_fd,
		.id = id,
	};
	struct error why = ERROR_INIT;
	struct plan *p = NULL;
	struct catalogue_dir at = CATALOGUE_DIR_INIT;
	struct index *read = NULL;

	if (catalogue_dir_open(c, id, &at, err) < 0)
		return NULL;
	d.meta_fd = at.fd;
	/* Or that of the summaries: the names of the other datasets. */
	if (po.index == NULL)
		po.index = read = catalogue_read_quietly(c, NULL);
	po.remade = c->remade;
	p = plan_prefix(&d, &po, &why);
	if (p == NULL && why.kind == ERROR_USAGE && po.moved_from == NULL &&
	    po.index != NULL) {
		/* A remade index has no recorded paths. */
		po.moved_from = index_extra(po.index, id, INDEX_ROOT);
		if (po.moved_from != NULL)
			p = plan_prefix(&d, &po, &why);
	}
	index_free(read);
	close(d.meta_fd);
	if (p != NULL &&
	    (((flags & PLAN_CHECKSUMS) &&
	      catalogue_doubt_record(c, p, o, &why) < 0) ||
	     weigh_renamed(c, p, o, &why) < 0 || weigh_dangling(p, &why) < 0)) {
		plan_free(p);
		p = NULL;
	}
	if (p == NULL)
		error_pass(err, &why);
	return p;
}

struct plan *
catalogue_plan_as(struct catalogue *c, int64_t id,
		  const struct catalogue_options *o, struct error *err)
{
	return catalogue_plan(c, id,
			      (o->deep ? PLAN_HEADERS : PLAN_SCHEMES) |
				      (o->compare ? PLAN_UNPROVED : 0u) |
				      (o->checksums ? PLAN_CHECKSUMS : 0u),
			      o, err);
}

void
catalogue_say_unproved(const struct plan *p, const char *subject,
		       const struct work *work)
{
	size_t sets = 0, skipped = 0;

	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		if (s->map || !redset_is_redundant(s->type))
			continue;
		sets++;
		skipped += s->verdict != SET_WHOLE;
	}
	if (sets == 0)
		work_say(
			work,
			"%s: no redundancy and no recorded checksums: contents "
			"not verified",
			subject);
	else if (skipped > 0)
		work_say(work,
			 "%s: %zu of %zu redundancy %s lost files: contents "
			 "compared only in part",
			 subject, skipped, sets,
			 sets == 1 ? "set has" : "sets have");
}

struct plan *
catalogue_build_plan(struct catalogue *c, int64_t id,
		     const struct catalogue_options *o, struct error *err)
{
	struct plan *p = catalogue_plan_as(c, id, o, err);

	if (p == NULL)
		return NULL;
	plan_sums(p);
	if (!p->copied || plan_sums_copied(p, err) == 0)
		return p;
	plan_free(p);
	return NULL;
}

enum error_remedy
catalogue_plan_mend(const struct plan *p)
{
	static const enum error_remedy again[REDSET_TYPES] = {
		[REDSET_XOR] = REMEDY_XOR,
		[REDSET_PARTNER] = REMEDY_PARTNER,
		[REDSET_RS] = REMEDY_RS,
	};

	if (plan_data_status(p) != STATUS_DAMAGED)
		return REMEDY_NONE;
	if (p->verdict != SET_LOST ||
	    p->files_rebuild + p->red_missing + p->maps_missing > p->maps_lost)
		return REMEDY_INDEX;
	for (size_t i = 0; i < p->nsets; i++)
		if (p->sets[i].verdict == SET_LOST && p->packed)
			return REMEDY_UNPACK;
		else if (p->sets[i].verdict == SET_LOST &&
			 again[p->sets[i].type] != REMEDY_NONE &&
			 plan_protectable(p, p->sets[i].type))
			return again[p->sets[i].type];
	return REMEDY_NONE;
}

enum error_remedy
catalogue_map_flaw(const struct plan *p, char *to, size_t size)
{
	bool incomplete = false, flaw = false, is_long = false;
	char text[ERROR_TEXT_MAX];

	if (p == NULL)
		return REMEDY_NONE;
	/* Containers that are too long are not repacked. */
	is_long = plan_long_container(p, text, sizeof(text));
	flaw = plan_map_flaw(p, to, size, &incomplete);
	if (!flaw && is_long)
		snprintf(to, size, "%s", text);
	return incomplete ? REMEDY_FORCE
	       : is_long  ? REMEDY_UNPACK
	       : flaw	  ? REMEDY_REPACK
			  : REMEDY_NONE;
}

int
catalogue_check_given_up(const struct catalogue_dir *d,
			 const struct catalogue_desc *desc, struct error *err)
{
	/* Some rank called SCR_Complete_output with valid = 0.  No file needs
	 * to show it (scr-dataset(5)). */
	if (desc->view.complete != 0)
		return 0;
	return error_set(err, ERROR_LOST,
			 "%s: the job declared it invalid (COMPLETE is "
			 "0 in its descriptor)",
			 d->name);
}

bool
catalogue_is_verdict(const struct error *why)
{
	return why->kind != ERROR_SYSTEM && why->kind != ERROR_NOMEM;
}

/* --- The names in the metadata of one dataset --- */

/* rank2file is damaged: are the files of all ranks known nevertheless? */
static int
all_named(const struct plan *p, const char *flaw, struct error *why)
{
	for (int64_t i = 0; i < p->nranks; i++)
		if (!p->ranks[i].map_known)
			return error_set(why, ERROR_CORRUPT, "%s", flaw);
	return 0;
}

int
catalogue_names_read(struct catalogue *c, const struct catalogue_dir *d,
		     bool both, const struct catalogue_options *o,
		     struct catalogue_names *n, struct error *why)
{
	struct error local = ERROR_INIT;

	memset(n, 0, sizeof(*n));
	if (both)
		n->plan = catalogue_plan(c, d->id, 0, o, &local);
	if (n->plan != NULL) {
		n->r2f = plan_rank2file(n->plan, NULL);
		return n->r2f != NULL && n->r2f->flaw != NULL
			       ? all_named(n->plan, n->r2f->flaw, why)
			       : 0;
	}
	if (!catalogue_is_verdict(&local))
		return error_pass(why, &local);
	if (rank2file_load(d->fd, RANK2FILE_FILE, &n->own, why) == 0)
		n->r2f = &n->own;
	if (n->r2f != NULL || !catalogue_is_verdict(why))
		return n->r2f != NULL ? 0 : -1;
	if (!both)
		n->plan = catalogue_plan(c, d->id, 0, o, &local);
	if (!catalogue_is_verdict(&local))
		return error_pass(why, &local);
	if (n->plan != NULL) {
		local = *why;
		return local.kind == ERROR_ABSENT
			       ? 0
			       : all_named(n->plan, local.text, why);
	}
	if (local.kind != ERROR_ABSENT && (both || why->kind == ERROR_ABSENT))
		*why = local;
	return why->kind == ERROR_ABSENT ? 0 : why->kind == ERROR_LOST ? 1 : -1;
}

void
catalogue_names_free(struct catalogue_names *n)
{
	plan_free(n->plan);
	rank2file_free(&n->own);
}

int
catalogue_names_of(struct catalogue *c, int64_t id,
		   const struct catalogue_options *o, struct catalogue_names *n,
		   struct error *why)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	int rc = 0;

	*n = (struct catalogue_names){ .r2f = NULL };
	if (catalogue_dir_open(c, id, &d, why) < 0)
		return why->kind == ERROR_ABSENT ? 0 : -1;
	rc = catalogue_names_read(c, &d, false, o, n, why);
	catalogue_dir_close(&d);
	return rc < 0 ? -1 : 0;
}

const struct rank2file_file *
catalogue_names_next(struct catalogue_names *n)
{
	const struct plan_file *f = NULL;

	for (; n->r2f != NULL && n->rank < n->r2f->nranks; n->rank++) {
		const struct rank2file_rank *r = &n->r2f->ranks[n->rank];

		if (n->at < r->nfiles)
			return &r->files[n->at++];
		n->at = 0;
	}
	if (n->plan == NULL || n->at == n->plan->nfiles)
		return NULL;
	f = &n->plan->files[n->at++];
	n->file = (struct rank2file_file){
		.path = f->path,
		.has_size = f->attr.has_size,
		.size = f->attr.size,
		.has_crc = f->has_crc,
		.crc = f->crc,
		.nsegs = f->nsegs,
	};
	return &n->file;
}
