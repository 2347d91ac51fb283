/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_transfer.c - strings copied between files that are cut differently; read
 * and write errors.
 */
#include "transfer/transfer.h"

#include "scratch.h"

static const struct work little = { .memory = 1 }; /* smallest blocks */
static int rootfd = -1;

/* --- Strings --- */

enum { PARTS_MAX = 600, MOST = 1200000 };

/* Source or target.  Neighbouring parts can be in the same file, with other
 * bytes between them, and then share a checksum. */
struct side {
	struct stripe s;
	struct stripe_part parts[PARTS_MAX];
	struct stripe_sum sums[PARTS_MAX];
	size_t nsums;
	char names[PARTS_MAX][16];
};

static struct scene {
	uint64_t len;
	unsigned char from[MOST], to[MOST]; /* memory of parts without a file */
	unsigned char whole[MOST];	    /* the bytes to be read */
	struct side in, out;
} s;

/* A part without memory. */
static struct stripe_part
part(uint64_t start, uint64_t len, const char *path, size_t sum)
{
	return (struct stripe_part){ .start = start,
				     .len = len,
				     .dirfd = rootfd,
				     .path = path,
				     .sum = sum };
}

/* Parts of a target can be in no file and no memory. */
static void
cut_side(struct side *side, const char *stem, uint32_t longest, bool out)
{
	uint64_t at = 0, end = 0, len = 0;

	side->s.parts = side->parts;
	for (; at < s.len && side->s.nparts < PARTS_MAX; at += len) {
		struct stripe_part *p = &side->parts[side->s.nparts];
		struct stripe_part *last = side->s.nparts > 0 ? p - 1 : NULL;
		uint32_t kind = below(8);

		len = 1 + below(longest);
		len = len < s.len - at ? len : s.len - at;
		if (kind == 0) /* a gap */
			continue;
		*p = part(at, len, NULL, side->nsums);
		if (kind == 1) {
			p->mem = (out ? s.to : s.from) + at;
		} else if (kind == 2 && last != NULL && last->path != NULL) {
			p->path = last->path;
			p->off = end + below(50);
			p->sum = last->sum;
			p->sum_off = side->sums[p->sum].size;
		} else if (kind > 3 || !out) {
			snprintf(side->names[side->nsums], 16, "%s%zu", stem,
				 side->nsums);
			p->path = side->names[side->nsums];
			p->off = below(3) == 0 ? below(9999) : 0;
			if (out)
				write_text(here("%s", p->path), "");
		}
		end = p->off + len;
		side->nsums += p->sum == side->nsums;
		side->sums[p->sum].size += len;
		side->s.nparts++;
	}
}

/* Make a scene and the files of `in`; its gaps read as zeros. */
static void
set_scene(uint64_t len, uint32_t longest)
{
	memset(&s, 0, sizeof(s));
	rootfd = scratch_fd();
	s.len = len;
	cut_side(&s.in, "in", longest, false);
	cut_side(&s.out, "out", longest, true);
	for (size_t i = 0; i < s.in.s.nparts; i++) {
		struct stripe_part *p = &s.in.parts[i];
		unsigned char *data = s.whole + p->start;
		auto_fd int fd = -1;

		for (uint64_t b = 0; b < p->len; b++)
			data[b] = (unsigned char)below(256);
		if (p->mem != NULL) {
			memcpy(p->mem, data, p->len);
			continue;
		}
		fd = openat(rootfd, p->path, O_WRONLY | O_CREAT | O_CLOEXEC,
			    0600);
		must(io_pwrite(fd, p->path, data, p->len, p->off, NULL) == 0);
	}
}

/* Are the bytes of this part in the right place? */
static bool
part_right(const struct stripe_part *p)
{
	static unsigned char got[MOST];
	int fd = -1, rc = 0;

	if (p->mem != NULL)
		return memcmp(p->mem, s.whole + p->start, p->len) == 0;
	if (p->path == NULL)
		return true;
	fd = openat(rootfd, p->path, O_RDONLY | O_CLOEXEC);
	rc = io_pread(fd, p->path, got, p->len, p->off, NULL);
	io_close(fd);
	return rc == 0 && memcmp(got, s.whole + p->start, p->len) == 0;
}

