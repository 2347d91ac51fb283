/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodecache.c - survey of all datasets in a node's cache, rank by rank.
 */
#include "scavenge/nodecache.h"

#include <dirent.h>
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
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "meta/cindex.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "str.h"

/* Larger headers of redundancy files are rejected as damaged. */
#define HEADER_MAX ((size_t)256 << 20)

/* --- Directories --- */

struct finding {
	struct arena *arena;
	struct nodecache_dataset *list;
	size_t count, cap;
	const char *problem;
};

/* Keep the first problem only: later ones usually follow from it. */
static int
note(struct arena *a, const char **problem, const struct error *why,
     struct error *err)
{
	if (why->kind == ERROR_NOMEM)
		return error_no_memory(err);
	if (*problem == NULL)
		*problem = arena_strdup(a, why->text);
	return *problem == NULL ? error_no_memory(err) : 0;
}

static struct nodecache_dataset *
add_dataset(struct finding *f, int64_t id, struct error *err)
{
	if (!MEM_ROOM(f->list, f->count, f->cap)) {
		error_no_memory(err);
		return NULL;
	}
	f->list[f->count] = (struct nodecache_dataset){ .id = id, .world = -1 };
	return &f->list[f->count++];
}

static int
copy_str(struct arena *a, const char **s, struct error *err)
{
	if (*s == NULL)
		return 0;
	*s = arena_strdup(a, *s);
	return *s == NULL ? error_no_memory(err) : 0;
}

/* Take what the descriptor of entry `e` says. */
static int
take_desc(struct finding *f, const struct cindex_entry *e,
	  struct nodecache_dataset *to, struct error *why, struct error *err)
{
	struct dataset found, *desc = NULL;

	if (e->desc == NULL || dataset_read(e->desc, &found, why) < 0)
		return 0;
	desc = arena_alloc(f->arena, 1, sizeof(*desc));
	if (desc == NULL)
		return error_no_memory(err);
	if (dataset_copy(desc, &found, f->arena, err) < 0)
		return -1;
	to->desc = desc;
	to->name = desc->name;
	to->ckpt = desc->is_ckpt;
	to->output = desc->is_output;
	to->created = desc->created_us > 0 ? (uint64_t)desc->created_us : 0;
	return 0;
}

static int
add_entry(struct finding *f, const struct cindex_entry *e, struct error *err)
{
	struct nodecache_dataset *new = add_dataset(f, e->id, err);
	struct error why = ERROR_INIT;

	if (new == NULL)
		return -1;
	new->bypass = e->bypass;
	if (e->path == NULL || e->path[0] != '/')
		error_set(&why, ERROR_CORRUPT,
			  CINDEX_FILE ": dataset %" PRId64 ": no absolute PATH",
			  e->id);
	else
		new->dir = e->path;
	if (take_desc(f, e, new, &why, err) < 0 ||
	    copy_str(f->arena, &new->dir, err) < 0)
		return -1;
	return why.kind == ERROR_NONE
		       ? 0
		       : note(f->arena, &new->problem, &why, err);
}

/* Add the datasets of the cache index. */
static int
read_index(struct finding *f, const char *cntl, struct error *err)
{
	struct error why = ERROR_INIT;
	struct buf path = BUF_INIT;
	struct cindex_entry *e = NULL;
	struct kvtree *t = NULL;
	size_t count = SIZE_MAX;
	int rc = -1;

	if (path_join(&path, cntl, CINDEX_FILE, err) < 0)
		goto out;
	t = kvtree_read_file(AT_FDCWD, path.data, &why);
	if (t != NULL)
		e = cindex_entries(t, &count, &why);
	if (count == SIZE_MAX) {
		if (t != NULL)
			error_wrap(&why, "%s", path.data);
		rc = note(f->arena, &f->problem, &why, err);
		goto out;
	}
	rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_entry(f, &e[i], err);
out:
	mem_free(e);
	kvtree_free(t);
	buf_free(&path);
	return rc;
}

