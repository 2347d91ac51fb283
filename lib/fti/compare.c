/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/compare.h"

#include <string.h>

#include "fti/input.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "work.h"

/* Bytes read at a time, and of a task. */
#define STEP ((size_t)256 << 10)
#define TASK (16 * (uint64_t)STEP)
#define LOOK ((size_t)512) /* compared at a time */

/* Tasks of each thread before results are given out: their ranges are kept
 * until then. */
#define BATCH 4

/* A part of a variable that both files have. */
struct part {
	uint64_t off, len;
	struct fti_range *ranges;
	size_t count, room;
	uint64_t bytes;
};

struct run {
	const struct fti_content *a, *b;
	const struct fti_compare_calls *calls;
	const struct work *w;
	struct fti_difference *d; /* the variable */
	struct part *parts;	  /* a batch */
	size_t most;
	unsigned char *memory; /* 2 * STEP bytes for each worker */
};

/* --- A part --- */

static int
run_part(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct run *r = arg;
	struct part *p = &r->parts[i];
	unsigned char *a = r->memory + 2 * worker * STEP, *b = a + STEP;
	size_t n = 0;

	for (uint64_t at = p->off; at < p->off + p->len; at += n) {
		const uint64_t left = p->off + p->len - at;

		n = left < STEP ? (size_t)left : STEP;
		if (work_go_on(r->w, err) < 0 ||
		    fti_content_read(r->a, r->d->a, a, n, at, err) < 0 ||
		    fti_content_read(r->b, r->d->b, b, n, at, err) < 0)
			return -1;
		/* Pages that are equal cost one look. */
		for (size_t k = 0; k < n;) {
			size_t len = n - k < LOOK ? n - k : LOOK, begin = 0;

			if (memcmp(a + k, b + k, len) == 0) {
				k += len;
				continue;
			}
			for (len += k; k < len;) {
				struct fti_range *last =
					p->count > 0 ? &p->ranges[p->count - 1]
						     : NULL;

				for (; k < len && a[k] == b[k]; k++)
					;
				for (begin = k; k < len && a[k] != b[k]; k++)
					;
				p->bytes += k - begin;
				if (k > begin && last != NULL &&
				    at + begin - (last->off + last->len) <=
					    FTI_COMPARE_GAP) {
					last->len = at + k - last->off;
				} else if (k > begin) {
					(void)MEM_ROOM(p->ranges, p->count,
						       p->room);
					p->ranges[p->count++] =
						(struct fti_range){ at + begin,
								    k - begin };
				}
			}
		}
		progress_add(r->w->progress, n);
	}
	return 0;
}

/* --- A variable --- */

static uint64_t
common_size(const struct fti_difference *d)
{
	if (d->a == NULL || d->b == NULL)
		return 0;
	return d->a->size < d->b->size ? d->a->size : d->b->size;
}

/* Give out a range that cannot grow any more. */
static void
give(const struct run *r, const struct fti_range *range)
{
	if (range->len == 0)
		return;
	r->d->ranges++;
	r->calls->range(r->calls->arg, r->d, range);
}

static int
compare(struct run *r, struct error *err)
{
	const uint64_t size = common_size(r->d);
	struct fti_range last = { 0, 0 };

	for (uint64_t off = 0; off < size;) {
		size_t n = 0;

		for (; n < r->most && off < size; n++) {
			struct part *p = &r->parts[n];

			p->off = off;
			p->len = size - off < TASK ? size - off : TASK;
			p->count = 0;
			p->bytes = 0;
			off += p->len;
		}
		if (par_for(r->w->par, n, 0, run_part, r, err) < 0)
			return -1;
		for (size_t i = 0; i < n; i++) {
			const struct part *p = &r->parts[i];

			r->d->bytes += p->bytes;
			for (size_t k = 0; k < p->count; k++) {
				const struct fti_range *now = &p->ranges[k];

				/* The first one may go on where the last part
				 * ended. */
				if (last.len > 0 &&
				    now->off - (last.off + last.len) <=
					    FTI_COMPARE_GAP) {
					last.len =
						now->off + now->len - last.off;
					continue;
				}
				give(r, &last);
				last = *now;
			}
		}
	}
	give(r, &last);
	r->calls->variable(r->calls->arg, r->d);
	return 0;
}

int
fti_compare(const struct fti_content *a, const struct fti_content *b,
	    const struct fti_compare_calls *calls, const struct work *w,
	    struct error *err)
{
	const struct fti_content_var **in_a = fti_content_sorted(a, err);
	const struct fti_content_var **in_b =
		in_a == NULL ? NULL : fti_content_sorted(b, err);
	struct run r = {
		.a = a, .b = b, .calls = calls, .w = work_or_default(w)
	};
	const size_t workers = par_threads(r.w->par);
	uint64_t bytes = 0;
	int rc = in_a == NULL || in_b == NULL ? -1 : 0;

	r.most = BATCH * workers;
	r.parts = mem_calloc(r.most, sizeof(*r.parts));
	r.memory = mem_alloc(workers, 2 * STEP);
	/* All variables by id: first count their bytes. */
	for (int pass = 0; rc == 0 && pass < 2; pass++) {
		for (size_t i = 0, k = 0;
		     rc == 0 && (i < a->nvars || k < b->nvars);) {
			const struct fti_content_var *x =
				i < a->nvars ? in_a[i] : NULL;
			const struct fti_content_var *y =
				k < b->nvars ? in_b[k] : NULL;
			struct fti_difference d = { 0 };

			d.id = x == NULL || (y != NULL && y->id < x->id)
				       ? y->id
				       : x->id;
			d.a = x != NULL && x->id == d.id ? x : NULL;
			d.b = y != NULL && y->id == d.id ? y : NULL;
			i += d.a != NULL;
			k += d.b != NULL;
			if (!calls->wanted(calls->arg, d.id))
				continue;
			r.d = &d;
			if (pass == 0)
				bytes += common_size(&d);
			else
				rc = compare(&r, err);
		}
		if (rc == 0 && pass == 0)
			progress_phase(r.w->progress, "comparing", bytes);
	}
	for (size_t i = 0; i < r.most; i++)
		mem_free(r.parts[i].ranges);
	mem_free(r.parts);
	mem_free(r.memory);
	mem_free(in_a);
	mem_free(in_b);
	return rc;
}
