/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sector.h - the metadata of POSIX files that are being written: the ini file
 * of a group (posix.h), made from the drafts of its members.
 */
#ifndef FTI_SECTOR_H
#define FTI_SECTOR_H

#include <stddef.h>

#include "fti/posix.h"

struct arena;
struct buf;
struct error;
struct fti_draft;

struct fti_sector {
	struct fti_posix posix; /* of `members` files */
	struct arena *arena;
};

/* A group of checkpoint `id`.  Call fti_sector_fini() also after a failure. */
int fti_sector_start(struct fti_sector *s, int32_t id, size_t members,
		     struct error *err);
void fti_sector_fini(struct fti_sector *s);

/* The file of a member, after it was written (fti_describe_posix()).  Only what
 * other metadata say of its variables is borrowed, until fti_sector_print(). */
int fti_sector_set(struct fti_sector *s, size_t member, const char *name,
		   const struct fti_draft *d, struct error *err);

/* Write the ini file, when all members are set.  `name` is for messages. */
int fti_sector_print(struct fti_sector *s, const char *name, struct buf *out,
		     struct error *err);

#endif /* FTI_SECTOR_H */
