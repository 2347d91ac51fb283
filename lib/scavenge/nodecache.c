/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodecache.c - the directory of one dataset in a cache; and the survey of all
 * datasets in a node's cache, rank by rank.
 */
#include "scavenge/nodecache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "scavenge/nodecache_impl.h"
#include "str.h"

/* Larger filemaps are rejected: no rank has a million files. */
#define MAP_MAX ((size_t)256 << 20)

/* --- Metadata files by rank --- */

/* One name in .scr that belongs to a rank. */
struct name {
	int64_t rank;
	const char *red; /* NULL: the filemap */
};

static int
compare_name(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->red == NULL || b->red == NULL)
		return (a->red != NULL) - (b->red != NULL);
	return strcmp(a->red, b->red);
}

int
nodecache_dir_open(struct nodecache_dir *d, const char *path, struct error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	struct arena *a = arena_new();
	const char *meta = arena_printf(a, "%s/" SCR_DIR, path), *name = NULL;
	const char **red = NULL;
	struct name *list = NULL;
	size_t count = 0, cap = 0;
	struct dir_walk w;
	int rc = 0;

	*d = (struct nodecache_dir){ .arena = a, .fd = -1, .meta = -1 };
	d->fd = open(path, flags);
	if (d->fd < 0)
		return error_sys(err, "%s: cannot open", path);
	d->meta = openat(d->fd, SCR_DIR, flags | O_NOFOLLOW);
	if (d->meta < 0)
		return error_sys(err, "%s: cannot open", meta);
	rc = dir_walk(&w, d->meta, meta, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		uint32_t rank = 0;
		const enum dataset_dir_kind kind =
			dataset_dir_kind(name, &rank);
		const bool map = kind == DATASET_DIR_FILEMAP;

		if (!map && kind != DATASET_DIR_REDUNDANCY &&
		    kind != DATASET_DIR_DESCRIPTOR)
			continue;
		(void)MEM_ROOM(list, count, cap);
		list[count++] =
			(struct name){ rank,
				       map ? NULL : arena_strdup(a, name) };
	}
	rc = dir_done(&w, rc, err);
	if (count > 0)
		qsort(list, count, sizeof(*list), compare_name);
	/* Group the sorted names into one slot for each rank. */
	red = arena_alloc(a, count + 1, sizeof(*red));
	d->slots = arena_alloc(a, count + 1, sizeof(*d->slots));
	for (size_t i = 0; i < count; i++) {
		struct nodecache_slot *s = NULL;

		if (i == 0 || list[i - 1].rank != list[i].rank)
			d->slots[d->count++] = (struct nodecache_slot){
				.rank = list[i].rank,
				.red = red,
			};
		s = &d->slots[d->count - 1];
		if (list[i].red == NULL) {
			s->map = true;
		} else {
			*red++ = list[i].red;
			s->nred++;
		}
	}
	mem_free(list);
	return rc;
}

void
nodecache_dir_close(struct nodecache_dir *d)
{
	io_close(d->meta);
	io_close(d->fd);
	arena_free(d->arena);
	*d = (struct nodecache_dir){ .fd = -1, .meta = -1 };
}

/* --- Files --- */

int
nodecache_dir_regular(int dirfd, const char *name, struct stat *st,
		      struct error *err)
{
	int fd = dirfd == AT_FDCWD ? io_open(dirfd, name, O_RDONLY, 0, err)
				   : io_open_read(dirfd, name, err);

	if (fd < 0 || fstat(fd, st) == 0)
		return fd;
	error_sys(err, "%s: cannot stat", name);
	close(fd);
	return -1;
}

int
nodecache_dir_map(int meta, int64_t rank, struct buf *raw, struct filemap *out,
		  struct arena *a, struct error *err)
{
	const char *name = filemap_str(rank);
	struct stat st;
	int fd = nodecache_dir_regular(meta, name, &st, err), rc = -1;

	if (fd < 0)
		return -1;
	if (io_read_fd(fd, name, MAP_MAX, raw, err) == 0) {
		rc = filemap_decode(raw->data, raw->len, a, out, err);
		if (rc < 0)
			error_wrap(err, "%s", name);
	}
	close(fd);
	return rc;
}

