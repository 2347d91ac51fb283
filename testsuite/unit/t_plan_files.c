/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans of redundancy files that are given by hand; plans for which the headers
 * of redundancy files are read, in any state.
 */
#include "path.h"
#include "rescue/plan.h"
#include "rescue/rebuild.h"
#include "steps.h"

#define OLD "/cache/scr.dataset.7" /* recorded directory of the files */

/* Two sets, so that the files of one set can be given. */
static struct scene xor8 = { SCENE(XOR, 8, 2, 1, 2) };

struct names {
	const char *list[64];
	char text[64][256];
	size_t count;
};

static void
add_name(struct names *n, const char *dir, const char *path)
{
	char *to = n->text[n->count];

	snprintf(to, sizeof(n->text[0]), "%s%s", dir, path_base(path));
	n->list[n->count++] = to;
}

/* Names below `dir` of the redundancy files of the ranks in the bit mask. */
static void
name_reds(struct names *n, const struct scene *s, unsigned ranks, bool map,
	  const char *dir)
{
	for (unsigned r = 0; r < s->ranks; r++)
		if (ranks >> r & 1)
			add_name(n, dir, scene_red(s, r, map, false));
}

static struct scene bare8 = { SCENE(RS, 8, 2, 2, 2) };

/* Where the files of a scene are: with filemaps below a prefix, or in one
 * directory with nothing but headers. */
struct where {
	char dir[128], prefix[128], sub[32];
};

static void
locate(struct where *w, const struct scene *s, bool map)
{
	const bool bare = s->flat != NULL;

	snprintf(w->dir, sizeof(w->dir), "%s",
		 bare && !map ? scene_node(s, 0) : scene_meta(s, 0));
	snprintf(w->prefix, sizeof(w->prefix), "%s",
		 bare ? "" : scene_prefix(s));
	snprintf(w->sub, sizeof(w->sub), "%s", bare && !map ? s->flat : "");
}

static struct plan *
plan_by_hand(const struct where *w, const struct names *n, bool map,
	     struct error *err)
{
	const char *prefix = w->prefix[0] != '\0' ? w->prefix : NULL;
	const struct plan_options o = {
		.moved_from = prefix == NULL ? OLD : NULL,
	};

	return plan_files(&(struct plan_by_hand){ w->dir, prefix, n->list,
						  n->count, map },
			  &o, err);
}

/* --- Plans and rebuilds after losses --- */

#define WITH_DESCRIPTOR 0x100 /* of rank 0 */

