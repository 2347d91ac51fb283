/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "room.h"
#include "str.h"
#include "stream.h"
#include "transfer/put.h"
#include "transfer/transfer.h"
#include "work.h"

/* Bytes of one write. */
#define CAT_BLOCK ((size_t)1 << 20)

/* --- Choose files --- */

void
extract_names_init(struct extract_names *n, const char *const *names,
		   size_t count)
{
	*n = (struct extract_names){
		.names = names,
		.count = count,
		.by = map_new(),
		.patterns = mem_calloc(count + 1, sizeof(*n->patterns)),
	};
	for (size_t i = 0; i < count; i++) {
		map_put(n->by, names[i], i);
		if (strpbrk(names[i], "*?[\\") != NULL)
			n->patterns[n->npatterns++] = names[i];
	}
}

void
extract_names_free(struct extract_names *n)
{
	map_free(n->by);
	mem_free(n->patterns);
	*n = (struct extract_names){ .count = 0 };
}

bool
extract_wants(const void *names, const char *path)
{
	const struct extract_names *n = names;

	if (map_get(n->by, path) != MAP_NONE)
		return true;
	for (size_t i = 0; i < n->npatterns; i++)
		if (str_glob(path, n->patterns[i]))
			return true;
	return false;
}

int
extract_choose(const struct packed *p, const struct extract_names *n,
	       struct extract_list *out, struct error *err)
{
	size_t *paths = mem_alloc(n->count + 1, sizeof(*paths));
	int rc = 0;

	*out = (struct extract_list){ .count = 0 };
	for (size_t i = 0; i < n->count; i++)
		paths[i] = SIZE_MAX;
	/* The first one, if a path is listed twice. */
	for (size_t i = p->map.nfiles; i-- > 0;) {
		size_t at = map_get(n->by, p->map.files[i].path);

		if (at != MAP_NONE)
			paths[at] = i;
	}
	for (size_t i = 0; i < n->count && rc == 0; i++) {
		const size_t before = out->count;
		const size_t at = paths[map_get(n->by, n->names[i])];

		for (size_t k = at != SIZE_MAX ? at : 0;
		     k < p->map.nfiles && (at == SIZE_MAX || k == at); k++)
			if (k == at ||
			    str_glob(p->map.files[k].path, n->names[i])) {
				(void)MEM_ROOM(out->files, out->count,
					       out->cap);
				out->files[out->count++] = k;
			}
		if (out->count == before)
			rc = error_set(err, ERROR_ABSENT,
				       "%s: no file of dataset %s",
				       str_shown(n->names[i]), p->name);
	}
	mem_free(paths);
	return rc;
}

/* --- One file --- */

int
extract_cat(const struct packed *p, size_t file, int fd,
	    const struct work *work, struct error *err)
{
	const struct segmap_file *f = &p->map.files[file];
	struct stripe_sum sum = { .size = 0 };
	struct stripe_cache *cache = stripe_cache_new(16, false, &sum);
	struct arena *arena = arena_new();
	unsigned char *block = mem_aligned(4096, CAT_BLOCK);
	struct stripe s = { 0, NULL };
	int rc = packed_refuse_marked(p, file, 1, NULL, err);

	if (rc == 0)
		rc = packed_measure(p, file, err);
	if (rc == 0)
		rc = packed_file(p, &p->map, f, arena, &s, err);
	sum.size = f->size;
	if (rc == 0)
		progress_phase(work->progress, "reading", f->size);
	for (uint64_t off = 0; off < f->size && rc == 0; off += CAT_BLOCK) {
		const size_t len = f->size - off < CAT_BLOCK
					   ? (size_t)(f->size - off)
					   : CAT_BLOCK;

		rc = work_go_on(work, err);
		if (rc == 0)
			rc = stripe_read(&s, cache, off, block, len, err);
		/* 1: the reader has closed the pipe before the end. */
		if (rc == 0)
			rc = stream_put(fd, block, len, work->stop, err);
		work_moved(work, len);
	}
	if (rc == 0) { /* no checksum of a part */
		stripe_cache_drop(cache);
		if (f->has_crc && sum.crc != f->crc)
			rc = segmap_wrong_sum(f, sum.crc, err);
	}
	stripe_cache_free(cache); /* before the parts, which it uses */
	arena_free(arena);
	mem_free(block);
	return rc < 0 ? -1 : 0;
}

