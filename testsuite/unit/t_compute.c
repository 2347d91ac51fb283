/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_compute.c - running jobs: the same bytes for any number of threads, memory
 * limit and block size; and errors on the way.  (t_solve tests which jobs a
 * loss needs, t_rebuild progress and failing allocations.)
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "crc.h"
#include "par.h"
#include "work.h"
#include "world.h"

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

static const struct compute_options plain = { .work = NULL };

/* A copy can go to more places than a code has outputs. */
TEST(many_replicas)
{
	static struct world w;
	struct compute_set set;

	world_make(&w, REDSET_PARTNER, 300, 299, 40);
	for (unsigned m = 1; m < 300; m++)
		world_lose_member(&w, m);
	/* The only remaining member has all the copies. */
	set = world_solved(&w);
	ok(w.solution.nlost == 0 && compute(&set, 1, &plain, NULL) == 0 &&
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

static atomic_int calls;

static bool
stop_late(void)
{
	return ++calls > 10;
}

static void
stopping(unsigned threads)
{
	static struct world w;
	auto_par *par = par_new(threads, NULL);
	const struct compute_options o = {
		.work = &(struct work){ .par = par,
					.memory = 1,
					.stop = stop_late },
	};
	struct compute_set set;

	calls = 0;
	set = one_lost(&w, 600000);
	refuses(compute(&set, 1, &o, &why), -EINTR, NULL,
		"asked to stop, it stops");
	ok(calls > 10 && calls < 20, "it stops soon");
	ok(!world_came_back(&w), "before the end");
	world_end(&w);
}

TEST(bad_files)
{
	static struct world w;
	char root[96] = "";
	struct compute_set set;
	auto_fd int fd = -1;

	scratch_dir(root, sizeof(root));
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	set = one_lost(&w, 1000);
	w.s[1].parts[0].mem = NULL;
	w.s[1].parts[0].dirfd = fd;
	w.s[1].parts[0].path = "input";
	refuses(compute(&set, 1, &plain, &why), ERROR_ABSENT, "input",
		"an input that is missing is named");
	write_file(fmt("%s/input", root), w.s[1].data, 1000);
	ok(compute(&set, 1, &plain, NULL) == 0 && world_came_back(&w),
	   "once it is there all is well");
	w.s[0].new_parts[0].mem = NULL;
	w.s[0].new_parts[0].dirfd = fd;
	w.s[0].new_parts[0].path = "output";
	refuses(compute(&set, 1, &plain, &why), ERROR_ABSENT, "output",
		"an output that was not prepared is named");
	world_end(&w);
	remove_tree(root);
}

/* With few descriptors and with many. */
TEST(descriptors)
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
		good &= compute(&set, 1, &plain, NULL) == 0 &&
			world_came_back(&w);
		world_end(&w);
	}
	must(setrlimit(RLIMIT_NOFILE, &old) == 0);
	ok(good, "the limit of open files does not matter");
}

TEST(shapes)
{
	shapes(1);
	shapes(4);
	stopping(1);
	stopping(4);
}
