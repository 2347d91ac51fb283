/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "crc.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "meta/kvscan.h"
#include "meta/kvtree.h"
#include "meta/rank2file.h"
#include "meta/value.h"
#include "path.h"
#include "str.h"

#define PART_STEM "packed."
#define PART_END ".scr"
#define PART_NAME 48 /* room for the name of a part */

#define SHOWN_MAX 256

/* --- Create and free --- */

int
hidden_init(struct hidden *h, struct error *err)
{
	*h = (struct hidden){ .arena = arena_new(), .by_name = map_new() };
	if (h->arena != NULL && h->by_name != NULL)
		return 0;
	hidden_free(h);
	return error_no_memory(err);
}

void
hidden_free(struct hidden *h)
{
	for (size_t i = 0; i < h->ntrees; i++)
		kvtree_free(h->trees[i]);
	mem_free(h->trees);
	mem_free(h->attrs);
	mem_free(h->files);
	map_free(h->by_name);
	segmap_free(&h->red);
	arena_free(h->arena);
	*h = (struct hidden){ .arena = NULL };
}

int
hidden_add(struct hidden *h, const struct hidden_file *f, struct error *err)
{
	char shown[SHOWN_MAX];

	if (map_get(h->by_name, f->name) != MAP_NONE)
		return error_set(err, ERROR_CORRUPT, "%s: named twice",
				 str_printable(shown, sizeof(shown), f->name));
	if (!MEM_ROOM(h->files, h->nfiles, h->cap))
		return error_no_memory(err);
	if (map_put(h->by_name, f->name, h->nfiles) < 0)
		return error_no_memory(err);
	h->files[h->nfiles++] = *f;
	return 0;
}

const struct hidden_file *
hidden_find(const struct hidden *h, const char *name)
{
	size_t at = h->by_name == NULL ? MAP_NONE : map_get(h->by_name, name);

	return at == MAP_NONE ? NULL : &h->files[at];
}

/* --- Reading --- */

struct loader {
	struct hidden *h;
	const struct segmap *m;
	struct map *by_path;  /* path -> file of m; made on demand */
	size_t next;	      /* file of m expected next */
	struct rank2file red; /* the RED tables as one rank of a rank2file */
	size_t red_cap;
	uint32_t rank; /* first rank of the part being read */
};

/* Look up a file of the map: *at, or MAP_NONE.  Parts list files in the order
 * of the map, so the next file is tried first. */
static int
find_path(struct loader *l, const char *path, size_t *at, struct error *err)
{
	if (l->next < l->m->nfiles &&
	    strcmp(l->m->files[l->next].path, path) == 0) {
		*at = l->next++;
		return 0;
	}
	if (l->by_path == NULL)
		l->by_path = segmap_by_path(l->m);
	if (l->by_path == NULL)
		return error_no_memory(err);
	*at = map_get(l->by_path, path);
	if (*at != MAP_NONE)
		l->next = *at + 1;
	return 0;
}

/* FILE: attributes of files; files that are not in the map are ignored. */
static int
load_attrs(struct loader *l, const struct kvtree *table, struct error *err)
{
	const struct kvtree *k = NULL;
	size_t at = 0;

	kvtree_foreach (k, table) {
		if (find_path(l, kvtree_key(k), &at, err) < 0)
			return -1;
		if (at != MAP_NONE && attr_read(k, &l->h->attrs[at], err) < 0)
			return error_wrap(err, "FILE");
	}
	return 0;
}

/*
 * Read FILE without a tree, if the part has nothing else.  0: done; 1: the part
 * has more, or is unusual, and needs load_attrs().
 */
static int
scan_attrs(struct loader *l, const struct buf *raw, struct error *err)
{
	struct kvscan s = { .p = NULL };
	size_t len = 0, at = 0;
	const char *body = kvtree_body(raw->data, raw->len, &len, err);

	if (body == NULL)
		return -1;
	s.p = (const unsigned char *)body;
	s.end = s.p + len;
	if (kvscan_count(&s) != 1 || !KVSCAN_KEY(&s, "FILE"))
		return 1;
	for (uint32_t n = kvscan_count(&s); n > 0 && !s.odd; n--) {
		const char *path = kvscan_key(&s);
		struct attr a;

		attr_scan(&s, &a);
		if (s.odd)
			break;
		if (find_path(l, path, &at, err) < 0)
			return -1;
		if (at == MAP_NONE)
			continue;
		/* A path listed twice: leave the error to the reader of
		 * trees. */
		if (l->h->attrs[at].has_size)
			s.odd = true;
		l->h->attrs[at] = a;
	}
	return s.odd || s.p != s.end;
}

