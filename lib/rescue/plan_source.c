/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_source.c - the sources of a plan: the directory of a dataset on the
 * prefix with its containers, directories of caches, redundancy files given by
 * hand, or reports of processes.  Each constructor ends in plan_make().
 */
#include <fcntl.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "rescue/plan_impl.h"
#include "work.h"

static const struct plan_options no_options = { .flags = 0 };

static struct planner *
planner_new(const struct plan_options *o, size_t nplaces, struct error *err)
{
	struct planner *w = mem_calloc(1, sizeof(*w));

	if (w == NULL) {
		error_no_memory(err);
		return NULL;
	}
	w->o = o != NULL ? o : &no_options;
	w->work = work_or_default(w->o->work);
	w->p.arena = arena_new();
	w->p.places = mem_calloc(nplaces, sizeof(*w->p.places));
	if (w->p.arena == NULL || w->p.places == NULL) {
		error_no_memory(err);
		plan_free(&w->p);
		return NULL;
	}
	return w;
}

/* Return the finished plan, or free it if rc < 0.  Options are borrowed only
 * while the plan is made: the caller's thread pool may be gone at the next
 * call. */
static struct plan *
made(struct planner *w, int rc)
{
	if (rc < 0) {
		plan_free(&w->p);
		return NULL;
	}
	w->o = &no_options;
	w->work = work_or_default(NULL);
	w->par = NULL;
	return &w->p;
}

/* --- Directories --- */

/* Open directory `path` as given, and keep its name. */
static int
open_dir(struct planner *w, const char *path, int *fd, const char **name,
	 struct error *err)
{
	*fd = dir_open(AT_FDCWD, path);
	if (*fd < 0)
		return error_sys(err, "%s: cannot open", path);
	*name = arena_strdup(w->p.arena, path);
	return *name == NULL ? error_no_memory(err) : 0;
}

static struct place *
add_place(struct planner *w)
{
	struct place *pl = &w->p.places[w->p.nplaces++];

	pl->root_fd = pl->meta_fd = -1;
	return pl;
}

static int
add_cache(struct planner *w, const char *dir, struct error *err)
{
	struct place *pl = add_place(w);

	pl->cache = true;
	if (open_dir(w, dir, &pl->root_fd, &pl->root, err) < 0)
		return -1;
	pl->meta = arena_printf(w->p.arena, "%s/.scr", dir);
	if (pl->meta == NULL)
		return error_no_memory(err);
	pl->meta_fd = path_open_dir(pl->root_fd, ".scr", err);
	return pl->meta_fd < 0 ? error_wrap(err, "%s", dir) : 0;
}

/* Add a place whose directories the caller has open. */
static int
add_open_place(struct planner *w, const struct plan_dataset *d,
	       struct error *err)
{
	struct place *pl = add_place(w);

	pl->root_fd = fcntl(d->prefix_fd, F_DUPFD_CLOEXEC, 0);
	pl->meta_fd = fcntl(d->meta_fd, F_DUPFD_CLOEXEC, 0);
	if (pl->root_fd < 0 || pl->meta_fd < 0)
		return error_sys(err, "%s: cannot duplicate descriptor",
				 d->prefix);
	pl->root = arena_strdup(w->p.arena, d->prefix);
	pl->meta = arena_printf(w->p.arena, "%s/" SCR_DIR "/" DATASET_DIR_FMT,
				d->prefix, d->id);
	return pl->root == NULL || pl->meta == NULL ? error_no_memory(err) : 0;
}

struct plan *
plan_prefix(const struct plan_dataset *d, const struct plan_options *o,
	    struct error *err)
{
	struct planner *w = planner_new(o, 1, err);
	int rc = -1;

	if (w == NULL)
		return NULL;
	w->p.id = d->id;
	if (add_open_place(w, d, err) == 0 && plan_owner_load(w, err) == 0 &&
	    plan_load_packed(w, err) == 0 && plan_scan_dir(w, 0, err) == 0 &&
	    plan_scan_packed(w, err) == 0 && plan_record_load(w, err) == 0)
		rc = plan_make(w, err);
	return made(w, rc);
}

struct plan *
plan_caches(const char *const *dirs, size_t ndirs, const struct plan_options *o,
	    struct error *err)
{
	struct planner *w = planner_new(o, ndirs ? ndirs : 1, err);
	const char *dir = NULL;
	int rc = -1;

