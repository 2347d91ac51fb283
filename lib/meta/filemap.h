/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filemap.h - filemap_R: the files of one rank (scr-dataset(5)).
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
	const char *cache_path; /* the key: absolute path in cache (with bypass:
				   in the prefix) */
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
	struct filemap_file *files; /* in the order of the filemap */
	int64_t ranks;	    /* RANKS of all files; -1: no file records it */
	const char *prefix; /* our key PREFIX at the top: path of the prefix
			       when the filemap was written; NULL: not
			       recorded */
};

/* Read the view of tree `t`; all strings are copied into `arena` (so `t` may be
 * cleared).  ERROR_CORRUPT: a tree that is not empty but has no FILE table,
 * numbers out of range, files with different RANKS, a NAME with '/'. */
int filemap_read(const struct kvtree *t, struct arena *arena,
		 struct filemap *out, struct error *err);

/* The same for the image of a filemap. */
int filemap_decode(const void *image, size_t len, struct arena *arena,
		   struct filemap *out, struct error *err);

/* Add one file to the FILE table of `t`, keys in LLNL's order. */
int filemap_add(struct kvtree *t, const struct filemap_file *f,
		struct error *err);

/* "filemap_12" -> 12; anything else (also "filemap_012", "old_filemap_3.bak"):
 * -1. */
int64_t filemap_name_rank(const char *name);

/* Write "filemap_<rank>" into `to`, and return `to`. */
char *filemap_name(char *to, size_t size, int64_t rank);
/* The same as an argument of a function, valid until the end of the block. */
#define FILEMAP_NAME_MAX 64
#define filemap_str(rank) \
	filemap_name((char[FILEMAP_NAME_MAX]){ 0 }, FILEMAP_NAME_MAX, rank)

#endif /* META_FILEMAP_H */
