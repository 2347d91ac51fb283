/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/compare.h"

#include <string.h>

#include "fti/content.h"
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
	struct fti_difference *d;
	uint64_t off, len;
	struct fti_range *ranges;
	size_t count, room;
	uint64_t bytes;
};

struct run {
	const struct fti_content *a, *b;
	const struct fti_compare_calls *calls;
	const struct work *w;
	struct fti_difference *list; /* by id */
	size_t count;
	struct part *parts; /* a batch */
	size_t nparts, most;
	unsigned char *memory; /* 2 * STEP bytes for each worker */
	/* The next part, and the variable that is given out. */
	size_t next;
	uint64_t next_off;
	struct fti_range last; /* len 0: none */
	size_t given;
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
		    fti_content_read(r->a, p->d->a, a, n, at, err) < 0 ||
		    fti_content_read(r->b, p->d->b, b, n, at, err) < 0)
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

/* --- Results in order --- */

/* Give out the range that cannot grow any more. */
static void
give_last(struct run *r, struct fti_difference *d)
{
	const struct fti_range last = r->last;

	r->last.len = 0;
	if (last.len == 0)
		return;
	d->ranges++;
	r->calls->range(r->calls->arg, d, &last);
}

/* Give out the variables before `d`. */
static void
give_until(struct run *r, const struct fti_difference *d)
{
	for (; &r->list[r->given] < d; r->given++) {
		give_last(r, &r->list[r->given]);
		r->calls->variable(r->calls->arg, &r->list[r->given]);
	}
}

/* --- Parts --- */

static uint64_t
common_size(const struct fti_difference *d)
{
	if (d->a == NULL || d->b == NULL)
		return 0;
	return d->a->size < d->b->size ? d->a->size : d->b->size;
}

/* --- Variables --- */

/* List the variables of both files by id. */
static int
merge(struct run *r, struct error *err)
{
	const struct fti_content_var **a = fti_content_sorted(r->a, err);
	const struct fti_content_var **b =
		a == NULL ? NULL : fti_content_sorted(r->b, err);
	const size_t na = r->a->nvars, nb = r->b->nvars;
	size_t i = 0, k = 0;
	int rc = a == NULL || b == NULL ? -1 : 0;

	r->list = mem_calloc(na + nb + 1, sizeof(*r->list));
	while (rc == 0) {
		const struct fti_content_var *x = i < na ? a[i] : NULL;
		const struct fti_content_var *y = k < nb ? b[k] : NULL;
		struct fti_difference *d = &r->list[r->count];

		if (x == NULL && y == NULL)
			break;
		r->count++;
		d->id = x == NULL || (y != NULL && y->id < x->id) ? y->id
								  : x->id;
		d->a = x != NULL && x->id == d->id ? x : NULL;
		d->b = y != NULL && y->id == d->id ? y : NULL;
		i += d->a != NULL;
		k += d->b != NULL;
		if (!r->calls->wanted(r->calls->arg, d->id))
			r->list[--r->count] = (struct fti_difference){ 0 };
	}
	mem_free(a);
	mem_free(b);
	return rc;
}

int
fti_compare(const struct fti_content *a, const struct fti_content *b,
	    const struct fti_compare_calls *calls, const struct work *w,
	    struct error *err)
{
	struct run r = {
		.a = a, .b = b, .calls = calls, .w = work_or_default(w)
	};
	const size_t workers = par_threads(r.w->par);
	uint64_t bytes = 0;
	int rc = merge(&r, err);

	r.most = BATCH * workers;
	r.parts = mem_calloc(r.most, sizeof(*r.parts));
	r.memory = mem_alloc(workers, 2 * STEP);
	for (size_t i = 0; rc == 0 && i < r.count; i++)
		bytes += common_size(&r.list[i]);
	if (rc == 0)
		progress_phase(r.w->progress, "comparing", bytes);
	while (rc == 0 && r.next < r.count) {
		/* The next parts are a batch. */
		for (r.nparts = 0; r.next < r.count && r.nparts < r.most;) {
			struct fti_difference *d = &r.list[r.next];
			const uint64_t left = common_size(d) - r.next_off;
			struct part *p = &r.parts[r.nparts];

			if (left == 0) {
				r.next++;
				r.next_off = 0;
				continue;
			}
			p->d = d;
			p->off = r.next_off;
			p->len = left < TASK ? left : TASK;
			p->count = 0;
			p->bytes = 0;
			r.next_off += p->len;
			r.nparts++;
		}
		rc = par_for(r.w->par, r.nparts, 0, run_part, &r, err);
		for (size_t i = 0; rc == 0 && i < r.nparts; i++) {
			const struct part *p = &r.parts[i];

			give_until(&r, p->d);
			p->d->bytes += p->bytes;
			for (size_t k = 0; k < p->count; k++) {
				const struct fti_range *now = &p->ranges[k];

				/* The first one may go on where the last part
				 * ended. */
				if (r.last.len > 0 &&
				    now->off - (r.last.off + r.last.len) <=
					    FTI_COMPARE_GAP) {
					r.last.len = now->off + now->len -
						     r.last.off;
					continue;
				}
				give_last(&r, p->d);
				r.last = *now;
			}
		}
	}
	if (rc == 0)
		give_until(&r, r.list + r.count);
	for (size_t i = 0; i < r.most; i++)
		mem_free(r.parts[i].ranges);
	mem_free(r.parts);
	mem_free(r.memory);
	mem_free(r.list);
	return rc;
}
