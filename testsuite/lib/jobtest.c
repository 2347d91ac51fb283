/* SPDX-License-Identifier: BSD-3-Clause */
#include "jobtest.h"

int dirfd_;

void
put_job_file(const char *name, const char *text)
{
	auto_kvtree *t = tree_of(text);

	must(kvtree_write_file(t, dirfd_, name, NULL) == 0);
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
same_rank(const struct rank2file_rank *a, const struct rank2file_rank *b)
{
	bool same = a->present == b->present && a->nfiles == b->nfiles;

	for (size_t k = 0; same && k < a->nfiles; k++)
		same = same_file(&a->files[k], &b->files[k]);
	return same;
}

bool
same_job(const struct rank2file *a, const struct rank2file *b)
{
	bool same = a->nranks == b->nranks;

	for (size_t i = 0; same && i < a->nranks; i++)
		same = same_rank(&a->ranks[i], &b->ranks[i]);
	return same;
}

const char *
rank_text(size_t rank, const struct rank2file_rank *r)
{
	char *text = fmt("; %zu of %" PRIu64, rank, r->expected);

	for (const struct rank2file_file *f = r->files;
	     f != r->files + r->nfiles; f++) {
		text = fmt("%s, %s", text, f->path);
		if (f->has_size)
			text = fmt("%s %" PRIu64, text, f->size);
		if (f->has_crc)
			text = fmt("%s %#x", text, f->crc);
		for (size_t k = 0; k < f->nsegs; k++)
			text = fmt("%s <%s@%" PRIu64 "+%" PRIu64, text,
				   f->segs[k].file, f->segs[k].off,
				   f->segs[k].len);
	}
	return text;
}

const char *
job_text(const char *base)
{
	auto_rank2file r;
	const char *text = NULL;

	if (rank2file_load(dirfd_, base, &r, &why) < 0)
		return fmt("error %d: %s", why.kind, why.text);
	text = fmt("%zu", r.nranks);
	for (size_t i = 0; i < r.nranks; i++)
		if (r.ranks[i].present)
			text = fmt("%s%s", text, rank_text(i, &r.ranks[i]));
	return r.refused ? fmt("%s; %s", text, r.refused) : text;
}

void
is_kept(const char *base, const struct rank2file *job, struct rank2file *got)
{
	is_int(rank2file_store(dirfd_, base, job, &why), 0, base);
	ok(rank2file_load(dirfd_, base, got, &why) == 0 && same_job(job, got),
	   "... is loaded as it was stored");
}

const char *
job_files(void)
{
	struct dirent **all = NULL;
	const int n = scandir(scratch_root, &all, NULL, alphasort);
	const char *text = "";

	for (int i = 0; i < n; i++) {
		if (all[i]->d_name[0] != '.')
			text = fmt("%s%s ", text, all[i]->d_name);
		free(all[i]);
	}
	free(all);
	return text;
}

void
job_enter(void)
{
	dirfd_ = scratch_fd();
}
