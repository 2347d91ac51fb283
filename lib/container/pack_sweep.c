/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_sweep.c - put a map in place; compare a file with its packed bytes; and
 * forget packed metadata that a rebuild has replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "container/container_impl.h"
#include "container/marks.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "transfer/transfer.h"
#include "work.h"

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
	quiet.help = NULL;
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
		rc = packed_file(p, m, f, arena, &packed, err);
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
	struct kvtree *marks = NULL;
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
	if (rc == 0 && marks != NULL &&
	    !marks_any(marks, &p->map, 0, p->map.nsegs) &&
	    !marks_any(marks, &h->map, 0, h->map.nsegs))
		rc = marks_remove(p->meta_fd, err);
	kvtree_free(marks);
	mem_free(gone);
	return rc;
}
