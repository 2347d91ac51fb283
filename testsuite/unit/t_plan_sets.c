/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_sets.c - plans for datasets with redundancy sets that lost members,
 * are missing as a whole, have older ones beside them, or are in the caches of
 * several nodes.
 */
#include "rescue/plan.h"
#include "rescue/rescue_impl.h"

#include "rescue/rebuild.h"
#include "scene.h"

/* --- Too many members missing --- */

static const struct {
	const char *what;
	enum redset_type type;
	unsigned ranks, sets, failures;
	unsigned lost; /* ranks, as bits */
	int status;
	const char *says;
} scheme_cases[] = {
	{ "XOR, one rank", REDSET_XOR, 4, 1, 1, 1 << 2, STATUS_DAMAGED,
	  "2 files, 1 filemap and 2 redundancy files" },
	{ "XOR, two ranks", REDSET_XOR, 4, 1, 1, 1 << 1 | 1 << 3, STATUS_LOST,
	  "set 1 of 1 (XOR over filemaps) cannot be rebuilt: 2 of 4 "
	  "members (ranks 1 3) are missing; XOR can restore 1" },
	{ "XOR, two neighbours", REDSET_XOR, 4, 1, 1, 1 << 1 | 1 << 2,
	  STATUS_LOST,
	  "ranks 1 2 are missing, and with them the only lists of files of "
	  "rank 1" },
	{ "XOR, all but one", REDSET_XOR, 4, 1, 1, 0xe, STATUS_LOST,
	  "ranks 1-3 are missing" },
	{ "XOR, two ranks of two sets", REDSET_XOR, 8, 2, 1, 1 << 2 | 1 << 5,
	  STATUS_DAMAGED, "4 files, 2 filemaps" },
	{ "XOR, two ranks of one of two sets", REDSET_XOR, 8, 2, 1,
	  1 << 1 | 1 << 5, STATUS_LOST,
	  "set 2 of 2 (XOR over filemaps) cannot be rebuilt: 2 of 4 "
	  "members (ranks 1 5" },
	{ "RS k=2, two ranks", REDSET_RS, 5, 1, 2, 1 << 1 | 1 << 2,
	  STATUS_DAMAGED, "4 files, 2 filemaps" },
	{ "RS k=2, three ranks", REDSET_RS, 6, 1, 2, 1 << 0 | 1 << 2 | 1 << 4,
	  STATUS_LOST, "members (ranks 0 2 4) are missing; RS can restore 2" },
	{ "RS k=2, three neighbours", REDSET_RS, 5, 1, 2,
	  1 << 1 | 1 << 2 | 1 << 3, STATUS_LOST,
	  "the only lists of files of rank 1" },
	{ "PARTNER, ranks apart", REDSET_PARTNER, 4, 1, 1, 1 << 0 | 1 << 2,
	  STATUS_DAMAGED, "4 files, 2 filemaps" },
	{ "PARTNER, neighbours", REDSET_PARTNER, 4, 1, 1, 1 << 0 | 1 << 3,
	  STATUS_LOST,
	  "ranks 0 and another 1 of its 4 members are missing, and the only "
	  "lists of their files with them" },
	{ "PARTNER with two replicas, neighbours", REDSET_PARTNER, 5, 1, 2,
	  1 << 0 | 1 << 4, STATUS_DAMAGED, "4 files, 2 filemaps" },
	{ "SINGLE", REDSET_SINGLE, 4, 4, 0, 1 << 2, STATUS_LOST,
	  "no member is left of set 3 of 4 (SINGLE over filemaps), to "
	  "which rank 2 belongs; the files of 1 of 4 ranks are unknown" },
	{ "SINGLE, two ranks", REDSET_SINGLE, 4, 4, 0, 1 << 2 | 1 << 1,
	  STATUS_LOST,
	  "rank 1 belongs; the files of 2 of 4 ranks are unknown" },
};

static void
schemes(void)
{
	for (size_t i = 0; i < sizeof(scheme_cases) / sizeof(scheme_cases[0]);
	     i++) {
		struct scene s = { .type = scheme_cases[i].type,
				   .ranks = scheme_cases[i].ranks,
				   .sets = scheme_cases[i].sets,
				   .failures = scheme_cases[i].failures,
				   .files = 2 };
		struct error err = ERROR_INIT;

		scene_make(&s);
		for (unsigned r = 0; r < s.ranks; r++)
			if (scheme_cases[i].lost >> r & 1)
				scene_lose(&s, r);
		is_int(scene_status(&s, 0, &err), scheme_cases[i].status,
		       scheme_cases[i].what);
		ok(says(&err, scheme_cases[i].says), scheme_cases[i].says);
		scene_end(&s);
	}
}