bool
nodecache_dir_bypass(const struct filemap_file *f)
{
	size_t len = f->dir == NULL ? 0 : strlen(f->dir);

	return len > 0 && strncmp(f->cache_path, f->dir, len) == 0 &&
	       f->cache_path[len] == '/' &&
	       strchr(f->cache_path + len + 1, '/') == NULL;
}

int
nodecache_dir_file(const struct nodecache_dir *d, const struct filemap_file *f,
		   struct error *err)
{
	const char *base = path_base(f->cache_path);
	struct stat st = { .st_size = 0 };
	int fd = -1;

	if (!f->complete)
		return error_set(err, ERROR_DAMAGED, "%s: was never completed",
				 base);
	if (!f->attr.has_size)
		return error_set(err, ERROR_DAMAGED, "%s: no SIZE recorded",
				 base);
	if (!path_is_clean(base))
		return error_set(err, ERROR_UNSAFE,
				 "%s: no path of a file in a cache",
				 f->cache_path);
	/* A file in cache lies in the dataset directory under its base name
	 * (scr-dataset(5)); a bypass file lies at its recorded path. */
	fd = nodecache_dir_bypass(f)
		     ? nodecache_dir_regular(AT_FDCWD, f->cache_path, &st, err)
		     : nodecache_dir_regular(d->fd, base, &st, err);
	if (fd < 0)
		return -1;
	if ((uint64_t)st.st_size == f->attr.size)
		return fd;
	close(fd);
	return error_set(err, ERROR_DAMAGED,
			 "%s: %" PRIu64 " bytes, expected %" PRIu64, base,
			 (uint64_t)st.st_size, f->attr.size);
}

/* Larger headers of redundancy files are rejected as damaged. */
#define HEADER_MAX ((size_t)256 << 20)

struct looking {
	struct arena *arena;   /* lives as long as the survey */
	struct arena *scratch; /* reset for each file */
	struct nodecache_dir dir;
	struct nodecache_dataset *d;
	struct buf raw;
};

/* Note a problem of the dataset or of a rank. */
static void
problem(struct looking *l, const char **to, const struct error *why)
{
	if (nodecache_hides(why))
		nodecache_note(l->arena, &l->d->unread, why);
	nodecache_note(l->arena, to, why);
}

/* Read the header at the start of redundancy file `fd`. */
static int
read_header(struct looking *l, int fd, const char *name, uint32_t owner,
	    struct redset_header *h, struct error *err)
{
	char head[KVTREE_HEADER_SIZE];
	struct kvtree *t = NULL;
	size_t size = 0;
	struct stat st;
	int rc = -1;

	buf_clear(&l->raw);
	if (io_pread(fd, name, head, sizeof(head), 0, err) < 0)
		return -1;
	if (kvtree_peek(head, sizeof(head), &size, err) < 0)
		return error_wrap(err, "%s", name);
	if (size > HEADER_MAX)
		return error_set(err, ERROR_CORRUPT,
				 "%s: a header of %zu bytes", name, size);
	if (fstat(fd, &st) == 0 && size > (uint64_t)st.st_size)
		return error_set(
			err, ERROR_CORRUPT,
			"%s: ends at byte %" PRIu64 ", expected %zu more", name,
			(uint64_t)st.st_size, size - (size_t)st.st_size);
	buf_reserve(&l->raw, size);
	if (io_pread(fd, name, l->raw.data, size, 0, err) < 0)
		return -1;
	t = kvtree_decode(l->raw.data, size, NULL, err);
	if (t != NULL)
		rc = redset_header_read(t, size, owner, l->scratch, h, err);
	kvtree_free(t);
	return rc < 0 ? error_wrap(err, "%s", name) : 0;
}

static void
count_file(struct nodecache_rank *r, const struct filemap_file *f, bool whole)
{
	r->files += whole;
	r->bytes += whole ? f->attr.size : 0;
	r->bad += !whole;
	r->unfinished += !f->complete || !f->attr.has_size;
}

