/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftijob/parity.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "error.h"
#include "fti/file.h"
#include "hash.h"
#include "mem.h"
#include "par.h"
#include "str.h"
#include "work.h"

/* Bytes of each member that are computed at a time. */
#define STEP ((size_t)64 << 10)

#define TRAILER 8 /* bytes of the size behind the data in C to F */

static bool
has_trailer(const struct fti_parity *p)
{
	return !p->posix && fti_format(p->layout)->footer;
}

/* --- Members as strings of p->length bytes, then a zero --- */

static void
add_trailer(const struct fti_parity *p, uint64_t size, unsigned char *to,
	    size_t len, uint64_t off)
{
	const uint64_t at = p->length - TRAILER;

	for (unsigned i = 0; i < TRAILER; i++)
		if (at + i >= off && at + i - off < len)
			to[at + i - off] = (unsigned char)(size >> (8 * i));
}

bool
fti_parity_is_padding(const struct fti_parity *p, uint64_t size,
		      const unsigned char *bytes, size_t len, uint64_t off)
{
	for (size_t i = 0; i < len; i++) {
		const uint64_t at = off + i;
		unsigned char want = 0;

		if (has_trailer(p) && at < p->length &&
		    at >= p->length - TRAILER)
			add_trailer(p, size, &want, 1, at);
		if (at < p->length && bytes[i] != want)
			return false;
	}
	return true;
}

static int
read_member(const struct fti_parity *p, unsigned m, unsigned char *to,
	    size_t len, uint64_t off, struct error *err)
{
	const struct fti_source *s = fti_parity_source(p, m);
	uint64_t end = m < p->k ? s->size : p->length;
	size_t n = 0;

	if (m < p->k && end > p->length)
		end = p->length;
	if (off < end)
		n = end - off < len ? (size_t)(end - off) : len;
	if (n > 0 && fti_source_read(s, to, n, off, err) < 0)
		return -1;
	memset(to + n, 0, len - n);
	if (m < p->k && has_trailer(p))
		add_trailer(p, s->size, to, len, off);
	return 0;
}

int
fti_parity_run(const struct fti_parity *p, const struct cauchy *c,
	       const struct fti_slice *s, struct error *err)
{
	const size_t words = s->len + s->len % 2;
	const uint64_t last = p->length - 1;

	for (unsigned i = 0; i < c->nin; i++)
		if (read_member(p, c->in[i], s->in[i], words, s->off, err) < 0)
			return -1;
	cauchy_run(c, words, s->in, s->out);
	if (p->length % 2 == 0 || last < s->off || last - s->off >= s->len)
		return 0;
	for (unsigned o = 0; o < c->nout; o++)
		((unsigned char *)s->out[o])[last - s->off] =
			p->tail[c->out[o]];
	return 0;
}

/* --- Computed sources --- */

static int
read_computed(const struct fti_source *s, void *to, size_t len, uint64_t off,
	      struct error *err)
{
	const struct fti_computed *c = s->arg;
	const struct fti_parity *p = c->group;
	/* Whole words, as the first and the last byte may be parts of one. */
	const size_t words = (len + 2) / 2 * 2;
	const size_t step = words < STEP ? words : STEP;
	unsigned char *space =
		mem_aligned(FIELD16_ALIGN, (c->recipe->nin + 1) * step);
	void *in[CAUCHY_MAX], *out[1] = { space };
	struct fti_slice slice = { .in = in, .out = out };
	int rc = 0;

	for (unsigned i = 0; i < c->recipe->nin; i++)
		in[i] = space + (i + 1) * step;
	while (rc == 0 && len > 0) {
		const size_t odd = off % 2;
		const size_t n = len < step - odd ? len : step - odd;

		slice.off = off - odd;
		slice.len = n + odd;
		rc = fti_parity_run(p, c->recipe, &slice, err);
		if (rc == 0)
			memcpy(to, space + odd, n);
		/* Who reads the computed bytes counts them. */
		work_pace(p->work, (c->recipe->nin - 1) * n);
		to = (unsigned char *)to + n;
		off += n;
		len -= n;
	}
	mem_free(space);
	return rc;
}

