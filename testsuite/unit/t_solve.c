/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_solve.c - solve, stripe and compute together, in memory.  Random sets lose
 * random ranges.  Ranges that the solution calls computable must be computed
 * correctly; ranges it calls lost must exceed what the code tolerates.
 */
#include "encode/code.h"
#include "par.h"
#include "scheme/compute.h"
#include "scheme/scheme.h"
#include "scheme/solve.h"
#include "scratch.h"
#include "transfer/stripe.h"
#include "work.h"

#define N_MAX 9
#define BYTES_MAX 4000

struct world {
	enum redset_type type;
	unsigned n, k;
	uint64_t chunk;
	uint64_t bytes[N_MAX];
	unsigned char data[N_MAX][BYTES_MAX];
	unsigned char body[N_MAX][BYTES_MAX * 4];
	uint64_t body_len[N_MAX];
	/* The bytes that remain, and those that were computed again. */
	unsigned char left[N_MAX][BYTES_MAX], left_body[N_MAX][BYTES_MAX * 4];
	struct solve_member member[N_MAX];
	struct solve_range range[N_MAX][8];
	struct stripe_part dp[N_MAX][20], bp[N_MAX][1], op[N_MAX][8],
		obp[N_MAX][1];
	struct stripe d[N_MAX], b[N_MAX], od[N_MAX], ob[N_MAX];
};

static struct code
world_code(const struct world *w)
{
	return (struct code){
		.type = w->type == REDSET_RS ? CODE_RS : CODE_XOR,
		.n = w->n,
		.k = w->k,
	};
}

static unsigned char
data_at(const struct world *w, unsigned m, uint64_t off)
{
	return off < w->bytes[m] ? w->data[m][off] : 0;
}

/* Multiplication by repeated doubling, without tables or library code. */
static unsigned char
times(unsigned a, unsigned b)
{
	unsigned r = 0;

	for (; b; b >>= 1, a = a << 1 ^ (a & 0x80 ? 0x11d : 0))
		r ^= b & 1 ? a : 0;
	return (unsigned char)r;
}

static void
encode(struct world *w)
{
	const struct code c = world_code(w);

	memset(w->body, 0, sizeof(w->body));
	if (w->type == REDSET_PARTNER) {
		for (unsigned m = 0; m < w->n; m++) {
			w->body_len[m] = 0;
			for (unsigned d = 1; d <= w->k; d++) {
				unsigned x = (m + w->n - d) % w->n;

				memcpy(w->body[m] + w->body_len[m], w->data[x],
				       w->bytes[x]);
				w->body_len[m] += w->bytes[x];
			}
		}
		return;
	}
	for (unsigned m = 0; m < w->n; m++) {
		w->body_len[m] = w->k * w->chunk;
		for (unsigned row = 0; row < w->k; row++) {
			struct code_slot mine = { true, row };
			unsigned s = code_stripe(&c, m, mine);
			unsigned char *to = w->body[m] + row * w->chunk;
			bool lost[CODE_MAX] = { false };
			struct recipe *r = NULL;

			lost[m] = true;
			r = recipe_new(&c, s, lost, NULL);
			for (unsigned k = 0; k < r->nin; k++) {
				unsigned j = r->in[k];
				uint64_t at =
					code_slot(&c, j, s).index * w->chunk;

				for (uint64_t i = 0; i < w->chunk; i++)
					to[i] ^= times(r->matrix[k],
						       data_at(w, j, at + i));
			}
			recipe_free(r);
		}
	}
}

static void
make(struct world *w, enum redset_type type, unsigned n, unsigned k,
     uint64_t all)
{
	uint64_t longest = 0;

	memset(w, 0, sizeof(*w));
	w->type = type;
	w->n = n;
	w->k = k;
	for (unsigned m = 0; m < n; m++) {
		w->bytes[m] = all	   ? all
			      : rand() % 5 ? (uint64_t)rand() % 900
					   : 0;
		if (w->bytes[m] > longest)
			longest = w->bytes[m];
		for (uint64_t i = 0; i < w->bytes[m]; i++)
			w->data[m][i] = (unsigned char)rand();
	}
	if (type != REDSET_PARTNER) {
		const struct code c = world_code(w);

		w->chunk = code_chunk_size(&c, longest);
	}
	encode(w);
	memcpy(w->left, w->data, sizeof(w->left));
	memcpy(w->left_body, w->body, sizeof(w->left_body));
	for (unsigned m = 0; m < n; m++) {
		w->member[m].bytes = w->bytes[m];
		w->member[m].body = w->body_len[m];
		w->member[m].lost = w->range[m];
	}
}

static void
lose(struct world *w, unsigned m, uint64_t from, uint64_t to)
{
	struct solve_member *sm = &w->member[m];

	if (to > w->bytes[m])
		to = w->bytes[m];
	if (from >= to)
		return;
	w->range[m][sm->nlost++] = (struct solve_range){ from, to };
	memset(w->left[m] + from, 0xEE, to - from);
}

