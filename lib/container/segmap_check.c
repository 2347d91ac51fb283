/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segmap_check.c - check that a segment map is consistent; sort its files.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "container/segmap.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "str.h"

/* A sentence with three paths. */
#define TEXT_MAX 1024

/* A segment and its file, to be sorted by place. */
struct place {
	uint32_t container;
	uint64_t off, len;
	size_t file;
};

static int
by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->len < y->len ? -1 : x->len > y->len;
}

struct checker {
	const struct segmap *m;
	int (*report)(void *arg, const struct segmap_finding *f);
	void *arg;
	struct place *places;
};

static int
report_gap(const struct checker *c, uint32_t container, uint64_t from,
	   uint64_t to, size_t next)
{
	const struct segmap_finding f = { SEGMAP_GAP, container, from,
					  to - from,  next,	 SIZE_MAX };

	if (c->m->moving || from >= to)
		return 0;
	return to - from < c->m->align && to % c->m->align == 0
		       ? 0
		       : c->report(c->arg, &f);
}

/* Check one container: places[from] ... places[to - 1], sorted. */
static int
check_container(const struct checker *c, uint32_t at, size_t from, size_t to)
{
	const struct segmap_container *ctr = &c->m->containers[at];
	struct segmap_finding beyond;
	uint64_t end = 0;
	size_t last = SIZE_MAX;
	int rc = 0;

	for (size_t i = from; i < to && rc == 0; i++) {
		const struct place *p = &c->places[i];
		const uint64_t to_end = end - p->off;
		const struct segmap_finding overlap = {
			SEGMAP_OVERLAP, at,
			p->off,		to_end < p->len ? to_end : p->len,
			p->file,	last
		};

		rc = report_gap(c, at, end, p->off, p->file);
		if (rc == 0 && p->off < end)
			rc = c->report(c->arg, &overlap);
		if (p->off + p->len > end) {
			end = p->off + p->len;
			last = p->file;
		}
	}
	if (rc != 0 || !ctr->has_size)
		return rc;
	beyond = (struct segmap_finding){ SEGMAP_BEYOND,   at,	 ctr->size,
					  end - ctr->size, last, SIZE_MAX };
	return end > ctr->size ? c->report(c->arg, &beyond)
			       : report_gap(c, at, end, ctr->size, SIZE_MAX);
}

/* Report each path that is listed again. */
static int
check_twins(const struct checker *c, const bool *only, struct error *err)
{
	struct map *by = map_new();
	int rc = 0;

	for (size_t i = 0; i < c->m->nfiles && rc == 0; i++) {
		const struct segmap_file *f = &c->m->files[i];
		size_t twin = MAP_NONE;

		if (only != NULL && !only[i])
			continue;
		twin = map_get(by, f->path);
		if (twin != MAP_NONE)
			rc = c->report(c->arg, &(struct segmap_finding){
						       .flaw = SEGMAP_TWIN,
						       .file = i,
						       .other = twin,
					       });
		else if (map_put(by, f->path, i) < 0)
			rc = error_no_memory(err);
	}
	map_free(by);
	return rc;
}

int
segmap_check(const struct segmap *m,
	     int (*report)(void *arg, const struct segmap_finding *f),
	     void *arg, struct error *err)
{
	struct checker c = { .m = m, .report = report, .arg = arg };
	size_t n = 0, to = 0;
	bool sorted = true;
	int rc = 0;

	c.places = mem_alloc(m->nsegs + 1, sizeof(*c.places));
	if (c.places == NULL)
		return error_no_memory(err);
	/* Ranks may share a file that is not packed. */
	rc = m->nsegs > 0 ? check_twins(&c, NULL, err) : 0;
	for (size_t i = 0; i < m->nfiles && rc == 0; i++) {
		const struct segmap_file *f = &m->files[i];
		struct segmap_finding sum = { .flaw = SEGMAP_SUM,
					      .file = i,
					      .other = SIZE_MAX };

		for (size_t k = 0; k < f->nsegs; k++) {
			const struct segment *s = &m->segs[f->first + k];

			sum.len += s->len;
			c.places[n] = (struct place){ s->container, s->off,
						      s->len, i };
			sorted = sorted &&
				 (n == 0 ||
				  by_place(&c.places[n - 1], &c.places[n]) < 0);
			n++;
		}
		/* Is the file as long as its segments? */
		if (f->nsegs > 0 && sum.len != f->size)
			rc = report(arg, &sum);
	}
	/* Segments are usually packed in the order of the list. */
	if (rc == 0 && !sorted)
		qsort(c.places, n, sizeof(*c.places), by_place);
	for (uint32_t at = 0; at < m->ncontainers && rc == 0; at++) {
		const size_t from = to;

		while (to < n && c.places[to].container == at)
			to++;
		rc = check_container(&c, at, from, to);
	}
	mem_free(c.places);
	return rc;
}

/* The first flaw, but a gap. */
static int
take_first(void *first, const struct segmap_finding *f)
{
	*(struct segmap_finding *)first = *f;
	return f->flaw != SEGMAP_GAP;
}

