/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_check.c - read the files with a recorded checksum and verify it.
 *
 * Files are cut into stretches, so that a few large files keep all workers
 * busy.  The parts of a checksum can arrive in any order (crc.h).
 */
#include <stdatomic.h>
#include <string.h>

#include "crc.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "rescue/plan_impl.h"
#include "transfer/stripe.h"
#include "work.h"

/* Bytes that a worker takes at a time, and bytes that it reads at a time. */
#define CHECK_STRETCH ((uint64_t)16 << 20)
#define CHECK_BLOCK ((size_t)256 << 10)

struct check_item {
	uint32_t file;
	uint64_t off;
};

struct check {
	struct plan *p;
	const struct work *work;
	struct par *par;
	bool *look;	     /* by file: read it */
	atomic_bool *unread; /* by file: an I/O error */
	struct check_item *items;
	size_t nitems, cap;
	struct stripe_sum *sums;   /* by file */
	struct stripe *files;	   /* by file */
	struct stripe_part *parts; /* of all files */
	struct stripe_worker *workers;
};

static int
add_item(struct check *c, uint32_t file, uint64_t off, struct error *err)
{
	if (!MEM_ROOM(c->items, c->nitems, c->cap))
		return error_no_memory(err);
	c->items[c->nitems++] = (struct check_item){ file, off };
	return 0;
}

static int
list_items(struct check *c, struct error *err)
{
	const struct plan *p = c->p;
	struct stripe_part *part = NULL;
	size_t n = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		n += plan_file_nparts(&p->files[i]);
	c->sums = mem_calloc(p->nfiles + 1, sizeof(*c->sums));
	c->files = mem_calloc(p->nfiles + 1, sizeof(*c->files));
	c->parts = part = mem_calloc(n + 1, sizeof(*c->parts));
	if (c->sums == NULL || c->files == NULL || c->parts == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		c->look[i] &= f->state == FILE_PRESENT && f->has_crc;
		if (!c->look[i])
			continue;
		c->sums[i].size = f->attr.size;
		c->files[i].parts = part;
		c->files[i].nparts = plan_file_parts(p, i, 0, i, part);
		part += c->files[i].nparts;
		progress_expect(c->work->progress, f->attr.size);
		for (uint64_t off = 0; off < f->attr.size; off += CHECK_STRETCH)
			if (add_item(c, (uint32_t)i, off, err) < 0)
				return -1;
	}
	return 0;
}

static int
check_item(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct check *c = arg;
	const struct check_item *it = &c->items[i];
	const struct stripe *s = &c->files[it->file];
	const uint64_t size = c->p->files[it->file].attr.size;
	uint64_t end = it->off + CHECK_STRETCH;
	struct error local = ERROR_INIT;

	if (end > size)
		end = size;
	for (uint64_t off = it->off; off < end; off += CHECK_BLOCK) {
		size_t len = end - off < CHECK_BLOCK ? (size_t)(end - off)
						     : CHECK_BLOCK;

		if (stripe_read(s, c->workers[worker].in, off,
				c->workers[worker].block, len, &local) < 0) {
			if (error_is_unread(&local))
				c->unread[it->file] = true;
			else if (!plan_blames_file(&local))
				return error_pass(err, &local);
			return 0; /* `seen` stays short of the size, so the file
				     counts as wrong */
		}
		progress_add(c->work->progress, len);
	}
	return 0;
}

static int
run_check(struct check *c, struct error *err)
{
	int rc = -1;

	if (list_items(c, err) < 0)
		return -1;
	c->workers =
		stripe_workers_new(c->par, CHECK_BLOCK, 16, c->sums, NULL, err);
	if (c->workers != NULL)
		rc = par_for(c->par, c->nitems, 0, check_item, c, err);
	stripe_workers_free(c->par, c->workers);
	return rc;
}

int
plan_check_files(struct plan *p, const struct work *work, bool *look,
		 struct error *err)
{
	struct check c = {
		.p = p,
		.work = work,
		.par = work_waiting(work, p->places[0].meta_fd),
		.look = look,
		.unread = mem_calloc(p->nfiles + 1, sizeof(*c.unread)),
	};
	int rc = c.unread == NULL ? error_no_memory(err) : run_check(&c, err);

	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		look[i] = look[i] && (c.sums[i].seen != p->files[i].attr.size ||
				      c.sums[i].crc != p->files[i].crc);
		p->files[i].unread = p->files[i].unread || c.unread[i];
	}
	mem_free(c.unread);
	mem_free(c.items);
	mem_free(c.sums);
	mem_free(c.files);
	mem_free(c.parts);
	return rc;
}

int
plan_check_all(struct planner *w, struct error *err)
{
	bool *look = mem_alloc(w->p.nfiles + 1, sizeof(*look));
	int rc = -1;

	if (look == NULL)
		return error_no_memory(err);
	memset(look, true, w->p.nfiles);
	rc = plan_check_files(&w->p, w->work, look, err);
	for (size_t i = 0; rc == 0 && i < w->p.nfiles; i++)
		if (look[i])
			w->p.files[i].state = w->p.files[i].unread
						      ? FILE_UNREAD
						      : FILE_WRONG_CRC;
	mem_free(look);
	return rc;
}

int
plan_check_red(const struct plan *p, const struct plan_member *m, bool *right,
	       bool *wrong, struct error *err)
{
	const uint64_t size = plan_segs_size(m->red->segs, m->red->nsegs);
	const struct plan_span whole = {
		.dirfd = p->places[m->place].meta_fd,
		.len = size,
		.sum = STRIPE_NO_SUM,
	};
	struct stripe_part *parts =
		mem_calloc(m->red->nsegs + 1, sizeof(*parts));
	struct stripe_cache *cache = stripe_cache_new(1, false, NULL);
	struct stripe s = { 0, parts };
	unsigned char *block = mem_alloc(CHECK_BLOCK, 1);
	struct error why = ERROR_INIT;
	uint32_t crc = 0;
	int rc = 0;

	*right = *wrong = false;
	if (parts == NULL || cache == NULL || block == NULL)
		rc = error_no_memory(err);
	else if (m->red->has_crc && m->red->nsegs > 0 &&
		 plan_segs_good(m->red->segs, m->red->nsegs))
		*right = true;
	if (*right)
		s.nparts = plan_segs_parts(m->red->segs, m->red->nsegs, &whole,
					   parts);
	for (uint64_t off = 0; *right && !*wrong && off < size;
	     off += CHECK_BLOCK) {
		size_t len = size - off < CHECK_BLOCK ? (size_t)(size - off)
						      : CHECK_BLOCK;

		*wrong = stripe_read(&s, cache, off, block, len, &why) < 0;
		crc = crc_update(crc, block, len);
	}
	if (*wrong && !plan_blames_file(&why))
		rc = error_pass(err, &why);
	*wrong = *wrong || (*right && crc != m->red->crc);
	*right = *right && !*wrong;
	stripe_cache_free(cache);
	mem_free(parts);
	mem_free(block);
	return rc;
}