static int
check_name(const char *name, struct error *err)
{
	char shown[SHOWN_MAX];

	if (path_is_clean(name) && strchr(name, '/') == NULL)
		return 0;
	return error_set(err, ERROR_UNSAFE, "%s: not a plain file name",
			 str_printable(shown, sizeof(shown), name));
}

static int
load_meta(struct loader *l, const struct kvtree *table, struct error *err)
{
	const struct kvtree *k = NULL;

	kvtree_foreach (k, table) {
		struct hidden_file f = {
			.name = kvtree_key(k),
			.rank = l->rank,
			.tree = kvtree_get(k, "TREE"),
		};

		if (check_name(f.name, err) < 0 ||
		    attr_read(kvtree_get(k, "ATTR"), &f.attr, err) < 0)
			return -1;
		if (f.tree == NULL)
			return value_bad(err, f.name, "has no TREE");
		if (hidden_add(l->h, &f, err) < 0)
			return -1;
	}
	return 0;
}

/* RED: read each entry as a file of a rank2file. */
static int
load_red(struct loader *l, const struct kvtree *table, struct error *err)
{
	struct rank2file_rank *r = l->red.ranks;
	const struct kvtree *k = NULL;

	kvtree_foreach (k, table) {
		struct hidden_file f = {
			.name = kvtree_key(k),
			.rank = l->rank,
			.at = r->nfiles,
		};

		if (check_name(f.name, err) < 0 ||
		    attr_read(kvtree_get(k, "ATTR"), &f.attr, err) < 0)
			return -1;
		if (!MEM_ROOM(r->files, r->nfiles, l->red_cap))
			return error_no_memory(err);
		if (rank2file_read_file(k, l->red.arena, &r->files[r->nfiles],
					err) < 0)
			return -1;
		if (r->files[r->nfiles].nsegs == 0 &&
		    r->files[r->nfiles].size > 0)
			return value_bad(err, f.name, "has no SEG");
		r->nfiles++;
		if (hidden_add(l->h, &f, err) < 0)
			return -1;
	}
	return 0;
}

/* The tree is kept, as names and contents are borrowed from it. */
static struct kvtree *
decode_part(struct hidden *h, const struct buf *raw, struct error *err)
{
	struct kvtree *t = NULL;

	if (!MEM_ROOM(h->trees, h->ntrees, h->trees_cap)) {
		error_no_memory(err);
		return NULL;
	}
	t = kvtree_decode(raw->data, raw->len, NULL, err);
	if (t != NULL)
		h->trees[h->ntrees++] = t;
	return t;
}

static int
load_tree(struct loader *l, const struct buf *raw, struct error *err)
{
	const struct kvtree *t = decode_part(l->h, raw, err);

	if (t == NULL || load_attrs(l, kvtree_get(t, "FILE"), err) < 0 ||
	    load_meta(l, kvtree_get(t, "META"), err) < 0)
		return -1;
	return load_red(l, kvtree_get(t, "RED"), err);
}

/* Read file `name` of a part, and check its own checksum. */
static int
read_raw(int dirfd, const char *name, struct buf *raw, struct error *err)
{
	int fd = path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK, 0, err);
	size_t len = 0;
	int rc = -1;

	if (fd < 0)
		return -1;
	buf_clear(raw);
	rc = io_read_fd(fd, name, KVTREE_MAX_ENCODED, raw, err);
	close(fd);
	if (rc == 0 && kvtree_body(raw->data, raw->len, &len, err) == NULL)
		rc = error_wrap(err, "%s", name);
	return rc;
}

/* Read the second copy of the part that is listed as `k`. */
static int
read_copy(int dirfd, const struct kvtree *k, struct buf *raw)
{
	const struct kvtree *crc = kvtree_get(k, "CRC");
	char name[PART_NAME + sizeof(RANK2FILE_COPY)];
	uint32_t want = 0;

	snprintf(name, sizeof(name), RANK2FILE_COPY "%s", kvtree_key(k));
	if (crc == NULL || value_u32(crc, UINT32_MAX, &want, NULL) < 0 ||
	    read_raw(dirfd, name, raw, NULL) < 0)
		return -1;
	return crc_update(0, raw->data, raw->len) == want ? 0 : -1;
}

/* Read the part that is listed as `k`, or its second copy.  1: neither can be
 * read. */
