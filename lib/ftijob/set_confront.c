/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_confront.c - every file of a checkpoint against its partners: a copy
 * against its original, parity against the data of its group, and all against
 * the others.
 *
 * The sums of a file prove that it is intact, not that it belongs to this
 * checkpoint: it may be that of another rank, or of a run with the same ids.
 * If files contradict each other, set->conflict names them, and nobody knows
 * which are right.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "ftijob/parity.h"
#include "ftijob/recover.h"
#include "ftijob/set.h"
#include "ftijob/set_impl.h"
#include "mem.h"
#include "path.h"
#include "when.h"
#include "work.h"

/* All ranks write a checkpoint together: their times are not so many seconds
 * apart. */
#define SPREAD 3600

/* Bytes of two files that are compared at a time. */
#define STEP ((size_t)64 << 10)

/* Nobody knows which of some files are right.  The first reason is kept. */
__attribute__((format(printf, 3, 4))) static void
contradict(struct fti_sets *s, struct fti_set *set, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (set->conflict == NULL)
		set->conflict = arena_strdup(s->arena, text);
}

/* --- Level 3 --- */

/* If there are enough files: do all have one length, and with their data read,
 * does what k of them give have the bytes of the others, and the right sums? */
static int
confront_group(struct fti_sets *s, struct fti_set *set, uint32_t group,
	       const struct work *w, struct error *err)
{
	const uint32_t k = set->geometry.group_size;
	const struct fti_rank *r = NULL;
	const struct fti_parity *parity = NULL;
	struct fti_recover *from = NULL;
	struct error why = ERROR_INIT;
	int64_t length = 0;
	uint32_t exact = 0;
	bool unproven = false;
	int agree = 1;

	for (uint32_t i = 0; i < 2 * k; i++) {
		const struct fti_part_file *p = NULL;

		r = fti_set_member(set, group, i / 2);
		if (r == NULL || (set->posix && r->posix == NULL))
			return 0;
		unproven = unproven || fti_rank_lacks_sum(r);
		p = &r->parts[i % 2 == 0 ? FTI_OWN : FTI_PARITY];
		if (!p->exact)
			continue;
		/* FTI-FF has the length of the parity in each record. */
		length = exact++ == 0 ? p->meta.max_fs : length;
		agree = agree && (set->posix || p->meta.max_fs == length);
	}
	if (exact < k)
		return 0;
	/* Without a sum, what is computed contradicts nothing. */
	if (agree && fti_set_reads(set, group) && !unproven) {
		from = fti_recover_new(s, set, r, w, err);
		if (from == NULL)
			return -1;
		parity = fti_recover_parity(from, &why);
		agree = parity == NULL ? -1
				       : fti_parity_agrees(parity, w, &why);
		if (agree == 1)
			agree = fti_recover_proves(from, true, w, &why);
		fti_recover_free(from);
		if (agree < 0 && why.kind != ERROR_CORRUPT &&
		    why.kind != ERROR_LOST)
			return error_pass(err, &why);
	}
	if (agree != 1)
		contradict(s, set,
			   "data and parity of the group of ranks %" PRIu32
			   " to %" PRIu32 " contradict each other: move files "
			   "that are not of this checkpoint away",
			   fti_set_member(set, group, 0)->rank, r->rank);
	return 0;
}

/* --- Level 2 --- */

/* Is it the same file: a copy, or perhaps one that was repaired after it was
 * copied?  Then only the sums in its records differ.  1, 0, -1. */
static int
same_file(const struct fti_sets *s, const struct fti_set *set,
	  const struct fti_rank *r, const struct work *w, struct error *err)
{
	const struct fti_part_file *a = &r->parts[FTI_OWN];
	const struct fti_part_file *b = &r->parts[FTI_COPY];
	const bool repaired = a->state != b->state;
	const uint64_t end = repaired && a->meta.data_size > 0
				     ? (uint64_t)a->meta.data_size
				     : a->size;
	struct fti_source x = { .fd = -1 }, y = { .fd = -1 };
	unsigned char *bytes = NULL;
	int rc = 1;

	if (a->size != b->size || a->meta.pt_fs != b->meta.pt_fs ||
	    a->meta.timestamp != b->meta.timestamp ||
	    (!repaired && memcmp(a->meta.hash, b->meta.hash, HASH_MD5_SIZE)))
		return 0;
	if (!fti_set_reads(set, r->group))
		return 1;
	bytes = mem_alloc(2 * STEP, 1);

	if (fti_source_open(&x, s->tree.fd, a->entry->path, err) < 0 ||
	    fti_source_open(&y, s->tree.fd, b->entry->path, err) < 0)
		rc = -1;
	for (uint64_t at = 0; rc == 1 && at < end; at += STEP) {
		const size_t n = end - at < STEP ? (size_t)(end - at) : STEP;

		if (work_go_on(w, err) < 0 ||
		    fti_source_read(&x, bytes, n, at, err) < 0 ||
		    fti_source_read(&y, bytes + STEP, n, at, err) < 0)
			rc = -1;
		else
			rc = memcmp(bytes, bytes + STEP, n) == 0;
		work_pace(w, 2 * n);
	}
	fti_source_close(&x);
	fti_source_close(&y);
	mem_free(bytes);
	return rc;
}

static int
confront_copies(struct fti_sets *s, struct fti_set *set, const struct work *w,
		struct error *err)
{
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *r = &set->ranks[i];
		const struct fti_rank *right = fti_set_neighbour(set, r, false);
		const int same =
			!r->parts[FTI_OWN].exact || !r->parts[FTI_COPY].exact
				? 1
				: same_file(s, set, r, w, err);
		int64_t size = 0;

