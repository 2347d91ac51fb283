/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep.c - every set recomputed and compared.
 *
 * XOR and RS: each stripe's check chunks from its data chunks.  Where they
 * differ and there is a spare check, each member in turn is assumed wrong: the
 * one without which the rest adds up is the culprit.  PARTNER: each copy
 * against its original.  What is ambiguous is decided by recorded checksums,
 * which are taken in the same pass.
 */
#include "rescue/deep.h"

#include <string.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "rescue/compute.h"
#include "rescue/deep_impl.h"
#include "work.h"

#define STRETCH ((uint64_t)4 << 20)

/* Buffers for PARTNER: data, a copy, and the first that differs. */
#define PARTNER_WIDTH 3

static bool
checkable(const struct plan_set *s)
{
	return s->opened && s->solved && s->verdict == SET_WHOLE &&
	       s->type != REDSET_SINGLE && s->n > 0 && s->flaw == NULL;
}

/* --- XOR and RS --- */

/* Recipe for the stripe's check chunks from its data chunks. */
static struct recipe *
check_recipe(const struct code *c, uint32_t stripe, struct error *err)
{
	unsigned char in[CODE_MAX], out[CODE_MAX];
	unsigned nin = 0, nout = 0;

	for (unsigned m = 0; m < c->n; m++) {
		if (code_slot(c, m, stripe).check)
			out[nout++] = (unsigned char)m;
		else
			in[nin++] = (unsigned char)m;
	}
	return recipe_from(c, stripe, in, nin, out, nout, err);
}

/* Recipe that leaves `without` out: n - k of the others give the rest. */
static struct recipe *
suspect_recipe(const struct code *c, uint32_t stripe, unsigned without,
	       struct error *err)
{
	unsigned char in[CODE_MAX], out[CODE_MAX];
	unsigned nin = 0, nout = 0;

	for (unsigned m = 0; m < c->n; m++) {
		if (m == without)
			continue;
		if (nin < c->n - c->k)
			in[nin++] = (unsigned char)m;
		else
			out[nout++] = (unsigned char)m;
	}
	return recipe_from(c, stripe, in, nin, out, nout, err);
}

static void
drop_suspects(const struct deep *d, struct deep_worker *w)
{
	if (w->suspects == NULL)
		return;
	for (uint32_t i = 0; i < d->p->sets[w->set].n; i++)
		recipe_free(w->suspects[i]);
	mem_free(w->suspects);
	w->suspects = NULL;
}

/* Run a recipe on chunks that lie side by side, `block` apart; returns the
 * offset of the first byte at which a result differs from what is there, or
 * `len`; counts them. */
static size_t
compare(const struct recipe *r, unsigned char *chunks, unsigned char *scratch,
	size_t block, size_t len, uint64_t *wrong)
{
	void *in[CODE_MAX], *out[CODE_MAX];
	size_t first = len;
	bool same = true;

	for (unsigned i = 0; i < r->nin; i++)
		in[i] = chunks + r->in[i] * block;
	for (unsigned i = 0; i < r->nout; i++)
		out[i] = scratch + i * block;
	recipe_run(r, len, in, out);
	*wrong = 0;
	for (unsigned i = 0; i < r->nout; i++)
		same &= memcmp(chunks + r->out[i] * block, out[i], len) == 0;
	for (size_t b = 0; !same && b < len; b++) {
		bool differs = false;

		for (unsigned i = 0; i < r->nout; i++)
			differs |= chunks[r->out[i] * block + b] !=
				   ((const unsigned char *)out[i])[b];
		*wrong += differs;
		if (differs && b < first)
			first = b;
	}
	return first;
}

/* Who is it?  PLAN_NONE if no single member would explain it; two never do,
 * any n - k of the others being enough to tell them apart. */
static int
find_suspect(struct deep *d, struct deep_worker *w, const struct deep_item *it,
	     size_t block, size_t len, uint32_t *who, struct error *err)
{
	const struct plan_set *s = &d->p->sets[it->set];
	const struct code c = deep_code(s);
	uint64_t wrong = 0;

	*who = PLAN_NONE;
	if (s->type != REDSET_RS || s->failures < 2)
		return 0;
	if (w->suspects == NULL || w->set != it->set ||
	    w->stripe != it->stripe) {
		drop_suspects(d, w);
		w->suspects = mem_calloc(s->n, sizeof(*w->suspects));
		if (w->suspects == NULL)
			return error_no_memory(err);
		w->set = it->set;
		w->stripe = it->stripe;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		if (w->suspects[i] == NULL)
			w->suspects[i] = suspect_recipe(&c, it->stripe, i, err);
		if (w->suspects[i] == NULL)
			return -1;
		if (compare(w->suspects[i], w->memory, w->memory + s->n * block,
			    block, len, &wrong) == len) {
			*who = i;
			break;
		}
	}
	return 0;
}

