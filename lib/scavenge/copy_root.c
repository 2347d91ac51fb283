/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_root.c - convert the absolute paths in filemaps to paths below the
 * prefix.  The prefix may have another path now: another name of the same
 * directory, or a new place.
 */
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "error.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "rescue/recorded.h"
#include "scavenge/copy_impl.h"

/* If `path` lies below a known path of the prefix, return the rest of it. */
static const char *
below_known(const struct copier *c, const char *path)
{
	const char *rel = NULL;

	for (size_t i = 0; i < 3 && rel == NULL; i++)
		if (c->roots[i] != NULL)
			rel = path_below(path, c->roots[i]);
	return rel;
}

static int
is_copied(void *arg, const char *rel, const struct filemap_file *f,
	  struct error *err)
{
	const struct copier *c = arg;
	struct stat st;

	(void)err;
	return path_stat_beneath(c->prefix_fd, rel, &st, NULL) == 0 &&
	       S_ISREG(st.st_mode) && f->attr.has_size &&
	       (uint64_t)st.st_size == f->attr.size;
}

/* No file lies below a known path: the prefix was moved, or is mounted
 * elsewhere.  Find its other name or its former path. */
static int
find_moved(struct copier *c, const struct recorded *r, const char *prefix,
	   struct error *err)
{
	const struct recorded_search search = { .here = is_copied, .arg = c };
	struct recorded_guess best = { .hits = 0 };
	const char *found = NULL;
	struct stat here, there;
	int rc = 0;

	if (buf_add(&best.root, r->common.data, r->common.len) < 0 ||
	    fstat(c->prefix_fd, &here) < 0)
		buf_clear(&best.root);
	/* Another name is the longest leading part of the common one that is
	 * the same directory. */
	while (found == NULL && best.root.len > 1 && best.root.data[0] == '/') {
		if (stat(best.root.data, &there) == 0 &&
		    here.st_dev == there.st_dev &&
		    here.st_ino == there.st_ino) {
			found = best.root.data;
			break;
		}
		best.root.len =
			(size_t)(strrchr(best.root.data, '/') - best.root.data);
		best.root.data[best.root.len] = '\0';
	}
	if (found == NULL) {
		rc = recorded_infer(r, &search, &best, err);
		if (best.hits > 0 && !best.tie)
			found = best.root.data;
		else if (prefix != NULL && path_below(r->common.data, prefix))
			found = prefix;
	}
	if (rc == 0 && found != NULL) {
		c->roots[2] = arena_strdup(c->arena, found);
		rc = c->roots[2] == NULL ? error_no_memory(err) : 0;
	} else if (rc == 0) {
		rc = error_set(
			err, ERROR_USAGE,
			"%s: the filemaps name files below %s: give the old "
			"name of the prefix with --moved-from",
			c->o->prefix, r->common.len > 0 ? r->common.data : "/");
	}
	buf_free(&best.root);
	return rc;
}

/* Store `path` as c->roots[i], normalised, or with `resolve` with its links
 * resolved. */
static int
add_root(struct copier *c, size_t i, const char *path, bool resolve,
	 struct error *err)
{
	struct buf name = BUF_INIT;
	int rc = resolve ? path_real(path, &name, err)
			 : path_normal(path, &name, err);

	if (rc == 0 && name.data[0] == '/') {
		c->roots[i] = arena_strdup(c->arena, name.data);
		rc = c->roots[i] == NULL ? error_no_memory(err) : 0;
	}
	buf_free(&name);
	return rc;
}

int
copy_find_roots(struct copier *c, struct error *err)
{
	struct recorded r = { .seen = 0 };
	const char *prefix = NULL;
	bool here = false;
	int rc = -1;

	/* With --moved-from, no other path counts. */
	if (c->o->moved_from != NULL)
		return add_root(c, 0, c->o->moved_from, false, err);
	if (add_root(c, 0, c->o->prefix, true, err) < 0 ||
	    add_root(c, 1, c->o->prefix, false, err) < 0)
		goto out;
	for (size_t i = 0; i < c->nranks; i++) {
		const struct filemap *m = &c->ranks[i].map;

		if (prefix == NULL)
			prefix = m->prefix; /* under our own key */
		for (size_t j = 0; j < m->nfiles; j++) {
			const struct filemap_file *f = &m->files[j];

			if (f->dir == NULL || f->name == NULL ||
			    f->dir[0] != '/')
				continue;
			if (recorded_show(&r, f, err) < 0)
				goto out;
			here = here || below_known(c, r.dir.data) != NULL;
		}
	}
	rc = here || r.seen == 0 ? 0 : find_moved(c, &r, prefix, err);
out:
	recorded_free(&r);
	return rc;
}

const char *
copy_rel(struct copier *c, const struct filemap_file *f, struct error *err)
{
	const char *path = NULL, *rel = NULL;

	if (f->dir == NULL || f->name == NULL)
		return error_set_null(err, ERROR_CORRUPT,
				      "%s: no PATH or NAME recorded",
				      f->cache_path);
	path = path_normal_in(c->arena, f->dir, f->name, err);
	if (path == NULL)
		return NULL;
	rel = below_known(c, path);
	if (rel == NULL || !path_is_clean(rel))
		error_set(err, ERROR_UNSAFE, "%s: is outside of the prefix %s",
			  path, c->roots[0]);
	else if (!dataset_dir_is_data(rel))
		error_set(err, ERROR_UNSAFE,
			  "%s: a job has no files among the metadata", rel);
	else
		return rel;
	return NULL;
}
