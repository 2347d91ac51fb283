/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_sweep.c - put a map in place, and remove what is no longer needed: files
 * that no map lists, after the switch or left by an interrupted run; and packed metadata that a
 * rebuild has replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "container/container_impl.h"
#include "container/marks.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "str.h"
#include "temp.h"
#include "transfer/transfer.h"
#include "work.h"

#define PART_STEM "rank2file."

/* --- Switch --- */

int
pack_switch(struct packed *p, const struct segmap *m, const struct hidden *h,
	    bool distinct, struct error *err)
{
	struct rank2file r;
	int rc = -1;

	if (segmap_write(m, p->r2f.nranks, h == NULL, &r, err) < 0)
		return -1;
	r.generation = p->r2f.unused;
	r.uncounted = p->layout == 1;
	r.distinct = distinct;
	if ((h == NULL || hidden_store(h, p->meta_fd, m, &r, err) == 0) &&
	    rank2file_store(p->meta_fd, p->base, &r, err) == 0 &&
	    hidden_sweep(p->meta_fd, &r, err) == 0)
		rc = 0;
	/* Other generations are removed by now.  Take another one for the next
	 * switch of a repack, so that it does not overwrite this one. */
	p->r2f.unused = r.generation == 0;
	rank2file_free(&r);
	return rc < 0 ? error_wrap(err, "%s", p->dir) : 0;
}

/* --- Sweep --- */

static int
name_all(struct map *named, const struct segmap *m)
{
	for (size_t i = 0; m != NULL && i < m->ncontainers; i++)
		if (map_put(named, m->containers[i].name, 0) < 0)
			return -1;
	return 0;
}

int
pack_sweep(const struct packed *p, const struct segmap *data,
	   const struct segmap *red, bool dry_run, size_t *count,
	   struct error *err)
{
	const int fd = dir_open_plain(p->root_fd, SEGMAP_DIR);
	struct dir_walk w = { .dir = NULL };
	const char *name = NULL;
	struct map *named = NULL;
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : error_sys(err, "%s: cannot open", SEGMAP_DIR);
	named = map_new();
	if (named == NULL || name_all(named, data) < 0 ||
	    name_all(named, red) < 0)
		rc = error_no_memory(err);
	else
		rc = dir_walk(&w, fd, SEGMAP_DIR, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		const char *full =
			str_printed(NAME_MAX + sizeof(SEGMAP_DIR) + 2,
				    SEGMAP_DIR "/%s", name);

		if ((!segmap_is_container(name) && !temp_is(name)) ||
		    map_get(named, full) != MAP_NONE)
			continue;
		if (!dry_run && unlinkat(fd, name, 0) < 0) {
			if (errno != ENOENT && errno != EISDIR)
				rc = error_sys(err, "%s: cannot remove", full);
		} else if (count != NULL && !temp_is(name)) {
			++*count;
		}
	}
	rc = dir_done(&w, rc, err);
	close(fd);
	map_free(named);
	return rc;
}

/* --- Parts of rank2file --- */

/* Is this the name of a part: "rank2file.0.1", in layout 1
 * "rank2file.0.1.scr"? */
static bool
is_part(const struct packed *p, const char *name)
{
	const char *end = NULL;
	uint64_t n = 0;

	if (!str_starts(name, PART_STEM))
		return false;
	end = value_scan(name + strlen(PART_STEM), INT64_MAX, &n);
	if (end == NULL || *end != '.')
		return false;
	end = value_scan(end + 1, INT64_MAX, &n);
	return end != NULL && str_eq(end, p->layout == 1 ? ".scr" : "");
}

int
pack_sweep_parts(const struct packed *p, struct error *err)
{
	struct dir_walk w = { .dir = NULL };
	struct map *named = map_new();
	const struct kvtree *k = NULL;
	const char *name = NULL;
	uint64_t level = 0;
	int rc = named == NULL ? error_no_memory(err) : 0;

	/* The top file gives the end of a part's name only; in layout 1, its
	 * path from the dataset's directory. */
	kvtree_foreach (k, kvtree_get(p->r2f.top, "RANK")) {
		const char *file = kvtree_value(k, "FILE");

		if (rc < 0 || file == NULL)
			continue;
		name = p->layout == 1
			       ? path_base(file)
			       : arena_printf(p->arena, "%s%s", p->base, file);
		if (name == NULL || map_put(named, name, 0) < 0)
			rc = error_no_memory(err);
	}
	/* If there are more levels, which only LLNL's library writes, the top
	 * file does not name all parts: remove none. */
	if (kvtree_u64(p->r2f.top, "LEVEL", INT64_MAX, &level, NULL) < 0 ||
	    level != 1) {
		map_free(named);
		named = NULL;
	}
	if (rc == 0)
		rc = dir_walk(&w, p->meta_fd, p->dir, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		char first[NAME_MAX + 1];
		const bool copy = dataset_dir_is_copy(name, first);
		bool stale = named != NULL && is_part(p, first) &&
			     map_get(named, first) == MAP_NONE;

		/* Only packed datasets have copies. */
		if (copy && !p->is_packed &&
		    (is_part(p, first) || str_eq(first, p->base)))
			stale = true;
		if ((stale || temp_is(name)) &&
		    unlinkat(p->meta_fd, name, 0) < 0 && errno != ENOENT)
			rc = error_sys(err, "%s: cannot remove", name);
	}
	rc = dir_done(&w, rc, err);
	map_free(named);
	return rc < 0 ? -1 : hidden_sweep(p->meta_fd, &p->r2f, err);
}

