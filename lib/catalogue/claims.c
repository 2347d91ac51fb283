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
claim(struct catalogue_claims *k, const char *path,
      const struct catalogue_options *o, struct error *err)
{
	char shown[256];

	if (!may_touch(path)) {
		if (k->refused++ < TELL_MAX)
			work_say(&o->work,
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

/* Read rank2file and filemaps, if they exist.  *why receives the error of one
 * that is unusable. */
static int
read_both(struct catalogue *c, const struct catalogue_dir *d,
	  const struct catalogue_options *o, struct catalogue_claims *k,
	  struct error *why)
{
	struct error local = ERROR_INIT;

	if (rank2file_load(d->fd, RANK2FILE_FILE, &k->r2f, &local) == 0)
		k->have_ranks = true;
	else if (local.kind != ERROR_ABSENT)
		*why = local;
	if (!k->have_ranks && !is_verdict(&local))
		return -1;
	error_clear(&local);
	k->plan = catalogue_plan(c, d->id, 0, o, &local);
	if (k->plan != NULL || local.kind == ERROR_ABSENT)
		return 0;
	*why = local;
	return is_verdict(&local) ? 0 : -1;
}

static int
claim_all(struct catalogue_claims *k, const struct catalogue_options *o,
	  struct error *err)
{
	for (size_t i = 0; k->have_ranks && i < k->r2f.nranks; i++) {
		const struct rank2file_rank *r = &k->r2f.ranks[i];

		for (size_t n = 0; n < r->nfiles; n++)
			if (claim(k, r->files[n].path, o, err) < 0)
				return -1;
	}
	for (size_t i = 0; k->plan != NULL && i < k->plan->nfiles; i++)
		if (claim(k, k->plan->files[i].path, o, err) < 0)
			return -1;
	return 0;
}

int
catalogue_claims_init(struct catalogue *c, const struct catalogue_dir *d,
		      const struct catalogue_options *o,
		      struct catalogue_claims *out, struct error *err)
{
	struct error why = ERROR_INIT;

	memset(out, 0, sizeof(*out));
	if (read_both(c, d, o, out, &why) < 0) {
		error_pass(err, &why);
		goto fail;
	}
	if (why.kind != ERROR_NONE && !out->have_ranks && out->plan == NULL) {
		error_set(err, ERROR_CORRUPT,
			  "%s: cannot tell which files it has: %s", d->name,
			  why.text);
		goto fail;
	}
	out->by_path = map_new();
	if (out->by_path == NULL) {
		error_no_memory(err);
		goto fail;
	}
	if (claim_all(out, o, err) == 0)
		return 0;
fail:
	catalogue_claims_fini(out);
	return -1;
}

void
catalogue_claims_fini(struct catalogue_claims *k)
{
	map_free(k->by_path);
	mem_free(k->list);
	plan_free(k->plan);
	if (k->have_ranks)
		rank2file_free(&k->r2f);
	memset(k, 0, sizeof(*k));
}

/* --- Other datasets --- */

static void
mark(struct catalogue_claims *k, const char *path)
{
	size_t at = path == NULL ? MAP_NONE : map_get(k->by_path, path);

	if (at != MAP_NONE)
		k->list[at].shared = true;
}

/* Mark the files of another dataset, listed by its rank2file or filemaps. */
static int
mark_dataset(struct catalogue *c, const struct catalogue_dir *d,
	     const struct catalogue_options *o, struct catalogue_claims *k,
	     struct error *why)
{
	struct error local = ERROR_INIT;
	struct rank2file r;
	struct plan *p = NULL;

	if (rank2file_load(d->fd, RANK2FILE_FILE, &r, &local) == 0) {
		for (size_t i = 0; i < r.nranks; i++)
			for (size_t n = 0; n < r.ranks[i].nfiles; n++)
				mark(k, r.ranks[i].files[n].path);
		rank2file_free(&r);
		return 0;
	}
	if (local.kind == ERROR_ABSENT)
		error_clear(&local);
	*why = local;
	if (!is_verdict(&local))
		return -1;
	/* Without a usable rank2file, use the filemaps. */
	p = catalogue_plan(c, d->id, 0, o, &local);
	if (p == NULL) {
		if (local.kind == ERROR_ABSENT && why->kind == ERROR_NONE)
			return 0; /* no metadata, so it names no files */
		if (why->kind == ERROR_NONE || !is_verdict(&local))
			*why = local;
		return -1;
	}
	for (size_t i = 0; i < p->nfiles; i++)
		mark(k, p->files[i].path);
	plan_free(p);
	error_clear(why);
	return 0;
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
	if (!is_verdict(&why)) {
		return error_pass(err, &why);
	}
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
