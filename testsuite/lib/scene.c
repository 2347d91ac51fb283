/* SPDX-License-Identifier: BSD-3-Clause */
#include "scene.h"
#include "redwrite.h"
#include "rescue/rebuild.h"

#define SCENE_RANKS 300 /* largest number of ranks */

/* --- Names --- */

char *
scene_prefix(const struct scene *s)
{
	return fmt("%s/prefix", s->root);
}

char *
scene_node(const struct scene *s, unsigned node)
{
	if (s->flat != NULL)
		return fmt("%s/flat", s->root);
	return s->cache ? fmt("%s/node%u/scr.dataset.%d", s->root, node,
			      SCENE_ID)
			: scene_prefix(s);
}

char *
scene_meta(const struct scene *s, unsigned rank)
{
	const char *dir = s->flat != NULL ? s->flat
			  : s->cache	  ? ".scr"
					  : ".scr/scr.dataset.7";

	return fmt("%s/%s", scene_node(s, rank / s->sets), dir);
}

char *
scene_data(const struct scene *s, unsigned rank, unsigned file)
{
	const char *dir = scene_node(s, rank / s->sets);

	return s->cache || s->flat != NULL
		       ? fmt("%s/rank_%u_%u.dat", dir, rank, file)
		       : fmt("%s/ckpt/dir_%u/rank_%u_%u.dat", dir, rank, rank,
			     file);
}

char *
scene_map(const struct scene *s, unsigned rank)
{
	return fmt("%s/filemap_%u", scene_meta(s, rank), rank);
}

char *
scene_red(const struct scene *s, unsigned rank, bool map, bool descriptor)
{
	const struct redset_name n = {
		.map = map,
		.descriptor = descriptor,
		.rank = rank,
		.type = s->type,
		.set = rank % s->sets + 1,
		.sets = s->sets,
		.member = rank / s->sets + 1,
		.members = s->ranks / s->sets,
	};
	char name[256];

	return fmt("%s/%s", scene_meta(s, rank),
		   redset_name_format(name, sizeof(name), &n, NULL));
}

/* --- Contents --- */

uint64_t
scene_default_size(unsigned rank, unsigned file)
{
	return file == 1 && rank % 3 == 1 ? 0 : 300 + rank * 37 + file * 211;
}

/* The bytes of a file, such that a shifted copy differs. */
static void
scene_bytes(unsigned rank, unsigned file, unsigned char *to, size_t len)
{
	uint32_t x = rank * 7919 + file * 104729 + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		to[i] = (unsigned char)(x >> 24);
	}
}

static struct attr
scene_attr(unsigned rank, unsigned file, uint64_t size)
{
	bool root = geteuid() == 0;
	struct attr a = {
		.size = size,
		.has_size = true,
		.has_owner = true,
		.has_times = true,
		.mode = S_IFREG | (file % 2 ? 0640 : 0604),
		.uid = root ? 1000 + rank : geteuid(),
		.gid = root ? 2000 + file : getegid(),
		.mtime = { 1600000000 + (long)rank * 100 + file, 1000 + file },
	};

	a.atime = a.ctime = a.mtime;
	return a;
}

