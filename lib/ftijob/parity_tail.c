/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parity_tail.c - the last bytes of a group of odd length, where FTI has stored
 * only the low bytes of the last words of its parity.
 *
 * Unknown are the last bytes of lost data files of full length: all others end
 * in padding.  Each bit of a low byte of parity is an equation over GF(2).
 */
#include <string.h>

#include "error.h"
#include "fti/file.h"
#include "ftijob/parity.h"
#include "ftijob/parity_impl.h"
#include "hash.h"
#include "mem.h"

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

/* --- The equations --- */

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

/* --- Their solutions --- */

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

/* --- The choice between several --- */

static int
choose(struct fti_parity *p, unsigned m, const bool can[static 256],
       struct error *err)
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
			    p->length - 1 - start, h, NULL, err);
	/* The value with which the data have their sum. */
	for (unsigned v = 0; rc == 0 && strcmp(text, want) != 0; v++) {
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

int
fti_parity_solve_tail(struct fti_parity *p, struct error *err)
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
			rc = choose(p, m, can, err);
		else
			p->tail[m] = one;
	}
	for (unsigned i = 0; i < p->k && rc == 0; i++)
		p->tail[p->k + i] = sum_data(p, i);
	mem_free(t);
	return rc;
}
