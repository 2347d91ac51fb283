/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recipes against a plain implementation, and against parity that FTI wrote
 * ($SCRKIT_GOLDEN/fti).
 */
#include "encode/cauchy.h"

#include <fts.h>
#include <stdlib.h>
#include <unistd.h>

#include "error.h"
#include "field16_plain.h"
#include "nomem.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void *
need(void *p)
{
	if (p == NULL)
		abort();
	return p;
}

/* Reproducible pseudo-random numbers. */
static unsigned
noise(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

/* --- The code by definition --- */

/* By trial. */
static uint16_t
plain_inverse(uint16_t a)
{
	static uint16_t known[64];
	uint16_t b = 1;

	if (a < COUNT(known) && known[a] != 0)
		return known[a];
	while (plain_mul(a, b) != 1)
		b++;
	if (a < COUNT(known))
		known[a] = b;
	return b;
}

/* The members of a group, each of `len` bytes. */
struct group {
	unsigned k;
	size_t len;
	unsigned char *member[CAUCHY_MEMBERS_MAX];
};

/* Parity `i` of the group's data. */
static void
plain_parity(const struct group *g, unsigned i, unsigned char *parity)
{
	memset(parity, 0, g->len);
	for (unsigned j = 0; j < g->k; j++) {
		uint16_t factor = plain_inverse((uint16_t)(i ^ (g->k + j)));
		const unsigned char *data = g->member[j];

		for (size_t b = 0; b < g->len; b += 2) {
			unsigned word = data[b] | (unsigned)data[b + 1] << 8;
			uint16_t p = plain_mul(factor, (uint16_t)word);

			parity[b] ^= (unsigned char)(p & 0xff);
			parity[b + 1] ^= (unsigned char)(p >> 8);
		}
	}
}

static void
group_init(struct group *g, unsigned k, size_t len)
{
	uint32_t state = k;

	g->k = k;
	g->len = len;
	for (unsigned m = 0; m < 2 * k; m++) {
		g->member[m] = need(malloc(len));
		for (size_t b = 0; m < k && b < len; b++)
			g->member[m][b] = (unsigned char)(noise(&state) & 0xff);
	}
	for (unsigned i = 0; i < k; i++)
		plain_parity(g, i, g->member[k + i]);
}

static void
group_fini(struct group *g)
{
	for (unsigned m = 0; m < 2 * g->k; m++)
		free(g->member[m]);
}

/* --- Recipes --- */

/* Are inputs and outputs those that the header promises? */
static bool
members_right(const struct cauchy *c, unsigned k, const bool *lost,
	      const bool *wanted)
{
	unsigned nin = 0, nout = 0;

	for (unsigned m = 0; m < 2 * k; m++) {
		if (wanted[m] && (nout >= c->nout || c->out[nout++] != m))
			return false;
		if (!wanted[m] && !lost[m] && nin < c->nin && c->in[nin++] != m)
			return false;
	}
	return nout == c->nout && nin == c->nin && nin == (nout > 0 ? k : 0);
}

/* Does the recipe compute the group's members? */
static bool
computes(const struct cauchy *c, const struct group *g)
{
	void *in[CAUCHY_MAX], *out[CAUCHY_MAX];
	bool right = true;

	for (unsigned i = 0; i < c->nin; i++)
		in[i] = g->member[c->in[i]];
	for (unsigned o = 0; o < c->nout; o++)
		out[o] = need(malloc(g->len));
	cauchy_run(c, g->len, in, out);
	for (unsigned o = 0; o < c->nout; o++) {
		right &= memcmp(out[o], g->member[c->out[o]], g->len) == 0;
		free(out[o]);
	}
	for (unsigned i = 0; i < c->nin * c->nout; i++)
		right &= c->matrix[i] != 0;
	return right;
}

/* Compute `wanted` without them and without `lost`, or expect ERROR_LOST. */
static bool
recipe_right(const struct group *g, const bool *lost, const bool *wanted)
{
	struct error err = ERROR_INIT;
	struct cauchy *c = cauchy_new(g->k, lost, wanted, &err);
	unsigned left = 0;
	bool right = false;

	for (unsigned m = 0; m < 2 * g->k; m++)
		left += !lost[m] && !wanted[m];
	if (left < g->k)
		right = c == NULL && err.kind == ERROR_LOST;
	else
		right = c != NULL && members_right(c, g->k, lost, wanted) &&
			computes(c, g);
	cauchy_free(c);
	return right;
}

/* Every set of lost members: all of them wanted, and the first of them. */
static void
test_patterns(unsigned k)
{
	struct group g;
	unsigned bad = 0;
	char what[64];

	group_init(&g, k, 66);
	for (unsigned set = 0; set < 1U << 2 * k; set++) {
		bool lost[CAUCHY_MEMBERS_MAX] = { false };
		bool first[CAUCHY_MEMBERS_MAX] = { false };

		for (unsigned m = 0; m < 2 * k; m++)
			lost[m] = set >> m & 1;
		for (unsigned m = 0; set != 0; m++)
			if (lost[m]) {
				first[m] = true;
				break;
			}
		bad += !recipe_right(&g, lost, lost);
		bad += !recipe_right(&g, lost, first);
	}
	group_fini(&g);
	snprintf(what, sizeof(what), "k = %u: all losses", k);
	is_int(bad, 0, what);
}

/* Random sets of lost members, and of wanted ones, lost or not. */
static void
test_random(unsigned k, unsigned times)
{
	struct group g;
	uint32_t state = 1;
	unsigned bad = 0;
	char what[64];

	group_init(&g, k, 130);
	for (unsigned i = 0; i < times; i++) {
		bool lost[CAUCHY_MEMBERS_MAX] = { false };
		bool wanted[CAUCHY_MEMBERS_MAX] = { false };

		for (unsigned n = noise(&state) % (k + 2); n > 0; n--) {
			unsigned m = noise(&state) % (2 * k);

			lost[m] = noise(&state) % 4 != 0;
			wanted[m] = !lost[m] || noise(&state) % 4 != 0;
		}
		bad += !recipe_right(&g, lost, wanted);
		bad += !recipe_right(&g, lost, lost);
	}
	for (unsigned shift = 0; shift <= k; shift++) {
		bool lost[CAUCHY_MEMBERS_MAX] = { false };

		memset(lost + shift, true, k);
		bad += !recipe_right(&g, lost, lost);
	}
	group_fini(&g);
	snprintf(what, sizeof(what), "k = %u: random losses", k);
	is_int(bad, 0, what);
}

static void
test_limits(void)
{
	static const unsigned bad[] = { 0, 1, 32, -1U };
	bool none[CAUCHY_MEMBERS_MAX] = { false };
	bool lost[CAUCHY_MEMBERS_MAX] = { true, true, false, true };
	struct error err = ERROR_INIT;
	struct cauchy *c = NULL;

	for (size_t i = 0; i < COUNT(bad); i++) {
		char what[64];

		error_clear(&err);
		snprintf(what, sizeof(what), "no group of %u", bad[i]);
		ok(cauchy_new(bad[i], none, none, &err) == NULL &&
			   err.kind == ERROR_CORRUPT,
		   what);
	}
	error_clear(&err);
	ok(cauchy_new(2, lost, none, &err) == NULL && err.kind == ERROR_LOST,
	   "three of four lost");
	is_str(err.text,
	       "group of 2: 1 of 4 members left to compute from: 2 are needed",
	       "it says why");
	c = need(cauchy_new(2, none, none, &err));
	ok(c->nin == 0 && c->nout == 0, "nothing wanted");
	cauchy_run(c, 64, NULL, NULL);
	cauchy_free(c);
	cauchy_free(NULL);
}

static int
make_one(void *arg, struct error *err)
{
	const bool lost[CAUCHY_MEMBERS_MAX] = { true, false, true };
	struct cauchy *c = cauchy_new(4, lost, lost, err);

	(void)arg;
	cauchy_free(c);
	return c != NULL ? 0 : -1;
}

/* --- Parity written by FTI --- */

#define GOLDEN_K 4 /* nodes, of two processes; rank r is in group r % 2 */

struct run {
	const char *name;
	size_t footer;	/* of a parity file */
	size_t trailer; /* the size at the end of the data that are encoded */
};

/* The data and parity files of a group. */
struct files {
	unsigned char *bytes[2 * GOLDEN_K];
	size_t len[2 * GOLDEN_K];
	unsigned count;
};

static unsigned char *
read_all(const char *path, size_t *len)
{
	FILE *f = need(fopen(path, "rb"));
	unsigned char *p = need(malloc(1 << 20));

	*len = fread(p, 1, 1 << 20, f);
	fclose(f);
	return p;
}

static void
read_files(char *dir, unsigned group, struct files *files)
{
	char *const roots[] = { dir, NULL };
	FTS *walk = need(fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL));

	memset(files, 0, sizeof(*files));
	for (FTSENT *e = NULL; (e = fts_read(walk)) != NULL;) {
		unsigned rank = 0, m = 0;

		if (sscanf(e->fts_name, "Ckpt3-RSed%u.fti", &rank) == 1)
			m = GOLDEN_K;
		else if (sscanf(e->fts_name, "Ckpt3-Rank%u.fti", &rank) != 1)
			continue;
		m += rank / 2;
		if (rank % 2 != group || rank / 2 >= GOLDEN_K ||
		    files->bytes[m] != NULL)
			continue;
		files->bytes[m] = read_all(e->fts_path, &files->len[m]);
		files->count++;
	}
	fts_close(walk);
}

