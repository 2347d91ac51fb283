/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer/transfer.h"

#include <errno.h>

#include "error.h"
#include "mem.h"
#include "par.h"
#include "progress.h"

/* Blocks a worker takes at a time. */
#define BLOCK_BATCH 16

struct worker {
	unsigned char *block;
	struct stripe_cache *in, *out;
};

struct run {
	const struct stripe *from, *to;
	uint64_t len;
	size_t block;
	const struct transfer_options *o;
	struct worker *workers;
};

/* How many of the `len` bytes at `off` lie in one part, or one gap. */
static size_t
run_at(const struct stripe *s, uint64_t off, size_t len)
{
	uint64_t cut = stripe_cut(s, off);

	return cut - off < len ? (size_t)(cut - off) : len;
}

/*
 * Copy what can be read: damage in one part must not cost its neighbours in
 * the block.  By parts of `from`, as a read that fails in the second would
 * have summed up the first; and where one fails, by parts of `to` that lie in
 * it.
 */
static int
copy_readable(struct run *r, struct worker *w, const struct stripe *by,
	      uint64_t off, size_t len, struct error *err)
{
	size_t n = 0;

	for (; len > 0; off += n, len -= n) {
		struct error why = ERROR_INIT;
		bool was_read = false;
		int rc = 0;

		n = run_at(by, off, len);
		rc = stripe_copy(r->from, w->in, r->to, w->out, off, w->block,
				 n, &was_read, &why);
		if (rc < 0 && !was_read)
			rc = by == r->from
				     ? copy_readable(r, w, r->to, off, n, &why)
				     : r->o->unreadable(r->o->arg, &why);
		if (rc < 0) {
			return error_pass(err, &why);
		}
	}
	return 0;
}

static int
copy_block(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct run *r = arg;
	struct worker *w = &r->workers[worker];
	uint64_t off = (uint64_t)i * r->block;
	size_t len =
		r->len - off < r->block ? (size_t)(r->len - off) : r->block;

	if (r->o->stop != NULL && r->o->stop()) {
		errno = EINTR;
		return error_sys(err, "stopped");
	}
	if (r->o->unreadable != NULL) {
		if (copy_readable(r, w, r->from, off, len, err) < 0)
			return -1;
	} else if (stripe_copy(r->from, w->in, r->to, w->out, off, w->block,
			       len, NULL, err) < 0) {
		return -1;
	}
	progress_add(r->o->progress, len);
	return 0;
}

static int
start(struct run *r, unsigned n, struct error *err)
{
	size_t slots = stripe_cache_slots(n, 64);

	r->workers = mem_calloc(n, sizeof(*r->workers));
	if (r->workers == NULL)
		return error_no_memory(err);
	for (unsigned i = 0; i < n; i++) {
		struct worker *w = &r->workers[i];

		w->block = mem_aligned(4096, r->block);
		w->in = stripe_cache_new(slots, false, r->o->sums);
		w->out = stripe_cache_new(slots, true, r->o->sums_to);
		if (w->block == NULL || w->in == NULL || w->out == NULL)
			return error_no_memory(err);
		stripe_cache_files(w->out, r->o->files_to, i);
	}
	return 0;
}

int
transfer(const struct stripe *from, const struct stripe *to, uint64_t len,
	 const struct transfer_options *o, struct error *err)
{
	struct run r = {
		.from = from,
		.to = to,
		.len = len,
		.block = TRANSFER_BLOCK,
		.o = o,
	};
	struct par *own = NULL, *par = o->par;
	unsigned n = 0;
	int rc = -1;

	if (par == NULL)
		par = own = par_new(1, err);
	if (par == NULL)
		return -1;
	n = par_threads(par);
	while (o->memory > 0 && r.block > TRANSFER_BLOCK_MIN &&
	       r.block > o->memory / n)
		r.block /= 2;
	if (start(&r, n, err) == 0)
		rc = par_for(par, (size_t)((len + r.block - 1) / r.block),
			     BLOCK_BATCH, copy_block, &r, err);
	for (unsigned i = 0; r.workers != NULL && i < n; i++) {
		stripe_cache_free(r.workers[i].in);
		stripe_cache_free(r.workers[i].out);
		mem_free(r.workers[i].block);
	}
	mem_free(r.workers);
	par_free(own);
	return rc;
}
