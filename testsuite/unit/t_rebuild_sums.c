/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_rebuild_sums.c - recorded checksums: existing but damaged files are found
 * while the plan is made or during the rebuild, and are rebuilt.
 */
#include "rescue/rebuild.h"

#include "progress.h"
#include "steps.h"

static struct scene rs6 = { SCENE(RS, 6, 1, 2, 2), .crc = true };

static struct scene xor4 = { SCENE(XOR, 4, 1, 1, 2), .crc = true };

static uint64_t
even_size(unsigned rank, unsigned file)
{
	(void)rank;
	(void)file;
	return 400;
}

static struct scene even6 = { SCENE(RS, 6, 1, 2, 2), .crc = true,
			      .size = even_size };

/* --- While planning --- */

static void
planned(unsigned threads)
{
	auto_par *par = par_new(threads, NULL);
	struct progress *progress = progress_start("test", true, NULL);
	const struct plan_options o = {
		.flags = PLAN_CHECKSUMS,
		.work = &(struct work){ .par = par, .progress = progress },
	};
	struct plan *p = NULL;

	scene_make(&even6);
	p = scene_plan_with(&even6, &o, &why);
	ok(p != NULL && plan_status(p) == STATUS_OK,
	   fmt("all checksums are right, %u threads", threads));
	plan_free(p);
	scene_do(&even6, "flip f1.0 0; flip f4.0 -1");
	p = scene_plan_with(&even6, &o, &why);
	ok(p != NULL && plan_status(p) == STATUS_DAMAGED &&
		   scene_find(p, 1, 0)->state == FILE_WRONG_CRC &&
		   scene_find(p, 4, 0)->state == FILE_WRONG_CRC &&
		   p->files_missing == 2,
	   "two are not");
	ok(scene_rebuilds(&even6, p), "the files are put right");
	progress_end(progress);
}

static uint64_t
large(unsigned rank, unsigned file)
{
	return rank == 0 && file == 0 ? (uint64_t)17 << 20 : 300000;
}

/* Files of several blocks, of which several are damaged. */

/* --- During the rebuild --- */

/* For a small file only parts of the other files are read, so their checksums
 * are not verified.  That of the result is. */

/* What is found is told. */
static void
note(void *arg, const char *what)
{
	*(bool *)arg |= strstr(what, "rank_4_0.dat of rank 4") &&
			strstr(what, "damaged");
}

TEST(told)
{
	bool found = false;
	const struct rebuild_options o = {
		.work = &(struct work){ .detail = note, .log_arg = &found },
	};
	struct rebuild_result r;
	auto_plan *p = NULL;

	scene_do(&even6, "new; lose 2; flip f4.0 30");
	p = scene_plan(&even6, 0, NULL);
	ok(rebuild(p, &o, &r, NULL) == 0 && r.crc_checked > 2 && found,
	   "a damaged input is told");
}

/* A redundancy file's body has no checksum, but all data have. */
TEST(bad_parity)
{
	scene_make(&xor4);
	for (unsigned r = 0; r < 3; r++)
		for (long off = 1; off < 340; off += 8)
			flip(scene_red(&xor4, r, false, false), -off);
	scene_table(&xor4, 0, "sums bad parity");
}

static struct scene copies5 = { SCENE(PARTNER, 5, 1, 2, 2), .crc = true };

/* 33.21: no checksum tells which redundancy is wrong, but that of the result
 * proves the right choice. */
static void
choices(struct scene *s, long body)
{
	size_t good = 0, mended = 0;

	for (unsigned r = 0; r < s->ranks; r++) {
		struct rebuild_result got;
		auto_plan *p = NULL;

		scene_make(s);
		for (long off = 1; off < body; off += 8)
			flip(scene_red(s, r, false, false), -off);
		scene_do(s, "rm f0.0");
		p = scene_plan(s, 0, &why);
		good += p != NULL && rebuild(p, NULL, &got, &why) == 0 &&
			scene_status(s, PLAN_CHECKSUMS, &why) == STATUS_OK;
		mended += got.redundancy;
	}
	is_int(good, s->ranks, "whichever redundancy file is wrong");
	ok(mended > 0, "and if it was used, it is computed again");
}