static const struct {
	const char *what;
	struct scene *s;
	const char *flat, *change;
	unsigned ranks; /* whose files are named */
	bool map;
	int status;
	const char *back, *gone; /* NULL: all is as it was */
} cases[] = {
	{ "whole", &xor8, NULL, "new", 0xff, false, STATUS_OK, NULL, NULL },
	{ "first the filemaps", &xor8, NULL, "lose 2 5", 0xff, true,
	  STATUS_DAMAGED, "m2 R5 D5", "f2.0" },
	{ "then the files", &xor8, NULL, "", 0xff, false, STATUS_DAMAGED, NULL,
	  NULL },
	/* A named file that is missing counts as lost. */
	{ "a name of a file that is not there", &xor8, NULL, "reds 3", 0xff,
	  false, STATUS_DAMAGED, NULL, NULL },
	/* LLNL's helpers are called once for each set. */
	{ "one set of two, the other is damaged as well", &xor8, NULL,
	  "new; data 2 3", 0x51, false, STATUS_DAMAGED, "f2.0", "f3.0" },
	{ "then the other", &xor8, NULL, "", 0xaa, false, STATUS_DAMAGED, NULL,
	  NULL },
	{ "one set over filemaps of two", &xor8, NULL, "rm m2 m3", 0x55, true,
	  STATUS_DAMAGED, "m2", "m3" },
	{ "and then the other", &xor8, NULL, "", 0xaa, true, STATUS_DAMAGED,
	  NULL, NULL },
	{ "headers alone: whole", &bare8, "", "new", 0xff, false, STATUS_OK,
	  NULL, NULL },
	{ "three ranks lost", &bare8, "", "data 2 4 7; reds 2 4 7", 0xff, false,
	  STATUS_DAMAGED, NULL, NULL },
	{ "headers in another directory", &bare8, "deep/down/", "new", 0xff,
	  false, STATUS_OK, NULL, NULL },
	{ "three ranks lost", &bare8, "deep/down/", "data 2 4 7; reds 2 4 7",
	  0xff, false, STATUS_DAMAGED, NULL, NULL },
	/* Files that are not named are missing, but are written to the
	 * directory of the others. */
	{ "two names of the four of one set, and a descriptor", &bare8, "",
	  "new; data 2 6; reds 2 6", 0x11 | WITH_DESCRIPTOR, false,
	  STATUS_DAMAGED, NULL, NULL },
	{ "one set of two, the missing file named, too", &bare8, "",
	  "data 2; reds 2", 0x55, false, STATUS_DAMAGED, NULL, NULL },
	{ "three are lost", &bare8, "", "data 0 2 4; reds 0 2 4", 0x55, false,
	  STATUS_LOST, "", "f0.0 f2.0 f4.0" },
	/* Filemaps are beside the named files. */
	{ "a set over filemaps alone: whole", &bare8, ".scr", "new", 0x55, true,
	  STATUS_OK, NULL, NULL },
	{ "what the other one has lost is of no concern", &bare8, ".scr",
	  "rm m3", 0x55, true, STATUS_OK, "", "m3" },
	{ "both lost one", &bare8, ".scr", "rm m4", 0xff, true, STATUS_DAMAGED,
	  NULL, NULL },
	{ "ranks 0 2 4 6) are missing; RS can restore 2", &bare8, ".scr",
	  "rm m0 m2 m4 m6 R0", 0xff, true, STATUS_LOST, "", "m0 m2 m4 m6" },
};

TEST(losses)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scene *s = cases[i].s;
		struct names n = { .count = 0 };
		auto_plan *p = NULL;
		struct where w;

		s->flat = cases[i].flat;
		scene_do(s, cases[i].change);
		locate(&w, s, cases[i].map);
		name_reds(&n, s, cases[i].ranks, cases[i].map, w.sub);
		if (cases[i].ranks & WITH_DESCRIPTOR)
			add_name(&n, w.sub, scene_red(s, 0, false, true));
		p = plan_by_hand(&w, &n, cases[i].map, &why);
		if (p == NULL)
			printf("# %s\n", why.text);
		is_int(p ? plan_status(p) : STATUS_FAILED, cases[i].status,
		       cases[i].what);
		if (p == NULL)
			continue;
		ok((rebuild(p, NULL, NULL, &why) < 0) ==
			   (cases[i].status == STATUS_LOST),
		   "... rebuilt if nothing is lost");
		if (i + 1 == COUNT(cases))
			ok(says(&why, cases[i].what), "... they are named");
		ok(cases[i].gone == NULL
			   ? scene_same(s)
			   : scene_has(s, cases[i].back, true) &&
				     scene_has(s, cases[i].gone, false),
		   "... these files come back, and no others");
	}
}

/* --- Misuse --- */

