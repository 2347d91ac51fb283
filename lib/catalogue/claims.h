/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claims.h - the paths that datasets own, and removing them.  For this room.
 */
#ifndef CATALOGUE_CLAIMS_H
#define CATALOGUE_CLAIMS_H

#include "catalogue/catalogue_impl.h"
#include "catalogue/owners.h"
#include "meta/rank2file.h"

struct map;

/* --- claims.c --- */

/* The metadata that name the files of a dataset. */
struct catalogue_names {
	const struct rank2file *r2f; /* of the plan, or `own`; NULL: none */
	struct rank2file own;
	struct plan *plan; /* NULL: none */
};

/*
 * Read rank2file and, with `both` or if it is unusable, the filemaps.  A
 * dataset without either has no files. -1: *why is the error of metadata that
 * are unusable, or a failed system call.  1: the map of a packed dataset is
 * lost; its data are in containers in its own directory, and it owns no path
 * outside.  Call catalogue_names_free() also on failure.
 */
int catalogue_names_read(struct catalogue *c, const struct catalogue_dir *d,
			 bool both, const struct catalogue_options *o,
			 struct catalogue_names *n, struct error *why);
void catalogue_names_free(struct catalogue_names *n);

/* Call fn for each file, whose path is NULL if it is not recorded. */
int catalogue_names_each(const struct catalogue_names *n, catalogue_names_fn fn,
			 void *arg, struct error *err);

/* The files of one dataset that can be deleted with it.  All zero: none. */
struct catalogue_claims {
	const struct work *work;
	struct catalogue_names names;
	size_t count, cap;
	struct claim {
		const char *path; /* clean; borrowed from `names` */
		bool shared;	  /* another dataset names it too */
	} * list;
	struct map *by_path; /* path -> index in list */
	size_t refused;	     /* number of names that are not acceptable paths */
};

/* List all files named by the rank2file or the filemaps of the dataset in
 * `d`. */
int catalogue_claims_init(struct catalogue *c, const struct catalogue_dir *d,
			  const struct catalogue_options *o,
			  struct catalogue_claims *out, struct error *err);
void catalogue_claims_fini(struct catalogue_claims *k);

/* --- remove.c --- */

/* Remove the dataset in `dir` with the files in `k` that are not shared: all
 * but its index entry.  In a dry run, only count; `out` has the counts. */
int catalogue_remove(struct catalogue *c, struct catalogue_dir *dir,
		     const struct catalogue_claims *k,
		     const struct catalogue_options *o,
		     struct delete_result *out, struct error *err);

/* May catalogue_remove() reach all files?  ERROR_UNSAFE: not those behind a link
 * that is not trusted. */
int catalogue_erasable(int root, const struct catalogue_claims *k,
		       struct error *err);

/* --- owners.c --- */

struct owners; /* opaque: a table of paths */

/* A path in it.  The user of the table sets all members except `hash`. */
struct owned {
	uint64_t hash; /* 0: a free slot */
	uint64_t size;
	uint32_t crc;
	uint32_t left;
	bool kept; /* owners_mark() found it */
	bool has_size, has_crc;
};

struct owners *owners_new(struct error *err);
void owners_free(struct owners *t); /* NULL is allowed */

/* Find a path (NULL: none), or add a missing one, all 0.  Borrowed until the
 * next owners_add(). */
struct owned *owners_find(const struct owners *t, const char *path);
struct owned *owners_add(struct owners *t, const char *path, struct error *err);

typedef int (*owners_fn)(void *arg, const struct index *ix, int64_t id,
			 struct error *err);

/* Call fn for each dataset but `id` from which a job can restart, or which
 * --add could bring back; with `all`, for every other.  `ix` may be NULL: no
 * index. */
int owners_others(struct catalogue *c, int64_t id, bool all, owners_fn fn,
		  void *arg, struct error *err);

/* Set `kept` of all paths that dataset `id` owns.  *found is their number. -1:
 * the paths are unknown because of *why. */
int owners_mark(struct catalogue *c, int64_t id,
		const struct catalogue_options *o, struct owners *t,
		size_t *found, struct error *why);

#endif /* CATALOGUE_CLAIMS_H */
