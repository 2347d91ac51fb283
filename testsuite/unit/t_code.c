/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits, layout, matrix and recipes, compared to the plain implementation. */
#include "code_plain.h"

/* Does the recipe have the members that the header promises? */
static bool
members_right(const struct recipe *r, const struct stripe *s, const bool *lost)
{
	const struct code *c = &s->code;
	bool want[CODE_MAX] = { false };
	unsigned nin = 0, nout = 0, lost_data = 0;

	for (unsigned m = 0; m < c->n; m++) {
		bool data = plain_row(c, m, s->number) < 0;

		if (lost[m] && r->out[nout++] != m)
			return false;
		want[m] = data && !lost[m];
		lost_data += data && lost[m];
	}
	for (unsigned row = 0; row < c->k; row++)
		for (unsigned m = 0; m < c->n; m++)
			if (plain_row(c, m, s->number) == (int)row &&
			    !lost[m] && lost_data > 0) {
				want[m] = true;
				lost_data--;
			}
	if (nout != r->nout)
		return false;
	for (unsigned m = 0; m < c->n && nout > 0; m++)
		if (want[m] && r->in[nin++] != m)
			return false;
	return nin == r->nin;
}

/* Solve the stripe with these losses, or expect ERROR_LOST. */
static bool
losses_right(const struct stripe *s, const bool *lost)
{
	struct error err = ERROR_INIT;
	auto_recipe *r = recipe_new(&s->code, s->number, lost, &err);
	unsigned nlost = 0;
	bool right = false;

	for (unsigned m = 0; m < s->code.n; m++)
		nlost += lost[m];
	if (nlost > s->code.k)
		right = r == NULL && err.kind == ERROR_LOST;
	else
		right = r != NULL && members_right(r, s, lost) &&
			recipe_right(r, s);
	return right;
}

/* --- Limits and layout --- */

TEST(check)
{
	static const struct {
		struct code c;
		bool good;
		const char *name;
	} t[] = {
		{ { CODE_XOR, 2, 1 }, true, "smallest XOR" },
		{ { CODE_XOR, 255, 1 }, true, "largest XOR" },
		{ { CODE_XOR, 256, 1 }, false, "XOR too large" },
		{ { CODE_XOR, 1, 1 }, false, "XOR of one" },
		{ { CODE_XOR, 0, 1 }, false, "XOR of none" },
		{ { CODE_XOR, 4, 0 }, false, "XOR without check" },
		{ { CODE_XOR, 4, 2 }, false, "XOR with two checks" },
		{ { CODE_XOR, -1U, 1 }, false, "XOR of 2^32 - 1" },
		{ { CODE_RS, 2, 1 }, true, "smallest RS" },
		{ { CODE_RS, 255, 1 }, true, "largest RS" },
		{ { CODE_RS, 129, 127 }, true, "RS with most checks" },
		{ { CODE_RS, 128, 128 }, false, "RS without data" },
		{ { CODE_RS, 129, 128 }, false, "RS over 256" },
		{ { CODE_RS, 4, 0 }, false, "RS without check" },
		{ { CODE_RS, 0, 0 }, false, "RS of none" },
		{ { CODE_RS, -1U, -2U }, false, "RS of 2^32 - 1" },
		{ { (enum code_type)7, 4, 1 }, false, "unknown type" },
	};

	each (x, t) {
		struct error err = ERROR_INIT;
		int rc = code_check(&x->c, &err);

		ok(x->good ? rc == 0 && err.kind == ERROR_NONE
			   : rc < 0 && err.kind == ERROR_CORRUPT,
		   x->name);
	}
}

TEST(chunk_size)
{
	static const struct {
		struct code c;
		uint64_t longest, chunk;
	} t[] = {
		{ { CODE_XOR, 4, 1 }, 0, 1 },
		{ { CODE_XOR, 4, 1 }, 1, 1 },
		{ { CODE_XOR, 4, 1 }, 46988, 15663 }, /* rounded up */
		{ { CODE_XOR, 4, 1 }, 46989, 15663 },
		{ { CODE_RS, 8, 3 }, 11, 3 },
		/* These do not wrap. */
		{ { CODE_XOR, 2, 1 }, UINT64_MAX, UINT64_MAX },
		{ { CODE_XOR, 4, 1 }, UINT64_MAX, UINT64_MAX / 3 },
	};

	is_int(code_data_chunks(&t[4].c), 5, "data chunks");
	each (x, t)
		ok(code_chunk_size(&x->c, x->longest) == x->chunk,
		   fmt("chunk of %llu bytes in a set of %u",
		       (unsigned long long)x->longest, x->c.n));
}

/* Is each chunk of each member in exactly one stripe, and its data in ascending
 * stripes? */
