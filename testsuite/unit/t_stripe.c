/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_stripe.c - byte strings in pieces, compared to the same string in memory;
 * and their checksums.
 */
#include "transfer/stripe.h"

#include "scratch.h"

#define WHOLE 10000

static int rootfd = -1;

/* A string of three files, a gap, a piece of memory, and a gap at the end. The
 * second piece is in the middle of its file. */
static struct {
	unsigned char whole[WHOLE], mem[700];
	struct stripe_part parts[4];
	struct stripe s;
	struct stripe_sum sums[4];
} t;

static void
fill(void)
{
	static const struct {
		uint64_t start, len, off;
		const char *path;
	} pieces[] = {
		{ 0, 1000, 0, "first" },
		{ 1000, 500, 77, "dir/second" },
		{ 2000, 4000, 0, "third" },
		{ 7000, 700, 0, NULL },
	};

	memset(&t, 0, sizeof(t));
	for (size_t i = 0; i < 4; i++) {
		struct stripe_part *p = &t.parts[i];

		*p = (struct stripe_part){
			.start = pieces[i].start,
			.len = pieces[i].len,
			.dirfd = rootfd,
			.path = pieces[i].path,
			.off = pieces[i].off,
			.mem = pieces[i].path ? NULL : t.mem,
			.sum = i,
		};
		for (uint64_t b = p->start; b < p->start + p->len; b++)
			t.whole[b] = (unsigned char)(b * 7 + b / 251 + 1);
		t.sums[i].size = p->len;
		if (p->path != NULL)
			write_file(here("%s", p->path),
				   t.whole + p->start - p->off,
				   p->off + p->len);
	}
	t.parts[2].sum = STRIPE_NO_SUM;
	t.s = (struct stripe){ 4, t.parts };
	memcpy(t.mem, t.whole + 7000, 700);
}

/* Are all checksums those of the whole string? */
static bool
sums_right(void)
{
	bool good = true;

	for (size_t i = 0; i < 4; i++) {
		const struct stripe_part *p = &t.parts[i];

		good &= p->sum == STRIPE_NO_SUM ||
			(t.sums[i].seen == p->len &&
			 t.sums[i].crc ==
				 crc_update(0, t.whole + p->start, p->len));
	}
	return good;
}

TEST(reading)
{
	static unsigned char got[WHOLE];
	auto_stripe_cache *c = stripe_cache_new(4, false, NULL);

	fill();
	memset(got, 0xee, sizeof(got));
	ok(stripe_read(&t.s, c, UINT64_MAX - 9, got, 8, NULL) == 0 &&
		   memcmp(got, "\0\0\0\0\0\0\0\0\xee", 9) == 0,
	   "far behind the end there are zero bytes");
	got[0] = 0xee;
	ok(stripe_read(&t.s, c, 5, got, 0, NULL) == 0 && got[0] == 0xee &&
		   stripe_read(&(struct stripe){ 0, NULL }, c, 0, got, 8,
			       NULL) == 0 &&
		   got[0] == 0,
	   "no bytes; a string without parts is all padding");
	for (int i = 0; i < 2; i++) {
		memset(got, 0xee, sizeof(got));
		ok(stripe_read(&t.s, c, 61, got, WHOLE - 61, NULL) == 0 &&
			   memcmp(got, t.whole + 61, WHOLE - 61) == 0,
		   "the whole, gaps as zero bytes; again after a drop");
		stripe_cache_drop(c);
	}
	stripe_cache_free(NULL);
}

static struct stripe_cache *caches[4]; /* one for each thread */

/* Blocks of 100 bytes in scattered order. */
static int
read_block(void *arg, size_t i, unsigned worker, struct error *err)
{
	const uint64_t *step = arg;
	unsigned char block[100];

	return stripe_read(&t.s, caches[worker],
			   i * *step % (WHOLE / 100) * 100, block, 100, err);
}