		if (same < 0)
			return -1;
		if (same == 0)
			contradict(s, set,
				   "rank %" PRIu32
				   ": its file and the copy are both "
				   "intact, but differ: move the wrong one "
				   "away",
				   r->rank);
		if (right == NULL)
			continue;
		/* The record of a file has the size of the one that is copied
		 * to its node. */
		size = right->parts[FTI_OWN].meta.pt_fs;
		for (int p = FTI_OWN; p <= FTI_COPY; p++)
			if (r->parts[p].exact && right->parts[FTI_OWN].exact &&
			    r->parts[p].meta.fs != size)
				contradict(
					s, set,
					"rank %" PRIu32 " has %" PRIi64
					" bytes, but the record of rank %" PRIu32
					" (ptFs) says %" PRIi64,
					r->rank, r->parts[p].meta.fs,
					right->rank, size);
	}
	return 0;
}

/* --- All ranks --- */

/* The file of a rank, or its copy; NULL: none is exact. */
static const struct fti_part_file *
best_of(const struct fti_rank *r)
{
	const struct fti_part_file *p = &r->parts[FTI_OWN];

	if (!p->exact)
		p = &r->parts[FTI_COPY];
	return p->exact ? p : NULL;
}

static int
by_record(const void *a, const void *b)
{
	const struct fti_rank *x = *(struct fti_rank *const *)a;
	const struct fti_rank *y = *(struct fti_rank *const *)b;
	const int rc = memcmp(best_of(x)->meta.checksum,
			      best_of(y)->meta.checksum, HASH_MD5_TEXT);

	return rc != 0 ? rc : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* All ranks write a checkpoint at one time, and know its number; no file is
 * that of two ranks. */
static void
confront_ranks(struct fti_sets *s, struct fti_set *set)
{
	struct fti_rank **list = mem_calloc(set->nranks + 1, sizeof(*list));
	const struct fti_part_file *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < set->nranks; i++)
		if (best_of(&set->ranks[i]) != NULL)
			list[n++] = &set->ranks[i];
	first = n == 0 ? NULL : best_of(list[0]);
	if (n > 0)
		qsort(list, n, sizeof(struct fti_rank *), by_record);
	for (size_t i = 0; i < n; i++) {
		const struct fti_part_file *p = best_of(list[i]);
		const struct fti_part_file *q =
			i == 0 ? p : best_of(list[i - 1]);
		const int64_t x = fti_written(set->layout, &first->meta);
		const int64_t y = fti_written(set->layout, &p->meta);

		if (p != q && p->meta.timestamp != 0 &&
		    p->meta.fs == q->meta.fs &&
		    p->meta.timestamp == q->meta.timestamp &&
		    memcmp(p->meta.checksum, q->meta.checksum, HASH_MD5_TEXT) ==
			    0)
			contradict(s, set,
				   "ranks %" PRIu32 " and %" PRIu32
				   " have the same file, written at the "
				   "same nanosecond: one of them has lost "
				   "its own",
				   list[i - 1]->rank, list[i]->rank);
		if (set->level == FTI_DCP &&
		    fti_has(set->layout, FTI_CKPT_ID) &&
		    p->meta.ckpt_id != first->meta.ckpt_id)
			contradict(s, set,
				   "%s has checkpoint %" PRIi64
				   ", %s checkpoint %" PRIi64,
				   path_base(first->entry->path),
				   first->meta.ckpt_id,
				   path_base(p->entry->path), p->meta.ckpt_id);
		if (x > 0 && y > 0 && (x > y ? x - y : y - x) > SPREAD)
			contradict(
				s, set,
				"%s was written %s, %s %s: files of two runs",
				path_base(first->entry->path), when_local(x),
				path_base(p->entry->path), when_local(y));
	}
	mem_free(list);
}

/* Metadata with which no file agrees are perhaps those of another run. */
static void
doubt_metadata(const struct fti_sets *s, struct fti_set *set)
{
	for (size_t i = 0; i < s->ninis && set->conflict == NULL; i++) {
		const struct fti_posix *p = s->inis[i];
		size_t damaged = 0, others = 0;

		for (size_t k = 0; k < set->nranks; k++) {
			const struct fti_rank *r = &set->ranks[k];

			if (r->posix < p->files ||
			    r->posix >= p->files + p->nfiles)
				continue;
			for (int part = 0; part < FTI_PARTS; part++) {
				const struct fti_part_file *f = &r->parts[part];

				damaged += f->state == FTI_STATE_DAMAGED &&
					   !f->open;
				others += f->entry != NULL &&
					  f->state != FTI_STATE_DAMAGED;
			}
		}
		if (damaged > 1 && others == 0)
			set->conflict = arena_printf(
				s->arena,
				"%s contradicts all files that it describes",
				p->name);
	}
}

int
fti_set_confront(struct fti_sets *s, struct fti_set *set, const struct work *w,
		 struct error *err)
{
	const bool grouped = fti_set_is_grouped(set);

	for (uint32_t g = 0; grouped && set->level == FTI_L3 && g < set->groups;
	     g++)
		if (work_go_on(w, err) < 0 ||
		    confront_group(s, set, g, w, err) < 0)
			return -1;
	if (set->posix) {
		doubt_metadata(s, set);
		return 0;
	}
	if (grouped && set->level == FTI_L2 &&
	    confront_copies(s, set, w, err) < 0)
		return -1;
	confront_ranks(s, set);
	return 0;
}
