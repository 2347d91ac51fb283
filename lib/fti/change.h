/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * change.h - the fields in which the records of an FTI-FF file differ from
 * those that a draft would write in its place.
 */
#ifndef FTI_CHANGE_H
#define FTI_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fti/layout.h"

struct error;
struct fti_checked;
struct fti_draft;

/* Bytes between fields, which no version of FTI reads. */
#define FTI_PAD FTI_FIELDS

struct fti_change {
	uint64_t at;		 /* offset in the file */
	size_t block, container; /* SIZE_MAX: of none */
	enum fti_field field;	 /* or FTI_PAD */
	/* As text; of bytes between fields, in hex. */
	char before[4 * FTI_CHECKSUM_SIZE + 1], after[FTI_CHECKSUM_SIZE];
};

/*
 * List the changes: block after block, then the metadata record.  The draft has
 * the layout and the structure of the file (fti_describe_same(),
 * fti_describe_repair()), and all sums are set.  Free the list with mem_free(),
 * also after a failure.
 */
int fti_changes(const struct fti_checked *c, const struct fti_draft *d,
		struct fti_change **list, size_t *count, struct error *err);

/* Is there a reason to write the file again?  Bytes between fields are none,
 * nor are the sums over them. */
bool fti_changes_matter(const struct fti_change *list, size_t count);

#endif /* FTI_CHANGE_H */
