/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_rebuild.c - rebuilds from plans: lost files are restored, and a rebuild
 * that is impossible changes nothing.  (Checksums: t_rebuild_sums.)
 */
#include "rescue/rebuild.h"

#include "progress.h"
#include "steps.h"

static struct scene rs6 = { SCENE(RS, 6, 1, 2, 2) };

static struct scene xor8 = { SCENE(XOR, 8, 2, 1, 2) };

/* Plan and rebuild from the current state. */
static int
rebuild_now(const struct scene *s, const struct rebuild_options *o,
	    struct rebuild_result *r, struct error *err)
{
	auto_plan *p = scene_plan(s, 0, err);

	return p != NULL ? rebuild(p, o, r, err) : -1;
}

/* --- Complete rebuilds --- */

/* Some sizes are larger than a block, and none is round. */
static uint64_t
long_size(unsigned rank, unsigned file)
{
	return file == 0 ? 150001 + rank * 40009 : 77 * rank;
}

static void
schemes(unsigned threads)
{
	static const struct {
		struct scene s;
		const char *lost;
		uint64_t memory;
		unsigned nlost;
	} cases[] = {
#define BIG .size = long_size
		{ { SCENE(XOR, 8, 2, 1, 2) }, "lose 2 7", 0, 2 },
		{ { SCENE(XOR, 3, 1, 1, 2), BIG }, "lose 1", 1, 1 },
		{ { SCENE(RS, 4, 1, 1, 2) }, "lose 3", 0, 1 },
		{ { SCENE(RS, 12, 2, 2, 2) }, "lose 0 2 11", 1 << 16, 3 },
		{ { SCENE(RS, 7, 1, 3, 2), BIG }, "lose 1 2 6", 0, 3 },
		{ { SCENE(PARTNER, 8, 2, 1, 2) }, "lose 0 3 4", 0, 3 },
		{ { SCENE(PARTNER, 5, 1, 2, 2), BIG }, "lose 3 4", 0, 2 },
#undef BIG
	};
	auto_par *par = par_new(threads, NULL);
	struct progress *progress = progress_start("test", true, NULL);

	each (c, cases) {
		auto_scene s = c->s;
		const struct rebuild_options o = {
			.work = &(struct work){ .par = par,
						.memory = c->memory,
						.progress = progress },
		};
		const size_t lost = c->nlost;
		struct rebuild_result r;

		scene_make(&s);
		scene_do(&s, c->lost);
		ok(rebuild_now(&s, &o, &r, &why) == 0,
		   fmt("%s of %u, %u threads: rebuilt",
		       redset_type_name(s.type), s.ranks, threads));
		ok(scene_same(&s), "all is as it was, with modes, owners and "
				   "times");
		ok(r.files == 2 * lost && r.maps == lost &&
			   r.redundancy == 2 * lost &&
			   r.descriptors == 2 * lost && r.crc_checked == 0 &&
			   r.bytes_written > 0 && r.bytes_read > 0,
		   "the result counts what was written");
	}
	progress_end(progress);
}

/* Data without redundancy, redundancy without data, filemaps alone. */

/* --- Partial rebuilds and refusals --- */

static void
lost(void)
{
	auto_plan *p = NULL;
	struct rebuild_options o = { .extent = REBUILD_PARTIAL };
	struct rebuild_result r;

	scene_table(&xor8, 0, "rebuild one lost");
	ok(rebuild_now(&xor8, &o, &r, &why) == 0, "what can be, can be");
	/* Rank 1 is too short to have data in all stripes, so the parity of
	 * rank 5 can be computed, too. */
	ok(r.files == 2 && r.maps == 1 && r.redundancy == 3,
	   "one of the ranks");
	ok(exists(scene_data(&xor8, 2, 0)) && exists(scene_map(&xor8, 2)) &&
		   !exists(scene_data(&xor8, 5, 0)),
	   "that of the other set");
	p = scene_plan(&xor8, PLAN_HEADERS, &why);
	ok(p != NULL && p->ranks_lost == 2 && p->sets[0].missing == 0 &&
		   p->sets[2].missing == 0,
	   "whose sets are whole again");
	plan_free(p);
	ok(rebuild_now(&xor8, &o, &r, &why) == 0 &&
		   r.files + r.maps + r.redundancy == 0,
	   "a second time there is nothing to do");

	/* Some bytes of a lost set can be computed; files that consist of them
	 * are rebuilt. */
	scene_do(&xor8, "new; rm f1.1; data 5 7");
	p = scene_plan(&xor8, 0, &why);
	ok(p != NULL && p->sets[3].verdict == SET_LOST &&
		   scene_find(p, 1, 1)->fate == FATE_REBUILD,
	   "an empty file of a lost set");
	ok(rebuild(p, &o, &r, &why) == 0 && r.files >= 1 &&
		   exists(scene_data(&xor8, 1, 1)),
	   "comes back");
}

