/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_rank2file_store.c - a rank2file written over another: containers, a new
 * generation of parts beside the current one, and the removal of old parts;
 * and read part by part.
 */
#include "meta/rank2file.h"

#include "arena.h"
#include "jobtest.h"
#include "temp.h"

#define SEG "RANK>0>FILE>a>SEG>"

/* Does CTR record a second copy of this part?  Remove the record. */
static bool
has_copies(struct kvtree *t, const char *part)
{
	bool good = kvtree_get(kvtree_get2(t, "COPY", part), "CRC") != NULL;

	kvtree_remove(t, "COPY");
	return good;
}

/* The table of containers is read as written, also after storing it again, with
 * segments in any order. */
TEST(containers)
{
	struct kvtree *table = tree_of("SIZE>100\nBYTES>7\nFILE>c>SIZE>7\n"
				       "HIDDEN>packed.0.scr\nFUTURE>x>y\n");
	struct rank2file job, r;
	struct kvtree *t = NULL;

	make_job(&job, 3);
	job.containers = table;
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "with containers");
	t = kvtree_read_file(dirfd_, "m", NULL);
	ok(has_copies(kvtree_get(t, "CTR"), "m.0.0"), "... has copies");
	ok(tree_same(kvtree_get(t, "CTR"), table, false),
	   "... in the top file");
	kvtree_free(t);
	for (int i = 0; i < 2; i++) {
		is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "... loaded");
		ok(has_copies(kvtree_get(r.top, "CTR"), "m.0.0") &&
			   r.flaw == NULL &&
			   tree_same(r.containers, table, false),
		   "... and there");
		is_int(rank2file_store(dirfd_, "m", &r, NULL), 0,
		       "... and stored again");
		rank2file_free(&r);
	}
	job.containers = NULL;
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "without");
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "... loaded");
	ok(r.containers == NULL, "... is without");
	rank2file_free(&r);
	rank2file_free(&job);
	kvtree_free(table);

	put_job_file("m.0.0",
		     "RANKS>1\nLEVEL>0\n" SEG "1>FILE>d\n" SEG
		     "1>OFFSET>0\n" SEG "1>LENGTH>9223372036854775807\n" SEG
		     "0>LENGTH>5\n" SEG "0>MORE>5\n" SEG "0>OFFSET>3\n" SEG
		     "0>FILE>../c\nRANK>0>FILE>b>SEG\n");
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "numbers in disorder");
	ok(r.ranks[0].files[0].nsegs == 2 &&
		   strcmp(r.ranks[0].files[0].segs[0].file, "../c") == 0 &&
		   r.ranks[0].files[0].segs[0].off == 3 &&
		   r.ranks[0].files[0].segs[0].len == 5 &&
		   r.ranks[0].files[0].segs[1].len == INT64_MAX &&
		   r.ranks[0].files[1].nsegs == 0,
	   "... are put in order");
	rank2file_free(&r);
	drop("m");
	drop("m.0.0");
}

/* The numbers of the existing parts up to 20000, as "0 8192 ". */
static const char *
parts_of(const char *form)
{
	static char text[256];
	char name[64];
	size_t len = 0;

	text[0] = '\0';
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), form, i);
		if (exists_at(dirfd_, name))
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%d ", i);
	}
	return text;
}

/* Load, and store in an unused generation. */
static void
next_generation(const char *base, unsigned want, const char *form,
		const char *parts)
{
	auto_rank2file r, again;

	is_int(rank2file_load(dirfd_, base, &r, NULL), 0, base);
	is_int(r.unused, want, "... has a generation that is not in use");
	r.generation = r.unused;
	is_int(rank2file_store(dirfd_, base, &r, NULL), 0, "... stored there");
	is_str(parts_of(form), parts, "... instead of the old one");
	is_int(rank2file_load(dirfd_, base, &again, NULL), 0, "... loaded");
	ok(same_job(&r, &again) && again.generation == 0, "... the same");
}

TEST(generations)
{
	struct rank2file job;

	make_job(&job, 8193);
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "a job stored");
	put_job_file("m.0.8194", "x\n");
	put_job_file("m.0.16384", "x\n");
	put_job_file("m.1.0", "x\n");
	put_job_file("m.0.1.scr", "x\n");
	next_generation("m", 1, "m.0.%d", "1 8193 ");
	ok(!exists_at(dirfd_, "m.1.0") && exists_at(dirfd_, "m.0.1.scr"),
	   "parts of maps go, those of another job stay");
	next_generation("m", 0, "m.0.%d", "0 8192 ");
	rank2file_free(&job);
	make_job(&job, 8192);
	job.generation = 8191;
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "one rank less");
	is_str(parts_of("m.0.%d"), "8191 ", "... has one part");
	next_generation("m", 0, "m.0.%d", "0 ");
	rank2file_free(&job);
	drop("m");
	drop("m.0.0");
	drop("m.0.1.scr");

	/* Parts numbered as by LLNL's library. */
	put_job_file("m",
		     "RANKS>3\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>1>FILE>.0.1\n"
		     "RANK>2>FILE>.0.3\n");
	put_job_file("m.0.0", "LEVEL>0\nRANK>0>FILE>a\n");
	put_job_file("m.0.1", "LEVEL>0\nRANK>1>FILE>b\n");
	put_job_file("m.0.3", "LEVEL>0\nRANK>2>FILE>c\n");
	next_generation("m", 2, "m.0.%d", "2 ");
	drop("m");
	drop("m.0.2");

	put_job_file("m", "RANKS>8195\nLEVEL>1\nRANK>0>FILE>.0.0\n"
			  "RANK>1>FILE>.0.8193\n");
	put_job_file("m.0.0", "LEVEL>0\nRANK>0>FILE>a\n");
	put_job_file("m.0.8193", "LEVEL>0\nRANK>1>FILE>b\n");
	next_generation("m", 2, "m.0.%d", "2 8194 ");
	drop("m");
	drop("m.0.2");
	drop("m.0.8194");

	make_job(&job, 7);
	is_int(rank2file_store(dirfd_, "r.scr", &job, NULL), 0, "old names");
	put_job_file("r.0.1", "x\n");
	put_job_file("r.0.7.scr", "x\n");
	next_generation("r.scr", 1, "r.0.%d.scr", "1 ");
	ok(exists_at(dirfd_, "r.0.1"), "... which new ones are not");
	rank2file_free(&job);
	drop("r.0.1");
	drop("r.0.1.scr");
	drop("r.scr");
}

