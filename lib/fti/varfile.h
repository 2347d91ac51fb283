/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * varfile.h - write variables of checkpoint files to files of their own, or to
 * a descriptor.
 *
 * Data are given out as they are: the caller has compared them with their sums
 * (fti_rankfile_unproven()).  Memory does not grow with the data.
 */
#ifndef FTI_VARFILE_H
#define FTI_VARFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fti_content;
struct fti_content_var;
struct work;

struct fti_varfile {
	const struct fti_content *content;
	const struct fti_content_var *var;
	uint64_t off, len; /* of the bytes in the variable */
	/* Bytes before them, or NULL. */
	const void *head;
	size_t head_size;
	const char *path; /* clean, beneath the directory */
};

/*
 * Write files below `dirfd`.  They get their names together, when all are on
 * disk; after a failure before that none of them exists, and files that they
 * should have replaced are whole.  With work.dry_run only names and room are
 * checked.  Without `replace`, a name that exists is ERROR_USAGE.
 */
int fti_varfiles_write(int dirfd, const struct fti_varfile *list, size_t count,
		       bool replace, const struct work *w, struct error *err);

/* Write to `fd`, which may be a pipe; it is no error if its reader closes
 * it. */
int fti_varfile_stream(int fd, const struct fti_varfile *x,
		       const struct work *w, struct error *err);

#endif /* FTI_VARFILE_H */
