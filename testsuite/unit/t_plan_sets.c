/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_sets.c - plans for datasets with redundancy sets that lost members,
 * are missing as a whole, have older ones beside them, or are in the caches of
 * several nodes.
 */
#include "rescue/plan.h"

#include "path.h"
#include "rescue/rebuild.h"
#include "steps.h"

/* --- Too many members missing --- */

static const struct {
	struct scene s;
	struct scene_step step;
} schemes[] = {
	{ { SCENE(XOR, 4, 1, 1, 2) },
	  { "XOR, one rank", "lose 2",
	    "damaged: |2 files, 1 filemap and 2 redundancy files" } },
	{ { SCENE(XOR, 4, 1, 1, 2) },
	  { "XOR, two ranks", "lose 1 3",
	    "lost: |set 1 of 1 (XOR over filemaps) cannot be rebuilt: 2 of 4 "
	    "members (ranks 1 3) are missing; XOR can restore 1" } },
	{ { SCENE(XOR, 4, 1, 1, 2) },
	  { "XOR, two neighbours", "lose 1 2",
	    "lost: |ranks 1 2 are missing, and with them the only lists of "
	    "files of rank 1" } },
	{ { SCENE(XOR, 4, 1, 1, 2) },
	  { "XOR, all but one", "lose 1-3", "lost: |ranks 1-3 are missing" } },
	{ { SCENE(XOR, 8, 2, 1, 2) },
	  { "XOR, two ranks of two sets", "lose 2 5",
	    "damaged: |4 files, 2 filemaps" } },
	{ { SCENE(XOR, 8, 2, 1, 2) },
	  { "XOR, two ranks of one of two sets", "lose 1 5",
	    "lost: |set 2 of 2 (XOR over filemaps) cannot be rebuilt: 2 of 4 "
	    "members (ranks 1 5" } },
	{ { SCENE(RS, 5, 1, 2, 2) },
	  { "RS k=2, two ranks", "lose 1 2",
	    "damaged: |4 files, 2 filemaps" } },
	{ { SCENE(RS, 6, 1, 2, 2) },
	  { "RS k=2, three ranks", "lose 0 2 4",
	    "lost: |members (ranks 0 2 4) are missing; RS can restore 2" } },
	{ { SCENE(RS, 5, 1, 2, 2) },
	  { "RS k=2, three neighbours", "lose 1-3",
	    "lost: |the only lists of files of rank 1" } },
	{ { SCENE(PARTNER, 4, 1, 1, 2) },
	  { "PARTNER, ranks apart", "lose 0 2",
	    "damaged: |4 files, 2 filemaps" } },
	{ { SCENE(PARTNER, 4, 1, 1, 2) },
	  { "PARTNER, neighbours", "lose 0 3",
	    "lost: |ranks 0 and another 1 of its 4 members are missing, and "
	    "the only lists of their files with them" } },
	{ { SCENE(PARTNER, 5, 1, 2, 2) },
	  { "PARTNER with two replicas, neighbours", "lose 0 4",
	    "damaged: |4 files, 2 filemaps" } },
	{ { SCENE(SINGLE, 4, 4, 0, 2) },
	  { "SINGLE", "lose 2",
	    "lost: |no member is left of set 3 of 4 (SINGLE over filemaps), to "
	    "which rank 2 belongs; the files of 1 of 4 ranks are unknown" } },
	{ { SCENE(SINGLE, 4, 4, 0, 2) },
	  { "SINGLE, two ranks", "lose 1 2",
	    "lost: |rank 1 belongs; the files of 2 of 4 ranks are unknown" } },
};

TEST(each_scheme)
{
	each (t, schemes) {
		auto_scene s = t->s;

		scene_make(&s);
		scene_steps(&s, 0, &t->step, 1);
	}
}

/* Ranks that lost only their files, or only their redundancy. */
static const struct scene_step mixed_partner[] = {
	{ "PARTNER: a file, and a redundancy file that is not its copy",
	  "new; rm f0.0 r3", "damaged: " },
	{ "and its copy", "rm r1",
	  "lost: |members (ranks 0 1 3) are missing: both a rank and the copy "
	  "of its data" },
	{ "a redundancy file alone is missing", "new; rm r2",
	  "damaged: |r2 missing, rebuild: |set 1: 1 missing, 0 spare|"
	  "0 files, 0 maps, 1 reds missing|back" },
};