const struct fti_source *
fti_parity_source(const struct fti_parity *p, unsigned member)
{
	const struct fti_source *s = member < p->k
					     ? p->members[member].data
					     : p->members[member - p->k].parity;

	return s != NULL ? s : &p->computed[member].source;
}

/* --- Contradictions --- */

struct comparison {
	const struct fti_parity *p;
	const struct work *w;
	struct cauchy *recipe;
	unsigned char *memory; /* of each worker: nin + nout + 1 buffers */
	atomic_bool differs;
};

static int
compare_step(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct comparison *c = arg;
	const unsigned n = c->recipe->nin + c->recipe->nout;
	unsigned char *at = c->memory + worker * (n + 1) * STEP;
	void *buffers[2 * CAUCHY_MAX];
	const uint64_t off = i * STEP;
	const struct fti_slice s = {
		.off = off,
		.len = c->p->length - off < STEP ? (size_t)(c->p->length - off)
						 : STEP,
		.in = buffers,
		.out = buffers + c->recipe->nin,
	};

	if (atomic_load(&c->differs))
		return 0;
	for (unsigned b = 0; b < n; b++, at += STEP)
		buffers[b] = at;
	if (work_go_on(c->w, err) < 0 ||
	    fti_parity_run(c->p, c->recipe, &s, err) < 0)
		return -1;
	for (unsigned o = 0; o < c->recipe->nout; o++) {
		const unsigned m = c->recipe->out[o];
		const uint64_t size = m < c->p->k ? c->p->members[m].size : 0;
		const size_t own = size <= off		? 0
				   : size - off < s.len ? (size_t)(size - off)
							: s.len;
		const unsigned char *bytes = s.out[o];

		/* Behind data that are lost there is padding. */
		if (m < c->p->k && c->p->members[m].data == NULL) {
			if (!fti_parity_is_padding(c->p, size, bytes + own,
						   s.len - own, off + own))
				atomic_store(&c->differs, true);
			continue;
		}
		if (read_member(c->p, m, at, s.len, off, err) < 0)
			return -1;
		if (memcmp(at, bytes, s.len) != 0)
			atomic_store(&c->differs, true);
	}
	work_pace(c->w, n * s.len);
	return 0;
}

int
fti_parity_agrees(const struct fti_parity *p, const struct work *w,
		  struct error *err)
{
	struct comparison c = { .p = p, .w = work_or_default(w) };
	bool lost[CAUCHY_MEMBERS_MAX], wanted[CAUCHY_MEMBERS_MAX] = { false };
	unsigned left = 0;
	bool any = false;
	int rc = 0;

	fti_parity_lost(p, lost);
	for (unsigned m = 0; m < 2 * p->k; m++) {
		wanted[m] = lost[m] ? m < p->k : left++ >= p->k;
		any = any || wanted[m];
	}
	if (!any)
		return 1;
	c.recipe = cauchy_new(p->k, lost, wanted, err);
	if (c.recipe == NULL)
		return -1;
	c.memory = mem_aligned(FIELD16_ALIGN,
			       par_threads(c.w->par) *
				       (c.recipe->nin + c.recipe->nout + 1) *
				       STEP);
	rc = par_for(c.w->par, (size_t)((p->length + STEP - 1) / STEP), 1,
		     compare_step, &c, err);
	mem_free(c.memory);
	cauchy_free(c.recipe);
	return rc < 0 ? -1 : !atomic_load(&c.differs);
}

/*
 * --- The last bytes ---
 *
 * Those of a group of odd length, where FTI has stored only the low bytes of
 * the last words of its parity.
 *
 * Unknown are the last bytes of lost data files of full length: all others end
 * in padding.  Each bit of a low byte of parity is an equation over GF(2).
 */

