/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer/pump.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "crc.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "par.h"
#include "transfer/put.h"
#include "transfer/stripe.h"
#include "work.h"

/*
 * The number of bytes to skip from `at` on: whole blocks of a hole.  The block
 * in which the hole ends is not skipped: writing it sets the length of the
 * target, unless other threads copy the rest.  If nothing is written, step()
 * must get all bytes: nothing is skipped.
 */
static uint64_t
hole(const struct pump *p, uint64_t at)
{
	off_t data = 0;
	uint64_t end = at;

	if (p->stripe != NULL || (p->to < 0 && p->step != NULL) || p->resumed ||
	    (p->put != NULL && put_resumed(p->put)))
		return 0;
	data = lseek(p->from, (off_t)at, SEEK_DATA);
	if (data >= 0)
		end = (uint64_t)data;
	else if (errno == ENXIO)
		end = p->size;
	if (end > p->size)
		end = p->size;
	if ((p->part || p->shared) && end == p->size)
		return end - at;
	return end > at ? (end - at - 1) / p->room * p->room : 0;
}

/* All bytes of the file are copied, and have the checksum `crc`.  Compare it,
 * and with `holes` set the length.  Returns as pump_run(). */
static int
end(struct pump *p, uint32_t crc, bool holes, struct error *why,
    struct error *err)
{
	const uint32_t want = p->crc;

	p->crc = crc;
	if (p->has_crc && want != crc) {
		error_set(why, ERROR_DAMAGED,
			  "%s: checksum 0x%08" PRIx32 ", expected 0x%08" PRIx32,
			  p->name, crc, want);
		return 0;
	}
	/* The file may end in a hole. */
	if (holes && ftruncate(p->to, (off_t)p->size) < 0)
		return error_sys(err, "%s: cannot set its size", p->to_name);
	return 1;
}

/* Write the block of `n` bytes.  1: it has holes. */
static int
write_block(struct pump *p, size_t n, uint64_t off, struct error *err)
{
	if (!p->resumed)
		return io_pwrite_sparse(p->to, p->to_name, p->block, n, off,
					err);
	if (io_has(p->to, p->block, n, off))
		return 0;
	p->wrote = true;
	return io_pwrite(p->to, p->to_name, p->block, n, off, err);
}

int
pump_run(struct pump *p, struct error *why, struct error *err)
{
	uint32_t crc = 0;
	bool holes = false;
	/* the last block: a hole may begin */
	bool blank = p->part || p->shared;
	const uint64_t shift = p->shared ? p->place - p->begin : 0;
	uint64_t skip = 0;
	size_t n = 0;
	int rc = 0;

	for (uint64_t at = p->begin; at < p->size; at += n) {
		if (blank) {
			/* As if `skip` zeros were summed. */
			skip = hole(p, at);
			crc = ~crc_shift(~crc, skip);
			at += skip;
			if (at == p->size)
				break;
		}
		n = p->size - at < p->room ? (size_t)(p->size - at) : p->room;
		rc = p->stripe != NULL
			     ? stripe_read(p->stripe, p->cache, at, p->block, n,
					   why)
			     : io_pread(p->from, p->name, p->block, n, at, why);
		if (rc < 0)
			return 0;
		crc = crc_update(crc, p->block, n);
		blank = p->block[0] == '\0' &&
			memcmp(p->block, p->block + 1, n - 1) == 0;
		if (p->to >= 0 && p->put != NULL) {
			rc = put_pwrite(p->put, p->to, p->block, n, at, err);
		} else if (p->to >= 0) {
			rc = write_block(p, n, at + shift, err);
			holes |= rc > 0;
			if (rc >= 0)
				io_write_behind(p->to, at + shift, n,
						at + n == p->size);
		}
		if (rc < 0 || (p->step != NULL &&
			       p->step(p->arg, p->block, n, at, err) < 0))
			return -1;
		work_pace(p->work, n);
		if (work_go_on(p->work, err) < 0)
			return -1;
	}
	if (!p->part)
		return end(p, crc, holes && !p->shared, why, err);
	p->crc = crc;
	return 1;
}

/* --- Many files, copied by a pool of threads --- */

/* Files that a thread keeps open for stripes. */
#define SLOTS 64

struct piece {
	size_t file;
	uint64_t begin;
};

struct file {
	pthread_mutex_t lock;
	struct pump p; /* if it is open */
	int opened;    /* what open() returned; 2: not called yet */
	bool is_open;
	uint64_t pieces, done;
	uint32_t crc; /* of the pieces that are done, each in its place */
};

