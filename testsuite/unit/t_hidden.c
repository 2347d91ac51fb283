/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_hidden.c - the metadata packed beside a segment map: stored and loaded part
 * by part, and invalid parts.
 */
#include "container/hidden.h"

#include "maptest.h"

/* --- Scenes --- */

/* A dataset with packed metadata files. */
struct scene {
	struct segmap m;
	struct hidden h;
	struct rank2file r;
	struct kvtree *tree; /* contents of each filemap */
};

static struct attr
attr_of(size_t i)
{
	return (struct attr){
		.has_size = i % 2,
		.has_owner = i % 3 != 0,
		.has_times = i % 5 != 0,
		.size = 1000 + i,
		.mode = 0100600 + (uint32_t)i % 8,
		.uid = (uint32_t)i,
		.gid = 7,
		.atime = { .tv_sec = (time_t)i, .tv_nsec = 1 },
		.mtime = { .tv_sec = (time_t)i + 1, .tv_nsec = 999999999 },
		.ctime = { .tv_sec = 5 },
	};
}

/* Are the attributes that are set equal? */
static bool
attr_same(const struct attr *a, const struct attr *b)
{
	return a->has_size == b->has_size && a->has_owner == b->has_owner &&
	       a->has_times == b->has_times &&
	       (!a->has_size || a->size == b->size) &&
	       (!a->has_owner ||
		(a->mode == b->mode && a->uid == b->uid && a->gid == b->gid)) &&
	       (!a->has_times ||
		(memcmp(&a->atime, &b->atime, sizeof(a->atime)) == 0 &&
		 memcmp(&a->mtime, &b->mtime, sizeof(a->mtime)) == 0 &&
		 memcmp(&a->ctime, &b->ctime, sizeof(a->ctime)) == 0));
}

/* Add a filemap and a redundancy file for each of these ranks. */
static void
add_hidden(struct scene *s, const uint32_t *ranks, size_t n)
{
	struct hidden *h = &s->h;
	struct segmap_file f = { .path = NULL };

	for (size_t i = 0; i < n; i++) {
		f = (struct segmap_file){
			.path = arena_printf(h->arena, "filemap_%u", ranks[i]),
			.rank = ranks[i],
			.attr = attr_of(i),
			.tree = s->tree,
		};
		must(hidden_add(h, &f, NULL) == 0);
		f.path = arena_printf(h->arena, "red %u.er", ranks[i]);
		f.tree = NULL;
		f.size = i * 100;
		must(hidden_add(h, &f, NULL) == 0);
	}
	must(segmap_cut(&h->map, SEGMAP_REDUNDANCY, 150, 0, NULL) == 0);
}

static void
scene_init(struct scene *s, size_t nranks, size_t nfiles, const uint32_t *ranks,
	   size_t n)
{
	*s = (struct scene){ .tree = tree_of("RANK>7>FILE>x>SIZE>5\nA>B\n") };
	must(hidden_init(&s->h, NULL) == 0);
	make_map(&s->m, nranks > 0 ? nranks : 1, nfiles, false);
	s->h.has_attrs = true;
	for (size_t i = 0; i < nfiles; i++)
		s->m.files[i].attr = attr_of(i);
	add_hidden(s, ranks, n);
	must(segmap_write(&s->m, nranks, false, &s->r, NULL) == 0);
}

static void
scene_fini(struct scene *s)
{
	rank2file_free(&s->r);
	hidden_free(&s->h);
	segmap_free(&s->m);
	kvtree_free(s->tree);
}

/* Is file `f` of `a` also in `b`, with the same data? */
static bool
same_file(const struct hidden *a, const struct segmap_file *f,
	  const struct hidden *b)
{
	const struct segmap_file *g = hidden_find(b, f->path);

	if (g == NULL || !attr_same(&f->attr, &g->attr) ||
	    (f->tree == NULL) != (g->tree == NULL)) {
		printf("# %s\n", f->path);
		return false;
	}
	if (f->tree != NULL)
		return tree_same(f->tree, g->tree, false);
	return f->size == g->size &&
	       strcmp(segs_text(&a->map, (size_t)(f - a->map.files)),
		      segs_text(&b->map, (size_t)(g - b->map.files))) == 0;
}

/* The same, and the files of `m` have their attributes? */
static bool
same_hidden(const struct hidden *a, const struct hidden *b,
	    const struct segmap *m)
{
	bool same = a->map.nfiles == b->map.nfiles && b->has_attrs &&
		    a->map.bytes == b->map.bytes;

	for (size_t i = 0; same && i < m->nfiles; i++) {
		const struct attr is = attr_of(i);

		same = attr_same(&is, &m->files[i].attr);
	}
	for (size_t i = 0; same && i < a->map.nfiles; i++)
		same = same_file(a, &a->map.files[i], b);
	return same;
}