TEST(misuse)
{
	static const char red[] =
		"reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset";
	char dir[200], prefix[200], gone[210];
	const struct {
		const char *what, *dir, *prefix;
		const char *name; /* or NULL: none */
		enum error_kind kind;
		const char *says;
	} wrong[] = {
		{ "no name and no prefix", dir, NULL, NULL, ERROR_ABSENT, "" },
		{ "no such directory", gone, prefix, red, ERROR_ABSENT, "" },
		{ "no such prefix", dir, gone, red, ERROR_ABSENT, "" },
		{ "headers name files elsewhere", dir, NULL, red, ERROR_UNSAFE,
		  OLD },
		{ "... what to do", dir, NULL, red, ERROR_UNSAFE,
		  "--moved-from" },
		{ "not the name of a redundancy file", dir, prefix, "filemap_3",
		  ERROR_USAGE, "filemap_3" },
		{ "a name that leaves the directory", dir, prefix,
		  fmt("../%s", red), ERROR_UNSAFE, "" },
		{ "or is in one that does", dir, prefix, fmt("out/%s", red),
		  ERROR_UNSAFE, "" },
	};
	auto_plan *p = NULL;

	scene_make(&xor8);
	snprintf(dir, sizeof(dir), "%s", scene_meta(&xor8, 0));
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(&xor8));
	snprintf(gone, sizeof(gone), "%s/gone", dir);
	link_by_anyone("/etc", fmt("%s/out", dir));
	each (w, wrong) {
		const struct plan_by_hand h = {
			.dir = w->dir,
			.prefix = w->prefix,
			.names = &w->name,
			.nnames = w->name != NULL,
		};

		ok(plan_files(&h, NULL, &why) == NULL && why.kind == w->kind &&
			   says(&why, w->says),
		   w->what);
	}
	p = plan_files(&(struct plan_by_hand){ dir, prefix, NULL, 0, false },
		       NULL, &why);
	ok(p != NULL && plan_status(p) == STATUS_OK, "no name at all");
}

/* --- Memory --- */

struct planned {
	struct where w;
	struct names n;
};

static int
plan_once(void *arg, struct error *err)
{
	const struct planned *x = arg;
	struct plan *p = plan_by_hand(&x->w, &x->n, false, err);
	bool good = p != NULL && plan_status(p) == STATUS_DAMAGED;

	plan_free(p);
	return good ? 0 : p == NULL ? -1 : error_set(err, ERROR_DAMAGED, "!");
}

static void
no_memory(struct scene *s)
{
	struct planned x = { .n = { .count = 0 } };

	scene_do(s, "new; data 1");
	locate(&x.w, s, false);
	name_reds(&x.n, s, 0xff, false, x.w.sub);
	ok(fails_well(plan_once, NULL, &x), "every allocation may fail");
}

TEST(no_memory)
{
	bare8.flat = "";
	no_memory(&bare8);
	no_memory(&xor8);
}

/* --- Headers --- */

static struct scene xor4 = { SCENE(XOR, 4, 1, 1, 2) };

/* --- One bad file --- */

/* It will be written anew, and nothing else is missing. */
#define ALONE "set 1: 1 missing, 0 spare\n0 files, 0 maps, 1 reds missing"

