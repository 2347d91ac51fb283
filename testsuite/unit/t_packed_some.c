/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_packed_some.c - some files of a packed dataset.  A load that reads only
 * these files must give the same entries and attributes as a load of the whole
 * map, even if files of the map are damaged.
 */
#include "container/hidden.h"
#include "kvtree/kvstream.h"
#include "maptest.h"
#include "treetest.h"

#define NRANKS 16400
#define NFILES 20000

static int rootfd = -1;
static struct par *par;

static struct attr
attr_of(size_t i)
{
	return (struct attr){
		.has_size = true,
		.has_owner = true,
		.has_times = true,
		.size = i,
		.mode = 0100600 + (uint32_t)i % 8,
		.mtime = { .tv_sec = (time_t)i },
	};
}

static void
store(struct segmap *m, bool plain)
{
	auto_hidden h;
	auto_rank2file r;

	must(hidden_init(&h, NULL) == 0);
	h.has_attrs = true;
	for (size_t i = 0; i < m->nfiles; i++)
		m->files[i].attr = attr_of(i);
	must(segmap_write(m, NRANKS, plain, &r, NULL) == 0);
	must(plain || hidden_store(&h, rootfd, m, &r, NULL) == 0);
	must(rank2file_store(rootfd, "rank2file", &r, NULL) == 0);
}

static bool
wants(const void *arg, const char *path)
{
	return strstr(path, arg) != NULL;
}

/* What was loaded last. */
static struct some {
	struct rank2file r;
	struct segmap m;
	struct hidden h;
} got;

static void
drop_some(void)
{
	hidden_free(&got.h);
	segmap_free(&got.m);
	rank2file_free(&got.r);
	got = (struct some){ .r = { .nranks = 0 } };
}

static int
load_some(const char *words, struct error *err)
{
	const struct rank2file_filter filter = { wants, words };

	drop_some();
	if (rank2file_load_some(rootfd, "rank2file", par, &filter, &got.r,
				err) == 0 &&
	    segmap_read(&got.m, &got.r, err) == 0 &&
	    hidden_load(&got.h, rootfd, &got.r, &got.m, err) == 0)
		return 0;
	return -1;
}

static bool
loads(const char *words)
{
	return load_some(words, NULL) == 0;
}

static bool
same_file(const struct segmap *m, const struct segmap_file *a,
	  const struct segmap *n, const struct segmap_file *b)
{
	bool same = a->rank == b->rank && strcmp(a->path, b->path) == 0 &&
		    a->size == b->size && a->has_crc == b->has_crc &&
		    a->crc == b->crc && a->nsegs == b->nsegs;

	for (size_t i = 0; same && i < a->nsegs; i++) {
		const struct segment *x = &m->segs[a->first + i];
		const struct segment *y = &n->segs[b->first + i];

		same = x->off == y->off && x->len == y->len &&
		       strcmp(m->containers[x->container].name,
			      n->containers[y->container].name) == 0;
	}
	return same;
}

/* Does `s` have exactly the files of `m` whose paths contain one of `words`, in
 * the order of `m`? */
static bool
is_some(const struct segmap *m, const char *words)
{
	size_t at = 0;

	for (size_t i = 0; i < m->nfiles; i++) {
		if (!wants(words, m->files[i].path))
			continue;
		if (at == got.m.nfiles ||
		    !same_file(m, &m->files[i], &got.m, &got.m.files[at]) ||
		    !got.m.files[at].attr.has_size ||
		    got.m.files[at].attr.size != i ||
		    got.m.files[at].attr.mtime.tv_sec != (time_t)i)
			return false;
		at++;
	}
	return at == got.m.nfiles && got.h.has_attrs;
}

/* Undo all changes of the directory. */
static void
restore(const struct tree *stored)
{
	auto_tree now = tree_load(scratch_root);

	tree_restore(scratch_root, &now, stored);
}

static void
damage(const char *path, size_t how)
{
	struct stat st;

	must(stat(path, &st) == 0);
	if (how == 0)
		must(unlink(path) == 0);
	else if (how == 1)
		must(truncate(path, 0) == 0);
	else if (how == 2)
		must(truncate(path, st.st_size - 1) == 0);
	else
		flip(path, st.st_size / 2);
}

