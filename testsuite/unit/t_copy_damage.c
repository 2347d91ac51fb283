/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_copy_damage.c - copies of damaged caches, with wrong filemaps, and to
 * prefixes that were moved.
 */
#include "copytest.h"

/* --- Damage --- */

TEST(checksums)
{
	cache.crc = true;
	cache_make(&cache);
	flip(source(1, 0), 100);
	ok(copies(FILES - 1, 0, 0, 1) && logged("checksum"),
	   "a wrong checksum: that file is bad");
	ok(!exists(target(1, 0)) && file_right(2, 0) &&
		   exists(at(META "/filemap_1")) && no_temps(),
	   "... and not put in place");
	flip(source(1, 0), 100);
	ok(copies(1, 0, FILES - 1, 0) && all_right(), "right again: copied");
	must(unlink(at(META "/copied_2.scr")) == 0);
	must(unlink(source(2, 0)) == 0);
	ok(run_copy() == 0 && result.bad == 0 && result.adopted > 0 &&
		   all_right(),
	   "gone from the cache, and right where it belongs: adopted");
	cache.crc = false;
}

/* The filemap of a rank in the cache. */
static const char *
map_of(int rank)
{
	return fmt("%s/.scr/filemap_%d", cache.dataset, rank);
}

static void
set_incomplete(struct kvtree *t, void *arg)
{
	struct kvtree *k = kvtree_first(kvtree_get(t, "FILE"));

	(void)arg;
	kvtree_set(kvtree_get(k, "META"), "COMPLETE", "0", NULL);
}

TEST(damage)
{
	cache_make(&cache);
	must(unlink(source(0, 0)) == 0);
	must(truncate(source(1, 0), 5) == 0);
	edit_tree(map_of(2), set_incomplete, NULL);
	must(unlink(fmt("%s/.scr/reddesc.er.3.redset", cache.dataset)) == 0);
	ok(copies(FILES - 4, 0, 0, 3),
	   "gone, short, incomplete; no redundancy");
	ok(logged("rank 0: rank 0.0: cannot open") &&
		   logged("5 bytes, expected 1100") &&
		   logged("never completed"),
	   "... is told");
	ok(!exists(target(0, 0)) && exists(at(META "/filemap_0")) &&
		   file_right(0, 1) && file_right(3, 0),
	   "... the rest is copied, and filemaps, which name what is missing");

	cache_make(&cache);
	flip(map_of(2), 40);
	ok(copies(FILES - 3, 0, 0, 1) && logged("filemap_2") &&
		   !exists(at(META "/filemap_2")) &&
		   exists(at(META "/reddescmap.er.2.redset")),
	   "a damaged filemap is left to redundancy");
	/* Make the rank look rebuilt. */
	cache_rank(&cache, 2);
	must(rename(map_of(2), at(META "/filemap_2")) == 0);
	write_text(map_of(2), "junk");
	ok(run_copy() == 0 && result.bad == 1 && all_right(),
	   "... and its files follow when it was rebuilt");
}

/* Set META PATH of rank 1's files. */
static void
set_path(struct kvtree *t, void *arg)
{
	struct kvtree *k = NULL;

	kvtree_foreach (k, kvtree_get(t, "FILE"))
		kvtree_set(kvtree_get(k, "META"), "PATH", arg, NULL);
}

TEST(unsafe)
{
	static const struct {
		const char *what, *path; /* {}: the prefix */
		bool below;
	} paths[] = {
		{ "outside", "../out", true },
		{ "a relative path", "relative", false },
		{ "the root", "/", false },
		{ "metadata", ".scr", true },
		{ "below metadata", ".scr/x", true },
		{ "dots", "x/../../out", true },
		{ "a link out", "link", true },
		{ "below a link", "link/sub", true },
		{ "elsewhere", "/etc", false },
	};

	each (t, paths) {
		const char *p = t->path, *out = NULL;

		cache_make(&cache);
		out = fmt("%s/out", cache.root);
		must(mkdir(out, 0777) == 0);
		link_by_anyone(out, at("link"));
		edit_tree(map_of(1), set_path, fmt("%s", t->below ? at(p) : p));
		ok(run_copy() == 0 && result.bad == 2 && file_right(0, 0) &&
			   file_right(2, 0) && rmdir(out) == 0 &&
			   log_text[0] != '\0',
		   fmt("%s is refused", t->what));
	}
}

/* --- Prefixes --- */

static void
set_prefix(struct kvtree *t, void *arg)
{
	kvtree_set(t, "PREFIX", arg, NULL);
}

TEST(moved)
{
	char old[128], now[128];

	cache_make(&cache);
	snprintf(old, sizeof(old), "%s", cache.prefix);
	snprintf(now, sizeof(now), "%s/moved", cache.root);
	must(rename(old, now) == 0);
	memcpy(cache.prefix, now, sizeof(now));
	is_error(run_copy(), &failure, ERROR_USAGE, "--moved-from",
		 "a moved prefix: nobody knows");
	with.moved_from = old;
	ok(run_copy() == 0 && all_right(), "... but who is told");
	ok(copies(0, 0, FILES, 0), "... and who sees the files there");
	remove_tree(at("ckpt"));
	edit_tree(map_of(1), set_prefix, old);
	ok(run_copy() == 0 && all_right(), "... or reads it in a filemap");

	for (int link = 0; link < 2; link++) {
		cache_make(&cache);
		must(link ? symlink(cache.prefix, now) == 0
			  : rename(cache.prefix, now) == 0 &&
				     symlink(now, cache.prefix) == 0);
		with.prefix = now;
		ok(copies(FILES, 0, 0, 0) && all_right(),
		   link ? "another name of the prefix"
			: "recorded by another name");
	}
}

TEST(bypass)
{
	struct kvtree *t = kvtree_new(NULL);
	struct filemap_file f;

	cache_make(&cache);
	cache_data(&cache, 1, 0, &f);
	make_parents(target(1, 0));
	must(rename(source(1, 0), target(1, 0)) == 0);
	f.cache_path = target(1, 0);
	must(filemap_add(t, &f, NULL) == 0 &&
	     kvtree_write_file(t, AT_FDCWD, map_of(1), NULL) == 0);
	kvtree_free(t);
	ok(copies(FILES - 2, 0, 1, 0), "what the job wrote to the prefix");
	must(truncate(target(1, 0), 9) == 0);
	ok(run_copy() == 0 && result.bad == 1 && logged("9 bytes, expected"),
	   "... and is told if it is short");
}

TEST(cannot)
{
	cache_make(&cache);
	with.id = 6;
	is_error(run_copy(), &failure, ERROR_ABSENT, "dataset 6",
		 "no such dataset");
	with.prefix = "/nowhere/at all";
	is_error(run_copy(), &failure, ERROR_ABSENT, NULL, "no such prefix");
	remove_tree(cache.dataset);
	is_error(run_copy(), &failure, ERROR_ABSENT, NULL, "no directory");
}

int
main(void)
{
	begin_copies();
	return tap_run();
}