	if (w == NULL)
		return NULL;
	w->p.id = -1;
	for (size_t i = 0; i < ndirs; i++) {
		dir = path_normal_in(w->p.arena, "", dirs[i], err);
		if (dir == NULL || add_cache(w, dirs[i], err) < 0 ||
		    plan_scan_dir(w, (uint32_t)i, err) < 0)
			return made(w, -1);
		if (w->p.id < 0)
			w->p.id = dataset_dir_id(path_base(dir));
	}
	if (ndirs == 0)
		error_set(err, ERROR_USAGE, "no cache directory given");
	else
		rc = plan_make(w, err);
	return made(w, rc);
}

/* *id: the dataset id in the name of the directory, or -1 if the name has
 * none. */
static int
id_of_dir(const char *dir, int64_t *id, struct error *err)
{
	struct buf real = BUF_INIT;

	if (path_real(dir, &real, err) < 0)
		return -1;
	*id = dataset_dir_id(path_base(real.data));
	buf_free(&real);
	return 0;
}

struct plan *
plan_files(const struct plan_by_hand *h, const struct plan_options *o,
	   struct error *err)
{
	struct plan_options all = o != NULL ? *o : no_options;
	struct planner *w = NULL;
	struct place *pl = NULL;
	const char *root = NULL;
	int rc = -1;

	all.flags |= PLAN_HEADERS;
	w = planner_new(&all, 1, err);
	if (w == NULL)
		return NULL;
	w->p.id = -1;
	w->by_hand = true;
	w->maps_only = h->map;
	w->bare = h->prefix == NULL && !h->map;
	pl = add_place(w);
	root = h->prefix != NULL && !h->map ? h->prefix : h->dir;
	if (open_dir(w, h->dir, &pl->meta_fd, &pl->meta, err) < 0 ||
	    id_of_dir(h->dir, &w->p.id, err) < 0 ||
	    open_dir(w, root, &pl->root_fd, &pl->root, err) < 0)
		goto out;
	if (!w->bare && plan_scan_dir(w, 0, err) < 0)
		goto out;
	w->nreds = 0; /* only the files named take part */
	for (size_t i = 0; i < h->nnames; i++)
		if (plan_scan_name(w, h->names[i], h->map, err) < 0)
			goto out;
	rc = plan_make(w, err);
out:
	return made(w, rc);
}

/* --- Reports --- */

/* Add the filemap and redundancy files of a report. */
static int
add_report(struct planner *w, const struct plan_report *r, struct error *err)
{
	if (r->map != NULL && plan_add_map(w, r, err) < 0)
		return -1;
	for (size_t i = 0; i < r->nreds; i++)
		if (plan_add_red(w, &r->reds[i], err) < 0)
			return -1;
	return 0;
}

struct plan *
plan_reports(int64_t id, const struct plan_report *reports, size_t n,
	     const struct plan_options *o, struct error *err)
{
	struct plan_options all = o != NULL ? *o : no_options;
	struct planner *w = NULL;
	int rc = 0;

	all.flags |= PLAN_HEADERS; /* headers cannot be read later: the reports
				      are the caller's */
	w = planner_new(&all, 1, err);
	if (w == NULL)
		return NULL;
	w->p.id = id;
	w->reported = true;
	w->p.places[w->p.nplaces++] = (struct place){
		.root = "reports of ranks",
		.meta = "reports of ranks",
		.root_fd = -1,
		.meta_fd = -1,
		.cache = true,
	};
	w->reports = reports;
	w->nreports = n;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = add_report(w, &reports[i], err);
	if (rc == 0)
		rc = plan_make(w, err);
	w->reports = NULL; /* owned by the caller */
	return made(w, rc);
}

void
plan_red_image(const struct plan_member *m, struct plan_red_image *out)
{
	const struct plan_red *r = m->red;

	*out = (struct plan_red_image){
		.body_start = r->body_start,
		.body_size = r->body_size,
		.header = r->header,
		.header_size = r->header_size,
		.descriptor_name = r->descriptor.name,
		.descriptor = r->descriptor.image,
		.descriptor_size = r->descriptor.image_size,
	};
}
