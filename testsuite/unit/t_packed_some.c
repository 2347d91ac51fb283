/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_packed_some.c - some files of a packed dataset.  A load that reads only
 * these files must give the same entries and attributes as a load of the whole
 * map, even if files of the map are damaged.
 */
#include "container/hidden.h"
#include "kvtree/kvstream.h"
#include "maptest.h"
#include "par.h"

#define NRANKS 16400
#define NFILES 20000

static char root[96];
static int rootfd = -1;
static struct par *par;

static void
enter(void)
{
	if (rootfd >= 0)
		close(rootfd);
	scratch_dir(root, sizeof(root));
	rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(rootfd >= 0);
}

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
store(const struct segmap *m, bool plain)
{
	struct hidden h;
	struct rank2file r;

	must(hidden_init(&h, NULL) == 0);
	h.nattrs = m->nfiles;
	h.attrs = mem_calloc(m->nfiles, sizeof(*h.attrs));
	must(h.attrs != NULL);
	for (size_t i = 0; i < m->nfiles; i++)
		h.attrs[i] = attr_of(i);
	must(segmap_write(m, NRANKS, plain, &r, NULL) == 0);
	must(plain || hidden_store(&h, rootfd, m, &r, NULL) == 0);
	must(rank2file_store(rootfd, "rank2file", &r, NULL) == 0);
	rank2file_free(&r);
	hidden_free(&h);
}

static bool
wants(const void *arg, const char *path)
{
	return strstr(path, arg) != NULL;
}

struct some {
	struct rank2file r;
	struct segmap m;
	struct hidden h;
};

static int
load_some(struct some *s, const char *words, struct error *err)
{
	const struct rank2file_filter filter = { wants, words };

	*s = (struct some){ .r = { .nranks = 0 } };
	if (rank2file_load_some(rootfd, "rank2file", par, &filter, &s->r, err) <
	    0)
		return -1;
	if (segmap_read(&s->m, &s->r, err) == 0) {
		if (hidden_load(&s->h, rootfd, &s->r, &s->m, err) == 0)
			return 0;
		segmap_free(&s->m);
	}
	rank2file_free(&s->r);
	return -1;
}

static void
drop_some(struct some *s)
{
	hidden_free(&s->h);
	segmap_free(&s->m);
	rank2file_free(&s->r);
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
is_some(const struct some *s, const struct segmap *m, const char *words,
	bool attrs)
{
	size_t at = 0;

	for (size_t i = 0; i < m->nfiles; i++) {
		if (!wants(words, m->files[i].path))
			continue;
		if (at == s->m.nfiles ||
		    !same_file(m, &m->files[i], &s->m, &s->m.files[at]) ||
		    s->h.attrs[at].has_size != attrs ||
		    (attrs && (s->h.attrs[at].size != i ||
			       s->h.attrs[at].mtime.tv_sec != (time_t)i)))
			return false;
		at++;
	}
	return at == s->m.nfiles && s->h.nattrs == at;
}

static void
sound(const struct segmap *m)
{
	/* Of one file, few, all, none. */
	static const char *const words[] = { " 13333\xc3", " 777", "f", "?" };
	struct error err = ERROR_INIT;
	struct some s;

	enter();
	store(m, false);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		is_int(load_some(&s, words[i], &err), 0,
		       fmt("files with '%s' loaded", words[i]));
		ok(s.r.partial && is_some(&s, m, words[i], true),
		   "... as they are stored");
		ok(s.r.flaw == NULL && s.h.flaw == NULL, "... no flaw");
		drop_some(&s);
	}
	ok(load_some(&s, " 13333\xc3", NULL) == 0, "one file");
	ok(arena_bytes(s.r.arenas[0]) < 1 << 20, "... in little memory");
	drop_some(&s);
	enter();
	store(m, true);
	ok(load_some(&s, " 777", NULL) == 0, "not packed");
	ok(!s.r.partial && s.m.nfiles == NFILES, "... all is read");
	drop_some(&s);
}

