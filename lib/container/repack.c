/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repack.c - move files into other containers, without a second copy of all of
 * them.
 *
 * The new containers are filled batch by batch.  After a batch is synced and
 * confirmed, a map with the new containers is put in place by one rename.  Only
 * then are the old bytes freed: containers without used bytes are removed, and
 * holes are punched into the others.  Between two batches, a file can lie
 * partly in old and partly in new containers.  That map is valid, except for
 * the holes (MOVING).  At the end the containers are numbered from 0 again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "arena.h"
#include "container/container_impl.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "progress.h"
#include "room.h"
#include "str.h"
#include "work.h"

/* A batch has 1/BATCH_SHARE of all bytes, but at least one container. */
#define BATCH_SHARE 8

struct repacking {
	struct packing w;	  /* w.map: the map now on disk */
	const struct segmap *old; /* the original map */
	struct segmap next;	  /* the final map; files in its order */
	struct stripe source;	  /* the bytes of `next` in their old place */
	struct stripe_sum *sums;  /* of files, over all batches */
	uint64_t moved;		  /* bytes of `next` that are in place */
};

/* --- Maps --- */

/* File i of `next` in the original map. */
static const struct segmap_file *
old_file(const struct repacking *r, size_t i)
{
	return &r->old->files[r->w.from[i]];
}

/* Add the segments of `f` that cover its bytes from ... end - 1; `shift` is
 * added to the numbers of their containers. */
static void
add_segs(struct segmap *to, const struct segmap *m, const struct segmap_file *f,
	 uint64_t from, uint64_t end, uint32_t shift)
{
	uint64_t at = 0;

	for (size_t k = 0; k < f->nsegs; k++) {
		const struct segment *s = &m->segs[f->first + k];
		uint64_t a = from > at ? from - at : 0;
		uint64_t b = end > at ? end - at : 0;

		if (b > s->len)
			b = s->len;
		if (a < b)
			to->segs[to->nsegs++] =
				(struct segment){ .container =
							  s->container + shift,
						  .off = s->off + a,
						  .len = b - a };
		at += s->len;
	}
}

/* Compose w.map: bytes moved lie in new containers, the rest in old ones, whose
 * checksums are no longer valid.  New containers and their files come first, so
 * that a resumed repack knows the order. */
static void
compose(struct repacking *r)
{
	struct segmap *m = &r->w.map;
	const struct segmap *next = &r->next, *old = r->old;
	const uint32_t shift = (uint32_t)next->ncontainers;
	uint32_t n = 0, *number = NULL;

	segmap_free(m);
	(void)segmap_init(m, next->nfiles, NULL);
	m->containers = mem_calloc(old->ncontainers + next->ncontainers + 1,
				   sizeof(*m->containers));
	m->segs = mem_calloc(old->nsegs + next->nsegs + next->nfiles + 1,
			     sizeof(*m->segs));
	m->nfiles = next->nfiles;
	m->bytes = next->bytes;
	m->container_size = next->container_size;
	m->moving = r->moved < next->bytes;
	m->ncontainers = old->ncontainers + next->ncontainers;
	number = mem_calloc(m->ncontainers + 1, sizeof(*number));
	for (size_t i = 0; i < next->ncontainers; i++)
		m->containers[i] = next->containers[i];
	for (size_t i = 0; i < old->ncontainers; i++) {
		m->containers[shift + i] = old->containers[i];
		if (r->moved > 0)
			m->containers[shift + i].has_crc = false;
	}
	for (size_t i = 0; i < next->nfiles; i++) {
		struct segmap_file *f = &m->files[i];
		uint64_t moved = 0;

		*f = next->files[i];
		if (r->moved > f->start)
			moved = r->moved - f->start < f->size
					? r->moved - f->start
					: f->size;
		f->first = m->nsegs;
		add_segs(m, next, &next->files[i], 0, moved, 0);
		add_segs(m, old, old_file(r, i), moved, f->size, shift);
		f->nsegs = m->nsegs - f->first;
	}
	/* Remove containers without segments from the map. */
	for (size_t i = 0; i < m->nsegs; i++)
		number[m->segs[i].container] = 1;
	for (size_t i = 0; i < m->ncontainers; i++)
		if (number[i] != 0) {
			number[i] = n;
			m->containers[n++] = m->containers[i];
		}
	for (size_t i = 0; i < m->nsegs; i++)
		m->segs[i].container = number[m->segs[i].container];
	m->ncontainers = n;
	mem_free(number);
}