/* Set what the header of a whole redundancy file says about its member. */
static void
take_header(struct looking *l, const struct redset_header *h, bool map,
	    struct nodecache_rank *r)
{
	const struct redset_member *own = &h->members[h->desc.member];
	const struct redset_member *left =
		&h->members[redset_left(&h->desc, h->desc.member, 1)];
	struct nodecache_red *red = map ? &r->mapred : &r->red;
	struct solve_range *lost = NULL;
	uint64_t at = 0;

	if (l->d->world < 0)
		l->d->world = h->desc.ranks;
	red->failures = h->desc.failures;
	red->chunk = h->chunk;
	red->bytes = own->bytes;
	red->left = left->bytes;
	red->left_rank = left->known ? (int64_t)left->desc.rank : -1;
	if (r->map && (map || r->bad == 0))
		return;
	red->lost = lost =
		arena_alloc(l->arena, own->nfiles + 1, sizeof(*lost));
	if (map) {
		lost->to = own->bytes;
		red->nlost = own->bytes > 0;
		return;
	}
	/* The ranges of the member's data whose files are missing or
	 * damaged. */
	r->listed = !r->map;
	for (size_t i = 0; i < own->nfiles; i++) {
		const struct filemap_file f = {
			.cache_path = own->files[i].path,
			.attr = own->files[i].attr,
			.complete = true,
		};
		struct error why = ERROR_INIT;
		const int fd = nodecache_dir_file(&l->dir, &f, &why);

		io_close(fd);
		if (!r->map)
			count_file(r, &f, fd >= 0);
		if (fd < 0 && f.attr.size > 0)
			lost[red->nlost++] =
				(struct solve_range){ at, at + f.attr.size };
		if (fd < 0 && nodecache_hides(&why))
			problem(l, &r->problem, &why);
		at += f.attr.size;
	}
}

/* Take redundancy file `name`, and add its size, if it is whole.  *why: it is
 * not. */
static int
read_red(struct looking *l, const char *name, const struct redset_name *n,
	 struct nodecache_rank *r, struct error *err)
{
	struct nodecache_red *out = n->map ? &r->mapred : &r->red;
	struct redset_header h;
	struct stat st;
	int fd = nodecache_dir_regular(l->dir.meta, name, &st, err), rc = -1;
	uint64_t body = 0;

	if (fd < 0)
		return -1;
	arena_reset(l->scratch);
	if (read_header(l, fd, name, n->member - 1, &h, err) < 0 ||
	    redset_body_size(h.members, h.chunk, n->member - 1, &body, err) <
		    0) {
		error_wrap(err, "rank %" PRIu32, n->rank);
	} else if (h.desc.type != n->type || h.desc.rank != n->rank) {
		error_set(err, ERROR_CORRUPT,
			  "%s: its header is that of another file", name);
	} else if (body > (uint64_t)st.st_size ||
		   h.size > (uint64_t)st.st_size - body) {
		error_set(err, ERROR_CORRUPT, "%s: ends at byte %" PRIu64, name,
			  (uint64_t)st.st_size);
	} else {
		*out = (struct nodecache_red){
			.there = true,
			.type = n->type,
			.set = n->set,
			.sets = n->sets,
			.member = n->member,
			.members = n->members,
		};
		r->redundancy += (uint64_t)st.st_size;
		take_header(l, &h, n->map, r);
		rc = 0;
	}
	close(fd);
	return rc;
}