/* One file of the map or of the attributes is damaged. */
static void
damaged(const struct segmap *m)
{
	static const char *const names[] = { "rank2file", "rank2file.0.8192",
					     "packed.8192.scr" };
	static const char *const how[] = { "gone", "empty", "cut", "a byte" };
	struct some s;

	for (size_t i = 0; i < 12; i++) {
		const char *name = names[i / 4];
		char *path = NULL;
		struct stat st;

		enter();
		store(m, false);
		path = fmt("%s/%s", root, name);
		must(stat(path, &st) == 0);
		if (i % 4 == 0)
			must(unlink(path) == 0);
		else if (i % 4 == 1)
			must(truncate(path, 0) == 0);
		else if (i % 4 == 2)
			must(truncate(path, st.st_size - 1) == 0);
		else
			flip(path, st.st_size / 2);
		ok(load_some(&s, " 1", NULL) == 0,
		   fmt("%s: %s", name, how[i % 4]));
		/* If the top file is read from its copy, all files are
		 * read. */
		ok((i < 8 ? s.r.flaw : s.h.flaw) != NULL &&
			   is_some(&s, m, s.r.partial ? " 1" : "f", true) &&
			   s.r.partial == (i >= 4),
		   "... its copy has all");
		drop_some(&s);
		flip(fmt("%s/copy.%s", root, name), 30);
		if (i >= 4 && i < 8) {
			ok(load_some(&s, " 1", NULL) == 0 && s.r.flaw != NULL &&
				   is_some(&s, m, " 1", true),
			   "... and so has packed.8192.scr");
			drop_some(&s);
			flip(fmt("%s/packed.8192.scr", root), 30);
			ok(load_some(&s, " 1", NULL) == 0 &&
				   is_some(&s, m, " 1", true),
			   "... and the copy of that");
			drop_some(&s);
			flip(fmt("%s/copy.packed.8192.scr", root), 30);
		}
		if (i < 8) {
			ok(load_some(&s, " 1", NULL) < 0, "... not so now");
			continue;
		}
		ok(load_some(&s, " 1", NULL) == 0 && s.h.unread,
		   "... damaged, too");
		for (size_t k = 0; k < s.m.nfiles; k++)
			if (s.m.files[k].rank / RANK2FILE_PART_RANKS == 1 &&
			    s.h.attrs[k].has_size)
				ok(false, "... but attributes were taken");
		drop_some(&s);
		ok(load_some(&s, " 1\xc3", NULL) == 0 && s.h.flaw == NULL,
		   "... not needed for others");
		drop_some(&s);
	}
}

static void
add_key(struct kvtree *t, void *arg)
{
	must(kvtree_set(t, arg, "x", NULL) == 0);
}

/* Valid files in another form than our writers use. */
static void
unusual(const struct segmap *m)
{
	struct some s;

	enter();
	store(m, false);
	edit_tree(fmt("%s/packed.0.scr", root), add_key, (char[]){ "FUTURE" });
	ok(load_some(&s, " 77", NULL) == 0 && is_some(&s, m, " 77", true),
	   "another key beside the attributes");
	ok(s.h.flaw == NULL, "... is no flaw");
	drop_some(&s);
	edit_tree(fmt("%s/rank2file.0.0", root), add_key, (char[]){ "FUTURE" });
	ok(load_some(&s, " 77", NULL) == 0 && s.r.partial,
	   "another key in a part");
	ok(s.m.nfiles > 9000 && s.m.nfiles < NFILES, "... has all its files");
	drop_some(&s);
}

static int
load_one(void *arg, struct error *err)
{
	struct some s;

	if (load_some(&s, arg, err) < 0)
		return -1;
	drop_some(&s);
	return 0;
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

	enter();
	tree = tree_of("A>x\nB>y\n");
	must(kvtree_write_file(tree, rootfd, "t", NULL) == 0);
	kvtree_free(tree);
	path = fmt("%s/t", root);
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
	is_int((int64_t)good, 0, "no flipped byte goes unseen");
	for (off_t i = st.st_size; i-- > 0;) {
		must(truncate(path, i) == 0);
		good += kvstream_open(&s, rootfd, "t") == 0;
	}
	is_int((int64_t)good, 0, "nor a lost one");
	ok(kvstream_open(&s, rootfd, ".") < 0 &&
		   kvstream_open(&s, rootfd, "none") < 0,
	   "no file");
}

int
main(void)
{
	struct segmap m;

	par = par_new(3, NULL);
	must(par != NULL);
	make_map(&m, NRANKS, NFILES, false);
	sound(&m);
	damaged(&m);
	unusual(&m);
	enter();
	store(&m, false);
	ok(fail_each_alloc(load_one, (char[]){ " 13333\xc3" }) > 5,
	   "no memory");
	small_file();
	par_free(par);
	segmap_free(&m);
	close(rootfd);
	remove_tree(root);
	return tap_done();
}
