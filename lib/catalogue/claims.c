/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claims.c - the files of a dataset that can be deleted with it.
 */
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "rescue/plan.h"
#include "str.h"
#include "work.h"

/* Maximum number of refused paths that are reported individually. */
#define REPORTED_MAX 5

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

/* --- The files of one dataset --- */

static int
claim(struct catalogue_claims *k, const char *path, struct error *err)
{
	/* Other paths mean that the metadata are wrong or malicious. */
	if (path == NULL || !dataset_dir_is_data(path)) {
		if (k->refused++ < REPORTED_MAX)
			work_say(k->work,
				 "%s: not below the prefix, not removed",
				 str_shown(path != NULL ? path : "?"));
		return 0;
	}
	if (map_get(k->by_path, path) != MAP_NONE)
		return 0;
	if (!MEM_ROOM(k->list, k->count, k->cap) ||
	    map_put(k->by_path, path, k->count) < 0)
		return error_no_memory(err);
	k->list[k->count++] = (struct claim){ .path = path };
	return 0;
}

int
catalogue_claims_init(struct catalogue *c, const struct catalogue_dir *d,
		      const struct catalogue_options *o,
		      struct catalogue_claims *out, struct error *err)
{
	const struct rank2file_file *f = NULL;
	struct error why = ERROR_INIT;
	int rc = -1;

	*out = (struct catalogue_claims){ .work = &o->work,
					  .by_path = map_new() };
	rc = catalogue_names_read(c, d, true, o, &out->names, &why);
	if (rc > 0) {
		work_say(&o->work,
			 "%s: its segment map is lost: only files in this "
			 "directory are removed",
			 d->name);
		return 0;
	}
	if (rc < 0 && !catalogue_is_verdict(&why))
		error_pass(err, &why);
	else if (rc < 0)
		error_set(err, ERROR_CORRUPT, "%s: cannot list its files: %s",
			  d->name, why.text);
	else if (out->by_path == NULL)
		rc = error_no_memory(err);
	while (rc == 0 && (f = catalogue_names_next(&out->names)) != NULL)
		rc = claim(out, f->path, err);
	if (rc < 0)
		catalogue_claims_fini(out);
	return rc;
}

void
catalogue_claims_fini(struct catalogue_claims *k)
{
	map_free(k->by_path);
	mem_free(k->list);
	catalogue_names_free(&k->names);
	*k = (struct catalogue_claims){ .work = k->work };
}
