/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.h - index.scr, the catalogue of datasets on the prefix
 * (scr-dataset(5)).  The kvtree read from the file stays the in-memory form, so
 * that unknown keys are preserved.
 *
 * This module opens no files: lib/catalogue reads, locks and replaces
 * index.scr.  Unless a function states otherwise, the cost of a call on one
 * dataset does not grow with the number of datasets.
 */
#ifndef META_INDEX_H
#define META_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/dataset.h"

struct index; /* opaque */

#define INDEX_FILE "index.scr"
#define INDEX_VERSION 2
/* Our key in an entry: id of the dataset that replaced its files. */
#define INDEX_REPLACED "REPLACED"
/* Beside it: the dataset was the current one. */
#define INDEX_WAS_CURRENT "WAS_CURRENT"
/* the path of the prefix when the metadata of the dataset were written */
#define INDEX_ROOT "ROOT"
#define INDEX_STAMP_SIZE 20 /* "YYYY-MM-DDTHH:MM:SS" with NUL */

/* One dataset; strings borrowed until the index changes or is freed. */
struct index_entry {
	int64_t id;
	const char *name; /* from the descriptor, else from the NAME table;
			     NULL: not recorded */
	struct dataset desc;
	int complete;	     /* COMPLETE: 1, 0, -1 not recorded */
	const char *flushed; /* stamp or NULL */
	const char *failed;  /* stamp or NULL */
	const char *fetched; /* latest stamp or NULL */
	size_t fetches;	     /* number of FETCHED stamps */
	int64_t replaced;    /* id of the dataset that replaced its files; 0 */
	bool current;	     /* CURRENT holds this name */
};

/* Return an index that contains only VERSION. */
struct index *index_new(struct error *err);
void index_free(struct index *ix);

/* Make an index from the tree of a file.  Take over `tree`, also on failure.
 * ERROR_CORRUPT: VERSION missing or unknown, tables that contradict each other,
 * or an entry that cannot be read.  A VERSION 1 index (SCR 1.1.8) is converted:
 * index_is_old(). */
struct index *index_from_tree(struct kvtree *tree, struct error *err);
bool index_is_old(const struct index *ix);

/* Return the tree for writing; borrowed. */
struct kvtree *index_tree(struct index *ix);

/* The descriptor in the entry of dataset `id`, borrowed; NULL: none. */
const struct kvtree *index_desc(const struct index *ix, int64_t id);

size_t index_count(const struct index *ix);

/* Return all *count entries for mem_free(), in descending order of ids.  If
 * there are none, return NULL with *count = 0; if memory is short, return NULL
 * with *count = (size_t)-1.  O(n log n). */
struct index_entry *index_entries(const struct index *ix, size_t *count,
				  struct error *err);

/* Find an entry by name or id.  Return 0 and fill *out, or -1: ERROR_ABSENT. */
int index_find_name(const struct index *ix, const char *name,
		    struct index_entry *out, struct error *err);
int index_find_id(const struct index *ix, int64_t id, struct index_entry *out,
		  struct error *err);

/* Set out[] to the ids of the two newest valid checkpoints; 0: none.  `ix` may
 * be NULL. */
void index_newest(const struct index *ix, int64_t out[2]);

/* VALID in listings: COMPLETE is 1 and there is no FAILED stamp. */
bool index_entry_valid(const struct index_entry *e);

/*
 * Is `e` later than dataset `id`, which was created at `created_us`?  `job`, or
 * NULL, is the one that ran last on the prefix, if it wrote `id`: its datasets
 * are later than those of all others, and in the order of their numbers.  Only
 * otherwise the clocks decide, and the numbers if a time is unknown.
 */
bool index_entry_later(const struct index_entry *e, int64_t id,
		       int64_t created_us, const char *job);

/* Write the reason why the entry is not valid into `to`, as one clause ("never
 * completed", "last fetch failed 2026-11-20T23:00:34", ...).  If the entry is
 * valid, write "".  Return `to`. */
const char *index_entry_reason(const struct index_entry *e, char *to,
			       size_t size);

/* The name in CURRENT (the restart point), or NULL. */
const char *index_current(const struct index *ix);

/*
 * Add a dataset with the descriptor `desc`, COMPLETE and FLUSHED.  The children
 * of `desc` are copied verbatim; ID and NAME are required, and `desc` must not
 * be part of this index.  With stamp NULL or complete -1, that key is left out.
 * An existing entry with the same name or id is removed first; CURRENT does not
 * change.  Keys are written in the order of LLNL's `--build` (FLUSHED,
 * COMPLETE, DSET; newest entry first).
 *
 * On ERROR_NOMEM the old entry may be gone, and the index cannot be written.
 */
int index_add(struct index *ix, const struct kvtree *desc, int complete,
	      const char *stamp, struct error *err);

/*
 * Remove a dataset.  If CURRENT names it, CURRENT moves to the latest earlier
 * checkpoint that is COMPLETE without FAILED; if there is none, CURRENT is
 * removed.  O(n log n) for the first call after index_add(), then O(log n) plus
 * the number of datasets skipped.  ERROR_ABSENT: no such name.
 */
int index_remove(struct index *ix, const char *name, struct error *err);

/* Mark the entry incomplete.  CURRENT moves on as in index_remove().
 * ERROR_ABSENT. */
int index_retire(struct index *ix, int64_t id, struct error *err);

/* Set CURRENT to `name`, which must be a checkpoint.  NULL: remove CURRENT. */
int index_set_current(struct index *ix, const char *name, struct error *err);

/* Our own extra keys in an entry; LLNL's readers ignore them.  With value NULL,
 * the key is removed. */
int index_set_extra(struct index *ix, int64_t id, const char *key,
		    const char *value, struct error *err);
const char *index_extra(const struct index *ix, int64_t id, const char *key);
/* Add a value beside those that the key has, such as a stamp to FETCHED. */
int index_add_extra(struct index *ix, int64_t id, const char *key,
		    const char *value, struct error *err);

/* Format the local time at `t` (negative: now) as a stamp.  Return `to`. */
char *index_stamp(char to[static INDEX_STAMP_SIZE], int64_t t);
/* The same as an argument of a function, valid until the end of the block. */
#define index_stamp_str(t) index_stamp((char[INDEX_STAMP_SIZE]){ 0 }, t)

#endif /* META_INDEX_H */