static int
check_code_block(struct deep *d, struct deep_worker *w,
		 const struct deep_item *it, uint64_t off, size_t block,
		 size_t len, struct error *err)
{
	const struct plan_set *s = &d->p->sets[it->set];
	const struct deep_set *r = &d->sets[it->set];
	const struct code c = deep_code(s);
	struct deep_finding f = {
		.set = it->set,
		.stripe = it->stripe,
		.member = PLAN_NONE,
		.file = PLAN_NONE,
	};
	uint32_t who = PLAN_NONE;
	size_t first = 0;

	for (uint32_t m = 0; m < s->n; m++) {
		struct code_slot slot = code_slot(&c, m, it->stripe);

		if (stripe_read(slot.check ? &r->body[m] : &r->data[m],
				w->cache, slot.index * s->chunk + off,
				w->memory + m * block, len, err) < 0)
			return -1;
	}
	progress_add(d->work->progress, (uint64_t)len * s->n);
	first = compare(r->checks[it->stripe], w->memory,
			w->memory + s->n * block, block, len, &f.bytes);
	if (first == len)
		return 0;
	f.first = off + first;
	if (find_suspect(d, w, it, block, len, &who, err) < 0)
		return -1;
	if (who != PLAN_NONE)
		deep_blame(d, &f, who);
	return deep_found(d, &f, err);
}

/* --- PARTNER --- */

/* Where member m's data start in the body of member m + dist. */
static uint64_t
copy_start(const struct plan_set *s, uint32_t m, uint32_t dist)
{
	uint32_t holder = (m + dist) % s->n;
	uint64_t at = 0;

	for (uint32_t e = 1; e < dist; e++)
		at += s->members[(holder + s->n - e) % s->n].list.bytes;
	return at;
}

/* Copies that differ from the data, against those that agree: with more than
 * one replica the majority is right.  `alike`: those that differ agree with
 * each other. */
static void
partner_verdict(const struct deep *d, struct deep_finding *f, uint32_t differ,
		uint32_t copies, bool alike)
{
	if (copies > 1 && differ == copies && alike) {
		f->member = f->stripe;
		deep_place(d->p, f, f->first);
	} else if (copies > 1 && differ * 2 < copies + 1) {
		f->member = f->holder;
		f->in_body = true;
	}
}

static int
check_partner_block(struct deep *d, struct deep_worker *w,
		    const struct deep_item *it, uint64_t off, size_t block,
		    size_t len, struct error *err)
{
	const struct plan_set *s = &d->p->sets[it->set];
	const struct deep_set *r = &d->sets[it->set];
	uint32_t copies = s->failures < s->n ? s->failures : s->n - 1;
	uint32_t differ = 0;
	unsigned char *data = w->memory, *copy = w->memory + block;
	unsigned char *other = w->memory + 2 * block;
	struct deep_finding f = {
		.set = it->set,
		.stripe = it->stripe,
		.member = PLAN_NONE,
		.file = PLAN_NONE,
	};
	bool alike = true;

	if (stripe_read(&r->data[it->stripe], w->cache, off, data, len, err) <
	    0)
		return -1;
	for (uint32_t dist = 1; dist <= copies; dist++) {
		uint32_t h = (it->stripe + dist) % s->n;

		if (stripe_read(&r->body[h], w->cache,
				copy_start(s, it->stripe, dist) + off, copy,
				len, err) < 0)
			return -1;
		if (memcmp(data, copy, len) == 0)
			continue;
		if (differ++ > 0) {
			alike &= memcmp(other, copy, len) == 0;
			continue;
		}
		memcpy(other, copy, len);
		f.holder = h;
		for (size_t b = len; b-- > 0;) {
			if (data[b] == copy[b])
				continue;
			f.bytes++;
			f.first = off + b;
		}
	}
	progress_add(d->work->progress, (uint64_t)len * (copies + 1));
	if (differ == 0)
		return 0;
	partner_verdict(d, &f, differ, copies, alike);
	return deep_found(d, &f, err);
}

/* --- Work --- */

static int
check_item(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct deep *d = arg;
	const struct deep_item *it = &d->items[i];
	const struct plan_set *s = &d->p->sets[it->set];
	struct deep_worker *w = &d->workers[worker];
	bool partner = s->type == REDSET_PARTNER;
	size_t width = partner ? PARTNER_WIDTH : s->n + s->failures;
	size_t block = w->bytes / width & ~(COMPUTE_BLOCK_MIN - 1);

	if (block > COMPUTE_BLOCK)
		block = COMPUTE_BLOCK;
	for (uint64_t off = it->off; off < it->off + it->len; off += block) {
		uint64_t left = it->off + it->len - off;
		size_t len = left < block ? (size_t)left : block;

		if ((partner ? check_partner_block(d, w, it, off, block, len,
						   err)
			     : check_code_block(d, w, it, off, block, len,
						err)) < 0)
			return -1;
	}
	return 0;
}