#define BITS (8 * CAUCHY_MAX) /* unknown, and equations, at most */

/* A sum of unknown bits, and last the constant that it equals. */
struct equation {
	uint64_t bits[BITS / 64 + 1];
};

struct tail {
	struct fti_parity *p;
	unsigned unknown[CAUCHY_MAX]; /* members */
	unsigned count;
	struct equation rows[BITS];
	unsigned nrows;
	int pivot[BITS]; /* the row that gives this bit, or -1: it is free */
};

#define CONSTANT BITS

static bool
bit(const struct equation *e, unsigned i)
{
	return (e->bits[i / 64] >> (i % 64) & 1) != 0;
}

static void
flip(struct equation *e, unsigned i)
{
	e->bits[i / 64] ^= UINT64_C(1) << (i % 64);
}

/* The coefficient of data `j` in parity `i`. */
static uint16_t
coefficient(const struct fti_parity *p, unsigned i, unsigned j)
{
	return field16_inverse((uint16_t)(i ^ (p->k + j)));
}

/* The low byte of the sum of the data whose last bytes are known. */
static unsigned char
sum_data(const struct fti_parity *p, unsigned i)
{
	uint16_t sum = 0;

	for (unsigned j = 0; j < p->k; j++)
		sum ^= field16_mul(coefficient(p, i, j), p->tail[j]);
	return (unsigned char)sum;
}

/* Read what is known, and make the equations of each parity.  Last bytes of
 * unknown data are 0 until they are solved. */
static int
set_up(struct tail *t, struct error *err)
{
	struct fti_parity *p = t->p;
	const uint64_t last = p->length - 1;

	for (unsigned m = 0; m < p->k; m++) {
		const struct fti_source *s = p->members[m].data;

		p->tail[m] = 0;
		if (s == NULL && p->members[m].size == p->length)
			t->unknown[t->count++] = m;
		if (s != NULL && s->size > last &&
		    fti_source_read(s, &p->tail[m], 1, last, err) < 0)
			return -1;
	}
	for (unsigned i = 0; i < p->k; i++) {
		struct equation *rows = &t->rows[t->nrows];
		unsigned char low = 0;

		if (p->members[i].parity == NULL)
			continue;
		if (fti_source_read(p->members[i].parity, &low, 1, last, err) <
		    0)
			return -1;
		low ^= sum_data(p, i);
		for (unsigned b = 0; b < 8; b++)
			if (low >> b & 1)
				flip(&rows[b], CONSTANT);
		for (unsigned u = 0; u < 8 * t->count; u++) {
			const uint16_t c = field16_mul(
				coefficient(p, i, t->unknown[u / 8]),
				(uint16_t)(1u << (u % 8)));

			for (unsigned b = 0; b < 8; b++)
				if (c >> b & 1)
					flip(&rows[b], u);
		}
		t->nrows += 8;
	}
	return 0;
}

/* Eliminate: each pivot bit is in one row only.  False: no solution. */
static bool
solve(struct tail *t)
{
	unsigned done = 0;

	for (unsigned u = 0; u < 8 * t->count; u++) {
		unsigned row = done;

		t->pivot[u] = -1;
		while (row < t->nrows && !bit(&t->rows[row], u))
			row++;
		if (row == t->nrows)
			continue;
		if (row != done) {
			const struct equation e = t->rows[row];

			t->rows[row] = t->rows[done];
			t->rows[done] = e;
		}
		for (row = 0; row < t->nrows; row++) {
			if (row == done || !bit(&t->rows[row], u))
				continue;
			for (unsigned i = 0; i <= BITS / 64; i++)
				t->rows[row].bits[i] ^= t->rows[done].bits[i];
		}
		t->pivot[u] = (int)done++;
	}
	for (unsigned row = done; row < t->nrows; row++)
		if (bit(&t->rows[row], CONSTANT))
			return false;
	return true;
}

/* The byte `n` of the solution in which all free bits are 0; or of the one
 * without constants in which only the bit `free` is 1. */
