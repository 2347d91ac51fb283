/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/rank2file.h"

#include "jobtest.h"

/* Store and load, with both kinds of names. */
static void
test_round_trip(size_t n, const char *base, const char *last)
{
	struct rank2file job, got;

	make_job(&job, n);
	is_int(rank2file_store(dirfd_, base, &job, &why), 0, "a job stored");
	ok(exists_at(dirfd_, base) && exists_at(dirfd_, last),
	   "... in its files");
	for (int i = 0; i < 2; i++) {
		is_int(rank2file_load(dirfd_, base, &got, &why), 0, why.text);
		ok(same_job(&job, &got), "... is loaded");
		is_int(rank2file_store(dirfd_, base, &got, &why), 0,
		       "... stored again");
		rank2file_free(&got);
	}
	rank2file_free(&job);
}

TEST(parts)
{
	struct rank2file job, got;
	struct kvtree *t = NULL;

	test_round_trip(20000, "rank2file", "rank2file.0.16384");
	t = kvtree_read_file(dirfd_, "rank2file.0.16384", NULL);
	is_str(kvtree_value(t, "RANKS"), "20000",
	       "RANKS of a part is the job's");
	is_str(kvtree_key(kvtree_first(kvtree_get(t, "RANK"))), "19999",
	       "... highest rank first");
	kvtree_free(t);
	t = kvtree_read_file(dirfd_, "rank2file", NULL);
	is_int(kvtree_count(kvtree_get(t, "RANK")), 3, "three parts");
	kvtree_free(t);

	/* Replace it by a smaller job. */
	put_job_file("rank2file.1.0", "LEVEL>1\n");
	put_job_file("rank2file.0.00", "x\n");
	put_job_file("rank2file.0.5.bak", "x\n");
	make_job(&job, 4);
	is_int(rank2file_store(dirfd_, "rank2file", &job, NULL), 0,
	       "a smaller job stored");
	rank2file_free(&job);
	ok(exists_at(dirfd_, "rank2file.0.0") &&
		   !exists_at(dirfd_, "rank2file.0.8192") &&
		   !exists_at(dirfd_, "rank2file.0.16384") &&
		   !exists_at(dirfd_, "rank2file.1.0"),
	   "... old parts go");
	ok(exists_at(dirfd_, "rank2file.0.00") &&
		   exists_at(dirfd_, "rank2file.0.5.bak"),
	   "... other files stay");
	is_int(rank2file_load(dirfd_, "rank2file", &got, NULL), 0, "loaded");
	is_int(got.nranks, 4, "... it is");
	rank2file_free(&got);
	drop("rank2file.0.00");
	drop("rank2file.0.5.bak");
	drop("rank2file.0.0");
	drop("rank2file");
	test_round_trip(7, "r.scr", "r.0.0.scr");
	t = kvtree_read_file(dirfd_, "r.scr", NULL);
	is_str(kvtree_value(kvtree_get2(t, "RANK", "0"), "FILE"),
	       ".scr/r.0.0.scr", "old names are whole");
	kvtree_free(t);
	drop("r.0.0.scr");
	drop("r.scr");
	test_round_trip(1, "a", "a.0.0");
	drop("a.0.0");
	drop("a");
	test_round_trip(0, "a", "a");
	drop("a");
}

