/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of level 3: for all layouts and POSIX files, of even and odd sizes,
 * each pattern of up to k lost files of a group of 4 is computed again, byte
 * for byte.
 */
#include "code_plain.h"
#include "fti/draft.h"
#include "ftijob/parity.h"
#include "ftitest.h"
#include "hash.h"
#include "puttest.h"

#define K 4
#define POSIX FTI_LAYOUTS /* as a layout */

/* How large the files are. */
enum sizes { EVEN, ODD, ALL_ODD, SIZES };
static const char *const size_names[] = { "even", "odd", "odd, all equal" };

struct group {
	enum fti_layout layout;
	uint64_t length;
	struct buf files[2 * K]; /* data, then parity */
	char sums[K][HASH_TEXT];
	struct fti_source sources[2 * K];
};

/* --- Data --- */

static void
fill(struct buf *b, size_t size, unsigned seed)
{
	buf_clear(b);
	for (size_t i = 0; i < size; i++)
		buf_add_char(b, (char)(i * 7 + (i >> 5) * seed + 3 * seed + 1));
	must(buf_check(b, NULL) == 0);
}

/* A file with two variables; the last byte is part of the second one, except in
 * C to F. */
static void
make_file(struct group *g, unsigned m, size_t size)
{
	struct buf bytes[2] = { BUF_INIT, BUF_INIT };
	struct fti_source sources[2];
	const struct fti_raw raw[2] = { { 1, &sources[0] },
					{ 2, &sources[1] } };

	fill(&bytes[0], 40 + 4 * m, m);
	fill(&bytes[1], size, m + 9);
	for (int i = 0; i < 2; i++)
		fti_source_memory(&sources[i], bytes[i].data, bytes[i].len,
				  "raw");
	if (g->layout == POSIX) {
		fill(&g->files[m], 40 + 4 * m + size, m);
	} else {
		must(ftitest_pack(raw, 2, 0, g->layout, "file", NULL) == 0);
		read_whole(here("file"), &g->files[m]);
	}
	buf_free(&bytes[0]);
	buf_free(&bytes[1]);
}

/* --- Parity, by another implementation of the code --- */

/* Byte `at` of data `m` with its padding. */
static unsigned
padded(const struct group *g, unsigned m, uint64_t at)
{
	const struct buf *b = &g->files[m];
	const bool trailer = g->layout != POSIX && g->layout >= FTI_C;

	if (at < b->len)
		return (unsigned char)b->data[at];
	if (trailer && at < g->length && at >= g->length - 8)
		return (unsigned)(b->len >> (8 * (at - (g->length - 8))) & 255);
	return 0;
}

static void
make_parity(struct group *g, unsigned i)
{
	struct buf *to = &g->files[K + i];
	uint16_t c[K];

	for (unsigned j = 0; j < K; j++)
		c[j] = plain_inverse((uint16_t)(i ^ (K + j)));
	buf_clear(to);
	for (uint64_t at = 0; at < g->length; at += 2) {
		unsigned word = 0;

		for (unsigned j = 0; j < K; j++)
			word ^= plain_mul(
				c[j], (uint16_t)(padded(g, j, at) |
						 padded(g, j, at + 1) << 8));
		buf_add_char(to, (char)(word & 255));
		if (at + 1 < g->length)
			buf_add_char(to, (char)(word >> 8));
	}
	must(buf_check(to, NULL) == 0);
}

static void
make_group(struct group *g, enum fti_layout layout, enum sizes sizes)
{
	struct hash *h = hash_new(HASH_MD5, NULL);

	must(h != NULL);
	memset(g, 0, sizeof(*g));
	g->layout = layout;
	for (unsigned m = 0; m < K; m++) {
		make_file(g, m,
			  sizes == ALL_ODD ? 301 - 4 * m
					   : 300 + (sizes == ODD) + 30 * m);
		if (g->files[m].len > g->length)
			g->length = g->files[m].len;
		hash_update(h, g->files[m].data, g->files[m].len);
		hash_text(h, g->sums[m]);
	}
	hash_free(h);
	if (layout != POSIX && layout >= FTI_C)
		g->length += 8;
	must(g->length % 2 == (sizes != EVEN));
	for (unsigned i = 0; i < K; i++)
		make_parity(g, i);
	for (unsigned m = 0; m < 2 * K; m++)
		fti_source_memory(&g->sources[m], g->files[m].data,
				  g->files[m].len, "file");
}

static void
free_group(struct group *g)
{
	for (unsigned m = 0; m < 2 * K; m++)
		buf_free(&g->files[m]);
}

