/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_files.c - plans for redundancy files given by hand, as for LLNL's
 * rebuild helpers: with a prefix and its filemaps, or with only the headers.
 */
#include "rescue/plan.h"

#include "path.h"
#include "rescue/rebuild.h"
#include "scene.h"

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

static struct plan *
plan_by_hand(const char *dir, const char *prefix, const struct names *n,
	     bool map, struct error *err)
{
	const struct plan_options o = {
		.moved_from = prefix == NULL ? OLD : NULL,
	};

	return plan_files(
		&(struct plan_by_hand){ dir, prefix, n->list, n->count, map },
		&o, err);
}

/* Plan and rebuild: the status of the plan, or STATUS_FAILED. */
static int
by_hand(const char *dir, const char *prefix, const struct names *n, bool map)
{
	struct error err = ERROR_INIT;
	struct plan *p = plan_by_hand(dir, prefix, n, map, &err);
	int status = p ? plan_status(p) : STATUS_FAILED;

	if (p != NULL && rebuild(p, NULL, NULL, &err) < 0)
		printf("# rebuild: %s\n", err.text);
	else if (p == NULL)
		printf("# %s\n", err.text);
	plan_free(p);
	return status;
}

/* --- With a prefix --- */

static void
with_prefix(void)
{
	struct names data = { .count = 0 }, maps = { .count = 0 };
	const char *dir = NULL, *prefix = NULL;
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor8);
	dir = mem_strdup(scene_meta(&xor8, 0));
	prefix = mem_strdup(scene_prefix(&xor8));
	name_reds(&data, &xor8, 0xff, false, "");
	name_reds(&maps, &xor8, 0xff, true, "");
	is_int(by_hand(dir, prefix, &data, false), STATUS_OK, "whole");

	scene_lose(&xor8, 2);
	scene_lose(&xor8, 5);
	is_int(by_hand(dir, prefix, &maps, true), STATUS_DAMAGED,
	       "first the filemaps");
	ok(exists(scene_map(&xor8, 2)) &&
		   exists(scene_red(&xor8, 5, true, false)) &&
		   !exists(scene_data(&xor8, 2, 0)),
	   "they come back, with their redundancy, and nothing else");
	is_int(by_hand(dir, prefix, &data, false), STATUS_DAMAGED,
	       "then the files");
	ok(scene_same(&xor8), "all is as it was");

	/* A named file that is missing counts as lost. */
	must(unlink(scene_red(&xor8, 3, false, false)) == 0);
	must(unlink(scene_red(&xor8, 3, false, true)) == 0);
	p = plan_by_hand(dir, prefix, &data, false, &err);
	ok(p != NULL && p->sets[1].members[1].rank == 3 &&
		   p->sets[1].members[1].state == RED_MISSING,
	   "a name of a file that is not there");
	plan_free(p);
	is_int(by_hand(dir, prefix, &data, false), STATUS_DAMAGED,
	       "is the name of one to be rebuilt");
	ok(scene_same(&xor8), "it comes back");
	mem_free((void *)(uintptr_t)dir);
	mem_free((void *)(uintptr_t)prefix);
}

/* LLNL's helpers are called once for each set. */
static void
one_set(void)
{
	struct names first = { .count = 0 }, second = { .count = 0 };
	struct names maps = { .count = 0 };
	char dir[200], prefix[200];

	scene_make(&xor8);
	snprintf(dir, sizeof(dir), "%s", scene_meta(&xor8, 0));
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(&xor8));
	scene_lose_data(&xor8, 2);
	scene_lose_data(&xor8, 3);
	name_reds(&first, &xor8, 0x51, false, "");
	name_reds(&second, &xor8, 0xaa, false, "");
	is_int(by_hand(dir, prefix, &first, false), STATUS_DAMAGED,
	       "one set of two, the other is damaged as well");
	ok(exists(scene_data(&xor8, 2, 0)) && !exists(scene_data(&xor8, 3, 0)),
	   "its files come back, not those of the other");
	is_int(by_hand(dir, prefix, &second, false), STATUS_DAMAGED,
	       "then the other");
	ok(scene_same(&xor8), "all is as it was");

	must(unlink(scene_map(&xor8, 2)) == 0);
	must(unlink(scene_map(&xor8, 3)) == 0);
	name_reds(&maps, &xor8, 0x55, true, "");
	is_int(by_hand(dir, prefix, &maps, true), STATUS_DAMAGED,
	       "one set over filemaps of two");
	ok(exists(scene_map(&xor8, 2)) && !exists(scene_map(&xor8, 3)),
	   "its filemaps come back");
	maps.count = 0;
	name_reds(&maps, &xor8, 0xaa, true, "");
	is_int(by_hand(dir, prefix, &maps, true), STATUS_DAMAGED,
	       "and then the other");
	ok(scene_same(&xor8), "all is as it was");
}

/* --- With only the headers --- */

