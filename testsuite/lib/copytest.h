/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copytest.h - what the tests of copying share: a cache, one call of
 * copy_run(), and what came of it.
 */
#ifndef COPYTEST_H
#define COPYTEST_H

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

/* Does the log of the last copy hold these words? */
bool logged(const char *words);

/* Copy the cache with these options, and with those of all tests: result and
 * failure say what came of it. */
int run_with(struct copy_options o);

/* The same without options of its own. */
int run_copy(void);

/* A path below the prefix; where a file is to be, and where it is. */
const char *at(const char *below);
const char *target(int rank, int k);
const char *source(int rank, int k);

/* Is the copied file right in contents, mode and time? */
bool file_right(int rank, int k);
bool all_right(void);

/* Are both there, with the same contents? */
bool same_files(const char *a, const char *b);

/* Is no temporary file left below the prefix? */
bool no_temps(void);

/* Are these the counts of the last copy? */
bool counts(uint64_t copied, uint64_t adopted, uint64_t skipped, uint64_t bad);

/* For main(): make the cache; remove it and end the test. */
void begin_copies(void);
int end_copies(void);

#endif /* COPYTEST_H */
