/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target_impl.h - what the parts of target.h share.
 *
 * New directories.  Where a whole directory is missing, a file in it needs no
 * temporary name of its own: the topmost missing directory is built under a
 * temporary name beside its place, and moved there by one rename when all that
 * goes into it is on disk.  So is one that stands there empty, where many files
 * go into it (packing leaves such).  A rename a file costs the server of a
 * parallel file system as much as making the file did.
 */
#ifndef TRANSFER_TARGET_IMPL_H
#define TRANSFER_TARGET_IMPL_H

#include <stdbool.h>

#include "transfer/target.h"

/* A new directory. */
struct target_tree {
	const char *path; /* final, clean, beneath `dirfd` of its targets */
	const char *temp; /* the same parent, temporary name; it exists */
	bool done;	  /* renamed */
};

/*
 * Find the new directories of all TARGET_FILEs that are `filled`, make them
 * under their temporary names (what an interrupted run left of them goes), and
 * name the targets' temporary files.  Only the `dirfd` of the first such target
 * is looked at.
 */
int target_trees_make(struct targets *t, struct error *err);

/* To their places.  What they hold is on disk. */
int target_trees_rename(struct targets *t, struct error *err);

/* Remove those that are not renamed. */
void target_trees_discard(struct targets *t);

/* Sync the directories of all new ones, before they are renamed. */
int target_sync_trees(const struct targets *t, struct error *err);

/* Sync the directories of all targets of `kind`, and of the new directories if
 * that is theirs, up to the root. */
int target_sync_dirs(const struct targets *t, enum target_kind kind,
		     struct error *err);

/* May it get into a new directory? */
static inline bool
target_is_new(const struct target *t)
{
	return t->filled && t->kind == TARGET_FILE;
}

/* A temporary name beside `path`; NULL: ERROR_NOMEM. */
const char *target_temp(const struct targets *t, const char *path,
			struct error *err);

/* Do two targets lie in the same directory? */
bool target_same_parent(const struct target *a, const struct target *b);

#endif /* TRANSFER_TARGET_IMPL_H */