/* Ranks that lost only their files, or only their redundancy. */
static void
mixed_losses(void)
{
	static struct scene s = { SCENE(PARTNER, 4, 1, 1, 2) };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&s);
	must(unlink(scene_data(&s, 0, 0)) == 0);
	must(unlink(scene_red(&s, 3, false, false)) == 0);
	is_int(scene_status(&s, 0, &err), STATUS_DAMAGED,
	       "PARTNER: a file, and a redundancy file that is not its copy");
	must(unlink(scene_red(&s, 1, false, false)) == 0);
	is_int(scene_status(&s, 0, &err), STATUS_LOST, "and its copy");
	ok(says(&err,
		"members (ranks 0 1 3) are missing: both a rank and the copy "
		"of "
		"its data"),
	   "told in words");

	scene_make(&s);
	must(unlink(scene_red(&s, 2, false, false)) == 0);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && p->files_missing == 0 && p->red_missing == 1 &&
		   p->sets[1].spare == 0 &&
		   p->sets[1].members[2].fate == FATE_REBUILD,
	   "a redundancy file alone is missing");
	is_str(p->sets[1].members[2].name,
	       strrchr(scene_red(&s, 2, false, false), '/') + 1,
	       "its name is known");
	is_str(p->sets[1].members[2].red->descriptor.name,
	       strrchr(scene_red(&s, 2, false, true), '/') + 1,
	       "and that of its descriptor");
	is_int(plan_status(p), STATUS_DAMAGED, "the dataset is damaged");
	plan_free(p);
	scene_end(&s);

	s.type = REDSET_SINGLE;
	s.sets = 4;
	scene_make(&s);
	must(unlink(scene_red(&s, 2, false, false)) == 0);
	is_int(scene_status(&s, 0, &err), STATUS_OK,
	       "SINGLE: without its redundancy file no data are lost");
	must(unlink(scene_data(&s, 1, 0)) == 0);
	is_int(scene_status(&s, 0, &err), STATUS_LOST,
	       "without a file they are");
	ok(says(&err, "rank 1 missing; SINGLE keeps no redundancy"),
	   "told in words");
	must(unlink(scene_red(&s, 1, false, false)) == 0);
	is_int(scene_status(&s, 0, &err), STATUS_LOST, "or without both");
	ok(says(&err,
		"rank_1_0.dat of rank 1: missing, and no redundancy is left"),
	   "then the file is named");
	scene_end(&s);
	s.type = REDSET_PARTNER;
	s.sets = 1;
}

/* --- Sets without any remaining file --- */

static void
vanished(void)
{
	static struct scene s = { SCENE(XOR, 12, 3, 1, 1) };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&s);
	for (unsigned r = 1; r < 12; r += 3)
		scene_lose_reds(&s, r, false);
	p = scene_plan(&s, PLAN_HEADERS, &err);
	ok(p != NULL && plan_status(p) == STATUS_DAMAGED && p->nsets == 6,
	   "a set of which no redundancy file is left: all data are there");
	is_int(p->sets[5].number, 2, "its number is known");
	ok(p->sets[5].n == 4 && p->sets[5].members[3].rank == 10,
	   "and its members");
	is_int((int64_t)p->red_missing, 4, "its files are computed again");
	plan_free(p);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && plan_status(p) == STATUS_DAMAGED && p->red_missing == 4,
	   "also if no headers are read");
	plan_free(p);
	must(unlink(scene_data(&s, 4, 0)) == 0);
	is_int(scene_status(&s, 0, &err), STATUS_LOST,
	       "a file of one of its ranks is lost");
	scene_lose_data(&s, 1);
	scene_lose_data(&s, 10);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && plan_status(p) == STATUS_LOST &&
		   p->sets[5].verdict == SET_LOST && p->ranks_lost == 3,
	   "three of its ranks are lost");
	is_str(p->sets[5].reason, "no redundancy file of it survived",
	       "and the set");
	plan_free(p);

	/* Sets over filemaps: the first and the last of three are missing. */
	scene_make(&s);
	for (unsigned r = 0; r < 12; r += r % 3 == 0 ? 2 : 1)
		scene_lose_reds(&s, r, true);
	is_int(scene_status(&s, 0, &err), STATUS_DAMAGED,
	       "filemaps are all there");
	must(unlink(scene_map(&s, 5)) == 0);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && plan_status(p) == STATUS_LOST && p->maps_lost == 1 &&
		   p->sets[0].number == 2 && p->sets[1].number == 1 &&
		   p->sets[2].number == 3,
	   "one is not");
	plan_error(p, &err);
	ok(says(&err, "no member is left of set 1 of 3 (XOR over filemaps), to "
		      "which rank 5 belongs"),
	   "told in words");
	plan_free(p);

	/* No redundancy files at all. */
	scene_make(&s);
	for (unsigned r = 0; r < 12; r++) {
		scene_lose_reds(&s, r, true);
		scene_lose_reds(&s, r, false);
	}
	is_int(scene_status(&s, 0, &err), STATUS_OK, "no redundancy, no loss");
	must(unlink(scene_map(&s, 7)) == 0);
	is_int(scene_status(&s, 0, &err), STATUS_LOST, "no filemap, a loss");
	ok(says(&err,
		"the filemap of rank 7 is lost (missing) and no redundancy is "
		"left that could rebuild it"),
	   "told in words");
	scene_end(&s);
}