/* --- The tests --- */

static void
set_parity(struct fti_parity *p, const struct group *g, unsigned lost)
{
	memset(p, 0, sizeof(*p));
	p->k = K;
	p->posix = g->layout == POSIX;
	p->layout = p->posix ? FTI_A : g->layout;
	p->length = g->length;
	for (unsigned m = 0; m < K; m++)
		p->members[m] = (struct fti_member){
			.data = lost >> m & 1 ? NULL : &g->sources[m],
			.parity =
				lost >> (K + m) & 1 ? NULL : &g->sources[K + m],
			.data_name = "data",
			.parity_name = "parity",
			.size = p->posix ? g->files[m].len : FTI_SIZE_UNKNOWN,
			.sum = p->posix ? g->sums[m] : NULL,
		};
}

/* Are these the bytes of member `m`, whatever range is read? */
static bool
is_right(const struct group *g, const struct fti_parity *p, unsigned m)
{
	const struct fti_source *s = fti_parity_source(p, m);
	const struct buf *want = &g->files[m];
	unsigned char got[2048];
	bool good = s->size == want->len;

	must(want->len <= sizeof(got));
	good = good && fti_source_read(s, got, want->len, 0, NULL) == 0 &&
	       memcmp(got, want->data, want->len) == 0;
	for (int i = 0; i < 10 && good; i++) {
		const size_t off = below((uint32_t)want->len);
		const size_t len = below((uint32_t)(want->len - off) + 1);

		good = fti_source_read(s, got, len, off, NULL) == 0 &&
		       memcmp(got, want->data + off, len) == 0;
	}
	return good;
}

static void
test_group(enum fti_layout layout, enum sizes sizes)
{
	static struct fti_parity p;
	const char *name =
		layout == POSIX ? "POSIX" : fmt("layout %c", 'A' + layout);
	unsigned patterns = 0, wrong = 0, refused = 0;
	struct group g;

	make_group(&g, layout, sizes);
	for (unsigned lost = 0; lost < 1u << 2 * K; lost++) {
		bool good = true;
		int rc = 0;

		set_parity(&p, &g, lost);
		rc = fti_parity_open(&p, NULL, &why);
		if (__builtin_popcount(lost) > K) {
			refused += rc < 0 && why.kind == ERROR_LOST;
		} else {
			for (unsigned m = 0; m < 2 * K && rc == 0; m++)
				good = good && is_right(&g, &p, m);
			patterns++;
			wrong += rc < 0 || !good;
			if (rc < 0 || !good)
				printf("# pattern %02x: %s\n", lost, why.text);
		}
		fti_parity_close(&p);
	}
	is_int(patterns, 163,
	       fmt("%s, %s: patterns of up to 4 lost files", name,
		   size_names[sizes]));
	is_int(wrong, 0,
	       fmt("%s, %s: all are computed again", name, size_names[sizes]));
	is_int(refused, 256 - 163,
	       fmt("%s, %s: more than 4 are lost", name, size_names[sizes]));
	free_group(&g);
}

/* One file of odd size and one parity are left: without a checksum nothing
 * decides about some last bytes, and a wrong one is noticed. */
TEST(sums)
{
	static struct fti_parity p;
	const unsigned lost = 0x78; /* data 3, parity 0 to 2 */
	struct group g;
	unsigned refused = 0;

	make_group(&g, POSIX, ODD);
	for (unsigned parity = 0; parity < K; parity++) {
		set_parity(&p, &g, (0xf8 & ~(0x10u << parity)));
		p.members[3].sum = NULL;
		refused += fti_parity_open(&p, NULL, &why) < 0 &&
			   why.kind == ERROR_LOST;
		fti_parity_close(&p);
	}
	ok(refused > 0, "without a checksum some bytes stay unknown");
	set_parity(&p, &g, lost);
	p.members[3].sum = "00000000000000000000000000000000";
	ok(fti_parity_open(&p, NULL, &why) < 0 || refused < K,
	   "no byte has a wrong checksum");
	fti_parity_close(&p);
	set_parity(&p, &g, 1);
	g.files[K].data[g.length - 1] ^= 1;
	refuses(fti_parity_open(&p, NULL, &why), ERROR_CORRUPT, NULL,
		"files that contradict each other are noticed");
	fti_parity_close(&p);
	free_group(&g);
}

TEST(groups)
{
	for (enum fti_layout l = FTI_A; l <= POSIX; l++)
		for (enum sizes s = EVEN; s < SIZES; s++)
			test_group(l, s);
}

int
main(void)
{
	puttest_root_new();
	return tap_run();
}
