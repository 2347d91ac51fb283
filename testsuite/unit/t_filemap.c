/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/filemap.h"

#include "arena.h"
#include "metatest.h"

#define META "FILE>/c/x.ckpt>META>"
#define TIMES \
	META "ATIME_SECS>1\n" META "ATIME_NSECS>2\n" META \
	     "CTIME_SECS>3\n" META "CTIME_NSECS>4\n" META \
	     "MTIME_SECS>5\n" META "MTIME_NSECS>6\n"

/* One file, with the keys that the library writes (formats.md 4.2). */
static const char full[] =
	META "CRC>0xda711cb\n" META "RANKS>4\n" META "ORIG>./p/x.ckpt\n" META
	     "PATH>/p\n" META "NAME>x.ckpt\n" META "SIZE>20011\n" META
	     "COMPLETE>1\n" META "MODE>33188\n" META "UID>10\n" META
	     "GID>20\n" TIMES;

static bool
rewritten_same(const struct kvtree *t, const struct filemap *map)
{
	struct kvtree *copy = kvtree_new(NULL);
	bool same = true;
	size_t i = 0;

	for (i = 0; i < map->nfiles; i++)
		same = same && filemap_add(copy, &map->files[i], NULL) == 0;
	same = same && tree_same(copy, t, false);
	kvtree_free(copy);
	return same;
}

static void
test_round_trip(void)
{
	struct kvtree *t = tree_of(full);
	struct arena *arena = arena_new();
	struct filemap map;
	const struct filemap_file *f = NULL;

	is_int(filemap_read(t, arena, &map, NULL), 0, "a filemap is read");
	is_int((int64_t)map.nfiles, 1, "... one file");
	is_int(map.ranks, 4, "... ranks");
	ok(map.prefix == NULL, "... no prefix");
	ok(rewritten_same(t, &map), "... and written as it was");
	/* The filemap must not point into the tree. */
	kvtree_free(t);
	f = map.files;
	is_str(f->cache_path, "/c/x.ckpt", "... cache path");
	is_str(f->orig, "./p/x.ckpt", "... name given");
	is_str(f->dir, "/p", "... directory");
	is_str(f->name, "x.ckpt", "... name");
	ok(f->complete && f->has_crc && f->crc == 0xda711cb, "... CRC");
	ok(f->attr.has_size && f->attr.size == 20011, "... size");
	ok(f->attr.has_owner && f->attr.mode == 0100644 && f->attr.uid == 10 &&
		   f->attr.gid == 20,
	   "... owner");
	ok(f->attr.has_times && f->attr.mtime.tv_sec == 5 &&
		   f->attr.mtime.tv_nsec == 6 && f->attr.atime.tv_nsec == 2 &&
		   f->attr.ctime.tv_sec == 3,
	   "... times");
	arena_free(arena);
}

static void
test_forms(void)
{
	struct kvtree *t = kvtree_new(NULL);
	struct arena *arena = arena_new();
	struct filemap map;

	is_int(filemap_read(t, arena, &map, NULL), 0,
	       "a rank without files has an empty map");
	ok(map.nfiles == 0 && map.ranks == -1, "... with nothing in it");
	tree_add(t, "PREFIX>/old\n");
	is_int(filemap_read(t, arena, &map, NULL), 0, "prefix alone");
	is_str(map.prefix, "/old", "... is known");
	tree_add(t, "FILE>/c/a\nFILE>/c/b>META>RANKS>2\n"
		    "FILE>/c/b>META>NAME>c\nFILE>/c/b>META>PATH>/p\n"
		    "FILE>/c/d>META>NAME>d\nFILE>/c/d>META>PATH>/p\n"
		    "FILE>e>META>NAME>e\nFILE>e>META>PATH>/q\n"
		    "FILE>e>META>COMPLETE>0\nFILE>e>META>OURS>x\n");
	is_int(filemap_read(t, arena, &map, NULL), 0, "files with little");
	is_int((int64_t)map.nfiles, 4, "... all of them");
	is_int(map.ranks, 2, "... ranks said by one");
	kvtree_free(t);
	ok(map.files[0].name == NULL && !map.files[0].complete &&
		   !map.files[0].attr.has_size && map.files[0].ranks == -1,
	   "... a bare entry is incomplete");
	is_str(map.files[1].name, "c", "... name other than in cache");
	is_str(map.files[2].name, "d", "... name as in cache");
	is_str(map.files[2].dir, "/p", "... directory as before");
	is_str(map.files[3].name, "e", "... path without a slash");
	is_str(map.files[3].dir, "/q", "... another directory");
	arena_free(arena);
}

