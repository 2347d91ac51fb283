/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_confront.c - every file of a checkpoint against its partners: a copy
 * against its original, parity against the data of its group, and all against
 * the others.
 *
 * The sums of a file prove that it is intact, not that it belongs to this
 * checkpoint: it may be that of another rank, or of a run with the same ids.
 * Files that contradict each other are set aside if exactly one choice of
 * others gives a complete group: more of them agree than are needed to compute
 * the rest, or the sums of what is computed prove them.  If several choices do,
 * or none, nobody knows which files are right, and set->conflict says so.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "encode/cauchy.h"
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

/* Choices that are tried for a group, and bytes that are compared first. */
#define CHOICES 5000
#define PROBE 4096

/* Bytes of two files that are compared at a time. */
#define STEP ((size_t)64 << 10)

struct confrontation {
	struct fti_sets *s;
	struct fti_set *set;
	const struct work *w;
	/* The group that is looked at: all files of a choice are open. */
	uint32_t group;
	struct fti_recover *from;
	unsigned k;
	uint64_t left;	/* members with an exact file, as bits */
	uint64_t found; /* those that the one choice does without */
	unsigned choices, tries;
};

static void
set_aside(struct confrontation *c, struct fti_part_file *p, const char *why)
{
	p->state = FTI_STATE_FOREIGN;
	p->data_good = p->exact = false;
	p->problem = arena_strdup(c->s->arena, why);
}

/* Nobody knows which of some files are right.  The first reason is kept. */
__attribute__((format(printf, 2, 3))) static void
contradict(struct confrontation *c, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (c->set->conflict == NULL)
		c->set->conflict = arena_strdup(c->s->arena, text);
}

/* --- Level 3 --- */

static struct fti_part_file *
member_file(const struct confrontation *c, unsigned m)
{
	struct fti_rank *r = fti_set_member(c->set, c->group, m % c->k);

	return r == NULL ? NULL : &r->parts[m < c->k ? FTI_OWN : FTI_PARITY];
}

/* Do the members of the group without those `aside` agree, and give the data
 * that are missing?  Without `all` some bytes are looked at.  1, 0, -1. */
static int
fits(struct confrontation *c, uint64_t aside, bool all, struct error *err)
{
	const struct fti_parity *p = NULL;
	bool without[CAUCHY_MEMBERS_MAX] = { false };
	struct error why = ERROR_INIT;
	int rc = 1;

	for (unsigned m = 0; m < 2 * c->k; m++)
		without[m] = (aside >> m & 1) != 0;
	if (fti_recover_without(c->from, without, &why) < 0)
		return why.kind == ERROR_CORRUPT || why.kind == ERROR_LOST
			       ? 0
			       : error_pass(err, &why);
	p = fti_recover_parity(c->from, NULL);
	rc = fti_parity_agrees(p, all ? p->length : PROBE, c->w, &why);
	if (rc == 1)
		rc = fti_recover_proves(c->from, true, all, c->w, &why);
	return rc < 0 ? error_pass(err, &why) : rc;
}

/* Try all choices of `count` more files to do without, from member `from` on;
 * `nodes`: of all files of so many nodes. */
static int
try_choices(struct confrontation *c, uint64_t aside, unsigned from,
	    unsigned count, bool nodes, struct error *err)
{
	const uint64_t data = (UINT64_C(1) << c->k) - 1;
	const uint64_t rest = c->left & ~aside;
	int rc = 0;

	for (unsigned m = from;
	     count > 0 && rc == 0 && m < (nodes ? c->k : 2 * c->k); m++) {
		uint64_t bits = UINT64_C(1) << m;

		if (nodes)
			bits |= bits << c->k;
		if ((c->left & bits) != 0)
			rc = try_choices(c, aside | (bits & c->left), m + 1,
					 count - 1, nodes, err);
	}
	/* All data without a parity that fits them are no proof. */
	if (count > 0 || (unsigned)__builtin_popcountll(rest) < c->k ||
	    rest == data || c->tries >= CHOICES)
		return rc;
	c->tries++;
	rc = fits(c, aside, false, err);
	if (rc == 1)
		rc = fits(c, aside, true, err);
	if (rc == 1 && (c->choices == 0 || aside != c->found)) {
		c->found = aside;
		c->choices++;
		/* Parity alone is not better than all data alone. */
		if ((rest & data) == 0 && (c->left & data) == data)
			c->choices++;
	}
	return rc < 0 ? -1 : 0;
}

