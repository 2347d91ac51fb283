/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are filled by many threads, and put in place. */
#include "meta/attr.h"
#include "puttest.h"
#include "transfer/stripe.h"
#include "transfer/transfer.h"

enum { FILES = 400, BYTES = 24 << 20 };

static unsigned char *data;
static char paths[FILES][32];
static struct attr attrs[FILES];
static struct stripe_part to[FILES];
static struct stripe_sum sums[FILES];

/* Add files of 0 bytes to more than a worker takes at a time; returns the sum
 * of their sizes. */
static uint64_t
add_files(struct put *p, size_t files)
{
	uint64_t len = 0;

	memset(sums, 0, sizeof(sums));
	for (size_t i = 0; i < files; i++) {
		struct put_what what = {
			.dirfd = puttest_fd,
			.path = paths[i],
			.size = i % 100 == 7 ? 5000000
				: i % 9 > 0  ? i * 7919 % 20000
					     : 0,
			.attr = &attrs[i],
		};

		snprintf(paths[i], sizeof(paths[i]), "d%zu/sub/f%zu", i % 5, i);
		attrs[i] = (struct attr){
			.has_owner = true,
			.has_times = true,
			.mode = 0100400 + (uint32_t)i % 0200,
			.uid = geteuid(),
			.gid = getegid(),
			.mtime = { .tv_sec = 1000000 + (time_t)i,
				   .tv_nsec = 5 },
		};
		sums[i].size = what.size;
		to[i] = (struct stripe_part){
			.start = len,
			.len = what.size,
			.put = put_add(p, &what, NULL),
			.sum = i,
		};
		len += what.size;
	}
	must(len <= BYTES);
	return len;
}

/* Write the first halves of all files, then the others. */
static bool
write_halves(void)
{
	bool good = true;

	for (size_t i = 0; i < (size_t)2 * FILES; i++) {
		const struct stripe_part *t = &to[i % FILES];
		const uint64_t at = i < FILES ? 0 : t->len / 2;
		const size_t len = i < FILES ? t->len / 2 : t->len - at;
		const unsigned char *from = data + t->start + at;

		if (t->len == 0)
			continue;
		good &= put_write(t->put, from, len, at, NULL) == 0;
		sums[t->sum].crc = crc_update(sums[t->sum].crc, from, len);
	}
	return good;
}

/* Are all files right: content, mode, time and checksum? */
static bool
all_right(size_t files)
{
	bool good = puttest_count() == files;

	for (size_t i = 0; i < files; i++) {
		const unsigned char *want = data + to[i].start;
		struct stat st;

		good &= fstatat(puttest_fd, paths[i], &st, 0) == 0 &&
			(st.st_mode & 07777) == (attrs[i].mode & 07777) &&
			st.st_mtim.tv_sec == attrs[i].mtime.tv_sec &&
			file_holds(here("%s", paths[i]), want, to[i].len) &&
			sums[i].crc == crc_update(0, want, to[i].len);
	}
	return good;
}

static void
fills(unsigned threads, size_t files, bool halves)
{
	auto_par *par = par_new(threads, NULL);
	const struct work work = { .par = par };
	const struct transfer_options o = { .work = &work, .sums_to = sums };
	auto_put *p = puttest_start(par);
	struct stripe_part from = { .mem = data, .sum = STRIPE_NO_SUM };
	const struct stripe in = { 1, &from }, out = { files, to };
	bool good = true;

	from.len = add_files(p, files);
	good = halves ? write_halves()
		      : transfer(&in, &out, from.len, &o, NULL) == 0;
	for (size_t i = 0; i < files; i++)
		good &= !exists_at(puttest_fd, paths[i]);
	ok(good, "filled: nothing has its name before the commit");
	good = put_commit(p, NULL) == 0 && all_right(files);
	ok(good, fmt("%zu files, %u threads: put in place", files, threads));
}

TEST(fills)
{
	struct rlimit few;

	data = malloc(BYTES);
	must(data != NULL && getrlimit(RLIMIT_NOFILE, &few) == 0);
	for (size_t i = 0; i < BYTES; i++)
		data[i] = (unsigned char)(i * 2654435761u >> 13);
	fills(1, FILES, false);
	fills(3, FILES, false);
	fills(2, 1, false);
	/* Far fewer descriptors than files, or than the threads might want. */
	few.rlim_cur = 256;
	must(setrlimit(RLIMIT_NOFILE, &few) == 0);
	fills(4, FILES, false);
	fills(4, FILES, true);
	free(data);
}

int
main(void)
{
	return tap_run();
}