static const struct scene_step mixed_single[] = {
	{ "SINGLE: without its redundancy file no data are lost", "new; rm r2",
	  "whole: " },
	{ "without a file they are", "rm f1.0",
	  "lost: |rank 1 missing; SINGLE keeps no redundancy" },
	{ "or without both", "rm r1",
	  "lost: |rank_1_0.dat of rank 1: missing, and no redundancy is left" },
};

/* --- Sets without any remaining file --- */

static const struct scene_step vanished[] = {
	{ "a set of which no redundancy file is left: all data are there",
	  "new; reds 1 4 7 10",
	  "damaged: |r1 missing, rebuild|r4 missing|r7 missing|"
	  "r10 missing, rebuild: |set 2: 4 missing|"
	  "0 files, 0 maps, 4 reds missing" },
	{ "a file of one of its ranks is lost", "rm f4.0", "lost: " },
	{ "three of its ranks are lost", "data 1 10",
	  "lost: |set 2: |lost: no redundancy file of it survived|"
	  "0 maps, 3 ranks lost" },
	/* Sets over filemaps: the first and the last of three are missing. */
	{ "filemaps are all there",
	  "new; mapreds 0 2 3 5 6 8 9 11; mapreds 2 4", "damaged: " },
	{ "one is not", "rm m5",
	  "unknown: |nothing names the files of 1 of 12 ranks|map 2: |lost: no redundancy file of it survived\nmap 3: "
	  "|1 maps, 1 ranks lost" },
	{ "no redundancy, no loss", "new; reds 0-11; mapreds 0-11", "whole: " },
	{ "no filemap, a loss", "rm m7",
	  "unknown: |nothing names the files of 1 of 12 ranks (filemap_7: "
	  "missing|may be one of them" },
};

/* --- Files of an earlier attempt --- */

/* Copy the redundancy files of the ranks in `mask` from `from` to `to`. */
static void
copy_reds(const struct scene *from, const struct scene *to, unsigned mask)
{
	auto_buf b = BUF_INIT;

	for (unsigned r = 0; r < from->ranks; r++) {
		for (int map = 0; map < 2 && mask >> r & 1; map++) {
			const char *path = scene_red(from, r, map, false);

			read_whole(path, &b);
			write_file(fmt("%s/%s", scene_meta(to, r),
				       path_base(path)),
				   b.data, b.len);
		}
	}
}

static uint64_t
older_size(unsigned rank, unsigned file)
{
	return 77 + rank + file;
}

static void
older_attempt(enum redset_type type, unsigned sets, unsigned failures,
	      unsigned mask)
{
	static struct scene now = { SCENE(XOR, 8, 2, 1, 2) };
	struct scene old = {
		.type = type,
		.ranks = sets == 1 ? 8 : 6,
		.sets = sets,
		.failures = failures,
		.files = 2,
		.size = older_size,
	};
	const char *what = fmt("beside files %#x of an older %s", mask,
			       redset_type_name(type));

	scene_make(&now);
	scene_make(&old);
	copy_reds(&old, &now, mask);
	scene_end(&old);
	scene_keep(&now);
	is_int(scene_status(&now, 0, &why), STATUS_OK, fmt("whole %s", what));
	is_int(scene_status(&now, PLAN_HEADERS, &why), STATUS_OK,
	       fmt("also looking at headers, %s", what));
	scene_steps(&now, PLAN_HEADERS,
		    &(struct scene_step){ what, "lose 2 5", "damaged: |back" },
		    1);
	scene_end(&now);
}

/* --- Caches --- */

static const struct scene_step cache_steps[] = {
	{ "a node is lost: its files will be put to the first", "new; lose 4 5",
	  "damaged: |rank_5_0.dat missing, rebuild, at 0|m4 missing, rebuild" },
	/* The remaining files of a rank determine where the others are
	 * written. */
	{ "a rank of which the redundancy is left keeps its place",
	  "new; data 6; rm m6",
	  "damaged: |rank_6_0.dat missing, rebuild, at 3|back" },
};

