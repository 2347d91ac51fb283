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

struct arena;
struct par;

/* Names of files, borrowed: paths as listed, or shell patterns. */
struct extract_names {
	const char *const *names;
	size_t count;
	struct map *by; /* name -> its index, the last one if given twice */
	const char **patterns; /* those with wildcards */
	size_t npatterns;
};

/* Free it with extract_names_free(). */
void extract_names_init(struct extract_names *n, const char *const *names,
			size_t count);
void extract_names_free(struct extract_names *n);

/* Can a file of this path be selected?  `names`: a struct extract_names. */
bool extract_wants(const void *names, const char *path);

/*
 * List the files that the names select, in the order of the names; the matches
 * of a pattern in the order of the map.  A name that is a path is no pattern.
 * ERROR_ABSENT: a name matches no file.  Free it with mem_free().
 */
struct extract_list {
	size_t *files; /* indexes in the map */
	size_t count, cap;
};
int extract_choose(const struct packed *p, const struct extract_names *n,
		   struct extract_list *out, struct error *err);

/* Write the bytes of one file to descriptor `fd`, which may be a pipe.
 * ERROR_DAMAGED: the checksum was wrong, which is known only after all bytes
 * were written. */
int extract_cat(const struct packed *p, size_t file, int fd,
		const struct work *work, struct error *err);

/* --- All that leaves containers --- */

/* Files that are copied, end to end, to files of the put engine.  The caller
 * sets the first three members. */
struct packed_copy {
	const struct packed *p;
	struct put *put;
	struct arena *arena;
	struct stripe from, to;
	const struct segmap_file **files; /* by part of `to` */
	uint64_t len;
};

/* Make room for `files` files with `segs` segments. */
void packed_copy_init(struct packed_copy *c, size_t files, size_t segs);

/* Add a file of `m`, to be written as *what. */
int packed_copy_add(struct packed_copy *c, const struct segmap *m,
		    const struct segmap_file *f, const struct put_what *what,
		    struct error *err);

/* Copy all files, compare sizes and checksums, and put them in place. */
int packed_copy_run(const struct packed_copy *c, const struct work *work,
		    struct error *err);

/* List, in `arena`, each existing directory that holds one of the files
 * (`only` by file; NULL: all), and each above it up to the prefix.  Of all of
 * them none may be unreadable: its attributes would be missing in a copy. */
struct packed_dirs {
	struct hidden_dir *list;
	size_t count;
};
int packed_dirs(const struct packed *p, const bool *only, struct par *par,
		struct arena *arena, struct packed_dirs *out,
		struct error *err);

/* --- Files below a directory --- */

struct extract_options {
	const bool *only; /* by file */
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