int
segmap_refuse_flaws(const struct segmap *m, const char *name, struct error *err)
{
	struct segmap_finding first;
	const int rc = segmap_check(m, take_first, &first, err);
	char text[TEXT_MAX];

	return rc > 0 ? error_set(
				err, ERROR_CORRUPT, "%s contradicts itself: %s",
				name,
				segmap_flaw_text(m, &first, text, sizeof(text)))
		      : rc;
}

int
segmap_refuse_twins(const struct segmap *m, const bool *only,
		    enum error_kind kind, const char *verdict,
		    struct error *err)
{
	struct segmap_finding first = { .file = SIZE_MAX };
	const struct checker c = { .m = m,
				   .report = take_first,
				   .arg = &first };
	char text[TEXT_MAX];

	if (check_twins(&c, only, err) < 0)
		return -1;
	if (first.file == SIZE_MAX)
		return 0;
	return error_set(err, kind, "%s: %s",
			 segmap_flaw_text(m, &first, text, sizeof(text)),
			 verdict);
}

const char *
segmap_flaw_text(const struct segmap *m, const struct segmap_finding *f,
		 char *to, size_t size)
{
	const char *name = str_shown(
		m->ncontainers > 0 ? m->containers[f->container].name : "");
	const char *a =
		str_shown(f->file < m->nfiles ? m->files[f->file].path : "?");
	const char *b =
		str_shown(f->other < m->nfiles ? m->files[f->other].path : "?");

	switch (f->flaw) {
	case SEGMAP_GAP:
		return str_print(to, size,
				 "%s: bytes %" PRIu64 " to %" PRIu64
				 " belong to no file",
				 name, f->off, f->off + f->len - 1);
	case SEGMAP_OVERLAP:
		return str_print(to, size,
				 "%s: bytes %" PRIu64 " to %" PRIu64
				 " belong to %s and to %s",
				 name, f->off, f->off + f->len - 1, b, a);
	case SEGMAP_BEYOND:
		return str_print(to, size,
				 "%s: %s reaches %" PRIu64
				 " bytes beyond its recorded end",
				 name, a, f->len);
	case SEGMAP_TWIN:
		return str_print(to, size,
				 "%s: is a file of rank %" PRIu32
				 " and of rank %" PRIu32,
				 a, m->files[f->other].rank,
				 m->files[f->file].rank);
	default:
		return str_print(
			to, size,
			"%s: %" PRIu64 " bytes long, its segments %" PRIu64, a,
			f->file < m->nfiles ? m->files[f->file].size : 0,
			f->len);
	}
}

/* --- Order --- */

struct item {
	size_t at; /* the file */
	uint32_t rank;
	/* place of the file, or of the next file with segments */
	const char *container;
	size_t turn; /* order of that container, if not by name */
	uint64_t off;
};

static int
by_item(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const size_t xlen = x->container ? strlen(x->container) : SIZE_MAX;
	const size_t ylen = y->container ? strlen(y->container) : SIZE_MAX;
	int c = 0;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	/* By number: "ctr.9.scr" before "ctr.10.scr". */
	if (xlen != ylen)
		return xlen < ylen ? -1 : 1;
	c = x->container != NULL ? strcmp(x->container, y->container) : 0;
	if (c != 0)
		return c;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

int
segmap_sort(const struct segmap *m, bool ranks, size_t *order,
	    struct error *err)
{
	struct item *items = mem_calloc(m->nfiles + 1, sizeof(*items));
	struct item place = { .container = NULL }; /* sorts last */

	if (items == NULL)
		return error_no_memory(err);
	for (size_t i = m->nfiles; i-- > 0;) {
		const struct segmap_file *f = &m->files[i];

		if (ranks && f->rank != place.rank)
			place = (struct item){ .rank = f->rank };
		if (f->nsegs > 0) {
			const struct segment *s = &m->segs[f->first];

			place.container = m->containers[s->container].name;
			place.turn = m->moving ? s->container : 0;
			place.off = s->off;
		}
		place.at = i;
		items[i] = place;
	}
	qsort(items, m->nfiles, sizeof(*items), by_item);
	for (size_t i = 0; i < m->nfiles; i++)
		order[i] = items[i].at;
	mem_free(items);
	return 0;
}

const char *
segmap_sum_text(const struct segmap_file *f, uint32_t crc, char *to,
		size_t size)
{
	return str_print(to, size,
			 "%s (rank %" PRIu32 "): checksum is 0x%08" PRIx32
			 ", should be 0x%08" PRIx32,
			 str_shown(f->path), f->rank, crc, f->crc);
}

int
segmap_wrong_sum(const struct segmap_file *f, uint32_t crc, struct error *err)
{
	char text[TEXT_MAX];

	return error_set_remedy(err, REMEDY_CHECKSUMS, ERROR_DAMAGED, "%s",
				segmap_sum_text(f, crc, text, sizeof(text)));
}