static void
look_at_map(struct looking *l, struct nodecache_rank *r)
{
	struct error why = ERROR_INIT;
	struct filemap m;

	arena_reset(l->scratch);
	if (nodecache_dir_map(l->dir.meta, r->rank, &l->raw, &m, l->scratch,
			      &why) < 0) {
		problem(l, &r->problem, &why);
		return;
	}
	r->map = true;
	if (l->d->place == NULL && m.nfiles > 0 && m.files[0].dir != NULL)
		l->d->place = arena_strdup(l->arena, m.files[0].dir);
	if (m.ranks >= 0 && l->d->world < 0)
		l->d->world = m.ranks;
	if (m.ranks >= 0 && m.ranks != l->d->world) {
		error_set(&why, ERROR_CORRUPT,
			  "filemap_%" PRId64 ": written by %" PRId64
			  " ranks, another by %" PRId64,
			  r->rank, m.ranks, l->d->world);
		problem(l, &l->d->problem, &why);
		error_clear(&why);
	}
	for (size_t i = 0; i < m.nfiles; i++) {
		int fd = nodecache_dir_file(&l->dir, &m.files[i], &why);

		io_close(fd);
		count_file(r, &m.files[i], fd >= 0);
		if (fd < 0)
			problem(l, &r->problem, &why);
		error_clear(&why);
	}
}

static void
look_at_dir(struct looking *l)
{
	struct nodecache_dataset *d = l->d;
	struct error why = ERROR_INIT;
	const char *name = NULL;
	struct redset_name n;
	struct dir_walk w;
	struct stat st;

	/* Two nodes see the same directory if inode and time of change are
	 * equal.  Inodes alone are not enough: node-local stores of one kind
	 * have the same ones everywhere.  The device number is no help, since
	 * each node numbers its own devices. */
	if (fstat(l->dir.fd, &st) == 0)
		d->store = arena_printf(
			l->arena, "%ju:%jd.%09ld", (uintmax_t)st.st_ino,
			(intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	if (l->dir.count == 0) {
		int rc = dir_walk(&w, l->dir.fd, d->dir, &why);

		while (rc == 0 && (name = dir_next(&w)) != NULL)
			d->nameless = d->nameless || !str_eq(name, SCR_DIR);
		if (dir_done(&w, rc, &why) < 0)
			problem(l, &d->problem, &why);
	}
	d->ranks = arena_alloc(l->arena, l->dir.count + 1, sizeof(*d->ranks));
	for (size_t i = 0; i < l->dir.count; i++) {
		const struct nodecache_slot *s = &l->dir.slots[i];
		struct nodecache_rank *r = &d->ranks[d->nranks++];

		r->rank = s->rank;
		if (s->map)
			look_at_map(l, r);
		for (size_t k = 0; k < s->nred; k++) {
			if (!redset_name_parse(s->red[k], &n, NULL) ||
			    n.descriptor || (n.map ? r->mapred : r->red).there)
				continue;
			error_clear(&why);
			if (read_red(l, s->red[k], &n, r, &why) < 0)
				problem(l, &r->problem, &why);
		}
	}
}

static bool
may_exist(const char *path)
{
	return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

void
nodecache_read(struct nodecache *n, const struct nodecache_where *w)
{
	struct looking l = { .raw = BUF_INIT };
	char host[HOST_NAME_MAX + 1] = "";

	*n = (struct nodecache){ .arena = arena_new() };
	l.arena = n->arena;
	l.scratch = arena_new();
	gethostname(host, sizeof(host) - 1);
	n->host = arena_strdup(n->arena, host);
	if (w->cntl != NULL)
		n->cntl = arena_strdup(n->arena, w->cntl);
	n->there = w->cntl != NULL && may_exist(w->cntl);
	for (size_t i = 0; i < w->ncachedirs && i < 62; i++)
		n->there |= (uint64_t)may_exist(w->cachedirs[i]) << (i + 1);
	nodecache_dirs(n, w);
	for (size_t i = 0; i < n->ndatasets; i++) {
		struct error why = ERROR_INIT;

		l.d = &n->datasets[i];
		if (l.d->dir == NULL)
			continue;
		if (nodecache_dir_open(&l.dir, l.d->dir, &why) < 0)
			problem(&l, &l.d->problem, &why);
		/* Without metadata, its files have no name. */
		if (why.kind == ERROR_NONE ||
		    (why.kind == ERROR_ABSENT && l.dir.fd >= 0))
			look_at_dir(&l);
		nodecache_dir_close(&l.dir);
	}
	buf_free(&l.raw);
	arena_free(l.scratch);
}

void
nodecache_free(struct nodecache *n)
{
	arena_free(n->arena);
	*n = (struct nodecache){ .arena = NULL };
}
