/* SPDX-License-Identifier: BSD-3-Clause */
#include "catalogue/catalogue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "container/packed.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "meta/filemap.h"
#include "path.h"
#include "rescue/plan.h"

/* --- Filemaps --- */

/* Add file `i`; `root`: absolute path of the prefix. */
static int
add_file(const struct packed *p, size_t i, const char *root, struct kvtree *t,
	 struct error *err)
{
	const struct segmap_file *f = &p->map.files[i];
	struct buf path = BUF_INIT, dir = BUF_INIT;
	struct filemap_file e = {
		.complete = true,
		.ranks = (int64_t)p->r2f.nranks,
		.has_crc = f->has_crc,
		.crc = f->crc,
		.name = path_base(f->path),
	};
	int rc = packed_attr(p, i, NULL, &e.attr, err);

	path_join(&path, root, f->path, NULL);
	path_join(&dir, root, f->path, NULL);
	if (!e.attr.has_size) {
		e.attr.has_size = true;
		e.attr.size = f->size;
	}
	dir.data[path_base(dir.data) - dir.data - 1] = '\0';
	e.cache_path = e.orig = path.data;
	e.dir = dir.data;
	if (rc == 0)
		rc = filemap_add(t, &e, err);
	buf_free(&path);
	buf_free(&dir);
	return rc;
}

/* Write the filemaps that the plan has not read: without a plan, all. */
static int
write_maps(struct catalogue *c, int64_t id, const struct plan *plan,
	   const struct catalogue_options *o, struct error *err)
{
	struct buf root = BUF_INIT;
	struct packed p;
	size_t at = 0;
	int rc = -1;

	if (catalogue_packed_open(c, word_id_str(id), NULL, o, &p, err) < 0)
		return -1;
	if (p.layout != 3)
		error_set(err, ERROR_USAGE,
			  "%s: this layout has no place for redundancy",
			  p.name);
	else
		rc = path_real(catalogue_path(c), &root, err);
	for (uint32_t r = 0; r < p.r2f.nranks && rc == 0; r++) {
		const bool known = plan != NULL && r < plan->nranks &&
				   plan->ranks[r].map_known &&
				   !plan->ranks[r].composed;
		struct kvtree *t = kvtree_new(NULL);

		/* Our own key: the path of the prefix. */
		(void)kvtree_set(t, "PREFIX", root.data, NULL);
		(void)kvtree_put(t, "FILE", NULL);
		for (; at < p.map.nfiles && p.map.files[at].rank == r; at++)
			if (rc == 0 && !known)
				rc = add_file(&p, at, root.data, t, err);
		if (rc == 0 && !known)
			rc = kvtree_write_file(t, p.meta_fd, filemap_str(r),
					       err);
		kvtree_free(t);
	}
	buf_free(&root);
	packed_close(&p);
	return rc;
}

/* --- Entry point --- */

/* No redundancy is made of what is known to be wrong. */
static struct plan *
right_plan(struct catalogue *c, int64_t id, unsigned flags,
	   const struct catalogue_options *o, struct error *err)
{
	struct plan *p = catalogue_plan(c, id, flags, o, err);

	if (p != NULL && (p->flaw != NULL || p->files_missing > 0) &&
	    plan_error(p, err) < 0) {
		plan_free(p);
		p = NULL;
	}
	return p;
}

int
protect(struct catalogue *c, int64_t id, const struct protect_options *po,
	struct rebuild_result *out, struct error *err)
{
	const struct catalogue_options *o = po->o;
	const struct rebuild_options ro = { .work = &o->work };
	struct error why = ERROR_INIT;
	struct plan *p = NULL;
	bool some = false; /* filemaps are missing: write them first */
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (catalogue_refuse_replaced(c, id, o, err) < 0)
		return -1;
	p = right_plan(c, id, PLAN_HEADERS | PLAN_CHECKSUMS, o, &why);
	some = p == NULL && why.kind == ERROR_ABSENT;
	for (int64_t i = 0; p != NULL && p->nsets == 0 && i < p->nranks; i++)
		some = some || !p->ranks[i].map_known || p->ranks[i].composed;
	if (some && o->work.dry_run)
		error_set(err, ERROR_USAGE,
			  "dataset %" PRId64
			  ": lacks filemaps: without --dry-run they are "
			  "written first, and then the redundancy",
			  id);
	else if (some)
		rc = write_maps(c, id, p, o, err);
	else if (p == NULL)
		error_pass(err, &why);
	if (some || p == NULL) {
		plan_free(p);
		p = rc == 0 ? right_plan(c, id, PLAN_HEADERS, o, err) : NULL;
	}
	rc = -1;
	if (p != NULL &&
	    plan_protect(p, po->type, po->set_size, po->failures, err) == 0)
		rc = rebuild(p, &ro, out, err);
	plan_free(p);
	return rc;
}