static const struct scene_step bad_files[] = {
	{ "a header with a flipped bit", "new; flip r2 60",
	  "damaged: |r2 header damaged, rebuild: |checksum|" ALONE "|back" },
	{ "and of another size", "flip r2 60; cut r2 3000",
	  "damaged: |r2 damaged, rebuild: |checksum|" ALONE },
	{ "a body cut short", "new; cut r2 -1",
	  "damaged: |r2 damaged, rebuild: |truncated|" ALONE "|back" },
	{ "a header cut short", "cut r2 50",
	  "damaged: |r2 damaged, rebuild: |the file has 50|" ALONE },
	{ "not even that", "cut r2 19",
	  "damaged: |r2 damaged, rebuild: |ends at byte 19|" ALONE },
	{ "an empty file", "text r2",
	  "damaged: |r2 damaged, rebuild: |ends at byte 0|" ALONE },
	{ "garbage", "text r2 something_else,_and_long_enough_for_a_header",
	  "damaged: |r2 damaged, rebuild: |not a|" ALONE },
	{ "a FIFO", "fifo r2",
	  "damaged: |r2 damaged, rebuild: |not a regular file|" ALONE "|back" },
	{ "a link that leads out", "link r2 /etc/passwd",
	  "damaged: |r2 damaged, rebuild: |leads out|" ALONE "|back" },
	{ "a dangling link", "link r2 nowhere",
	  "damaged: |r2 damaged, rebuild: |cannot open|" ALONE },
	{ "a directory", "dir r2",
	  "damaged: |r2 damaged, rebuild: |not a regular file|" ALONE },
	/* Well-formed headers with wrong contents. */
	{ "no descriptor", "new; set r2 DESC>2>DESC",
	  "damaged: |r2 damaged, rebuild: |descriptor|" ALONE },
	{ "no chunk size", "new; set r2 CHUNK",
	  "damaged: |r2 damaged, rebuild: |CHUNK|" ALONE },
	{ "chunk size zero", "new; set r2 CHUNK 0",
	  "damaged: |r2 damaged, rebuild: |CHUNK|" ALONE },
	{ "huge chunk size", "new; set r2 CHUNK 9000000000000000000",
	  "damaged: |r2 damaged, rebuild: |CHUNK|" ALONE },
	{ "no group", "new; set r2 GROUP>RANK",
	  "damaged: |r2 damaged, rebuild: |GROUP|" ALONE },
	{ "another rank in it", "new; set r2 GROUP>RANK>2 3",
	  "damaged: |r2 damaged, rebuild: |twice|" ALONE },
	{ "another chunk size", "new; set r2 CHUNK 346",
	  "damaged: |r2 damaged, rebuild: contradicts the rest|" ALONE
	  "|back" },
	{ "larger chunks", "new; set r2 CHUNK 2000000000000000000",
	  "damaged: |r2 damaged, rebuild: contradicts the rest|" ALONE },
	{ "files longer than chunks", "new; set r2 CHUNK 100",
	  "damaged: |r2 damaged, rebuild: |longer|" ALONE },
	/* A file that belongs elsewhere. */
	{ "a copy of another member's", "new; copy r1 r2",
	  "damaged: |r2 damaged, rebuild: |no descriptor of member 3|" ALONE
	  "|back" },
	{ "of the right neighbour's, which lists both", "copy r3 r2",
	  "damaged: |r2 damaged, rebuild: |that of another member|" ALONE
	  "|back" },
};

static const struct scene_step other_set = {
	"a copy of another set's", "new; copy r2 r3",
	"damaged: |r3 damaged, rebuild: its header belongs to another file|back"
};

/* --- Headers that contradict each other --- */

/* The first header is not always the right one: the majority decides. */
static const struct scene_step majority[] = {
	{ "three against one", "new; set r0 CHUNK 999",
	  "damaged: |r0 damaged, rebuild: |set 1: 1 missing|back" },
	{ "two against two, and all data there",
	  "set r0 CHUNK 999; set r2 CHUNK 999", "damaged: " },
	{ "a rank missing: it cannot be told which are right", "data 1",
	  "lost: " },
};

static const struct scene_step rs_majority[] = {
	{ "RS: other failures to survive",
	  "new; set r0 DESC>0>DESC>CKSUM 1; set r0 DESC>4>DESC>CKSUM 1",
	  "damaged: |r0 damaged, rebuild: |set 1: 1 missing, 1 spare" },
	{ "the rest rebuilds it, and a lost rank", "lose 3",
	  "damaged: |set 1: 2 missing, 0 spare|back" },
};

/* --- Damaged headers, good bodies --- */

static const struct scene_step salvage[] = {
	{ "XOR: parity behind a damaged header is used if needed",
	  "new; flip r1 60; lose 3",
	  "unknown: |which nothing confirms|r1 header damaged, rebuild: |0 spare, salvage|back" },
	{ "not if the body is not whole", "flip r1 60; cut r1 100; lose 3",
	  "lost: |(ranks 1 3) are missing" },
	{ "also if only the filemap has the list of the rank",
	  "new; flip r0-1 60; lose 3", "unknown: |back" },
};

static const struct scene_step rs_salvage[] = {
	{ "RS k=2: a rank and two headers need salvage",
	  "new; flip r0-1 60; lose 3",
	  "unknown: |set 1: 3 missing|salvage|back" },
	{ "a rank and one header do not", "flip r0 60; lose 1",
	  "damaged: |set 1: 2 missing, 0 spare\n|back" },
};