static bool
slots_right(const struct code *c)
{
	for (unsigned m = 0; m < c->n; m++) {
		unsigned data = 0;

		for (unsigned s = 0; s < c->n; s++) {
			struct code_slot slot = code_slot(c, m, s);
			int row = plain_row(c, m, s);

			if (slot.check != (row >= 0) ||
			    slot.index != (row >= 0 ? (unsigned)row : data) ||
			    code_stripe(c, m, slot) != s)
				return false;
			data += !slot.check;
		}
		if (data != code_data_chunks(c))
			return false;
	}
	return true;
}

TEST(slots)
{
	unsigned bad = 0;

	for (unsigned n = 2; n <= 16; n++) {
		bad += !slots_right(&(struct code){ CODE_XOR, n, 1 });
		for (unsigned k = 1; k < n; k++)
			bad += !slots_right(&(struct code){ CODE_RS, n, k });
	}
	is_int(bad, 0, "slots and stripes are inverse, n <= 16");
	ok(slots_right(&(struct code){ CODE_RS, 200, 56 }) &&
		   slots_right(&(struct code){ CODE_RS, 129, 127 }),
	   "the same, 200,56 and 129,127");
}

/* --- The matrix --- */

/* The coefficient of the member's data chunk in check row `row`, taken from the
 * recipe that computes a chunk of that row. */
static unsigned char
coefficient(const struct code *c, unsigned row, unsigned member)
{
	const unsigned stripe = (member + c->k) % c->n;
	bool lost[CODE_MAX] = { false };
	auto_recipe *r = NULL;
	unsigned char found = 0;

	lost[(stripe + c->n - row) % c->n] = true;
	r = need(recipe_new(c, stripe, lost, NULL));
	for (unsigned i = 0; i < r->nin; i++)
		if (r->in[i] == member)
			found = r->matrix[i];
	return found;
}

TEST(matrix_values)
{
	static const struct {
		struct code c;
		unsigned row;
		unsigned char want[8];
	} t[] = {
		{ { CODE_XOR, 3, 1 }, 0, { 1, 1, 1 } },
		{ { CODE_RS, 4, 1 }, 0, { 27, 28, 18, 20 } },
		{ { CODE_RS, 5, 2 }, 0, { 7, 7, 6, 6, 1 } },
		{ { CODE_RS, 5, 2 }, 1, { 9, 8, 9, 8, 1 } },
		{ { CODE_RS, 8, 3 },
		  0,
		  { 26, 132, 186, 51, 231, 16, 198, 39 } },
		{ { CODE_RS, 8, 3 },
		  1,
		  { 132, 26, 51, 186, 16, 231, 39, 198 } },
		{ { CODE_RS, 8, 3 },
		  2,
		  { 186, 51, 26, 132, 198, 39, 231, 16 } },
	};

	each (x, t) {
		unsigned char got[8] = { 0 };

		for (unsigned m = 0; m < x->c.n; m++)
			got[m] = coefficient(&x->c, x->row, m);
		is_mem(got, x->want, sizeof(got),
		       fmt("%u,%u row %u", x->c.n, x->c.k, x->row));
	}
}

/* --- Losses --- */

static void
all_patterns(enum code_type type, unsigned n, unsigned k)
{
	const struct code c = { type, n, k };
	auto_free unsigned char *rows = plain_rows(&c);
	unsigned bad = 0;

	for (unsigned number = 0; number < n; number++) {
		struct stripe s;

		stripe_init(&s, &c, number, rows, 65);
		for (unsigned bits = 0; bits < 1U << n; bits++) {
			bool lost[CODE_MAX] = { false };

			for (unsigned m = 0; m < n; m++)
				lost[m] = bits >> m & 1;
			bad += !losses_right(&s, lost);
		}
		stripe_fini(&s);
	}
	is_int(bad, 0,
	       fmt("all losses of all stripes, %s %u,%u",
		   type == CODE_XOR ? "XOR" : "RS", n, k));
}

TEST(patterns)
{
	for (unsigned n = 2; n <= 8; n++) {
		all_patterns(CODE_XOR, n, 1);
		for (unsigned k = 1; k <= 3 && k < n; k++)
			all_patterns(CODE_RS, n, k);
	}
}

/* Random losses in a stripe: one too many, the maximum, then any number. */
static unsigned
random_losses(const struct code *c, const unsigned char *rows, unsigned number,
	      uint32_t *state)
{
	struct stripe s;
	unsigned bad = 0;

	stripe_init(&s, c, number, rows, 70);
	for (unsigned round = 0; round < 6; round++) {
		bool lost[CODE_MAX] = { false };
		unsigned count = round == 0   ? c->k + 1
				 : round == 1 ? c->k
					      : 1 + noise(state) % c->k;

		while (count > 0) {
			unsigned m = noise(state) % c->n;

			count -= !lost[m];
			lost[m] = true;
		}
		bad += !losses_right(&s, lost);
	}
	stripe_fini(&s);
	return bad;
}

