/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_copy_damage.c - copies of damaged caches, with wrong filemaps, and to
 * prefixes that were moved.
 */
#include "copytest.h"

/* --- Damage --- */

static void
test_checksums(void)
{
	cache.crc = true;
	cache_make(&cache);
	flip(source(1, 0), 100);
	ok(run_copy() == 0 && counts(FILES - 1, 0, 0, 1) && logged("checksum"),
	   "a wrong checksum: that file is bad");
	ok(!exists(target(1, 0)) && file_right(2, 0) &&
		   exists(at(META "/filemap_1")) && no_temps(),
	   "... and not put in place");
	flip(source(1, 0), 100);
	ok(run_copy() == 0 && counts(1, 0, FILES - 1, 0) && all_right(),
	   "right again: copied");
	must(unlink(at(META "/copied_2.scr")) == 0);
	must(unlink(source(2, 0)) == 0);
	ok(run_copy() == 0 && result.bad == 0 && result.adopted > 0 &&
		   all_right(),
	   "gone from the cache, and right where it belongs: adopted");
	cache.crc = false;
}

static void
set_incomplete(struct kvtree *t, void *arg)
{
	struct kvtree *k = kvtree_first(kvtree_get(t, "FILE"));

	(void)arg;
	kvtree_set(kvtree_get(k, "META"), "COMPLETE", "0", NULL);
}

static void
test_damage(void)
{
	cache_make(&cache);
	must(unlink(source(0, 0)) == 0);
	must(truncate(source(1, 0), 5) == 0);
	edit_tree(fmt("%s/.scr/filemap_2", cache.dataset), set_incomplete,
		  NULL);
	must(unlink(fmt("%s/.scr/reddesc.er.3.redset", cache.dataset)) == 0);
	ok(run_copy() == 0 && counts(FILES - 4, 0, 0, 3),
	   "gone, short, never completed; redundancy gone");
	ok(logged("rank 0: rank 0.0: cannot open") &&
		   logged("5 bytes, expected 1100") &&
		   logged("never completed"),
	   "... is told");
	ok(!exists(target(0, 0)) && exists(at(META "/filemap_0")) &&
		   file_right(0, 1) && file_right(3, 0),
	   "... the rest is copied, and filemaps, which name what is missing");

	cache_make(&cache);
	flip(fmt("%s/.scr/filemap_2", cache.dataset), 40);
	ok(run_copy() == 0 && counts(FILES - 3, 0, 0, 1) &&
		   logged("filemap_2") && !exists(at(META "/filemap_2")) &&
		   exists(at(META "/reddescmap.er.2.redset")),
	   "a damaged filemap is left to redundancy");
	/* Make the rank look rebuilt. */
	cache_rank(&cache, 2);
	must(rename(fmt("%s/.scr/filemap_2", cache.dataset),
		    at(META "/filemap_2")) == 0);
	write_text(fmt("%s/.scr/filemap_2", cache.dataset), "junk");
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

static void
test_unsafe(void)
{
	static const struct {
		const char *what, *path; /* below the prefix, unless absolute */
	} paths[] = {
		{ "outside", "../out" },
		{ "a relative path", NULL },
		{ "the root", "/" },
		{ "metadata", ".scr" },
		{ "below metadata", ".scr/x" },
		{ "dots", "x/../../out" },
		{ "a link out", "link" },
		{ "below a link", "link/sub" },
		{ "elsewhere", "/etc" },
	};
	char out[128], path[256];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *p = paths[i].path;

		cache_make(&cache);
		snprintf(out, sizeof(out), "%s/out", cache.root);
		must(mkdir(out, 0777) == 0);
		must(symlink(out, at("link")) == 0);
		snprintf(path, sizeof(path), "%s",
			 p == NULL     ? "relative"
			 : p[0] == '/' ? p
				       : at(p));
		edit_tree(fmt("%s/.scr/filemap_1", cache.dataset), set_path,
			  path);
		ok(run_copy() == 0 && result.bad == 2 && file_right(0, 0) &&
			   file_right(2, 0),
		   paths[i].what);
		ok(rmdir(out) == 0 && log_text[0] != '\0', "... is refused");
	}
}

