/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_code - the cost of recipe_run() compared to direct calls of ISA-L with
 * the same buffers and tables.  Prints one line for each case, tab separated:
 *
 *   name, block bytes, our input in GB/s, raw ISA-L's, ratio ours : raw, ratio
 *   raw : raw, which differs from 1 only by noise.
 *
 * Times are processor times of one thread.  The two sides of a pair run in
 * turn; rates and ratios are medians of PAIRS.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <isa-l.h>

#include "encode/code.h"
#include "error.h"
#include "mem.h"

#define PAIRS 5
#define SAMPLE_SECONDS 0.04
#define VECTORS_MAX 32

struct bench {
	const char *name;
	struct code code;
	bool repair; /* lose the first k members, else the check chunks */
};

static const struct bench benches[] = {
	{ "xor of 7", { CODE_XOR, 8, 1 }, false },
	{ "rs 8+1", { CODE_RS, 9, 1 }, false },
	{ "rs 8+2", { CODE_RS, 10, 2 }, false },
	{ "rs 8+3", { CODE_RS, 11, 3 }, false },
	{ "rs 8+8", { CODE_RS, 16, 8 }, false },
	{ "rs 8+2 repair", { CODE_RS, 10, 2 }, true },
	{ "rs 8+3 repair", { CODE_RS, 11, 3 }, true },
};

static const size_t blocks[] = { 64 << 10, 4 << 20 };

/* A recipe and its buffers. */
struct work {
	struct recipe *recipe;
	size_t block;
	void *in[VECTORS_MAX], *out[VECTORS_MAX];
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
run_ours(const struct work *w)
{
	recipe_run(w->recipe, w->block, w->in, w->out);
}

static void
run_raw(const struct work *w)
{
	const struct recipe *r = w->recipe;

	if (r->all_ones) {
		void *vec[VECTORS_MAX + 1];

		memcpy(vec, w->in, r->nin * sizeof(*vec));
		vec[r->nin] = w->out[0];
		xor_gen((int)r->nin + 1, (int)w->block, vec);
	} else {
		ec_encode_data((int)w->block, (int)r->nin, (int)r->nout,
			       r->tables, (unsigned char **)w->in,
			       (unsigned char **)w->out);
	}
}

/* Input in GB/s over `times` runs. */
static double
rate(void (*run)(const struct work *), const struct work *w, long times)
{
	double start = now(), seconds = 0;

	for (long i = 0; i < times; i++)
		run(w);
	seconds = now() - start;
	return (double)times * (double)w->block * w->recipe->nin / seconds *
	       1e-9;
}

/* The number of runs for a sample; also warms up. */
static long
calibrate(const struct work *w)
{
	long times = 1;

	for (;;) {
		double start = now();

		for (long i = 0; i < times; i++)
			run_raw(w);
		if (now() - start >= SAMPLE_SECONDS)
			return times;
		times *= 2;
	}
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *v)
{
	qsort(v, PAIRS, sizeof(*v), compare);
	return v[PAIRS / 2];
}

static void
measure(const char *name, const struct work *w)
{
	double ours[PAIRS], raw[PAIRS], ratio[PAIRS], noise[PAIRS];
	long times = calibrate(w);

	for (int i = 0; i < PAIRS; i++) {
		ours[i] = rate(run_ours, w, times);
		raw[i] = rate(run_raw, w, times);
		ratio[i] = ours[i] / raw[i];
	}
	for (int i = 0; i < PAIRS; i++) {
		noise[i] = rate(run_raw, w, times);
		noise[i] /= rate(run_raw, w, times);
	}
	printf("%s\t%zu\t%.1f\t%.1f\t%.3f\t%.3f\n", name, w->block,
	       median(ours), median(raw), median(ratio), median(noise));
	fflush(stdout);
}

/* A filled buffer with the alignment that callers use. */
static void *
buffer(size_t size, int fill)
{
	void *p = mem_aligned(CODE_ALIGN, size);

	return p != NULL ? memset(p, fill, size) : NULL;
}

static int
bench(const struct bench *b, size_t block, struct error *err)
{
	struct work w = { NULL, block, { NULL }, { NULL } };
	bool lost[CODE_MAX] = { false };
	int rc = -1;

	for (unsigned m = 0; m < b->code.n; m++)
		lost[m] = b->repair ? m < b->code.k
				    : code_slot(&b->code, m, 0).check;
	w.recipe = recipe_new(&b->code, 0, lost, err);
	if (w.recipe == NULL)
		goto out;
	for (unsigned i = 0; i < w.recipe->nin; i++)
		if ((w.in[i] = buffer(block, (int)(i * 37 + 1))) == NULL)
			goto nomem;
	for (unsigned i = 0; i < w.recipe->nout; i++)
		if ((w.out[i] = buffer(block, 0)) == NULL)
			goto nomem;
	measure(b->name, &w);
	rc = 0;
	goto out;
nomem:
	error_set(err, ERROR_NOMEM, "out of memory");
out:
	for (unsigned i = 0; i < VECTORS_MAX; i++) {
		mem_free(w.in[i]);
		mem_free(w.out[i]);
	}
	recipe_free(w.recipe);
	return rc;
}

/* Microseconds to make a recipe, of which a rebuild makes one for each stripe
 * and pattern of losses. */
static int
bench_recipe(unsigned n, unsigned k, struct error *err)
{
	const struct code c = { CODE_RS, n, k };
	bool lost[CODE_MAX] = { false };
	double start = now(), seconds = 0;
	long times = 0;

	memset(lost, true, k);
	do {
		struct recipe *r = recipe_new(&c, n / 2, lost, err);

		if (r == NULL)
			return -1;
		recipe_free(r);
		times++;
		seconds = now() - start;
	} while (seconds < SAMPLE_SECONDS * PAIRS);
	printf("# recipe_new n=%u k=%u\t%.2f us\n", n, k,
	       seconds / (double)times * 1e6);
	return 0;
}

int
main(void)
{
	static const unsigned sets[][2] = {
		{ 8, 1 }, { 8, 3 }, { 32, 4 }, { 128, 8 }, { 170, 85 },
	};
	struct error err = ERROR_INIT;

	printf("# name\tblock\tours GB/s\traw GB/s\tours:raw\traw:raw\n");
	for (size_t i = 0; i < sizeof(benches) / sizeof(*benches); i++)
		for (size_t j = 0; j < sizeof(blocks) / sizeof(*blocks); j++)
			if (bench(&benches[i], blocks[j], &err) < 0)
				goto failed;
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (bench_recipe(sets[i][0], sets[i][1], &err) < 0)
			goto failed;
	return 0;
failed:
	fprintf(stderr, "bench_code: %s\n", err.text);
	return 1;
}
