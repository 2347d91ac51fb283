/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claims.c - the files that belong to one dataset only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/index.h"
#include "path.h"
#include "str.h"
#include "work.h"

/* Maximum number of refused paths that are reported individually. */
#define TELL_MAX 5

/* Is the error about the metadata, rather than a failed system call? */
static bool
is_verdict(const struct error *why)
{
	return why->kind != ERROR_SYSTEM && why->kind != ERROR_NOMEM;
}

/* --- The names in the metadata of one dataset --- */

/*
 * Read rank2file and, with `both` or if it is unusable, the filemaps.  *why
 * receives the error of metadata that are unusable.  -1: *why is a failed
 * system call.
 */
static int
read_names(struct catalogue *c, const struct catalogue_dir *d, bool both,
	   const struct catalogue_options *o, struct catalogue_names *n,
	   struct error *why)
{
	struct error local = ERROR_INIT;

	memset(n, 0, sizeof(*n));
	if (rank2file_load(d->fd, RANK2FILE_FILE, &n->r2f, &local) == 0)
		n->have_ranks = true;
	else if (local.kind != ERROR_ABSENT)
		*why = local;
	if (!is_verdict(&local))
		return -1;
	if (n->have_ranks && !both)
		return 0;
	error_clear(&local);
	n->plan = catalogue_plan(c, d->id, 0, o, &local);
	if (n->plan != NULL || local.kind == ERROR_ABSENT)
		return 0;
	if (both || why->kind == ERROR_NONE || !is_verdict(&local))
		*why = local;
	return is_verdict(&local) ? 0 : -1;
}

static void
free_names(struct catalogue_names *n)
{
	plan_free(n->plan);
	if (n->have_ranks)
		rank2file_free(&n->r2f);
}

/* Are the metadata there, but all of them unusable? */
static bool
is_unknown(const struct catalogue_names *n, const struct error *why)
{
	return why->kind != ERROR_NONE && !n->have_ranks && n->plan == NULL;
}

/* Call fn for each path, which is NULL if it is not recorded. */
static int
each_name(const struct catalogue_names *n,
	  int (*fn)(struct catalogue_claims *k, const char *path,
		    struct error *err),
	  struct catalogue_claims *k, struct error *err)
{
	for (size_t i = 0; n->have_ranks && i < n->r2f.nranks; i++) {
		const struct rank2file_rank *r = &n->r2f.ranks[i];

		for (size_t f = 0; f < r->nfiles; f++)
			if (fn(k, r->files[f].path, err) < 0)
				return -1;
	}
	for (size_t i = 0; n->plan != NULL && i < n->plan->nfiles; i++)
		if (fn(k, n->plan->files[i].path, err) < 0)
			return -1;
	return 0;
}

/* --- The files of one dataset --- */

/* Refuse paths in .scr: no dataset has files there, so the metadata are wrong
 * or malicious. */
static bool
may_touch(const char *path)
{
	return path != NULL && path_is_clean(path) && !str_eq(path, ".scr") &&
	       !str_starts(path, ".scr/");
}

static int
claim(struct catalogue_claims *k, const char *path, struct error *err)
{
	char shown[256];

	if (!may_touch(path)) {
		if (k->refused++ < TELL_MAX)
			work_say(k->work,
				 "%s: not below the prefix, left alone",
				 str_printable(shown, sizeof(shown),
					       path != NULL ? path : "?"));
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
	struct error why = ERROR_INIT;

	*out = (struct catalogue_claims){ .work = &o->work,
					  .by_path = map_new() };
	if (read_names(c, d, true, o, &out->names, &why) < 0)
		error_pass(err, &why);
	else if (is_unknown(&out->names, &why))
		error_set(err, ERROR_CORRUPT,
			  "%s: cannot tell which files it has: %s", d->name,
			  why.text);
	else if (out->by_path == NULL)
		error_no_memory(err);
	else if (each_name(&out->names, claim, out, err) == 0)
		return 0;
	catalogue_claims_fini(out);
	return -1;
}

void
catalogue_claims_fini(struct catalogue_claims *k)
{
	map_free(k->by_path);
	mem_free(k->list);
	free_names(&k->names);
	*k = (struct catalogue_claims){ .work = k->work };
}

/* --- Other datasets --- */

static int
mark(struct catalogue_claims *k, const char *path, struct error *err)
{
	size_t at = path == NULL ? MAP_NONE : map_get(k->by_path, path);

	(void)err;
	if (at != MAP_NONE)
		k->list[at].shared = true;
	return 0;
}

/* Mark the files of another dataset, listed by its rank2file or filemaps. */
static int
mark_dataset(struct catalogue *c, const struct catalogue_dir *d,
	     const struct catalogue_options *o, struct catalogue_claims *k,
	     struct error *why)
{
	struct catalogue_names n;
	int rc = read_names(c, d, false, o, &n, why);

	if (rc == 0)
		rc = is_unknown(&n, why) ? -1 : each_name(&n, mark, k, NULL);
	free_names(&n);
	return rc;
}

static int
mark_id(struct catalogue *c, int64_t id, const struct index *ix,
	const struct catalogue_options *o, struct catalogue_claims *k,
	struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct error why = ERROR_INIT;
	struct index_entry e;
	int rc = catalogue_dir_open(c, id, &d, &why);

	if (rc == 0)
		rc = mark_dataset(c, &d, o, k, &why);
	else if (why.kind == ERROR_ABSENT)
		rc = 0;
	catalogue_dir_close(&d);
	if (rc == 0)
		return 0;
	if (!is_verdict(&why))
		return error_pass(err, &why);
	if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
	    index_entry_valid(&e))
		return error_set(err, ERROR_CORRUPT,
				 "dataset %" PRId64
				 ": cannot tell whether it shares files: %s; "
				 "--build or --drop it first",
				 id, why.text);
	work_say(&o->work,
		 "dataset %" PRId64 ": cannot tell whether it shares files: %s",
		 id, why.text);
	return 0;
}

int
catalogue_claims_share(struct catalogue *c, int64_t id, const struct index *ix,
		       const struct catalogue_options *o,
		       struct catalogue_claims *k, struct error *err)
{
	size_t count = 0;
	int64_t *ids = NULL;
	int rc = 0;

	if (k->count == 0)
		return 0;
	/* A dataset without a directory names no files. */
	ids = catalogue_dirs(c, &count, err);
	if (count == (size_t)-1)
		return -1;
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (ids[i] != id)
			rc = mark_id(c, ids[i], ix, o, k, err);
	mem_free(ids);
	return rc;
}
