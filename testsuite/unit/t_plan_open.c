/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_open.c - redundancy files that are damaged, belong to another dataset,
 * or cannot be used together or the filemaps: how they are classified, and that
 * the rest is rebuilt with them.
 */
#include "rescue/plan.h"

#include "steps.h"

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

int
main(void)
{
	auto_scene rs5 = { SCENE(RS, 5, 1, 2, 2) };
	auto_scene xor8 = { SCENE(XOR, 8, 2, 1, 1) };
	auto_scene partner = { SCENE(PARTNER, 4, 1, 2, 1) };

	umask(022);
	SCENE_STEPS(&xor4, PLAN_HEADERS, bad_files);
	scene_steps(&xor8, PLAN_HEADERS, &other_set, 1);
	SCENE_STEPS(&xor4, PLAN_HEADERS, majority);
	SCENE_STEPS(&rs5, PLAN_HEADERS, rs_majority);
	SCENE_STEPS(&xor4, PLAN_HEADERS, salvage);
	SCENE_STEPS(&rs5, PLAN_HEADERS, rs_salvage);
	SCENE_STEPS(&xor4, PLAN_HEADERS, lists);
	SCENE_STEPS(&xor4, PLAN_HEADERS, flaws);
	SCENE_STEPS(&xor4, PLAN_HEADERS, map_sets);
	scene_steps(&partner, PLAN_HEADERS, &partner_sizes, 1);
	scene_end(&xor4);
	return tap_done();
}