/* The members as FTI encodes them: data with zeros to the longest, and the size
 * at the end.  Free with group_fini(). */
static bool
prepare(const struct files *files, const struct run *run, struct group *g)
{
	size_t longest = 0;
	bool right = true;

	for (unsigned m = 0; m < GOLDEN_K; m++)
		if (files->len[m] > longest)
			longest = files->len[m];
	longest += run->trailer;
	g->k = GOLDEN_K;
	g->len = longest + longest % 2;
	for (unsigned m = 0; m < 2 * GOLDEN_K; m++) {
		size_t len = files->len[m] - (m < GOLDEN_K ? 0 : run->footer);

		right &= m < GOLDEN_K || len == longest;
		g->member[m] = need(calloc(1, g->len));
		memcpy(g->member[m], files->bytes[m],
		       len < longest ? len : longest);
		for (size_t b = 0; m < GOLDEN_K && b < run->trailer; b++)
			g->member[m][longest - run->trailer + b] =
				(unsigned char)((uint64_t)len >> 8 * b & 0xff);
	}
	return right;
}

static void
check_golden(const struct files *files, const struct run *run, const char *what)
{
	struct group g;
	bool parity[2 * GOLDEN_K] = { false };
	bool none[2 * GOLDEN_K] = { false };
	unsigned bad = 0;
	char name[128];

	snprintf(name, sizeof(name), "%s: length of the parity", what);
	ok(prepare(files, run, &g), name);
	memset(parity + GOLDEN_K, true, GOLDEN_K);
	snprintf(name, sizeof(name), "%s: FTI's parity", what);
	ok(recipe_right(&g, none, parity), name);
	for (unsigned set = 0; set < 1U << 2 * GOLDEN_K; set++) {
		bool lost[2 * GOLDEN_K] = { false };

		for (unsigned m = 0; m < 2 * GOLDEN_K; m++)
			lost[m] = set >> m & 1;
		bad += !recipe_right(&g, lost, lost);
	}
	snprintf(name, sizeof(name), "%s: all losses", what);
	is_int(bad, 0, name);
	group_fini(&g);
}

