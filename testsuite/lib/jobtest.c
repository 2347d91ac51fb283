/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "arena.h"
#include "jobtest.h"

/* The scratch directory and its descriptor. */
static char job_dir[96];

int dirfd_;

void
put_job_file(const char *name, const char *text)
{
	auto_kvtree *t = tree_of(text);

	must(kvtree_write_file(t, dirfd_, name, NULL) == 0);
}

void
drop(const char *name)
{
	must(unlinkat(dirfd_, name, 0) == 0 || errno == ENOENT);
}

/* Give rank `i` up to 14 segments: with more than ten, their numbers are not in
 * alphabetical order. */
static void
make_segs(struct rank2file *r, struct rank2file_file *f, size_t i)
{
	struct rank2file_seg *segs = NULL;

	f->nsegs = i % 15;
	f->segs = segs = arena_alloc(r->arena, f->nsegs + 1, sizeof(*segs));
	for (size_t k = 0; k < f->nsegs; k++)
		segs[k] = (struct rank2file_seg){
			.file = arena_printf(r->arena, ".scr/ctr.%zu.scr",
					     i + k),
			.off = k == 0 ? 9000000000 * i : 0,
			.len = 77 + k,
		};
}

static bool
same_file(const struct rank2file_file *a, const struct rank2file_file *b)
{
	bool same = strcmp(a->path, b->path) == 0 &&
		    a->has_size == b->has_size && a->has_crc == b->has_crc &&
		    (!a->has_size || a->size == b->size) &&
		    (!a->has_crc || a->crc == b->crc) && a->nsegs == b->nsegs;

	for (size_t k = 0; same && k < a->nsegs; k++)
		same = strcmp(a->segs[k].file, b->segs[k].file) == 0 &&
		       a->segs[k].off == b->segs[k].off &&
		       a->segs[k].len == b->segs[k].len;
	return same;
}

void
make_job(struct rank2file *r, size_t n)
{
	memset(r, 0, sizeof(*r));
	r->arena = arena_new();
	r->nranks = n;
	r->ranks = arena_alloc(r->arena, n, sizeof(*r->ranks));
	for (size_t i = 0; i < n; i++) {
		struct rank2file_rank *to = &r->ranks[i];

		to->present = n < 5 || i % 5 != 0;
		if (!to->present)
			continue;
		to->nfiles = i % 3;
		to->files = arena_alloc(r->arena, 3, sizeof(*to->files));
		for (size_t k = 0; k < to->nfiles; k++) {
			to->files[k] = (struct rank2file_file){
				.path = arena_printf(r->arena,
						     "ckpt/rank %zu.%zu", i, k),
				.has_size = k == 1,
				.size = 1000 * i,
				.has_crc = k == 1,
				.crc = (uint32_t)(i * 0x1234567),
			};
			if (k == 1)
				make_segs(r, &to->files[k], i);
		}
	}
}

bool
same_job(const struct rank2file *a, const struct rank2file *b)
{
	bool same = a->nranks == b->nranks;

	for (size_t i = 0; same && i < a->nranks; i++) {
		const struct rank2file_rank *x = &a->ranks[i];
		const struct rank2file_rank *y = &b->ranks[i];

		same = x->present == y->present && x->nfiles == y->nfiles;
		for (size_t k = 0; same && k < x->nfiles; k++)
			same = same_file(&x->files[k], &y->files[k]);
	}
	return same;
}

void
job_enter(void)
{
	dirfd_ = scratch_open(job_dir, sizeof(job_dir));
}

void
job_leave(void)
{
	is_int(rmdir(job_dir), 0, "nothing is left behind");
}