/* Files in the formats of LLNL's writers. */
TEST(forms)
{
	struct rank2file r;

	/* Of the MPI library: three levels, a part that begins with rank 1. */
	put_job_file("m",
		     "RANKS>4\nLEVEL>2\nRANK>0>FILE>.1.0\nRANK>0>OFFSET>0\n"
		     "RANK>2>FILE>.1.2\nRANK>2>OFFSET>0\n");
	put_job_file("m.1.0",
		     "RANKS>4\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>1>FILE>.0.1\n");
	put_job_file("m.1.2", "RANKS>4\nLEVEL>1\nRANK>2>FILE>.0.2\n");
	put_job_file("m.0.0", "RANKS>4\nLEVEL>0\nRANK>0>FILE>a\n");
	put_job_file("m.0.1", "RANKS>4\nLEVEL>0\nRANK>1\n");
	put_job_file("m.0.2",
		     "RANKS>2\nLEVEL>0\nRANK>3>FILE>d\nRANK>3>FILE>c\n");
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "three levels");
	ok(r.nranks == 4 && r.ranks[0].present && r.ranks[1].present &&
		   !r.ranks[2].present && r.ranks[3].present,
	   "... present are those listed");
	is_str(r.ranks[0].files[0].path, "a", "... a file");
	is_int(r.ranks[1].nfiles, 0, "... none");
	is_str(r.ranks[3].files[1].path, "c", "... the second of two");
	rank2file_free(&r);

	/* Of scr_index, which did not find one file. */
	put_job_file("m", "RANKS>1\nLEVEL>1\nRANK>0>FILE>.0.0\n");
	put_job_file("m.0.0",
		     "RANKS>1\nLEVEL>0\nRANK>0>FILES>3\nRANK>0>FILE>a>SIZE>7\n"
		     "RANK>0>FILE>a>CRC>0xff\nRANK>0>FILE>a>SEG>0>LENGTH>7\n"
		     "RANK>0>FILE>a>SEG>0>FILE>c\n"
		     "RANK>0>FILE>a>SEG>0>OFFSET>0\n"
		     "RANK>0>FILE>a>OTHER>x\nRANK>0>FILE>b\n");
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "scr_index");
	is_int(r.ranks[0].nfiles, 2, "... two files");
	is_int(r.ranks[0].expected, 3, "... of three");
	ok(r.ranks[0].files[0].has_size && r.ranks[0].files[0].size == 7 &&
		   r.ranks[0].files[0].has_crc &&
		   r.ranks[0].files[0].crc == 0xff,
	   "... size and checksum");
	is_str(kvtree_value(kvtree_get2(r.ranks[0].files[0].node, "SEG", "0"),
			    "LENGTH"),
	       "7", "... and all else");
	is_int(rank2file_store(dirfd_, "m", &r, NULL), 0, "... is stored");
	rank2file_free(&r);
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "... and loaded");
	ok(r.ranks[0].expected == 3 &&
		   kvtree_get2(r.ranks[0].files[0].node, "OTHER", "x") != NULL,
	   "... with all it had");
	rank2file_free(&r);

	put_job_file("m", "RANKS>2\nLEVEL>0\nRANK>1>FILE>a\n");
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "a part alone");
	ok(r.ranks[1].nfiles == 1 && !r.ranks[0].present, "... says all");
	rank2file_free(&r);
	drop("m.0.0");
	drop("m");
}

/* What LLNL's reader refuses, and ours reads. */
TEST(foreign)
{
	static const char top[] =
		"RANKS>2\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>0>OFFSET>0\n";
	static const struct {
		const char *top, *part, *why;
	} all[] = {
		{ top, "RANKS>2\nLEVEL>0\nRANK>0\nRANK>1\n", NULL },
		{ top, "RANKS>1\nLEVEL>0\nRANK>0\nRANK>1\n",
		  "m.0.0: says that the job had 1 ranks, not 2" },
		{ top, "LEVEL>0\nRANK>0\nRANK>1\n",
		  "m.0.0: says that the job had 0 ranks, not 2" },
		{ top, "RANKS>1\nLEVEL>0\nRANK>0>X>odd\nRANK>1\n",
		  "m.0.0: says that the job had 1 ranks, not 2" },
		{ "RANKS>2\nLEVEL>1\nRANK>0>FILE>.0.0\n",
		  "RANKS>2\nLEVEL>0\nRANK>0\nRANK>1\n",
		  "m.0.0: the map has no OFFSET for it" },
		{ "RANKS>2\nLEVEL>0\nRANK>0\nRANK>1\n", "x\n",
		  "m: a part, not a map of parts" },
	};
	struct rank2file r;

	each (a, all) {
		put_job_file("m", a->top);
		put_job_file("m.0.0", a->part);
		is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "read");
		ok(r.ranks[0].present && r.ranks[1].present, "... completely");
		is_str(r.refused, a->why, "... would LLNL's?");
		rank2file_free(&r);
	}
	drop("m.0.0");
	drop("m");
}