/* Add a directory found by scanning.  It completes an index entry with the same
 * id that lacks a usable directory; else it is a dataset of its own. */
static int
add_dir(struct finding *f, int64_t id, const char *path, struct error *err)
{
	struct nodecache_dataset *lost = NULL;
	struct stat here, there;

	if (stat(path, &here) < 0 || !S_ISDIR(here.st_mode))
		return 0;
	for (size_t i = 0; i < f->count; i++) {
		struct nodecache_dataset *e = &f->list[i];

		if (e->id != id)
			continue;
		if (e->dir == NULL || stat(e->dir, &there) < 0)
			lost = lost == NULL ? e : lost;
		else if (here.st_dev == there.st_dev &&
			 here.st_ino == there.st_ino)
			return 0;
	}
	if (lost == NULL)
		lost = add_dataset(f, id, err);
	if (lost == NULL)
		return -1;
	lost->dir = path;
	return copy_str(f->arena, &lost->dir, err);
}

/* Scan `path` for datasets.  Its directories node.N are the nodes' views of one
 * store (formats.md 2). */
static int
scan_cache(struct finding *f, const char *path, bool nodes, struct error *err)
{
	struct error why = ERROR_INIT;
	struct buf below = BUF_INIT;
	const struct dirent *de = NULL;
	DIR *dir = opendir(path);
	int64_t id = -1;
	int rc = 0;

	if (dir == NULL && errno == ENOENT)
		return 0; /* a node that never cached anything */
	if (dir == NULL) {
		error_sys(&why, "%s: cannot read", path);
		return note(f->arena, &f->problem, &why, err);
	}
	while (rc == 0 && (de = readdir(dir)) != NULL) {
		id = dataset_dir_id(de->d_name);
		if (id <= 0 && !(nodes && str_starts(de->d_name, "node.")))
			continue;
		rc = path_join(&below, path, de->d_name, err);
		if (rc == 0)
			rc = id > 0 ? add_dir(f, id, below.data, err)
				    : scan_cache(f, below.data, false, err);
	}
	closedir(dir);
	buf_free(&below);
	return rc;
}

static int
compare_dataset(const void *x, const void *y)
{
	const struct nodecache_dataset *a = x, *b = y;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return strcmp(a->dir ? a->dir : "", b->dir ? b->dir : "");
}

int
nodecache_dirs(struct nodecache *n, const struct nodecache_where *w,
	       struct error *err)
{
	struct finding f = { .arena = n->arena };
	int rc = w->cntl == NULL ? 0 : read_index(&f, w->cntl, err);

	for (size_t i = 0; i < w->ncachedirs && rc == 0; i++)
		rc = scan_cache(&f, w->cachedirs[i], true, err);
	n->problem = f.problem;
	n->datasets = arena_alloc(n->arena, f.count + 1, sizeof(*f.list));
	if (n->datasets == NULL) {
		rc = error_no_memory(err);
	} else if (f.count > 0) {
		qsort(f.list, f.count, sizeof(*f.list), compare_dataset);
		memcpy(n->datasets, f.list, f.count * sizeof(*f.list));
		n->ndatasets = f.count;
	}
	mem_free(f.list);
	return rc;
}

int64_t
nodecache_named(const struct nodecache_where *w, const char *name,
		struct error *err)
{
	struct nodecache n = { .arena = arena_new() };
	int64_t id = -1, other = -1;
	char shown[256];

	if (n.arena == NULL)
		return error_no_memory(err);
	if (nodecache_dirs(&n, w, err) < 0)
		goto out;
	for (size_t i = 0; i < n.ndatasets; i++) {
		const struct nodecache_dataset *d = &n.datasets[i];

		if (d->name == NULL || !str_eq(d->name, name) || d->id == id)
			continue;
		other = id;
		id = d->id;
	}
	str_printable(shown, sizeof(shown), name);
	if (id < 0)
		error_set(err, ERROR_ABSENT,
			  "name:%s: no dataset of this name in the cache",
			  shown);
	else if (other >= 0)
		id = error_set(err, ERROR_USAGE,
			       "name:%s: the name of several datasets: use "
			       "id:%" PRId64 " or id:%" PRId64,
			       shown, other, id);
out:
	nodecache_free(&n);
	return id;
}

