/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_dirs.c - where a job keeps its control files and its cache, and what
 * other jobs have left there.
 *
 * SCR's library has a store for each STORE line, for SCR_CACHE_BASE and for
 * SCR_CNTL_BASE (libscr.md 4.2).  Only the commands read the lines CNTLDIR,
 * CACHEDIR and CACHE, which also set the required size of a directory.
 */
#include <fcntl.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "num.h"
#include "path.h"
#include "site/job_impl.h"
#include "str.h"

#define STEM "scr."

/* At most so many directories of other jobs are named. */
#define NAMED_MAX 5

/* A list of directories being built. */
struct dirs {
	struct job *j;
	struct job_cache *list;
	size_t count;
};

/* The entry of `base`, created if missing; in normal form, as in SCR's library.
 * NULL: no memory. */
static struct job_cache *
enter(struct dirs *d, const char *base, bool implied, struct error *err)
{
	struct job *j = d->j;
	struct job_cache *new = NULL;

	base = path_normal_in(j->arena, "", base, err);
	if (base == NULL)
		return NULL;
	for (size_t i = 0; i < d->count; i++)
		if (str_eq(d->list[i].base, base))
			return &d->list[i];
	new = &d->list[d->count];
	new->base = base;
	new->dir = arena_printf(j->arena, "%s%s%s/scr.%s", base,
				str_ends(base, "/") ? "" : "/", j->user, j->id);
	new->implied = implied;
	if (new->dir == NULL)
		return error_no_memory_null(err);
	d->count++;
	return new;
}

/* Is property `key` of the line equal to `word`? */
static bool
property_is(const struct conf_group *g, const char *key, const char *word)
{
	const char *value = conf_property(g, key);

	return value != NULL && str_eq(value, word);
}

/* Add a directory for each line of `key` that is not disabled. */
static int
add_lines(struct dirs *d, const char *key, struct error *err)
{
	const struct conf_group *g = NULL;
	const size_t n = conf_groups(d->j->conf, key, &g);

	for (size_t i = 0; i < n; i++) {
		const char *size = conf_property(&g[i], "BYTES");
		struct error why = ERROR_INIT;
		struct job_cache *at = NULL;
		uint64_t bytes = 0;

		if (property_is(&g[i], "ENABLED", "0"))
			continue;
		at = enter(d, g[i].value, false, err);
		if (at == NULL)
			return -1;
		if (size != NULL &&
		    num_bytes(size, UINT64_MAX, &bytes, &why) < 0)
			conf_complain(d->j->conf,
				      "%s=%s BYTES=%s: no size is required",
				      key, g[i].value, why.text);
		if (bytes > at->bytes)
			at->bytes = bytes;
		at->per_node |= property_is(&g[i], "VIEW", "GLOBAL");
		at->shared |=
			at->per_node || property_is(&g[i], "GROUP", "WORLD");
	}
	return 0;
}

/* Begin the list with all lines of these keys.  It has room for another. */
static int
start(struct dirs *d, struct job *j, const char *const *keys, struct error *err)
{
	const struct conf_group *g = NULL;
	size_t n = 1;

	for (const char *const *key = keys; *key != NULL; key++)
		n += conf_groups(j->conf, *key, &g);
	*d = (struct dirs){ .j = j };
	d->list = arena_alloc(j->arena, n, sizeof(*d->list));
	if (d->list == NULL)
		return error_no_memory(err);
	for (; *keys != NULL; keys++)
		if (add_lines(d, *keys, err) < 0)
			return -1;
	return 0;
}

/* Move the entry of `base` to the front.  If `given`, remove all others. */
static int
put_first(struct dirs *d, const char *base, bool given, struct error *err)
{
	struct job_cache *at = enter(d, base, false, err), first;

	if (at == NULL)
		return -1;
	first = *at;
	memmove(d->list + 1, d->list, (size_t)(at - d->list) * sizeof(*at));
	d->list[0] = first;
	if (given)
		d->count = 1;
	return 0;
}

int
job_find_dirs(struct job *j, const struct job_where *w, struct error *err)
{
	static const char *const of_cntl[] = { "CNTLDIR", NULL };
	static const char *const of_cache[] = { "STORE", "CACHE", "CACHEDIR",
						NULL };
	const char *base = conf_get(j->conf, "SCR_CNTL_BASE");
	bool set = conf_is_set(j->conf, "SCR_CNTL_BASE"), disabled = false;
	const struct conf_group *g = NULL;
	struct dirs d;
	size_t n = 0;
	int rc = 0;

	if (start(&d, j, of_cntl, err) < 0)
		return -1;
	if (w->cntl_base != NULL)
		rc = put_first(&d, w->cntl_base, true, err);
	else if (set)
		rc = put_first(&d, base, false, err);
	else if (enter(&d, base, true, err) == NULL)
		rc = -1;
	j->cntls = d.list;
	j->ncntls = d.count;
	if (rc < 0)
		return -1;
	j->cntl_dir = d.list[0].dir;

	base = conf_get(j->conf, "SCR_CACHE_BASE");
	set = conf_is_set(j->conf, "SCR_CACHE_BASE");
	if (start(&d, j, of_cache, err) < 0)
		return -1;
	/* Does the first STORE line of this base disable it? */
	n = conf_groups(j->conf, "STORE", &g);
	for (size_t i = n; i-- > 0;)
		if (str_eq(g[i].value, base))
			disabled = property_is(&g[i], "ENABLED", "0");
	/* In place of SCR_CACHE_BASE: the lines of the configuration stay. */
	if (w->cache_base != NULL)
		rc = put_first(&d, w->cache_base, false, err);
	else if ((set || !disabled) && enter(&d, base, !set, err) == NULL)
		rc = -1;
	j->caches = d.list;
	j->ncaches = d.count;
	return rc;
}

/* --- What other jobs have left in the caches of this node --- */

int
job_old_caches(const struct job *j, struct buf *out, struct error *err)
{
	for (size_t i = 0; i < j->ncaches; i++) {
		struct buf path = BUF_INIT, names = BUF_INIT;
		struct dir_walk w = { .dir = NULL };
		const char *name = NULL;
		uint64_t total = 0;
		size_t count = 0;
		int fd = -1, rc = -1;

		if (path_join(&path, j->caches[i].base, j->user, NULL) == 0)
			fd = dir_open(AT_FDCWD, path.data);
		if (fd >= 0)
			rc = dir_walk(&w, fd, path.data, NULL);
		while (rc == 0 && (name = dir_next(&w)) != NULL) {
			uint64_t bytes = 0;

			if (!str_starts(name, STEM) ||
			    str_eq(name + strlen(STEM), j->id) ||
			    io_tree_size(fd, name, &bytes, NULL) < 0 ||
			    bytes == 0)
				continue;
			total += bytes;
			if (count++ < NAMED_MAX)
				buf_printf(&names, "%s%s",
					   count > 1 ? ", " : "",
					   str_shown(name));
			else if (count == NAMED_MAX + 1)
				buf_add_str(&names, ", ...");
		}
		if (dir_done(&w, rc, NULL) == 0 && count > 0)
			buf_printf(out,
				   "%s: %zu %s of other jobs, %s (%s): if "
				   "these have ended, save them with --job-id "
				   "ID --clean, or delete them\n",
				   path.data, str_count(count, "cache"),
				   str_size(total), names.data);
		io_close(fd);
		buf_free(&names);
		buf_free(&path);
	}
	return buf_check(out, err);
}
