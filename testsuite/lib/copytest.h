/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copytest.h - shared by the tests of nodecache and copy: the cache of one node
 * as the SCR library leaves it, with two files a rank and PARTNER redundancy;
 * and one call of copy_run() with its result.
 */
#ifndef COPYTEST_H
#define COPYTEST_H

#include "meta/cindex.h"
#include "meta/copied.h"
#include "scavenge/copy.h"
#include "scavenge/nodecache.h"
#include "scratch.h"

#define CACHE_RANKS 4

struct cache {
	char root[64]; /* scratch directory */
	char dataset[128], cntl[128], prefix[128];
	bool crc; /* filemaps have checksums */
};

/* Write data file `k` of a rank and describe it in *f. */
void cache_data(const struct cache *c, int rank, int k, struct filemap_file *f);

/* Write the files of a rank. */
void cache_rank(const struct cache *c, int rank);

/* Remove the cache, if there is one, and write it again. */
void cache_make(struct cache *c);

/* Each rank has two data files, four redundancy files and a filemap. */
#define FILES ((uint64_t)CACHE_RANKS * 7)

#define META ".scr/scr.dataset.5"

extern struct cache cache;
extern struct copy_result result;
extern struct error failure;
extern struct par *one; /* a pool of one thread */
extern char log_text[4096];
extern struct work how; /* of the next run */
extern struct copy_options with;

/* Does the log of the last copy contain these words? */
bool logged(const char *words);

/* Copy the cache, with `with` and `how`, which are forgotten then.  `result`
 * and `failure` hold the outcome. */
int run_copy(void);

/* at(): a path below the prefix.  The others: the target and the source of a
 * copied file. */
const char *at(const char *below);
const char *target(int rank, int k);
const char *source(int rank, int k);

/* Is the copied file right in contents, mode and time? */
bool file_right(int rank, int k);
bool all_right(void);

/* Do both files exist with the same contents? */
bool same_files(const char *a, const char *b);

/* Is the prefix free of temporary files? */
bool no_temps(void);

/* Did the last copy report these counts? */
bool counts(uint64_t copied, uint64_t adopted, uint64_t skipped, uint64_t bad);

/* Does run_copy() succeed with these counts? */
bool copies(uint64_t copied, uint64_t adopted, uint64_t skipped, uint64_t bad);

/* For main(): make the cache. */
void begin_copies(void);

#endif /* COPYTEST_H */
