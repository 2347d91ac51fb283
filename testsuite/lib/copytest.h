/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copytest.h - what the tests of copying share: a cache, one call of
 * copy_run(), and what came of it.
 */
#ifndef UNIT_COPYTEST_H
#define UNIT_COPYTEST_H

#include "cachetest.h"
#include "meta/copied.h"
#include "par.h"
#include "scavenge/copy.h"

/* Of each rank: two files, four of redundancy, the filemap. */
#define FILES ((uint64_t)CACHE_RANKS * 7)

#define META ".scr/scr.dataset.5"

extern struct cache cache;
extern struct copy_result result;
extern struct error failure;
extern struct par *one; /* thread */
extern char log_text[4096];

bool logged(const char *words);
int run_with(struct copy_options o);
int run_copy(void);
const char *at(const char *below);
const char *target(int rank, int k);
const char *source(int rank, int k);
bool file_right(int rank, int k);
bool all_right(void);
bool same_files(const char *a, const char *b);
bool no_temps(void);
bool counts(uint64_t copied, uint64_t adopted, uint64_t skipped, uint64_t bad);
void begin_copies(void);
int end_copies(void);

#endif /* UNIT_COPYTEST_H */
