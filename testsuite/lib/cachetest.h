/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cachetest.h - what the tests of surveys and copies share: the cache of one
 * node, with two files a rank and redundancy of type PARTNER, as the library
 * would leave it.
 */
#ifndef UNIT_CACHETEST_H
#define UNIT_CACHETEST_H

#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "crc.h"
#include "meta/cindex.h"
#include "meta/filemap.h"
#include "meta/redset.h"
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
size_t cache_size(int rank, int k);
const char *cache_name(int rank, int k);
void cache_data(const struct cache *c, int rank, int k, struct filemap_file *f);
void cache_rank(const struct cache *c, int rank);
void cache_index(const struct cache *c);

/* All of it, anew. */
void cache_make(struct cache *c);

#endif /* UNIT_CACHETEST_H */
