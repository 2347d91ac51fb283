/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lists.h - the files of each rank of a dataset on the prefix, from its
 * rank2file (formats.md 1.6).  Several ranks read parts of it, and send each
 * rank its own files: no rank holds all lists.
 */
#ifndef SCR_LISTS_H
#define SCR_LISTS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct error;
struct rank2file_file;
struct run;
struct team_note;

struct lists {
	size_t count;
	struct rank2file_file *files; /* paths are clean, and no metadata */
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

/* Open the metadata directory of dataset `id`, which has the rank2file.
 * Returns a descriptor to close, or -1.  Local. */
int lists_open(const struct run *run, int64_t id, struct error *err);

/* --- Files in a note: for each its numbers, its path, and a NUL --- */

void lists_add(struct buf *b, const struct rank2file_file *f);

/* Take the file at *at, and move *at behind it. */
void lists_take(const char **at, struct rank2file_file *f);

size_t lists_count(const struct team_note *n);

#endif /* SCR_LISTS_H */
