/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer/transfer.h"

#include <pthread.h>

#include "error.h"
#include "par.h"
#include "work.h"

/* A worker takes a stretch at a time, so that files stay open and checksums run
 * on: at most this many blocks, or this many files if they are small. */
#define STRETCH_BLOCKS 16
#define STRETCH_FILES 16

/* Each thread should get at least this many stretches. */
#define SHARES 4

struct run {
	const struct stripe *from, *to;
	uint64_t end;
	size_t block;
	const struct transfer_options *o;
	struct stripe_worker *workers;
	uint64_t stretch;      /* at most, in bytes */
	size_t files;	       /* at most, in parts of either side */
	pthread_mutex_t lock;  /* guards the members below */
	uint64_t next;	       /* the first byte not taken yet */
	size_t from_at, to_at; /* the parts at `next`, or after it */
	bool failed;
};

/* --- Shares --- */

/* Return the end of a stretch that begins at `off`: `end`, or less, so that the
 * stretch has at most r->files parts of `s`.  *at is the first part that ends
 * after the previous `off`, and is updated. */
static uint64_t
cut_files(const struct run *r, const struct stripe *s, size_t *at, uint64_t off,
	  uint64_t end)
{
	while (*at < s->nparts &&
	       s->parts[*at].start + s->parts[*at].len <= off)
		(*at)++;
	if (s->nparts - *at > r->files && s->parts[*at + r->files].start < end)
		end = s->parts[*at + r->files].start;
	return end;
}

/* Take the next stretch.  False: none is left. */
static bool
take(struct run *r, uint64_t *off, uint64_t *end)
{
	pthread_mutex_lock(&r->lock);
	*off = *end = r->next;
	if (!r->failed && *off < r->end) {
		*end = *off - *off % r->block + r->stretch;
		*end = *end < r->end ? *end : r->end;
		*end = cut_files(r, r->from, &r->from_at, *off, *end);
		*end = cut_files(r, r->to, &r->to_at, *off, *end);
		r->next = *end;
	}
	pthread_mutex_unlock(&r->lock);
	return *off < *end;
}

/* --- Copying --- */

/* Copy one block or less.  *was_read: reading succeeded, so a failure is that
 * of writing. */
static int
copy(struct run *r, struct stripe_worker *w, uint64_t off, size_t len,
     bool *was_read, struct error *err)
{
	*was_read = stripe_read(r->from, w->in, off, w->block, len, err) == 0;
	if (!*was_read)
		return -1;
	return stripe_write(r->to, w->out, off, w->block, len, err);
}

/*
 * Copy a block by parts, so that damage in one part does not affect the others.
 * First by parts of `from`: a read over two parts that fails in the second
 * would already have summed the first.  If a part cannot be read, it is divided
 * by parts of `to`.
 */
static int
copy_readable(struct run *r, struct stripe_worker *w, const struct stripe *by,
	      uint64_t off, size_t len, struct error *err)
{
	uint64_t end = 0;
	size_t n = 0;

	for (; len > 0; off += n, len -= n) {
		struct error why = ERROR_INIT;
		bool was_read = false;
		int rc = 0;

		/* The bytes in the same part or gap. */
		end = stripe_cut(by, off);
		n = end - off < len ? (size_t)(end - off) : len;
		rc = copy(r, w, off, n, &was_read, &why);
		if (rc < 0 && !was_read)
			rc = by == r->from
				     ? copy_readable(r, w, r->to, off, n, &why)
				     : r->o->unreadable(
					       r->o->arg,
					       stripe_part_at(r->from, off),
					       &why);
		if (rc < 0)
			return error_pass(err, &why);
	}
	return 0;
}

/* Copy stretches until none is left: the work of one thread. */
static int
copy_stretches(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct run *r = arg;
	const struct work *work = r->o->work;
	struct stripe_worker *w = &r->workers[worker];
	uint64_t off = 0, end = 0;
	size_t n = 0;

	(void)i;
	while (take(r, &off, &end)) {
		for (; off < end; off += n) {
			const uint64_t to = off - off % r->block + r->block;
			bool was_read = false;
			int rc = work_go_on(work, err);

			n = (size_t)((to < end ? to : end) - off);
			if (rc == 0 && r->o->unreadable != NULL)
				rc = copy_readable(r, w, r->from, off, n, err);
			else if (rc == 0)
				rc = copy(r, w, off, n, &was_read, err);
			if (rc == 0) {
				work_moved(work, n);
				continue;
			}
			pthread_mutex_lock(&r->lock);
			r->failed = true;
			pthread_mutex_unlock(&r->lock);
			return -1;
		}
	}
	return 0;
}

/* --- Run --- */

int
transfer(const struct stripe *from, const struct stripe *to, uint64_t len,
	 const struct transfer_options *o, struct error *err)
{
	const struct stripe nothing = { 0, NULL };
	struct run r = {
		.from = from,
		.to = to != NULL ? to : &nothing,
		.end = o->begin + len,
		.next = o->begin,
		.block = TRANSFER_BLOCK,
		.o = o,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	const uint64_t memory = o->work != NULL ? o->work->memory : 0;
	struct par *par = NULL;
	unsigned n = 0;
	int dir = -1, rc = -1;

	if (o->work != NULL && o->work->help != NULL)
		return o->work->help->fn(o->work->help, from, to, len, o, err);
	/* One of the file systems decides the number of threads. */
	if (from->nparts > 0 && from->parts[0].path != NULL)
		dir = from->parts[0].dirfd;
	else if (r.to->nparts > 0 && r.to->parts[0].path != NULL)
		dir = r.to->parts[0].dirfd;
	par = work_waiting(o->work, dir);
	n = par_threads(par);
	while (memory > 0 && r.block > TRANSFER_BLOCK_MIN &&
	       r.block > memory / n)
		r.block /= 2;
	r.files = (from->nparts > r.to->nparts ? from->nparts : r.to->nparts) /
		  n / SHARES;
	r.files = r.files < 1 ? 1 : r.files;
	r.files = r.files < STRETCH_FILES ? r.files : STRETCH_FILES;
	r.stretch = len / n / SHARES;
	r.stretch -= r.stretch % r.block;
	if (r.stretch < r.block)
		r.stretch = r.block;
	if (r.stretch > STRETCH_BLOCKS * r.block)
		r.stretch = STRETCH_BLOCKS * r.block;
	r.workers =
		stripe_workers_new(par, r.block, 64, o->sums, o->sums_to, err);
	if (r.workers != NULL)
		rc = par_for(par, n, 1, copy_stretches, &r, err);
	stripe_workers_free(par, r.workers);
	pthread_mutex_destroy(&r.lock);
	return rc;
}