/* The files of FTI-FF have the length of the parity in their records: those
 * with another one do not belong to the group, if all others are enough. */
static bool
agree_on_length(struct confrontation *c)
{
	bool agree = true;

	for (unsigned m = 0; m < 2 * c->k && !c->set->posix; m++) {
		const int64_t length = member_file(c, m)->meta.max_fs;
		uint64_t others = 0;
		unsigned first = m;

		if ((c->left >> m & 1) == 0)
			continue;
		for (unsigned i = 2 * c->k; i-- > 0;) {
			if ((c->left >> i & 1) == 0)
				continue;
			if (member_file(c, i)->meta.max_fs != length)
				others |= UINT64_C(1) << i;
			else
				first = i;
		}
		agree = agree && others == 0;
		if (first != m || length <= 0 ||
		    (unsigned)__builtin_popcountll(c->left & ~others) < c->k)
			continue;
		c->found = others;
		c->choices++;
	}
	return agree;
}

static int
confront_group(struct confrontation *c, struct error *err)
{
	int rc = 0;

	c->left = c->found = 0;
	c->choices = c->tries = 0;
	for (unsigned m = 0; m < 2 * c->k; m++) {
		const struct fti_part_file *p = member_file(c, m);

		if (p == NULL ||
		    (c->set->posix &&
		     fti_set_member(c->set, c->group, m % c->k)->posix == NULL))
			return 0;
		if (p->exact)
			c->left |= UINT64_C(1) << m;
	}
	if ((unsigned)__builtin_popcountll(c->left) < c->k)
		return 0;
	if (agree_on_length(c) && !c->set->data_read)
		return 0;
	if (c->set->data_read) {
		const uint64_t lengths = c->choices == 1 ? c->found : 0;

		c->from = fti_recover_new(
			c->s, c->set, fti_set_member(c->set, c->group, 0), err);
		if (c->from == NULL)
			return -1;
		rc = fits(c, lengths, true, err);
		if (rc == 0) {
			const unsigned spare =
				(unsigned)__builtin_popcountll(c->left) - c->k;

			c->choices = 0;
			for (unsigned e = 1;
			     rc == 0 && e <= spare && c->choices == 0; e++)
				rc = try_choices(c, 0, 0, e, false, err);
			c->tries = 0;
			for (unsigned e = 1;
			     rc == 0 && e <= c->k / 2 && c->choices == 0; e++)
				rc = try_choices(c, 0, 0, e, true, err);
		} else if (rc == 1) {
			c->found = lengths;
			c->choices = 1;
			rc = 0;
		}
		fti_recover_free(c->from);
	}
	if (rc < 0)
		return -1;
	if (c->choices != 1)
		contradict(
			c,
			"data and parity of the group of ranks %" PRIu32
			" to %" PRIu32
			" contradict each other, and %s choice of them fits%s",
			fti_set_member(c->set, c->group, 0)->rank,
			fti_set_member(c->set, c->group, c->k - 1)->rank,
			c->choices > 1 ? "more than one" : "no",
			c->set->data_read ? "" : " (without --checksums)");
	for (unsigned m = 0; m < 2 * c->k && c->choices == 1; m++)
		if ((c->found >> m & 1) != 0)
			set_aside(c, member_file(c, m),
				  "is intact, but does not fit the other "
				  "files of its group");
	return 0;
}

/* --- Level 2 --- */

/* Is it the same file: a copy, or perhaps one that was repaired after it was
 * copied?  Then only the sums in its records differ.  1, 0, -1. */
static int
same_file(const struct confrontation *c, const struct fti_part_file *a,
	  const struct fti_part_file *b, struct error *err)
{
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
	if (!c->set->data_read)
		return 1;
	bytes = mem_alloc(2 * STEP, 1);

	if (fti_source_open(&x, c->s->tree.fd, a->entry->path, err) < 0 ||
	    fti_source_open(&y, c->s->tree.fd, b->entry->path, err) < 0)
		rc = -1;
	for (uint64_t at = 0; rc == 1 && at < end; at += STEP) {
		const size_t n = end - at < STEP ? (size_t)(end - at) : STEP;

		if (work_go_on(c->w, err) < 0 ||
		    fti_source_read(&x, bytes, n, at, err) < 0 ||
		    fti_source_read(&y, bytes + STEP, n, at, err) < 0)
			rc = -1;
		else
			rc = memcmp(bytes, bytes + STEP, n) == 0;
	}
	fti_source_close(&x);
	fti_source_close(&y);
	mem_free(bytes);
	return rc;
}