static int
add_items(struct deep *d, uint32_t set, uint32_t stripe, uint64_t bytes,
	  struct error *err)
{
	for (uint64_t off = 0; off < bytes; off += STRETCH) {
		uint64_t len = bytes - off < STRETCH ? bytes - off : STRETCH;

		if (!MEM_ROOM(d->items, d->nitems, d->items_cap))
			return error_no_memory(err);
		d->items[d->nitems++] =
			(struct deep_item){ set, stripe, off, len };
	}
	return 0;
}

static int
prepare_set(struct deep *d, uint32_t set, struct error *err)
{
	const struct plan_set *s = &d->p->sets[set];
	const struct code c = deep_code(s);
	struct deep_set *r = &d->sets[set];

	if (plan_strings(d->p, s, true, d->arena, &r->data, &r->body, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++) {
		bool partner = s->type == REDSET_PARTNER;

		if (add_items(d, set, i,
			      partner ? s->members[i].list.bytes : s->chunk,
			      err) < 0)
			return -1;
		d->out->bytes_read += s->members[i].list.bytes +
				      plan_body_size(s, &s->members[i]);
		if (partner)
			continue;
		if (r->checks == NULL)
			r->checks = arena_alloc(d->arena, s->n,
						sizeof(struct recipe *));
		if (r->checks == NULL)
			return error_no_memory(err);
		r->checks[i] = check_recipe(&c, i, err);
		if (r->checks[i] == NULL)
			return -1;
	}
	return 0;
}

static int
prepare(struct deep *d, struct error *err)
{
	uint64_t each = compute_memory(d->work);
	size_t width = PARTNER_WIDTH;

	d->sets = mem_calloc(d->p->nsets + 1, sizeof(*d->sets));
	d->sums = mem_calloc(d->p->nfiles + 1, sizeof(*d->sums));
	d->workers = mem_calloc(d->nworkers, sizeof(*d->workers));
	if (d->sets == NULL || d->sums == NULL || d->workers == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < d->p->nfiles; i++)
		d->sums[i].size = d->p->files[i].attr.size;
	for (size_t i = 0; i < d->p->nsets; i++) {
		const struct plan_set *s = &d->p->sets[i];

		if (!checkable(s)) {
			d->out->sets_skipped += s->type != REDSET_SINGLE;
			continue;
		}
		d->out->sets_checked++;
		if (s->type != REDSET_PARTNER && s->n + s->failures > width)
			width = s->n + s->failures;
		if (prepare_set(d, (uint32_t)i, err) < 0)
			return -1;
	}
	if (each > width * COMPUTE_BLOCK)
		each = width * COMPUTE_BLOCK;
	if (each < width * COMPUTE_BLOCK_MIN)
		each = width * COMPUTE_BLOCK_MIN;
	for (unsigned i = 0; i < d->nworkers; i++) {
		d->workers[i].bytes = (size_t)each;
		d->workers[i].memory = mem_aligned(4096, (size_t)each);
		d->workers[i].cache = stripe_cache_new(512, false, d->sums);
		if (d->workers[i].memory == NULL || d->workers[i].cache == NULL)
			return error_no_memory(err);
	}
	progress_expect(d->work->progress, d->out->bytes_read);
	return 0;
}

static void
finish(struct deep *d)
{
	for (unsigned i = 0; d->workers != NULL && i < d->nworkers; i++) {
		drop_suspects(d, &d->workers[i]);
		stripe_cache_free(d->workers[i].cache);
		mem_free(d->workers[i].memory);
	}
	for (size_t i = 0; d->sets != NULL && i < d->p->nsets; i++)
		for (uint32_t m = 0;
		     d->sets[i].checks != NULL && m < d->p->sets[i].n; m++)
			recipe_free(d->sets[i].checks[m]);
	mem_free(d->workers);
	mem_free(d->sets);
	mem_free(d->sums);
	mem_free(d->items);
	arena_free(d->arena);
	pthread_mutex_destroy(&d->lock);
}

int
deep_check(struct plan *p, const struct work *work, struct deep_result *out,
	   struct error *err)
{
	struct deep d = { .p = p, .work = work_or_default(work), .out = out };
	int rc = -1;

	*out = (struct deep_result){ .nfindings = 0 };
	d.arena = arena_new();
	if (d.arena == NULL)
		return error_no_memory(err);
	pthread_mutex_init(&d.lock, NULL);
	d.nworkers = par_threads(d.work->par);
	if (prepare(&d, err) == 0)
		rc = par_for(d.work->par, d.nitems, 0, check_item, &d, err);
	for (unsigned i = 0; rc == 0 && i < d.nworkers; i++)
		stripe_cache_drop(d.workers[i].cache);
	for (size_t i = 0; rc == 0 && i < out->nfindings; i++)
		if (out->findings[i].member == PLAN_NONE)
			deep_decide(&d, &out->findings[i]);
	finish(&d);
	if (rc < 0)
		deep_free(out);
	return rc;
}
