/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.h - files that are being brought back: a temporary file beside each
 * target, filled by others, then given its attributes, synced and renamed.
 * Private to lib/dataset.
 */
#ifndef TRANSFER_TARGET_H
#define TRANSFER_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"

struct arena;
struct error;
struct par;
struct stripe;
struct transfer_options;

/* The order in which they are put in place: a rank's files, what protects
 * them, and last the filemap that names them.  A descriptor is written only
 * together with its redundancy file, so after an interruption it must be there
 * first. */
enum target_kind {
	TARGET_FILE,
	TARGET_DESCRIPTOR,
	TARGET_REDUNDANCY,
	TARGET_MAP,
	TARGET_KINDS
};

struct target {
	enum target_kind kind;
	int dirfd;	  /* root of `path` */
	const char *path; /* final, clean, beneath dirfd */
	/* What stands for it: the same directory, temporary name, or the same
	 * name in a new directory.  Of files that are filled known only when
	 * they are prepared. */
	const char *temp;
	size_t tree; /* 1 + number of the new directory it lies in; or: */
#define TARGET_NO_TREE ((size_t)0)
	uint64_t size;
	const struct attr *attr; /* to apply; NULL: mode 0666 & ~umask */
	const void *image;	 /* contents from the start of the file */
	size_t image_size;
	bool filled;   /* made when it is first written */
	bool prepared; /* the temporary file exists */
	bool settled;  /* it has its attributes, and is on disk */
	bool done;     /* renamed */
};

/* Private to it. */
struct target_tree;

struct targets {
	struct target *list;
	size_t count, cap;
	struct arena *arena;
	struct target_tree *trees; /* new directories */
	size_t ntrees, trees_cap;
	int trees_fd; /* they lie below it */
};

int targets_init(struct targets *t, struct error *err);
void targets_fini(struct targets *t);

/* Add one.  NULL: ERROR_NOMEM. */
struct target *targets_add(struct targets *t, const struct target *what,
			   struct error *err);

/* Is there room?  ERROR_SYSTEM with ENOSPC says how much is missing where. */
int targets_check_space(const struct targets *t, struct error *err);

/*
 * Make all temporary files, except those that will be filled: parents, size,
 * image.  A TARGET_FILE that is filled and whose directory is not there, or
 * empty, gets into a new one, which will be renamed as a whole.
 */
int targets_prepare(struct targets *t, struct par *par, struct error *err);

/* Only number i: for targets that come one after another. */
int targets_prepare_one(struct targets *t, size_t i, struct error *err);

/*
 * transfer() that fills those of more than 0 bytes that are `filled`: part.file
 * of `to` is the number of the target.  Each is made when its first byte comes;
 * one that a single worker fills is finished at once, so that a small file is
 * opened once.  `o` without files_to.
 */
int targets_transfer(struct targets *t, const struct stripe *from,
		     const struct stripe *to, uint64_t len,
		     const struct transfer_options *o, struct error *err);

/* Put all in place, kind after kind, each kind on disk before the next. */
int targets_commit(struct targets *t, struct par *par, struct error *err);

/* Remove the temporary files that were not put in place. */
void targets_discard(struct targets *t);

#endif /* TRANSFER_TARGET_H */
