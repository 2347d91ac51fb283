/* SPDX-License-Identifier: BSD-3-Clause */
/* recipe_run() with unaligned buffers; recipes without memory. */
#include <sys/mman.h>

#include "code_plain.h"

/* Recipes that cover every path through recipe_run(). */
static const struct {
	struct code code;
	unsigned stripe;
	unsigned lost; /* one bit for each member */
	bool all_ones;
	const char *name;
} cases[] = {
	{ { CODE_XOR, 2, 1 }, 0, 0x1, true, "XOR of one" },
	{ { CODE_XOR, 3, 1 }, 1, 0x4, true, "XOR of two" },
	{ { CODE_XOR, 9, 1 }, 3, 0x10, true, "XOR of eight" },
	{ { CODE_RS, 3, 1 }, 0, 0x1, true, "RS 3,1, check 1 1 1" },
	{ { CODE_RS, 2, 1 }, 0, 0x1, false, "RS of one" },
	{ { CODE_RS, 9, 1 }, 4, 0x10, false, "RS 9,1, check lost" },
	{ { CODE_RS, 10, 2 }, 0, 0x202, false, "RS 10,2, both lost" },
	{ { CODE_RS, 11, 3 }, 5, 0x00e, false, "RS 11,3, data lost" },
	{ { CODE_RS, 15, 7 }, 2, 0x02f, false, "RS 15,7, six lost" },
};

/* --- Buffers with guard pages --- */

struct fenced {
	unsigned char *map;
	size_t size;	     /* of the mapping, with a guard page at each end */
	unsigned char *data; /* `len` bytes between the guard pages */
	size_t len;
};

/* Leave `skew` bytes between the data and the guard page before them or, if
 * `end`, behind them. */
static void
fenced_init(struct fenced *f, size_t len, bool end, size_t skew)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (len + skew + page - 1) / page * page;
	unsigned char *first = NULL;

	if (room == 0)
		room = page;
	f->len = len;
	f->size = room + 2 * page;
	f->map = mmap(NULL, f->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	need(f->map == MAP_FAILED ? NULL : f->map);
	first = f->map + page;
	if (mprotect(first, room, PROT_READ | PROT_WRITE) < 0)
		need(NULL);
	memset(first, 0x5a, room);
	f->data = end ? first + room - skew - len : first + skew;
}

static void
fenced_fini(struct fenced *f)
{
	munmap(f->map, f->size);
}

static void
fenced_read_only(struct fenced *f)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (mprotect(f->map + page, f->size - 2 * page, PROT_READ) < 0)
		need(NULL);
}

/* Is the buffer equal to `want`, with nothing written around it? */
static bool
fenced_right(const struct fenced *f, const unsigned char *want)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const unsigned char *p = f->map + page;
	const unsigned char *end = f->map + f->size - page;

	for (; p < end; p++)
		if ((p < f->data || p >= f->data + f->len) && *p != 0x5a)
			return false;
	return memcmp(f->data, want, f->len) == 0;
}

/* --- The runs --- */

struct placing {
	bool end;
	size_t in, out; /* alignment of input i (i * in) and of outputs */
};

static bool
placed_right(const struct recipe *r, const struct stripe *s,
	     const struct placing *at)
{
	struct fenced in[16], out[16];
	void *inp[16], *outp[16];
	bool right = true;

	for (unsigned i = 0; i < r->nin; i++) {
		fenced_init(&in[i], s->len, at->end, at->in * i);
		memcpy(in[i].data, s->chunk[r->in[i]], s->len);
		fenced_read_only(&in[i]);
		inp[i] = in[i].data;
	}
	for (unsigned i = 0; i < r->nout; i++) {
		fenced_init(&out[i], s->len, at->end, at->out);
		outp[i] = out[i].data;
	}
	recipe_run(r, s->len, inp, outp);
	for (unsigned i = 0; i < r->nout; i++) {
		right &= fenced_right(&out[i], s->chunk[r->out[i]]);
		fenced_fini(&out[i]);
	}
	for (unsigned i = 0; i < r->nin; i++)
		fenced_fini(&in[i]);
	return right;
}

static struct recipe *
case_recipe(size_t which, struct error *err)
{
	bool lost[CODE_MAX] = { false };

	for (unsigned m = 0; m < cases[which].code.n; m++)
		lost[m] = cases[which].lost >> m & 1;
	return recipe_new(&cases[which].code, cases[which].stripe, lost, err);
}

static unsigned
count_wrong(size_t which, const size_t *lens, size_t nlens,
	    const struct placing *at, size_t nat)
{
	auto_recipe *r = need(case_recipe(which, NULL));
	auto_free unsigned char *rows = plain_rows(&cases[which].code);
	unsigned bad = 0;

	for (size_t i = 0; i < nlens; i++) {
		struct stripe s;

		stripe_init(&s, &cases[which].code, cases[which].stripe, rows,
			    lens[i]);
		for (size_t j = 0; j < nat; j++)
			bad += !placed_right(r, &s, &at[j]);
		stripe_fini(&s);
	}
	return bad;
}

TEST(buffers)
{
	static const size_t lens[] = {
		0,  1,	 2,   15,  16,	17,  31,  32,  33,  63,	  64,	65,
		96, 127, 128, 129, 255, 256, 511, 513, 992, 4095, 4096, 4097
	};
	static const struct placing at[] = {
		{ false, 0, 0 }, { false, 64, 64 }, { false, 1, 0 },
		{ false, 0, 1 }, { false, 16, 16 }, { false, 33, 7 },
		{ true, 0, 0 },	 { true, 1, 0 },    { true, 0, 31 },
		{ true, 64, 0 }, { true, 32, 32 },
	};

	/* Longer than the block size of the computation, and not a multiple of
	 * it. */
	static const size_t long_one[] = { 300001 };
	static const struct placing ends[] = { { false, 0, 0 },
					       { true, 0, 0 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_recipe *r = need(case_recipe(i, NULL));

		is_int(count_wrong(i, lens, COUNT(lens), at, COUNT(at)) +
			       count_wrong(i, long_one, 1, ends, COUNT(ends)),
		       0, cases[i].name);
		ok(r->all_ones == cases[i].all_ones, "rows of ones are found");
	}
}

TEST(nothing_lost)
{
	static const struct code c = { CODE_RS, 4, 2 };
	static const bool lost[4];
	static const unsigned char in[] = { 1, 2 };
	auto_recipe *none = need(recipe_new(&c, 1, lost, NULL));
	auto_recipe *r = need(recipe_from(
		&c, 1, &(struct recipe_members){ in, 2, NULL, 0 }, NULL));

	ok(none->nin == 0 && none->nout == 0 && r->nin == 2 && r->nout == 0,
	   "recipes for no losses, and without outputs");
	recipe_run(none, 100, NULL, NULL);
	recipe_run(r, 100, NULL, NULL);
	recipe_free(NULL);
}

TEST(no_memory)
{
	struct code c = { CODE_RS, 4, 2 };

	without_memory (m, 1, "recipe_new() out of memory") {
		struct recipe *r = case_recipe(COUNT(cases) - 1, &m.err);

		recipe_free(r);
		m.rc = r != NULL ? 0 : -1;
	}
	without_memory (m, 1, "recipe_from() out of memory") {
		static const unsigned char in[] = { 0, 1 }, out[] = { 3 };
		struct recipe *r = recipe_from(
			&c, 0, &(struct recipe_members){ in, 2, out, 1 },
			&m.err);

		recipe_free(r);
		m.rc = r != NULL ? 0 : -1;
	}
}

int
main(void)
{
	fill_product();
	return tap_run();
}