/* Which lists of files survive depends on the neighbours. */
static const struct scene_step lists[] = {
	{ "four empty files beside whole data are computed again",
	  "new; text r0-3", "damaged: " },
	{ "three as well: the rank in no set is the fourth member", "rm r1",
	  "damaged: " },
	{ "not if data are lost, too", "lose 2", "lost: " },
};

/* --- Headers and filemaps --- */

#define SIZE_OF(file) "DESC>1>FILE>" #file ">*>SIZE"

static const struct scene_step flaws[] = {
	{ "sizes that contradict the filemap do no harm while all is there",
	  "new; set r1-2 " SIZE_OF(0) " 336",
	  "whole: |flaw: filemap_1 says ckpt/dir_1/rank_1_0.dat has 337 bytes, "
	  "the redundancy file 336\n" },
	{ "nothing can be rebuilt with them", "data 3",
	  "lost: |has 337 bytes" },
	{ "a file that has no size in the header",
	  "new; set r1-2 DESC>1>FILE>0 /cache/other; set r1 DESC>1>FILE>0>* x",
	  "damaged: " },
	/* Swap two files, so that names do not match sizes. */
	{ "sizes the other way",
	  "new; set r1-2 " SIZE_OF(1) " 337; set r1-2 " SIZE_OF(0) " 0",
	  "whole: " },
	{ "are found out when they matter", "rm f1.0", "lost: " },
	{ "a header that names a file the filemap does not is of no use",
	  "new; set r1-2 DESC>1>FILE>0>/cache/scr.dataset.7/rank_1_0.dat; "
	  "set r1-2 DESC>1>FILE>0>/cache/scr.dataset.7/other.dat>SIZE 337",
	  "lost: |filemap_1 does not name /cache/scr.dataset.7/other.dat" },
};

/* --- Redundancy of filemaps --- */

static const struct scene_step map_sets[] = {
	{ "parity that is wrong gives no filemap",
	  "new; rm m2; flip R1 -1 -40; flip R0 -20; flip R3 -60",
	  "unknown: |rebuilt, but not a valid filemap: " },
	{ "a set over filemaps that does not list them: unknown",
	  "new; rm m2; set R2-3 DESC>2>FILES 0; set R2-3 DESC>2>FILE>0",
	  "unknown: " },
	{ "a filemap of 300 MB is none",
	  "new; set R0-3 CHUNK 100000000; set R2-3 DESC>2>FILE>0>*>SIZE "
	  "300000000; cut R0-3 100010000; rm m2",
	  "refused corrupt: |protects no filemap" },
};

/* --- PARTNER --- */

static const struct scene_step partner_sizes = {
	"sizes that add up to no size",
	"new; set r0-3 DESC>*>FILE>0>*>SIZE 9000000000000000000",
	"|r1 damaged, lost: impossible sizes in its header"
};

TEST(opened)
{
	auto_scene rs5 = { SCENE(RS, 5, 1, 2, 2) };
	auto_scene wide = { SCENE(XOR, 8, 2, 1, 1) };
	auto_scene partner = { SCENE(PARTNER, 4, 1, 2, 1) };

	SCENE_STEPS(&xor4, PLAN_HEADERS, bad_files);
	scene_steps(&wide, PLAN_HEADERS, &other_set, 1);
	SCENE_STEPS(&xor4, PLAN_HEADERS, majority);
	SCENE_STEPS(&rs5, PLAN_HEADERS, rs_majority);
	SCENE_STEPS(&xor4, PLAN_HEADERS, salvage);
	SCENE_STEPS(&rs5, PLAN_HEADERS, rs_salvage);
	SCENE_STEPS(&xor4, PLAN_HEADERS, lists);
	SCENE_STEPS(&xor4, PLAN_HEADERS, flaws);
	SCENE_STEPS(&xor4, PLAN_HEADERS, map_sets);
	scene_steps(&partner, PLAN_HEADERS, &partner_sizes, 1);
	scene_end(&xor4);
}