/* Move all files of the nodes' caches into one directory, and their redundancy
 * files into `sub` below it. */
static void
flatten(const struct scene *s, const char *to, const char *sub)
{
	struct buf b = BUF_INIT;

	for (unsigned r = 0; r < s->ranks; r++) {
		for (unsigned i = 0; i < s->files; i++) {
			const char *path = scene_data(s, r, i);
			struct stat st;

			must(stat(path, &st) == 0);
			read_whole(path, &b);
			scene_put(fmt("%s/%s", to, path_base(path)), b.data,
				  &s->lists[0][r].files[i].attr);
		}
		for (int map = 0; map < 2; map++) {
			const char *path = scene_red(s, r, map, false);

			read_whole(path, &b);
			write_file(fmt("%s/%s%s", to, sub, path_base(path)),
				   b.data, b.len);
			path = scene_red(s, r, map, true);
			read_whole(path, &b);
			write_file(fmt("%s/%s%s", to, sub, path_base(path)),
				   b.data, b.len);
		}
		scene_put(fmt("%s/.scr/filemap_%u", to, r), s->maps[r].data,
			  &s->lists[1][r].files[0].attr);
	}
	buf_free(&b);
}

static struct scene bare8 = { SCENE(RS, 8, 2, 2, 2), .cache = true };

static void
lose_flat(const char *dir, const char *sub, unsigned rank)
{
	for (unsigned i = 0; i < bare8.files; i++)
		(void)unlink(fmt("%s/rank_%u_%u.dat", dir, rank, i));
	(void)unlink(fmt("%s/%s%s", dir, sub,
			 path_base(scene_red(&bare8, rank, false, false))));
	(void)unlink(fmt("%s/%s%s", dir, sub,
			 path_base(scene_red(&bare8, rank, false, true))));
}

static void
bare(const char *sub)
{
	struct names n = { .count = 0 };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	char dir[128];

	scene_make(&bare8);
	snprintf(dir, sizeof(dir), "%s/flat", bare8.root);
	flatten(&bare8, dir, sub);
	scene_keep(&bare8);
	name_reds(&n, &bare8, 0xff, false, sub);
	is_int(by_hand(dir, NULL, &n, false), STATUS_OK,
	       fmt("headers alone, in \"%s\": whole", sub));
	lose_flat(dir, sub, 2);
	lose_flat(dir, sub, 4);
	lose_flat(dir, sub, 7);
	p = plan_by_hand(dir, NULL, &n, false, &err);
	ok(p != NULL && plan_status(p) == STATUS_DAMAGED &&
		   p->files_rebuild == 6 && p->nfiles == 16 &&
		   p->maps_missing == 0,
	   "three ranks lost");
	plan_free(p);
	is_int(by_hand(dir, NULL, &n, false), STATUS_DAMAGED, "rebuilt");
	ok(scene_same(&bare8), "as it was");
}

/* Files that are not named are missing, but are written to the directory of the
 * others. */
static void
bare_fewer_names(void)
{
	struct names n = { .count = 0 };
	char dir[128];

	scene_make(&bare8);
	snprintf(dir, sizeof(dir), "%s/flat", bare8.root);
	flatten(&bare8, dir, "");
	scene_keep(&bare8);
	lose_flat(dir, "", 2);
	lose_flat(dir, "", 6);
	name_reds(&n, &bare8, 0x11, false, "");
	add_name(&n, "", scene_red(&bare8, 0, false, true));
	is_int(by_hand(dir, NULL, &n, false), STATUS_DAMAGED,
	       "two names of the four of one set, and a descriptor");
	ok(scene_same(&bare8), "bring the other two back");
	lose_flat(dir, "", 2);
	n.count = 0;
	name_reds(&n, &bare8, 0x55, false, "");
	is_int(by_hand(dir, NULL, &n, false), STATUS_DAMAGED,
	       "one set of two, the missing file named, too");
	ok(scene_same(&bare8), "it comes back");
	lose_flat(dir, "", 0);
	lose_flat(dir, "", 2);
	lose_flat(dir, "", 4);
	is_int(by_hand(dir, NULL, &n, false), STATUS_LOST, "three are lost");
}

