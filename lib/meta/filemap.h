/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filemap.h - filemap_R: the files of one rank (formats.md 4.2).
 */
#ifndef META_FILEMAP_H
#define META_FILEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"

struct arena;
struct error;
struct kvtree;

struct filemap_file {
	const char *cache_path; /* the key: absolute path in cache (bypass: in
				   the prefix) */
	const char *orig;	/* ORIG or NULL */
	const char *dir;	/* PATH or NULL: absolute directory in prefix */
	const char *name;	/* NAME or NULL */
	struct attr attr;
	bool complete; /* COMPLETE = 1 */
	int64_t ranks; /* RANKS, -1: absent */
	bool has_crc;
	uint32_t crc;
};

struct filemap {
	size_t nfiles;
	struct filemap_file *files; /* in the order of the file */
	int64_t ranks;	    /* RANKS all files agree on; -1: no file says */
	const char *prefix; /* our key PREFIX at the top: where the prefix was
			       when it was written; NULL: not recorded */
};

/*
 * Read the view of tree `t`; all strings are copied into `arena` (so `t` may
 * be cleared).  ERROR_CORRUPT: no FILE table although the tree is not empty,
 * numbers out of range, files that disagree on RANKS, a NAME with '/'.
 */
int filemap_read(const struct kvtree *t, struct arena *arena,
		 struct filemap *out, struct error *err);

/* Add one file as a child of `t`'s FILE table, keys in LLNL's order. */
int filemap_add(struct kvtree *t, const struct filemap_file *f,
		struct error *err);

/* "filemap_12" -> 12; anything else, "filemap_012" and "old_filemap_3.bak"
 * included: -1. */
int64_t filemap_name_rank(const char *name);

/* "filemap_<rank>" into `to`. */
char *filemap_name(char *to, size_t size, int64_t rank);

#endif /* META_FILEMAP_H */