/* A tree that is not at the start of its file. */
TEST(offset)
{
	struct kvtree *t = tree_of("RANKS>1\nLEVEL>0\nRANK>0>FILE>a\n");
	struct buf raw = BUF_INIT;
	struct rank2file r;

	buf_add_str(&raw, "before");
	kvtree_encode(t, &raw, NULL);
	io_replace(dirfd_, "m.0.0", raw.data, raw.len, 0666, NULL);
	put_job_file("m",
		     "RANKS>1\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>0>OFFSET>6\n");
	is_int(rank2file_load(dirfd_, "m", &r, &why), 0, "an offset");
	is_str(r.ranks[0].files[0].path, "a", "... is heeded");
	rank2file_free(&r);
	put_job_file("m", "RANKS>1\nLEVEL>1\nRANK>0>FILE>.0.0\n"
			  "RANK>0>OFFSET>1000\n");
	is_int(rank2file_load(dirfd_, "m", &r, &why), -1, "one too far");
	is_int(why.kind, ERROR_CORRUPT, why.text);
	buf_free(&raw);
	kvtree_free(t);
	drop("m.0.0");
	drop("m");
}

#define TOP_OF(part) "RANKS>4\nLEVEL>1\nRANK>0>FILE>" part "\n"
#define TOP TOP_OF(".0.0")

/* The start of the keys of a file's first segment. */
#define SEG "RANK>1>FILE>a>SEG>"
#define SEG0 "LEVEL>0\n" SEG "0>FILE>c\n" SEG "0>OFFSET>0\n" SEG "0>"

TEST(refused)
{
	static const struct {
		const char *what, *top, *part;
	} bad[] = {
		{ "no RANKS", "LEVEL>1\n", "" },
		{ "no LEVEL", "RANKS>1\n", "" },
		{ "too many levels", "RANKS>1\nLEVEL>9\n", "" },
		{ "too many ranks", "RANKS>100000001\nLEVEL>1\n", "" },
		{ "more ranks than bytes", "RANKS>99999999\nLEVEL>1\n", "" },
		{ "no FILE", "RANKS>4\nLEVEL>1\nRANK>0>OFFSET>0\n", "" },
		{ "two FILEs", TOP "RANK>0>FILE>.0.1\n", "LEVEL>0\n" },
		{ "no part", TOP_OF(".0.7"), "" },
		{ "a name that climbs", TOP_OF("/../x.0.0"), "" },
		{ "a name of another form", TOP_OF(".0.0.scr"), "" },
		{ "a name with a zero too many", TOP_OF(".0.00"), "" },
		{ "a part of the wrong level by name",
		  "RANKS>4\nLEVEL>2\nRANK>0>FILE>.0.0\n", "LEVEL>0\n" },
		{ "a part of the wrong level", TOP, "RANKS>4\nLEVEL>1\n" },
		{ "a part without level", TOP, "RANKS>4\n" },
		{ "a part named twice", TOP "RANK>1>FILE>.0.0\n",
		  "RANKS>4\nLEVEL>0\n" },
		{ "a part of a larger job", TOP, "RANKS>5\nLEVEL>0\n" },
		{ "a rank beyond the job", TOP,
		  "RANKS>4\nLEVEL>0\nRANK>4>FILE>a\n" },
		{ "no rank", TOP, "RANKS>4\nLEVEL>0\nRANK>x>FILE>a\n" },
		{ "fewer files than listed", TOP,
		  "RANKS>4\nLEVEL>0\nRANK>1>FILES>0\nRANK>1>FILE>a\n" },
		{ "a broken size", TOP,
		  "RANKS>4\nLEVEL>0\nRANK>1>FILE>a>SIZE>x\n" },
		{ "a broken checksum", TOP,
		  "RANKS>4\nLEVEL>0\nRANK>1>FILE>a>CRC>0x1ffffffff\n" },
		{ "a segment without length", TOP, SEG0 "LENGTH\n" },
		{ "one of two lengths", TOP,
		  SEG0 "LENGTH>5\n" SEG "0>LENGTH>6\n" },
		{ "one that is too long", TOP,
		  SEG0 "LENGTH>9223372036854775808\n" },
		{ "one of negative length", TOP, SEG0 "LENGTH>-1\n" },
		{ "one that lacks something", TOP, SEG0 "SIZE>5\n" },
		{ "one that is empty", TOP, "LEVEL>0\n" SEG "0\n" },
		{ "no first one", TOP,
		  "LEVEL>0\n" SEG "1>FILE>c\n" SEG "1>OFFSET>0\n" SEG
		  "1>LENGTH>5\n" },
		{ "a hole in the numbers", TOP,
		  SEG0 "LENGTH>5\n" SEG "2>FILE>c\n" },
		{ "a number with a zero too many", TOP,
		  SEG0 "LENGTH>5\n" SEG "00>FILE>c\n" },
		{ "no number", TOP, SEG0 "LENGTH>5\n" SEG "x>FILE>c\n" },
		{ "a huge number", TOP,
		  SEG0 "LENGTH>5\n" SEG "18446744073709551616>FILE>c\n" },
	};
	struct rank2file r;

	each (b, bad) {
		put_job_file("m", b->top);
		put_job_file("m.0.0", b->part);
		is_int(rank2file_load(dirfd_, "m", &r, &why), -1, b->what);
		is_int(why.kind, ERROR_CORRUPT, why.text);
		ok(r.ntrees == 0 && r.arena == NULL, "... nothing is left");
	}
	put_job_file("m", TOP "RANK>2>FILE>.0.2\n");
	put_job_file("m.0.0", "RANKS>4\nLEVEL>0\nRANK>1>FILE>a\n");
	put_job_file("m.0.2", "RANKS>4\nLEVEL>0\nRANK>1>FILE>a\n");
	is_int(rank2file_load(dirfd_, "m", &r, &why), -1, "a rank twice");
	is_str(why.text, "m.0.2: rank 1: 1: rank in two parts", why.text);
	put_job_file("m.scr", TOP);
	is_int(rank2file_load(dirfd_, "m.scr", &r, &why), -1,
	       "a new name among old ones");
	is_int(rank2file_load(dirfd_, "nosuch", &r, &why), -1, "no file");
	is_int(why.kind, ERROR_ABSENT, why.text);
	drop("m");
	drop("m.scr");
	drop("m.0.0");
	drop("m.0.2");
}

