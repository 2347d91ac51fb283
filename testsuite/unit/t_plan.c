/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan.c - plans for datasets with data files and filemaps in any state.
 * (Redundancy files: t_plan_sets; files opened or given by hand: t_plan_files;
 * roots and malicious input: t_plan_root.)
 */
#include "rescue/rescue_impl.h"

#include "steps.h"

static struct scene xor4 = { SCENE(XOR, 4, 1, 1, 2) };

/* --- Whole datasets --- */

TEST(whole)
{
	struct plan *p = NULL;
	uint64_t bytes = 0;

	scene_make(&xor4);
	for (unsigned r = 0; r < 4; r++)
		for (unsigned i = 0; i < 2; i++)
			bytes += scene_default_size(r, i);
	is_str(scene_told(&xor4, 0),
	       "whole: \nmap 1: 0 missing, 0 spare\nset 1: 0 missing, 0 spare\n"
	       "0 files, 0 maps, 0 reds missing; 0 files, 0 maps, 0 ranks lost; "
	       "0 bytes to write\n",
	       "whole");
	p = scene_plan(&xor4, 0, &why);
	must(p != NULL && p->nsets == 2);
	ok(p->verdict == SET_WHOLE && plan_error(p, &why) == 0 &&
		   p->id == SCENE_ID && p->nranks == 4 && p->nfiles == 8 &&
		   p->bytes == bytes,
	   "ranks, files and bytes");
	ok(p->sets[0].map && !p->sets[1].map && !p->sets[0].opened &&
		   !p->sets[1].opened &&
		   p->sets[1].members[2].state == RED_UNCHECKED,
	   "the set over filemaps is the first; no need to open them");
	ok(!p->moved && strcmp(p->recorded_root, scene_prefix(&xor4)) == 0,
	   "the prefix is where it was");
	is_str(scene_find(p, 2, 1)->path, "ckpt/dir_2/rank_2_1.dat",
	       "a file's path below the prefix");
	plan_free(p);

	p = scene_plan(&xor4, PLAN_HEADERS, &why);
	ok(p->sets[0].opened && p->sets[1].opened &&
		   p->sets[1].members[2].state == RED_PRESENT &&
		   p->sets[1].spare == 1 && p->verdict == SET_WHOLE,
	   "opened if wanted: one member more could be lost");
	plan_free(p);
	ok(scene_same(&xor4), "a plan changes nothing on disk");
	plan_free(NULL);
}

TEST(absent)
{
	const char *none = NULL;

	scene_make(&xor4);
	refuses(plan_at(scene_prefix(&xor4), 8, NULL, &why), ERROR_ABSENT, NULL,
		"no such dataset");
	make_parents(fmt("%s/.scr/scr.dataset.8/x", scene_prefix(&xor4)));
	refuses(plan_at(scene_prefix(&xor4), 8, NULL, &why), ERROR_ABSENT,
		"no filemap", "a directory without metadata");
	refuses(plan_at("/nonexistent", 8, NULL, &why), ERROR_ABSENT, NULL,
		"no such prefix");
	refuses(plan_caches(&none, 0, NULL, &why), ERROR_USAGE, NULL,
		"no cache at all");
	none = xor4.root;
	refuses(plan_caches(&none, 1, NULL, &why), ERROR_ABSENT, xor4.root,
		"a cache without metadata");
	write_text(fmt("%s/.scr/scr.dataset.9", scene_prefix(&xor4)), "");
	refuses(plan_at(scene_prefix(&xor4), 9, NULL, &why), ERROR_SYSTEM, NULL,
		"a file in the place of the directory");
}

/* --- Files --- */

static uint64_t
sizes_apart(unsigned rank, unsigned file)
{
	/* Small files at different offsets of long strings. */
	return file == rank ? 10 : 400;
}

TEST(two_small_losses)
{
	auto_scene s = { SCENE(XOR, 4, 1, 1, 4), .size = sizes_apart };

	scene_table(&s, 0, "plan small losses");
}

