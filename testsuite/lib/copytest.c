/* SPDX-License-Identifier: BSD-3-Clause */
#include "copytest.h"
#include "metatest.h"

/* --- The cache --- */

/* Byte `i` of file `k` of a rank, its size and its name. */
static char
cache_byte(int rank, int k, size_t i)
{
	return (char)(rank * 31 + k * 7 + (int)(i * i % 251));
}

static size_t
cache_size(int rank, int k)
{
	return k == 1 ? 0 : 1000 + (size_t)rank * 100;
}

static const char *
cache_name(int rank, int k)
{
	return fmt("rank %d.%d", rank, k);
}

void
cache_data(const struct cache *c, int rank, int k, struct filemap_file *f)
{
	char data[4096];
	const char *path = fmt("%s/%s", c->dataset, cache_name(rank, k));
	size_t size = cache_size(rank, k);
	struct stat st;

	for (size_t i = 0; i < size; i++)
		data[i] = cache_byte(rank, k, i);
	write_file(path, data, size);
	must(stat(path, &st) == 0);
	*f = (struct filemap_file){
		.cache_path = path,
		.dir = fmt("%s/ckpt/%d", c->prefix, k),
		.name = cache_name(rank, k),
		.complete = true,
		.ranks = CACHE_RANKS,
		.has_crc = c->crc,
		.crc = crc_update(0, data, size),
	};
	attr_from_stat(&f->attr, &st);
	f->attr.mode = 0100640;
	f->attr.mtime.tv_sec = 1000000000 + rank;
}

/* The redundancy file of a rank: a copy of `size` bytes of its partner. */
static void
cache_red(const struct cache *c, bool map, int rank)
{
	struct redset_member m[CACHE_RANKS];
	struct redset_file file = { .path = "/x", .attr = { .size = 100 } };
	struct redset_name n = {
		.map = map,
		.rank = (uint32_t)rank,
		.type = REDSET_PARTNER,
		.set = 1,
		.sets = 1,
		.member = (uint32_t)rank + 1,
		.members = CACHE_RANKS,
	};
	char name[256], body[100] = "";
	auto_buf image = BUF_INIT;
	auto_kvtree *t = NULL;

	file.attr.has_size = file.attr.has_owner = file.attr.has_times = true;
	for (uint32_t i = 0; i < CACHE_RANKS; i++)
		m[i] = (struct redset_member){
			.known = true,
			.desc = { REDSET_PARTNER, true, 0, 1, i, CACHE_RANKS, i,
				  CACHE_RANKS, 1 },
			.nfiles = 1,
			.files = &file,
			.bytes = 100,
		};
	t = redset_header_build(m, NULL, 0, (uint32_t)rank, NULL);
	must(t != NULL && kvtree_encode(t, &image, NULL) == 0);
	must(buf_add(&image, body, sizeof(body)) == 0);
	redset_name_format(name, sizeof(name), &n, NULL);
	write_file(fmt("%s/.scr/%s", c->dataset, name), image.data, image.len);
	n.descriptor = true;
	redset_name_format(name, sizeof(name), &n, NULL);
	write_text(fmt("%s/.scr/%s", c->dataset, name), "descriptor");
}

void
cache_rank(const struct cache *c, int rank)
{
	struct kvtree *t = kvtree_new(NULL);
	struct filemap_file f;

	for (int k = 0; k < 2; k++) {
		cache_data(c, rank, k, &f);
		must(filemap_add(t, &f, NULL) == 0);
	}
	must(kvtree_write_file(t, AT_FDCWD,
			       fmt("%s/.scr/filemap_%d", c->dataset, rank),
			       NULL) == 0);
	kvtree_free(t);
	cache_red(c, false, rank);
	cache_red(c, true, rank);
}

static void
cache_index(const struct cache *c)
{
	struct kvtree *t = kvtree_new(NULL), *e = NULL, *d = NULL;

	e = kvtree_put(kvtree_put(t, "DSET", NULL), "5", NULL);
	d = kvtree_put(e, "DSETDESC", NULL);
	kvtree_set(d, "ID", "5", NULL);
	kvtree_set(d, "NAME", "ckpt 5", NULL);
	kvtree_set(d, "FLAG_CKPT", "1", NULL);
	kvtree_set(d, "FLAG_OUTPUT", "0", NULL);
	kvtree_set(e, "BYPASS", "0", NULL);
	kvtree_set(e, "PATH", c->dataset, NULL);
	must(kvtree_write_file(t, AT_FDCWD, fmt("%s/" CINDEX_FILE, c->cntl),
			       NULL) == 0);
	kvtree_free(t);
}

void
cache_make(struct cache *c)
{
	scratch_dir(c->root, sizeof(c->root));
	snprintf(c->dataset, sizeof(c->dataset), "%s/ssd/u/scr.1/scr.dataset.5",
		 c->root);
	snprintf(c->cntl, sizeof(c->cntl), "%s/shm/u/scr.1", c->root);
	snprintf(c->prefix, sizeof(c->prefix), "%s/my prefix", c->root);
	make_parents(fmt("%s/.scr/x", c->dataset));
	make_parents(fmt("%s/x", c->cntl));
	make_parents(fmt("%s/x", c->prefix));
	for (int r = 0; r < CACHE_RANKS; r++)
		cache_rank(c, r);
	cache_index(c);
}

/* --- Copying --- */

struct cache cache;
struct copy_result result;
struct error failure;
struct par *one;
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
	auto_buf b = BUF_INIT;
	struct stat st;
	bool same = stat(target(rank, k), &st) == 0 &&
		    (st.st_mode & 07777) == 0640 &&
		    st.st_mtime == 1000000000 + rank &&
		    (size_t)st.st_size == cache_size(rank, k);

	if (same)
		read_whole(target(rank, k), &b);
	for (size_t i = 0; same && i < b.len; i++)
		same = b.data[i] == cache_byte(rank, k, i);
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
	auto_buf x = BUF_INIT;
	return io_read_file(AT_FDCWD, a, 1 << 30, &x, NULL) == 0 &&
	       file_holds(b, x.data, x.len);
}

bool
no_temps(void)
{
	bool none = true;

	must(find_files(cache.prefix));
	for (size_t i = 0; i < found.count; i++)
		none = none && !temp_is(base_name(found.paths[i]));
	forget_files();
	return none;
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