/* Write a file with the attributes `a`, except that the size is `len`. */
static void
scene_put(const char *path, const void *data, const struct attr *a)
{
	const struct timespec times[2] = { a->atime, a->mtime };

	/* The owner stays: the recorded one is never taken over. */
	write_file(path, data, a->size);
	must(chmod(path, a->mode & 07777) == 0);
	must(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static struct redset_desc
scene_desc(const struct scene *s, unsigned rank)
{
	return (struct redset_desc){
		.type = s->type,
		.enabled = true,
		.set = rank % s->sets,
		.sets = s->sets,
		.member = rank / s->sets,
		.members = s->ranks / s->sets,
		.rank = rank,
		.ranks = s->ranks,
		.failures = s->failures,
	};
}

/* --- Making --- */

/* Write the data files and the filemap of a rank; keep its lists for the
 * redundancy headers. */
static void
scene_make_rank(struct scene *s, unsigned rank)
{
	const char *was = s->was ? s->was : scene_prefix(s);
	struct redset_member *data = &s->lists[0][rank];
	struct redset_member *map = &s->lists[1][rank];
	auto_kvtree *t = kvtree_new(NULL);
	unsigned char *bytes = NULL;

	must(t != NULL);
	*data = (struct redset_member){ true, scene_desc(s, rank), s->files,
					NULL, 0 };
	*map = (struct redset_member){ true, scene_desc(s, rank), 1, NULL, 0 };
	data->files = arena_alloc(s->arena, s->files, sizeof(*data->files));
	map->files = arena_alloc(s->arena, 1, sizeof(*map->files));
	if (s->prefix != NULL)
		must(kvtree_set(t, "PREFIX", s->prefix, NULL) == 0);
	for (unsigned i = s->files; i-- > 0;) {
		uint64_t size =
			(s->size ? s->size : scene_default_size)(rank, i);
		struct filemap_file f = { .complete = true, .ranks = s->ranks };

		bytes = arena_alloc(s->arena, size + 1, 1);
		scene_bytes(rank, i, bytes, size);
		f.attr = scene_attr(rank, i, size);
		f.has_crc = s->crc;
		f.crc = crc_update(0, bytes, size);
		f.cache_path = arena_printf(
			s->arena, "/cache/scr.dataset.7/rank_%u_%u.dat", rank,
			i);
		f.name = fmt("rank_%u_%u.dat", rank, i);
		f.dir = fmt("%s/ckpt/dir_%u", was, rank);
		must(filemap_add(t, &f, NULL) == 0);
		data->files[i] = (struct redset_file){ f.cache_path, f.attr };
		data->bytes += size;
		scene_put(scene_data(s, rank, i), bytes, &f.attr);
	}
	must(kvtree_encode(t, &s->maps[rank], NULL) == 0);
	map->bytes = s->maps[rank].len;
	map->files[0].path = arena_printf(
		s->arena, "/cache/scr.dataset.7/.scr/filemap_%u", rank);
	map->files[0].attr = scene_attr(rank, s->files, map->bytes);
	map->files[0].attr.mode = S_IFREG | 0644;
	scene_put(scene_map(s, rank), s->maps[rank].data, &map->files[0].attr);
}

/* A redundancy set that is being written. */
struct scene_set {
	const struct scene *s;
	bool map;
	uint32_t ranks[SCENE_RANKS];
	unsigned char *strings[SCENE_RANKS]; /* files end to end, or filemap */
};

static void
scene_read(void *arg, uint32_t member, uint64_t off, size_t len,
	   unsigned char *to)
{
	const struct scene_set *x = arg;

	memcpy(to, x->strings[member] + off, len);
}

static void
scene_write(void *arg, uint32_t member, bool descriptor, uint64_t off,
	    const void *data, size_t len)
{
	const struct scene_set *x = arg;
	const char *path =
		scene_red(x->s, x->ranks[member], x->map, descriptor);
	auto_fd int fd =
		open(path, O_WRONLY | O_CREAT | (off == 0 ? O_TRUNC : 0), 0666);

	must(fd >= 0 && io_pwrite(fd, path, data, len, off, NULL) == 0);
}

static void
scene_make_set(struct scene *s, unsigned set, bool map)
{
	struct redset_member members[SCENE_RANKS];
	struct scene_set x = { .s = s, .map = map };
	const struct redwrite w = {
		.members = members,
		.ranks = x.ranks,
		.arg = &x,
		.read = scene_read,
		.write = scene_write,
	};

	for (unsigned i = 0; i < s->ranks / s->sets; i++) {
		const unsigned rank = i * s->sets + set;
		unsigned char *to = NULL;

		x.ranks[i] = rank;
		members[i] = s->lists[map][rank];
		x.strings[i] = (unsigned char *)s->maps[rank].data;
		if (map)
			continue;
		x.strings[i] = to =
			arena_alloc(s->arena, members[i].bytes + 1, 1);
		for (unsigned k = 0; k < s->files; k++) {
			const size_t size = members[i].files[k].attr.size;

			scene_bytes(rank, k, to, size);
			to += size;
		}
	}
	redwrite(&w);
}

/* --- Comparing --- */

void
scene_keep(struct scene *s)
{
	tree_free(&s->kept);
	s->kept = tree_load(s->root);
}

/* The time of a redundancy file is that of its creation. */
static bool
scene_same_file(const struct tree_entry *a, const struct tree_entry *b)
{
	return entry_same(a, b, strstr(a->path, "reddesc") == NULL) &&
	       a->uid == b->uid && a->gid == b->gid;
}

/* Does `b` contain each file of `a`?  Prints each missing file with `odd`. */
static bool
scene_within(const struct tree *a, const struct tree *b, const char *odd)
{
	bool same = true;

	for (size_t i = 0; i < a->count; i++) {
		const struct tree_entry *x = &a->list[i];
		const struct tree_entry *y = tree_find(b, x->path);

		if (S_ISDIR(x->mode) || (y != NULL && scene_same_file(x, y)))
			continue;
		printf("# %s: %s\n", x->path, y != NULL ? "changed" : odd);
		same = false;
	}
	return same;
}

bool
scene_same(struct scene *s)
{
	auto_tree now = tree_load(s->root);
	bool same = scene_within(&s->kept, &now, "missing");

	same = scene_within(&now, &s->kept, "new") && same;
	return same;
}

/* --- Making and removing --- */

static void
scene_clear(struct scene *s)
{
	tree_free(&s->kept);
	for (unsigned r = 0; s->maps != NULL && r < s->ranks; r++)
		buf_free(&s->maps[r]);
	arena_free(s->arena);
	s->maps = NULL;
	s->arena = NULL;
}

void
scene_make(struct scene *s)
{
	scene_clear(s);
	scratch_dir(s->root, sizeof(s->root));
	must(s->ranks <= SCENE_RANKS && s->ranks % s->sets == 0);
	s->arena = arena_new();
	s->maps = arena_alloc(s->arena, s->ranks, sizeof(*s->maps));
	for (int i = 0; i < 2; i++)
		s->lists[i] =
			arena_alloc(s->arena, s->ranks, sizeof(*s->lists[i]));
	for (unsigned r = 0; r < s->ranks; r++)
		scene_make_rank(s, r);
	for (unsigned g = 0; g < s->sets && !s->bare; g++) {
		scene_make_set(s, g, true);
		scene_make_set(s, g, false);
	}
	scene_keep(s);
}

void
scene_end(struct scene *s)
{
	scene_clear(s);
	if (s->root[0] != '\0')
		remove_tree(s->root);
	s->root[0] = '\0';
}

/* --- Losses --- */

void
scene_lose_data(const struct scene *s, unsigned rank)
{
	for (unsigned i = 0; i < s->files; i++)
		(void)unlink(scene_data(s, rank, i));
	if (!s->cache)
		(void)rmdir(fmt("%s/ckpt/dir_%u", scene_prefix(s), rank));
}

void
scene_lose_reds(const struct scene *s, unsigned rank, bool map)
{
	(void)unlink(scene_red(s, rank, map, false));
	(void)unlink(scene_red(s, rank, map, true));
}

void
scene_lose(const struct scene *s, unsigned rank)
{
	scene_lose_data(s, rank);
	scene_lose_reds(s, rank, true);
	scene_lose_reds(s, rank, false);
	(void)unlink(scene_map(s, rank));
}

/* --- Plans --- */

struct plan *
plan_at(const char *prefix, int64_t id, const struct plan_options *o,
	struct error *err)
{
	struct plan_dataset d = { .prefix = prefix, .meta_fd = -1, .id = id };
	struct plan *p = NULL;
	char meta[64];

	snprintf(meta, sizeof(meta), ".scr/scr.dataset.%lld", (long long)id);
	d.prefix_fd = open(prefix, O_RDONLY | O_DIRECTORY);
	if (d.prefix_fd < 0)
		error_sys(err, "%s: cannot open", prefix);
	else
		d.meta_fd = path_open_beneath(d.prefix_fd, meta,
					      O_RDONLY | O_DIRECTORY, 0, err);
	if (d.meta_fd >= 0) {
		p = plan_prefix(&d, o, err);
		close(d.meta_fd);
	}
	if (d.prefix_fd >= 0)
		close(d.prefix_fd);
	return p;
}

struct plan *
scene_plan_with(const struct scene *s, const struct plan_options *o,
		struct error *err)
{
	const char *dirs[SCENE_RANKS];
	unsigned nodes = s->ranks / s->sets;

	if (!s->cache)
		return plan_at(scene_prefix(s), SCENE_ID, o, err);
	must(nodes <= 100);
	for (unsigned i = 0; i < nodes; i++)
		dirs[i] = scene_node(s, i);
	return plan_caches(dirs, nodes, o, err);
}

struct plan *
scene_plan(const struct scene *s, unsigned flags, struct error *err)
{
	const struct plan_options o = { .flags = flags, .moved_from = s->from };

	return scene_plan_with(s, &o, err);
}

int
scene_status(const struct scene *s, unsigned flags, struct error *err)
{
	auto_plan *p = scene_plan(s, flags, err);
	int status = p != NULL ? plan_status(p) : STATUS_FAILED;

	if (p != NULL) {
		error_clear(err);
		plan_error(p, err);
	}
	return status;
}

void
scene_plan_no_memory(const struct scene *s, unsigned flags, int status)
{
	without_memory (m, 2, "every allocation of a plan may fail") {
		auto_plan *p = scene_plan(s, flags, &m.err);

		m.rc = p != NULL ? 0 : -1;
		if (p != NULL && (int)plan_status(p) != status)
			m.rc = error_set(&m.err, ERROR_DAMAGED, "another one");
	}
}

bool
scene_rebuilds(struct scene *s, struct plan *p)
{
	struct error err = ERROR_INIT;
	const struct rebuild_options o = { .extent = REBUILD_UNPROVED };
	bool good = p != NULL && rebuild(p, &o, NULL, &err) == 0;

	if (!good)
		printf("# %s\n", err.text);
	plan_free(p);
	return good && scene_same(s);
}

struct plan_file *
scene_find(const struct plan *p, unsigned rank, unsigned file)
{
	const char *name = fmt("/rank_%u_%u.dat", rank, file);

	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].rank == rank &&
		    strstr(p->files[i].cache_path, name) != NULL)
			return &p->files[i];
	return NULL;
}
