/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * owners.h - which datasets own which paths of a prefix.
 *
 * A dataset owns the paths of its files that are not in containers.  An
 * application that always writes the same names makes several datasets own the
 * same paths; only the last one written has its bytes there.
 */
#ifndef CATALOGUE_OWNERS_H
#define CATALOGUE_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/rank2file.h"

struct catalogue;
struct catalogue_options;
struct error;
struct index;
struct plan;
struct put;

/* --- The files of a dataset --- */

/* The metadata that name them. */
struct catalogue_names {
	const struct rank2file *r2f; /* of the plan, or `own`; NULL: none */
	struct rank2file own;
	struct plan *plan; /* NULL: none */
	/* Of catalogue_names_next(). */
	size_t rank, at;
	struct rank2file_file file;
};

/* Read the metadata of dataset `id`.  One without a directory, or whose map of
 * containers is lost, has no files.  *why: the metadata are unusable, so that
 * the dataset cannot be fetched; or they cannot be read.  Call
 * catalogue_names_free() also on failure. */
int catalogue_names_of(struct catalogue *c, int64_t id,
		       const struct catalogue_options *o,
		       struct catalogue_names *n, struct error *why);
void catalogue_names_free(struct catalogue_names *n);

/* The next file, valid until the next call, or NULL.  Its path is NULL if it is
 * not recorded; with segments it is in a container. */
const struct rank2file_file *catalogue_names_next(struct catalogue_names *n);

/* --- Before files are replaced or removed --- */

struct owners_write {
	int64_t id;		  /* of the dataset whose files are written */
	const char *const *paths; /* of these files: clean, relative to the
				     prefix */
	size_t count;
	bool replace; /* the user asked for it: retire the owners */
	/* With `replace`: when the dataset was created, and the job that wrote
	 * it, for index_entry_later(); a valid one that is later keeps its
	 * files.  0: none does. */
	int64_t created;
	const char *job;
};

/*
 * Call before files are replaced.  Every other dataset that owns one of the
 * paths, and that a job could restart from or that could be added to the index
 * again, is retired (catalogue_retire()).  Without w->replace, one that is in
 * the index is an error instead, and with w->created a newer one is:
 * ERROR_DAMAGED.  In a dry run nothing is
 * changed.
 */
int owners_make_way(struct catalogue *c, const struct owners_write *w,
		    const struct catalogue_options *o, struct error *err);

/*
 * Call before files of dataset `id` are written whose paths are not known yet.
 * Each dataset that a job could restart from or that could be indexed again,
 * and that has a missing file, is retired: a new file could take the name of
 * the missing one, and the dataset would look whole.  *retired is their number.
 * After writing, catalogue_rollback() restores those whose paths were not used.
 */
int owners_expect(struct catalogue *c, int64_t id,
		  const struct catalogue_options *o, size_t *retired,
		  struct error *err);

/*
 * For struct pack_keep: set keep[i] if another dataset, which a job could
 * restart from or that could be added to the index again, owns paths[i].  `arg`
 * is a struct owners_guard.
 */
int owners_keep(void *arg, const char *const *paths, size_t count, bool *keep,
		struct error *err);

/* For struct put_guard: owners_make_way() for all files that are written below
 * the prefix.  `arg` is a struct owners_guard. */
struct owners_guard {
	struct catalogue *catalogue;
	int64_t id; /* of the dataset whose files are written; 0: unknown */
	const struct catalogue_options *o; /* o->replace as in owners_write */
	bool all; /* owners_keep(): every other dataset that has files */
};

int owners_ask(void *arg, const struct put *p, struct error *err);

/* For the member `failed` of struct put_guard: catalogue_rollback(). */
void owners_failed(void *arg);

/* --- Paths that two datasets own --- */

/* A valid dataset that shares paths with another valid one. */
struct owners_overlap {
	/* `other`: the owner of one of its paths before or after it */
	int64_t id, other;
	size_t files;	/* paths that are not known to have equal bytes */
	bool differ;	/* recorded sizes or checksums of one differ */
	char path[512]; /* one of the shared paths, printable */
};

/*
 * List the datasets that are complete in `ix`, by id, and share paths with
 * another one.  Files whose recorded checksums are equal do not count.  The
 * metadata of each are read once; the table takes about 50 bytes per file.
 * `*out` is for mem_free().
 */
int owners_overlaps(struct catalogue *c, const struct index *ix,
		    const struct catalogue_options *o,
		    struct owners_overlap **out, size_t *count,
		    struct error *err);

#endif /* CATALOGUE_OWNERS_H */