/* Are the checksums right, except those that need bytes of `lost` sums? */
static bool
sums_right(const struct side *side, const bool *lost)
{
	uint32_t crcs[PARTS_MAX] = { 0 };
	bool right = true;

	for (size_t i = 0; i < side->s.nparts; i++) {
		const struct stripe_part *p = &side->parts[i];

		crcs[p->sum] =
			crc_update(crcs[p->sum], s.whole + p->start, p->len);
	}
	for (size_t i = 0; i < side->nsums; i++) {
		const struct stripe_sum *sum = &side->sums[i];

		right &=
			lost[i] ? sum->seen < sum->size
				: sum->seen == sum->size && sum->crc == crcs[i];
	}
	return right;
}

/* --- Copying --- */

struct unread {
	_Atomic size_t calls, sum; /* of the part */
	int answer;
	struct error last;
};

static int
unreadable(void *arg, const struct stripe_part *part, const struct error *e)
{
	struct unread *u = arg;

	u->sum = part->sum;
	if (u->calls++ == 0)
		u->last = *e;
	return u->answer;
}

/* Is any byte of `p` missing?  left[i]: the bytes that part i of `in` has. */
static bool
touches(const struct stripe_part *p, const uint64_t *left)
{
	for (size_t i = 0; i < s.in.s.nparts; i++) {
		const struct stripe_part *q = &s.in.parts[i];

		if (left[i] < q->len && p->start < q->start + q->len &&
		    q->start + left[i] < p->start + p->len)
			return true;
	}
	return false;
}

/* Remove some files of `in`, and cut others. */
static void
lose(uint64_t *left)
{
	struct stat st;

	for (size_t i = 0; i < s.in.s.nparts; i++) {
		const struct stripe_part *p = &s.in.parts[i];

		if (p->path != NULL && below(20) == 0)
			(void)(below(2) ? unlinkat(rootfd, p->path, 0)
					: truncate(here("%s", p->path),
						   (off_t)(p->off +
							   p->len / 2)));
	}
	for (size_t i = 0; i < s.in.s.nparts; i++) {
		const struct stripe_part *p = &s.in.parts[i];
		uint64_t size = 0;

		if (p->path == NULL)
			continue;
		if (fstatat(rootfd, p->path, &st, 0) == 0)
			size = (uint64_t)st.st_size;
		size = size > p->off ? size - p->off : 0;
		left[i] = size < left[i] ? size : left[i];
	}
}

/* If bytes are missing, all parts that do not depend on them arrive. */
static void
copies(unsigned threads, bool losses)
{
	static const uint64_t memory[] = { 0, 1, 20000, 1 << 20 };
	auto_par *par = par_new(threads, NULL);
	bool good = true, bytes = true, sums = true;

	for (int round = 0; round < (losses ? 4 : 12); round++) {
		bool in[PARTS_MAX] = { false }, out[PARTS_MAX] = { false };
		uint64_t left[PARTS_MAX], seen[PARTS_MAX] = { 0 };
		struct unread u = { .answer = 0 };
		const struct work work = { .par = losses || round % 2 ? par
								      : NULL,
					   .memory = memory[round % 4] };
		const struct transfer_options o = {
			.work = &work,
			.sums = losses || round % 3 < 2 ? s.in.sums : NULL,
			.sums_to = losses || round % 3 ? s.out.sums : NULL,
			.unreadable = losses ? unreadable : NULL,
			.arg = &u,
		};

		set_scene(below(4) == 0 ? below(9000)
					: below(losses ? 400000 : MOST),
			  losses      ? 2000
			  : round < 6 ? 30000
				      : 400000);
		for (size_t i = 0; i < s.in.s.nparts; i++)
			left[i] = s.in.parts[i].len;
		if (losses)
			lose(left);
		good &= transfer(&s.in.s, &s.out.s, s.len, &o, NULL) == 0;
		for (size_t i = 0; i < s.in.s.nparts; i++) {
			const struct stripe_part *p = &s.in.parts[i];

			in[p->sum] |= left[i] < p->len;
			seen[p->sum] += left[i];
		}
		for (size_t i = 0; i < s.out.s.nparts; i++) {
			const struct stripe_part *p = &s.out.parts[i];

			if (touches(p, left))
				out[p->sum] = true;
			else
				bytes &= part_right(p);
		}
		sums &= o.sums == NULL || sums_right(&s.in, in);
		sums &= o.sums_to == NULL || sums_right(&s.out, out);
		for (size_t i = 0; i < s.in.nsums; i++)
			sums &= s.in.sums[i].seen <= seen[i];
	}
	ok(good && bytes, fmt("each byte that is %s is copied by %u threads",
			      losses ? "left" : "there", threads));
	ok(sums, "... both sides summed up");
}

