/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hidden.h - metadata stored beside the segment map of a packed dataset: mode,
 * owner and times of its files; and, if they were packed, too, the filemaps,
 * descriptors and redundancy files of the metadata directory
 * (container-format(5)).
 *
 * On disk: packed.<n>.scr, one for every 8192 ranks, numbered like the parts of
 * rank2file; the top file of rank2file lists their names (CTR, HIDDEN):
 *   FILE -> path -> SIZE MODE UID GID ATIME_SECS ...
 *   META -> name -> ATTR -> MODE ...; TREE -> the keys of that kvtree file
 *   RED  -> name -> ATTR -> MODE ...; SIZE, CRC, SEG as in rank2file
 *   DIR  -> path of a directory that held files -> as FILE
 *   MAP  -> the tables of the part of rank2file: a spare (rank2file.h)
 * Each part has a second copy, copy.packed.<n>.scr.  HIDDEN records for each
 * part its checksum (CRC) and the number of its metadata files (META).
 */
#ifndef CONTAINER_HIDDEN_H
#define CONTAINER_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/segmap.h"

struct error;
struct kvtree;
struct rank2file;
struct stat;

/* A directory that held files when they were packed. */
struct hidden_dir {
	const char *path;
	struct attr attr;
};

struct hidden {
	struct arena *arena;
	/* The files of the dataset's map have their attributes; unrecorded ones
	 * are not set. */
	bool has_attrs;
	size_t ndirs, dirs_cap;
	struct hidden_dir *dirs;
	struct map *dir_by_path; /* path -> index in dirs */
	/* The packed files of the metadata directory, by plain names: small
	 * ones as trees, the others in containers of their own.  The rank of a
	 * file selects its part. */
	struct segmap map;
	size_t cap;	     /* of map.files */
	struct map *by_name; /* name -> index in map.files */
	/* The tables of other processes, from hidden_write(): they are written
	 * to the part, too.  Borrowed; or NULL. */
	const struct kvtree *others;
	/*
	 * The damage of a part whose second copy was read, or, if `unread`, of
	 * the first part that could not be read at all: modes and times of its
	 * files are unknown.  NULL: none.
	 */
	const char *flaw;
	bool unread;
	bool incomplete; /* an unread part has metadata files, too */
	struct kvtree **trees;
	size_t ntrees, trees_cap;
};

/* Make an empty one; free it with hidden_free().  -1: ERROR_NOMEM. */
int hidden_init(struct hidden *h, struct error *err);
void hidden_free(struct hidden *h);

/* Add a file; its strings are borrowed.  ERROR_CORRUPT: the name exists. */
int hidden_add(struct hidden *h, const struct segmap_file *f,
	       struct error *err);

/*
 * Add the file f.path of directory `dirfd`: a small kvtree file as a tree,
 * another one by its size, for a container.  Its path is borrowed, its rank and
 * group are set; *st is filled in.
 */
int hidden_take(struct hidden *h, int dirfd, struct segmap_file f,
		struct stat *st, struct error *err);

/* Write the tables META and RED of all files, for hidden.others. */
int hidden_write(const struct hidden *h, struct kvtree *t, struct error *err);

/* The file of that name, or NULL. */
const struct segmap_file *hidden_find(const struct hidden *h, const char *name);

/* Add a directory, or set its attributes again.  The path is copied.  -1:
 * ERROR_NOMEM. */
int hidden_add_dir(struct hidden *h, const char *path, const struct attr *attr,
		   struct error *err);

/* The attributes of a directory, or NULL. */
const struct attr *hidden_dir(const struct hidden *h, const char *path);

/*
 * Read the parts listed in `r` (its CTR) from directory `dirfd`; `m` is the map
 * of the same rank2file, whose files get their attributes.  If none are listed,
 * *h is empty.  If r is partial,
 * only attributes are read, from the parts that have files of `m`.  A part that
 * is damaged or missing is no error: see h->flaw.  ERROR_CORRUPT and
 * ERROR_UNSAFE name the part that is sound but breaks the format.
 */
int hidden_load(struct hidden *h, int dirfd, const struct rank2file *r,
		struct segmap *m, struct error *err);

/* A part: that of the ranks from `first`, a multiple of RANK2FILE_PART_RANKS.
 */
struct hidden_part {
	int dirfd; /* it is written there */
	size_t first;
	struct kvtree *list; /* and recorded here: HIDDEN */
};

/* Write a part with generation r->generation.  `m` and `r` need the files of
 * its ranks only. */
int hidden_store_part(const struct hidden *h, const struct hidden_part *part,
		      const struct segmap *m, const struct rank2file *r,
		      struct error *err);

/*
 * Write the parts with generation r->generation, and list them in r->containers
 * (made by segmap_write()).  Each part is replaced atomically.
 */
int hidden_store(const struct hidden *h, int dirfd, const struct segmap *m,
		 struct rank2file *r, struct error *err);

/* Remove all parts in `dirfd` that `r` does not list. */
int hidden_sweep(int dirfd, const struct rank2file *r, struct error *err);

#endif /* CONTAINER_HIDDEN_H */