static int
read_any(struct loader *l, int dirfd, const struct kvtree *k, struct buf *raw,
	 struct error *err)
{
	const struct kvtree *meta = kvtree_get(k, "META");
	struct error why = ERROR_INIT;
	uint64_t count = 0;
	int rc = read_raw(dirfd, kvtree_key(k), raw, &why);

	if (rc == 0)
		return 0;
	if (why.kind != ERROR_CORRUPT && why.kind != ERROR_ABSENT &&
	    why.errnum != EIO)
		return error_pass(err, &why);
	rc = read_copy(dirfd, k, raw);
	if (l->h->flaw == NULL || (rc < 0 && !l->h->unread))
		l->h->flaw = arena_strdup(l->h->arena, why.text);
	if (rc == 0)
		return 0;
	l->h->unread = true;
	/* Without META, an older version has written it. */
	if (meta == NULL
		    ? l->red.containers != NULL
		    : value_u64(meta, INT64_MAX, &count, NULL) < 0 || count > 0)
		l->h->incomplete = true;
	return 1;
}

static int
load_part(struct loader *l, int dirfd, const struct kvtree *k,
	  struct error *err)
{
	const char *name = kvtree_key(k);
	struct buf raw = BUF_INIT;
	char shown[SHOWN_MAX];
	int64_t n = dataset_dir_packed(name);
	int rc = -1;

	if (n < 0)
		return error_set(err, ERROR_UNSAFE,
				 "%s: not the name of packed metadata",
				 str_printable(shown, sizeof(shown), name));
	n -= n % RANK2FILE_PART_RANKS;
	l->rank = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	rc = read_any(l, dirfd, k, &raw, err);
	if (rc == 0) {
		rc = scan_attrs(l, &raw, err);
		if (rc == 1)
			rc = load_tree(l, &raw, err);
		if (rc < 0)
			error_wrap(err, "%s", name);
	}
	buf_free(&raw);
	return rc < 0 ? -1 : 0;
}

static int
load_all(struct loader *l, int dirfd, const struct kvtree *list,
	 struct error *err)
{
	struct hidden *h = l->h;
	const struct kvtree *k = NULL;

	h->nattrs = l->m->nfiles;
	h->attrs = mem_calloc(h->nattrs + 1, sizeof(*h->attrs));
	l->red.arena = h->arena;
	l->red.nranks = 1;
	l->red.ranks = arena_alloc(h->arena, 1, sizeof(*l->red.ranks));
	if (h->attrs == NULL || l->red.ranks == NULL)
		return error_no_memory(err);
	memset(l->red.ranks, 0, sizeof(*l->red.ranks));
	kvtree_foreach (k, list)
		if (load_part(l, dirfd, k, err) < 0)
			return -1;
	if (l->red.ranks->nfiles == 0)
		return 0;
	return segmap_read(&h->red, &l->red, err);
}

int
hidden_load(struct hidden *h, int dirfd, const struct rank2file *r,
	    const struct segmap *m, struct error *err)
{
	const struct kvtree *list = kvtree_get(r->containers, "HIDDEN");
	struct loader l = { .h = h, .m = m };
	int rc = 0;

	if (hidden_init(h, err) < 0)
		return -1;
	l.red.containers = kvtree_get(r->containers, "RED");
	if (kvtree_first(list) != NULL)
		rc = load_all(&l, dirfd, list, err);
	map_free(l.by_path);
	if (l.red.ranks != NULL)
		mem_free(l.red.ranks->files);
	if (rc < 0)
		hidden_free(h);
	return rc;
}

/* --- Writing --- */

/* The number of a part, and that of the last part. */
struct place {
	size_t part, last;
};

/* Does this part list the rank?  The last part also lists files whose names
 * give a rank outside of the job. */
static bool
is_listed(const struct place *p, uint32_t rank)
{
	size_t part = rank / RANK2FILE_PART_RANKS;

	return p->part == (part < p->last ? part : p->last);
}

static int
store_hidden(const struct hidden *h, const struct place *p, struct kvtree *t,
	     struct error *err)
{
	for (size_t i = 0; i < h->nfiles; i++) {
		const struct hidden_file *f = &h->files[i];
		struct kvtree *k = NULL, *sub = NULL;

		if (!is_listed(p, f->rank))
			continue;
		k = kvtree_put(t, f->tree ? "META" : "RED", err);
		k = k == NULL ? NULL : kvtree_put(k, f->name, err);
		sub = k == NULL ? NULL : kvtree_put(k, "ATTR", err);
		if (sub == NULL || attr_write(sub, &f->attr, err) < 0)
			return -1;
		if (f->tree == NULL) {
			if (segmap_write_file(&h->red, f->at, k, err) < 0)
				return -1;
			continue;
		}
		sub = kvtree_put(k, "TREE", err);
		if (sub == NULL || kvtree_merge(sub, f->tree, err) < 0)
			return -1;
	}
	return 0;
}

