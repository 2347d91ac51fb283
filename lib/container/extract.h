/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extract.h - single files out of a dataset, packed or not: only their own
 * segments are read.
 */
#ifndef CONTAINER_EXTRACT_H
#define CONTAINER_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/packed.h"

/*
 * Mark in `only` (by file, all false) the files that `names` mean: paths as
 * listed, or shell patterns; none: all.  ERROR_ABSENT: one means no file.
 */
int extract_choose(const struct packed *p, const char *const *names,
		   size_t count, bool *only, struct error *err);

/* Write the bytes of one file to descriptor `fd`, which may be a pipe.
 * ERROR_DAMAGED when its checksum was wrong: it is known only at the end. */
int extract_cat(const struct packed *p, size_t file, int fd,
		const struct work *work, struct error *err);

/*
 * Write the files marked in `only` below directory `dir`, which is made, with
 * modes, owners and times; all or none of each.  A file that is there is
 * EEXIST, unless `force`.  *count, *bytes: what was written.
 */
int extract_files(const struct packed *p, const bool *only, const char *dir,
		  bool force, const struct work *work, size_t *count,
		  uint64_t *bytes, struct error *err);

#endif /* CONTAINER_EXTRACT_H */
