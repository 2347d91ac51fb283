/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_find.c - open packed datasets by name, and determine what their
 * redundancy can repair.
 */
#include "catalogue/catalogue_impl.h"
#include "container/packed.h"
#include "error.h"
#include "map.h"
#include "meta/index.h"

/* Try a directory of layout 1 first: in the index of SCR 1.1.8, the name of a
 * dataset is its directory. */
int
catalogue_packed_open(struct catalogue *c, const char *what, bool lock,
		      const struct catalogue_options *o, struct packed *p,
		      struct error *err)
{
	struct packed_where where = { .prefix_fd = c->prefix_fd, .old = what };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct index_entry e = { .name = NULL };
	const struct index *ix = NULL;
	struct index *read = NULL;
	int rc = -1;

	if (packed_is_old(c->prefix_fd, what))
		return packed_open(p, &where, lock, &o->work, err);
	ix = catalogue_index(c, o, &read);
	where.id = catalogue_resolve(c, ix, what, err);
	if (where.id < 0)
		goto out;
	if (ix != NULL && index_find_id(ix, where.id, &e, NULL) < 0)
		e.name = NULL;
	where.name = e.name;
	where.old = NULL;
	if (e.name != NULL && catalogue_dir_open(c, where.id, &d, NULL) < 0 &&
	    packed_is_old(c->prefix_fd, e.name))
		where.old = e.name;
	catalogue_dir_close(&d);
	rc = packed_open(p, &where, lock, &o->work, err);
out:
	index_free(read);
	return rc;
}

int
catalogue_packed_outlook(struct catalogue *c, const struct packed *p,
			 const struct packed_health *h,
			 const struct catalogue_options *o, struct error *err)
{
	struct plan *plan = NULL;
	struct map *by = NULL;
	int status = STATUS_LOST, rc = 0;

	if (h->files_bad == 0 && h->map_flaws == 0)
		return STATUS_DAMAGED; /* all data are present */
	if (p->layout == 3 && h->map_flaws == 0)
		plan = catalogue_plan(c, p->id, PLAN_HEADERS, o, NULL);
	by = plan == NULL ? NULL : segmap_by_path(&p->map);
	for (size_t i = 0; by != NULL && i < plan->nfiles && rc == 0; i++) {
		size_t at = map_get(by, plan->files[i].path);

		if (at != MAP_NONE && h->bad[at] &&
		    plan->files[i].state == FILE_PRESENT)
			rc = plan_mark(plan, i, FILE_WRONG_CRC, err);
	}
	map_free(by);
	if (rc < 0)
		status = error_status(err->kind);
	else if (plan != NULL && plan_status(plan) != STATUS_LOST)
		status = STATUS_DAMAGED;
	plan_free(plan);
	return status;
}
