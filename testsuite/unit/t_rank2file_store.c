/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_rank2file_store.c - a rank2file written over another: containers, a new
 * generation of parts beside the current one, and the removal of old parts;
 * and read part by part.
 */
#include "jobtest.h"

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
	auto_kvtree *table = tree_of("SIZE>100\nBYTES>7\nFILE>c>SIZE>7\n"
				     "HIDDEN>packed.0.scr\nFUTURE>x>y\n");
	auto_kvtree *t = NULL;
	auto_rank2file job, first, second, third;

	make_job(&job, 3);
	job.containers = table;
	is_kept("m", &job, &first);
	t = kvtree_read_file(dirfd_, "m", NULL);
	ok(has_copies(kvtree_get(t, "CTR"), "m.0.0") &&
		   tree_same(kvtree_get(t, "CTR"), table, false),
	   "containers with copies in the top file");
	is_kept("m", &first, &second);
	ok(has_copies(kvtree_get(second.top, "CTR"), "m.0.0") &&
		   second.flaw == NULL &&
		   tree_same(second.containers, table, false),
	   "... and of what is loaded and stored again");
	job.containers = NULL;
	is_kept("m", &job, &third);
	ok(third.containers == NULL, "without");

	put_job_file("m.0.0",
		     "RANKS>1\nLEVEL>0\n" SEG "1>FILE>d\n" SEG
		     "1>OFFSET>0\n" SEG "1>LENGTH>9223372036854775807\n" SEG
		     "0>LENGTH>5\n" SEG "0>MORE>5\n" SEG "0>OFFSET>3\n" SEG
		     "0>FILE>../c\nRANK>0>FILE>b>SEG\n");
	is_str(job_text("m"),
	       "3; 0 of 2, a <../c@3+5 <d@0+9223372036854775807, b; "
	       "m.0.0: says that the job had 1 ranks, not 3",
	       "numbers in disorder are put in order");
}

/* Load, and store in an unused generation. */
static void
next_generation(const char *base, unsigned want, const char *files)
{
	auto_rank2file r, again;

	is_int(rank2file_load(dirfd_, base, &r, NULL), 0, base);
	is_int(r.unused, want, "... has a generation that is not in use");
	r.generation = r.unused;
	is_kept(base, &r, &again);
	is_int(again.generation, 0, "... there, instead of the old one");
	is_str(job_files(), files, "... with these files");
}

static void
put_made_job(const char *base, size_t n, unsigned generation)
{
	auto_rank2file job;

	make_job(&job, n);
	job.generation = generation;
	is_int(rank2file_store(dirfd_, base, &job, NULL), 0, "a job stored");
}

TEST(generations)
{
	put_made_job("m", 8193, 0);
	put_job_file("m.0.8194", "x\n");
	put_job_file("m.0.16384", "x\n");
	put_job_file("m.1.0", "x\n");	  /* of a map */
	put_job_file("m.0.1.scr", "x\n"); /* of another job */
	next_generation("m", 1, "m m.0.1 m.0.1.scr m.0.8193 ");
	next_generation("m", 0, "m m.0.0 m.0.1.scr m.0.8192 ");
	put_made_job("m", 8192, 8191);
	is_str(job_files(), "m m.0.1.scr m.0.8191 ", "one rank less");
	next_generation("m", 0, "m m.0.0 m.0.1.scr ");
	job_enter();

	/* Parts numbered as by LLNL's library. */
	put_job_file("m",
		     "RANKS>3\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>1>FILE>.0.1\n"
		     "RANK>2>FILE>.0.3\n");
	put_job_file("m.0.0", "LEVEL>0\nRANK>0>FILE>a\n");
	put_job_file("m.0.1", "LEVEL>0\nRANK>1>FILE>b\n");
	put_job_file("m.0.3", "LEVEL>0\nRANK>2>FILE>c\n");
	next_generation("m", 2, "m m.0.2 ");
	put_job_file("m", "RANKS>8195\nLEVEL>1\nRANK>0>FILE>.0.0\n"
			  "RANK>1>FILE>.0.8193\n");
	put_job_file("m.0.0", "LEVEL>0\nRANK>0>FILE>a\n");
	put_job_file("m.0.8193", "LEVEL>0\nRANK>1>FILE>b\n");
	next_generation("m", 2, "m m.0.2 m.0.8194 ");

	job_enter();
	put_made_job("r.scr", 7, 0);
	put_job_file("r.0.1", "x\n"); /* of a new name */
	put_job_file("r.0.7.scr", "x\n");
	next_generation("r.scr", 1, "r.0.1 r.0.1.scr r.scr ");
}

