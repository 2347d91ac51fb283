/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segmap.h - the segment map of a packed dataset: which segments of which
 * containers hold each file (container-format(5)).  No files are opened here.
 *
 * The name of a container is relative to the dataset's directory, for example
 * ".scr/ctr.0.scr".  Maps are untrusted: segmap_read() accepts no name outside
 * of that directory and no sum that overflows. segmap_check() checks whether
 * the map is consistent.
 */
#ifndef CONTAINER_SEGMAP_H
#define CONTAINER_SEGMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "meta/attr.h"

struct arena;
struct kvtree;
struct map;
struct rank2file;

/* bytes, SCR_CONTAINER_SIZE */
#define SEGMAP_SIZE_DEFAULT (UINT64_C(100) << 30)
#define SEGMAP_DIR ".scr"	/* their directory */
#define SEGMAP_DATA "ctr"	/* "ctr.<id>.scr": holds data */
#define SEGMAP_REDUNDANCY "red" /* "red.<id>.scr" */

/* More containers are an error: their size is too small. */
#define SEGMAP_CONTAINERS_MAX ((size_t)1 << 24)

struct segment {
	uint32_t container; /* index in segmap.containers */
	/* Set by packed_reach(): its bytes are missing, or were left half
	 * written by a rebuild; the owner of the container may not read it. */
	bool gone, barred;
	bool doubt;	   /* a rebuild is writing it */
	uint64_t off, len; /* bytes in the container; len > 0 */
};

struct segmap_container {
	const char *name;
	uint64_t used; /* end of its last segment */
	/* Bytes of all its segments, and the files they belong to: only after
	 * segmap_read(). */
	uint64_t bytes;
	size_t files;
	/* Recorded, if has_size, has_crc: */
	bool has_size, has_crc;
	uint64_t size;
	uint32_t crc;
	uint64_t have; /* bytes on disk: set by packed_reach() */
};

struct segmap_file {
	uint32_t rank;
	/* Files of different groups are not cut into the same container. */
	uint32_t group;
	const char *path; /* untrusted */
	uint64_t size;
	bool has_size; /* recorded; else `size` is the sum of its segments */
	bool has_crc;
	uint32_t crc;
	uint64_t start; /* offset in the string of all packed files */
	size_t first, nsegs;
	struct attr attr; /* when it was packed (hidden.h) */
	/* Of a metadata file: its contents, if it has no segments. */
	const struct kvtree *tree;
};

struct segmap {
	struct arena *arena;
	uint64_t container_size; /* 0: not recorded */
	/* Before each multiple of so many bytes, there may be a gap; 0: none */
	uint64_t align;
	uint64_t bytes; /* bytes of all segments */
	bool moving;	/* an unfinished repack: containers may have gaps */
	size_t ncontainers, nfiles, nsegs;
	struct segmap_container *containers;
	struct segmap_file *files; /* rank after rank, as listed */
	struct segment *segs;	   /* file after file */
};

/* --- Making --- */

/*
 * Make an empty map with room for `nfiles` files.  The caller then fills in
 * files[] in packing order (rank, path, size, crc) and sets nfiles.  Strings
 * are borrowed.  -1: ERROR_NOMEM.  Free it with segmap_free().
 */
int segmap_init(struct segmap *m, size_t nfiles, struct error *err);
void segmap_free(struct segmap *m);

/*
 * Lay the files end to end, and cut this string into containers
 * `stem`.<n>.scr: each time when `size` (> 0) bytes are full, or the group of
 * the files changes.  `start` is the place of the first byte in the string of
 * all containers; if they have bytes of others before it, the size of the first
 * one includes these.  ERROR_USAGE: too many containers.
 */
int segmap_cut(struct segmap *m, const char *stem, uint64_t size,
	       uint64_t start, struct error *err);

/* --- Reading and writing --- */

/* Read the map of a rank2file, whose strings are borrowed.  ERROR_CORRUPT and
 * ERROR_UNSAFE name rank, file and segment. */
