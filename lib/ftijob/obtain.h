/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * obtain.h - the bytes of a checkpoint file that is missing or damaged: from
 * its copy (L2), or computed from the parity of its group (L3) while they are
 * read.
 *
 * The bytes are not proven: the caller compares them with their sums, as those
 * of any file.
 */
#ifndef FTIJOB_OBTAIN_H
#define FTIJOB_OBTAIN_H

#include <stdbool.h>

#include "ftijob/set.h"

struct error;
struct fti_recover;
struct fti_source;
struct work;

struct fti_obtain {
	const struct fti_source *source; /* the bytes */
	enum fti_level level;
	char *root;
	/* For the module only. */
	struct fti_sets sets;
	struct fti_set *set;
	struct fti_rank *rank;
	struct fti_recover *recover;
};

/*
 * Find the files of the checkpoint of `path` below `root`; NULL: in the common
 * directory of all nodes, as FTI has it.  Nothing is read yet.  ERROR_ABSENT:
 * there are none; ERROR_LOST: the file has neither copy nor parity.  Call
 * fti_obtain_close() also after a failure.
 */
int fti_obtain_open(struct fti_obtain *o, const char *path, const char *root,
		    const struct work *w, struct error *err);
void fti_obtain_close(struct fti_obtain *o);

/* Set o->source.  Without `data`, files of the group count as good if their
 * records are.  ERROR_LOST: too many are missing or damaged. */
int fti_obtain_source(struct fti_obtain *o, bool data, const struct work *w,
		      struct error *err);

#endif /* FTIJOB_OBTAIN_H */