static void
sums(unsigned threads)
{
	/* In order, backwards, and scattered.  The steps and the number of
	 * blocks have no common factor. */
	static uint64_t steps[] = { 1, 3, 51, 99 };
	auto_par *par = par_new(threads, NULL);
	bool good = true;

	for (size_t s = 0; s < 4; s++) {
		fill();
		for (unsigned i = 0; i < threads; i++)
			caches[i] = stripe_cache_new(1, false, t.sums);
		good &= par_for(par, WHOLE / 100, 0, read_block, &steps[s],
				NULL) == 0;
		for (unsigned i = 0; i < threads; i++)
			stripe_cache_free(caches[i]);
		good &= sums_right();
	}
	ok(good,
	   fmt("checksums come out whatever the order, %u threads", threads));
}

/* Far more parts than the cache has slots, read and written in turn. */
TEST(many_parts)
{
	enum { N = 200, SIZE = 16 };
	struct stripe_part parts[N];
	struct stripe_sum each[N] = { { .size = 0 } };
	const struct stripe s = { N, parts };
	unsigned char got[SIZE], want[SIZE];
	struct stripe_cache *in = stripe_cache_new(0, false, NULL);
	struct stripe_cache *out = stripe_cache_new(0, true, each);
	bool good = true;

	for (size_t i = 0; i < N; i++) {
		parts[i] = (struct stripe_part){
			.start = i * SIZE,
			.len = SIZE,
			.dirfd = rootfd,
			.path = fmt("many_%zu", i),
			.sum = i,
		};
		each
			[i].size = SIZE;
		write_text(here("%s", parts[i].path), "");
	}
	for (size_t i = 0; i < 2 * N; i++) {
		const size_t at = i % N * SIZE + i / N * SIZE / 2;

		memset(want, (int)(i % N) + 1, SIZE);
		good &= stripe_write(&s, out, at, want, SIZE / 2, NULL) == 0 &&
			stripe_read(&s, in, at, got, SIZE / 2, NULL) == 0 &&
			memcmp(got, want, SIZE / 2) == 0;
	}
	stripe_cache_free(out);
	stripe_cache_free(in);
	for (size_t i = 0; i < N; i++) {
		memset(want, (int)i + 1, SIZE);
		good &= each[i].seen == SIZE &&
			each[i].crc == crc_update(0, want, SIZE);
	}
	ok(good, "more parts than slots: files and sums are right");
}

TEST(errors)
{
	static const struct {
		const char *path;
		bool write;
		enum error_kind kind;
		const char *what;
	} cases[] = {
		{ "first", false, ERROR_CORRUPT, "a file ends early" },
		{ "third", false, ERROR_ABSENT, "a file is missing" },
		{ "third", true, ERROR_ABSENT, "nothing is made by writing" },
		{ "../first", false, ERROR_UNSAFE, "a path out of the root" },
		{ "out", false, ERROR_UNSAFE, "a link out of it" },
		{ "dir", true, ERROR_SYSTEM, "a directory to write" },
		{ "dir", false, ERROR_SYSTEM, "a directory to read" },
	};
	static unsigned char got[1000];
	auto_stripe_cache *c = NULL, *w = NULL;

	fill();
	c = stripe_cache_new(4, false, t.sums);
	w = stripe_cache_new(4, true, t.sums);
	must(truncate(here("first"), 900) == 0 && unlink(here("third")) == 0);
	link_by_anyone("/etc/passwd", here("out"));
	each (x, cases) {
		int rc = 0;

		t.parts[0].path = x->path;
		stripe_cache_drop(c);
		rc = x->write ? stripe_write(&t.s, w, 0, got, 1000, &why)
			      : stripe_read(&t.s, c, 0, got, 1000, &why);
		refuses(rc, x->kind, x->path, x->what);
	}
	ok(!exists(here("third")), "no file was made");
	t.parts[0].path = "first";
	stripe_cache_drop(c);
	ok(stripe_read(&t.s, c, 0, got, 900, &why) == 0 &&
		   memcmp(got, t.whole, 900) == 0,
	   "what a short file still has can be read");
}

