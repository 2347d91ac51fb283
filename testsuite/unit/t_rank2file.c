/* SPDX-License-Identifier: BSD-3-Clause */
#include "jobtest.h"

TEST(round_trip)
{
	static const struct {
		size_t ranks;
		const char *base, *files;
	} jobs[] = {
		{ 20000, "rank2file",
		  "rank2file rank2file.0.0 rank2file.0.16384 "
		  "rank2file.0.8192 " },
		{ 7, "r.scr", "r.0.0.scr r.scr " },
		{ 1, "a", "a a.0.0 " },
		{ 0, "a", "a " },
	};

	each (j, jobs) {
		auto_rank2file job, got, again;

		make_job(&job, j->ranks);
		is_kept(j->base, &job, &got);
		is_kept(j->base, &got, &again);
		is_str(job_files(), j->files, "... in these files");
		job_enter();
	}
}

TEST(parts)
{
	auto_rank2file job, small, got;
	auto_kvtree *part = NULL, *top = NULL, *old = NULL;

	make_job(&job, 20000);
	is_kept("rank2file", &job, &got);
	part = kvtree_read_file(dirfd_, "rank2file.0.16384", NULL);
	is_str(kvtree_value(part, "RANKS"), "20000",
	       "RANKS of a part is the job's");
	is_str(kvtree_key(kvtree_first(kvtree_get(part, "RANK"))), "19999",
	       "... highest rank first");
	top = kvtree_read_file(dirfd_, "rank2file", NULL);
	is_int(kvtree_count(kvtree_get(top, "RANK")), 3, "three parts");

	put_job_file("rank2file.1.0", "LEVEL>1\n");
	put_job_file("rank2file.0.00", "x\n");
	put_job_file("rank2file.0.5.bak", "x\n");
	make_job(&small, 4);
	is_int(rank2file_store(dirfd_, "rank2file", &small, NULL), 0,
	       "a smaller job replaces it, old parts go, other files stay");
	is_str(job_text("rank2file"),
	       "4; 0 of 0; 1 of 1, ckpt/rank 1.0; 2 of 2, ckpt/rank 2.0, "
	       "ckpt/rank 2.1 2000 0x2468ace <.scr/ctr.2.scr@18000000000+77 "
	       "<.scr/ctr.3.scr@0+78; 3 of 0",
	       "... it is");
	is_str(job_files(),
	       "rank2file rank2file.0.0 rank2file.0.00 rank2file.0.5.bak ",
	       "... these files");
	is_int(rank2file_store(dirfd_, "r.scr", &small, NULL), 0, "old names");
	old = kvtree_read_file(dirfd_, "r.scr", NULL);
	is_str(kvtree_value(kvtree_get2(old, "RANK", "0"), "FILE"),
	       ".scr/r.0.0.scr", "... are whole");
}

/* Files in the formats of LLNL's writers, some of which LLNL's reader refuses,
 * and ours reads. */