TEST(caches)
{
	auto_scene s = { SCENE(XOR, 8, 2, 1, 2), .cache = true };
	struct plan *p = NULL;
	const char *two[] = { NULL, NULL };

	scene_make(&s);
	p = scene_plan(&s, PLAN_HEADERS, &why);
	ok(p != NULL && plan_status(p) == STATUS_OK && p->id == SCENE_ID &&
		   p->nplaces == 4 && p->nranks == 8 &&
		   p->recorded_root == NULL,
	   "four nodes, whole");
	is_int(scene_find(p, 5, 1)->place, 2, "rank 5 is on the third");
	is_str(scene_find(p, 5, 1)->path, "rank_5_1.dat",
	       "its files lie there by their base names");
	plan_free(p);

	scene_steps(&s, 0, &cache_steps[0], 1);
	p = scene_plan(&s, 0, &why);
	ok(p != NULL && rebuild(p, NULL, NULL, &why) == 0, "rebuilt");
	plan_free(p);
	ok(exists(fmt("%s/rank_5_0.dat", scene_node(&s, 0))) &&
		   exists(fmt("%s/.scr/filemap_4", scene_node(&s, 0))),
	   "there they are");
	is_int(scene_status(&s, PLAN_HEADERS, &why), STATUS_OK, "whole again");
	scene_steps(&s, 0, &cache_steps[1], 1);

	scene_do(&s, "new; lose 1");
	ok(scene_plan_fails_well(&s, 0, STATUS_DAMAGED),
	   "every allocation may fail");
	scene_make(&s);
	two[0] = scene_node(&s, 0);
	two[1] = scene_node(&s, 1);
	p = plan_caches(two, 2, NULL, &why);
	ok(p != NULL && plan_status(p) == STATUS_LOST && p->maps_lost == 4,
	   "half of the nodes are not enough");
	plan_free(p);
}

/* The same metadata on two nodes, as left by a restart on other nodes.  If the
 * plan read the second files, it would report the damage. */
#define OTHER "@/../../node3/scr.dataset.7/.scr/"
#define OTHER_RED OTHER "reddesc.er.0.xor.grp_1_of_1.mem_1_of_4.redset"

static const struct scene_step twice[] = {
	{ "files of a rank in two places",
	  "new; copy r0 " OTHER_RED "; copy m0 " OTHER "filemap_0", "whole: " },
	{ "the second are not read",
	  "text " OTHER_RED " garbage; text " OTHER "filemap_0 garbage",
	  "whole: " },
	{ "a damaged first one is no loss",
	  "new; copy m0 " OTHER "filemap_0; text m0 garbage",
	  "damaged: |0 files, 0 maps, 0 ranks lost" },
};

/* Bypass: data files were written directly to the prefix, without
 * redundancy. */
#define BYPASS "set m0-3 FILE>/lustre/run/file.dat>META>"
#define KEY(name) \
	"new; set m1 FILE>" name ">META>SIZE 4; set m1 FILE>" name \
	">META>COMPLETE 1"

static const struct scene_step bypass[] = {
	{ "files that were never in the cache are not missed there",
	  "new; reds 0-3; mapreds 0-3; data 0-3; set m0-3 FILE; " BYPASS
	  "SIZE 4; " BYPASS "COMPLETE 1; " BYPASS "PATH /lustre/run; " BYPASS
	  "CRC 0x1",
	  "whole: |file.dat not in cache, at 3|0 files, 0 maps, 0 reds missing" },
	{ "a relative path is no file of a cache", KEY("file.dat"),
	  "refused unsafe: |file.dat" },
	{ "nor is a directory", KEY("/cache/.."),
	  "refused unsafe: |/cache/.." },
	{ "nor is no name", KEY("/cache/"), "refused unsafe: |/cache/" },
};

TEST(steps)
{
	static const struct {
		enum redset_type type;
		unsigned sets, failures, mask;
	} older[] = {
		{ REDSET_XOR, 1, 1, 0x07 }, { REDSET_XOR, 1, 1, 0x24 },
		{ REDSET_XOR, 2, 1, 0x01 }, { REDSET_XOR, 2, 1, 0x22 },
		{ REDSET_RS, 1, 3, 0x07 },  { REDSET_PARTNER, 1, 1, 0x06 },
	};
	struct scene partner = { SCENE(PARTNER, 4, 1, 1, 2) };
	struct scene single = { SCENE(SINGLE, 4, 4, 0, 2) };
	auto_scene cached = { SCENE(XOR, 4, 1, 1, 1), .cache = true };
	struct scene xor12 = { SCENE(XOR, 12, 3, 1, 1) };

	SCENE_STEPS(&partner, 0, mixed_partner);
	SCENE_STEPS(&single, 0, mixed_single);
	SCENE_STEPS(&xor12, 0, vanished);
	scene_steps(&xor12, PLAN_HEADERS, vanished, 1);
	scene_end(&partner);
	scene_end(&single);
	scene_end(&xor12);
	each (o, older)
		older_attempt(o->type, o->sets, o->failures, o->mask);
	SCENE_STEPS(&cached, PLAN_HEADERS, twice);
	SCENE_STEPS(&cached, PLAN_CHECKSUMS, bypass);
}
