/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file.h - the files of each rank: a tree spread over several files
 * (kvtree(5) and scr-dataset(5)).  Supports both of LLNL's writers: the MPI
 * writer (parts cut at 1 MiB, any number of levels) and scr_index (parts of
 * 8192 ranks, with a wrong RANKS in each part).  Also supports the
 * `.scr`-suffixed names of container-format(5).
 */
#ifndef META_RANK2FILE_H
#define META_RANK2FILE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct error;
struct kvtree;
struct kvwrite;
struct par;

#define RANK2FILE_FILE "rank2file"
/* Prefix of the second copy of a file of a packed dataset's map
 * (container-format(5)). */
#define RANK2FILE_COPY "copy."
/* The packed metadata of the ranks of part N also have the tables of that part:
 * the name of the file, for a uint64_t, and the key. */
#define RANK2FILE_SPARE_FMT "packed.%" PRIu64 ".scr"
#define RANK2FILE_SPARE_NAME 40
#define RANK2FILE_SPARE "MAP"
#define RANK2FILE_PART_RANKS 8192
#define RANK2FILE_MAX_RANKS 100000000 /* no valid RANKS is larger */

/* A container range that holds a range of a file (container-format(5)). */
struct rank2file_seg {
	const char *file; /* relative to the dataset's directory: untrusted */
	uint64_t off, len;
};

struct rank2file_file {
	const char *path; /* relative to the prefix, as recorded: untrusted */
	bool has_size, has_crc;
	uint64_t size;
	uint32_t crc;
	size_t nsegs; /* in file order; 0: the file is not in containers */
	const struct rank2file_seg *segs;
	const struct kvtree *node; /* the entry with all its keys; NULL: no
				      other keys */
};

struct rank2file_rank {
	bool present; /* a part has an entry for this rank */
	size_t nfiles;
	struct rank2file_file *files;
	uint64_t expected; /* FILES: exceeds nfiles if scr_index did not find
			      all files; for writing, a smaller value means
			      nfiles */
};

struct rank2file {
	size_t nranks;
	struct rank2file_rank *ranks;
	struct arena *arena;   /* owns `ranks` */
	struct kvtree **trees; /* trees of parts, kept for `node` */
	size_t ntrees;
	struct arena **arenas; /* contents of the parts (strings point into
				  them), file lists and segments */
	size_t narenas;
	struct kvtree *top; /* tree of the top file, or NULL */
	/* Child CTR of the top file: describes our containers (rank2file(5));
	 * NULL: none.  After a load, borrowed from `top`. */
	const struct kvtree *containers;
	/* Set by a load: the damage of the first file that could not be read,
	 * NULL: none; and the source that was read instead, as a clause. */
	const char *flaw, *instead;
	/* Set by a load: why LLNL's MPI reader refuses the map, which is read
	 * nevertheless; NULL: it does not. */
	const char *refused;
	/* A part is named by its first rank plus the generation.  Parts of an
	 * unused generation can be written beside the old parts; the rename of
	 * the top file then switches to them. */
	unsigned generation; /* for writing: below RANK2FILE_PART_RANKS; 0 after
				a load */
	unsigned unused;     /* set by a load: a generation not in use */
	bool partial;	/* set by a load: files that were not wanted are left
			 out */
	bool uncounted; /* for writing: leave out FILES, like SCR 1.1.8 */
	bool distinct;	/* for writing: paths of each rank are known to be
				unique, so do not check */
};

/*
 * Read `base` ("rank2file") and its parts in directory `dirfd`; release with
 * rank2file_free().  Ranks without an entry in any part get present = false.
 * ERROR_ABSENT: no such file.  ERROR_CORRUPT names the part: a rank in two
 * parts or out of range, a part name that is not ".L.W", an offset beyond the
 * file, more ranks than the files could hold.  In place of a file that is
 * damaged or missing, its second copy is read if there is one that belongs to
 * this map; else, for a packed dataset, the same tables in packed.N.scr.
 * ERROR_LOST: these are lost, too.
 */
int rank2file_load(int dirfd, const char *base, struct rank2file *out,
		   struct error *err);
void rank2file_free(struct rank2file *r);

/*
 * Makes a load of the map of a packed dataset (with CTR) keep only the entries
 * of wanted files.  Others need little memory, and are parsed only as far as
 * necessary.  If a map or part has an unusual form, more may be kept.
 *
 * rank2file_load_some() without a filter (NULL) keeps all.  If `par` is not
 * NULL, several threads read the parts.
 */
struct rank2file_filter {
	bool (*wants)(const void *arg, const char *path);
	const void *arg;
};
int rank2file_load_some(int dirfd, const char *base, struct par *par,
			const struct rank2file_filter *wanted,
			struct rank2file *out, struct error *err);

/*
 * Read what is left of a damaged map: as rank2file_load_some() without a
 * filter, but if the top file is missing or damaged, its parts are found by
 * their names, and a part that cannot be read is left out, so that its ranks
 * are not present. out->flaw tells.  ERROR_ABSENT: no file of the map is left.
 */
int rank2file_load_left(int dirfd, struct rank2file *out, struct error *err);

/* The same as rank2file_load() from images of the files in memory, by their
 * names. */
struct rank2file_image {
	const char *name, *data;
	size_t len;
};
int rank2file_load_images(const struct rank2file_image *images, size_t count,
			  const char *base, struct rank2file *out,
			  struct error *err);