static void
forget_attrs(struct segmap *m)
{
	for (size_t i = 0; i < m->nfiles; i++)
		m->files[i].attr = (struct attr){ .has_size = false };
}

static void
round_trip(size_t nranks, size_t nfiles, const uint32_t *ranks, size_t n,
	   unsigned generation, size_t parts)
{
	struct scene s;
	auto_hidden got, again;
	auto_rank2file w;

	map_enter();
	scene_init(&s, nranks, nfiles, ranks, n);
	s.r.generation = generation;
	is_int(hidden_store(&s.h, map_dir, &s.m, &s.r, &why), 0,
	       fmt("%zu ranks stored", nranks));
	is_int(kvtree_count(kvtree_get(s.r.containers, "HIDDEN")), parts,
	       "... all parts listed");
	is_int(parts_there(scratch_root), parts, "... and there");
	forget_attrs(&s.m);
	is_int(hidden_load(&got, map_dir, &s.r, &s.m, &why), 0, "... loaded");
	ok(same_hidden(&s.h, &got, &s.m), "... and the same");

	/* Storing the loaded metadata in the next generation gives the same
	 * parts. */
	must(segmap_write(&s.m, nranks, false, &w, NULL) == 0);
	w.generation = generation + 1;
	is_int(hidden_store(&got, map_dir, &s.m, &w, &why), 0, "again");
	is_int(parts_there(scratch_root), 2 * (int64_t)parts, "... beside it");
	is_int(hidden_sweep(map_dir, &w, &why), 0, "... instead of it");
	is_int(parts_there(scratch_root), parts, "... alone");
	forget_attrs(&s.m);
	is_int(hidden_load(&again, map_dir, &w, &s.m, &why), 0, "... loaded");
	ok(same_hidden(&s.h, &again, &s.m), "... and the same");
	scene_fini(&s);
}

/* `distinct` does not change the bytes of a part. */
static void
images(size_t nranks, size_t nfiles)
{
	static const char *const parts[] = { "packed.0.scr",
					     "packed.8192.scr" };
	struct buf with[2] = { BUF_INIT, BUF_INIT }, without = BUF_INIT;
	struct scene s;

	map_enter();
	scene_init(&s, nranks, nfiles, NULL, 0);
	if (nfiles > 2) {
		s.m.files[1].attr.has_owner = false;
		s.m.files[2].attr.has_times = false;
	}
	for (int distinct = 0; distinct < 2; distinct++) {
		s.r.distinct = distinct;
		must(hidden_store(&s.h, map_dir, &s.m, &s.r, NULL) == 0);
		for (size_t i = 0; i <= (nranks - 1) / 8192; i++) {
			struct buf *to = distinct ? &without : &with[i];

			must(io_read_file(map_dir, parts[i], SIZE_MAX, to,
					  NULL) == 0);
			ok(with[i].len > 0 && to->len == with[i].len &&
				   memcmp(to->data, with[i].data, to->len) == 0,
			   fmt("%zu ranks, %zu files: %s", nranks, nfiles,
			       parts[i]));
		}
	}
	buf_free(&without);
	buf_free(&with[0]);
	buf_free(&with[1]);
	scene_fini(&s);
}

/* The name of the part that holds the file. */
static const char *
part_with(const char *table, const char *name)
{
	DIR *dir = opendir(scratch_root);
	const struct dirent *e = NULL;
	const char *in = "";

	must(dir != NULL);
	while ((e = readdir(dir)) != NULL) {
		auto_kvtree *t =
			str_starts(e->d_name, "copy.")
				? NULL
				: kvtree_read_file(map_dir, e->d_name, NULL);

		if (t != NULL && kvtree_get2(t, table, name) != NULL)
			in = fmt("%s%s", in, e->d_name);
	}
	closedir(dir);
	return in;
}

