/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_compute.c - running jobs: the same bytes for any number of threads, memory
 * limit and block size; and errors on the way.  (t_solve tests which jobs a
 * loss needs, t_rebuild progress and failing allocations.)
 */
#include "scheme/compute.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "arena.h"
#include "crc.h"
#include "par.h"
#include "scheme/solve.h"
#include "scratch.h"
#include "work.h"

#define MEMBERS 300 /* maximum */

/* A set in memory with some members lost. */
struct set {
	enum redset_type type;
	uint32_t n, failures;
	uint64_t bytes, chunk; /* of each data string */
	struct arena *arena;
	unsigned char *data[MEMBERS], *body[MEMBERS];
	uint64_t body_size;
	struct solve_member member[MEMBERS];
	struct solve_range whole;
	struct solution solution;
	struct stripe_part parts[4][MEMBERS];
	struct stripe in[MEMBERS], in_body[MEMBERS];
	struct stripe out[MEMBERS], out_body[MEMBERS];
	unsigned char *new_data[MEMBERS], *new_body[MEMBERS];
};

static void
string(struct set *s, struct stripe *to, int kind, uint32_t m,
       unsigned char *mem, uint64_t len)
{
	s->parts[kind][m] = (struct stripe_part){
		.len = len,
		.mem = mem,
		.sum = kind == 0 || kind == 2 ? m : STRIPE_NO_SUM,
	};
	to[m] = (struct stripe){ len > 0, &s->parts[kind][m] };
}

/* XOR of two data strings and their parity stands for all codes: member m's
 * body is the parity of stripe m (formats.md 5.6). */
static void
encode(struct set *s)
{
	for (uint32_t m = 0; m < s->n; m++) {
		s->body[m] = arena_alloc(s->arena, s->body_size, 1);
		for (uint32_t d = 1;
		     s->type == REDSET_PARTNER && d <= s->failures; d++)
			memcpy(s->body[m] + (d - 1) * s->bytes,
			       s->data[(m + s->n - d) % s->n], s->bytes);
		for (uint32_t j = 0; s->type == REDSET_XOR && j < s->n; j++) {
			uint64_t at = (m < j ? m : m - 1) * s->chunk;

			for (uint64_t i = 0; j != m && i < s->chunk; i++)
				s->body[m][i] ^= s->data[j][at + i];
		}
	}
}

static void
make(struct set *s, enum redset_type type, uint32_t n, uint32_t failures,
     uint64_t bytes)
{
	memset(s, 0, sizeof(*s));
	s->type = type;
	s->n = n;
	s->failures = failures;
	s->bytes = bytes;
	s->chunk = type == REDSET_XOR ? bytes / (n - 1) : 0;
	s->body_size = type == REDSET_XOR ? s->chunk : failures * bytes;
	s->whole = (struct solve_range){ 0, bytes };
	s->arena = arena_new();
	for (uint32_t m = 0; m < n; m++) {
		s->data[m] = arena_alloc(s->arena, bytes, 1);
		s->new_data[m] = arena_alloc(s->arena, bytes, 1);
		s->new_body[m] = arena_alloc(s->arena, s->body_size, 1);
		for (uint64_t i = 0; i < bytes; i++)
			s->data[m][i] =
				(unsigned char)(i * 31 + m * 17 + i / 4096 + 1);
	}
	encode(s);
	for (uint32_t m = 0; m < n; m++) {
		s->member[m].bytes = bytes;
		s->member[m].body = s->body_size;
		string(s, s->in, 0, m, s->data[m], bytes);
		string(s, s->in_body, 1, m, s->body[m], s->body_size);
		string(s, s->out, 2, m, s->new_data[m], bytes);
		string(s, s->out_body, 3, m, s->new_body[m], s->body_size);
	}
}

static void
lose(struct set *s, uint32_t m)
{
	s->member[m].body_lost = true;
	s->member[m].nlost = 1;
	s->member[m].lost = &s->whole;
	/* A job that read the lost member would get zeros. */
	s->in[m].nparts = s->in_body[m].nparts = 0;
}

static struct compute_set
solved(struct set *s)
{
	const struct solve_set set = {
		.type = s->type,
		.n = s->n,
		.failures = s->failures,
		.chunk = s->chunk,
		.member = s->member,
	};

	must(solve(&set, &s->solution, NULL) == 0);
	must(s->solution.nlost == 0);
	return (struct compute_set){ &s->solution, s->in, s->in_body, s->out,
				     s->out_body };
}

/* XOR of three, one lost; solved. */
static struct compute_set
one_lost(struct set *s, uint64_t bytes)
{
	make(s, REDSET_XOR, 3, 1, bytes);
	lose(s, 0);
	return solved(s);
}

static bool
came_back(const struct set *s)
{
	bool good = true;

	for (uint32_t m = 0; m < s->n; m++)
		if (s->member[m].body_lost)
			good &= memcmp(s->data[m], s->new_data[m], s->bytes) ==
					0 &&
				memcmp(s->body[m], s->new_body[m],
				       s->body_size) == 0;
	return good;
}

static void
end(struct set *s)
{
	solution_free(&s->solution);
	arena_free(s->arena);
}

/* Blocks of all sizes, one thread and several, checksums of inputs and outputs,
 * three sets at once. */