static unsigned char
byte_of(const struct tail *t, unsigned n, int free)
{
	unsigned char out = 0;

	for (unsigned b = 0; b < 8; b++) {
		const unsigned u = 8 * n + b;
		const int row = t->pivot[u];
		bool is = (int)u == free;

		if (row >= 0)
			is = bit(&t->rows[row],
				 free < 0 ? CONSTANT : (unsigned)free);
		out |= (unsigned char)((unsigned)is << b);
	}
	return out;
}

static int
choose(struct fti_parity *p, unsigned m, const bool can[static 256],
       const struct work *w, struct error *err)
{
	const struct fti_member *of = &p->members[m];
	struct fti_file *f = NULL;
	struct hash *h = NULL, *sum = NULL;
	char want[HASH_MD5_TEXT], text[HASH_TEXT] = "";
	uint64_t start = 0;
	int rc = 0;

	/* What has a sum and ends with the last byte: the whole file, or a
	 * container. */
	if (p->posix && of->sum != NULL &&
	    strlen(of->sum) + 1 == HASH_MD5_TEXT) {
		memcpy(want, of->sum, HASH_MD5_TEXT);
		rc = 1;
	} else if (!p->posix) {
		f = fti_file_read(&p->computed[m].source, p->layout, err);
		if (f == NULL)
			return -1;
	}
	for (size_t i = 0; f != NULL && i < f->ncontainers; i++) {
		const struct fti_container *c = &f->containers[i].c;

		if (c->used <= 0 || c->fptr + (uint64_t)c->used != p->length)
			continue;
		start = c->fptr;
		hash_hex(want, c->hash, HASH_MD5_SIZE);
		rc = 1;
	}
	fti_file_free(f);

	/* Nothing depends on the byte, as on that of padding: it is 0. */
	if (rc == 0 && !p->posix && can[0]) {
		p->tail[m] = 0;
		return 0;
	}
	if (rc == 0)
		return error_set(err, ERROR_LOST,
				 "%s: its last byte cannot be computed, and "
				 "no checksum decides",
				 of->data_name);
	h = hash_new(HASH_MD5, err);
	sum = hash_new(HASH_MD5, err);
	rc = fti_source_sum(&p->computed[m].source, start,
			    p->length - 1 - start, h, w, err);
	/* The value with which the data have their sum. */
	for (unsigned v = 0; rc == 0 && !str_eq(text, want); v++) {
		p->tail[m] = (unsigned char)v;
		if (v == 256) {
			rc = error_set(err, ERROR_CORRUPT,
				       "%s: the computed data do not have "
				       "their checksum",
				       of->data_name);
		} else if (can[v]) {
			hash_copy(sum, h);
			hash_update(sum, &p->tail[m], 1);
			hash_text(sum, text);
		}
	}
	hash_free(h);
	hash_free(sum);
	return rc;
}

/* Find the last bytes of all members of a group of odd length; sizes are
 * known. */
static int
solve_tail(struct fti_parity *p, const struct work *w, struct error *err)
{
	struct tail *t = mem_calloc(1, sizeof(*t));
	bool can[256];
	int rc = 0;

	t->p = p;
	rc = set_up(t, err);
	if (rc == 0 && !solve(t))
		rc = error_set(err, ERROR_CORRUPT,
			       "%s: the files of its group contradict each "
			       "other",
			       p->members[0].data_name);
	for (unsigned n = 0; n < t->count && rc == 0; n++) {
		const unsigned m = t->unknown[n];
		const unsigned char one = byte_of(t, n, -1);
		bool several = false;

		/* The values that the byte can have. */
		memset(can, 0, sizeof(can));
		can[one] = true;
		for (unsigned u = 0; u < 8 * t->count; u++) {
			const unsigned char step =
				t->pivot[u] < 0 ? byte_of(t, n, (int)u) : 0;

			several = several || step != 0;
			/* Each value of a pair gives the other one. */
			for (unsigned v = 0; v < 256; v++)
				can[v] = can[v] || can[v ^ step];
		}
		if (several)
			rc = choose(p, m, can, w, err);
		else
			p->tail[m] = one;
	}
	for (unsigned i = 0; i < p->k && rc == 0; i++)
		p->tail[p->k + i] = sum_data(p, i);
	mem_free(t);
	return rc;
}