TEST(large)
{
	static const struct code t[] = {
		{ CODE_RS, 16, 5 },   { CODE_RS, 64, 8 },
		{ CODE_RS, 200, 8 },  { CODE_RS, 255, 1 },
		{ CODE_RS, 170, 85 }, { CODE_RS, 129, 127 },
		{ CODE_XOR, 200, 1 }, { CODE_XOR, 255, 1 },
		{ CODE_RS, 24, 12 },  { CODE_RS, 11, 9 },
	};
	uint32_t state = 42;

	each (c, t) {
		const unsigned stripes[] = { 0, c->n / 2, c->n - 1 };
		auto_free unsigned char *rows = plain_rows(c);
		unsigned bad = 0;

		each (s, stripes)
			bad += random_losses(c, rows, *s, &state);
		is_int(bad, 0,
		       fmt("random losses, %s %u,%u",
			   c->type == CODE_XOR ? "XOR" : "RS", c->n, c->k));
	}
}

/* --- Chosen inputs --- */

/* Compute all outputs from the n - k inputs in `bits`. */
static bool
chosen_right(const struct stripe *s, unsigned bits)
{
	unsigned char in[8], out[8];
	unsigned nin = 0, nout = 0;
	auto_recipe *r = NULL;

	for (unsigned m = 0; m < s->code.n; m++)
		if (bits >> m & 1)
			in[nin++] = (unsigned char)m;
		else
			out[nout++] = (unsigned char)m;
	r = recipe_from(&s->code, s->number,
			&(struct recipe_members){ in, nin, out, nout }, NULL);
	return r != NULL && r->nin == nin && r->nout == nout &&
	       memcmp(r->in, in, nin) == 0 && memcmp(r->out, out, nout) == 0 &&
	       recipe_right(r, s);
}

TEST(chosen)
{
	unsigned bad = 0, tried = 0;

	for (unsigned n = 2; n <= 7; n++)
		for (unsigned k = 0; k <= 3 && k < n; k++) {
			/* k = 0 means XOR */
			const struct code c = { k ? CODE_RS : CODE_XOR, n,
						k ? k : 1 };
			auto_free unsigned char *rows = plain_rows(&c);
			struct stripe s;

			stripe_init(&s, &c, n / 2, rows, 33);
			for (unsigned bits = 0; bits < 1U << n; bits++)
				if ((unsigned)__builtin_popcount(bits) ==
				    n - c.k) {
					tried++;
					bad += !chosen_right(&s, bits);
				}
			stripe_fini(&s);
		}
	ok(tried > 100, "chosen inputs were tried");
	is_int(bad, 0, "all chosen inputs give all others");
}

TEST(chosen_misuse)
{
	static const struct {
		unsigned char in[8], out[8];
		unsigned nin, nout;
		const char *name;
	} t[] = {
		{ { 0, 1 }, { 3 }, 2, 1, "too few inputs" },
		{ { 0, 1, 2, 3 }, { 4 }, 4, 1, "too many inputs" },
		{ { 0, 1, 2 }, { 2 }, 3, 1, "a member in both" },
		{ { 0, 2, 1 }, { 3 }, 3, 1, "inputs not ascending" },
		{ { 0, 1, 1 }, { 3 }, 3, 1, "the same input twice" },
		{ { 0, 1, 5 }, { 3 }, 3, 1, "an input out of the set" },
		{ { 0, 1, 2 }, { 4, 3 }, 3, 2, "outputs not ascending" },
		{ { 0, 1, 2 }, { 3, 3 }, 3, 2, "the same output twice" },
		{ { 0, 1, 2 }, { 255 }, 3, 1, "an output out of the set" },
		{ { 0, 1, 2 }, { 3, 4 }, 3, 999, "too many outputs" },
	};
	const struct code c = { CODE_RS, 5, 2 }, bad = { CODE_RS, 2, 2 };

	for (size_t i = 0; i <= COUNT(t); i++) {
		const bool limit = i == COUNT(t);
		const struct recipe_members m =
			limit ? (struct recipe_members){ NULL, 0, NULL, 0 }
			      : (struct recipe_members){ t[i].in, t[i].nin,
							 t[i].out, t[i].nout };

		ok(recipe_from(limit ? &bad : &c, 0, &m, &why) == NULL &&
			   why.kind == (limit ? ERROR_CORRUPT : ERROR_USAGE),
		   limit ? "recipe_from() checks the limits" : t[i].name);
	}
}

int
main(void)
{
	fill_product();
	return tap_run();
}