/* --- Files of an earlier attempt --- */

/* Copy the redundancy files of the ranks in `mask` from `from` to `to`. */
static void
copy_reds(const struct scene *from, const struct scene *to, unsigned mask)
{
	struct buf b = BUF_INIT;

	for (unsigned r = 0; r < from->ranks; r++) {
		for (int map = 0; map < 2; map++) {
			const char *path = scene_red(from, r, map, false);

			if (!(mask >> r & 1))
				continue;
			read_whole(path, &b);
			write_file(fmt("%s/%s", scene_meta(to, r),
				       strrchr(path, '/') + 1),
				   b.data, b.len);
		}
	}
	buf_free(&b);
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
	struct error err = ERROR_INIT;
	char what[80];
	struct plan *p = NULL;

	snprintf(what, sizeof(what), "beside files %#x of an older %s", mask,
		 redset_type_name(type));
	scene_make(&now);
	scene_make(&old);
	copy_reds(&old, &now, mask);
	scene_end(&old);
	scene_keep(&now);
	is_int(scene_status(&now, 0, &err), STATUS_OK, fmt("whole %s", what));
	is_int(scene_status(&now, PLAN_HEADERS, &err), STATUS_OK,
	       fmt("also looking at headers, %s", what));
	scene_lose(&now, 2);
	scene_lose(&now, 5);
	p = scene_plan(&now, PLAN_HEADERS, &err);
	ok(p != NULL && plan_status(p) == STATUS_DAMAGED,
	   fmt("damaged %s", what));
	ok(rebuild(p, NULL, NULL, &err) == 0 && scene_same(&now),
	   fmt("rebuilt %s", what));
	plan_free(p);
	scene_end(&now);
}

/* --- Caches --- */

static void
caches(void)
{
	static struct scene s = { SCENE(XOR, 8, 2, 1, 2), .cache = true };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	const char *two[] = { NULL, NULL };

	scene_make(&s);
	p = scene_plan(&s, PLAN_HEADERS, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK && p->id == SCENE_ID &&
		   p->nplaces == 4 && p->nranks == 8 &&
		   p->recorded_root == NULL,
	   "four nodes, whole");
	is_int(scene_find(p, 5, 1)->place, 2, "rank 5 is on the third");
	is_str(scene_find(p, 5, 1)->path, "rank_5_1.dat",
	       "its files lie there by their base names");
	plan_free(p);

	scene_lose(&s, 4);
	scene_lose(&s, 5);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && plan_status(p) == STATUS_DAMAGED, "a node is lost");
	ok(p->ranks[4].map.place == 0 && scene_find(p, 5, 0)->place == 0,
	   "its files will be put to the first");
	ok(rebuild(p, NULL, NULL, &err) == 0, "rebuilt");
	plan_free(p);
	ok(exists(fmt("%s/rank_5_0.dat", scene_node(&s, 0))) &&
		   exists(fmt("%s/.scr/filemap_4", scene_node(&s, 0))),
	   "there they are");
	is_int(scene_status(&s, PLAN_HEADERS, &err), STATUS_OK, "whole again");

	/* The remaining files of a rank determine where the others are
	 * written. */
	scene_make(&s);
	scene_lose_data(&s, 6);
	must(unlink(scene_map(&s, 6)) == 0);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && p->ranks[6].map.place == 3 &&
		   scene_find(p, 6, 0)->place == 3,
	   "a rank of which the redundancy is left keeps its place");
	ok(rebuild(p, NULL, NULL, &err) == 0 && scene_same(&s),
	   "and is rebuilt there");
	plan_free(p);

	scene_make(&s);
	scene_lose(&s, 1);
	ok(scene_plan_fails_well(&s, 0, STATUS_DAMAGED),
	   "every allocation may fail");
	scene_make(&s);
	two[0] = scene_node(&s, 0);
	two[1] = scene_node(&s, 1);
	p = plan_caches(two, 2, NULL, &err);
	ok(p != NULL && plan_status(p) == STATUS_LOST && p->maps_lost == 4,
	   "half of the nodes are not enough");
	plan_free(p);
	scene_end(&s);
}

