/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extract.h - extract single files of a dataset, packed or not: only the
 * segments of these files are read.
 */
#ifndef CONTAINER_EXTRACT_H
#define CONTAINER_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/packed.h"
#include "transfer/put.h"

/*
 * Mark in `only` (by file, all false) the files that match `names`: paths as
 * listed, or shell patterns; all files if there are no names.  ERROR_ABSENT: a
 * name matches no file.
 */
int extract_choose(const struct packed *p, const char *const *names,
		   size_t count, bool *only, struct error *err);

/* Write the bytes of one file to descriptor `fd`, which may be a pipe.
 * ERROR_DAMAGED: the checksum was wrong, which is known only after all bytes
 * were written. */
int extract_cat(const struct packed *p, size_t file, int fd,
		const struct work *work, struct error *err);

struct extract_options {
	const bool *only; /* by file: extract_choose() */
	const char *dir;  /* is created if missing */
	bool force;	  /* replace existing files, else EEXIST */
	struct put_guard guard;
	const struct work *work;
};

struct extract_result {
	size_t files;
	uint64_t bytes;
};

/*
 * Write files below a directory, with modes, owners and times; each file
 * atomically.  *out is valid after a failure, too.
 */
int extract_files(const struct packed *p, const struct extract_options *o,
		  struct extract_result *out, struct error *err);

#endif /* CONTAINER_EXTRACT_H */
