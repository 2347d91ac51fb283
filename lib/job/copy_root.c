/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_root.c - from the absolute paths in filemaps to paths below the prefix.
 *
 * Nothing says how much of a recorded path is the prefix (formats.md 4.2), and
 * it may be called something else now: by another name of the same directory,
 * or because it was moved.
 */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "error.h"
#include "job/copy_impl.h"
#include "path.h"

/* Files looked at to find the recorded root. */
#define ROOT_SAMPLE 256

struct search {
	struct copier *c;
	struct buf common;  /* longest directory above all files */
	bool any, here;	    /* there are files; one lies below a known name */
	const char *prefix; /* our key in a filemap, or NULL */
	const struct filemap_file *sample[ROOT_SAMPLE];
	size_t nsample;
	struct buf dir; /* scratch */
};

/* What lies below the prefix by one of the names it is known to have had. */
static const char *
below_known(const struct copier *c, const char *path)
{
	const char *rel = NULL;

	for (size_t i = 0; i < 3 && rel == NULL; i++)
		if (c->roots[i] != NULL)
			rel = path_below(path, c->roots[i]);
	return rel;
}

/* Cut `common` back to what it shares, by whole components, with `dir`. */
static void
cut_common(struct buf *common, const char *dir)
{
	size_t i = 0, cut = 0;

	while (i < common->len && common->data[i] == dir[i] && dir[i] != '\0') {
		i++;
		if ((i == common->len || common->data[i] == '/') &&
		    (dir[i] == '/' || dir[i] == '\0'))
			cut = i;
	}
	common->len = cut;
	common->data[cut] = '\0';
}

static int
look_at(struct search *s, const struct filemap_file *f, struct error *err)
{
	if (f->dir == NULL || f->name == NULL || f->dir[0] != '/')
		return 0;
	if (path_normal(f->dir, &s->dir, err) < 0)
		return -1;
	s->here = s->here || below_known(s->c, s->dir.data) != NULL;
	if (!s->any && buf_add(&s->common, s->dir.data, s->dir.len) < 0)
		return error_no_memory(err);
	s->any = true;
	cut_common(&s->common, s->dir.data);
	if (s->nsample < ROOT_SAMPLE)
		s->sample[s->nsample++] = f;
	return 0;
}

static int
look_at_all(struct search *s, struct error *err)
{
	const struct copier *c = s->c;

	for (size_t r = 0; r < c->nranks; r++) {
		const struct filemap *m = &c->ranks[r].map;

		if (s->prefix == NULL)
			s->prefix = m->prefix;
		for (size_t i = 0; i < m->nfiles; i++)
			if (look_at(s, &m->files[i], err) < 0)
				return -1;
	}
	return 0;
}

/* How many files of the sample are below the prefix if `root` was its name? */
static int
count_hits(struct search *s, const char *root, size_t *hits, struct error *err)
{
	struct buf full = BUF_INIT;
	struct stat st;
	int rc = 0;

	*hits = 0;
	for (size_t i = 0; i < s->nsample && rc == 0; i++) {
		const struct filemap_file *f = s->sample[i];
		const char *rel = NULL;

		rc = path_join(&full, f->dir, f->name, err);
		if (rc == 0)
			rc = path_normal(full.data, &s->dir, err);
		if (rc < 0)
			break;
		rel = path_below(s->dir.data, root);
		*hits += rel != NULL && path_is_clean(rel) &&
			 path_stat_beneath(s->c->prefix_fd, rel, &st, NULL) ==
				 0 &&
			 S_ISREG(st.st_mode) && f->attr.has_size &&
			 (uint64_t)st.st_size == f->attr.size;
	}
	buf_free(&full);
	return rc;
}

/* Is `path` the very directory that the prefix is? */
static bool
is_prefix(const struct copier *c, const char *path)
{
	struct stat a, b;

	return fstat(c->prefix_fd, &a) == 0 && stat(path, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/*
 * Try every directory from the common one up: the same directory by another
 * name, or the one under which most files that are there already resolve.
 */
static int
infer(struct search *s, const char **root, struct error *err)
{
	char *path = arena_strdup(s->c->arena, s->common.data);
	size_t best = 0, hits = 0;
	bool tie = false;
	char *cut = NULL;

	*root = NULL;
	if (path == NULL)
		return error_no_memory(err);
	while (path[0] == '/' && path[1] != '\0') {
		if (count_hits(s, path, &hits, err) < 0)
			return -1;
		if (hits > best || is_prefix(s->c, path)) {
			*root = arena_strdup(s->c->arena, path);
			if (*root == NULL)
				return error_no_memory(err);
		}
		if (is_prefix(s->c, path))
			return 0;
		tie = hits == best ? tie || hits > 0 : hits < best && tie;
		best = hits > best ? hits : best;
		cut = strrchr(path, '/');
		*cut = '\0';
	}
	if (tie)
		*root = NULL;
	return 0;
}

static int
moved(struct search *s, struct error *err)
{
	struct copier *c = s->c;
	const char *root = NULL;

	if (infer(s, &root, err) < 0)
		return -1;
	if (root == NULL && s->prefix != NULL &&
	    path_below(s->common.data, s->prefix) != NULL)
		root = s->prefix;
	c->roots[2] = root;
	if (root != NULL)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s: the filemaps name files below %s: say what the "
			 "prefix was called then with --moved-from",
			 c->o->prefix,
			 s->common.len > 0 ? s->common.data : "/");
}

/* `path`, or what the system makes of it, as name number `i`. */
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
	struct search s = { .c = c, .common = BUF_INIT, .dir = BUF_INIT };
	int rc = -1;

	/* What the user says goes alone. */
	if (c->o->moved_from != NULL)
		return add_root(c, 0, c->o->moved_from, false, err);
	if (add_root(c, 0, c->o->prefix, true, err) < 0 ||
	    add_root(c, 1, c->o->prefix, false, err) < 0 ||
	    look_at_all(&s, err) < 0)
		goto out;
	rc = s.here || !s.any ? 0 : moved(&s, err);
out:
	buf_free(&s.dir);
	buf_free(&s.common);
	return rc;
}

const char *
copy_rel(struct copier *c, const struct filemap_file *f, struct error *err)
{
	struct buf full = BUF_INIT, norm = BUF_INIT;
	const char *rel = NULL, *kept = NULL;

	if (f->dir == NULL || f->name == NULL) {
		error_set(err, ERROR_CORRUPT, "%s: no PATH or NAME recorded",
			  f->cache_path);
		return NULL;
	}
	if (path_join(&full, f->dir, f->name, err) < 0 ||
	    path_normal(full.data, &norm, err) < 0)
		goto out;
	rel = below_known(c, norm.data);
	if (rel == NULL || !path_is_clean(rel)) {
		error_set(err, ERROR_UNSAFE,
			  "%s: lies outside of the prefix %s", norm.data,
			  c->roots[0]);
	} else if (path_below(rel, ".scr") != NULL) {
		error_set(err, ERROR_UNSAFE,
			  "%s: no file of a job lies among the metadata", rel);
	} else {
		kept = arena_strdup(c->arena, rel);
		if (kept == NULL)
			error_no_memory(err);
	}
out:
	buf_free(&norm);
	buf_free(&full);
	return kept;
}