/* The same metadata on two nodes, as left by a restart on other nodes. */
static void
twice(void)
{
	static struct scene s = { SCENE(XOR, 4, 1, 1, 1), .cache = true };
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;
	struct plan *p = NULL;

	scene_make(&s);
	read_whole(scene_red(&s, 0, false, false), &b);
	write_file(fmt("%s/.scr/%s", scene_node(&s, 3),
		       strrchr(scene_red(&s, 0, false, false), '/') + 1),
		   b.data, b.len);
	write_file(fmt("%s/.scr/filemap_0", scene_node(&s, 3)), s.maps[0].data,
		   s.maps[0].len);
	p = scene_plan(&s, PLAN_HEADERS, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK &&
		   p->ranks[0].map.place == 0 &&
		   p->sets[1].members[0].place == 0,
	   "files of a rank in two places: the first one counts");
	plan_free(p);
	/* If the plan read the second filemap, it would report the damage. */
	write_text(fmt("%s/.scr/filemap_0", scene_node(&s, 3)), "garbage");
	is_int(scene_status(&s, 0, &err), STATUS_OK, "the second is not read");
	write_text(scene_map(&s, 0), "garbage");
	write_file(fmt("%s/.scr/filemap_0", scene_node(&s, 3)), s.maps[0].data,
		   s.maps[0].len);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && p->ranks[0].map_known && p->maps_lost == 0,
	   "a damaged first one is no loss");
	plan_free(p);
	buf_free(&b);
	scene_end(&s);
}

static void
make_bypass(struct kvtree *t, void *arg)
{
	struct kvtree *table = kvtree_get(t, "FILE"), *new = NULL;
	struct kvtree *meta = kvtree_get(kvtree_first(table), "META");

	(void)arg;
	new = kvtree_put(table, "/lustre/run/file.dat", NULL);
	new = kvtree_put(new, "META", NULL);
	must(kvtree_merge(new, meta, NULL) == 0);
	kvtree_remove(table, kvtree_key(kvtree_first(table)));
	must(kvtree_set(new, "PATH", "/lustre/run", NULL) == 0);
}

static void
set_key(struct kvtree *t, void *arg)
{
	struct kvtree *table = kvtree_get(t, "FILE");
	struct kvtree *meta = kvtree_get(kvtree_first(table), "META");
	struct kvtree *new = kvtree_put(table, arg, NULL);

	new = kvtree_put(new, "META", NULL);
	must(kvtree_merge(new, meta, NULL) == 0);
	kvtree_remove(table, kvtree_key(kvtree_first(table)));
}

/* Bypass: data files were written directly to the prefix, without
 * redundancy. */
static void
bypass(void)
{
	static struct scene s = { SCENE(XOR, 4, 1, 1, 1), .cache = true };
	static const char *const bad[] = { "file.dat", "/cache/..", "/cache/" };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&s);
	for (unsigned r = 0; r < 4; r++) {
		scene_lose_reds(&s, r, false);
		scene_lose_reds(&s, r, true);
		scene_lose_data(&s, r);
		edit_tree(scene_map(&s, r), make_bypass, NULL);
	}
	p = scene_plan(&s, PLAN_CHECKSUMS, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK && p->nfiles == 4 &&
		   p->files[0].state == FILE_ELSEWHERE && p->files_missing == 0,
	   "files that were never in the cache are not missed there");
	plan_free(p);
	for (size_t i = 0; i < 3; i++) {
		scene_make(&s);
		edit_tree(scene_map(&s, 1), set_key, (void *)(uintptr_t)bad[i]);
		ok(scene_refused(&s, ERROR_UNSAFE, bad[i]),
		   fmt("%s is no file of a cache", bad[i]));
	}
	scene_end(&s);
}

int
main(void)
{
	umask(022);
	schemes();
	mixed_losses();
	vanished();
	older_attempt(REDSET_XOR, 1, 1, 0x07);
	older_attempt(REDSET_XOR, 1, 1, 0x24);
	older_attempt(REDSET_XOR, 2, 1, 0x01);
	older_attempt(REDSET_XOR, 2, 1, 0x22);
	older_attempt(REDSET_RS, 1, 3, 0x07);
	older_attempt(REDSET_PARTNER, 1, 1, 0x06);
	caches();
	twice();
	bypass();
	return tap_done();
}
