/* SPDX-License-Identifier: BSD-3-Clause */
#include "catalogue/protect.h"

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

struct mapping {
	const struct packed *p;
	const char *root; /* absolute path of the prefix */
	struct buf path, dir;
};

static int
add_file(struct mapping *m, size_t i, struct kvtree *t, struct error *err)
{
	const struct segmap_file *f = &m->p->map.files[i];
	struct filemap_file e = {
		.complete = true,
		.ranks = (int64_t)m->p->r2f.nranks,
		.has_crc = f->has_crc,
		.crc = f->crc,
		.name = path_base(f->path),
	};

	if (packed_attr(m->p, i, NULL, &e.attr, err) < 0)
		return -1;
	path_join(&m->path, m->root, f->path, NULL);
	path_join(&m->dir, m->root, f->path, NULL);
	if (!e.attr.has_size) {
		e.attr.has_size = true;
		e.attr.size = f->size;
	}
	m->dir.data[path_base(m->dir.data) - m->dir.data - 1] = '\0';
	e.cache_path = e.orig = m->path.data;
	e.dir = m->dir.data;
	return filemap_add(t, &e, err);
}

/* Write the filemap of one rank, whose files are `first` to `end` - 1. */
static int
write_map(struct mapping *m, uint32_t rank, size_t first, size_t end,
	  struct error *err)
{
	struct kvtree *t = kvtree_new(NULL);
	int rc = 0;

	/* Our own key: the path of the prefix. */
	(void)kvtree_set(t, "PREFIX", m->root, NULL);
	(void)kvtree_put(t, "FILE", NULL);
	for (size_t i = first; i < end && rc == 0; i++)
		rc = add_file(m, i, t, err);
	if (rc == 0)
		rc = kvtree_write_file(t, m->p->meta_fd, filemap_str(rank),
				       err);
	kvtree_free(t);
	return rc;
}

/* Write the filemaps that the plan has not read: without a plan, all. */
static int
write_maps(struct catalogue *c, int64_t id, const struct plan *plan,
	   const struct catalogue_options *o, struct error *err)
{
	struct mapping m = { .path = BUF_INIT, .dir = BUF_INIT };
	struct buf root = BUF_INIT;
	struct packed p;
	size_t at = 0;
	int rc = -1;

	if (catalogue_packed_open(c, word_id_str(id), false, o, &p, err) < 0)
		return -1;
	if (p.layout != 3)
		error_set(err, ERROR_USAGE,
			  "%s: this layout has no place for redundancy",
			  p.name);
	else
		rc = path_real(catalogue_path(c), &root, err);
	m.p = &p;
	m.root = root.data;
	for (uint32_t r = 0; r < p.r2f.nranks && rc == 0; r++) {
		size_t first = at;

		while (at < p.map.nfiles && p.map.files[at].rank == r)
			at++;
		if (plan == NULL || r >= plan->nranks ||
		    !plan->ranks[r].map_known || plan->ranks[r].composed)
			rc = write_map(&m, r, first, at, err);
	}
	buf_free(&m.path);
	buf_free(&m.dir);
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

/* Make a plan; write the filemaps first if any are missing. */
static struct plan *
make_plan(struct catalogue *c, int64_t id, const struct catalogue_options *o,
	  struct error *err)
{
	struct error why = ERROR_INIT;
	struct plan *p =
		right_plan(c, id, PLAN_HEADERS | PLAN_CHECKSUMS, o, &why);
	bool some = p == NULL && why.kind == ERROR_ABSENT;

	for (int64_t i = 0; p != NULL && p->nsets == 0 && i < p->nranks; i++)
		some = some || !p->ranks[i].map_known || p->ranks[i].composed;
	if (!some) {
		if (p == NULL)
			error_pass(err, &why);
		return p;
	}
	if (o->work.dry_run)
		error_set(err, ERROR_USAGE,
			  "dataset %" PRId64
			  ": lacks filemaps: without --dry-run they are "
			  "written first, and then the redundancy",
			  id);
	else
		some = write_maps(c, id, p, o, err) < 0;
	plan_free(p);
	return some ? NULL : right_plan(c, id, PLAN_HEADERS, o, err);
}

int
protect(struct catalogue *c, int64_t id, const struct protect_options *po,
	struct rebuild_result *out, struct error *err)
{
	const struct catalogue_options *o = po->o;
	const struct rebuild_options ro = { .work = &o->work };
	struct plan *p = NULL;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (catalogue_refuse_replaced(c, id, o, err) < 0)
		return -1;
	p = make_plan(c, id, o, err);
	if (p == NULL)
		return -1;
	if (plan_protect(p, po->type, po->set_size, po->failures, err) == 0)
		rc = rebuild(p, &ro, out, err);
	plan_free(p);
	return rc;
}
