/* SPDX-License-Identifier: BSD-3-Clause */
#include "cachetest.h"
#include "crc.h"

char
cache_byte(int rank, int k, size_t i)
{
	return (char)(rank * 31 + k * 7 + (int)(i * i % 251));
}

size_t
cache_size(int rank, int k)
{
	return k == 1 ? 0 : 1000 + (size_t)rank * 100;
}

const char *
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
	struct buf image = BUF_INIT;
	struct kvtree *t = NULL;

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
	kvtree_free(t);
	buf_free(&image);
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

void
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