enum pair { PAIR_NONE, PAIR_FITS, PAIR_BAD };

/* Seconds between the times of two files; 0: not known. */
static uint64_t
apart(const struct fti_set *set, const struct fti_part_file *a,
      const struct fti_part_file *b)
{
	const int64_t x = fti_written(set->layout, &a->meta);
	const int64_t y = fti_written(set->layout, &b->meta);

	return x <= 0 || y <= 0 ? 0 : (uint64_t)(x > y ? x - y : y - x);
}

static bool
same_record(const struct fti_part_file *a, const struct fti_part_file *b)
{
	return a->exact && b->exact && a->meta.timestamp != 0 &&
	       a->meta.fs == b->meta.fs &&
	       a->meta.timestamp == b->meta.timestamp &&
	       memcmp(a->meta.checksum, b->meta.checksum, HASH_MD5_TEXT) == 0;
}

/* Do other files contradict this one of `r`? */
static bool
is_suspect(struct fti_set *set, const enum pair *pairs, struct fti_rank *r,
	   enum fti_part part)
{
	const struct fti_part_file *p = &r->parts[part];
	const struct fti_rank *left = fti_set_neighbour(set, r, true);
	const struct fti_rank *right = fti_set_neighbour(set, r, false);
	const struct fti_part_file *before = &left->parts[FTI_OWN];
	const struct fti_part_file *after = &right->parts[FTI_OWN];
	unsigned before_node = 0, after_node = 0;
	uint32_t node = 0;

	if (pairs[right - set->ranks] == PAIR_FITS &&
	    after->meta.pt_fs != p->meta.fs)
		return true;
	if (pairs[left - set->ranks] == PAIR_FITS &&
	    p->meta.pt_fs != before->meta.fs)
		return true;
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_part_file *q = &set->ranks[i].parts[FTI_OWN];

		if (&set->ranks[i] != r && pairs[i] == PAIR_FITS &&
		    (same_record(p, q) || apart(set, p, q) > SPREAD))
			return true;
	}
	/* Do files and copies of several ranks contradict each other on both
	 * sides of the node, and on no side fit?  Two are perhaps wrong
	 * copies. */
	node = part == FTI_OWN ? r->node : right->node;
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *of = &set->ranks[i];
		const struct fti_rank *n = fti_set_neighbour(set, of, false);

		if (of->node != node && n->node != node)
			continue;
		if (pairs[i] == PAIR_FITS)
			return false;
		after_node += pairs[i] == PAIR_BAD && of->node == node;
		before_node += pairs[i] == PAIR_BAD && n->node == node;
	}
	return before_node > 1 && after_node > 1 &&
	       set->geometry.group_size > 2;
}

