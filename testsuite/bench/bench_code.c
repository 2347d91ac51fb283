/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_code - the cost of recipe_run() compared to direct calls of ISA-L with
 * the same buffers and tables, and of field16_dot() compared to a copy of its
 * inputs and to field_dot().  Prints one line for each case, tab separated:
 *
 *   name, block bytes, our input in GB/s, the other's, ratio ours : other, and
 *   other : other, which differs from 1 only by noise.
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

#include "common.h"
#include "encode/code.h"
#include "encode/field.h"
#include "encode/field16.h"
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
static const size_t wide[] = { 64 << 10, 64 << 20 };

/* Buffers, and a recipe or matrices. */
struct work {
	struct recipe *recipe;
	struct field_matrix byte;
	struct field16_matrix word;
	unsigned nin;
	size_t block;
	void *in[VECTORS_MAX], *out[VECTORS_MAX];
};

static double
spent(void)
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

static void
run_words(const struct work *w)
{
	field16_dot(&w->word, w->block, w->in, w->out);
}

static void
run_bytes(const struct work *w)
{
	field_dot(&w->byte, 0, w->block, w->in, w->out);
}

static void
run_copy(const struct work *w)
{
	for (unsigned i = 0; i < w->nin; i++)
		memcpy(w->out[i % w->word.nout], w->in[i], w->block);
}

typedef void run_fn(const struct work *w);

/* Input in GB/s over `times` runs. */
static double
rate(run_fn *run, const struct work *w, long times)
{
	double start = spent(), seconds = 0;

	for (long i = 0; i < times; i++)
		run(w);
	seconds = spent() - start;
	return (double)times * (double)w->block * w->nin / seconds * 1e-9;
}

/* The number of runs for a sample; also warms up. */
static long
calibrate(run_fn *run, const struct work *w)
{
	long times = 1;

	for (;;) {
		double start = spent();

		for (long i = 0; i < times; i++)
			run(w);
		if (spent() - start >= SAMPLE_SECONDS)
			return times;
		times *= 2;
	}
}

static void
measure(const char *name, const struct work *w, run_fn *run, run_fn *other)
{
	double ours[PAIRS], raw[PAIRS], ratio[PAIRS], noise[PAIRS];
	long times = calibrate(other, w);

	for (int i = 0; i < PAIRS; i++) {
		ours[i] = rate(run, w, times);
		raw[i] = rate(other, w, times);
		ratio[i] = ours[i] / raw[i];
	}
	for (int i = 0; i < PAIRS; i++) {
		noise[i] = rate(other, w, times);
		noise[i] /= rate(other, w, times);
	}
	printf("%s\t%zu\t%.1f\t%.1f\t%.3f\t%.3f\n", name, w->block,
	       median(ours, PAIRS), median(raw, PAIRS), median(ratio, PAIRS),
	       median(noise, PAIRS));
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
buffers(struct work *w, unsigned nin, unsigned nout, struct error *err)
{
	w->nin = nin;
	for (unsigned i = 0; i < nin; i++)
		if ((w->in[i] = buffer(w->block, (int)(i * 37 + 1))) == NULL)
			return error_no_memory(err);
	for (unsigned i = 0; i < nout; i++)
		if ((w->out[i] = buffer(w->block, 0)) == NULL)
			return error_no_memory(err);
	return 0;
}

static void
buffers_free(struct work *w)
{
	for (unsigned i = 0; i < VECTORS_MAX; i++) {
		mem_free(w->in[i]);
		mem_free(w->out[i]);
	}
}

static int
bench(const struct bench *b, size_t block, struct error *err)
{
	struct work w = { .block = block };
	bool lost[CODE_MAX] = { false };
	int rc = -1;

	for (unsigned m = 0; m < b->code.n; m++)
		lost[m] = b->repair ? m < b->code.k
				    : code_slot(&b->code, m, 0).check;
	w.recipe = recipe_new(&b->code, 0, lost, err);
	if (w.recipe == NULL)
		goto out;
	rc = buffers(&w, w.recipe->nin, w.recipe->nout, err);
	if (rc == 0)
		measure(b->name, &w, run_ours, run_raw);
out:
	buffers_free(&w);
	recipe_free(w.recipe);
	return rc;
}

/* Multiplication of words: the rates of both ways. */
static int
bench_words(unsigned nin, unsigned nout, size_t block, struct error *err)
{
	static const struct {
		enum field16_way way;
		const char *name;
	} ways[] = { { FIELD16_PLAIN, "plain" }, { FIELD16_AVX2, "avx2" } };
	struct work w = { .block = block };
	unsigned char cells[VECTORS_MAX];
	uint16_t cells16[VECTORS_MAX];
	int rc = buffers(&w, nin, nout, err);
	void *tables = mem_aligned(FIELD16_ALIGN, VECTORS_MAX * FIELD_EXPANDED);
	void *words = mem_aligned(
		FIELD16_ALIGN, VECTORS_MAX * field16_expanded(FIELD16_PLAIN));

	for (unsigned i = 0; i < VECTORS_MAX; i++) {
		cells[i] = (unsigned char)(i * 7 + 2);
		cells16[i] = (uint16_t)(i * 1999 + 2);
	}
	if (rc < 0 || tables == NULL || words == NULL) {
		rc = error_no_memory(err);
		goto out;
	}
	field_expand(cells, nin, nout, tables);
	w.byte = (struct field_matrix){ nin, nout, tables };
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		char name[64];

		if (ways[i].way > field16_best())
			continue;
		field16_expand(ways[i].way, cells16, nin * nout, words);
		w.word = (struct field16_matrix){ ways[i].way, nin, nout,
						  words };
		snprintf(name, sizeof(name), "words %u+%u %s:copy", nin, nout,
			 ways[i].name);
		measure(name, &w, run_words, run_copy);
		snprintf(name, sizeof(name), "words %u+%u %s:bytes", nin, nout,
			 ways[i].name);
		measure(name, &w, run_words, run_bytes);
	}
out:
	mem_free(words);
	mem_free(tables);
	buffers_free(&w);
	return rc;
}

/* Microseconds to make a recipe, of which a rebuild makes one for each stripe
 * and pattern of losses. */
static int
bench_recipe(unsigned n, unsigned k, struct error *err)
{
	const struct code c = { CODE_RS, n, k };
	bool lost[CODE_MAX] = { false };
	double start = spent(), seconds = 0;
	long times = 0;

	memset(lost, true, k);
	do {
		struct recipe *r = recipe_new(&c, n / 2, lost, err);

		if (r == NULL)
			return -1;
		recipe_free(r);
		times++;
		seconds = spent() - start;
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
	for (unsigned nout = 2; nout <= 4; nout += 2)
		for (size_t j = 0; j < sizeof(wide) / sizeof(*wide); j++)
			if (bench_words(4, nout, wide[j], &err) < 0)
				goto failed;
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (bench_recipe(sets[i][0], sets[i][1], &err) < 0)
			goto failed;
	return 0;
failed:
	fprintf(stderr, "bench_code: %s\n", err.text);
	return 1;
}