/* Cut the files at each byte, and change each byte. */
TEST(damage)
{
	static const char *const names[] = { "m", "m.0.0" };
	struct rank2file job, r;
	size_t i = 0, f = 0, odd = 0, loaded = 0;

	make_job(&job, 3);
	rank2file_store(dirfd_, "m", &job, NULL);
	rank2file_free(&job);
	for (f = 0; f < 2; f++) {
		auto_buf raw = BUF_INIT;
		auto_fd int fd = openat(dirfd_, names[f], O_RDWR | O_CLOEXEC);

		io_read_fd(fd, names[f], SIZE_MAX, &raw, NULL);
		for (i = 0; i < raw.len; i++) {
			struct error err = ERROR_INIT;
			char flipped = (char)(raw.data[i] ^ 1 << i % 8);

			if (pwrite(fd, &flipped, 1, (off_t)i) != 1 ||
			    (rank2file_load(dirfd_, "m", &r, &err) < 0 &&
			     err.kind != ERROR_CORRUPT))
				odd++;
			loaded += err.kind == ERROR_NONE;
			rank2file_free(&r);
			odd += pwrite(fd, raw.data + i, 1, (off_t)i) != 1;
		}
		for (i = raw.len; i-- > 0;) {
			odd += ftruncate(fd, (off_t)i) < 0 ||
			       rank2file_load(dirfd_, "m", &r, NULL) == 0;
			rank2file_free(&r);
		}
		odd += pwrite(fd, raw.data, raw.len, 0) != (ssize_t)raw.len;
	}
	is_int(odd, 0, "cut and flipped files are refused");
	/* The flag for "no checksum" makes the file end early. */
	ok(loaded <= 16, "... but for bits nobody looks at");
	drop("m");
	drop("m.0.0");
}

TEST(no_memory)
{
	struct rank2file job;
	size_t i = 0;

	make_job(&job, 200);
	for (i = 0; i < job.nranks; i++)
		job.ranks[i].present = true;
	without_memory (m, 6, "no memory to store") {
		m.rc = rank2file_store(dirfd_, "m", &job, &m.err);
	}
	without_memory (x, 6, "no memory to load") {
		struct rank2file r;

		x.rc = rank2file_load(dirfd_, "m", &r, &x.err);
		if (x.rc == 0)
			rank2file_free(&r);
	}
	rank2file_free(&job);
	drop("m");
	drop("m.0.0");
}

TEST(unwritable)
{
	auto_rank2file job;
	struct error err = ERROR_INIT;
	auto_fd int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	make_job(&job, 2);
	is_int(rank2file_store(fd, "m", &job, &err), -1,
	       "a directory that takes no files");
	ok(err.kind != ERROR_NONE, err.text);
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
