/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lists.h - the files of each rank of a dataset on the prefix, from its
 * rank2file (formats.md 1.6).  Several ranks read parts of it, and send each
 * rank its own files: no rank holds all lists.
 */
#ifndef SCR_LISTS_H
#define SCR_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct run;

struct lists_file {
	const char *rel; /* below the prefix: clean, and no metadata */
	uint64_t size;
	uint32_t crc;
	bool has_size, has_crc;
};

struct lists {
	size_t count;
	struct lists_file *files;
};

/*
 * Get the files of this rank in dataset `id`, in `a`. Collective; all ranks
 * return the same.  ERROR_USAGE: another number of ranks wrote it, or its files
 * are in containers.  ERROR_ABSENT, ERROR_CORRUPT, ERROR_SYSTEM: rank2file
 * cannot be read; ERROR_DAMAGED: it lacks files; ERROR_UNSAFE: a path leaves
 * the prefix.  ERROR_NOMEM.
 */
int lists_read(const struct run *run, int64_t id, struct arena *a,
	       struct lists *out, struct error *err);

#endif /* SCR_LISTS_H */
