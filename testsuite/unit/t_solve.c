/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which jobs a loss needs, and running them: the same bytes for any number of
 * threads, memory limit and block size; errors on the way.  (t_rebuild tests
 * progress and failing allocations.)
 */
#include "scheme/scheme.h"
#include "world.h"

/* Solve and compute. */
static bool
run(struct world *w, struct par *par)
{
	const struct compute_options o = {
		.work = &(struct work){ .par = par, .memory = 1 << 16 },
	};
	const struct compute_set set = world_solved(w);

	return compute(&set, 1, &o, NULL) == 0 && world_came_back(w);
}

/* Can PARTNER restore these members?  By definition of the scheme. */
static bool
partner_survives(const struct world *w, unsigned lost)
{
	for (unsigned x = 0; x < w->n; x++) {
		bool alive = !(lost >> x & 1) || w->member[x].bytes == 0;

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

	for (unsigned lost = 1; lost < 1u << n; lost++) {
		/* Short strings have padding, which cannot be lost.  So more
		 * than k lost members are always too many only if all chunks
		 * are full. */
		const bool full = lost % 2;
		const bool few = (unsigned)__builtin_popcount(lost) <= k;

		world_make(&w, type, n, k, full ? 120 * (n - k) : 0);
		for (unsigned m = 0; m < n; m++)
			if (lost >> m & 1)
				world_lose_member(&w, m);
		right &= run(&w, par);
		if (type == REDSET_PARTNER)
			verdicts &= (w.solution.nlost == 0) ==
				    partner_survives(&w, lost);
		else if (few || full)
			verdicts &= (w.solution.nlost == 0) == few;
	}
	world_end(&w);
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
	size_t saved = 0;

	for (int round = 0; round < 300; round++) {
		world_make(&w, type, n, k, 0);
		for (unsigned m = 0; m < n; m++) {
			uint64_t at = below(300);

			if (below(3) == 0 && w.member[m].body > 0)
				world_lose_body(&w, m);
			while (below(2) && w.member[m].nlost < 8) {
				world_lose(&w, m, at, at + 1 + below(90));
				at += 100 + below(100);
			}
		}
		right &= run(&w, par);
		saved += w.solution.nlost == 0;
	}
	world_end(&w);
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

	do
		world_make(&w, REDSET_XOR, 4, 1, 0);
	while (w.member[0].bytes < 50 || w.member[2].bytes < 50);
	world_lose(&w, 0, 0, 5);
	world_lose(&w, 2, 10, 15);
	ok(run(&w, par) && w.solution.nlost == 0,
	   "XOR: two members with small losses apart from each other");
	world_end(&w);
}

TEST(spares)
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

	each (c, cases) {
		world_make(&w, c->type, c->n, c->k, 0);
		for (unsigned m = 1; m <= c->lost; m++)
			w.member[m].body_lost = true;
		set = world_set(&w);
		is_int(scheme_of(set.type)->spare(&set), c->spare,
		       fmt("%s, %u missing: spare", redset_type_name(set.type),
			   c->lost));
	}
	set.type = REDSET_SINGLE;
	set.failures = 0;
	is_int(scheme_of(set.type)->spare(&set), 0, "SINGLE: none");
	world_end(&w);
}

TEST(misuse)
{
	static const struct {
		unsigned n, k;
		const char *what;
	} cases[] = {
		{ 200, 200, "k >= n is refused" },
		{ 300, 2, "a set beyond the field is refused" },
	};
	static struct solve_member members[300];

	for (size_t i = 0; i < 2; i++) {
		struct solve_set set = { .type = REDSET_RS,
					 .n = cases[i].n,
					 .failures = cases[i].k,
					 .chunk = 1,
					 .member = members };
		struct solution s;

		refuses(solve(&set, &s, &why), ERROR_CORRUPT, NULL,
			cases[i].what);
	}
}

TEST(no_memory)
{
	static struct world w;
	struct solve_set set;

	world_make(&w, REDSET_RS, 5, 2, 0);
	world_lose_member(&w, 1);
	world_lose_member(&w, 3);
	set = world_set(&w);
	without_memory (m, 4, "every allocation that fails is reported") {
		struct solution s;

		m.rc = solve(&set, &s, &m.err);
		if (m.rc == 0)
			solution_free(&s);
	}
	world_end(&w);
}

TEST(patterns)
{
	auto_par *par = par_new(2, NULL);

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
}

/* --- Running --- */

/* Blocks of all sizes, one thread and several, checksums of inputs and outputs,
 * three sets at once. */
