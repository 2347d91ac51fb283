/* SPDX-License-Identifier: BSD-3-Clause */
/* pump_each.c - many files are copied by a pool of threads. */
#include <pthread.h>

#include "crc.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "transfer/pump.h"

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
	char **blocks; /* by worker */

	pthread_mutex_t lock;
	int rc; /* of the first failure; 1: none */
	struct error error;
};

/* --- One piece --- */

/* The first of its pieces opens a file.  Returns as open(); or 2: that failed,
 * and is reported there. */
static int
open_file(struct crew *c, size_t i, struct error *why)
{
	struct file *f = &c->files[i];
	int rc = 0;

	pthread_mutex_lock(&f->lock);
	rc = f->opened == 1 ? 1 : 2;
	if (f->opened == 2) {
		rc = f->opened = c->l->open(c->l->arg, i, &f->p, why);
		f->is_open = rc == 1;
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/* All its pieces are copied. */
static int
check_file(struct file *f, struct error *why)
{
	const bool holes = f->pieces > 1 && f->p.to >= 0 && f->p.put == NULL;

	return pump_end(&f->p, f->crc, holes, why, why);
}

static int
close_file(struct crew *c, size_t i, int rc, struct error *why)
{
	c->files[i].is_open = false;
	return c->l->close(c->l->arg, i, &c->files[i].p, rc, why);
}

static int
copy_piece(struct crew *c, const struct piece *k, char *block,
	   struct error *why)
{
	struct file *f = &c->files[k->file];
	struct pump p;
	bool last = false;
	int rc = open_file(c, k->file, why);

	if (rc != 1)
		return rc;
	p = f->p;
	p.block = block;
	p.room = PUMP_BLOCK;
	p.part = f->pieces > 1;
	p.begin = k->begin;
	if (p.part && p.size - p.begin > PUMP_PIECE)
		p.size = p.begin + PUMP_PIECE;
	rc = pump_run(&p, why, why);
	if (rc != 1)
		return rc;
	pthread_mutex_lock(&f->lock);
	f->crc ^= crc_shift(p.crc, f->p.size - p.size);
	last = ++f->done == f->pieces;
	pthread_mutex_unlock(&f->lock);
	return last ? close_file(c, k->file, check_file(f, why), why) : 1;
}

/* A result of -1 ends the loop. */
static int
copy(void *arg, size_t n, unsigned worker, struct error *err)
{
	struct crew *c = arg;
	struct error why = ERROR_INIT;
	int rc = -1;

	(void)err;
	if (c->blocks[worker] == NULL)
		c->blocks[worker] = mem_aligned(PUMP_ALIGN, PUMP_BLOCK);
	if (c->blocks[worker] == NULL)
		error_no_memory(&why);
	else
		rc = copy_piece(c, &c->pieces[n], c->blocks[worker], &why);
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

/* --- All --- */

/* Two threads that write to one file wait for each other on most file systems,
 * so files are cut only if there are fewer files than threads. */
static int
cut(struct crew *c, struct error *err)
{
	const struct pump_list *l = c->l;
	const bool whole = l->count >= par_threads(l->par);
	size_t cap = 0;

	for (size_t i = 0; i < l->count; i++) {
		const uint64_t size = whole ? 0 : l->size(l->arg, i);
		uint64_t begin = 0;

		c->files[i].opened = 2;
		pthread_mutex_init(&c->files[i].lock, NULL);
		do {
			if (!MEM_ROOM(c->pieces, c->count, cap))
				return error_no_memory(err);
			c->pieces[c->count++] = (struct piece){ i, begin };
			c->files[i].pieces++;
			begin += PUMP_PIECE;
		} while (begin < size);
	}
	return 1;
}

int
pump_each(const struct pump_list *l, struct error *err)
{
	struct crew c = { .l = l, .rc = 1, .lock = PTHREAD_MUTEX_INITIALIZER };
	const unsigned threads = par_threads(l->par);
	struct error why = ERROR_INIT;

	c.files = mem_calloc(l->count + 1, sizeof(*c.files));
	c.blocks = mem_calloc(threads, sizeof(*c.blocks));
	if (c.files == NULL || c.blocks == NULL)
		c.rc = error_no_memory(&c.error);
	else
		c.rc = cut(&c, &c.error);
	if (c.rc == 1)
		(void)par_for(l->par, c.count, 1, copy, &c, NULL);
	for (size_t i = 0; c.rc != 1 && c.files != NULL && i < l->count; i++)
		if (c.files[i].is_open)
			(void)close_file(&c, i, -1, &why);
	if (c.rc != 1)
		error_pass(err, &c.error);
	for (unsigned i = 0; c.blocks != NULL && i < threads; i++)
		mem_free(c.blocks[i]);
	mem_free(c.blocks);
	mem_free(c.files);
	mem_free(c.pieces);
	return c.rc;
}
