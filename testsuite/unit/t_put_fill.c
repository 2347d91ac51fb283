/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_put_fill.c - files filled by a transfer: small and large ones, by several
 * threads, with few descriptors.
 */
#include <sys/resource.h>

#include "crc.h"
#include "meta/attr.h"
#include "par.h"
#include "scratch.h"
#include "temp.h"
#include "transfer/put.h"
#include "transfer/stripe.h"
#include "transfer/transfer.h"
#include "work.h"

enum { FILES = 400, BYTES = 24 << 20 };

static char root[96];
static int rootfd = -1;
static unsigned char *data;

static size_t files_seen, temps_seen;

static int
count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	files_seen += type != FTW_D;
	temps_seen += temp_is(path + ftw->base);
	return 0;
}

/* Are there so many files with their names, and so many temporary ones? */
static bool
counts(size_t files, size_t temps)
{
	files_seen = temps_seen = 0;
	must(nftw(root, count_file, 16, FTW_PHYS) == 0);
	return files_seen - temps_seen == files && temps_seen == temps;
}

/* One dataset: the source of its bytes, and the files to write. */
struct set {
	struct put *p;
	char paths[FILES][32];
	struct attr attrs[FILES];
	struct stripe_part to[FILES];
	struct stripe_sum sums[FILES];
	struct stripe out;
	uint64_t len;
};

/* Sizes from 0 to more than a worker takes at a time. */
static void
start_set(struct set *s, size_t files, struct par *par)
{
	const struct put_options o = { .par = par };

	memset(s, 0, sizeof(*s));
	rootfd = scratch_open(root, sizeof(root));
	s->p = put_new(&o, NULL);
	s->out.parts = s->to;
	for (size_t i = 0; i < files && s->p != NULL; i++) {
		struct put_what what = { .dirfd = rootfd };
		uint64_t size = i % 100 == 7 ? 5000000
				: below(9)   ? below(20000)
					     : 0;

		snprintf(s->paths[i], sizeof(s->paths[i]), "d%zu/sub/f%zu",
			 i % 5, i);
		s->attrs[i] = (struct attr){
			.has_owner = true,
			.has_times = true,
			.mode = 0100400 + (uint32_t)i % 0200,
			.uid = geteuid(),
			.gid = getegid(),
			.mtime = { .tv_sec = 1000000 + (time_t)i,
				   .tv_nsec = 5 },
		};
		what.path = s->paths[i];
		what.size = s->sums[i].size = size;
		what.attr = &s->attrs[i];
		s->to[s->out.nparts] = (struct stripe_part){
			.start = s->len,
			.len = size,
			.put = put_add(s->p, &what, NULL),
			.sum = i,
		};
		s->out.nparts += size > 0;
		s->len += size;
	}
	must(s->len <= BYTES);
}

static int
fill(struct set *s, struct par *par, struct error *err)
{
	const struct work work = { .par = par };
	const struct transfer_options o = { .work = &work, .sums_to = s->sums };
	struct stripe_part from = { .len = s->len,
				    .mem = data,
				    .sum = STRIPE_NO_SUM };
	const struct stripe in = { 1, &from };

	return transfer(&in, &s->out, s->len, &o, err);
}

/* Are all files right: content, mode, time and checksum? */
static bool
all_right(const struct set *s)
{
	bool good = counts(put_count(s->p), 0);
	uint64_t at = 0;

	for (size_t i = 0; i < put_count(s->p); at += s->sums[i++].size) {
		const size_t size = s->sums[i].size;
		struct stat st;

		good &= fstatat(rootfd, s->paths[i], &st, 0) == 0 &&
			(st.st_mode & 07777) == (s->attrs[i].mode & 07777) &&
			st.st_mtim.tv_sec == s->attrs[i].mtime.tv_sec &&
			file_holds(fmt("%s/%s", root, s->paths[i]), data + at,
				   size) &&
			s->sums[i].crc == crc_update(0, data + at, size);
	}
	return good;
}

static void
by_threads(unsigned threads, size_t files)
{
	static struct set s;
	struct error err = ERROR_INIT;
	struct par *par = par_new(threads, NULL);

	start_set(&s, files, par);
	ok(fill(&s, par, &err) == 0 && counts(0, s.out.nparts),
	   "filled: nothing has its name before the commit");
	ok(put_commit(s.p, &err) == 0 && all_right(&s),
	   fmt("%zu files, %u threads: put in place", files, threads));
	put_free(s.p);
	par_free(par);
}

/* Far fewer descriptors than files, or than the threads might want; then bytes
 * that arrive for all files in turn. */
static void
few_descriptors(void)
{
	static struct set s;
	struct rlimit old, few;
	struct par *par = par_new(4, NULL);
	struct error err = ERROR_INIT;
	bool good = true;

	must(getrlimit(RLIMIT_NOFILE, &old) == 0);
	few = old;
	few.rlim_cur = 256;
	must(setrlimit(RLIMIT_NOFILE, &few) == 0);
	start_set(&s, FILES, par);
	ok(fill(&s, par, &err) == 0 && put_commit(s.p, &err) == 0 &&
		   all_right(&s),
	   "with 256 descriptors");
	put_free(s.p);
	start_set(&s, FILES, par);
	for (size_t half = 0; half < 2; half++)
		for (size_t i = 0; i < s.out.nparts; i++) {
			const struct stripe_part *p = &s.to[i];
			uint64_t from = half ? p->len / 2 : 0;
			uint64_t end = half ? p->len : p->len / 2;

			good &= put_write(p->put, data + p->start + from,
					  (size_t)(end - from), from,
					  NULL) == 0;
			s.sums[p->sum].crc = crc_update(s.sums[p->sum].crc,
							data + p->start + from,
							(size_t)(end - from));
		}
	ok(good && put_commit(s.p, &err) == 0 && all_right(&s),
	   "all files open at a time");
	put_free(s.p);
	must(setrlimit(RLIMIT_NOFILE, &old) == 0);
	par_free(par);
}

int
main(void)
{
	umask(022);
	data = malloc(BYTES);
	must(data != NULL);
	for (size_t i = 0; i < BYTES; i++)
		data[i] = (unsigned char)(i * 2654435761u >> 13);
	by_threads(1, FILES);
	by_threads(3, FILES);
	by_threads(2, 1);
	few_descriptors();
	remove_tree(root);
	free(data);
	return tap_done();
}
