/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/rank2file.h"

#include "arena.h"
#include "jobtest.h"

/* Collects what rank2file_each_rank() gives. */
struct collecting {
	struct rank2file job;
	size_t stop_at; /* fn fails at this rank, from 1; 0: never */
	size_t calls;
};

/* A copy of a file that lasts. */
static void
copy(struct arena *a, const struct rank2file_file *from,
     struct rank2file_file *to)
{
	struct rank2file_seg *segs = arena_alloc(a, from->nsegs, sizeof(*segs));

	*to = *from;
	to->path = arena_strdup(a, from->path);
	to->segs = segs;
	to->node = NULL;
	for (size_t i = 0; segs != NULL && i < from->nsegs; i++) {
		segs[i] = from->segs[i];
		segs[i].file = arena_strdup(a, from->segs[i].file);
	}
}

static int
collect(void *arg, size_t rank, const struct rank2file_rank *r,
	struct error *err)
{
	struct collecting *c = arg;
	struct rank2file_rank *to = &c->job.ranks[rank];

	if (++c->calls == c->stop_at)
		return error_set(err, ERROR_LOST, "stop");
	*to = *r;
	to->files = arena_alloc(c->job.arena, r->nfiles, sizeof(*to->files));
	if (to->files == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < r->nfiles; i++)
		copy(c->job.arena, &r->files[i], &to->files[i]);
	return 0;
}

static int
begin(struct collecting *c, size_t n)
{
	*c = (struct collecting){ .job = { .nranks = n,
					   .arena = arena_new() } };
	if (c->job.arena != NULL)
		c->job.ranks =
			arena_alloc(c->job.arena, n + 1, sizeof(*c->job.ranks));
	return c->job.ranks == NULL ? -1 : 0;
}

static int
each_rank(const struct rank2file_part_at *part, size_t nranks, bool whole,
	  struct collecting *c, struct error *err)
{
	const struct rank2file_visit visit = {
		.nranks = nranks, .whole = whole, .take = collect, .arg = c
	};

	return rank2file_each_rank(dirfd_, part, &visit, err);
}

/* All ranks of the rank2file `base`: 0, or what a part returned. */
static int
read_job(struct collecting *c, const char *base, bool whole, size_t *parts,
	 struct error *err)
{
	auto_arena *a = arena_new();
	struct rank2file_parts p = { .count = 0 };
	int rc = a == NULL ? error_no_memory(err)
			   : rank2file_list(dirfd_, base, a, &p, err);

	*parts = p.count;
	if (begin(c, p.nranks) < 0)
		rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < p.count; i++)
		rc = each_rank(&p.parts[i], p.nranks, whole, c, err);
	return rc;
}

static void
test_same(size_t n, size_t parts)
{
	struct rank2file job;

	make_job(&job, n);
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "stored");
	for (int whole = 0; whole < 2; whole++) {
		struct collecting c;
		size_t is = 0;

		is_int(read_job(&c, "m", whole, &is, &why), 0, "read");
		is_int(is, parts, "... its parts");
		ok(same_job(&job, &c.job), "... every rank");
		rank2file_free(&c.job);
	}
	rank2file_free(&job);
}

/* The top file may be the only part, and a part may lie inside a file. */
static void
test_forms(void)
{
	struct collecting c;
	size_t parts = 0;

	put_job_file("t", "LEVEL>0\nRANKS>2\nRANK>1>FILES>0\n"
			  "RANK>0>FILE>a>SIZE>5\n");
	is_int(read_job(&c, "t", false, &parts, &why), 0, "a part alone");
	is_int(parts, 1, "... is one part");
	ok(c.job.ranks[1].present && c.job.ranks[0].nfiles == 1, "... read");
	rank2file_free(&c.job);
	is_int(read_job(&c, "nosuch", false, &parts, &why), -1, "no file");
	is_int(why.kind, ERROR_ABSENT, why.text);
	rank2file_free(&c.job);
	/* A key that no program writes. */
	put_job_file("t", "LEVEL>0\nRANKS>1\nODD>1\nRANK>0>FILE>a>SIZE>5\n");
	is_int(read_job(&c, "t", false, &parts, &why), 1, "an unknown form");
	rank2file_free(&c.job);
	is_int(read_job(&c, "t", true, &parts, &why), 0, "... as a whole");
	is_int(c.job.ranks[0].nfiles, 1, "... read");
	rank2file_free(&c.job);
	drop("t");
}

static void
test_stop(void)
{
	struct rank2file_part_at part = { .name = "m.0.0" };

	for (int whole = 0; whole < 2; whole++) {
		struct collecting c;

		if (begin(&c, 200) < 0)
			return;
		c.stop_at = 3;
		is_int(each_rank(&part, 200, whole, &c, &why), -1, "fn fails");
		is_int(why.kind, ERROR_LOST, "... its error");
		is_int(c.calls, 3, "... and is not called again");
		rank2file_free(&c.job);
	}
}

/* Overwrite a file, without a sync: the test does so a thousand times. */
static int
overwrite(const char *name, const struct buf *b)
{
	const int fd = openat(dirfd_, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int rc = fd < 0 ? -1 : io_pwrite(fd, name, b->data, b->len, 0, NULL);

	if (fd >= 0)
		close(fd);
	return rc;
}

/* A part that is cut, or has a flipped byte, is never taken for good. */
static void
test_damage(void)
{
	auto_buf was = BUF_INIT, now = BUF_INIT;
	struct rank2file_part_at part = { .name = "m.0.0" };
	size_t good = 0, tried = 0;

	is_int(io_read_file(dirfd_, "m.0.0", 1 << 20, &was, NULL), 0,
	       "a part in memory");
	for (size_t i = 0; i < 2 * was.len; i++, tried++) {
		struct collecting c;
		const size_t at = i / 2;
		int rc = 0;

		buf_clear(&now);
		buf_add(&now, was.data, i % 2 ? at : was.len);
		if (i % 2 == 0)
			now.data[at] ^= 1;
		if (begin(&c, 20) < 0 || overwrite("m.0.0", &now) < 0)
			break;
		rc = each_rank(&part, 20, false, &c, &why);
		good += rc != 1;
		rc = each_rank(&part, 20, true, &c, &why);
		good += rc != -1 || why.kind != ERROR_CORRUPT;
		rank2file_free(&c.job);
	}
	is_int(tried, (2 * was.len), "all were tried");
	is_int(good, 0, "... and refused");
}

static int
read_again(void *arg, struct error *err)
{
	const bool *whole = arg;
	struct collecting c;
	size_t parts = 0;
	int rc = read_job(&c, "m", *whole, &parts, err);

	rank2file_free(&c.job);
	return rc;
}

int
main(void)
{
	bool whole = false;

	job_enter();
	test_same(20000, 3);
	test_forms();
	drop("m.0.16384");
	drop("m.0.8192");
	test_same(200, 1);
	test_stop();
	ok(fail_each_alloc(read_again, &whole) > 5, "no memory for a window");
	whole = true;
	ok(fail_each_alloc(read_again, &whole) > 5, "no memory for a part");
	test_same(20, 1);
	test_damage();
	drop("m.0.0");
	drop("m");
	job_leave();
	return tap_done();
}
