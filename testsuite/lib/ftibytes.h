/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ftibytes.h - FTI's files from bytes in memory, and what tests look up in
 * them.
 */
#ifndef FTIBYTES_H
#define FTIBYTES_H

#include <stddef.h>
#include <stdint.h>

#include "fti/content.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "fti/write.h"

/* `size` bytes in memory, borrowed. */
void fti_source_memory(struct fti_source *s, const void *data, uint64_t size,
		       const char *name);

/* fti_posix_read() of bytes. */
struct fti_posix *fti_posix_parse(const char *name, const void *data,
				  size_t len, struct error *err);

/* The file with this base name, or NULL. */
const struct fti_posix_file *fti_posix_file(const struct fti_posix *p,
					    const char *name);

/* The variable, or NULL. */
const struct fti_content_var *fti_content_var(const struct fti_content *c,
					      int32_t id);

/* Plan all files, and write them; with work.dry_run only plan. */
int fti_write(const struct fti_job *jobs, size_t count, const struct work *w,
	      struct error *err);

#endif /* FTIBYTES_H */
