/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lists.h - the files of each rank of a dataset on the prefix, from its
 * rank2file (kvtree(5)).  Several ranks read parts of it, and send each
 * rank its own files: no rank holds all lists.
 */
#ifndef SCR_LISTS_H
#define SCR_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct attr;
struct buf;
struct dataset;
struct error;
struct rank2file_file;
struct run;
struct team_note;

struct lists {
	size_t count;
	/* Paths are clean, and no metadata; segments add up to the size of
	 * their file, and names of containers are clean. */
	struct rank2file_file *files;
	bool packed;	    /* files are in containers */
	uint32_t nranks;    /* that wrote the dataset */
	uint32_t *ranks;    /* by file: which of them */
	const char *root;   /* names of containers are relative to it, and it to
			     the prefix */
	struct attr *attrs; /* by file, as packed; unrecorded ones, and those of
			       a dataset that is not packed, are not set */
};

/*
 * Get the files of this rank in dataset `d` (its id, and its name, or NULL), in
 * `a`. Collective; all ranks return the same, also out->packed.  If another
 * number of ranks wrote it, that is ERROR_USAGE; with SCR_RESTART_ANY_RANKS and
 * `fetch`, each rank gets the files of some of them, in order: all together get
 * all.  ERROR_ABSENT, ERROR_CORRUPT, ERROR_SYSTEM:
 * rank2file cannot be read; ERROR_DAMAGED: it lacks files; ERROR_UNSAFE: a path
 * leaves the prefix.  ERROR_NOMEM.
 *
 * `fetch`: read attributes, if SCR_COPY_METADATA wants them, and refuse an
 * unfinished dataset, and files with bytes that an interrupted rebuild may have
 * left half written: ERROR_DAMAGED.
 */
int lists_read(const struct run *run, const struct dataset *d, bool fetch,
	       struct arena *a, struct lists *out, struct error *err);

/* Open the metadata directory of dataset `id`, which has the rank2file.
 * Returns a descriptor to close, or -1.  Local. */
int lists_open(const struct run *run, int64_t id, struct error *err);

/* --- Files in a note: for each its numbers, its attributes if there are any,
 * its path, a NUL, and its segments --- */

/* `a` NULL: without attributes. */
void lists_add(struct buf *b, const struct rank2file_file *f,
	       const struct attr *a);

/* Take the file at `at`; *a (or NULL) gets its attributes, or is not changed.
 * Its segments lie in `arena`; NULL: they are left out.  Returns what follows
 * the file; NULL: no memory. */
const char *lists_take(const char *at, struct rank2file_file *f, struct attr *a,
		       struct arena *arena);

/* Where a note has the attributes of the file at `at`, if it has them. */
char *lists_attr(char *at);

size_t lists_count(const struct team_note *n);

#endif /* SCR_LISTS_H */
