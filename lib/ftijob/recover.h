/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recover.h - the files of a rank, whichever way they can be had: from the
 * files themselves, from copies (L2), or computed from the other files of the
 * group while they are read (L3).
 *
 * Only files that fti_set_examine() has found good are used; without checksums
 * it cannot know, so the caller compares what it gets with its sums.
 *
 * Ownership: sources belong to the struct fti_recover, which borrows sets and
 * tree.  Threads: any number may read the sources.
 */
#ifndef FTIJOB_RECOVER_H
#define FTIJOB_RECOVER_H

#include "ftijob/set.h"

struct fti_parity;
struct fti_rankfile;
struct fti_recover; /* opaque */
struct fti_source;

/* Open the good files of the group of `of`, a rank of the examined checkpoint
 * `set`; if there are no groups, those of the rank.  NULL: a file that was
 * good cannot be opened, or stopped. */
struct fti_recover *fti_recover_new(const struct fti_sets *s,
				    struct fti_set *set,
				    const struct fti_rank *of,
				    const struct work *w, struct error *err);
void fti_recover_free(struct fti_recover *r); /* NULL is ignored */

/* A file of a rank of the group.  NULL: ERROR_LOST, or ERROR_CORRUPT: the files
 * of the group contradict each other. */
const struct fti_source *fti_recover_source(const struct fti_recover *r,
					    const struct fti_rank *of,
					    enum fti_part part,
					    struct error *err);

/* The group of an L3 checkpoint.  NULL: its lost files cannot be computed; the
 * error is that of fti_recover_source(). */
const struct fti_parity *fti_recover_parity(const struct fti_recover *r,
					    struct error *err);

/* Open bytes that such a file has, or should have, for
 * fti_rankfiles_check(). */
int fti_recover_open(const struct fti_recover *r, const struct fti_rank *of,
		     enum fti_part part, const struct fti_source *bytes,
		     struct fti_rankfile *to, struct error *err);

/* Do their sums prove the data of the group of an L3 checkpoint, or only those
 * that are `computed`?  1; 0: *err says what is wrong; -1. */
int fti_recover_proves(const struct fti_recover *r, bool computed,
		       const struct work *w, struct error *err);

/* Write the name that a file of the rank has.  Returns `to`; or as an argument
 * of a function, valid until the end of the block. */
char *fti_part_name(struct fti_set *set, const struct fti_rank *of,
		    enum fti_part part, char to[static FTI_NAME_MAX]);
#define fti_part_str(set, of, part) \
	fti_part_name(set, of, part, (char[FTI_NAME_MAX]){ 0 })

/* The bytes of a file that is missing or damaged.  They are not proven. */
struct fti_obtain {
	const struct fti_source *source; /* the bytes */
	/* Which files contradict each other, so that the bytes may be wrong and
	 * other files may give them; or NULL. */
	const char *conflict;
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
 * there are none, or the file has neither copy nor parity.  Call
 * fti_obtain_close() also after a failure.
 */
int fti_obtain_open(struct fti_obtain *o, const char *path, const char *root,
		    const struct work *w, struct error *err);
void fti_obtain_close(struct fti_obtain *o);

/* Set o->source.  Without `data`, files of the group count as good if their
 * records are.  ERROR_LOST: too many are missing or damaged; ERROR_SYSTEM: with
 * `data`, one that cannot be read may give it.  */
int fti_obtain_source(struct fti_obtain *o, bool data, const struct work *w,
		      struct error *err);

#endif /* FTIJOB_RECOVER_H */