/* All parts were written, but not the top file: the old job is still valid. */
TEST(interrupted)
{
	struct rank2file old, new, r;
	char temp[TEMP_NAME_MAX];

	make_job(&old, 9);
	make_job(&new, 9);
	new.ranks[1].files[0].path = "other";
	new.generation = 1;
	rank2file_store(dirfd_, "m", &old, NULL);
	temp_name(temp, "m");
	is_int(mkdirat(dirfd_, temp, 0777), 0, "something is in the way");
	is_int(rank2file_store(dirfd_, "m", &new, NULL), -1, "interrupted");
	ok(exists_at(dirfd_, "m.0.0") && exists_at(dirfd_, "m.0.1"),
	   "... both are there");
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "... loaded");
	ok(same_job(&old, &r) && r.unused == 1, "... is the old");
	rank2file_free(&r);
	unlinkat(dirfd_, temp, AT_REMOVEDIR);
	is_int(rank2file_store(dirfd_, "m", &new, NULL), 0, "... once more");
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "... loaded");
	ok(same_job(&new, &r) && r.unused == 0 && !exists_at(dirfd_, "m.0.0"),
	   "... is the new");
	rank2file_free(&r);
	rank2file_free(&old);
	rank2file_free(&new);
	drop("m");
	drop("m.0.1");
}

/* Without FILES, as written by SCR 1.1.8. */
TEST(uncounted)
{
	struct rank2file job, r;
	struct kvtree *t = NULL;

	make_job(&job, 4);
	job.uncounted = true;
	job.ranks[2].expected = 5;
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "uncounted");
	t = kvtree_read_file(dirfd_, "m.0.0", NULL);
	ok(kvtree_get(kvtree_get2(t, "RANK", "2"), "FILES") == NULL &&
		   kvtree_count(kvtree_get2(t, "RANK", "0")) == 0,
	   "... without FILES");
	kvtree_free(t);
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "... loaded");
	ok(same_job(&job, &r) && r.ranks[2].expected == 2,
	   "... has those that are listed");
	rank2file_free(&r);
	rank2file_free(&job);
	drop("m");
	drop("m.0.0");
}

/* A path that a rank lists twice is one file, with the last attributes. */
TEST(twice)
{
	struct rank2file job, r;
	struct rank2file_file *f = NULL;
	struct kvtree *t = NULL;

	make_job(&job, 3);
	f = job.ranks[2].files;
	f[1].path = f[0].path;
	f[1].has_size = true;
	f[1].size = 77;
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "a path twice");
	t = kvtree_read_file(dirfd_, "m.0.0", NULL);
	is_str(kvtree_value(kvtree_get2(t, "RANK", "2"), "FILES"), "1",
	       "... is one file");
	kvtree_free(t);
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "... loaded");
	ok(r.ranks[2].nfiles == 1 && r.ranks[2].files[0].size == 77,
	   "... is the last of them");
	rank2file_free(&r);
	rank2file_free(&job);
	drop("m");
	drop("m.0.0");
}

/* `distinct` skips the search for duplicates; the bytes are the same. */
TEST(distinct)
{
	struct buf image[2] = { BUF_INIT, BUF_INIT };
	auto_rank2file job;

	make_job(&job, 9000);
	job.ranks[7].expected = 5;
	for (int i = 0; i < 2; i++) {
		job.distinct = i == 1;
		is_int(rank2file_encode_part(&job, 8, 8192, &image[i], NULL), 0,
		       "a part encoded");
	}
	ok(image[0].len == image[1].len &&
		   memcmp(image[0].data, image[1].data, image[0].len) == 0,
	   "... to the same bytes");
	buf_free(&image[0]);
	buf_free(&image[1]);
}

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
same(size_t n, size_t parts)
{
	auto_rank2file job;

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
}

TEST(each_of_many)
{
	same(20000, 3);
	drop("m.0.16384");
	drop("m.0.8192");
}

/* The top file may be the only part, and a part may lie inside a file. */
TEST(each_forms)
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

TEST(each_stop)
{
	struct rank2file_part_at part = { .name = "m.0.0" };

	same(200, 1);
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

TEST(each_memory)
{
	for (int whole = 0; whole < 2; whole++)
		without_memory (m, 6, whole ? "a part" : "a window") {
			struct collecting c;
			size_t parts = 0;

			m.rc = read_job(&c, "m", whole != 0, &parts, &m.err);
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
TEST(each_damage)
{
	auto_buf was = BUF_INIT, now = BUF_INIT;
	struct rank2file_part_at part = { .name = "m.0.0" };
	size_t good = 0, tried = 0;

	same(20, 1);
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
	drop("m.0.0");
	drop("m");
}

TEST(end)
{
	job_leave();
}

int
main(void)
{
	job_enter();
	return tap_run();
}