static void
shapes(unsigned threads)
{
	static const uint64_t memory[] = { 0, 1, 65536, 3 << 20,
					   UINT64_C(1) << 50 };
	static struct set a, b, c;
	struct par *par = par_new(threads, NULL);
	bool good = true, sums_good = true;

	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		struct stripe_sum in[4], out[4];
		struct compute_options o = {
			.work = &(struct work){ .par = par,
						.memory = memory[i] },
			.sums = in,
			.new_sums = out,
		};
		struct compute_set sets[3];

		memset(in, 0, sizeof(in));
		memset(out, 0, sizeof(out));
		make(&a, REDSET_XOR, 3, 1, 600000);
		make(&b, REDSET_PARTNER, 4, 2, 50001);
		make(&c, REDSET_XOR, 4, 1, 3);
		for (uint32_t m = 0; m < 4; m++)
			in[m].size = out[m].size = a.bytes;
		lose(&a, 1);
		lose(&b, 0);
		lose(&b, 3);
		lose(&c, 2);
		/* Checksums of one set; its member numbers are those of the
		 * other sets, too. */
		for (uint32_t m = 0; m < 4; m++)
			b.parts[0][m].sum = b.parts[2][m].sum =
				c.parts[0][m].sum = c.parts[2][m].sum =
					STRIPE_NO_SUM;
		sets[0] = solved(&a);
		sets[1] = solved(&b);
		sets[2] = solved(&c);
		good &= compute(sets, 3, &o, NULL) == 0;
		good &= came_back(&a) && came_back(&b) && came_back(&c);
		for (uint32_t m = 0; m < 3; m++) {
			struct stripe_sum *s = m == 1 ? &out[m] : &in[m];

			sums_good &=
				s->seen == a.bytes &&
				s->crc == crc_update(0, a.data[m], a.bytes);
		}
		end(&a);
		end(&b);
		end(&c);
	}
	ok(good,
	   fmt("all comes back, whatever the memory, %u threads", threads));
	ok(sums_good, "with the checksums of what was read and written");
	par_free(par);
}

/* A copy can go to more places than a code has outputs. */
static void
many_replicas(void)
{
	static struct set s;
	const struct compute_options o = { .work = NULL };
	struct compute_set set;

	make(&s, REDSET_PARTNER, 300, 299, 40);
	for (uint32_t m = 1; m < 300; m++)
		lose(&s, m);
	/* The only remaining member has all the copies. */
	set = solved(&s);
	ok(compute(&set, 1, &o, NULL) == 0 && came_back(&s),
	   "PARTNER: 299 members out of one");
	end(&s);
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
	static struct set s;
	struct par *par = par_new(threads, NULL);
	const struct compute_options o = {
		.work = &(struct work){ .par = par,
					.memory = 1,
					.stop = stop_late },
	};
	struct error err = ERROR_INIT;
	struct compute_set set;

	calls = 0;
	set = one_lost(&s, 600000);
	ok(compute(&set, 1, &o, &err) < 0 && err.kind == ERROR_SYSTEM &&
		   err.errnum == EINTR,
	   "asked to stop, it stops");
	ok(calls > 10 && calls < 20, "it stops soon");
	ok(!came_back(&s), "before the end");
	end(&s);
	par_free(par);
}

static void
bad_files(void)
{
	static struct set s;
	char root[96] = "";
	const struct compute_options o = { .work = NULL };
	struct error err = ERROR_INIT;
	struct compute_set set;
	int fd = -1;

	scratch_dir(root, sizeof(root));
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	set = one_lost(&s, 1000);
	s.parts[0][1].mem = NULL;
	s.parts[0][1].dirfd = fd;
	s.parts[0][1].path = "input";
	ok(compute(&set, 1, &o, &err) < 0 && err.kind == ERROR_ABSENT &&
		   says(&err, "input"),
	   "an input that is missing is named");
	write_file(fmt("%s/input", root), s.data[1], s.bytes);
	ok(compute(&set, 1, &o, NULL) == 0 && came_back(&s),
	   "once it is there all is well");
	s.parts[2][0].mem = NULL;
	s.parts[2][0].dirfd = fd;
	s.parts[2][0].path = "output";
	ok(compute(&set, 1, &o, &err) < 0 && err.kind == ERROR_ABSENT &&
		   says(&err, "output"),
	   "an output that was not prepared is named");
	end(&s);
	close(fd);
	remove_tree(root);
}

/* With few descriptors and with many. */
static void
descriptors(void)
{
	static const rlim_t limits[] = { 40, 300 };
	static struct set s;
	struct rlimit old, now;
	const struct compute_options o = { .work = NULL };
	struct compute_set set;
	bool good = true;

	must(getrlimit(RLIMIT_NOFILE, &old) == 0);
	for (size_t i = 0; i < 3; i++) {
		now = old;
		now.rlim_cur = i < 2 ? limits[i] : old.rlim_max;
		must(setrlimit(RLIMIT_NOFILE, &now) == 0);
		set = one_lost(&s, 1000);
		good &= compute(&set, 1, &o, NULL) == 0 && came_back(&s);
		end(&s);
	}
	must(setrlimit(RLIMIT_NOFILE, &old) == 0);
	ok(good, "the limit of open files does not matter");
}

int
main(void)
{
	umask(022);
	shapes(1);
	shapes(4);
	many_replicas();
	stopping(1);
	stopping(4);
	bad_files();
	descriptors();
	return tap_done();
}
