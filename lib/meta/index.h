/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * index.h - index.scr, the catalogue of datasets on the prefix (formats.md
 * 3.2).  In memory it stays the kvtree it was read from, so that keys we do
 * not know survive; this module knows its rules.
 *
 * No files here: lib/dataset/catalogue reads, locks and replaces index.scr.
 * Cost of every call on one dataset does not grow with the number of
 * datasets, except where said.
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
#define INDEX_STAMP_SIZE 20 /* "YYYY-MM-DDTHH:MM:SS" with NUL */

/* One dataset; strings borrowed until the index changes or is freed. */
struct index_entry {
	int64_t id;
	const char *name; /* from the descriptor, else from the NAME table;
				 NULL: none */
	struct dataset desc;
	int complete;	     /* COMPLETE: 1, 0, -1 not recorded */
	const char *flushed; /* stamp or NULL */
	const char *failed;  /* stamp or NULL */
	const char *fetched; /* latest stamp or NULL */
	size_t fetches;	     /* number of FETCHED stamps */
	bool current;	     /* CURRENT names it */
};

/* An empty index: VERSION and nothing else. */
struct index *index_new(struct error *err);
void index_free(struct index *ix);

/* From the tree of a file, which it takes over (also on failure).  VERSION
 * missing or unknown, or tables that contradict each other: ERROR_CORRUPT.  One
 * of VERSION 1 (SCR 1.1.8) becomes one of today: index_is_old(). */
struct index *index_from_tree(struct kvtree *tree, struct error *err);
bool index_is_old(const struct index *ix);

/* The tree for writing; borrowed. */
struct kvtree *index_tree(struct index *ix, struct error *err);

size_t index_count(const struct index *ix);

/* All entries by id, descending, for mem_free(); NULL with *count = 0 when
 * there are none, NULL with -1 in *count on failure.  O(n log n). */
struct index_entry *index_entries(const struct index *ix, size_t *count,
				  struct error *err);

/* By name or id: 0 and *out, or -1: ERROR_ABSENT, ERROR_CORRUPT. */
int index_find_name(const struct index *ix, const char *name,
		    struct index_entry *out, struct error *err);
int index_find_id(const struct index *ix, int64_t id, struct index_entry *out,
		  struct error *err);

/* VALID in listings: COMPLETE is 1 and there is no FAILED stamp. */
bool index_entry_valid(const struct index_entry *e);

/* One clause saying why not ("never completed", "last fetch failed
 * 2026-11-20T23:00:34", ...); "" if valid. */
const char *index_entry_reason(const struct index_entry *e, char *to,
			       size_t size);

/* Name of the restart point, or NULL. */
const char *index_current(const struct index *ix);

/*
 * Add a dataset with descriptor `desc` (children copied verbatim; must hold
 * ID and NAME), COMPLETE and FLUSHED = stamp; an entry with the same name or
 * the same id is removed first, without touching CURRENT.  Written in the
 * order of LLNL's `--build` (FLUSHED, COMPLETE, DSET; newest first).  `desc`
 * may not be a part of this index.  stamp NULL, complete -1: not recorded.  On
 * ERROR_NOMEM the old entry may be gone, and the new one is not there: then do
 * not write the index.
 */
int index_add(struct index *ix, const struct kvtree *desc, int complete,
	      const char *stamp, struct error *err);

/*
 * Remove a dataset.  If it was CURRENT, the latest earlier checkpoint that is
 * COMPLETE without FAILED becomes it, else CURRENT goes.  O(n log n) only the
 * first time after an index_add(), then O(log n) and the datasets skipped.
 * ERROR_ABSENT: no such name.
 */
int index_remove(struct index *ix, const char *name, struct error *err);

/* Make `name` the restart point: it must be a checkpoint.  NULL: unset. */
int index_set_current(struct index *ix, const char *name, struct error *err);

/* Extra keys of ours in an entry (LLNL's readers ignore them); value NULL:
 * remove it. */
int index_set_extra(struct index *ix, int64_t id, const char *key,
		    const char *value, struct error *err);
const char *index_extra(const struct index *ix, int64_t id, const char *key);

/* Local time at `t`, negative: now, in the form of the stamps. */
char *index_stamp(char to[static INDEX_STAMP_SIZE], int64_t t);

#endif /* META_INDEX_H */
