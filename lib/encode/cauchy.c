/* SPDX-License-Identifier: BSD-3-Clause */
#include "encode/cauchy.h"

#include <assert.h>

#include "error.h"
#include "mem.h"

/*
 * A member is a row of k coefficients: its sum over the data.  With the rows of
 * the inputs in A and those of the outputs in B, the recipe is the matrix X
 * with X A = B.  Elimination turns (A^T | B^T) into (1 | X^T).
 */
struct system {
	unsigned k, columns; /* k rows; A^T is the first k columns */
	uint16_t cell[CAUCHY_MAX][2 * CAUCHY_MAX];
};

/* The coefficient of data `j` in a member. */
static uint16_t
coefficient(unsigned k, unsigned member, unsigned j)
{
	if (member < k)
		return member == j;
	return field16_inverse((uint16_t)((member - k) ^ (k + j)));
}

static void
eliminate(struct system *s)
{
	for (unsigned at = 0; at < s->k; at++) {
		uint16_t *pivot = s->cell[at], factor = 0;
		unsigned row = at;

		/* Exchange rows, so that the cell of the diagonal is not
		 * zero. */
		while (s->cell[row][at] == 0) {
			row++;
			assert(row < s->k); /* any k members determine the
					       others */
		}
		for (unsigned c = 0; row != at && c < s->columns; c++) {
			factor = s->cell[row][c];
			s->cell[row][c] = pivot[c];
			pivot[c] = factor;
		}
		factor = field16_inverse(pivot[at]);
		for (unsigned c = at; c < s->columns; c++)
			pivot[c] = field16_mul(pivot[c], factor);
		for (row = 0; row < s->k; row++) {
			factor = s->cell[row][at];
			if (row == at || factor == 0)
				continue;
			for (unsigned c = at; c < s->columns; c++)
				s->cell[row][c] ^=
					field16_mul(pivot[c], factor);
		}
	}
}

/* Compute matrix and tables of `c`; its members are set. */
static int
complete(struct cauchy *c, struct error *err)
{
	const enum field16_way way = field16_best();
	unsigned cells = c->nin * c->nout;
	size_t size = cells * field16_expanded(way);
	struct system s = { .k = 0 };

	/* One allocation: tables, then the matrix. */
	c->tables = mem_aligned(FIELD16_ALIGN, size + cells * sizeof(uint16_t));
	if (c->tables == NULL)
		return error_no_memory(err);
	c->matrix = (uint16_t *)(void *)((unsigned char *)c->tables + size);
	c->way = way;
	s.k = c->nin;
	s.columns = c->nin + c->nout;
	for (unsigned j = 0; j < s.k; j++) {
		for (unsigned i = 0; i < c->nin; i++)
			s.cell[j][i] = coefficient(s.k, c->in[i], j);
		for (unsigned o = 0; o < c->nout; o++)
			s.cell[j][s.k + o] = coefficient(s.k, c->out[o], j);
	}
	eliminate(&s);
	for (unsigned o = 0; o < c->nout; o++)
		for (unsigned i = 0; i < c->nin; i++)
			c->matrix[o * c->nin + i] = s.cell[i][s.k + o];
	field16_expand(way, c->matrix, cells, c->tables);
	return 0;
}

struct cauchy *
cauchy_new(unsigned k, const bool *lost, const bool *wanted, struct error *err)
{
	struct cauchy *c = NULL;
	unsigned usable = 0;

	if (k < CAUCHY_MIN || k > CAUCHY_MAX)
		return error_set_null(err, ERROR_CORRUPT,
				      "group of %u: not between %d and %d", k,
				      CAUCHY_MIN, CAUCHY_MAX);
	for (unsigned m = 0; m < 2 * k; m++)
		usable += !lost[m] && !wanted[m];
	if (usable < k)
		return error_set_null(
			err, ERROR_LOST,
			"group of %u: %u of %u members left to compute from: "
			"%u are needed",
			k, usable, 2 * k, k);
	c = mem_calloc(1, sizeof(*c));
	if (c == NULL)
		return error_no_memory_null(err);
	for (unsigned m = 0; m < 2 * k; m++)
		if (wanted[m])
			c->out[c->nout++] = (unsigned char)m;
	for (unsigned m = 0; c->nout > 0 && c->nin < k; m++)
		if (!lost[m] && !wanted[m])
			c->in[c->nin++] = (unsigned char)m;
	if (c->nout > 0 && complete(c, err) < 0) {
		cauchy_free(c);
		return NULL;
	}
	return c;
}

void
cauchy_free(struct cauchy *c)
{
	if (c == NULL)
		return;
	mem_free(c->tables); /* frees the matrix, too */
	mem_free(c);
}

void
cauchy_run(const struct cauchy *c, size_t len, void *const *in,
	   void *const *out)
{
	const struct field16_matrix m = { c->way, c->nin, c->nout, c->tables };

	if (c->nout > 0)
		field16_dot(&m, len, in, out);
}