/* One file of the map or of the attributes is damaged. */
static void
damaged(const struct segmap *m, const struct tree *stored)
{
	static const char *const names[] = { "rank2file", "rank2file.0.8192",
					     "packed.8192.scr" };
	static const char *const how[] = { "gone", "empty", "cut", "a byte" };

	for (size_t i = 0; i < 12; i++) {
		const char *name = names[i / 4];

		restore(stored);
		damage(here("%s", name), i % 4);
		/* If the top file is read from its copy, all files are
		 * read. */
		ok(loads(" 1") && (i < 8 ? got.r.flaw : got.h.flaw) != NULL &&
			   is_some(m, got.r.partial ? " 1" : "f") &&
			   got.r.partial == (i >= 4),
		   fmt("%s: %s: its copy has all", name, how[i % 4]));
		flip(here("copy.%s", name), 30);
		if (i >= 4 && i < 8) {
			ok(loads(" 1") && got.r.flaw != NULL &&
				   is_some(m, " 1"),
			   "... and so has packed.8192.scr");
			flip(here("packed.8192.scr"), 30);
			ok(loads(" 1") && is_some(m, " 1"),
			   "... and the copy of that");
			flip(here("copy.packed.8192.scr"), 30);
		}
		if (i < 8) {
			ok(!loads(" 1"), "... not so now");
			continue;
		}
		ok(loads(" 1") && got.h.unread, "... damaged, too");
		for (size_t k = 0; k < got.m.nfiles; k++)
			if (got.m.files[k].rank / RANK2FILE_PART_RANKS == 1 &&
			    got.m.files[k].attr.has_size)
				ok(false, "... but attributes were taken");
		ok(loads(" 1\xc3") && got.h.flaw == NULL,
		   "... not needed for others");
	}
	restore(stored);
}

static void
add_key(struct kvtree *t, void *arg)
{
	must(kvtree_set(t, arg, "x", NULL) == 0);
}

/* --- kvstream --- */

static size_t
count_all(struct kvstream *s)
{
	size_t seen = 0;

	for (uint32_t n = kvscan_count(&s->in); n > 0 && !s->in.irregular;
	     n--) {
		kvstream_more(s);
		kvscan_key(&s->in);
		kvstream_skip(s);
		seen++;
	}
	return seen;
}

/* Every length, and every flipped byte, of a small file. */
static void
small_file(void)
{
	struct kvtree *tree = NULL;
	char *path = NULL;
	struct kvstream s;
	struct stat st;
	size_t good = 0;

	rootfd = scratch_fd();
	tree = tree_of("A>x\nB>y\n");
	must(kvtree_write_file(tree, rootfd, "t", NULL) == 0);
	kvtree_free(tree);
	path = here("t");
	must(stat(path, &st) == 0);
	ok(kvstream_open(&s, rootfd, "t") == 0 && count_all(&s) == 2 &&
		   kvstream_good(&s),
	   "a small file");
	kvstream_close(&s);
	for (off_t i = 0; i < st.st_size; i++) {
		flip(path, i);
		if (kvstream_open(&s, rootfd, "t") == 0) {
			(void)count_all(&s);
			good += kvstream_good(&s);
			kvstream_close(&s);
		}
		flip(path, i);
	}
	is_int(good, 0, "no flipped byte goes unseen");
	for (off_t i = st.st_size; i-- > 0;) {
		must(truncate(path, i) == 0);
		good += kvstream_open(&s, rootfd, "t") == 0;
	}
	is_int(good, 0, "nor a lost one");
	ok(kvstream_open(&s, rootfd, ".") < 0 &&
		   kvstream_open(&s, rootfd, "none") < 0,
	   "no file");
}

int
main(void)
{
	/* Of one file, few, all, none. */
	static const char *const words[] = { " 13333\xc3", " 777", "f", "?" };
	struct tree stored;
	auto_segmap m;

	par = par_new(3, NULL);
	must(par != NULL);
	make_map(&m, NRANKS, NFILES, false);
	rootfd = scratch_fd();
	store(&m, false);
	stored = tree_load(scratch_root);
	for (size_t i = 0; i < COUNT(words); i++) {
		ok(loads(words[i]) && got.r.partial && is_some(&m, words[i]),
		   fmt("files with '%s' as they are stored", words[i]));
		ok(got.r.flaw == NULL && got.h.flaw == NULL, "... no flaw");
		if (i == 0)
			ok(arena_bytes(got.r.arenas[0]) < 1 << 20,
			   "... one file in little memory");
	}
	without_memory (x, 6, "no memory")
		x.rc = load_some(" 13333\xc3", &x.err);
	damaged(&m, &stored);
	/* Valid files in another form than our writers use. */
	edit_tree(here("packed.0.scr"), add_key, (char[]){ "FUTURE" });
	ok(loads(" 77") && is_some(&m, " 77") && got.h.flaw != NULL,
	   "another key beside the attributes: their recorded copy");
	edit_tree(here("rank2file.0.0"), add_key, (char[]){ "FUTURE" });
	ok(loads(" 77") && is_some(&m, " 77"),
	   "another key in a part: its recorded copy");
	rootfd = scratch_fd();
	store(&m, true);
	ok(loads(" 777") && !got.r.partial && got.m.nfiles == NFILES,
	   "not packed: all files");
	tree_free(&stored);
	drop_some();
	small_file();
	par_free(par);
	return tap_done();
}