static int
move_all(struct repacking *r, struct error *err)
{
	struct packing *w = &r->w;
	const struct pack_writer to = pack_writer(w, &r->next);
	const struct segmap *next = &r->next;
	struct pack_batch b = {
		.map = &r->next,
		.from = r->source,
		.files = r->sums,
	};

	for (; b.first < next->ncontainers; b.first = b.end) {
		b.begin = r->moved;
		b.len = 0;
		for (b.end = b.first;
		     b.end < next->ncontainers &&
		     (b.end == b.first || b.len < next->bytes / BATCH_SHARE);
		     b.end++)
			b.len += next->containers[b.end].size;
		if (room_check(w->p->root_fd, b.len, "the next containers",
			       err) < 0 ||
		    pack_fill(&to, &b, err) < 0)
			return -1;
		r->moved += b.len;
		/* Put the map in place, and remove containers that it does not
		 * use. */
		compose(r);
		if (pack_switch(w->p, &w->map, &w->hidden, false, err) < 0 ||
		    pack_sweep(w->p, &w->map, &w->hidden.map, false,
			       &w->out->removed, err) < 0)
			return -1;
		/* Punch holes where the bytes were.  On a file system without
		 * holes, the room is freed when the container is removed. */
		for (size_t i = 0; i < r->source.nparts; i++) {
			const struct stripe_part *p = &r->source.parts[i];
			const uint64_t end = p->start + p->len;
			const uint64_t from =
				p->start > b.begin ? p->start : b.begin;
			const uint64_t till = end < r->moved ? end : r->moved;
			int fd = -1;

			if (from < till)
				fd = path_open_beneath(p->dirfd, p->path,
						       O_WRONLY, 0, NULL);
			if (fd < 0)
				continue; /* removed as a whole */
			(void)fallocate(
				fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)(p->off + (from - p->start)),
				(off_t)(till - from));
			close(fd);
		}
	}
	return 0;
}

/* --- Numbers --- */

/* Link all containers to their final names, numbered from 0.  On a file system
 * without hard links, the numbers are kept. */
static int
renumber(struct repacking *r, struct error *err)
{
	struct packing *w = &r->w;
	struct segmap_container *to = w->map.containers;
	const int at = w->p->root_fd;
	int fd = -1, rc = -1;

	for (size_t i = 0; i < w->map.ncontainers; i++) {
		const char *name = arena_printf(
			w->arena, SEGMAP_DIR "/" SEGMAP_DATA ".%zu.scr", i);

		if (str_eq(name, to[i].name))
			continue;
		if (linkat(at, to[i].name, at, name, 0) < 0)
			return errno == EPERM || errno == EOPNOTSUPP ||
					       errno == ENOSYS ||
					       errno == EMLINK
				       ? 0
				       : error_sys(err, "%s: cannot link",
						   name);
		to[i].name = name;
	}
	fd = path_open_dir(at, SEGMAP_DIR, err);
	if (fd < 0)
		return -1;
	rc = io_sync_dir(fd, SEGMAP_DIR, err);
	close(fd);
	if (rc < 0 || pack_switch(w->p, &w->map, &w->hidden, false, err) < 0)
		return -1;
	return pack_sweep(w->p, &w->map, &w->hidden.map, false, NULL, err);
}

/* --- All steps --- */

/* Are both maps equal, except for the numbers of containers? */
static bool
same_layout(const struct repacking *r)
{
	const struct segmap *a = r->old, *b = &r->next;

	if (a->moving || a->nsegs != b->nsegs || a->bytes != b->bytes)
		return false;
	for (size_t i = 0; i < b->nfiles; i++) {
		const struct segmap_file *x = old_file(r, i);
		const struct segmap_file *y = &b->files[i];

		if (x->nsegs != y->nsegs)
			return false;
		for (size_t k = 0; k < x->nsegs; k++) {
			const struct segment *s = &a->segs[x->first + k];
			const struct segment *t = &b->segs[y->first + k];

			if (s->off != t->off || s->len != t->len)
				return false;
		}
	}
	return true;
}