static void
shapes(unsigned threads)
{
	static const uint64_t memory[] = { 0, 1, 65536, 3 << 20,
					   UINT64_C(1) << 50 };
	static struct world a, b, c;
	auto_par *par = par_new(threads, NULL);
	bool good = true, sums_good = true;

	for (size_t i = 0; i < COUNT(memory); i++) {
		struct stripe_sum in[3], out[3];
		const struct compute_options o = {
			.work = &(struct work){ .par = par,
						.memory = memory[i] },
			.sums = in,
			.new_sums = out,
		};
		struct compute_set sets[3];

		memset(in, 0, sizeof(in));
		memset(out, 0, sizeof(out));
		world_make(&a, REDSET_XOR, 3, 1, 600000);
		world_make(&b, REDSET_PARTNER, 4, 2, 50001);
		world_make(&c, REDSET_XOR, 4, 1, 3);
		world_lose_member(&a, 1);
		world_lose_member(&b, 0);
		world_lose_member(&b, 3);
		world_lose_member(&c, 2);
		sets[0] = world_solved(&a);
		sets[1] = world_solved(&b);
		sets[2] = world_solved(&c);
		/* Checksums of one set. */
		for (unsigned m = 0; m < 3; m++) {
			in[m].size = out[m].size = 600000;
			a.s[m].parts[0].sum = a.s[m].new_parts[0].sum = m;
		}
		good &= compute(sets, 3, &o, NULL) == 0;
		good &= world_came_back(&a) && world_came_back(&b) &&
			world_came_back(&c);
		for (unsigned m = 0; m < 3; m++) {
			const struct stripe_sum *s = m == 1 ? &out[m] : &in[m];

			sums_good &=
				s->seen == 600000 &&
				s->crc == crc_update(0, a.s[m].data, 600000);
		}
	}
	world_end(&a);
	world_end(&b);
	world_end(&c);
	ok(good,
	   fmt("all comes back, whatever the memory, %u threads", threads));
	ok(sums_good, "with the checksums of what was read and written");
}

static const struct compute_options no_options = { .work = NULL };

/* A copy can go to more places than a code has outputs. */
TEST(compute_many_replicas)
{
	static struct world w;
	struct compute_set set;

	world_make(&w, REDSET_PARTNER, 300, 299, 40);
	for (unsigned m = 1; m < 300; m++)
		world_lose_member(&w, m);
	/* The only remaining member has all the copies. */
	set = world_solved(&w);
	ok(w.solution.nlost == 0 && compute(&set, 1, &no_options, NULL) == 0 &&
		   world_came_back(&w),
	   "PARTNER: 299 members out of one");
	world_end(&w);
}

/* XOR of three, one lost; solved. */
static struct compute_set
one_lost(struct world *w, uint64_t bytes)
{
	world_make(w, REDSET_XOR, 3, 1, bytes);
	world_lose_member(w, 0);
	return world_solved(w);
}

static void
stopping(unsigned threads)
{
	static struct world w;
	auto_par *par = par_new(threads, NULL);
	const struct compute_options o = {
		.work = &(struct work){ .par = par,
					.memory = 1,
					.stop = is_stopped },
	};
	struct compute_set set;

	stop_after = 10;
	set = one_lost(&w, 600000);
	refuses(compute(&set, 1, &o, &why), -EINTR, NULL,
		"asked to stop, it stops");
	ok(stop_after < 0 && stop_after > -10, "it stops soon");
	ok(!world_came_back(&w), "before the end");
	world_end(&w);
}

TEST(compute_bad_files)
{
	static struct world w;
	struct compute_set set;
	const int fd = scratch_fd();

	set = one_lost(&w, 1000);
	w.s[1].parts[0].mem = NULL;
	w.s[1].parts[0].dirfd = fd;
	w.s[1].parts[0].path = "input";
	refuses(compute(&set, 1, &no_options, &why), ERROR_ABSENT, "input",
		"an input that is missing is named");
	write_file(here("input"), w.s[1].data, 1000);
	ok(compute(&set, 1, &no_options, NULL) == 0 && world_came_back(&w),
	   "once it is there all is well");
	w.s[0].new_parts[0].mem = NULL;
	w.s[0].new_parts[0].dirfd = fd;
	w.s[0].new_parts[0].path = "output";
	refuses(compute(&set, 1, &no_options, &why), ERROR_ABSENT, "output",
		"an output that was not prepared is named");
	world_end(&w);
}

/* With few descriptors and with many. */
TEST(compute_descriptors)
{
	static const rlim_t limits[] = { 40, 300 };
	static struct world w;
	struct rlimit old, now;
	struct compute_set set;
	bool good = true;

	must(getrlimit(RLIMIT_NOFILE, &old) == 0);
	for (size_t i = 0; i < 3; i++) {
		now = old;
		now.rlim_cur = i < 2 ? limits[i] : old.rlim_max;
		must(setrlimit(RLIMIT_NOFILE, &now) == 0);
		set = one_lost(&w, 1000);
		good &= compute(&set, 1, &no_options, NULL) == 0 &&
			world_came_back(&w);
		world_end(&w);
	}
	must(setrlimit(RLIMIT_NOFILE, &old) == 0);
	ok(good, "the limit of open files does not matter");
}

TEST(compute_shapes)
{
	shapes(1);
	shapes(4);
	stopping(1);
	stopping(4);
}