/* Filemaps are beside the named files. */
static void
maps_alone(void)
{
	struct names n = { .count = 0 };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	char dir[128];

	scene_make(&bare8);
	snprintf(dir, sizeof(dir), "%s/flat", bare8.root);
	flatten(&bare8, dir, ".scr/");
	scene_keep(&bare8);
	snprintf(dir, sizeof(dir), "%s/flat/.scr", bare8.root);
	name_reds(&n, &bare8, 0x55, true, "");
	is_int(by_hand(dir, NULL, &n, true), STATUS_OK,
	       "a set over filemaps alone: whole");
	must(unlink(fmt("%s/filemap_3", dir)) == 0);
	is_int(by_hand(dir, NULL, &n, true), STATUS_OK,
	       "what the other one has lost is of no concern");
	must(unlink(fmt("%s/filemap_4", dir)) == 0);
	n.count = 0;
	name_reds(&n, &bare8, 0xff, true, "");
	is_int(by_hand(dir, NULL, &n, true), STATUS_DAMAGED, "both lost one");
	ok(scene_same(&bare8), "they come back");

	for (unsigned r = 0; r < 8; r += 2)
		must(unlink(fmt("%s/filemap_%u", dir, r)) == 0);
	must(unlink(fmt("%s/%s", dir, n.list[0])) == 0);
	p = plan_by_hand(dir, NULL, &n, true, &err);
	ok(p != NULL && plan_status(p) == STATUS_LOST, "too many are lost");
	plan_error(p, &err);
	ok(says(&err, "members (ranks 0 2 4 6) are missing; RS can restore 2"),
	   "they are named");
	plan_free(p);
}

/* --- Misuse --- */

static void
misuse(void)
{
	struct names n = { .count = 0 };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	char dir[200], prefix[200];
	const char *name = NULL;

	scene_make(&xor8);
	snprintf(dir, sizeof(dir), "%s", scene_meta(&xor8, 0));
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(&xor8));
	p = plan_files(&(struct plan_by_hand){ dir, prefix, NULL, 0, false },
		       NULL, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK, "no name at all");
	plan_free(p);
	ok(plan_files(&(struct plan_by_hand){ dir, NULL, NULL, 0, false }, NULL,
		      &err) == NULL &&
		   err.kind == ERROR_ABSENT,
	   "no name and no prefix");
	name_reds(&n, &xor8, 0xff, false, "");
	ok(plan_by_hand("/nonexistent", prefix, &n, false, &err) == NULL &&
		   err.kind == ERROR_ABSENT,
	   "no such directory");
	ok(plan_by_hand(dir, "/nonexistent", &n, false, &err) == NULL &&
		   err.kind == ERROR_ABSENT,
	   "no such prefix");
	p = plan_files(
		&(struct plan_by_hand){ dir, NULL, n.list, n.count, false },
		NULL, &err);
	ok(p == NULL && err.kind == ERROR_UNSAFE && says(&err, OLD) &&
		   says(&err, "--moved-from"),
	   "headers name files elsewhere");
	name = "filemap_3";
	ok(plan_files(&(struct plan_by_hand){ dir, prefix, &name, 1, false },
		      NULL, &err) == NULL &&
		   err.kind == ERROR_USAGE && says(&err, name),
	   "not the name of a redundancy file");
	name = "../reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset";
	ok(plan_files(&(struct plan_by_hand){ dir, prefix, &name, 1, false },
		      NULL, &err) == NULL &&
		   err.kind == ERROR_UNSAFE,
	   "a name that leaves the directory");
	must(symlink("/etc", fmt("%s/out", dir)) == 0);
	name = "out/reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset";
	ok(plan_files(&(struct plan_by_hand){ dir, prefix, &name, 1, false },
		      NULL, &err) == NULL &&
		   err.kind == ERROR_UNSAFE,
	   "or is in one that does");
}

static int
plan_once(void *arg, struct error *err)
{
	struct plan *p =
		plan_by_hand(fmt("%s/flat", bare8.root), NULL, arg, false, err);
	bool good = p != NULL && plan_status(p) == STATUS_DAMAGED;

	plan_free(p);
	return good ? 0 : p == NULL ? -1 : error_set(err, ERROR_DAMAGED, "!");
}

static int
plan_with_prefix(void *arg, struct error *err)
{
	struct plan *p = plan_by_hand(scene_meta(&xor8, 0), scene_prefix(&xor8),
				      arg, false, err);
	bool good = p != NULL && plan_status(p) == STATUS_DAMAGED;

	plan_free(p);
	return good ? 0 : p == NULL ? -1 : error_set(err, ERROR_DAMAGED, "!");
}

static void
no_memory(void)
{
	struct names n = { .count = 0 };
	char dir[128];

	scene_make(&bare8);
	snprintf(dir, sizeof(dir), "%s/flat", bare8.root);
	flatten(&bare8, dir, "");
	lose_flat(dir, "", 2);
	name_reds(&n, &bare8, 0xff, false, "");
	ok(fails_well(plan_once, NULL, &n), "every allocation may fail");
	scene_make(&xor8);
	scene_lose_data(&xor8, 1);
	n.count = 0;
	name_reds(&n, &xor8, 0xff, false, "");
	ok(fails_well(plan_with_prefix, NULL, &n), "also with a prefix");
}

int
main(void)
{
	umask(022);
	with_prefix();
	one_set();
	bare("");
	bare("deep/down/");
	bare_fewer_names();
	maps_alone();
	misuse();
	no_memory();
	scene_end(&xor8);
	scene_end(&bare8);
	return tap_done();
}
