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

static struct cache cache;
static struct copy_result r;
static struct error err;
static struct par *one; /* thread */
static char log_text[4096];

static inline void
keep_log(void *arg, const char *line)
{
	size_t len = strlen(log_text);

	(void)arg;
	snprintf(log_text + len, sizeof(log_text) - len, "%s\n", line);
}

static inline bool
logged(const char *words)
{
	if (strstr(log_text, words) != NULL)
		return true;
	printf("# log: %s", log_text);
	return false;
}

static inline int
run_with(struct copy_options o)
{
	const struct nodecache_where w = { .cntl = cache.cntl };

	error_clear(&err);
	log_text[0] = '\0';
	o.prefix = o.prefix != NULL ? o.prefix : cache.prefix;
	o.par = o.par != NULL ? o.par : one;
	o.id = 5;
	o.log = keep_log;
	return copy_run(&w, &o, &r, &err);
}

static inline int
run(void)
{
	return run_with((struct copy_options){ .prefix = NULL });
}

static inline const char *
at(const char *below)
{
	return fmt("%s/%s", cache.prefix, below);
}

static inline const char *
target(int rank, int k)
{
	return fmt("%s/ckpt/%d/%s", cache.prefix, k, cache_name(rank, k));
}

static inline const char *
source(int rank, int k)
{
	return fmt("%s/%s", cache.dataset, cache_name(rank, k));
}

static inline bool
is_right(int rank, int k)
{
	struct buf b = BUF_INIT;
	struct stat st;
	bool same = stat(target(rank, k), &st) == 0;

	if (same)
		read_whole(target(rank, k), &b);
	same = same && b.len == cache_size(rank, k);
	for (size_t i = 0; same && i < b.len; i++)
		same = b.data[i] == cache_byte(rank, k, i);
	buf_free(&b);
	return same && (st.st_mode & 07777) == 0640 &&
	       st.st_mtime == 1000000000 + rank;
}

static inline bool
all_right(void)
{
	bool good = true;

	for (int i = 0; i < CACHE_RANKS; i++)
		good = good && is_right(i, 0) && is_right(i, 1);
	return good;
}

static inline bool
same_files(const char *a, const char *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	bool same = exists(a) && exists(b);

	if (same) {
		read_whole(a, &x);
		read_whole(b, &y);
	}
	same = same && x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
	buf_free(&x);
	buf_free(&y);
	return same;
}

static int temps;

static inline int
count_temp(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	temps += io_is_temp(path + ftw->base);
	return 0;
}

static inline bool
no_temps(void)
{
	temps = 0;
	must(nftw(cache.prefix, count_temp, 16, FTW_PHYS) == 0);
	return temps == 0;
}

static inline bool
counts(uint64_t copied, uint64_t adopted, uint64_t skipped, uint64_t bad)
{
	if (r.copied == copied && r.adopted == adopted &&
	    r.skipped == skipped && r.bad == bad &&
	    r.files == copied + adopted + skipped + bad)
		return true;
	printf("# copied %d adopted %d skipped %d bad %d\n", (int)r.copied,
	       (int)r.adopted, (int)r.skipped, (int)r.bad);
	return false;
}

static inline void
begin(void)
{
	umask(022);
	one = par_new(1, NULL);
	must(one != NULL);
	cache_make(&cache);
}

static inline int
finish(void)
{
	par_free(one);
	remove_tree(cache.root);
	return tap_done();
}

#endif /* UNIT_COPYTEST_H */
