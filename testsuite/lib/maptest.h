/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maptest.h - segment maps for tests: read from text, written as text,
 * generated.
 */
#ifndef MAPTEST_H
#define MAPTEST_H

#include "container/segmap.h"
#include "meta/rank2file.h"
#include "metatest.h"

#define RANKS 4 /* ranks in maps from text */

/* --- Maps as text --- */

/* The whole map as text; valid until the next call. */
const char *map_text(const struct segmap *m);

/* Are both maps equal as text?  Prints them if not. */
bool same_map(const struct segmap *a, const struct segmap *b);

/* The segments of one file: " NAME OFF+LEN ...". */
const char *segs_text(const struct segmap *m, size_t file);

/* The input of a map: lines "RANK PATH SIZE [CONTAINER OFF+LEN]..." with SIZE
 * "-" if there is none, and the table of containers. */
struct source {
	struct rank2file r;
	struct kvtree *table;
};

/* Make the rank2file of these tables; free with source_fini(). */
void source_init(struct source *s, const char *table, const char *files);
void source_fini(struct source *s);

/* Read a map from these tables; ends the test if that fails. */
void read_map(struct segmap *m, const char *table, const char *files,
	      struct source *s);

/* --- Files --- */

extern int map_dir; /* the same, open */

/* Make or empty it. */
void map_enter(void);

/* --- Generated maps --- */

/* Add a file to a map that has room for it. */
void add_file(struct segmap *m, uint32_t rank, const char *path, uint64_t size);

/* Make a map of files of `nranks` ranks.  `mixed`: the segments are not in the
 * order of ranks.  Some files have checksums. */
void make_map(struct segmap *m, size_t nranks, size_t nfiles, bool mixed);

/* The number of files of packed metadata in a directory. */
size_t parts_there(const char *path);

#endif /* MAPTEST_H */