static void
lose_member(struct world *w, unsigned m)
{
	lose(w, m, 0, w->bytes[m]);
	w->member[m].body_lost = true;
	memset(w->left_body[m], 0xEE, w->body_len[m]);
}

static void
part(struct stripe *s, struct stripe_part *p, uint64_t start, uint64_t len,
     unsigned char *mem)
{
	s->parts = p;
	if (len > 0)
		p[s->nparts++] = (struct stripe_part){
			.start = start,
			.len = len,
			.mem = mem,
			.sum = STRIPE_NO_SUM,
		};
}

/* Strings to read from the remaining bytes, and to write the lost ones. */
static void
strings(struct world *w)
{
	for (unsigned m = 0; m < w->n; m++) {
		uint64_t at = 0;

		for (size_t i = 0; i <= w->member[m].nlost; i++) {
			bool last = i == w->member[m].nlost;
			uint64_t end = last ? w->bytes[m] : w->range[m][i].from;

			part(&w->d[m], w->dp[m], at, end - at, w->left[m] + at);
			if (last)
				break;
			at = w->range[m][i].to;
			part(&w->od[m], w->op[m], end, at - end,
			     w->left[m] + end);
		}
		part(w->member[m].body_lost ? &w->ob[m] : &w->b[m],
		     w->member[m].body_lost ? w->obp[m] : w->bp[m], 0,
		     w->body_len[m], w->left_body[m]);
	}
}

static struct solve_set
set_of(const struct world *w)
{
	return (struct solve_set){
		.type = w->type,
		.n = w->n,
		.failures = w->k,
		.chunk = w->chunk,
		.member = w->member,
	};
}

/* Solve and compute.  True if everything that is not called lost is right. */
static bool
run(struct world *w, struct par *par, size_t *nlost)
{
	const struct solve_set set = set_of(w);
	struct error err = ERROR_INIT;
	struct solution s;
	struct compute_set cs = { .solution = &s };
	struct compute_options o = {
		.work = &(struct work){ .par = par, .memory = 1 << 16 },
	};
	bool good = true;

	*nlost = 0;
	if (solve(&set, &s, &err) < 0)
		return false;
	strings(w);
	cs.data = w->d;
	cs.body = w->b;
	cs.new_data = w->od;
	cs.new_body = w->ob;
	if (compute(&cs, 1, &o, &err) < 0)
		good = false;
	for (size_t i = 0; i < s.nlost; i++) {
		const struct solve_lost *l = &s.lost[i];
		const uint64_t size =
			l->body ? w->body_len[l->member] : w->bytes[l->member];
		const uint64_t from = l->range.from;
		const uint64_t to = l->range.to < size ? l->range.to : size;

		/* Lost bytes are not compared. */
		if (from < to && l->body)
			memcpy(w->left_body[l->member] + from,
			       w->body[l->member] + from, to - from);
		else if (from < to)
			memcpy(w->left[l->member] + from,
			       w->data[l->member] + from, to - from);
	}
	*nlost = s.nlost;
	for (unsigned m = 0; m < w->n; m++)
		good &= memcmp(w->left[m], w->data[m], w->bytes[m]) == 0 &&
			memcmp(w->left_body[m], w->body[m], w->body_len[m]) ==
				0;
	solution_free(&s);
	return good;
}

/* Can PARTNER restore these members?  By definition of the scheme. */
static bool
partner_survives(const struct world *w, unsigned lost)
{
	for (unsigned x = 0; x < w->n; x++) {
		bool alive = !(lost >> x & 1) || w->bytes[x] == 0;

		for (unsigned d = 1; d <= w->k; d++)
			alive |= !(lost >> (x + d) % w->n & 1);
		if (!alive)
			return false;
	}
	return true;
}

static void
every_pattern(struct par *par, enum redset_type type, unsigned n, unsigned k)
{
	static struct world w;
	bool right = true, verdicts = true;
	size_t nlost = 0;

	for (unsigned lost = 1; lost < 1u << n; lost++) {
		/* Short strings have padding, which cannot be lost.  So more
		 * than k lost members are always too many only if all chunks
		 * are full. */
		const bool full = lost % 2;
		const bool few = (unsigned)__builtin_popcount(lost) <= k;

		make(&w, type, n, k, full ? 120 * (n - k) : 0);
		for (unsigned m = 0; m < n; m++)
			if (lost >> m & 1)
				lose_member(&w, m);
		right &= run(&w, par, &nlost);
		if (type == REDSET_PARTNER)
			verdicts &= (nlost == 0) == partner_survives(&w, lost);
		else if (few || full)
			verdicts &= (nlost == 0) == few;
	}
	ok(right, fmt("%s n=%u k=%u: every pattern of members",
		      redset_type_name(type), n, k));
	ok(verdicts,
	   fmt("%s n=%u k=%u: every verdict", redset_type_name(type), n, k));
}

