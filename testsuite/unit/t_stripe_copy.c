/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_stripe_copy.c - copies between byte strings that are cut at random: all
 * bytes arrive, and each part has its checksum, computed once or twice.
 */
#include "crc.h"
#include "scratch.h"
#include "transfer/stripe.h"

static char root[96];
static int rootfd = -1;

enum { COPIED = 3000000, CUTS_MAX = 20000 };

/* A string in one piece of memory, cut at random into mostly small or mostly
 * large parts, with a checksum for each. */
struct cut_string {
	struct stripe s;
	struct stripe_part parts[CUTS_MAX];
	struct stripe_sum sums[CUTS_MAX];
};

static void
cut_up(struct cut_string *c, unsigned char *mem, uint32_t often)
{
	static const uint32_t lens[] = { 1 << 18, 1 << 16, 1 << 14, 40000, 99 };
	uint64_t at = 0;
	size_t n = 0;

	for (; at < COPIED && n < CUTS_MAX; n++) {
		uint32_t most = lens[below(10) < often ? 4 : below(4)];
		uint64_t len = below(2) == 0 ? most : 1 + below(most);

		len = at + len > COPIED || n + 1 == CUTS_MAX ? COPIED - at
							     : len;
		c->parts[n] = (struct stripe_part){
			.start = at,
			.len = len,
			.mem = mem + at,
			.sum = below(8) == 0 ? STRIPE_NO_SUM : n,
		};
		c->sums[n] = (struct stripe_sum){ .size = len };
		at += len;
	}
	c->s = (struct stripe){ n, c->parts };
}

/* Are all checksums right? */
static bool
sums_agree(const struct cut_string *c)
{
	for (size_t i = 0; i < c->s.nparts; i++) {
		const struct stripe_part *p = &c->parts[i];
		bool summed = p->sum != STRIPE_NO_SUM;

		if (c->sums[i].seen != (summed ? p->len : 0) ||
		    c->sums[i].crc !=
			    (summed ? crc_update(0, p->mem, p->len) : 0))
			return false;
	}
	return true;
}

static void
copying(void)
{
	static unsigned char a[COPIED], b[COPIED], block[1 << 18];
	static struct cut_string from, to;
	bool same = true, in_sums = true, out_sums = true;

	for (size_t i = 0; i < COPIED; i++)
		a[i] = (unsigned char)below(256);
	for (uint32_t round = 0; round < 24; round++) {
		size_t step = round % 3 == 0   ? sizeof(block)
			      : round % 3 == 1 ? 65536
					       : 100003;
		struct stripe_cache *in = NULL, *out = NULL;

		memset(b, 0, sizeof(b));
		cut_up(&from, a, round % 4 * 3);
		cut_up(&to, b, round / 4 % 4 * 3);
		in = stripe_cache_new(8, false, from.sums);
		out = stripe_cache_new(8, true,
				       round % 5 == 4 ? NULL : to.sums);
		for (size_t i = 0; i < COPIED; i += step)
			same &= stripe_copy(&from.s, in, &to.s, out, i, block,
					    COPIED - i < step ? COPIED - i
							      : step,
					    NULL, NULL) == 0;
		stripe_cache_free(in);
		stripe_cache_free(out);
		same &= memcmp(a, b, COPIED) == 0;
		in_sums &= sums_agree(&from);
		out_sums &= round % 5 == 4 || sums_agree(&to);
	}
	ok(same, "copied: the same bytes, wherever the cuts are");
	ok(in_sums, "... the sums of what was read");
	ok(out_sums, "... and of what was written");
}

static void
copy_errors(void)
{
	unsigned char mem[64] = { 0 }, block[64];
	struct stripe_part none = { .len = 64,
				    .dirfd = rootfd,
				    .path = "not_there" };
	struct stripe_part some = { .len = 64, .mem = mem };
	const struct stripe bad = { 1, &none }, good = { 1, &some };
	struct stripe_cache *in = stripe_cache_new(1, false, NULL);
	struct stripe_cache *out = stripe_cache_new(1, true, NULL);
	bool was_read = true;

	ok(stripe_copy(&bad, in, &good, out, 0, block, 64, &was_read, NULL) <
			   0 &&
		   !was_read,
	   "it was reading that failed");
	ok(stripe_copy(&good, in, &bad, out, 0, block, 64, &was_read, NULL) <
			   0 &&
		   was_read,
	   "it was writing that failed");
	stripe_cache_free(in);
	stripe_cache_free(out);
}

