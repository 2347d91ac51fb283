/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "arena.h"
#include "jobtest.h"

/* The scratch directory and its descriptor. */
static char job_dir[4096];

int dirfd_;

void
put_job_file(const char *name, const char *text)
{
	struct kvtree *t = tree_of(text);

	if (kvtree_write_file(t, dirfd_, name, NULL) < 0)
		abort();
	kvtree_free(t);
}

void
drop(const char *name)
{
	if (unlinkat(dirfd_, name, 0) < 0 && errno != ENOENT)
		abort();
}

/* Give rank `i` up to 14 segments: with more than ten, their numbers are not in
 * alphabetical order. */
static void
make_segs(struct rank2file *r, struct rank2file_file *f, size_t i)
{
	struct rank2file_seg *segs = NULL;

	f->nsegs = i % 15;
	segs = arena_alloc(r->arena, f->nsegs + 1, sizeof(*segs));
	f->segs = segs;
	for (size_t k = 0; k < f->nsegs; k++)
		segs[k] = (struct rank2file_seg){
			.file = arena_printf(r->arena, ".scr/ctr.%zu.scr",
					     i + k),
			.off = k == 0 ? 9000000000 * i : 0,
			.len = 77 + k,
		};
}

static bool
same_segs(const struct rank2file_file *a, const struct rank2file_file *b)
{
	bool same = a->nsegs == b->nsegs;

	for (size_t k = 0; same && k < a->nsegs; k++)
		same = strcmp(a->segs[k].file, b->segs[k].file) == 0 &&
		       a->segs[k].off == b->segs[k].off &&
		       a->segs[k].len == b->segs[k].len;
	return same;
}

void
make_job(struct rank2file *r, size_t n)
{
	size_t i = 0, k = 0;

	memset(r, 0, sizeof(*r));
	r->arena = arena_new();
	r->nranks = n;
	r->ranks = arena_alloc(r->arena, n, sizeof(*r->ranks));
	for (i = 0; i < n; i++) {
		struct rank2file_rank *to = &r->ranks[i];

		to->present = n < 5 || i % 5 != 0;
		if (!to->present)
			continue;
		to->nfiles = i % 3;
		to->files = arena_alloc(r->arena, 3, sizeof(*to->files));
		for (k = 0; k < to->nfiles; k++) {
			to->files[k].path = arena_printf(
				r->arena, "ckpt/rank %zu.%zu", i, k);
			to->files[k].has_size = k == 1;
			to->files[k].size = 1000 * i;
			to->files[k].has_crc = k == 1;
			to->files[k].crc = (uint32_t)(i * 0x1234567);
			if (k == 1)
				make_segs(r, &to->files[k], i);
		}
	}
}

bool
same_job(const struct rank2file *a, const struct rank2file *b)
{
	size_t i = 0, k = 0;
	bool same = a->nranks == b->nranks;

	for (i = 0; same && i < a->nranks; i++) {
		const struct rank2file_rank *x = &a->ranks[i];
		const struct rank2file_rank *y = &b->ranks[i];

		same = x->present == y->present && x->nfiles == y->nfiles;
		for (k = 0; same && k < x->nfiles; k++)
			same = strcmp(x->files[k].path, y->files[k].path) ==
				       0 &&
			       x->files[k].has_size == y->files[k].has_size &&
			       x->files[k].has_crc == y->files[k].has_crc &&
			       (!x->files[k].has_size ||
				x->files[k].size == y->files[k].size) &&
			       (!x->files[k].has_crc ||
				x->files[k].crc == y->files[k].crc) &&
			       same_segs(&x->files[k], &y->files[k]);
	}
	return same;
}

void
job_enter(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(job_dir, sizeof(job_dir), "%s/rank2fileXXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	ok(mkdtemp(job_dir) != NULL, "scratch directory");
	dirfd_ = open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void
job_leave(void)
{
	close(dirfd_);
	is_int(rmdir(job_dir), 0, "nothing is left behind");
}