int segmap_read(struct segmap *m, const struct rank2file *r, struct error *err);

/* Is the dataset packed: does any file of `r` have segments? */
bool segmap_is_packed(const struct rank2file *r);

/*
 * Make a rank2file of the map: files of `nranks` ranks in the order of the map,
 * with sizes, checksums and segments, and the table of containers.  `plain`:
 * without segments and table, as unpacked.  Strings are borrowed.  Free it with
 * rank2file_free().
 */
int segmap_write(const struct segmap *m, size_t nranks, bool plain,
		 struct rank2file *out, struct error *err);

/* Add the table of containers as child FILE of `t`, and ALIGN. */
int segmap_write_containers(const struct segmap *m, struct kvtree *t,
			    struct error *err);

/*
 * Store the indexes of the files by place in the containers in `order`, with
 * `ranks` those of each rank after another.  A file without segments stays
 * before the file that it preceded.  In an unfinished repack, files already
 * moved come first, but are in the containers with the highest numbers: then
 * containers are ordered as in the map.  -1: ERROR_NOMEM.
 */
int segmap_sort(const struct segmap *m, bool ranks, size_t *order,
		struct error *err);

/* Add the entry of one file as children of `t`: SIZE, CRC, SEG. */
int segmap_write_file(const struct segmap *m, size_t file, struct kvtree *t,
		      struct error *err);

/* --- Check --- */

enum segmap_flaw {
	SEGMAP_GAP,	/* bytes of a container that belong to no file */
	SEGMAP_OVERLAP, /* bytes that belong to two files */
	SEGMAP_SUM,	/* the segments do not add up to the size of the file */
	/* a segment ends after the recorded size of its container */
	SEGMAP_BEYOND,
	SEGMAP_TWIN, /* a path is listed twice: `file` and `other` */
};

struct segmap_finding {
	enum segmap_flaw flaw;
	uint32_t container; /* GAP, OVERLAP, BEYOND */
	/* bytes in the container; SUM: len of all segments */
	uint64_t off, len;
	size_t file, other; /* indexes in files; SIZE_MAX: none */
};

/*
 * Check that the map is consistent.  Calls `report` for each finding; if it
 * returns other than 0, the check stops and returns that.  -1: ERROR_NOMEM.
 */
int segmap_check(const struct segmap *m,
		 int (*report)(void *arg, const struct segmap_finding *f),
		 void *arg, struct error *err);

/* ERROR_CORRUPT: the map, that of `name`, contradicts itself (a gap is only
 * lost space). */
int segmap_refuse_flaws(const struct segmap *m, const char *name,
			struct error *err);

/* Refuse a map that lists a path twice, among the files with only[i] (NULL:
 * all).  The error is of `kind`, and its sentence ends with `verdict`. */
int segmap_refuse_twins(const struct segmap *m, const bool *only,
			enum error_kind kind, const char *verdict,
			struct error *err);

/* Format a finding as one sentence into `to`. */
const char *segmap_flaw_text(const struct segmap *m,
			     const struct segmap_finding *f, char *to,
			     size_t size);

/* Report a wrong checksum `crc` of file `f`: as one sentence in `to`; and as
 * ERROR_DAMAGED with its remedy. */
const char *segmap_sum_text(const struct segmap_file *f, uint32_t crc, char *to,
			    size_t size);
int segmap_wrong_sum(const struct segmap_file *f, uint32_t crc,
		     struct error *err);

/* Are bytes of any of `n` segments missing? */
bool segmap_gone(const struct segment *segs, size_t n);

/* Is this the name of a container: "ctr.3.scr", "red.0.scr"?  And its number.
 */
bool segmap_is_container(const char *name);
uint64_t segmap_number(const char *name);

/* Map of path -> index in files, the first one if a path is listed twice.  Free
 * it with map_free().  NULL: no memory. */
struct map *segmap_by_path(const struct segmap *m);

#endif /* CONTAINER_SEGMAP_H */