/* --- Files opened by a callback --- */

enum { FILES = 100, EACH = 700 };

struct owner {
	unsigned opened, full, wrong;
	bool refuse_open, refuse_full;
};

static int
own_open(void *arg, unsigned worker, const struct stripe_part *p,
	 struct error *err)
{
	struct owner *o = arg;

	o->opened++;
	o->wrong += worker != 7;
	if (o->refuse_open)
		return error_set(err, ERROR_LOST, "not this one");
	return openat(p->dirfd, p->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

/* From here on the called function owns the descriptor. */
static int
own_full(void *arg, unsigned worker, const struct stripe_part *p, int fd,
	 struct error *err)
{
	struct owner *o = arg;
	struct stat st;

	o->full++;
	o->wrong += worker != 7 || p->file != (p->start / EACH) + 1000 ||
		    fstat(fd, &st) < 0 || st.st_size != EACH;
	close(fd);
	return o->refuse_full ? error_set(err, ERROR_LOST, "nor this") : 0;
}

static void
owned_files(void)
{
	static unsigned char data[FILES * EACH], got[FILES * EACH];
	static struct stripe_part parts[FILES];
	static struct stripe_sum sums[FILES];
	const struct stripe s = { FILES, parts };
	struct owner o = { .opened = 0 };
	const struct stripe_files files = { own_open, own_full, &o };
	struct stripe_cache *c = stripe_cache_new(16, true, sums);
	struct error err = ERROR_INIT;
	bool good = true;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)below(256);
	for (size_t i = 0; i < FILES; i++) {
		parts[i] = (struct stripe_part){
			.start = i * EACH,
			.len = EACH,
			.dirfd = rootfd,
			.path = fmt("owned_%zu", i),
			.sum = i,
			.file = 1000 + i,
		};
		sums[i].size = EACH;
	}
	stripe_cache_files(c, &files, 7);
	/* All but the first hundred bytes, in blocks that span files. */
	for (size_t i = 100; i < sizeof(data); i += 333)
		good &= stripe_write(&s, c, i, data + i,
				     sizeof(data) - i < 333 ? sizeof(data) - i
							    : 333,
				     NULL) == 0;
	ok(good && o.opened == FILES && o.full == FILES - 1 && o.wrong == 0,
	   "each file is opened once, and handed over when it is full");
	good = stripe_write(&s, c, 0, data, 100, NULL) == 0;
	stripe_cache_free(c);
	for (size_t i = 0; i < FILES; i++)
		good &= sums[i].seen == EACH &&
			sums[i].crc == crc_update(0, data + i * EACH, EACH);
	ok(good && o.full == FILES - 1,
	   "one that was begun in its middle, not");
	c = stripe_cache_new(16, false, NULL);
	ok(stripe_read(&s, c, 0, got, sizeof(got), NULL) == 0 &&
		   memcmp(data, got, sizeof(data)) == 0,
	   "the bytes are there");
	stripe_cache_free(c);

	memset(sums, 0, sizeof(sums));
	c = stripe_cache_new(16, true, sums);
	stripe_cache_files(c, &files, 7);
	o.refuse_open = o.refuse_full = true;
	ok(stripe_write(&s, c, 0, data, EACH, &err) < 0 &&
		   err.kind == ERROR_LOST,
	   "one that cannot be opened");
	o.refuse_open = false;
	err = (struct error)ERROR_INIT;
	ok(stripe_write(&s, c, 0, data, EACH, &err) < 0 &&
		   err.kind == ERROR_LOST,
	   "one that is not taken over");
	stripe_cache_free(c);
}

int
main(void)
{
	scratch_dir(root, sizeof(root));
	rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(rootfd >= 0);
	copying();
	copy_errors();
	owned_files();
	close(rootfd);
	remove_tree(root);
	return tap_done();
}