/* --- All that leaves containers --- */

void
packed_copy_init(struct packed_copy *c, size_t files, size_t segs)
{
	c->files = arena_alloc(c->arena, files + 1, sizeof(*c->files));
	(void)stripe_room(&c->from, c->arena, files + segs, NULL);
	(void)stripe_room(&c->to, c->arena, files, NULL);
}

int
packed_copy_add(struct packed_copy *c, const struct segmap *m,
		const struct segmap_file *f, const struct put_what *what,
		struct error *err)
{
	const struct stripe_part from = { .start = c->len,
					  .sum = STRIPE_NO_SUM };
	const struct stripe_part to = { .start = c->len,
					.len = f->size,
					.put = put_add(c->put, what, NULL),
					.sum = c->to.nparts };

	if (packed_add(c->p, m, f, from, &c->from, err) < 0)
		return -1;
	if (f->size == 0)
		return 0;
	c->len += f->size;
	c->files[c->to.nparts] = f;
	stripe_add(&c->to, &to);
	return 0;
}

int
packed_copy_run(const struct packed_copy *c, const struct work *work,
		struct error *err)
{
	const size_t n = c->to.nparts;
	struct stripe_sum *sums = mem_calloc(n + 1, sizeof(*sums));
	const struct transfer_options t = { .work = work, .sums_to = sums };
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		sums[i].size = c->files[i]->size;
	progress_phase(work->progress, "unpacking", c->len);
	rc = transfer(&c->from, &c->to, c->len, &t, err);
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct segmap_file *f = c->files[i];

		if (sums[i].seen != f->size ||
		    (f->has_crc && sums[i].crc != f->crc))
			rc = segmap_wrong_sum(f, sums[i].crc, err);
	}
	mem_free(sums);
	return rc < 0 ? -1 : put_commit(c->put, err);
}

/* Packing leaves the directories of files in place, but changes their times
 * when it removes the files: the previous times are recorded (hidden.h). */
struct dirs {
	const struct packed *p;
	bool may_miss;
	struct hidden_dir *list; /* path NULL: not a directory */
	size_t count, cap;
};

static int
look_at_dir(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct dirs *d = arg;
	struct hidden_dir *at = &d->list[i];
	const struct attr *was = hidden_dir(&d->p->hidden, at->path);
	struct error why = ERROR_INIT;
	struct stat st;
	const bool is =
		path_stat_beneath(d->p->file_fd, at->path, &st, &why) == 0 &&
		S_ISDIR(st.st_mode);

	(void)worker;
	if (!d->may_miss && why.errnum != ENOTDIR &&
	    (why.kind == ERROR_SYSTEM || why.kind == ERROR_NOMEM))
		return error_pass(err, &why);
	if (is)
		attr_from_stat(&at->attr, &st);
	else
		at->path = NULL;
	if (is && was != NULL && was->has_times) {
		at->attr.atime = was->atime;
		at->attr.mtime = was->mtime;
	}
	return 0;
}

int
packed_dirs(const struct packed *p, const bool *only, struct par *par,
	    struct arena *arena, struct packed_dirs *out, struct error *err)
{
	struct dirs d = { .p = p, .may_miss = only != NULL };
	struct map *known = map_new();
	const char *last = "";
	size_t last_len = 0;
	int rc = 0;

	for (size_t i = 0; i < p->map.nfiles; i++) {
		const char *path = p->map.files[i].path;
		size_t len = 0;

		if (only != NULL && !only[i])
			continue;
		len = (size_t)(path_base(path) - path);
		len -= len > 0;
		if (len == last_len && memcmp(path, last, len) == 0)
			continue;
		last = path;
		last_len = len;
		/* It, and those above it. */
		while (len > 0) {
			const char *dir = arena_strndup(arena, path, len);

			if (map_get(known, dir) != MAP_NONE)
				break;
			map_put(known, dir, 0);
			(void)MEM_ROOM(d.list, d.count, d.cap);
			d.list[d.count++] = (struct hidden_dir){ .path = dir };
			while (len > 0 && path[len - 1] != '/')
				len--;
			len -= len > 0;
		}
	}
	rc = par_for(par, d.count, 0, look_at_dir, &d, err);
	*out = (struct packed_dirs){
		arena_alloc(arena, d.count + 1, sizeof(*out->list)), 0
	};
	for (size_t i = 0; i < d.count && rc == 0; i++)
		if (d.list[i].path != NULL)
			out->list[out->count++] = d.list[i];
	mem_free(d.list);
	map_free(known);
	return rc;
}

