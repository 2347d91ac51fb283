/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file.h - which rank has which files, a tree scattered over several
 * files (formats.md 1.6 and 3.4).  Reads what both of LLNL's writers write
 * (MPI writer: parts cut at 1 MiB, any number of levels; scr_index: parts of
 * 8192 ranks, and its wrong RANKS in parts), and the `.scr`-suffixed names of
 * containers.md.
 */
#ifndef META_RANK2FILE_H
#define META_RANK2FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct error;
struct kvtree;
struct par;

#define RANK2FILE_FILE "rank2file"
#define RANK2FILE_PART_RANKS 8192
#define RANK2FILE_MAX_RANKS 100000000 /* no valid RANKS is larger */

/* A stretch of a container that holds a stretch of a file (containers.md 1). */
struct rank2file_seg {
	const char *file; /* from the dataset's directory: untrusted */
	uint64_t off, len;
};

struct rank2file_file {
	const char *path; /* relative to the prefix, as recorded: untrusted */
	bool has_size, has_crc;
	uint64_t size;
	uint32_t crc;
	size_t nsegs; /* in their order; none: a file of its own */
	const struct rank2file_seg *segs;
	const struct kvtree *node; /* the entry itself, with what else it has;
				      NULL: nothing else */
};

struct rank2file_rank {
	bool present; /* some part has an entry for this rank */
	size_t nfiles;
	struct rank2file_file *files;
	uint64_t expected; /* FILES: more than nfiles where scr_index could not
			      find all; 0 (or less): as many as nfiles */
};

struct rank2file {
	size_t nranks;
	struct rank2file_rank *ranks; /* nranks */
	struct arena *arena;	      /* owns all of it */
	struct kvtree **trees;	      /* parts, kept for `node` */
	size_t ntrees;
	struct arena **arenas; /* parts as they were read: strings are
				  here; lists of files; segments */
	size_t narenas;
	struct kvtree *top; /* the top file; NULL when written by us */
	/* Child CTR of the top file: what our containers are (rank2file(5));
	 * NULL: none.  Read: borrowed from `top`. */
	const struct kvtree *containers;
	/* Parts are named by number: the first rank of each, and a bit more.
	 * With numbers none of which is in use a new set can be written beside
	 * the old one, and one rename decides. */
	unsigned generation; /* to write: how much more, below
				RANK2FILE_PART_RANKS; as read 0 */
	unsigned unused;     /* read: a generation that is not in use */
	bool uncounted;	     /* to write: without FILES, as SCR 1.1.8 did */
	bool distinct;	     /* to write: no rank lists a path twice, for
				certain: saves looking */
};

/*
 * Read `base` ("rank2file") and its parts in directory `dirfd`.  For
 * rank2file_free().  ERROR_ABSENT: no such file; ERROR_CORRUPT names the part:
 * a rank in two parts, out of range, a part name that is not ".L.W", an
 * offset beyond the file, more ranks claimed than the files could hold.  Ranks
 * that no part has are left with present = false.  With `par` (or NULL) the
 * parts are read by several threads.
 */
int rank2file_load(int dirfd, const char *base, struct rank2file *out,
		   struct error *err);
int rank2file_load_par(int dirfd, const char *base, struct par *par,
		       struct rank2file *out, struct error *err);
void rank2file_free(struct rank2file *r);

/*
 * One entry of a file alone: SIZE, CRC and SEG below `k`, whose name is the
 * path; for other tables that have such entries.  Strings are borrowed from
 * the tree, segments go to `arena`.  ERROR_CORRUPT names the key.
 */
int rank2file_read_file(const struct kvtree *k, struct arena *arena,
			struct rank2file_file *out, struct error *err);

/* The same the other way: as children of `t`. */
int rank2file_build_file(struct kvtree *t, const struct rank2file_file *f,
			 struct error *err);

/* Append the image of one part, in LLNL's scr_index form and order (RANKS, RANK
 * highest first, LEVEL; FILES, FILE).  `first` and `count` choose the ranks. */
int rank2file_encode_part(const struct rank2file *r, size_t first, size_t count,
			  struct buf *out, struct error *err);

/*
 * Call fn for the name and image of each file of a rank2file `base`: all
 * parts, one in memory at a time, then the top file.  Its failure (-1) ends it.
 */
typedef int rank2file_fn(void *arg, const char *name, const struct buf *image,
			 struct error *err);
int rank2file_each(const struct rank2file *r, const char *base,
		   rank2file_fn *fn, void *arg, struct error *err);

/*
 * Write all parts, then the top file; each atomically, parts first, so that a
 * reader never finds a top file whose parts are missing.  In an unused
 * generation all changes with the rename of the top file; parts of others are
 * removed after that.  RANKS of a part is
 * the number of ranks of the job when there are several parts (LLNL's MPI
 * reader wants that; its own scr_index writes the part's count instead).
 */
int rank2file_store(int dirfd, const char *base, const struct rank2file *r,
		    struct error *err);

#endif /* META_RANK2FILE_H */
