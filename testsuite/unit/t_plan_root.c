/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_root.c - recorded paths of a prefix that was moved, or that are
 * unsafe: the plan infers the old name of the prefix, or reports that it
 * cannot.
 */
#include "rescue/plan.h"

#include "planat.h"
#include "rescue/rebuild.h"
#include "scene.h"

static struct scene moved = { SCENE(XOR, 4, 1, 1, 2),
			      .was = "/old/place/prefix" };

/* Does the plan find `root`, with the files below it?  NULL: it fails with this
 * kind of error and these words. */
static void
finds(const struct scene *s, const char *from, const char *root,
      enum error_kind kind, const char *words)
{
	const struct plan_options o = { .moved_from = from };
	struct error err = ERROR_INIT;
	struct plan *p = scene_plan_with(s, &o, &err);

	if (root == NULL) {
		ok(p == NULL && err.kind == kind && says(&err, words), words);
	} else {
		if (p == NULL)
			printf("# %s\n", err.text);
		is_str(p ? p->recorded_root : NULL, root, words);
		ok(p != NULL && strcmp(scene_find(p, 1, 1)->path,
				       "ckpt/dir_1/rank_1_1.dat") == 0,
		   fmt("%s: a path below it", words));
	}
	plan_free(p);
}

static void
copy_tree(const char *from, const char *to)
{
	must(system(fmt("mkdir -p '%s' && cp -a '%s/.' '%s'", to, from, to)) ==
	     0);
}

static void
set_path(struct kvtree *t, void *arg)
{
	struct kvtree *f = NULL;

	kvtree_foreach (f, kvtree_get(t, "FILE"))
		must(kvtree_set(kvtree_get(f, "META"), "PATH", arg, NULL) == 0);
}

static void
set_name(struct kvtree *t, void *arg)
{
	struct kvtree *f = kvtree_first(kvtree_get(t, "FILE"));

	must(kvtree_set(kvtree_get(f, "META"), "NAME", arg, NULL) == 0);
}

/* --- Inferred --- */

static void
inferred(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&moved);
	finds(&moved, NULL, "/old/place/prefix", ERROR_NONE, "a moved prefix");
	p = scene_plan(&moved, 0, &err);
	ok(p != NULL && p->moved && plan_status(p) == STATUS_OK,
	   "all of it is there");
	plan_free(p);
	scene_lose(&moved, 0);
	scene_lose_data(&moved, 1);
	must(truncate(scene_data(&moved, 2, 0), 1) == 0);
	must(unlink(scene_data(&moved, 2, 1)) == 0);
	finds(&moved, NULL, "/old/place/prefix", ERROR_NONE,
	      "a single rank's files are enough");

	scene_make(&moved);
	scene_lose(&moved, 2);
	p = scene_plan(&moved, 0, &err);
	ok(p != NULL && rebuild(p, NULL, NULL, &err) == 0 && scene_same(&moved),
	   "what was lost comes back where the prefix is now");
	plan_free(p);
}

/* Of many files, only some are compared. */
static uint64_t
small(unsigned rank, unsigned file)
{
	return 10 + rank + file;
}

static void
sample(void)
{
	static struct scene s = { SCENE(SINGLE, 2, 2, 0, 300), .size = small,
				  .was = "/p" };

	scene_make(&s);
	finds(&s, NULL, "/p", ERROR_NONE, "600 files, a root below \"/\"");
	scene_end(&s);
}