/* --- Opening --- */

void
fti_parity_lost(const struct fti_parity *p, bool lost[CAUCHY_MEMBERS_MAX])
{
	memset(lost, 0, CAUCHY_MEMBERS_MAX * sizeof(*lost));
	for (unsigned m = 0; m < p->k; m++) {
		lost[m] = p->members[m].data == NULL;
		lost[p->k + m] = p->members[m].parity == NULL;
	}
}

int
fti_parity_open(struct fti_parity *p, const struct work *w, struct error *err)
{
	const uint64_t least = p->posix		? 1
			       : has_trailer(p) ? TRAILER
						: fti_format(p->layout)->meta;
	const uint64_t max = p->length - (has_trailer(p) ? TRAILER : 0);
	bool lost[CAUCHY_MEMBERS_MAX];

	p->work = w;
	if (p->length < least || p->length >= UINT64_MAX / 2)
		return error_set(err, ERROR_CORRUPT,
				 "%s: parity of %" PRIu64
				 " bytes is not possible",
				 p->members[0].parity_name, p->length);
	fti_parity_lost(p, lost);
	for (unsigned m = 0; m < 2 * p->k; m++) {
		struct fti_computed *c = &p->computed[m];
		bool wanted[CAUCHY_MEMBERS_MAX] = { false };

		if (!lost[m])
			continue;
		wanted[m] = true;
		*c = (struct fti_computed){
			.source = {
				.size = p->length,
				.name = m < p->k
					? p->members[m].data_name
					: p->members[m - p->k].parity_name,
				.read = read_computed,
				.arg = c,
				.fd = -1,
			},
			.group = p,
			.recipe = cauchy_new(p->k, lost, wanted, err),
		};
		if (c->recipe == NULL)
			return -1;
	}
	for (unsigned m = 0; m < p->k; m++) {
		struct fti_member *to = &p->members[m];
		struct fti_source *s = &p->computed[m].source;
		unsigned char bytes[FTI_META_MAX];
		struct fti_meta meta;

		if (to->data != NULL) {
			to->size = to->data->size;
		} else if (to->size == FTI_SIZE_UNKNOWN && p->posix) {
			return error_set(err, ERROR_CORRUPT,
					 "%s: size not known", to->data_name);
		} else if (to->size == FTI_SIZE_UNKNOWN && has_trailer(p)) {
			if (fti_source_read(s, bytes, TRAILER, max, err) < 0)
				return -1;
			to->size = 0;
			for (unsigned i = 0; i < TRAILER; i++)
				to->size |= (uint64_t)bytes[i] << (8 * i);
		} else if (to->size == FTI_SIZE_UNKNOWN) {
			if (fti_source_read(s, bytes,
					    fti_format(p->layout)->meta, 0,
					    err) < 0)
				return -1;
			fti_record_read(p->layout, FTI_META, bytes, &meta);
			to->size = (uint64_t)meta.fs;
		}
		if (to->size > max)
			return error_set(err, ERROR_CORRUPT,
					 "%s: %" PRIu64
					 " bytes, but the parity is "
					 "of at most %" PRIu64 " bytes",
					 to->data_name, to->size, max);
		if (to->data == NULL)
			s->size = to->size;
	}
	return p->length % 2 == 1 ? solve_tail(p, w, err) : 0;
}

void
fti_parity_close(struct fti_parity *p)
{
	for (unsigned m = 0; m < CAUCHY_MEMBERS_MAX; m++) {
		cauchy_free(p->computed[m].recipe);
		p->computed[m].recipe = NULL;
	}
}