/* --- Ranks --- */

struct looking {
	struct arena *arena;   /* lives as long as the survey */
	struct arena *scratch; /* reset for each file */
	struct nodecache_dir dir;
	struct nodecache_dataset *d;
	struct buf raw;
};

/* Note a problem of the dataset or of a rank.  What this user may not read is
 * not lost. */
static int
problem(struct looking *l, const char **to, const struct error *why,
	struct error *err)
{
	const bool unread = error_is_unread(why) || why->errnum == EACCES;

	if (unread && note(l->arena, &l->d->unread, why, err) < 0)
		return -1;
	return note(l->arena, to, why, err);
}

/* Read the header at the start of redundancy file `fd`. */
static int
read_header(struct looking *l, int fd, const char *name, uint32_t owner,
	    struct redset_header *h, struct error *err)
{
	char head[KVTREE_HEADER_SIZE];
	struct kvtree *t = NULL;
	size_t size = 0;
	int rc = -1;

	buf_clear(&l->raw);
	if (io_pread(fd, name, head, sizeof(head), 0, err) < 0)
		return -1;
	if (kvtree_peek(head, sizeof(head), &size, err) < 0)
		return error_wrap(err, "%s", name);
	if (size > HEADER_MAX)
		return error_set(err, ERROR_CORRUPT,
				 "%s: a header of %zu bytes", name, size);
	if (buf_reserve(&l->raw, size) < 0)
		return error_no_memory(err);
	if (io_pread(fd, name, l->raw.data, size, 0, err) < 0)
		return -1;
	t = kvtree_decode(l->raw.data, size, NULL, err);
	if (t != NULL)
		rc = redset_header_read(t, size, owner, l->scratch, h, err);
	kvtree_free(t);
	return rc < 0 ? error_wrap(err, "%s", name) : 0;
}

/* Set *out and add the file's size to *bytes if redundancy file `name` is
 * whole. */
static int
read_red(struct looking *l, const char *name, const struct redset_name *n,
	 struct nodecache_red *out, uint64_t *bytes, struct error *err)
{
	struct redset_header h;
	struct stat st;
	int fd = nodecache_dir_meta(&l->dir, name, &st, err), rc = -1;
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
			true,	   n->type,    n->set,		n->sets,
			n->member, n->members, h.desc.failures,
		};
		*bytes += (uint64_t)st.st_size;
		rc = 0;
	}
	close(fd);
	return rc;
}

static int
look_at_reds(struct looking *l, const struct nodecache_slot *s,
	     struct nodecache_rank *r, struct error *err)
{
	for (size_t i = 0; i < s->nred; i++) {
		struct error why = ERROR_INIT;
		struct redset_name n;
		struct nodecache_red *to = NULL;

		if (!redset_name_parse(s->red[i], &n, NULL) || n.descriptor)
			continue;
		to = n.map ? &r->mapred : &r->red;
		if (!to->there &&
		    read_red(l, s->red[i], &n, to, &r->redundancy, &why) < 0 &&
		    problem(l, &r->problem, &why, err) < 0)
			return -1;
	}
	return 0;
}

static int
look_at_files(struct looking *l, const struct filemap *m,
	      struct nodecache_rank *r, struct error *err)
{
	for (size_t i = 0; i < m->nfiles; i++) {
		struct error why = ERROR_INIT;
		int fd = nodecache_dir_file(&l->dir, &m->files[i], &why);

		if (fd >= 0) {
			close(fd);
			r->files++;
			r->bytes += m->files[i].attr.size;
			continue;
		}
		r->bad++;
		r->unfinished +=
			!m->files[i].complete || !m->files[i].attr.has_size;
		if (problem(l, &r->problem, &why, err) < 0)
			return -1;
	}
	return 0;
}

