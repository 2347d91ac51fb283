/* SPDX-License-Identifier: BSD-3-Clause */
#include "copytest.h"
#include "temp.h"

struct cache cache;

struct copy_result result;

struct error failure;

struct par *one; /* a pool of one thread */

char log_text[4096];
struct work how;
struct copy_options with;

static void
keep_log(void *arg, const char *line)
{
	size_t len = strlen(log_text);

	(void)arg;
	snprintf(log_text + len, sizeof(log_text) - len, "%s\n", line);
}

bool
logged(const char *words)
{
	if (strstr(log_text, words) != NULL)
		return true;
	printf("# log: %s", log_text);
	return false;
}

int
run_copy(void)
{
	const struct nodecache_where w = { .cntl = cache.cntl };
	int rc = -1;

	error_clear(&failure);
	log_text[0] = '\0';
	with.prefix = with.prefix != NULL ? with.prefix : cache.prefix;
	how.par = how.par != NULL ? how.par : one;
	how.log = keep_log;
	with.id = with.id > 0 ? with.id : 5;
	with.work = &how;
	rc = copy_run(&w, &with, &result, &failure);
	how = (struct work){ .par = NULL };
	with = (struct copy_options){ .prefix = NULL };
	return rc;
}

const char *
at(const char *below)
{
	return fmt("%s/%s", cache.prefix, below);
}

const char *
target(int rank, int k)
{
	return fmt("%s/ckpt/%d/%s", cache.prefix, k, cache_name(rank, k));
}

const char *
source(int rank, int k)
{
	return fmt("%s/%s", cache.dataset, cache_name(rank, k));
}

bool
file_right(int rank, int k)
{
	struct buf b = BUF_INIT;
	struct stat st;
	bool same = stat(target(rank, k), &st) == 0 &&
		    (st.st_mode & 07777) == 0640 &&
		    st.st_mtime == 1000000000 + rank &&
		    (size_t)st.st_size == cache_size(rank, k);

	if (same)
		read_whole(target(rank, k), &b);
	for (size_t i = 0; same && i < b.len; i++)
		same = b.data[i] == cache_byte(rank, k, i);
	buf_free(&b);
	return same;
}

bool
all_right(void)
{
	bool good = true;

	for (int i = 0; i < CACHE_RANKS; i++)
		good = good && file_right(i, 0) && file_right(i, 1);
	return good;
}

bool
same_files(const char *a, const char *b)
{
	struct buf x = BUF_INIT;
	bool same = io_read_file(AT_FDCWD, a, 1 << 30, &x, NULL) == 0 &&
		    file_holds(b, x.data, x.len);

	buf_free(&x);
	return same;
}

static int temps;

static int
count_temp(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type;
	temps += temp_is(path + ftw->base);
	return 0;
}

bool
no_temps(void)
{
	temps = 0;
	must(nftw(cache.prefix, count_temp, 16, FTW_PHYS) == 0);
	return temps == 0;
}

bool
counts(uint64_t copied, uint64_t adopted, uint64_t skipped, uint64_t bad)
{
	if (result.copied == copied && result.adopted == adopted &&
	    result.skipped == skipped && result.bad == bad &&
	    result.files == copied + adopted + skipped + result.taken + bad)
		return true;
	printf("# copied %d adopted %d skipped %d bad %d\n", (int)result.copied,
	       (int)result.adopted, (int)result.skipped, (int)result.bad);
	return false;
}

bool
copies(uint64_t copied, uint64_t adopted, uint64_t skipped, uint64_t bad)
{
	return run_copy() == 0 && counts(copied, adopted, skipped, bad);
}

void
begin_copies(void)
{
	umask(022);
	one = par_new(1, NULL);
	must(one != NULL);
	cache_make(&cache);
}

int
end_copies(void)
{
	par_free(one);
	remove_tree(cache.root);
	return tap_done();
}
