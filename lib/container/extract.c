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
#include "path.h"
#include "progress.h"
#include "room.h"
#include "str.h"
#include "stream.h"
#include "transfer/put.h"
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

static void
add_match(struct extract_list *out, size_t file)
{
	(void)MEM_ROOM(out->files, out->count, out->cap);
	out->files[out->count++] = file;
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

		if (at != SIZE_MAX)
			add_match(out, at);
		for (size_t k = 0; at == SIZE_MAX && k < p->map.nfiles; k++)
			if (str_glob(p->map.files[k].path, n->names[i]))
				add_match(out, k);
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
		progress_add(work->progress, len);
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
	(void)packed_copy_init(&x.copy, m->nfiles, m->nsegs, NULL);
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