/* Plan `next`.  Fails if a file with bytes is not packed. */
static int
plan_next(struct repacking *r, struct error *err)
{
	const struct packed *p = r->w.p;
	struct packing *w = &r->w;
	uint64_t size = w->po->size > 0		    ? w->po->size
			: p->map.container_size > 0 ? p->map.container_size
						    : SEGMAP_SIZE_DEFAULT;
	uint64_t first = 0;

	for (size_t i = 0; i < p->map.nfiles; i++)
		if (p->map.files[i].nsegs == 0 && p->map.files[i].size > 0)
			return error_set(err, ERROR_USAGE,
					 "%s: not all its files are packed: "
					 "unpack it first",
					 p->name);
	/* Sort the files with their attributes, then cut them. */
	if (pack_sort(w, err) < 0)
		return -1;
	r->next = w->map;
	w->map = (struct segmap){ .arena = NULL };
	if (segmap_cut(&r->next, SEGMAP_DATA, size, 0, err) < 0)
		return -1;
	/* New containers collide neither with the old ones nor with the final
	 * numbers from 0. */
	first = r->next.ncontainers;
	for (size_t i = 0; i < r->old->ncontainers; i++)
		if (segmap_number(r->old->containers[i].name) + 1 > first)
			first = segmap_number(r->old->containers[i].name) + 1;
	for (size_t i = 0; i < r->next.ncontainers; i++)
		r->next.containers[i].name = arena_printf(
			w->arena, SEGMAP_DIR "/" SEGMAP_DATA ".%" PRIu64 ".scr",
			first + i);
	(void)stripe_room(&r->source, w->arena, r->old->nsegs, NULL);
	for (size_t i = 0; i < r->next.nfiles; i++)
		(void)packed_string(
			p, r->old, old_file(r, i),
			(struct stripe_part){ .start = r->next.files[i].start,
					      .sum = i },
			&r->source);
	r->sums = pack_file_sums(&r->next, NULL);
	return 0;
}

/* Fail if containers are damaged; `sums`: all checksums are compared. */
static int
check(const struct repacking *r, bool sums, struct error *err)
{
	const struct packed_look look = { .work = r->w.po->work, .sums = sums };
	struct packed_health h;
	int rc = packed_check(r->w.p, &look, &h, err);

	h.map_damaged = false; /* it is written again */
	if (rc == 0 && !packed_healthy(&h))
		rc = error_set_remedy(
			err, sums ? REMEDY_CHECKSUMS : REMEDY_VERIFY,
			ERROR_DAMAGED, "%s: is damaged", r->w.p->name);
	packed_health_free(&h);
	return rc;
}

static int
work(struct repacking *r, struct error *err)
{
	struct packing *w = &r->w;
	struct packed *p = w->p;
	bool same = false;

	/* The metadata beside the map are kept. */
	w->hidden = p->hidden;
	p->hidden = (struct hidden){ .arena = NULL };
	w->out->hidden = w->hidden.map.nfiles;
	if (check(r, false, err) < 0 || plan_next(r, err) < 0)
		return -1;
	w->out->containers = r->next.ncontainers;
	w->out->spare = pack_judge(w, &r->next);
	same = same_layout(r);
	w->out->done_before = same && p->flaw == NULL && packed_has_copy(p);
	for (size_t i = 0; i < r->old->ncontainers; i++)
		if (segmap_number(r->old->containers[i].name) >=
		    r->old->ncontainers)
			w->out->done_before = false; /* not numbered from 0 */
	if (w->po->work->dry_run) {
		if (!same)
			w->out->removed = r->old->ncontainers;
		return 0;
	}
	if (pack_sweep(p, &p->map, &w->hidden.map, false, NULL, err) < 0 ||
	    pack_sweep_parts(p, err) < 0)
		return -1;
	if (w->out->done_before)
		return 0;
	progress_phase(w->po->work->progress, "repacking", 2 * r->next.bytes);
	if (same) {
		/* No byte moves, so no batch compares the checksums. */
		if (check(r, true, err) < 0)
			return -1;
		compose(r);
		w->map.moving = false;
	} else if (move_all(r, err) < 0) {
		return -1;
	}
	return renumber(r, err);
}

int
repack(struct packed *p, const struct pack_options *po, struct pack_result *out,
       struct error *err)
{
	struct repacking r = { .old = &p->map };
	int rc = 0;

	pack_init(&r.w, p, po, out);
	rc = packed_refuse_incomplete(p, err);
	if (rc == 0 && !po->work->dry_run)
		rc = pack_forget_replaced(p, po->work, err);
	if (rc == 0 && !p->is_packed)
		rc = error_set(err, ERROR_USAGE, "%s: is not packed", p->name);
	if (rc == 0)
		rc = work(&r, err);
	if (rc < 0)
		room_explain(p->root_fd, 0, err);
	segmap_free(&r.next);
	mem_free(r.sums);
	pack_fini(&r.w);
	return rc;
}