static void
test_refused(void)
{
	static const char *const bad[] = {
		"FILES>x\n",
		"VERSION>2\nNAME>x\n",
		META "RANKS>4\nFILE>/c/y>META>RANKS>5\n",
		META "NAME>a/b\n",
		META "NAME>\n",
		META "NAME>.\n",
		META "NAME>..\n",
		META "NAME>a\n" META "NAME>b\n",
		META "RANKS>2147483648\n",
		META "SIZE>-1\n",
		META "COMPLETE>2\n",
		META "CRC>0x100000000\n",
		META "PATH\n",
		"PREFIX>a\nPREFIX>b\nFILE>x\n",
	};
	struct arena *arena = arena_new();
	size_t i = 0;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kvtree *t = tree_of(bad[i]);
		struct error err = ERROR_INIT;
		struct filemap map;

		is_int(filemap_read(t, arena, &map, &err), -1, label(bad[i]));
		is_int(err.kind, ERROR_CORRUPT, err.text);
		kvtree_free(t);
	}
	arena_free(arena);
}

/* A name like "..a" does not leave its directory. */
static void
test_odd_names(void)
{
	static const char *const good[] = { "...", ".a", "..a", " ", "a\n" };
	struct arena *arena = arena_new();
	size_t i = 0;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct filemap_file f = { .cache_path = "/c/f",
					  .name = good[i],
					  .ranks = -1 };
		struct kvtree *t = kvtree_new(NULL);
		struct filemap map;

		ok(filemap_add(t, &f, NULL) == 0 &&
			   filemap_read(t, arena, &map, NULL) == 0 &&
			   strcmp(map.files[0].name, good[i]) == 0,
		   label(good[i]));
		kvtree_free(t);
	}
	arena_free(arena);
}

static void
read_any(const struct kvtree *t, void *arg)
{
	struct error err = ERROR_INIT;
	struct arena *arena = arena_new();
	struct filemap map;

	if (filemap_read(t, arena, &map, &err) < 0 && err.kind != ERROR_CORRUPT)
		++*(int *)arg;
	arena_free(arena);
}

static int
read_all(void *arg, struct error *err)
{
	struct arena *arena = arena_new();
	struct filemap map;
	int rc = -1;

	if (arena == NULL)
		return error_set(err, ERROR_NOMEM, "arena");
	rc = filemap_read(arg, arena, &map, err);
	arena_free(arena);
	return rc;
}

static int
write_all(void *arg, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	int rc = t == NULL ? -1 : filemap_add(t, arg, err);

	kvtree_free(t);
	return rc;
}

static void
test_damage(void)
{
	struct kvtree *t = tree_of(full);
	struct arena *arena = arena_new();
	struct filemap map;
	struct error err = ERROR_INIT;
	int odd = 0, i = 0;

	ok(tree_flip_each(t, read_any, &odd) > 100, "flipped bytes");
	is_int((int64_t)tree_drop_each(t, read_any, &odd), 35, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	filemap_read(t, arena, &map, NULL);
	ok(fail_each_alloc(write_all, map.files) > 0, "no memory to write");
	kvtree_free(t);
	/* Enough files to make the arena grow. */
	t = tree_of("PREFIX>/p\n");
	for (i = 0; i < 60; i++) {
		char path[128], dir[128], name[32];
		struct filemap_file f = map.files[0];

		snprintf(path, sizeof(path), "/c/%d/%060d", i, i);
		snprintf(dir, sizeof(dir), "/p/%060d", i);
		snprintf(name, sizeof(name), "other.%d", i);
		f.cache_path = path;
		f.dir = dir;
		f.name = name;
		filemap_add(t, &f, &err);
	}
	ok(fail_each_alloc(read_all, t) > 3, "no memory to read");
	kvtree_free(t);
	arena_free(arena);
}

static void
test_names(void)
{
	static const char *const bad[] = {
		"filemap_",   "filemap_012",	    "filemap_-1",
		"filemap_1x", "old_filemap_3.bak",  "filemap_3.bak",
		"filemap",    "filemap_2147483648", "filemap_ 1",
		"",
	};
	char name[64];
	size_t i = 0;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(filemap_name_rank(bad[i]), -1, label(bad[i]));
	is_int(filemap_name_rank("filemap_0"), 0, "rank 0");
	is_int(filemap_name_rank("filemap_12"), 12, "rank 12");
	is_str(filemap_name(name, sizeof(name), 12), "filemap_12",
	       "... and back");
}

int
main(void)
{
	test_round_trip();
	test_forms();
	test_refused();
	test_odd_names();
	test_damage();
	test_names();
	return tap_done();
}