/* Only the beginning of a string is copied; the rest is unchanged. */
static void
beginning(void)
{
	unsigned char data[5000], got[5000] = { 0 };
	struct stripe_part in = part(0, 5000, NULL, 0);
	struct stripe_part out = in;
	const struct stripe a = { 1, &in }, b = { 1, &out }, none = { 0 };
	struct stripe_sum sum = { .size = 4097 };
	const struct transfer_options o = { .work = &little, .sums = &sum };

	memset(data, 7, sizeof(data));
	in.mem = data;
	out.mem = got;
	ok(transfer(&a, &b, 4097, &o, NULL) == 0 && got[4096] == 7 &&
		   got[4097] == 0 && sum.crc == crc_update(0, data, 4097),
	   "the beginning of a string, and no more");
	ok(transfer(&none, &none, 0, &o, NULL) == 0 &&
		   transfer(&none, &none, 1000000, &o, NULL) == 0,
	   "no bytes, and padding alone");
}

static void
read_errors(void)
{
	static const enum error_kind kinds[] = { ERROR_CORRUPT, ERROR_ABSENT };
	struct stripe_part in = part(0, 1000, "in", 7);
	struct stripe_part out = part(0, 1000, NULL, 0);
	const struct stripe a = { 1, &in }, b = { 1, &out };

	write_text(here("in"), "short");
	for (int gone = 0; gone < 2; gone++) {
		struct unread u = { .answer = 0 };
		const struct transfer_options o = { .unreadable = unreadable,
						    .arg = &u };

		ok(transfer(&a, &b, 1000, &o, &why) == 0 && u.calls > 0 &&
			   u.sum == 7 &&
			   fails_as(-1, &u.last, kinds[gone], "in: "),
		   gone ? "so is a missing one"
			: "a short file is passed over, and named");
		u.answer = -1;
		u.calls = 0;
		refuses(transfer(&a, &b, 1000, &o, &why), kinds[gone],
			"in: ", "... unless one does not want to");
		is_int(u.calls, 1, "... which ends it at once");
		must(gone || unlinkat(rootfd, "in", 0) == 0);
	}
}

/* --- Fatal errors --- */

static void
stopping(unsigned threads)
{
	auto_par *par = par_new(threads, NULL);
	const struct work work = { .par = par,
				   .memory = 1,
				   .stop = is_stopped };
	const struct transfer_options o = { .work = &work };

	set_scene(900000, 50000);
	for (int left = 50; left >= 0; left -= 50) {
		stop_after = left;
		refuses(transfer(&s.in.s, &s.out.s, s.len, &o, &why), -EINTR,
			NULL, fmt("stopped by %u threads", threads));
		ok(stop_after > -50, fmt("... after %d calls", left));
	}
}

static void
write_errors(void)
{
	static unsigned char data[100000];
	struct stripe_part in = part(0, sizeof(data), "file/below", 0);
	struct stripe_part out = part(0, sizeof(data), "full", 0);
	const struct stripe from = { 1, &in }, to = { 1, &out };
	struct unread u = { .answer = 0 };
	struct transfer_options o = { .unreadable = unreadable, .arg = &u };

	in.mem = data;
	out.dirfd = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	refuses(transfer(&from, &to, sizeof(data), &o, &why), -ENOSPC, "full",
		"a full disk");
	is_int(u.calls, 0, "which has nothing to do with reading");
	close(out.dirfd);
	in.mem = NULL;
	write_text(here("file"), "x");
	o = (struct transfer_options){ .work = NULL };
	refuses(transfer(&from, NULL, 100, &o, &why), -ENOTDIR, in.path,
		"the number of an error is kept");
}

int
main(void)
{
	for (unsigned threads = 1; threads <= 4; threads *= 2) {
		copies(threads, false);
		copies(threads, true);
	}
	read_errors();
	beginning();
	stopping(1);
	stopping(4);
	write_errors();
	set_scene(100000, 9000);
	without_memory (m, 2, "no memory") {
		const struct transfer_options o = {
			.sums = s.in.sums,
			.sums_to = s.out.sums,
			.work = &little,
		};

		m.rc = transfer(&s.in.s, &s.out.s, s.len, &o, &m.err);
	}
	return tap_done();
}