/* --- Filemaps --- */

/* The filemap lists more files than the redundancy covers. */

TEST(ranks_without_files)
{
	auto_scene s = { SCENE(PARTNER, 4, 1, 1, 0) };
	struct plan *p = NULL;

	scene_make(&s);
	p = scene_plan(&s, PLAN_HEADERS, NULL);
	ok(p != NULL && p->nfiles == 0 && p->nranks == 4 &&
		   p->verdict == SET_WHOLE,
	   "ranks are there, files are not");
	plan_free(p);
	scene_table(&s, 0, "plan without files");
}

/* --- Messages and queries --- */

TEST(words)
{
	uint32_t ranks[] = { 9, 1, 0, 4, 2, 7, 8, 12 };
	auto_plan *p = NULL;

	scene_make(&xor4);
	p = scene_plan(&xor4, 0, &why);
	is_str(plan_ranks_text(p, ranks, 8), "0-2 4 7-9 12", "ranks");
	is_str(plan_ranks_text(p, ranks, 3), "0 1 9", "two are no range");
	is_str(plan_ranks_text(p, ranks, 1), "9", "one");
	is_str(plan_ranks_text(p, ranks, 0), "", "none");
	mem_fail_after(0);
	is_str(plan_ranks_text(p, ranks, 8), "?", "no memory for words");
	mem_fail_after(-1);
}

/* A file is marked bad after the plan was made. */
TEST(marking)
{
	auto_plan *p = NULL;
	const struct plan_file *f = NULL;

	scene_make(&xor4);
	p = scene_plan(&xor4, 0, &why);
	f = scene_find(p, 1, 0);
	ok(!p->sets[1].opened, "a set that nobody has looked at");
	ok(plan_mark(p, (size_t)(f - p->files), FILE_WRONG_CRC, &why) == 0,
	   "one of its files is marked");
	is_int(plan_status(p), STATUS_DAMAGED, "the dataset is damaged");
	ok(p->sets[1].opened && f->fate == FATE_REBUILD, "the file will be "
							 "rebuilt");
	f = scene_find(p, 2, 0);
	ok(plan_mark(p, (size_t)(f - p->files), FILE_MISSING, &why) == 0,
	   "one of another rank is marked");
	is_int(plan_status(p), STATUS_LOST, "that is too much");
	ok(f->fate == FATE_LOST && p->ranks_lost == 2, "both are lost");
	plan_free(p);

	p = scene_plan(&xor4, 0, &why);
	ok(plan_mark_body(p, 1, 2, &why) == 0 && p->red_missing == 1 &&
		   plan_status(p) == STATUS_DAMAGED,
	   "a body is marked, of a set that nobody has looked at");
	ok(p->sets[1].members[2].red->header_size > 0 &&
		   p->sets[1].members[2].fate == FATE_REBUILD,
	   "it will be written anew");
	f = scene_find(p, 3, 1);
	ok(plan_mark(p, (size_t)(f - p->files), FILE_MISSING, &why) == 0 &&
		   plan_status(p) == STATUS_LOST,
	   "with a file of another rank it is too much");
	plan_free(p);

	/* A set without any header. */
	scene_make(&xor4);
	p = scene_plan(&xor4, 0, &why);
	for (unsigned r = 0; r < 4; r++)
		scene_lose_reds(&xor4, r, false);
	f = scene_find(p, 1, 0);
	ok(plan_mark(p, (size_t)(f - p->files), FILE_MISSING, &why) == 0 &&
		   plan_status(p) == STATUS_LOST && f->fate == FATE_LOST,
	   "the redundancy has vanished since: the file is lost");
}

TEST(steps)
{
	scene_table(&xor4, 0, "plan files");
	scene_table(&xor4, PLAN_HEADERS, "plan maps");
	scene_table(&xor4, 0, "plan contradictions");
	scene_table(&xor4, 0, "plan unprotected");
}