static void
test_golden(const char *root, const struct run *run)
{
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/fti/%s/L3", root, run->name);
	if (access(dir, R_OK) < 0) {
		skip(run->name, "not among the golden data");
		return;
	}
	for (unsigned group = 0; group < 2; group++) {
		struct files files;
		char what[64];

		read_files(dir, group, &files);
		snprintf(what, sizeof(what), "%s, group %u", run->name, group);
		if (files.count == 2 * GOLDEN_K)
			check_golden(&files, run, what);
		else if (files.count == 0)
			skip(what, "not among the golden data");
		else
			ok(false, what);
		for (unsigned m = 0; m < 2 * GOLDEN_K; m++)
			free(files.bytes[m]);
	}
}

int
main(void)
{
	static const struct run runs[] = {
		{ "levels-A-v1.1", 96, 0 },  { "levels-B-v1.2", 90, 0 },
		{ "levels-C-v1.3", 110, 8 }, { "levels-E-v1.6", 82, 8 },
		{ "levels-F-even", 106, 8 }, { "levels-F-odd", 106, 8 },
	};
	const char *root = getenv("SCRKIT_GOLDEN");

	for (unsigned k = CAUCHY_MIN; k <= 5; k++)
		test_patterns(k);
	test_random(8, 300);
	test_random(16, 60);
	test_random(CAUCHY_MAX, 20);
	test_limits();
	is_int(fail_each_alloc(make_one, NULL), 2, "allocations fail");
	for (size_t i = 0; i < COUNT(runs) && root != NULL && *root != '\0';
	     i++)
		test_golden(root, &runs[i]);
	if (root == NULL || *root == '\0')
		skip("parity written by FTI", "SCRKIT_GOLDEN is not set");
	return tap_done();
}
