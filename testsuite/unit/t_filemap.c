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

#define WORD(text) ((text) != NULL ? (text) : "-")

/* All members of the map, a line for each file. */
static const char *
shown(const struct filemap *map)
{
	char *to = fmt("%d %s\n", (int)map->ranks, WORD(map->prefix));

	for (size_t i = 0; i < map->nfiles; i++) {
		const struct filemap_file *f = &map->files[i];
		const struct attr *a = &f->attr;

		to = fmt("%s%s %s %s %s%s %d", to, f->cache_path, WORD(f->orig),
			 WORD(f->dir), WORD(f->name), f->complete ? "!" : "",
			 (int)f->ranks);
		if (f->has_crc)
			to = fmt("%s crc %x", to, f->crc);
		if (a->has_size)
			to = fmt("%s size %d", to, (int)a->size);
		if (a->has_owner)
			to = fmt("%s %o %u:%u", to, a->mode, a->uid, a->gid);
		if (a->has_times)
			to = fmt("%s %d.%d %d.%d %d.%d", to,
				 (int)a->atime.tv_sec, (int)a->atime.tv_nsec,
				 (int)a->ctime.tv_sec, (int)a->ctime.tv_nsec,
				 (int)a->mtime.tv_sec, (int)a->mtime.tv_nsec);
		to = fmt("%s\n", to);
	}
	return to;
}

TEST(read)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{ "", "-1 -\n" },
		{ "PREFIX>/old\n", "-1 /old\n" },
		{ full, "4 -\n/c/x.ckpt ./p/x.ckpt /p x.ckpt! 4 crc da711cb "
			"size 20011 100644 10:20 1.2 3.4 5.6\n" },
		/* little of files, or of one: a name other than in the cache */
		{ "FILE>/c/a\nFILE>/c/b>META>RANKS>2\n"
		  "FILE>/c/b>META>NAME>c\nFILE>/c/b>META>PATH>/p\n"
		  "FILE>/c/d>META>NAME>d\nFILE>/c/d>META>PATH>/p\n"
		  "FILE>e>META>NAME>e\nFILE>e>META>PATH>/q\n"
		  "FILE>e>META>COMPLETE>0\nFILE>e>META>OURS>x\n",
		  "2 -\n/c/a - - - -1\n/c/b - /p c 2\n/c/d - /p d -1\n"
		  "e - /q e -1\n" },
	};

	each (c, cases) {
		struct kvtree *t = tree_of(c->text);
		auto_arena *arena = arena_new();
		struct filemap map;

		is_int(filemap_read(t, arena, &map, NULL), 0, "a filemap");
		/* The filemap must not point into the tree. */
		kvtree_free(t);
		is_str(shown(&map), c->shown, label(c->shown));
		if (c->text == full) {
			t = kvtree_new(NULL);
			ok(filemap_add(t, map.files, NULL) == 0 &&
				   tree_says(t, full),
			   "... and written as it was");
			kvtree_free(t);
		}
	}
}

/* A name like "..a" does not leave its directory. */
TEST(odd_names)
{
	static const char *const good[] = { "...", ".a", "..a", " ", "a\n" };
	auto_arena *arena = arena_new();

	each (g, good) {
		struct filemap_file f = { .cache_path = "/c/f",
					  .name = *g,
					  .ranks = -1 };
		auto_kvtree *t = kvtree_new(NULL);
		struct filemap map;

		ok(filemap_add(t, &f, NULL) == 0 &&
			   filemap_read(t, arena, &map, NULL) == 0 &&
			   strcmp(map.files[0].name, *g) == 0,
		   label(*g));
	}
}

static int
read_one(const struct kvtree *t, struct error *err)
{
	auto_arena *arena = arena_new();
	struct filemap map;

	if (arena == NULL)
		return error_set(err, ERROR_NOMEM, "arena");
	return filemap_read(t, arena, &map, err);
}

static int
write_all(void *arg, struct error *err)
{
	auto_kvtree *t = kvtree_new(err);

	return t == NULL ? -1 : filemap_add(t, arg, err);
}

TEST(damage)
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
	auto_kvtree *t = tree_of(full);
	auto_arena *arena = arena_new();
	struct filemap map;

	trees_refused(bad, COUNT(bad), read_one);
	tree_damaged(full, 100, 35, read_one);
	filemap_read(t, arena, &map, NULL);
	ok(fail_each_alloc(write_all, map.files) > 0, "no memory to write");
	/* Enough files to make the arena grow. */
	for (int i = 0; i < 60; i++) {
		struct filemap_file f = map.files[0];

		f.cache_path = fmt("/c/%d/%060d", i, i);
		f.dir = fmt("/p/%060d", i);
		f.name = fmt("other.%d", i);
		must(filemap_add(t, &f, NULL) == 0);
	}
	without_memory (m, 4, "no memory to read") {
		m.rc = read_one(t, &m.err);
	}
}

TEST(names)
{
	static const char *const bad[] = {
		"filemap_",   "filemap_012",	    "filemap_-1",
		"filemap_1x", "old_filemap_3.bak",  "filemap_3.bak",
		"filemap",    "filemap_2147483648", "filemap_ 1",
		"",
	};
	char name[64];

	each (b, bad)
		is_int(filemap_name_rank(*b), -1, label(*b));
	is_int(filemap_name_rank("filemap_0"), 0, "rank 0");
	is_int(filemap_name_rank("filemap_12"), 12, "rank 12");
	is_str(filemap_name(name, sizeof(name), 12), "filemap_12",
	       "... and back");
}