/* The damaged file was truncated after the plan was made, in a part that only
 * the comparison reads. */
TEST(cut_short)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_do(&rs6, "new; rm f0.0; flip f3.1 200");
	p = scene_plan(&rs6, 0, NULL);
	scene_do(&rs6, "cut f3.1 -1");
	ok(p != NULL && rebuild(p, NULL, NULL, &err) < 0 &&
		   says(&err, "rank_3_1"),
	   "a file that changes during the rebuild ends it");
	plan_free(p);
	ok(scene_rebuilds(&rs6, scene_plan(&rs6, 0, NULL)),
	   "and the next one puts it right");
}

/* The rebuilt file has no recorded checksum, but an input has. */
TEST(some_sums)
{
	scene_do(&rs6, "new; set m0 FILE>*>META>CRC");
	must(utimensat(AT_FDCWD, scene_map(&rs6, 0), NULL, 0) == 0);
	scene_table(&rs6, 0, "sums none");
}

TEST(no_sums)
{
	auto_scene s = { SCENE(XOR, 4, 1, 1, 2) };
	struct rebuild_result r;
	auto_plan *p = NULL;

	scene_do(&s, "new; flip f3.1 30");
	is_int(scene_status(&s, PLAN_CHECKSUMS, &why), STATUS_OK,
	       "without a recorded checksum nothing is noticed");
	scene_lose(&s, 1);
	p = scene_plan(&s, 0, &why);
	ok(rebuild(p, NULL, &r, &why) == 0 && r.crc_checked == 0,
	   "nor compared");
}

/* An unreadable file is an erasure like any other. */
TEST(unreadable)
{
	scene_make(&rs6);
	must(chmod(scene_data(&rs6, 1, 0), 0) == 0);
	if (access(scene_data(&rs6, 1, 0), R_OK) == 0) {
		skip("a file that may not be read", "root may read all");
		return;
	}
	scene_step(&rs6, PLAN_CHECKSUMS,
		   "a file that may not be read is an error", "",
		   "refused system: ");
}

/* --- Memory --- */

static void
lose_input(void)
{
	scene_lose(&rs6, 2);
	must(truncate(scene_data(&rs6, 4, 0), 0) == 0);
	must(truncate(scene_data(&rs6, 4, 0),
		      (off_t)scene_default_size(4, 0)) == 0);
}

static void
lose_output(void)
{
	(void)unlink(scene_data(&rs6, 0, 0));
	must(truncate(scene_data(&rs6, 3, 1), 400) == 0);
	must(truncate(scene_data(&rs6, 3, 1),
		      (off_t)scene_default_size(3, 1)) == 0);
}

TEST(no_memory)
{
	scene_make(&rs6);
	for (int out = 0; out < 2; out++) {
		without_memory_after (m, out ? lose_output() : lose_input(), 2,
				      out ? "a bad output" : "a bad input") {
			auto_plan *p = scene_plan(&rs6, 0, &m.err);

			m.rc = p != NULL ? rebuild(p, NULL, NULL, &m.err) : -1;
		}
		ok(scene_same(&rs6), "... as it was");
	}
}

TEST(steps)
{
	auto_scene big = { SCENE(SINGLE, 2, 2, 0, 2), .crc = true,
			   .size = large };

	planned(1);
	planned(4);
	scene_table(&even6, PLAN_CHECKSUMS, "sums too many");
	scene_table(&big, PLAN_CHECKSUMS, "sums large files");
	scene_table(&even6, 0, "sums even inputs");
	scene_table(&rs6, 0, "sums outputs");
	choices(&rs6, 340);
	choices(&copies5, 1100);
	scene_end(&copies5);
	scene_table(&xor4, 0, "sums xor inputs");
}