/* --- Part by part, for readers that do not hold the whole map --- */

struct rank2file_part_at {
	const char *name;
	uint64_t offset; /* of the part in the file */
};

struct rank2file_parts {
	size_t nranks;
	bool packed; /* files are in containers */
	size_t count;
	struct rank2file_part_at *parts; /* in `arena` */
	struct kvtree *top;		 /* for kvtree_free(), or NULL */
	const struct kvtree *containers; /* CTR, borrowed from `top`, or NULL */
};

/* List the parts of the rank2file `base`, without reading them.  Errors are
 * those of rank2file_load(). */
int rank2file_list(int dirfd, const char *base, struct arena *arena,
		   struct rank2file_parts *out, struct error *err);

struct rank2file_visit {
	size_t nranks; /* of the map */
	bool whole;    /* read the part into memory */
	/* CTR of the map, or NULL: with `whole`, a damaged part is replaced as
	 * by rank2file_load(). */
	const struct kvtree *containers;
	/* Called for each rank; the list of files lasts until it returns. */
	int (*take)(void *arg, size_t rank, const struct rank2file_rank *r,
		    struct error *err);
	void *arg;
};

/*
 * Visit each rank in a part of a map.  The part is read in a window, and only
 * one rank is in memory.  If take() returns -1, so does this.
 *
 * Returns 1 if the part is damaged, or has another form than all known programs
 * write: discard the results of take(), and call again with `whole`, which
 * reports the damage.
 */
int rank2file_each_rank(int dirfd, const struct rank2file_part_at *part,
			const struct rank2file_visit *visit, struct error *err);

/*
 * Read the entry `k` of one file: its name is the path, its children are SIZE,
 * CRC and SEG.  Also used for other tables with such entries.  Strings are
 * borrowed from the tree; segments are allocated in `arena`.  ERROR_CORRUPT
 * names the key.
 */
int rank2file_read_file(const struct kvtree *k, struct arena *arena,
			struct rank2file_file *out, struct error *err);

/* Write the entry of `f` as children of `t`. */
int rank2file_build_file(struct kvtree *t, const struct rank2file_file *f,
			 struct error *err);

/* Append the image of one part for `count` ranks from `first`.  Form and order
 * are those of LLNL's scr_index (RANKS, RANK highest first, LEVEL; FILES,
 * FILE). */
int rank2file_encode_part(const struct rank2file *r, size_t first, size_t count,
			  struct buf *out, struct error *err);

/* The same as RANK2FILE_PART_KEYS children of the key that `w` is in. */
#define RANK2FILE_PART_KEYS 3
int rank2file_put_part(struct kvwrite *w, const struct rank2file *r,
		       size_t first, size_t count, struct error *err);

/* Call fn with the name and the image of each file of the rank2file `base`:
 * first all parts, one in memory at a time, then the top file.  Stop if fn
 * returns -1, and return -1. */
typedef int rank2file_fn(void *arg, const char *name, const struct buf *image,
			 struct error *err);
int rank2file_each(const struct rank2file *r, const char *base,
		   rank2file_fn *fn, void *arg, struct error *err);

/* Write a file of the map, and if `twice`, its second copy. */
int rank2file_write(int dirfd, const char *name, const struct buf *image,
		    bool twice, struct error *err);

/* Record the checksum of file `name` in a list of files (COPY, HIDDEN).  Return
 * its entry, or NULL; `list` may be NULL. */
struct kvtree *rank2file_set_sum(struct kvtree *list, const char *name,
				 const struct buf *image, struct error *err);

/* Does the entry of a file in such a list, or NULL, have the checksum of
 * `data`? */
bool rank2file_has_sum(const struct kvtree *k, const void *data, size_t len);

/* Does this map get second copies when it is written?  Only if it has
 * containers, and is not in the form of SCR 1.1.8. */
bool rank2file_has_copies(const struct rank2file *r);

/*
 * Write all parts, then the top file.  Each file is replaced atomically, so a
 * reader never finds a top file without its parts.  If
 * rank2file_has_copies(), a second copy of each file is written, and CTR gets
 * COPY, the checksums of the
 * parts.  If the generation is
 * unused, the rename of the top file switches to the new parts; parts of other
 * generations are removed after that.  If there are several parts, RANKS of
 * each is the number of ranks of the job: LLNL's MPI reader requires it,
 * although scr_index writes the count of the part.
 */
int rank2file_store(int dirfd, const char *base, const struct rank2file *r,
		    struct error *err);

/*
 * Write "rank2file" of a dataset that several processes write.  Each calls
 * rank2file_store_part() for the ranks from `first`, a multiple of
 * RANK2FILE_PART_RANKS; `r` has entries for these ranks only.  After all have,
 * one process calls rank2file_store_top() with `r` without entries, which
 * removes parts of other maps.  Finally each process syncs the directory.
 *
 * If rank2file_has_copies(), `copy` (COPY) gets the checksum of the part, and
 * the top file all of them: it becomes part of its CTR.
 */
int rank2file_store_part(int dirfd, const struct rank2file *r, size_t first,
			 struct kvtree *copy, struct error *err);
int rank2file_store_top(int dirfd, const struct rank2file *r,
			const struct kvtree *copy, struct error *err);

#endif /* META_RANK2FILE_H */