static void
random_ranges(struct par *par, enum redset_type type, unsigned n, unsigned k)
{
	static struct world w;
	bool right = true;
	size_t nlost = 0, saved = 0;

	for (int round = 0; round < 300; round++) {
		make(&w, type, n, k, 0);
		for (unsigned m = 0; m < n; m++) {
			uint64_t at = (uint64_t)rand() % 300;

			if (rand() % 3 == 0 && w.body_len[m] > 0) {
				w.member[m].body_lost = true;
				memset(w.left_body[m], 0xEE, w.body_len[m]);
			}
			while (rand() % 2 && w.member[m].nlost < 8) {
				lose(&w, m, at, at + 1 + (uint64_t)rand() % 90);
				at += 100 + (uint64_t)rand() % 100;
			}
		}
		right &= run(&w, par, &nlost);
		saved += nlost == 0;
	}
	ok(right, fmt("%s n=%u k=%u: random ranges come back",
		      redset_type_name(type), n, k));
	ok(saved > 0 || k == 1, fmt("%s n=%u k=%u: some sets are saved whole",
				    redset_type_name(type), n, k));
}

/* Two members of an XOR set lack different bytes, and all can be computed. */
static void
two_small_losses(struct par *par)
{
	static struct world w;
	size_t nlost = 0;

	do
		make(&w, REDSET_XOR, 4, 1, 0);
	while (w.bytes[0] < 50 || w.bytes[2] < 50);
	lose(&w, 0, 0, 5);
	lose(&w, 2, 10, 15);
	ok(run(&w, par, &nlost) && nlost == 0,
	   "XOR: two members with small losses apart from each other");
}

static void
spares(void)
{
	static const struct {
		enum redset_type type;
		unsigned n, k, lost, spare;
	} cases[] = {
		{ REDSET_RS, 6, 3, 0, 3 },	{ REDSET_RS, 6, 3, 1, 2 },
		{ REDSET_RS, 6, 3, 3, 0 },	{ REDSET_PARTNER, 4, 1, 0, 1 },
		{ REDSET_PARTNER, 4, 1, 1, 0 },
	};
	static struct world w;
	struct solve_set set;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(&w, cases[i].type, cases[i].n, cases[i].k, 0);
		for (unsigned m = 1; m <= cases[i].lost; m++)
			w.member[m].body_lost = true;
		set = set_of(&w);
		is_int(scheme_of(set.type)->spare(&set), cases[i].spare,
		       fmt("%s, %u missing: spare", redset_type_name(set.type),
			   cases[i].lost));
	}
	set.type = REDSET_SINGLE;
	is_int(scheme_of(set.type)->spare(&set), 0, "SINGLE: none");
}

static void
misuse(void)
{
	static const struct {
		unsigned n, k;
		const char *what;
	} cases[] = {
		{ 200, 200, "k >= n is refused" },
		{ 300, 2, "a set beyond the field is refused" },
	};
	static struct world w;

	for (size_t i = 0; i < 2; i++) {
		struct solve_set set = { .type = REDSET_RS,
					 .n = cases[i].n,
					 .failures = cases[i].k,
					 .chunk = 1,
					 .member = w.member };
		struct error err = ERROR_INIT;
		struct solution s;

		ok(solve(&set, &s, &err) < 0 && err.kind == ERROR_CORRUPT,
		   cases[i].what);
	}
}

static int
solve_once(void *arg, struct error *err)
{
	struct solution s;
	int rc = solve(arg, &s, err);

	if (rc == 0)
		solution_free(&s);
	return rc;
}

static void
no_memory(void)
{
	static struct world w;
	struct solve_set set;

	make(&w, REDSET_RS, 5, 2, 0);
	lose_member(&w, 1);
	lose_member(&w, 3);
	set = set_of(&w);
	ok(fail_each_alloc(solve_once, &set) > 3,
	   "every allocation that fails is reported");
}

int
main(void)
{
	struct par *par = par_new(2, NULL);

	srand(4711);
	for (unsigned n = 2; n <= 6; n++)
		every_pattern(par, REDSET_XOR, n, 1);
	for (unsigned n = 3; n <= 7; n++)
		for (unsigned k = 1; k <= 3 && k < n; k++)
			every_pattern(par, REDSET_RS, n, k);
	for (unsigned n = 2; n <= 6; n++)
		for (unsigned k = 1; k <= 2 && k < n; k++)
			every_pattern(par, REDSET_PARTNER, n, k);
	random_ranges(par, REDSET_XOR, 5, 1);
	random_ranges(par, REDSET_RS, 6, 2);
	random_ranges(par, REDSET_RS, 8, 3);
	random_ranges(par, REDSET_PARTNER, 5, 1);
	random_ranges(par, REDSET_PARTNER, 6, 2);
	two_small_losses(par);
	spares();
	misuse();
	no_memory();
	par_free(par);
	return tap_done();
}