static int
confront_copies(struct confrontation *c, struct error *err)
{
	struct fti_set *set = c->set;
	enum pair *pairs = mem_calloc(set->nranks + 1, sizeof(*pairs));
	int rc = 0;

	for (size_t i = 0; i < set->nranks && rc >= 0; i++) {
		const struct fti_part_file *p = set->ranks[i].parts;

		if (!p[FTI_OWN].exact || !p[FTI_COPY].exact)
			continue;
		rc = same_file(c, &p[FTI_OWN], &p[FTI_COPY], err);
		pairs[i] = rc == 1 ? PAIR_FITS : PAIR_BAD;
	}
	for (size_t i = 0; i < set->nranks && rc >= 0; i++) {
		struct fti_rank *r = &set->ranks[i];
		const bool bad = pairs[i] == PAIR_BAD;
		const bool own = bad && is_suspect(set, pairs, r, FTI_OWN);
		const bool copy = bad && is_suspect(set, pairs, r, FTI_COPY);

		if (bad && own == copy)
			contradict(c,
				   "rank %" PRIu32
				   ": its file and the copy are both "
				   "intact, but differ",
				   r->rank);
		else if (own)
			set_aside(c, &r->parts[FTI_OWN],
				  "is intact, but not the original of its "
				  "copy");
		else if (copy)
			set_aside(c, &r->parts[FTI_COPY],
				  "is intact, but not a copy of its "
				  "original");
	}
	/* The record of a file has the size of the one that is copied to its
	 * node. */
	for (size_t i = 0; i < set->nranks && rc >= 0; i++) {
		const struct fti_rank *r = &set->ranks[i];
		const struct fti_rank *right = fti_set_neighbour(set, r, false);
		const int64_t size = right->parts[FTI_OWN].meta.pt_fs;

		for (int p = FTI_OWN; p <= FTI_COPY; p++)
			if (r->parts[p].exact && right->parts[FTI_OWN].exact &&
			    r->parts[p].meta.fs != size)
				contradict(
					c,
					"rank %" PRIu32 " has %" PRIi64
					" bytes, but the record of rank %" PRIu32
					" (ptFs) says %" PRIi64,
					r->rank, r->parts[p].meta.fs,
					right->rank, size);
	}
	mem_free(pairs);
	return rc < 0 ? -1 : 0;
}

/* --- All ranks --- */

/* The file of a rank, or the one that gives it; NULL: none is exact. */
static const struct fti_part_file *
best_of(const struct fti_rank *r)
{
	const struct fti_part_file *p = r->parts;

	if (!p->exact)
		p = &p[p[FTI_COPY].exact ? FTI_COPY : FTI_ELSEWHERE];
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

/* All ranks write a checkpoint at one time, and know its number. */
static void
confront_ranks(struct confrontation *c)
{
	struct fti_set *set = c->set;
	struct fti_rank **list = mem_calloc(set->nranks + 1, sizeof(*list));
	const struct fti_part_file *first = NULL;
	size_t n = 0;

	/* No file is that of two ranks. */
	for (size_t i = 0; i < set->nranks; i++)
		if (best_of(&set->ranks[i]) != NULL)
			list[n++] = &set->ranks[i];
	if (n > 0)
		qsort(list, n, sizeof(struct fti_rank *), by_record);
	for (size_t i = 1; i < n; i++)
		if (same_record(best_of(list[i - 1]), best_of(list[i])))
			contradict(c,
				   "ranks %" PRIu32 " and %" PRIu32
				   " have the same file, written at the "
				   "same nanosecond: one of them has lost "
				   "its own",
				   list[i - 1]->rank, list[i]->rank);
	mem_free(list);
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_part_file *p = best_of(&set->ranks[i]);

		if (p == NULL)
			continue;
		first = first == NULL ? p : first;
		if (set->level == FTI_DCP &&
		    fti_has(set->layout, FTI_CKPT_ID) &&
		    p->meta.ckpt_id != first->meta.ckpt_id)
			contradict(c,
				   "%s has checkpoint %" PRIi64
				   ", %s checkpoint %" PRIi64,
				   path_base(first->entry->path),
				   first->meta.ckpt_id,
				   path_base(p->entry->path), p->meta.ckpt_id);
		if (apart(set, p, first) > SPREAD)
			contradict(
				c,
				"%s was written %s, %s %s: files of two runs",
				path_base(first->entry->path),
				when_local(
					fti_written(set->layout, &first->meta)),
				path_base(p->entry->path),
				when_local(fti_written(set->layout, &p->meta)));
	}
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
			for (int part = 0; part <= FTI_ELSEWHERE; part++) {
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
	struct confrontation c = {
		.s = s,
		.set = set,
		.w = w,
		.k = set->geometry.group_size,
	};
	const bool grouped = c.k >= CAUCHY_MIN && c.k <= CAUCHY_MAX &&
			     set->geometry.node_size > 0;

	for (c.group = 0;
	     grouped && set->level == FTI_L3 && c.group < set->groups;
	     c.group++)
		if (work_go_on(w, err) < 0 || confront_group(&c, err) < 0)
			return -1;
	if (set->posix) {
		doubt_metadata(s, set);
		return 0;
	}
	if (grouped && set->level == FTI_L2 && confront_copies(&c, err) < 0)
		return -1;

	confront_ranks(&c);
	return 0;
}