static int
look_at_map(struct looking *l, struct nodecache_rank *r, struct error *err)
{
	struct error why = ERROR_INIT;
	struct filemap m;
	const struct nodecache_map to = { &l->raw, &m, l->scratch };

	arena_reset(l->scratch);
	if (nodecache_dir_map(l->dir.meta, r->rank, &to, &why) < 0)
		return problem(l, &r->problem, &why, err);
	r->map = true;
	if (m.ranks >= 0 && l->d->world < 0)
		l->d->world = m.ranks;
	if (m.ranks >= 0 && m.ranks != l->d->world) {
		error_set(&why, ERROR_CORRUPT,
			  "filemap_%" PRId64 ": written by %" PRId64
			  " ranks, another by %" PRId64,
			  r->rank, m.ranks, l->d->world);
		if (problem(l, &l->d->problem, &why, err) < 0)
			return -1;
	}
	return look_at_files(l, &m, r, err);
}

/*
 * Two nodes see the same directory if inode and time of change are equal.
 * Inodes alone are not enough: node-local stores of one kind have the same ones
 * everywhere.  The device number is no help, since each node numbers its own
 * devices.
 */
static int
identify(struct looking *l, struct error *err)
{
	struct stat st;

	if (fstat(l->dir.fd, &st) < 0)
		return 0;
	l->d->store =
		arena_printf(l->arena, "%ju:%jd.%09ld", (uintmax_t)st.st_ino,
			     (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	return l->d->store == NULL ? error_no_memory(err) : 0;
}

static int
look_at_dir(struct looking *l, struct error *err)
{
	struct nodecache_dataset *d = l->d;

	if (identify(l, err) < 0)
		return -1;
	d->ranks = arena_alloc(l->arena, l->dir.count + 1, sizeof(*d->ranks));
	if (d->ranks == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < l->dir.count; i++) {
		const struct nodecache_slot *s = &l->dir.slots[i];
		struct nodecache_rank *r = &d->ranks[d->nranks++];

		r->rank = s->rank;
		if ((s->map && look_at_map(l, r, err) < 0) ||
		    look_at_reds(l, s, r, err) < 0)
			return -1;
	}
	return 0;
}

static int
look_at_dataset(struct looking *l, struct nodecache_dataset *d,
		struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = 0;

	if (d->dir == NULL)
		return 0;
	l->d = d;
	rc = nodecache_dir_open(&l->dir, d->dir, &why) < 0
		     ? problem(l, &d->problem, &why, err)
		     : look_at_dir(l, err);
	nodecache_dir_close(&l->dir);
	return rc;
}

int
nodecache_read(struct nodecache *n, const struct nodecache_where *w,
	       struct error *err)
{
	struct looking l = { .raw = BUF_INIT };
	char host[HOST_NAME_MAX + 1] = "";
	int rc = -1;

	*n = (struct nodecache){ .arena = arena_new() };
	l.arena = n->arena;
	l.scratch = arena_new();
	if (l.arena == NULL || l.scratch == NULL)
		goto no_memory;
	gethostname(host, sizeof(host) - 1);
	n->host = arena_strdup(n->arena, host);
	n->cntl = w->cntl == NULL ? NULL : arena_strdup(n->arena, w->cntl);
	if (n->host == NULL || (w->cntl != NULL && n->cntl == NULL))
		goto no_memory;
	n->there = w->cntl != NULL && access(w->cntl, F_OK) == 0;
	for (size_t i = 0; i < w->ncachedirs && i < 62; i++)
		n->there |= (uint64_t)(access(w->cachedirs[i], F_OK) == 0)
			    << (i + 1);
	rc = nodecache_dirs(n, w, err);
	for (size_t i = 0; i < n->ndatasets && rc == 0; i++)
		rc = look_at_dataset(&l, &n->datasets[i], err);
	goto out;
no_memory:
	error_no_memory(err);
out:
	buf_free(&l.raw);
	arena_free(l.scratch);
	return rc;
}

void
nodecache_free(struct nodecache *n)
{
	arena_free(n->arena);
	*n = (struct nodecache){ .arena = NULL };
}