TEST(stopped)
{
	struct work w = { .stop = is_stopped, .memory = 1 };
	const struct rebuild_options o = { .work = &w };
	struct rebuild_result r;

	stop_after = 0;
	rs6.size = long_size;
	scene_do(&rs6, "new; data 1; keep");
	rs6.size = NULL;
	refuses(rebuild_now(&rs6, &o, &r, &why), -EINTR, NULL,
		"stopped at once");
	ok(scene_same(&rs6), "nothing is left of it");
	stop_after = 2;
	refuses(rebuild_now(&rs6, &o, &r, &why), -EINTR, NULL,
		"stopped in the middle");
	ok(scene_same(&rs6) && r.files == 0, "nothing is left of that");
	w.stop = NULL;
	ok(rebuild_now(&rs6, &o, &r, &why) == 0 && r.files == 2,
	   "and done the next time");
}

/* --- Errors during a rebuild --- */

/* Files that were as they should be when the plan was made, and when it is
 * carried out are not. */
TEST(inputs_vanish)
{
	const struct rebuild_options o = { .extent = REBUILD_UNPROVED };
	static const struct {
		const char *what, *before, *after;
		struct scene *s;
		enum error_kind kind;
		const char *says;
	} cases[] = {
		{ "a file is gone", "new; lose 1", "rm f3.0", &rs6,
		  ERROR_ABSENT, "rank_3_0.dat" },
		{ "files are shorter", "new; lose 1",
		  "cut r2 3000; cut f3.0 10", &rs6, ERROR_CORRUPT, "" },
		{ "a body behind a damaged header is shorter",
		  "new; flip r4 60; lose 0", "cut r4 2000", &xor8,
		  ERROR_CORRUPT, "reddesc.er.4.xor" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scene *s = cases[i].s;
		struct plan *p = NULL;

		scene_do(s, cases[i].before);
		p = scene_plan(s, 0, &why);
		scene_do(s, cases[i].after);
		scene_keep(s);
		ok(rebuild(p, &o, NULL, &why) < 0 &&
			   why.kind == cases[i].kind &&
			   says(&why, cases[i].says),
		   cases[i].what);
		ok(scene_same(s), "nothing is changed");
		plan_free(p);
		if (i > 0)
			continue;
		must(rebuild_now(s, NULL, NULL, NULL) == 0);
		is_int(scene_status(s, PLAN_HEADERS, &why), STATUS_OK,
		       "a new plan works");
	}
}

TEST(limits)
{
	struct rlimit old, low = { 0 };
	struct rebuild_result r;
	char temp[TEMP_NAME_MAX];
	int rc = 0;

	rs6.size = long_size;
	scene_do(&rs6, "new; lose 1; keep");
	rs6.size = NULL;
	must(getrlimit(RLIMIT_FSIZE, &old) == 0);
	signal(SIGXFSZ, SIG_IGN);
	low.rlim_cur = 65536;
	low.rlim_max = old.rlim_max;
	must(setrlimit(RLIMIT_FSIZE, &low) == 0);
	rc = rebuild_now(&rs6, NULL, &r, &why);
	must(setrlimit(RLIMIT_FSIZE, &old) == 0);
	ok(rc < 0 && why.kind == ERROR_SYSTEM && why.errnum == EFBIG,
	   "files larger than may be written");
	ok(scene_same(&rs6), "nothing is changed");

	/* A directory of our own has the name of the temporary file. */
	scene_do(&rs6, "new; rm f1.0");
	must(mkdir(fmt("%s/ckpt/dir_1/%s", scene_prefix(&rs6),
		       temp_name(temp, "rank_1_0.dat")),
		   0777) == 0);
	ok(rebuild_now(&rs6, NULL, &r, &why) == 0 && scene_same(&rs6),
	   "a directory in the way of a temporary file goes");
}

/* --- Events --- */

/* Does each line name the file with the damaged header?  Counts them. */
static void
note(void *arg, const char *what)
{
	*(int *)arg += strstr(what, "header was damaged") != NULL &&
				       str_starts(what, "reddesc.er.4.xor")
			       ? 1
			       : 100;
}

TEST(events)
{
	int count = 0;
	const struct rebuild_options o = {
		.work = &(struct work){ .log = note, .log_arg = &count },
		.extent = REBUILD_UNPROVED,
	};

	scene_do(&xor8, "new; lose 2");
	ok(rebuild_now(&xor8, &o, NULL, &why) == 0 && count == 0,
	   "nothing special: nothing to tell");
	scene_do(&xor8, "flip r4 60; lose 0");
	ok(rebuild_now(&xor8, &o, NULL, &why) == 0 && scene_same(&xor8) &&
		   count == 1,
	   "parity behind a damaged header is worth a line");
}

/* --- Memory --- */

TEST(no_memory)
{
	static struct scene s = { SCENE(RS, 5, 1, 2, 2), .crc = true };

	scene_make(&s);
	scene_do(&s, exists(scene_red(&s, 1, false, false))
			     ? "lose 2; rm f4.0; flip r1 60"
			     : "lose 2; rm f4.0");
	without_memory (m, 2, "every allocation may fail") {
		m.rc = rebuild_now(&s, NULL, NULL, &m.err);
	}
	ok(scene_same(&s), "and nothing is left over");
	scene_end(&s);
}

int
main(void)
{
	schemes(1);
	schemes(4);
	scene_table(&rs6, 0, "rebuild parts");
	scene_table(&rs6, 0, "rebuild in the way");
	lost();
	return tap_run();
}
