/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/compare.h"

#include <string.h>

#include "fti/input.h"
#include "mem.h"
#include "progress.h"
#include "work.h"

/* Bytes read at a time. */
#define STEP ((size_t)256 << 10)
#define LOOK ((size_t)512) /* compared at a time */

struct run {
	const struct fti_content *a, *b;
	const struct fti_compare_calls *calls;
	const struct work *w;
	struct fti_difference *d; /* the variable */
	struct fti_range last;	  /* may still grow */
	unsigned char *memory;	  /* 2 * STEP bytes */
};

/* Give out the last range, which cannot grow any more. */
static void
give(struct run *r)
{
	if (r->last.len == 0)
		return;
	r->d->ranges++;
	r->calls->range(r->calls->arg, r->d, &r->last);
	r->last.len = 0;
}

/* Compare `n` bytes that are at `at` in the variable. */
static void
compare_bytes(struct run *r, uint64_t at, size_t n)
{
	const unsigned char *a = r->memory, *b = r->memory + STEP;

	/* Pages that are equal cost one look. */
	for (size_t k = 0; k < n;) {
		const size_t end = n - k < LOOK ? n : k + LOOK;

		if (memcmp(a + k, b + k, end - k) == 0) {
			k = end;
			continue;
		}
		while (k < end) {
			uint64_t begin = 0;

			for (; k < end && a[k] == b[k]; k++)
				;
			begin = at + k;
			for (; k < end && a[k] != b[k]; k++)
				;
			if (begin == at + k)
				continue;
			r->d->bytes += at + k - begin;
			if (begin - (r->last.off + r->last.len) >
			    FTI_COMPARE_GAP)
				give(r);
			if (r->last.len == 0)
				r->last.off = begin;
			r->last.len = at + k - r->last.off;
		}
	}
}

static uint64_t
common_size(const struct fti_difference *d)
{
	if (d->a == NULL || d->b == NULL)
		return 0;
	return d->a->size < d->b->size ? d->a->size : d->b->size;
}

static int
compare(struct run *r, struct error *err)
{
	const uint64_t size = common_size(r->d);
	size_t n = 0;

	for (uint64_t at = 0; at < size; at += n) {
		n = size - at < STEP ? (size_t)(size - at) : STEP;
		if (work_go_on(r->w, err) < 0 ||
		    fti_content_read(r->a, r->d->a, r->memory, n, at, err) <
			    0 ||
		    fti_content_read(r->b, r->d->b, r->memory + STEP, n, at,
				     err) < 0)
			return -1;
		compare_bytes(r, at, n);
		work_moved(r->w, n);
	}
	give(r);
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
	uint64_t bytes = 0;
	int rc = in_a == NULL || in_b == NULL ? -1 : 0;

	r.memory = mem_alloc(2, STEP);
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
	mem_free(r.memory);
	mem_free(in_a);
	mem_free(in_b);
	return rc;
}