/* --- Several files --- */

struct extraction {
	int dir;
	struct pathcache *parents, *sources; /* of targets, of plain files */
	struct packed_copy copy;
};

/* Fails with EEXIST if anything, even a link, is at the path; with `force`,
 * only if that is not a regular file. */
static int
add_file(struct extraction *x, size_t i, bool force, struct error *err)
{
	const struct packed *p = x->copy.p;
	const struct segmap_file *f = &p->map.files[i];
	struct attr *a = arena_alloc(x->copy.arena, 1, sizeof(*a));
	struct put_what what = {
		.kind = PUT_FILE,
		.dirfd = x->dir,
		.path = f->path,
		.attr = a,
	};
	struct stat st;
	int there = 0;

	if (packed_refuse_place(p, i, err) < 0 ||
	    packed_measure(p, i, err) < 0 ||
	    packed_attr(p, i, x->sources, a, err) < 0)
		return -1;
	there = pathcache_look(x->parents, f->path, &st, err);
	if (there < 0)
		return -1;
	what.replaces = there > 0 && force && S_ISREG(st.st_mode);
	if (there > 0 && !what.replaces) {
		errno = EEXIST;
		return error_sys(err, "%s (--force replaces files)",
				 str_shown(f->path));
	}
	if (!a->has_owner && !a->has_times)
		what.attr = NULL;
	what.size = f->size;
	return packed_copy_add(&x->copy, &p->map, f, &what, err);
}

int
extract_files(const struct packed *p, const struct extract_options *o,
	      struct extract_result *out, struct error *err)
{
	const struct segmap *m = &p->map;
	struct extraction x = { .dir = -1, .copy = { p, .len = 0 } };
	struct packed_dirs dirs;
	struct par *par = NULL;
	bool made = false;
	int rc = -1;

	*out = (struct extract_result){ .files = 0 };
	if (packed_refuse_marked(p, 0, p->map.nfiles, o->only, err) < 0)
		return -1;
	x.copy.arena = arena_new();
	made = create_dir_path(o->dir, 0777) == 0;
	if (!made && errno != EEXIST) {
		error_sys(err, "%s: cannot make", o->dir);
		goto out;
	}
	x.dir = dir_open(AT_FDCWD, o->dir);
	if (x.dir < 0) {
		error_sys(err, "%s: cannot open", o->dir);
		goto out;
	}
	x.parents = pathcache_new(x.dir);
	x.sources = pathcache_new(p->file_fd);
	par = work_waiting(o->work, x.dir);
	x.copy.put = put_new(&(struct put_options){ .par = par,
						    .guard = o->guard,
						    .work = o->work },
			     NULL);
	packed_copy_init(&x.copy, m->nfiles, m->nsegs);
	rc = segmap_refuse_twins(m, o->only, ERROR_DAMAGED,
				 "cannot be unpacked", err);
	for (size_t i = 0; i < m->nfiles && rc == 0; i++)
		if (o->only[i]) {
			out->files++;
			rc = add_file(&x, i, o->force, err);
		}
	if (rc == 0)
		rc = packed_dirs(p, o->only, par, x.copy.arena, &dirs, err);
	for (size_t i = 0; rc == 0 && i < dirs.count; i++)
		put_dir(x.copy.put, x.dir, dirs.list[i].path,
			&dirs.list[i].attr);
	if (rc < 0 || put_clear(x.copy.put, err) < 0 ||
	    put_check_room(x.copy.put, "the files", err) < 0 ||
	    packed_copy_run(&x.copy, o->work, err) < 0)
		rc = -1;
	out->bytes = x.copy.len;
	if (rc < 0)
		room_explain(x.dir, 0, err);
out:
	put_free(x.copy.put);
	pathcache_free(x.sources);
	pathcache_free(x.parents);
	io_close(x.dir);
	if (made && rc < 0)
		(void)rmdir(o->dir);
	arena_free(x.copy.arena);
	return rc;
}