/* All parts were written, but not the top file: the old job is still valid. */
TEST(interrupted)
{
	auto_rank2file old, new, r, again;
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
	unlinkat(dirfd_, temp, AT_REMOVEDIR);
	is_kept("m", &new, &again);
	is_int(again.unused, 0, "... once more, it is the new");
	is_str(job_files(), "m m.0.1 ", "... these files");
}

/* Without FILES, as written by SCR 1.1.8; and a path that a rank lists twice,
 * which is one file, with the last attributes. */
TEST(files)
{
	auto_rank2file job, got;
	struct rank2file_file *f = NULL;
	auto_kvtree *without = NULL, *with = NULL;

	make_job(&job, 3);
	job.uncounted = true;
	job.ranks[2].expected = 5;
	is_kept("m", &job, &got);
	is_int(got.ranks[2].expected, 2, "expected are those that are listed");
	without = kvtree_read_file(dirfd_, "m.0.0", NULL);
	ok(kvtree_get(kvtree_get2(without, "RANK", "2"), "FILES") == NULL &&
		   kvtree_count(kvtree_get2(without, "RANK", "0")) == 0,
	   "... without FILES");

	job.uncounted = false;
	job.ranks[2].expected = 0;
	f = job.ranks[2].files;
	f[1] = (struct rank2file_file){ .path = f[0].path,
					.has_size = true,
					.size = 77 };
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "a path twice");
	with = kvtree_read_file(dirfd_, "m.0.0", NULL);
	is_str(kvtree_value(kvtree_get2(with, "RANK", "2"), "FILES"), "1",
	       "... is one file");
	is_str(job_text("m"),
	       "3; 0 of 0; 1 of 1, ckpt/rank 1.0; 2 of 1, ckpt/rank 2.0 77",
	       "... the last of them");
}

/* `distinct` skips the search for duplicates; the bytes are the same. */
TEST(distinct)
{
	auto_buf plain = BUF_INIT, quick = BUF_INIT;
	auto_rank2file job;

	make_job(&job, 9000);
	job.ranks[7].expected = 5;
	rank2file_encode_part(&job, 8, 8192, &plain, NULL);
	job.distinct = true;
	is_int(rank2file_encode_part(&job, 8, 8192, &quick, NULL), 0, "a part");
	is_int(quick.len, plain.len, "... encoded to the same bytes");
	is_mem(quick.data, plain.data, plain.len, "... all of them");
}

/* What to do with the ranks that rank2file_each_rank() gives. */
struct visits {
	const struct rank2file *want; /* compare with this, or NULL */
	size_t calls, good, stop_at;  /* fail at this call; 0: never */
	const char *text;	      /* add them to this, or NULL */
};

static int
take(void *arg, size_t rank, const struct rank2file_rank *r, struct error *err)
{
	struct visits *v = arg;

	if (++v->calls == v->stop_at)
		return error_set(err, ERROR_LOST, "stop");
	if (v->want != NULL)
		v->good += same_rank(&v->want->ranks[rank], r);
	if (v->text != NULL)
		v->text = fmt("%s%s", v->text, rank_text(rank, r));
	return 0;
}

static int
each_rank(const struct rank2file_part_at *part, size_t nranks, bool whole,
	  struct visits *v)
{
	const struct rank2file_visit visit = {
		.nranks = nranks, .whole = whole, .take = take, .arg = v
	};

	return rank2file_each_rank(dirfd_, part, &visit, &why);
}