/* --- Compare with the packed contents --- */

/* Compute the checksum of a string of `len` bytes. */
static int
sum_of(const struct stripe *s, uint64_t len, const struct work *work,
       uint32_t *crc, struct error *err)
{
	struct stripe_sum sum = { .size = len };
	struct work quiet = *work;
	const struct transfer_options t = { .work = &quiet, .sums = &sum };

	quiet.progress = NULL;
	if (transfer(s, NULL, len, &t, err) < 0)
		return -1;
	*crc = sum.crc;
	return 0;
}

int
pack_compare(const struct packed *p, bool meta, size_t file,
	     const struct work *work, bool *same, struct error *err)
{
	const struct segmap *m = meta ? &p->hidden.map : &p->map;
	const struct segmap_file *f = &m->files[file];
	struct stripe_part part = {
		.len = f->size,
		.dirfd = meta ? p->meta_fd : p->file_fd,
		.path = f->path,
	};
	const struct stripe there = { f->size > 0, &part };
	struct buf is = BUF_INIT, was = BUF_INIT;
	struct stripe packed = { 0, NULL };
	struct arena *arena = NULL;
	uint32_t has = 0, wants = f->crc;
	int rc = 0;

	if (f->tree != NULL) {
		rc = io_read_file(part.dirfd, f->path, KVTREE_MAX_ENCODED, &is,
				  err);
		if (rc == 0)
			rc = kvtree_encode(f->tree, &was, err);
		*same = rc == 0 && buf_equal(&is, &was);
		buf_free(&was);
		buf_free(&is);
		return rc;
	}
	rc = sum_of(&there, f->size, work, &has, err);
	if (rc == 0 && !f->has_crc) {
		arena = arena_new();
		rc = arena == NULL ? error_no_memory(err)
				   : packed_file(p, m, f, arena, &packed, err);
		if (rc == 0)
			rc = sum_of(&packed, f->size, work, &wants, err);
		arena_free(arena);
	}
	*same = rc == 0 && has == wants;
	return rc;
}

/* --- Packed metadata that a rebuild has replaced --- */

/* Remove from the map: the files in `gone`, the checksums of their containers,
 * and containers without other files. */
static void
forget(struct hidden *h, const bool *gone)
{
	struct segmap *m = &h->map;
	size_t kept = 0;

	for (size_t i = 0; i < m->ncontainers; i++)
		m->containers[i].used = 0;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file f = m->files[i];

		for (size_t k = 0; k < f.nsegs; k++) {
			const struct segment *seg = &m->segs[f.first + k];
			struct segmap_container *c =
				&m->containers[seg->container];

			if (gone[i])
				c->has_crc = false;
			else if (seg->off + seg->len > c->used)
				c->used = seg->off + seg->len;
		}
		if (!gone[i])
			m->files[kept++] = f;
	}
	m->nfiles = kept;
	for (size_t i = 0; i < m->ncontainers; i++)
		if (m->containers[i].used == 0)
			m->containers[i].has_size = false;
}

/*
 * Redundancy over filemaps that is computed again has other bytes than before,
 * often more of them.  So it does not fit in its place in a container, and is
 * written to files, which take precedence.  The packed files are removed from
 * the map; their bytes remain in the containers as gaps.
 */
int
pack_forget_replaced(struct packed *p, const struct work *work,
		     struct error *err)
{
	struct hidden *h = &p->hidden;
	struct dir_walk w = { .dir = NULL };
	struct marks marks = { .count = 0 };
	const char *name = NULL;
	bool *gone = NULL, any = false; /* by file of hidden.map: replaced */
	int rc = 0;

	/* Metadata that could not be read cannot be written again. */
	if (!p->is_packed || p->layout != 3 || h->incomplete)
		return 0;
	if (h->map.nfiles > 0) {
		gone = mem_calloc(h->map.nfiles + 1, sizeof(*gone));
		rc = gone == NULL ? error_no_memory(err)
				  : packed_reach_meta(p, err);
		if (rc == 0)
			rc = dir_walk(&w, p->meta_fd, p->dir, err);
		while (rc == 0 && (name = dir_next(&w)) != NULL) {
			const struct segmap_file *f = hidden_find(h, name);
			const size_t at =
				f != NULL ? (size_t)(f - h->map.files) : 0;
			bool same = false;
			struct stat st;

			if (f == NULL ||
			    dir_stat(p->meta_fd, name, &st,
				     AT_SYMLINK_NOFOLLOW) < 0 ||
			    !S_ISREG(st.st_mode))
				continue;
			if (!segmap_gone(h->map.segs + f->first, f->nsegs) &&
			    (uint64_t)st.st_size == f->attr.size)
				rc = pack_compare(p, true, at, work, &same,
						  err);
			gone[at] = !same;
			any = any || !same;
		}
		rc = dir_done(&w, rc, err);
	}
	if (rc == 0 && any) {
		forget(h, gone);
		rc = pack_switch(p, &p->map, h, false, err);
		if (rc == 0)
			rc = packed_reload(p, work, err);
	}
	/* Marks of a rebuild that concern no file of the map. */
	if (rc == 0)
		rc = marks_load(&marks, p->meta_fd, err);
	if (rc == 0 && marks.count > 0 &&
	    !marks_any(&marks, &p->map, 0, p->map.nsegs) &&
	    !marks_any(&marks, &h->map, 0, h->map.nsegs))
		rc = marks_remove(p->meta_fd, err);
	marks_free(&marks);
	mem_free(gone);
	return rc;
}