/* A part has the files of its ranks; the last part also those of no rank. */
TEST(places)
{
	static const uint32_t ranks[] = { 0,	 8191,	8192,	   16384,
					  16385, 99999, UINT32_MAX };
	static const struct {
		const char *table, *name, *part;
	} where[] = {
		{ "META", "filemap_0", "packed.3.scr" },
		{ "META", "filemap_8191", "packed.3.scr" },
		{ "META", "filemap_8192", "packed.8195.scr" },
		{ "META", "filemap_16384", "packed.16387.scr" },
		{ "META", "filemap_99999", "packed.16387.scr" },
		{ "RED", "red 8192.er", "packed.8195.scr" },
		{ "FILE", "dir/f 0\xc3\xa9", "packed.3.scr" },
		{ "FILE", "dir/f 199\xc3\xa9", "packed.8195.scr" },
		{ "RED", "red 4294967295.er", "packed.16387.scr" },
	};
	auto_hidden got;
	auto_rank2file w;
	struct scene s;

	map_enter();
	scene_init(&s, 16385, 200, ranks, 7);
	s.r.generation = 3;
	must(hidden_store(&s.h, map_dir, &s.m, &s.r, NULL) == 0);
	each (t, where)
		is_str(part_with(t->table, t->name), t->part, t->name);
	must(hidden_load(&got, map_dir, &s.r, &s.m, NULL) == 0);
	is_int(hidden_find(&got, "filemap_8191")->rank, 0,
	       "a file is of the first rank of its part");
	is_int(hidden_find(&got, "red 8192.er")->rank, 8192, "... the next");
	map_enter();
	must(segmap_write(&s.m, 16385, false, &w, NULL) == 0);
	w.generation = 3;
	must(hidden_store(&got, map_dir, &s.m, &w, NULL) == 0);
	each (c, where)
		is_str(part_with(c->table, c->name), c->part,
		       "... and stays where it was");
	scene_fini(&s);
}

TEST(adding)
{
	struct segmap_file f = { .path = "a\n", .rank = 1 };
	auto_hidden h = { .arena = NULL };

	ok(hidden_find(&h, "a") == NULL, "nothing in none");
	must(hidden_init(&h, NULL) == 0);
	is_int(hidden_add(&h, &f, &why), 0, "a file is added");
	refuses(hidden_add(&h, &f, &why), ERROR_CORRUPT, "a\\n: named twice",
		"but once");
	ok(h.map.nfiles == 1 && hidden_find(&h, "a\n") == h.map.files &&
		   hidden_find(&h, "b") == NULL,
	   "and found");
	hidden_free(&h);
}

/* Change the tree itself, so that the checksum is right. */
static void
load_tree(const struct kvtree *t, void *arg)
{
	struct scene *s = arg;
	struct hidden got;

	must(kvtree_write_file(t, map_dir, "packed.0.scr", NULL) == 0);
	if (hidden_load(&got, map_dir, &s->r, &s->m, &why) == 0) {
		for (size_t i = 0; i < got.map.nfiles; i++) {
			const struct segmap_file *f = &got.map.files[i];

			must(strchr(f->path, '/') == NULL &&
			     hidden_find(&got, f->path) == f &&
			     (f->tree == NULL || f->nsegs == 0));
		}
		hidden_free(&got);
	} else {
		must(why.kind == ERROR_CORRUPT || why.kind == ERROR_UNSAFE);
	}
}

TEST(changed)
{
	static const uint32_t ranks[] = { 0, 1 };
	auto_kvtree *t = NULL;
	struct scene s;

	map_enter();
	scene_init(&s, 2, 1, ranks, 2);
	must(hidden_store(&s.h, map_dir, &s.m, &s.r, NULL) == 0);
	t = kvtree_read_file(map_dir, "packed.0.scr", NULL);
	ok(tree_flip_each(t, load_tree, &s) > 100 &&
		   tree_drop_each(t, load_tree, &s) > 40,
	   "changed trees are read or refused");
	scene_fini(&s);
}

TEST(no_memory)
{
	uint32_t ranks[70];
	struct scene s;
	auto_fd int proc =
		open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (uint32_t i = 0; i < 70; i++)
		ranks[i] = i;
	map_enter();
	scene_init(&s, 70, 5, ranks, 70);
	must(hidden_store(&s.h, map_dir, &s.m, &s.r, NULL) == 0);
	without_memory (m, 21, "no memory") {
		struct hidden got;
		struct rank2file w;

		m.rc = segmap_write(&s.m, s.r.nranks, false, &w, &m.err);
		if (m.rc < 0)
			continue;
		m.rc = hidden_store(&s.h, map_dir, &s.m, &w, &m.err);
		rank2file_free(&w);
		if (m.rc == 0 && (m.rc = hidden_load(&got, map_dir, &s.r, &s.m,
						     &m.err)) == 0)
			hidden_free(&got);
	}
	ok(hidden_store(&s.h, proc, &s.m, &s.r, &why) < 0 &&
		   says(&why, "packed.0.scr"),
	   "a directory that takes no files");
	scene_fini(&s);
}

TEST(round_trips)
{
	static const uint32_t few[] = { 0, 1, 2 };
	static const uint32_t far[] = { 5, 8191, 8192, 20000, 77777 };

	round_trip(3, 10, few, 3, 0, 1);
	round_trip(1, 0, few, 0, 5, 1);
	round_trip(0, 0, few, 3, 0, 1);
	round_trip(8192, 50, far, 5, 1, 1);
	round_trip(20001, 300, far, 5, 8190, 3);
	images(2, 100);
	images(9000, 300);
	images(9000, 3);
	images(1, 0);
}