/* All ranks of the rank2file `base`: 0, or what a part returned. */
static int
read_job(struct visits *v, const char *base, bool whole, size_t *parts)
{
	auto_arena *a = arena_new();
	struct rank2file_parts p = { .count = 0 };
	int rc = a == NULL ? error_no_memory(&why)
			   : rank2file_list(dirfd_, base, a, &p, &why);

	*parts = p.count;
	for (size_t i = 0; rc == 0 && i < p.count; i++)
		rc = each_rank(&p.parts[i], p.nranks, whole, v);
	kvtree_free(p.top);
	return rc;
}

static void
same(size_t n, size_t parts)
{
	auto_rank2file job;
	size_t present = 0, is = 0;

	make_job(&job, n);
	for (size_t i = 0; i < n; i++)
		present += job.ranks[i].present;
	is_int(rank2file_store(dirfd_, "m", &job, NULL), 0, "stored");
	for (int whole = 0; whole < 2; whole++) {
		struct visits v = { .want = &job };

		is_int(read_job(&v, "m", whole, &is), 0, "read");
		is_int(is, parts, "... its parts");
		is_int(v.good, present, "... every rank");
		is_int(v.calls, present, "... once");
	}
}

TEST(each_of_many)
{
	same(20000, 3);
}

/* The top file may be the only part, and a part may lie inside a file. */
TEST(each_forms)
{
	static const struct {
		const char *base, *tree; /* ODD: a key that no program writes */
		bool whole;
		int rc;
		const char *text;
	} forms[] = {
		{ "t",
		  "LEVEL>0\nRANKS>2\nRANK>1>FILES>0\n"
		  "RANK>0>FILES>3\nRANK>0>FILE>a>SIZE>5\n",
		  false, 0, "; 1 of 0; 0 of 3, a 5" },
		{ "u", "LEVEL>0\nRANKS>1\nODD>1\nRANK>0>FILE>a>SIZE>5\n", false,
		  1, NULL },
		{ "v", "LEVEL>0\nRANKS>1\nODD>1\nRANK>0>FILE>a>SIZE>5\n", true,
		  0, "; 0 of 1, a 5" },
	};
	struct visits none = { .calls = 0 };
	size_t parts = 0;

	each (f, forms) {
		struct visits v = { .text = "" };

		put_job_file(f->base, f->tree);
		is_int(read_job(&v, f->base, f->whole, &parts), f->rc, f->base);
		is_int(parts, 1, "... is one part");
		if (f->text != NULL)
			is_str(v.text, f->text, "... read");
	}
	is_int(read_job(&none, "nosuch", false, &parts), -1, "no file");
	is_int(why.kind, ERROR_ABSENT, why.text);
}

TEST(each_stop)
{
	struct rank2file_part_at part = { .name = "m.0.0" };

	same(200, 1);
	for (int whole = 0; whole < 2; whole++) {
		struct visits v = { .stop_at = 3 };

		is_int(each_rank(&part, 200, whole, &v), -1, "fn fails");
		is_int(why.kind, ERROR_LOST, "... its error");
		is_int(v.calls, 3, "... and is not called again");
	}
}

TEST(each_memory)
{
	same(200, 1);
	for (int whole = 0; whole < 2; whole++)
		without_memory (m, 6, whole ? "a part" : "a window") {
			struct visits v = { .calls = 0 };
			size_t parts = 0;

			m.rc = read_job(&v, "m", whole != 0, &parts);
			m.err = why;
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
		struct visits v = { .calls = 0 };
		const size_t at = i / 2;
		int rc = 0;

		buf_clear(&now);
		buf_add(&now, was.data, i % 2 ? at : was.len);
		if (i % 2 == 0)
			now.data[at] ^= 1;
		if (overwrite("m.0.0", &now) < 0)
			break;
		good += each_rank(&part, 20, false, &v) != 1;
		rc = each_rank(&part, 20, true, &v);
		good += rc != -1 || why.kind != ERROR_CORRUPT;
	}
	is_int(tried, (2 * was.len), "all were tried");
	is_int(good, 0, "... and refused");
}

int
main(void)
{
	tap_before = job_enter;
	return tap_run();
}