static int
store_attrs(const struct hidden *h, const struct segmap *m,
	    const struct place *p, struct kvtree *t, struct error *err)
{
	struct kvtree *list = NULL, *k = NULL;

	for (size_t i = 0; i < m->nfiles && i < h->nattrs; i++) {
		if (!is_listed(p, m->files[i].rank))
			continue;
		if (list == NULL)
			list = kvtree_put(t, "FILE", err);
		k = list == NULL ? NULL
				 : kvtree_put(list, m->files[i].path, err);
		if (k == NULL || attr_write(k, &h->attrs[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Encode a part.  `entry`, its entry in HIDDEN, gets checksum and META. */
static int
build_part(const struct hidden *h, const struct segmap *m,
	   const struct place *p, struct kvtree *entry, struct buf *out,
	   struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	size_t meta = 0;
	int rc = -1;

	if (t != NULL && store_attrs(h, m, p, t, err) == 0 &&
	    store_hidden(h, p, t, err) == 0)
		rc = kvtree_encode(t, out, err);
	for (size_t i = 0; i < h->nfiles; i++)
		meta += is_listed(p, h->files[i].rank);
	if (rc == 0 &&
	    (kvtree_set_u64(entry, "META", meta, err) < 0 ||
	     kvtree_set_crc(entry, "CRC", crc_update(0, out->data, out->len),
			    err) < 0))
		rc = -1;
	kvtree_free(t);
	return rc;
}

/* Write a part, and its second copy if the map has one. */
static int
write_part(int dirfd, const char *name, const struct buf *image, bool twice,
	   struct error *err)
{
	char copy[PART_NAME + sizeof(RANK2FILE_COPY)];

	snprintf(copy, sizeof(copy), RANK2FILE_COPY "%s", name);
	if (io_replace(dirfd, name, image->data, image->len, 0666, err) < 0)
		return -1;
	return !twice ? 0
		      : io_replace(dirfd, copy, image->data, image->len, 0666,
				   err);
}

int
hidden_store(const struct hidden *h, int dirfd, const struct segmap *m,
	     struct rank2file *r, struct error *err)
{
	struct kvtree *table = kvtree_get(r->top, "CTR");
	struct kvtree *list = kvtree_put(table, "HIDDEN", err), *entry = NULL;
	struct place p = { .part = 0 };
	struct buf image = BUF_INIT;
	char name[PART_NAME];
	int rc = 0;

	if (r->nranks > 0)
		p.last = (r->nranks - 1) / RANK2FILE_PART_RANKS;
	for (; list != NULL && rc == 0 && p.part <= p.last; p.part++) {
		snprintf(name, sizeof(name), PART_STEM "%zu" PART_END,
			 p.part * RANK2FILE_PART_RANKS + r->generation);
		buf_clear(&image);
		entry = kvtree_put(list, name, err);
		if (entry == NULL)
			rc = -1;
		else if (build_part(h, m, &p, entry, &image, err) < 0)
			rc = error_wrap(err, "%s", name);
		else
			rc = write_part(dirfd, name, &image,
					rank2file_has_copies(r), err);
	}
	buf_free(&image);
	if (list == NULL || rc < 0)
		return -1;
	if (h->red.ncontainers == 0)
		return 0;
	table = kvtree_put(table, "RED", err);
	return table == NULL ? -1
			     : segmap_write_containers(&h->red, table, err);
}

/* --- Sweep --- */

struct sweeping {
	int dirfd;
	const struct kvtree *list; /* names that stay */
};

static int
sweep_name(void *arg, const char *name, struct error *err)
{
	const struct sweeping *s = arg;
	char first[NAME_MAX + 1];

	(void)dataset_dir_is_copy(name, first);
	if (dataset_dir_packed(first) < 0 ||
	    kvtree_get(s->list, first) != NULL ||
	    unlinkat(s->dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	return error_sys(err, "%s: cannot remove", name);
}

int
hidden_sweep(int dirfd, const struct rank2file *r, struct error *err)
{
	struct sweeping s = { dirfd, kvtree_get(r->containers, "HIDDEN") };

	return dir_each(dirfd, "the metadata directory", sweep_name, &s, err);
}