struct crew {
	const struct pump_list *l;
	size_t count; /* of pieces, in the order of the files */
	struct piece *pieces;
	struct file *files;
	struct stripe_worker *workers;

	pthread_mutex_t lock;
	int rc; /* of the first failure; 1: none */
	struct error error;
};

static int
close_file(struct crew *c, size_t i, int rc, struct error *why)
{
	c->files[i].is_open = false;
	return c->l->close(c->l->arg, i, &c->files[i].p, rc, why);
}

/* The first of its pieces opens a file, the last one closes it.  Returns as
 * pump_run(); or 2: another piece could not open it, and reports that. */
static int
copy_piece(struct crew *c, const struct piece *k, const struct stripe_worker *w,
	   struct error *why)
{
	struct file *f = &c->files[k->file];
	struct pump p;
	bool last = false;
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	rc = f->opened == 1 ? 1 : 2;
	if (f->opened == 2) {
		rc = f->opened = c->l->open(c->l->arg, k->file, &f->p, why);
		f->is_open = rc == 1;
	}
	pthread_mutex_unlock(&f->lock);
	if (rc != 1)
		return rc;
	p = f->p;
	p.block = (char *)w->block;
	p.cache = w->in;
	p.room = PUMP_BLOCK;
	p.part = f->pieces > 1;
	p.begin += k->begin;
	p.place += k->begin;
	if (p.part && p.size - p.begin > PUMP_PIECE)
		p.size = p.begin + PUMP_PIECE;
	rc = pump_run(&p, why, why);
	if (rc != 1)
		return rc;
	pthread_mutex_lock(&f->lock);
	f->crc ^= crc_shift(p.crc, f->p.size - p.size);
	last = ++f->done == f->pieces;
	pthread_mutex_unlock(&f->lock);
	if (!last)
		return 1;
	rc = end(&f->p, f->crc,
		 f->pieces > 1 && f->p.to >= 0 && f->p.put == NULL &&
			 !f->p.shared,
		 why, why);
	return close_file(c, k->file, rc, why);
}

/* A result of -1 ends the loop. */
static int
copy(void *arg, size_t n, unsigned worker, struct error *err)
{
	struct crew *c = arg;
	struct error why = ERROR_INIT;
	int rc = -1;

	(void)err;
	rc = copy_piece(c, &c->pieces[n], &c->workers[worker], &why);
	if (rc == 1)
		return 0;
	pthread_mutex_lock(&c->lock);
	if (c->rc == 1 && rc != 2) {
		c->rc = rc;
		c->error = why;
	}
	pthread_mutex_unlock(&c->lock);
	return -1;
}

int
pump_each(const struct pump_list *l, struct error *err)
{
	struct crew c = { .l = l, .rc = 1, .lock = PTHREAD_MUTEX_INITIALIZER };
	const unsigned threads = par_threads(l->par);
	/* Two threads that write to one file wait for each other on most file
	 * systems, so files are cut only if there are fewer files than
	 * threads. */
	const bool whole = l->count >= threads;
	struct error why = ERROR_INIT;
	size_t cap = 0;

	c.files = mem_calloc(l->count + 1, sizeof(*c.files));
	c.workers = stripe_workers_new(l->par, PUMP_BLOCK, SLOTS, NULL, NULL,
				       &c.error);
	if (c.files == NULL)
		error_no_memory(&c.error);
	if (c.files == NULL || c.workers == NULL)
		c.rc = -1;
	for (size_t i = 0; c.rc == 1 && i < l->count; i++) {
		const uint64_t size = whole ? 0 : l->size(l->arg, i);
		uint64_t begin = 0;

		c.files[i].opened = 2;
		pthread_mutex_init(&c.files[i].lock, NULL);
		do {
			if (!MEM_ROOM(c.pieces, c.count, cap)) {
				c.rc = error_no_memory(&c.error);
				break;
			}
			c.pieces[c.count++] = (struct piece){ i, begin };
			c.files[i].pieces++;
			begin += PUMP_PIECE;
		} while (begin < size);
	}
	if (c.rc == 1)
		(void)par_for(l->par, c.count, 1, copy, &c, NULL);
	for (size_t i = 0; c.rc != 1 && c.files != NULL && i < l->count; i++)
		if (c.files[i].is_open)
			(void)close_file(&c, i, -1, &why);
	if (c.rc != 1)
		error_pass(err, &c.error);
	stripe_workers_free(l->par, c.workers);
	mem_free(c.files);
	mem_free(c.pieces);
	return c.rc;
}
