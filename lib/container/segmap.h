/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segmap.h - the segment map of a packed dataset: which stretches of which
 * containers hold each file (containers.md 1).  No files are opened here.
 *
 * A container's name is taken from the dataset's directory on, ".scr/ctr.0.scr"
 * say.  Maps that are read are untrusted: segmap_read() lets no name out of
 * that directory and no sum overflow; whether the map makes sense is for
 * segmap_check() to say.
 */
#ifndef CONTAINER_SEGMAP_H
#define CONTAINER_SEGMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct kvtree;
struct map;
struct par;
struct rank2file;

#define SEGMAP_SIZE_DEFAULT (UINT64_C(100) << 30) /* SCR_CONTAINER_SIZE */
#define SEGMAP_DIR ".scr"			  /* where containers are */
#define SEGMAP_DATA "ctr"			  /* "ctr.<id>.scr": data */
#define SEGMAP_REDUNDANCY "red"			  /* and redundancy */

/* More containers than that make no sense: the size is too small. */
#define SEGMAP_CONTAINERS_MAX ((size_t)1 << 24)

struct segment {
	uint32_t container; /* in segmap.containers */
	uint64_t off, len;  /* there, in bytes; len > 0 */
};

struct segmap_container {
	const char *name;
	uint64_t used; /* where its last segment ends */
	/* Recorded with the map, or not: */
	bool has_size, has_crc;
	uint64_t size;
	uint32_t crc;
};

struct segmap_file {
	uint32_t rank;
	const char *path; /* as recorded: untrusted */
	uint64_t size;
	bool has_size; /* else the sum of its segments, if it has any */
	bool has_crc;
	uint32_t crc;
	uint64_t start; /* in the string of all packed files */
	size_t first, nsegs;
};

struct segmap {
	struct arena *arena;
	uint64_t container_size; /* 0: not recorded */
	uint64_t bytes;		 /* in all segments */
	bool moving; /* a repack is under way: containers may have gaps */
	size_t ncontainers, nfiles, nsegs;
	struct segmap_container *containers;
	struct segmap_file *files; /* rank after rank, as listed */
	struct segment *segs;	   /* file after file */
};

/* --- Making --- */

/*
 * An empty map for segmap_free(), with room for `nfiles` files; the caller
 * fills files[] in, in the order in which they are to be packed (rank, path,
 * size, crc), and sets nfiles.  Strings are borrowed.
 */
int segmap_init(struct segmap *m, size_t nfiles, struct error *err);
void segmap_free(struct segmap *m);

/*
 * Lay the files end to end and cut at `size` (> 0): containers `stem`.<n>.scr
 * from n = `first` on.  ERROR_USAGE: too many containers.
 */
int segmap_cut(struct segmap *m, const char *stem, uint64_t size, size_t first,
	       struct error *err);

/* --- Reading and writing --- */

/* From a rank2file, whose strings are borrowed.  ERROR_CORRUPT, ERROR_UNSAFE:
 * the sentence names rank, file and segment. */
int segmap_read(struct segmap *m, const struct rank2file *r, struct error *err);
/* The same by several threads; `par` may be NULL. */
int segmap_read_par(struct segmap *m, const struct rank2file *r,
		    struct par *par, struct error *err);

/* Has any file of `r` segments?  So the dataset is packed. */
bool segmap_is_packed(const struct rank2file *r);

/*
 * The map as rank2file, for rank2file_free(): files of `nranks` ranks in the
 * order of their places in the map; with sizes, checksums and segments, and
 * the table of containers.  `plain`: without the last two, as unpacked.
 */
int segmap_write(const struct segmap *m, size_t nranks, bool plain,
		 struct rank2file *out, struct error *err);

/*
 * Sort `files`, a copy of m->files, by rank, and in a rank by where they lie in
 * the containers, in the order of those; files without segments stay in front
 * of the one that they stood before.
 */
int segmap_sort(const struct segmap *m, struct segmap_file *files,
		struct error *err);

/* The entry of one file as children of `t`: SIZE, CRC, SEG. */
int segmap_write_file(const struct segmap *m, size_t file, struct kvtree *t,
		      struct error *err);

/* --- Judging --- */

enum segmap_flaw {
	SEGMAP_GAP,	/* bytes of a container that belong to no file */
	SEGMAP_OVERLAP, /* bytes that belong to two */
	SEGMAP_SUM,	/* the segments of a file are not as long as it is */
	SEGMAP_BEYOND,	/* a segment reaches beyond the recorded size of a
			   container, or the container's place in the string */
};

struct segmap_finding {
	enum segmap_flaw flaw;
	uint32_t container; /* GAP, OVERLAP, BEYOND */
	uint64_t off, len;  /* there; SUM: how long the segments are */
	size_t file, other; /* in files; SIZE_MAX: none */
};

/*
 * Look for what is wrong with the map itself.  Calls `tell` for each finding;
 * what that returns (other than 0) ends it and is returned.  O(n log n).
 */
int segmap_check(const struct segmap *m,
		 int (*tell)(void *arg, const struct segmap_finding *f),
		 void *arg, struct error *err);

/* A finding as one sentence into `to`. */
const char *segmap_flaw_text(const struct segmap *m,
			     const struct segmap_finding *f, char *to,
			     size_t size);

/* That the bytes of `f` have another checksum than is recorded, as one sentence
 * into `to`; and as ERROR_DAMAGED, with what to do about it. */
const char *segmap_sum_text(const struct segmap_file *f, uint32_t crc, char *to,
			    size_t size);
int segmap_wrong_sum(const struct segmap_file *f, uint32_t crc,
		     struct error *err);

/* "ctr.3.scr", "red.0.scr": is this a container's name? */
bool segmap_is_container(const char *name);

/* path -> index in files, the first of several; for map_free().  NULL: ENOMEM.
 */
struct map *segmap_by_path(const struct segmap *m);

#endif /* CONTAINER_SEGMAP_H */
