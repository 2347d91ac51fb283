/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewind_impl.h - shared by the files of rewind.
 */
#ifndef FTIJOB_REWIND_IMPL_H
#define FTIJOB_REWIND_IMPL_H

#include <stddef.h>

struct buf;
struct error;
struct fti_rewind;

#define JOURNAL FTI_OURS "restart."
#define HIDDEN FTI_OURS "hidden."
#define BACKUP FTI_OURS "config."
#define NUMBERED_MAX 64 /* bytes of a name with a number */

/* Write the name of the journal.  Returns `to`; or as an argument of a
 * function, valid until the end of the block. */
char *rewind_journal_name(const struct fti_rewind *r,
			  char to[static NUMBERED_MAX]);
#define rewind_journal_str(r) rewind_journal_name(r, (char[NUMBERED_MAX]){ 0 })

/* Write the journal. */
int rewind_journal_write(const struct fti_rewind *r, struct error *err);

/* Bytes of a path before its last component, with the slash. */
size_t rewind_dir_len(const char *path);

/* The text of config.fti with the new values, from the old text. */
int rewind_config_text(const struct fti_rewind *r, const struct buf *old,
		       struct buf *out, struct error *err);

#endif /* FTIJOB_REWIND_IMPL_H */