/* --- Prefixes --- */

static void
set_prefix(struct kvtree *t, void *arg)
{
	kvtree_set(t, "PREFIX", arg, NULL);
}

static void
test_moved(void)
{
	char old[128], now[128];

	cache_make(&cache);
	snprintf(old, sizeof(old), "%s", cache.prefix);
	snprintf(now, sizeof(now), "%s/moved", cache.root);
	must(rename(old, now) == 0);
	memcpy(cache.prefix, now, sizeof(now));
	ok(run_copy() < 0 && failure.kind == ERROR_USAGE &&
		   says(&failure, "--moved-from"),
	   "a moved prefix: nobody knows");
	ok(run_with((struct copy_options){ .moved_from = old }) == 0 &&
		   all_right(),
	   "... but who is told");
	ok(run_copy() == 0 && counts(0, 0, FILES, 0),
	   "... and who sees the files there");
	remove_tree(at("ckpt"));
	edit_tree(fmt("%s/.scr/filemap_1", cache.dataset), set_prefix, old);
	ok(run_copy() == 0 && all_right(), "... or reads it in a filemap");

	cache_make(&cache);
	must(symlink(cache.prefix, now) == 0);
	ok(run_with((struct copy_options){ .prefix = now }) == 0 &&
		   counts(FILES, 0, 0, 0) && all_right(),
	   "another name of the prefix");
	cache_make(&cache);
	must(rename(cache.prefix, now) == 0);
	must(symlink(now, cache.prefix) == 0);
	ok(run_with((struct copy_options){ .prefix = now }) == 0 &&
		   counts(FILES, 0, 0, 0),
	   "recorded by another name");
}

static void
test_bypass(void)
{
	struct kvtree *t = kvtree_new(NULL);
	struct filemap_file f;

	cache_make(&cache);
	cache_data(&cache, 1, 0, &f);
	make_parents(target(1, 0));
	must(rename(source(1, 0), target(1, 0)) == 0);
	f.cache_path = target(1, 0);
	must(filemap_add(t, &f, NULL) == 0 &&
	     kvtree_write_file(t, AT_FDCWD,
			       fmt("%s/.scr/filemap_1", cache.dataset),
			       NULL) == 0);
	kvtree_free(t);
	ok(run_copy() == 0 && counts(FILES - 2, 0, 1, 0),
	   "what the job wrote to the prefix is only looked at");
	must(truncate(target(1, 0), 9) == 0);
	ok(run_copy() == 0 && result.bad == 1 && logged("9 bytes, expected"),
	   "... and is told if it is short");
}

static void
test_cannot(void)
{
	const struct nodecache_where w = { .cntl = cache.cntl };
	const struct work one_thread = { .par = one };
	struct copy_options o = { .work = &one_thread, .id = 6 };

	cache_make(&cache);
	o.prefix = cache.prefix;
	ok(copy_run(&w, &o, &result, &failure) < 0 &&
		   failure.kind == ERROR_ABSENT && says(&failure, "dataset 6"),
	   "no such dataset");
	o.id = 5;
	o.prefix = "/nowhere/at all";
	error_clear(&failure);
	ok(copy_run(&w, &o, &result, &failure) < 0 &&
		   failure.kind == ERROR_ABSENT,
	   "no such prefix");
	remove_tree(cache.dataset);
	ok(run_copy() < 0 && failure.kind == ERROR_ABSENT,
	   "the directory is gone");
}

int
main(void)
{
	begin_copies();
	test_checksums();
	test_damage();
	test_unsafe();
	test_moved();
	test_bypass();
	test_cannot();
	return end_copies();
}
