/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_find.c - open packed datasets by name, and determine what their
 * redundancy can repair.
 */
#include <inttypes.h>

#include "buf.h"
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
	struct error why = ERROR_INIT;
	struct index *ix = NULL;
	int rc = -1;

	if (packed_is_old(c->prefix_fd, what))
		return packed_open(p, &where, lock, &o->work, err);
	ix = catalogue_read(c, NULL);
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
	rc = packed_open(p, &where, lock, &o->work, &why);
	if (rc < 0)
		error_pass(err, &why);
out:
	index_free(ix);
	return rc;
}

int
catalogue_packed_outlook(struct catalogue *c, const struct packed *p,
			 const struct packed_health *h,
			 const struct catalogue_options *o, struct buf *text,
			 struct error *err)
{
	struct error why = ERROR_INIT;
	struct plan *plan = NULL;
	struct map *by = NULL;
	int status = STATUS_LOST, rc = 0;

	if (p->layout == 3 && h->map_flaws == 0)
		plan = catalogue_plan(c, p->id, PLAN_HEADERS, o, &why);
	by = plan == NULL ? NULL : segmap_by_path(&p->map);
	for (size_t i = 0; by != NULL && i < plan->nfiles && rc == 0; i++) {
		size_t at = map_get(by, plan->files[i].path);

		if (at != MAP_NONE && h->bad[at] &&
		    plan->files[i].state == FILE_PRESENT)
			rc = plan_mark(plan, i, FILE_WRONG_CRC, err);
	}
	map_free(by);
	if (plan != NULL && rc == 0 && plan_status(plan) != STATUS_LOST)
		status = STATUS_DAMAGED;
	if (h->files_bad == 0 && h->map_flaws == 0)
		status = STATUS_DAMAGED; /* all data are present */
	plan_free(plan);
	if (rc < 0)
		return error_status(err->kind);
	if (status == STATUS_DAMAGED && h->files_bad + h->hidden_bad == 0 &&
	    !h->unfinished)
		rc = buf_add_str(text, "all data are there\n");
	else if (status == STATUS_DAMAGED)
		rc = buf_printf(
			text, "%s: scr_rebuild %s %" PRId64 "\n",
			h->files_bad == 0 ? "all data are there"
					  : "its redundancy can repair it",
			h->hidden_bad > 0 ? "--deep" : "--checksums", p->id);
	else
		rc = buf_add_str(text, "no redundancy can repair it\n");
	return rc < 0 ? error_status(ERROR_NOMEM) : status;
}