TEST(forms)
{
	static const char top[] =
		"RANKS>2\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>0>OFFSET>0\n";
	static const struct {
		const char *top, *part, *want;
	} all[] = {
		{ top, "RANKS>2\nLEVEL>0\nRANK>0\nRANK>1\n",
		  "2; 0 of 0; 1 of 0" },
		{ top, "RANKS>1\nLEVEL>0\nRANK>0\nRANK>1\n",
		  "2; 0 of 0; 1 of 0; "
		  "m.0.0: says that the job had 1 ranks, not 2" },
		{ top, "LEVEL>0\nRANK>0\nRANK>1\n",
		  "2; 0 of 0; 1 of 0; "
		  "m.0.0: says that the job had 0 ranks, not 2" },
		{ top, "RANKS>1\nLEVEL>0\nRANK>0>X>odd\nRANK>1\n",
		  "2; 0 of 0; 1 of 0; "
		  "m.0.0: says that the job had 1 ranks, not 2" },
		{ "RANKS>2\nLEVEL>1\nRANK>0>FILE>.0.0\n",
		  "RANKS>2\nLEVEL>0\nRANK>0\nRANK>1\n",
		  "2; 0 of 0; 1 of 0; m.0.0: the map has no OFFSET for it" },
		{ "RANKS>2\nLEVEL>0\nRANK>1>FILE>a\n", "x\n",
		  "2; 1 of 1, a; m: a part, not a map of parts" },
		/* Of the MPI library: three levels, a part that begins with
		 * rank 1. */
		{ "RANKS>4\nLEVEL>2\nRANK>0>FILE>.1.0\nRANK>0>OFFSET>0\n"
		  "RANK>2>FILE>.1.2\nRANK>2>OFFSET>0\n",
		  "RANKS>4\nLEVEL>0\nRANK>0>FILE>a\n",
		  "4; 0 of 1, a; 1 of 0; 3 of 2, d, c; "
		  "m.0.0: the map has no OFFSET for it" },
		/* Of scr_index, which did not find one file. */
		{ "RANKS>1\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>0>OFFSET>0\n",
		  "RANKS>1\nLEVEL>0\nRANK>0>FILES>3\nRANK>0>FILE>a>SIZE>7\n"
		  "RANK>0>FILE>a>CRC>0xff\nRANK>0>FILE>a>SEG>0>LENGTH>7\n"
		  "RANK>0>FILE>a>SEG>0>FILE>c\n"
		  "RANK>0>FILE>a>SEG>0>OFFSET>0\n"
		  "RANK>0>FILE>a>OTHER>x\nRANK>0>FILE>b\n",
		  "1; 0 of 3, a 7 0xff <c@0+7, b" },
	};
	auto_rank2file r, again;

	put_job_file("m.1.0",
		     "RANKS>4\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>1>FILE>.0.1\n");
	put_job_file("m.1.2", "RANKS>4\nLEVEL>1\nRANK>2>FILE>.0.2\n");
	put_job_file("m.0.1", "RANKS>4\nLEVEL>0\nRANK>1\n");
	put_job_file("m.0.2",
		     "RANKS>2\nLEVEL>0\nRANK>3>FILE>d\nRANK>3>FILE>c\n");
	each (a, all) {
		put_job_file("m", a->top);
		put_job_file("m.0.0", a->part);
		is_str(job_text("m"), a->want, "a form");
	}
	is_int(rank2file_load(dirfd_, "m", &r, NULL), 0, "the last");
	is_kept("m", &r, &again);
	ok(again.ranks[0].expected == 3 &&
		   kvtree_get2(again.ranks[0].files[0].node, "OTHER", "x"),
	   "... is stored with all it had");
	is_str(kvtree_value(kvtree_get2(r.ranks[0].files[0].node, "SEG", "0"),
			    "LENGTH"),
	       "7", "... also what is known");
}

/* A tree that is not at the start of its file. */
TEST(offset)
{
	auto_kvtree *t = tree_of("RANKS>1\nLEVEL>0\nRANK>0>FILE>a\n");
	auto_buf raw = BUF_INIT;

	buf_add_str(&raw, "before");
	kvtree_encode(t, &raw, NULL);
	io_replace(dirfd_, "m.0.0", raw.data, raw.len, 0666, NULL);
	put_job_file("m",
		     "RANKS>1\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>0>OFFSET>6\n");
	is_str(job_text("m"), "1; 0 of 1, a", "an offset is heeded");
	put_job_file("m", "RANKS>1\nLEVEL>1\nRANK>0>FILE>.0.0\n"
			  "RANK>0>OFFSET>1000\n");
	job_text("m");
	is_int(why.kind, ERROR_CORRUPT, "one too far");
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
}

TEST(no_memory)
{
	auto_rank2file job;
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
}

int
main(void)
{
	tap_before = job_enter;
	return tap_run();
}
