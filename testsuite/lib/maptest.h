/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maptest.h - segment maps for tests: from text, to text, and made up.
 */
#ifndef MAPTEST_H
#define MAPTEST_H

#include "arena.h"
#include "container/segmap.h"
#include "meta/rank2file.h"
#include "metatest.h"
#include "scratch.h"

#define RANKS 4 /* of maps from text */

/* --- Maps as text --- */

/* All there is to a map; on the next call the text is gone. */
const char *map_text(const struct segmap *m);

/* Have both maps the same text?  Prints them if not. */
bool same_map(const struct segmap *a, const struct segmap *b);

/* The segments of one file alone: " NAME OFF+LEN ...". */
const char *segs_text(const struct segmap *m, size_t file);

/* What a rank2file would say: lines "RANK PATH SIZE [CONTAINER OFF+LEN]...",
 * SIZE "-" for none, and the table of containers. */
struct source {
	struct rank2file r;
	struct kvtree *table;
};

/* Make what a rank2file says of these tables; for source_fini(). */
void source_init(struct source *s, const char *table, const char *files);
void source_fini(struct source *s);

/* A map that must be there. */
void read_map(struct segmap *m, const char *table, const char *files,
	      struct source *s);

/* --- Made up --- */

/* Add a file to a map that has room for it. */
void add_file(struct segmap *m, uint32_t rank, const char *path, uint64_t size);

/* Files of `nranks` ranks, cut in an order that is not that of ranks if
 * `mixed`; with sums here and there. */
void make_map(struct segmap *m, size_t nranks, size_t nfiles, bool mixed);

/* How many names of packed metadata there are in a directory. */
size_t parts_there(const char *path);

#endif /* MAPTEST_H */
