/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cachetest.h - shared by the tests of nodecache and copy: the cache of one
 * node as the SCR library leaves it, with two files a rank and PARTNER
 * redundancy.
 */
#ifndef CACHETEST_H
#define CACHETEST_H

#include "arena.h"
#include "meta/cindex.h"
#include "scavenge/nodecache.h"
#include "scratch.h"

#define CACHE_RANKS 4

struct cache {
	char root[64]; /* scratch directory */
	char dataset[128], cntl[128], prefix[128];
	bool crc; /* filemaps have checksums */
};

/* Byte `i` of file `k` of a rank. */
char cache_byte(int rank, int k, size_t i);

/* Size and name of file `k` of a rank. */
size_t cache_size(int rank, int k);
const char *cache_name(int rank, int k);

/* Write a data file and describe it in *f. */
void cache_data(const struct cache *c, int rank, int k, struct filemap_file *f);

/* Write the files of a rank; the cache index. */
void cache_rank(const struct cache *c, int rank);
void cache_index(const struct cache *c);

/* Remove the cache, if there is one, and write it again. */
void cache_make(struct cache *c);

#endif /* CACHETEST_H */