/* Files larger than the distance after which write-back starts. */
TEST(large)
{
	enum { SIZE = 9 << 20 };
	auto_mem unsigned char *data = mem_alloc(SIZE, 1),
			       *got = mem_alloc(SIZE, 1);
	struct stripe_sum sum = { .size = SIZE };
	struct stripe_part p = { .len = SIZE,
				 .dirfd = rootfd,
				 .path = "large" };
	const struct stripe s = { 1, &p };
	struct stripe_cache *w = stripe_cache_new(1, true, NULL);
	struct stripe_cache *c = stripe_cache_new(1, false, &sum);
	bool good = true;

	write_text(here("large"), "");
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i % 253);
	for (size_t off = 0; off < SIZE; off += 1 << 20)
		good &= stripe_write(&s, w, off, data + off, 1 << 20, NULL) ==
			0;
	good &= stripe_read(&s, c, 0, got, SIZE, NULL) == 0;
	stripe_cache_free(w);
	stripe_cache_free(c);
	ok(good && memcmp(data, got, SIZE) == 0 &&
		   sum.crc == crc_update(0, data, SIZE),
	   "9 MiB come back, and their sum");
}

/* For every byte, where its part ends or the next one begins. */
TEST(cuts)
{
	static const uint64_t at[] = { 1000, 1500, 2000,      6000,
				       7000, 7700, UINT64_MAX };
	bool good = stripe_cut(&(struct stripe){ 0, NULL }, 0) == UINT64_MAX;

	fill();
	for (uint64_t off = 0, i = 0; off < WHOLE; off++) {
		i += off == at[i];
		good &= stripe_cut(&t.s, off) == at[i];
	}
	ok(good, "a string is cut where its parts begin and end");
}

/* Files are written, but not made. */
TEST(writing)
{
	struct stripe_part parts[2] = {
		{ .len = 10, .path = "new", .off = 5 },
		{ .start = 10, .len = 10, .path = "old" },
	};
	const struct stripe s = { 2, parts };
	auto_stripe_cache *w = stripe_cache_new(1, true, NULL);
	auto_stripe_cache *c = stripe_cache_new(1, false, NULL);
	const char *new = here("new"), *old = here("old");
	char data[21] = "abcdefghijklmnopqrst";

	parts[0].dirfd = parts[1].dirfd = rootfd;
	write_text(old, "0123456789and more");
	must(chmod(old, 0644) == 0);
	ok(fails_as(stripe_read(&s, c, 0, data, 10, &why), &why, ERROR_ABSENT,
		    NULL) &&
		   !exists(new),
	   "reading makes no file");
	ok(fails_as(stripe_write(&s, w, 0, data, 20, &why), &why, ERROR_ABSENT,
		    NULL) &&
		   !exists(new),
	   "nor does writing");
	write_text(new, "");
	is_int(stripe_write(&s, w, 0, data, 20, &why), 0, "if it is there");
	ok(file_holds(new, "\0\0\0\0\0abcdefghij", 15),
	   "... what was written is in its place");
	ok(mode_of(rootfd, "old") == 0644 &&
		   file_holds(old, "klmnopqrstand more", 18),
	   "one that is there is neither cut nor changed otherwise");
	parts[0].path = "no/new";
	stripe_cache_drop(w);
	refuses(stripe_write(&s, w, 0, data, 1, &why), ERROR_ABSENT, "no/new",
		"no directory is made");
	parts[0].path = "../new";
	ok(fails_as(stripe_write(&s, w, 0, data, 1, &why), &why, ERROR_UNSAFE,
		    NULL) &&
		   !exists(here("../new")),
	   "nor anything outside");
}

TEST(no_memory)
{
	bool good = true;

	for (long n = 0; n < 2; n++) {
		mem_fail_after(n);
		good &= stripe_cache_new(100, false, NULL) == NULL;
		mem_fail_after(-1);
	}
	ok(good, "a cache without memory is none");
}

TEST(sums_of_all)
{
	sums(1);
	sums(4);
}

int
main(void)
{
	rootfd = scratch_fd();
	return tap_run();
}
