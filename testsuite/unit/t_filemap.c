/* SPDX-License-Identifier: BSD-3-Clause */
/* Filemaps, and the attributes of files. */
#include "meta/attr.h"
#include "meta/filemap.h"
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
	without_memory (m, 1, "no memory to write") {
		auto_kvtree *made = kvtree_new(&m.err);

		m.rc = made == NULL ? -1 : filemap_add(made, map.files, &m.err);
	}
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

/* --- Attributes --- */

static const char attr_full[] =
	"ATIME_NSECS>935130957\nATIME_SECS>1795215223\n"
	"CTIME_NSECS>1\nCTIME_SECS>2\nGID>20\nMODE>33188\n"
	"MTIME_NSECS>0\nMTIME_SECS>1795215224\n"
	"SIZE>18446744\nUID>10\n";

TEST(attr_round_trip)
{
	auto_kvtree *t = tree_of(attr_full), *copy = kvtree_new(NULL);
	struct attr a;

	is_int(attr_read(t, &a, NULL), 0, "attributes are read");
	ok(a.has_size && a.size == 18446744, "... size");
	ok(a.has_owner && a.mode == 0100644 && a.uid == 10 && a.gid == 20,
	   "... mode, owner, group");
	ok(a.has_times && a.atime.tv_sec == 1795215223 &&
		   a.atime.tv_nsec == 935130957 &&
		   a.mtime.tv_sec == 1795215224 && a.mtime.tv_nsec == 0,
	   "... times");
	is_int(attr_write(copy, &a, NULL), 0, "attributes are written");
	ok(tree_same(copy, t, false), "... in the order of their keys");
}

/* Attributes that are written and read separately. */
TEST(attr_parts)
{
	static const struct {
		const char *text, *what;
		bool size, owner, times;
		const char *key, *value; /* written; NULL: nothing */
	} cases[] = {
		{ "SIZE>0x10\n", "size alone, hexadecimal as LLNL reads it",
		  true, false, false, "SIZE", "16" },
		{ "MODE>33188\nUID>0\nATIME_SECS>5\n",
		  "half an owner, half a time are none", false, false, false,
		  NULL, NULL },
		{ "ATIME_SECS>18446744073709551615\nMTIME_SECS>0\n",
		  "a time before 1970 has wrapped", false, false, true,
		  "ATIME_SECS", "18446744073709551615" },
	};
	struct attr a;

	each (c, cases) {
		auto_kvtree *t = tree_of(c->text);
		auto_kvtree *copy = kvtree_new(NULL);

		ok(attr_read(t, &a, NULL) == 0 && a.has_size == c->size &&
			   a.has_owner == c->owner && a.has_times == c->times,
		   c->what);
		is_int(attr_write(copy, &a, NULL), 0, "... and is written");
		if (c->key != NULL)
			is_str(kvtree_value(copy, c->key), c->value,
			       "... as it was");
		else
			is_int(kvtree_count(copy), 0, "... nothing");
	}
	is_int(a.atime.tv_sec, -1, "... a second before 1970");
	is_int(attr_read(NULL, &a, NULL), 0, "no tree is no attributes");
}

static int
attr_read_one(const struct kvtree *t, struct error *err)
{
	struct attr a;

	return attr_read(t, &a, err);
}

TEST(attr_refused)
{
	static const char *const bad[] = {
		"SIZE>-1\n",
		"SIZE>9223372036854775808\n",
		"SIZE>1\nSIZE>2\n",
		"SIZE\n",
		"SIZE>12x\n",
		"SIZE> 12\n",
		"SIZE>\n",
		"MODE>4294967296\n",
		"UID>root\n",
		"GID>1e3\n",
		"ATIME_NSECS>1000000000\n",
		"MTIME_SECS>18446744073709551616\n",
	};

	trees_refused(bad, COUNT(bad), attr_read_one);
}

TEST(attr_damage)
{
	tree_damaged(attr_full, 50, 20, attr_read_one);
}

/* A file in $TMPDIR that disappears when it is closed. */
static int
scratch_file(void)
{
	const char *dir = getenv("TMPDIR");
	char *name = fmt("%s/attrXXXXXX", dir != NULL ? dir : "/tmp");
	int fd = mkstemp(name);

	unlink(name);
	return fd;
}

static const struct owner none = { .set = false };

/* Apply the attributes; returns the mode of the file then. */
static int
apply(const struct attr *a, int fd, struct owner owner, struct stat *st)
{
	if (attr_apply(a, fd, "file", owner, NULL, NULL) < 0 ||
	    fstat(fd, st) < 0)
		return -1;
	return st->st_mode & 07777;
}

TEST(attr_apply)
{
	struct attr got, a = {
		.has_owner = true,
		.has_times = true,
		.mode = 0104751,
		.uid = getuid(),
		.gid = getgid(),
		.atime = { .tv_sec = 100, .tv_nsec = 5 },
		.mtime = { .tv_sec = 1795215223, .tv_nsec = 935130957 },
	};
	struct stat st;
	int fd = scratch_file();

	is_int(apply(&a, fd, none, &st), 0751, "applied without set-id bits");
	attr_from_stat(&got, &st);
	ok(got.has_size && got.has_owner && got.has_times &&
		   got.mode == (S_IFREG | 0751) &&
		   got.mtime.tv_sec == 1795215223 &&
		   got.mtime.tv_nsec == 935130957 && got.atime.tv_sec == 100,
	   "from stat: all");
	a.has_owner = false;
	a.mtime.tv_sec = 7;
	ok(apply(&a, fd, none, &st) == 0751 && st.st_mtime == 7,
	   "times alone: mode as before");
	close(fd);
	a.has_owner = true;
	is_int(apply(&a, fd, none, &st), -1, "a closed file is an error");
}

/* Not being the owner, do not set the owner or set-id bits.  Needs root. */
TEST(attr_apply_foreign)
{
	const struct attr a = {
		.has_owner = true, .mode = 06755, .uid = 12345, .gid = 12345
	};
	struct stat st;
	int fd = scratch_file();

	if (geteuid() != 0 || fchown(fd, 65534, 65534) < 0 ||
	    setegid(65534) < 0 || seteuid(65534) < 0) {
		skip("giving away a file", "not root, or cannot become nobody");
		close(fd);
		return;
	}
	ok(apply(&a, fd, none, &st) == 0755 && st.st_uid == 65534,
	   "a file that is not ours to give: no set-id bits");
	must(seteuid(0) == 0 && setegid(0) == 0);
	ok(apply(&a, fd, none, &st) == 0755 && st.st_uid == 65534,
	   "root does not take over the recorded owner nor set-id bits");
	ok(apply(&a, fd, (struct owner){ true, 1, 2 }, &st) == 0755 &&
		   st.st_uid == 1 && st.st_gid == 2,
	   "the owner of the prefix is given");
	close(fd);
}

TEST(attr_applying)
{
	auto_kvtree *t = tree_of(attr_full);
	struct attr a;

	attr_read(t, &a, NULL);
	without_memory (m, 1, "no memory to write") {
		auto_kvtree *made = kvtree_new(&m.err);

		m.rc = made == NULL ? -1 : attr_write(made, &a, &m.err);
	}
}