static void
ambiguous(void)
{
	scene_make(&moved);
	copy_tree(fmt("%s/ckpt", scene_prefix(&moved)),
		  fmt("%s/prefix/ckpt", scene_prefix(&moved)));
	finds(&moved, NULL, NULL, ERROR_USAGE,
	      "they match here in several ways");
	finds(&moved, "/old/place/prefix", "/old/place/prefix", ERROR_NONE,
	      "said by hand");
	must(unlink(fmt("%s/prefix/ckpt/dir_1/rank_1_0.dat",
			scene_prefix(&moved))) == 0);
	finds(&moved, NULL, "/old/place/prefix", ERROR_NONE,
	      "where more of them fit");
	must(truncate(scene_data(&moved, 3, 0), 1) == 0);
	finds(&moved, NULL, NULL, ERROR_USAGE, "several ways");
	/* A third candidate that is worse than the others changes nothing. */
	copy_tree(fmt("%s/ckpt/dir_0", scene_prefix(&moved)),
		  fmt("%s/place/prefix/ckpt/dir_0", scene_prefix(&moved)));
	finds(&moved, NULL, NULL, ERROR_USAGE, "--moved-from");
}

static void
none_fits(void)
{
	char long_name[400];

	memset(long_name, 'n', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	scene_make(&moved);
	remove_tree(fmt("%s/ckpt", scene_prefix(&moved)));
	finds(&moved, NULL, NULL, ERROR_USAGE,
	      "/old/place/prefix/ckpt; none of them is here");
	write_text(scene_data(&moved, 0, 0), "of another size");
	finds(&moved, NULL, NULL, ERROR_USAGE, "none of them is here");
	/* Names too long for any file system. */
	edit_tree(scene_map(&moved, 2), set_name, long_name);
	finds(&moved, NULL, NULL, ERROR_USAGE, "none of them is here");
	remove_tree(fmt("%s/ckpt", scene_prefix(&moved)));
	must(symlink("/tmp", fmt("%s/ckpt", scene_prefix(&moved))) == 0);
	finds(&moved, NULL, NULL, ERROR_UNSAFE, "leads out of the prefix");
}

/* --- Given, or recorded --- */

static void
given(void)
{
	scene_make(&moved);
	finds(&moved, "/old//place/./prefix/", "/old/place/prefix", ERROR_NONE,
	      "given by hand, in any spelling");
	finds(&moved, "/old/place/pre", NULL, ERROR_USAGE,
	      "/old/place/pre does not match");
	finds(&moved, "/old/place/prefix/ckpt/dir_0", NULL, ERROR_USAGE,
	      "those of /old/place/prefix are");
	remove_tree(fmt("%s/ckpt", scene_prefix(&moved)));
	finds(&moved, "/elsewhere", NULL, ERROR_USAGE,
	      "files below /old/place/prefix/ckpt");
	finds(&moved, "/old/place/prefix", "/old/place/prefix", ERROR_NONE,
	      "no file needs to be there");
}

static void
recorded(void)
{
	static struct scene s = { SCENE(XOR, 4, 1, 1, 2), .was = "/old/place",
				  .prefix = "/old/place" };

	scene_make(&s);
	scene_lose(&s, 0);
	for (unsigned r = 0; r < 4; r++)
		scene_lose_data(&s, r);
	finds(&s, NULL, "/old/place", ERROR_NONE,
	      "filemaps that say what the prefix was called");
	/* If the recorded prefix is wrong, the paths of the files decide. */
	s.prefix = "/quite/elsewhere";
	scene_make(&s);
	finds(&s, NULL, "/old/place", ERROR_NONE,
	      "filemaps that contradict themselves");
	scene_end(&s);
}

/* The prefix is reached through a symbolic link. */
static void
linked(void)
{
	struct scene s = { SCENE(XOR, 4, 1, 1, 2) };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	char link[128];

	scene_make(&s);
	snprintf(link, sizeof(link), "%s/link", s.root);
	must(symlink("prefix", link) == 0);
	p = plan_at(link, SCENE_ID, NULL, &err);
	ok(p != NULL && !p->moved && plan_status(p) == STATUS_OK,
	   "a prefix reached through a link has not moved");
	plan_free(p);
	s.was = link;
	scene_make(&s);
	must(symlink("prefix", link) == 0);
	scene_lose_data(&s, 0);
	scene_lose_data(&s, 1);
	scene_lose_data(&s, 2);
	scene_lose_data(&s, 3);
	p = plan_at(link, SCENE_ID, NULL, &err);
	ok(p != NULL && !p->moved && strcmp(p->recorded_root, link) == 0,
	   "nor one that was recorded so");
	plan_free(p);
	/* A relative path, from inside the prefix. */
	must(chdir(s.root) == 0);
	s.was = NULL;
	scene_make(&s);
	must(chdir(s.root) == 0);
	p = plan_at("prefix", SCENE_ID, NULL, &err);
	ok(p != NULL && !p->moved &&
		   strcmp(p->recorded_root, scene_prefix(&s)) == 0,
	   "nor one that is named from where one is");
	plan_free(p);
	must(chdir("/") == 0);
	scene_end(&s);
}

/* --- Paths that must not be followed --- */

static void
unsafe_paths(void)
{
	static char long_path[4200], brim[4091], path[5000];
	static const struct {
		bool below; /* below the prefix */
		const char *path;
	} paths[] = {
		{ false, "/etc" },
		{ false, "etc" },
		{ false, "" },
		{ true, "/../../../../../etc" },
		{ true, "x" },
		{ true, "/.." },
		{ true, long_path },
		{ true, brim }, /* too long with the file's name added */
		{ false, long_path },
	};
	struct scene s = { SCENE(SINGLE, 2, 2, 0, 2) };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	char prefix[128];

	memset(long_path, 'x', sizeof(long_path) - 1);
	for (size_t i = 0; i < sizeof(long_path) - 1; i += 200)
		long_path[i] = '/';
	memcpy(brim, long_path, sizeof(brim) - 1);
	scene_make(&s);
	snprintf(prefix, sizeof(prefix), "%s", scene_prefix(&s));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		scene_make(&s);
		snprintf(path, sizeof(path), "%s%s",
			 paths[i].below ? prefix : "", paths[i].path);
		edit_tree(scene_map(&s, 1), set_path, path);
		finds(&s, prefix, NULL, ERROR_UNSAFE, "filemap_1: ");
	}
	scene_make(&s);
	edit_tree(scene_map(&s, 1), set_path, (void *)(uintptr_t) "/etc");
	finds(&s, NULL, NULL, ERROR_USAGE, "files below /;");

	/* Data must not overwrite metadata files. */
	scene_make(&s);
	edit_tree(scene_map(&s, 1), set_path, fmt("%s/.scr", prefix));
	finds(&s, NULL, NULL, ERROR_UNSAFE, "files among the metadata");
	scene_make(&s);
	edit_tree(scene_map(&s, 1), set_path, prefix);
	edit_tree(scene_map(&s, 1), set_name, (void *)(uintptr_t) ".scr");
	finds(&s, NULL, NULL, ERROR_UNSAFE, "files among the metadata");

	scene_make(&s);
	edit_tree(scene_map(&s, 1), set_path, prefix);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && strcmp(scene_find(p, 1, 0)->path, "rank_1_0.dat") == 0,
	   "files may lie in the prefix itself");
	plan_free(p);
	scene_end(&s);
}

/* --- Memory --- */

static int
plan_moved(void *arg, struct error *err)
{
	struct scene *s = arg;
	const struct plan_options o = { .moved_from = s->prefix };
	struct plan *p = scene_plan_with(s, &o, err);
	bool good = p != NULL && p->moved && plan_status(p) == STATUS_DAMAGED;

	plan_free(p);
	return good ? 0 : p == NULL ? -1 : error_set(err, ERROR_DAMAGED, "!");
}

static void
no_memory(void)
{
	scene_make(&moved);
	scene_lose(&moved, 3);
	ok(fails_well(plan_moved, NULL, &moved), "every allocation may fail");
	moved.prefix = moved.was;
	ok(fails_well(plan_moved, NULL, &moved), "also with the root given");
	moved.prefix = NULL;
}

int
main(void)
{
	umask(022);
	inferred();
	sample();
	ambiguous();
	none_fits();
	given();
	recorded();
	linked();
	unsafe_paths();
	no_memory();
	scene_end(&moved);
	return tap_done();
}
