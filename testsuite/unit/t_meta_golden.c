/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The typed views against files that LLNL SCR 3.1 wrote ($SCRKIT_GOLDEN).
 */
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "meta/cindex.h"
#include "meta/filemap.h"
#include "meta/flush.h"
#include "meta/halt.h"
#include "meta/index.h"
#include "meta/log.h"
#include "meta/rank2file.h"
#include "meta/redset.h"
#include "meta/summary.h"
#include "metatest.h"
#include "path.h"
#include "str.h"

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* --- Lists of files --------------------------------------------------- */

/* nftw() has no argument for its callback. */
static struct {
	char **paths;
	size_t count;
} found;

static int
note_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type != FTW_F)
		return 0;
	found.paths = mem_realloc(found.paths, found.count + 1,
				  sizeof(*found.paths));
	found.paths[found.count++] = mem_strdup(path);
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All regular files below `dir`, sorted, into `found`. */
static bool
find_files(const char *dir)
{
	found.count = 0;
	found.paths = NULL;
	if (nftw(dir, note_file, 32, FTW_PHYS) < 0)
		return false;
	qsort(found.paths, found.count, sizeof(*found.paths), by_name);
	return true;
}

static void
forget_files(void)
{
	size_t i = 0;

	for (i = 0; i < found.count; i++)
		mem_free(found.paths[i]);
	mem_free(found.paths);
}

/* --- Redundancy files ------------------------------------------------- */

/* One type file of a set: its view and its bytes. */
struct one {
	struct redset_name name;
	struct redset_header header;
	struct buf raw;
	const char *path;
};

static bool
read_one(const char *path, struct arena *arena, struct one *out)
{
	struct error err = ERROR_INIT;
	struct redset_header by_rank;
	struct kvtree *t = NULL;
	size_t stem = 0, used = 0;
	bool good = false;

	out->path = path;
	if (!redset_name_parse(base_name(path), &out->name, &stem) ||
	    io_read_file(AT_FDCWD, path, SIZE_MAX, &out->raw, &err) < 0)
		goto out;
	t = kvtree_decode(out->raw.data, out->raw.len, &used, &err);
	if (t == NULL || redset_header_read(t, used, out->name.member - 1,
					    arena, &out->header, &err) < 0)
		goto out;
	/* What the file itself says must agree with its name. */
	good = redset_header_read(t, used, UINT32_MAX, arena, &by_rank,
				  &err) == 0 &&
	       by_rank.desc.member == out->name.member - 1 &&
	       out->header.desc.member == out->name.member - 1 &&
	       out->header.desc.members == out->name.members &&
	       out->header.desc.set == out->name.set - 1 &&
	       out->header.desc.sets == out->name.sets &&
	       out->header.desc.rank == out->name.rank &&
	       out->header.desc.type == out->name.type &&
	       out->header.size == used;
out:
	kvtree_free(t);
	if (!good)
		printf("# %s: %s\n", path, err.text);
	return good;
}

/* Rebuild the header of set[m] from what the others have: only where no other
 * has a list (SINGLE), from its own. */
static bool
rebuilds(const struct one *set, uint32_t n, uint32_t m)
{
	const struct one *me = &set[m];
	const uint32_t *ranks = me->header.ranks;
	struct redset_member *members = mem_calloc(n, sizeof(*members));
	struct error err = ERROR_INIT;
	struct kvtree *t = NULL;
	uint64_t body = 0, chunk = me->header.chunk;
	uint32_t i = 0, j = 0;
	bool good = false;

	for (i = 0; i < n; i++) {
		if (i == m && n > 1)
			continue;
		for (j = 0; j < n; j++)
			if (set[i].header.members[j].known)
				members[j] = set[i].header.members[j];
		chunk = set[i].header.chunk;
		ranks = set[i].header.ranks;
	}
	t = redset_header_build(members, ranks, chunk, m, &err);
	good = t != NULL && tree_is(t, me->raw.data, me->header.size) &&
	       redset_body_size(members, chunk, m, &body, &err) == 0 &&
	       body == me->raw.len - me->header.size;
	if (!good)
		printf("# %s: %s\n", me->path, err.text);
	kvtree_free(t);
	mem_free(members);
	return good;
}

/* Is the descriptor file that belongs to set[m] what we would write? */
static bool
descriptor_same(const struct one *set, uint32_t n, uint32_t m)
{
	struct redset_desc *descs = mem_calloc(n, sizeof(*descs));
	const char *long_name = base_name(set[m].path);
	struct error err = ERROR_INIT;
	struct buf raw = BUF_INIT;
	struct redset_name name;
	char path[4096], text[512], stem[256];
	struct kvtree *t = NULL;
	size_t len = 0;
	uint32_t i = 0;
	bool good = false;

	for (i = 0; i < n; i++)
		descs[i] = set[i].header.desc;
	redset_name_parse(long_name, &name, &len);
	snprintf(stem, sizeof(stem), "%.*s", (int)len, long_name);
	name.descriptor = true;
	snprintf(path, sizeof(path), "%.*s%s",
		 (int)(long_name - set[m].path), set[m].path,
		 redset_name_format(text, sizeof(text), &name, stem));
	t = redset_descriptor_build(descs, m, &err);
	good = io_read_file(AT_FDCWD, path, SIZE_MAX, &raw, &err) == 0 &&
	       tree_is(t, raw.data, raw.len);
	if (!good)
		printf("# %s: %s\n", path, err.text);
	kvtree_free(t);
	buf_free(&raw);
	mem_free(descs);
	return good;
}

/* Does `b` belong to the set of `a`?  Members lie on different nodes: the
 * names in front of the rank, and of the dataset's directory, are the same. */
static bool
same_set(const char *a, const char *b)
{
	const char *x = strstr(a, "/scr.dataset."), *y =
						       strstr(b,
							      "/scr.dataset.");
	struct redset_name p, q;
	size_t i = 0, j = 0;

	redset_name_parse(base_name(a), &p, &i);
	redset_name_parse(base_name(b), &q, &j);
	return p.map == q.map && p.set == q.set && p.type == q.type &&
	       (x == NULL || y == NULL ||
		strncmp(x, y, strcspn(x + 1, "/")) == 0);
}

/* All sets below `dir`, which has one case. */
static void
check_sets(const char *dir, size_t counts[3])
{
	struct arena *arena = arena_new();
	struct one *set = NULL;
	size_t i = 0, j = 0;

	find_files(dir);
	for (i = 0; i < found.count; i++) {
		struct redset_name name;
		size_t stem = 0;
		uint32_t m = 0;

		if (!redset_name_parse(base_name(found.paths[i]), &name,
				       &stem) ||
		    name.descriptor || name.member != 1)
			continue;
		set = mem_calloc(name.members, sizeof(*set));
		for (j = 0; j < found.count; j++) {
			struct redset_name other;

			if (!redset_name_parse(base_name(found.paths[j]),
					       &other, &stem) ||
			    other.descriptor ||
			    !same_set(found.paths[i], found.paths[j]))
				continue;
			counts[0] += !read_one(found.paths[j], arena,
					       &set[other.member - 1]);
		}
		for (m = 0; m < name.members; m++) {
			counts[0] += !rebuilds(set, name.members, m);
			counts[0] += !descriptor_same(set, name.members, m);
			counts[1]++;
		}
		counts[2]++;
		for (m = 0; m < name.members; m++)
			buf_free(&set[m].raw);
		mem_free(set);
	}
	forget_files();
	arena_free(arena);
}

/* Call check_sets() for each directory `top`/X/`below`. */
static void
check_cases(const char *top, const char *below, size_t counts[3])
{
	DIR *d = opendir(top);
	const struct dirent *e = NULL;
	char path[4096];

	while (d != NULL && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s/%s", top, e->d_name,
			 below);
		if (e->d_name[0] != '.' && access(path, F_OK) == 0)
			check_sets(path, counts);
	}
	if (d != NULL)
		closedir(d);
}

static void
test_redset(const char *scr3)
{
	size_t counts[3] = { 0, 0, 0 };
	char path[4096];

	check_cases(scr3, "cache/nodes", counts);
	snprintf(path, sizeof(path), "%s/redset_rs", scr3);
	check_cases(path, ".", counts);
	printf("# %zu files in %zu sets\n", counts[1], counts[2]);
	is_int((int64_t)counts[0], 0,
	       "headers and descriptors are rebuilt from the other members");
	ok(counts[1] >= 200 && counts[2] >= 80, "all sets were found");
}

/* --- Every file of every case ----------------------------------------- */

/* Does the descriptor `t` survive being read and written? */
static bool
descriptor_kept(const struct kvtree *t, struct error *err)
{
	struct kvtree *copy = kvtree_new(NULL);
	struct dataset d;
	bool kept = t == NULL || (dataset_read(t, &d, err) == 0 &&
				  dataset_write(copy, &d, err) == 0 &&
				  tree_same(copy, t, true));

	kvtree_free(copy);
	return kept;
}

static bool
check_filemap(const struct kvtree *t, struct error *err)
{
	struct arena *arena = arena_new();
	struct kvtree *copy = kvtree_new(NULL);
	struct filemap map;
	bool same = filemap_read(t, arena, &map, err) == 0;
	size_t i = 0;

	for (i = 0; same && i < map.nfiles; i++)
		same = filemap_add(copy, &map.files[i], err) == 0;
	/* After a fetch the library has COMPLETE first: order is not ours. */
	same = same && tree_same(copy, t, true);
	kvtree_free(copy);
	arena_free(arena);
	return same;
}

static bool
check_flush(const struct kvtree *t, struct error *err)
{
	size_t count = 0, i = 0;
	struct flush_entry *e = flush_entries(t, &count, err), one;
	bool good = count != (size_t)-1;

	for (i = 0; good && i < count; i++)
		good = descriptor_kept(e[i].desc, err) &&
		       flush_find(t, e[i].id, &one, err) == 0 &&
		       one.in_cache == e[i].in_cache;
	mem_free(e);
	return good;
}

static bool
check_cindex(const struct kvtree *t, struct error *err)
{
	size_t count = 0, i = 0;
	struct cindex_entry *e = cindex_entries(t, &count, err);
	bool good = count != (size_t)-1;

	for (i = 0; good && i < count; i++)
		good = e[i].path != NULL && descriptor_kept(e[i].desc, err);
	mem_free(e);
	return good;
}

static bool
check_index(const struct kvtree *t, struct error *err)
{
	struct kvtree *copy = kvtree_new(NULL);
	struct index *ix = NULL;
	struct index_entry *e = NULL, one;
	size_t count = 0, i = 0;
	bool good = kvtree_merge(copy, t, NULL) == 0;

	ix = index_from_tree(copy, err);
	if (ix == NULL)
		return false;
	good = good && tree_same(index_tree(ix, err), t, false);
	e = index_entries(ix, &count, err);
	good = good && count == index_count(ix);
	for (i = 0; good && i < count; i++)
		good = index_find_name(ix, e[i].name, &one, err) == 0 &&
		       one.id == e[i].id &&
		       index_find_id(ix, e[i].id, &one, err) == 0 &&
		       one.current == e[i].current;
	mem_free(e);
	index_free(ix);
	return good;
}

static bool
check_small(const char *name, const struct kvtree *t, struct error *err)
{
	struct summary s;
	struct halt h;
	int64_t nodes = 0;

	if (strcmp(name, NODES_FILE) == 0)
		return nodes_read(t, &nodes, err) == 0 && nodes > 0;
	if (str_ends(name, HALT_FILE))
		return halt_read(t, &h, err) == 0;
	return summary_read(t, &s, err) == 0 && s.version == SUMMARY_VERSION &&
	       descriptor_kept(s.desc, err);
}

/* Every line of a log, parsed and written again. */
static bool
check_log(const char *path, struct error *err)
{
	struct buf raw = BUF_INIT, out = BUF_INIT;
	char *line = NULL, *rest = NULL, *copy = NULL;
	struct log_line l;
	bool good = io_read_file(AT_FDCWD, path, SIZE_MAX, &raw, err) == 0;

	copy = good && raw.data != NULL ? mem_strdup(raw.data) : NULL;
	for (line = copy; good && line != NULL && *line != '\0'; line = rest) {
		rest = strchr(line, '\n');
		if (rest != NULL)
			*rest++ = '\0';
		good = log_parse(line, &l, err) == 0 &&
		       log_format(&l, &out) == 0;
	}
	good = good && out.len == raw.len &&
	       (raw.len == 0 || memcmp(out.data, raw.data, raw.len) == 0);
	mem_free(copy);
	buf_free(&raw);
	buf_free(&out);
	return good;
}

enum kind { SETS, MAPS, FLUSHES, CINDEXES, INDEXES, SMALL, LOGS, KINDS };

static const char *const kind_names[KINDS] = {
	"redundancy headers", "filemaps", "flush files", "cache indices",
	"indices", "halt, nodes and summary files", "logs",
};

static enum kind
kind_of(const char *name)
{
	struct redset_name redset;
	size_t stem = 0;

	if (redset_name_parse(name, &redset, &stem))
		return redset.descriptor ? KINDS : SETS;
	if (filemap_name_rank(name) >= 0)
		return MAPS;
	if (str_ends(name, ".txt"))
		return KINDS;
	if (strcmp(name, FLUSH_FILE) == 0)
		return FLUSHES;
	if (strcmp(name, CINDEX_FILE) == 0)
		return CINDEXES;
	if (strcmp(name, "index.scr") == 0)
		return INDEXES;
	if (str_ends(name, HALT_FILE) || strcmp(name, NODES_FILE) == 0 ||
	    strcmp(name, SUMMARY_FILE) == 0)
		return SMALL;
	return strcmp(name, "log") == 0 ? LOGS : KINDS;
}

static bool
check_file(const char *path, enum kind kind, struct arena *arena)
{
	struct error err = ERROR_INIT;
	struct one one = { .raw = BUF_INIT };
	struct kvtree *t = NULL;
	bool good = false;

	if (kind == SETS) {
		good = read_one(path, arena, &one);
		buf_free(&one.raw);
		return good;
	}
	if (kind == LOGS) {
		good = check_log(path, &err);
		goto out;
	}
	t = kvtree_read_file(AT_FDCWD, path, &err);
	good = t != NULL &&
	       (kind == MAPS	   ? check_filemap(t, &err)
		: kind == FLUSHES  ? check_flush(t, &err)
		: kind == CINDEXES ? check_cindex(t, &err)
		: kind == INDEXES  ? check_index(t, &err)
				   : check_small(base_name(path), t, &err));
	kvtree_free(t);
out:
	if (!good)
		printf("# %s: %s\n", path, err.text);
	return good;
}

static void
test_all_files(const char *scr3)
{
	size_t total[KINDS] = { 0 }, bad[KINDS] = { 0 }, i = 0;
	struct arena *arena = arena_new();
	int kind = 0;

	ok(find_files(scr3), "golden files are found");
	for (i = 0; i < found.count; i++) {
		const char *path = found.paths[i];

		kind = kind_of(base_name(path));
		/* Made unreadable on purpose, before and after the repair. */
		if (kind == KINDS || strstr(path, "/kvtree_bad/") != NULL ||
		    strstr(path, "/dmg_corrupt_redset/") != NULL)
			continue;
		total[kind]++;
		bad[kind] += !check_file(path, (enum kind)kind, arena);
		arena_reset(arena);
	}
	for (kind = 0; kind < KINDS; kind++) {
		printf("# %zu %s\n", total[kind], kind_names[kind]);
		ok(total[kind] > 3 && bad[kind] == 0, kind_names[kind]);
	}
	forget_files();
	arena_free(arena);
}

/* --- What scr_index --build writes ------------------------------------ */

static struct kvtree *
read_tree(const char *scr3, const char *dir, const char *below)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s/%s", scr3, dir, below);
	return kvtree_read_file(AT_FDCWD, path, NULL);
}

/* Summary and index of one case, from its flush file. */
static void
check_build(const char *scr3, const char *dir)
{
	struct kvtree *flush = read_tree(scr3, dir,
					 "cache/prefix/.scr/flush.scr");
	struct kvtree *want = NULL, *got = NULL;
	struct index *ix = index_new(NULL);
	struct index_entry e;
	struct flush_entry f;
	char what[256];
	bool complete = strcmp(dir, "single_4_lost") != 0;

	snprintf(what, sizeof(what), "%s: flush file", dir);
	ok(flush != NULL && flush_find(flush, 1, &f, NULL) == 0, what);
	want = read_tree(scr3, dir,
			 "rebuilt/prefix/.scr/scr.dataset.1/summary.scr");
	if (want != NULL) { /* what LLNL's tool forgot to take out */
		kvtree_remove(want, "RS");
		kvtree_remove(want, "MAPRS");
	}
	got = summary_build(f.desc, complete, NULL);
	snprintf(what, sizeof(what), "%s: summary as LLNL's", dir);
	ok(want != NULL && got != NULL && tree_same(got, want, false), what);
	kvtree_free(got);
	kvtree_free(want);
	want = read_tree(scr3, dir, "rebuilt/prefix/.scr/index.scr");
	if (want != NULL) {
		struct index *theirs = index_from_tree(want, NULL);

		snprintf(what, sizeof(what), "%s: index as LLNL's", dir);
		ok(index_find_id(theirs, 1, &e, NULL) == 0 &&
			   index_add(ix, f.desc, 1, e.flushed, NULL) == 0 &&
			   tree_same(index_tree(ix, NULL), want, false),
		   what);
		index_free(theirs);
	}
	index_free(ix);
	kvtree_free(flush);
}

/* Put the files of filemap `t` below `prefix` into rank `r`. */
static bool
list_files(const struct kvtree *t, const char *prefix, struct arena *arena,
	   struct rank2file_rank *r)
{
	struct filemap map;
	struct buf path = BUF_INIT;
	size_t i = 0;

	if (filemap_read(t, arena, &map, NULL) < 0)
		return false;
	r->present = true;
	r->nfiles = map.nfiles;
	r->files = arena_alloc(arena, map.nfiles, sizeof(*r->files));
	for (i = 0; i < map.nfiles; i++) {
		const char *below = NULL;

		path_join(&path, map.files[i].dir, map.files[i].name, NULL);
		below = path_below(path.data, prefix);
		if (below == NULL)
			break;
		r->files[i].path = arena_strdup(arena, below);
	}
	buf_free(&path);
	return i == map.nfiles;
}

/* The lists of a job of `n` ranks from the filemaps below `dir`. */
static bool
list_ranks(const char *dir, const char *prefix, const bool *lost,
	   struct rank2file *r)
{
	size_t i = 0;
	bool good = find_files(dir);

	for (i = 0; i < found.count; i++) {
		int64_t rank = filemap_name_rank(base_name(found.paths[i]));
		struct kvtree *t = NULL;

		if (rank < 0 || rank >= (int64_t)r->nranks || lost[rank])
			continue;
		t = kvtree_read_file(AT_FDCWD, found.paths[i], NULL);
		good = good && t != NULL &&
		       list_files(t, prefix, r->arena, &r->ranks[rank]);
		kvtree_free(t);
	}
	forget_files();
	return good;
}

static bool
same_file(const char *a, const char *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	bool same = io_read_file(AT_FDCWD, a, SIZE_MAX, &x, NULL) == 0 &&
		    io_read_file(AT_FDCWD, b, SIZE_MAX, &y, NULL) == 0 &&
		    x.len == y.len && memcmp(x.data, y.data, x.len) == 0;

	buf_free(&x);
	buf_free(&y);
	return same;
}

/* Store the rank2file of one case in `scratch` and compare both its files. */
static void
check_store(const char *scr3, const char *dir, const char *scratch)
{
	static const char *const names[] = { "rank2file", "rank2file.0.0" };
	struct rank2file r = { .nranks = 0 };
	char path[4096], mine[4096], prefix[4096], what[256];
	bool lost[64] = { false };
	bool good = false;
	int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t i = 0;

	snprintf(path, sizeof(path),
		 "%s/%s/rebuilt/prefix/.scr/scr.dataset.1", scr3, dir);
	i = (size_t)open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	good = rank2file_load((int)i, "rank2file", &r, NULL) == 0;
	close((int)i);
	for (i = 0; good && i < r.nranks; i++)
		lost[i] = !r.ranks[i].present;
	i = r.nranks;
	rank2file_free(&r);
	r.nranks = i;
	r.arena = arena_new();
	r.ranks = arena_alloc(r.arena, r.nranks, sizeof(*r.ranks));
	snprintf(path, sizeof(path), "%s/%s/cache/nodes", scr3, dir);
	snprintf(prefix, sizeof(prefix), "/tmp/scrgold/%s/prefix", dir);
	good = good && list_ranks(path, prefix, lost, &r) &&
	       rank2file_store(fd, "rank2file", &r, NULL) == 0;
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path),
			 "%s/%s/rebuilt/prefix/.scr/scr.dataset.1/%s", scr3,
			 dir, names[i]);
		snprintf(mine, sizeof(mine), "%s/%s", scratch, names[i]);
		good = good && same_file(path, mine);
		unlink(mine);
	}
	snprintf(what, sizeof(what), "%s: rank2file as LLNL's", dir);
	ok(good, what);
	rank2file_free(&r);
	close(fd);
}

static void
test_build(const char *scr3)
{
	char path[4096], scratch[4096];
	const char *tmp = getenv("TMPDIR");
	DIR *d = opendir(scr3);
	const struct dirent *e = NULL;
	size_t cases = 0;

	snprintf(scratch, sizeof(scratch), "%s/metaXXXXXX",
		 tmp == NULL ? "/tmp" : tmp);
	ok(mkdtemp(scratch) != NULL, "scratch directory");
	while (d != NULL && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s/rebuilt", scr3, e->d_name);
		if (access(path, F_OK) < 0)
			continue;
		check_build(scr3, e->d_name);
		check_store(scr3, e->d_name, scratch);
		cases++;
	}
	if (d != NULL)
		closedir(d);
	ok(cases >= 15, "all cases were found");
	is_int(rmdir(scratch), 0, "nothing is left behind");
}

/* Every rank2file of LLNL's, of whichever writer, loads. */
static void
test_load(const char *golden)
{
	struct error err = ERROR_INIT;
	size_t bad = 0, total = 0, i = 0, r = 0;
	struct rank2file map;

	ok(find_files(golden), "golden files are found");
	for (i = 0; i < found.count; i++) {
		char *path = found.paths[i];
		char *base = strrchr(path, '/') + 1;
		size_t missing = 0;
		int fd = -1;

		if (strcmp(base, "rank2file") != 0 &&
		    strcmp(base, "rank2file.scr") != 0)
			continue;
		base[-1] = '\0';
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		total++;
		if (rank2file_load(fd, base, &map, &err) < 0) {
			printf("# %s: %s\n", path, err.text);
			bad++;
		} else {
			for (r = 0; r < map.nranks; r++)
				missing += !map.ranks[r].present;
			bad += missing !=
			       (strstr(path, "/single_4_lost/rebuilt/") != NULL);
			rank2file_free(&map);
		}
		close(fd);
	}
	forget_files();
	printf("# %zu rank2files\n", total);
	is_int((int64_t)bad, 0, "every rank2file loads");
	ok(total >= 50, "all of them were found");
}

/* --- The steps of index_multi ----------------------------------------- */

static struct index *
read_step(const char *scr3, const char *step)
{
	struct kvtree *t = read_tree(scr3, "index_multi", step);

	return t == NULL ? NULL : index_from_tree(t, NULL);
}

/* Is `ix` what the step left, order aside? */
static void
is_step(struct index *ix, const char *scr3, const char *step, const char *what)
{
	struct kvtree *t = read_tree(scr3, "index_multi", step);

	ok(t != NULL && tree_same(index_tree(ix, NULL), t, true), what);
	kvtree_free(t);
}

static void
test_steps(const char *scr3)
{
	struct index *ix = read_step(scr3, "s0_after_run/index.scr");
	struct index *s4 = read_step(scr3, "s4_add_both.3/index.scr");
	struct kvtree *t = read_tree(scr3, "index_multi",
				     "s7_drop_after_ckpt.1/index.scr");
	struct kvtree *summary =
		read_tree(scr3, "index_multi",
			  "prefix_after_run/.scr/scr.dataset.3/summary.scr");
	struct index_entry e;
	struct summary s;

	ok(ix != NULL && s4 != NULL && t != NULL && summary != NULL,
	   "index_multi is there");
	is_int(index_set_current(ix, "ckpt.1", NULL), 0, "--current ckpt.1");
	is_step(ix, scr3, "s1_current_ckpt.1/index.scr", "... gives s1");
	is_int(index_set_current(ix, "out.2", NULL), -1, "--current out.2");
	is_int(index_set_current(ix, "nosuch", NULL), -1, "--current nosuch");
	is_int(index_remove(ix, "nosuch", NULL), -1, "--drop nosuch");
	is_step(ix, scr3, "s2_bad_commands/index.scr", "... give s2");
	is_int(index_remove(ix, "both.3", NULL), 0, "--drop both.3");
	is_step(ix, scr3, "s3_drop_both.3/index.scr", "... gives s3");
	index_find_id(s4, 3, &e, NULL);
	summary_read(summary, &s, NULL);
	is_int(index_add(ix, s.desc, 1, e.flushed, NULL), 0, "--add both.3");
	is_step(ix, scr3, "s4_add_both.3/index.scr", "... gives s4");
	index_free(ix);

	/* s6 has marks of the library: go on from there. */
	ix = read_step(scr3, "s6_fetch_failed/index.scr");
	is_int(index_find_name(ix, "ckpt.5", &e, NULL), 0, "ckpt.5");
	ok(!index_entry_valid(&e), "... failed to be fetched");
	/* --drop-after ckpt.1; LLNL's leaves CURRENT dangling. */
	is_int(index_remove(ix, "ckpt.5", NULL), 0, "drop ckpt.5");
	is_int(index_remove(ix, "both.3", NULL), 0, "drop both.3");
	is_int(index_remove(ix, "out.2", NULL), 0, "drop out.2");
	is_str(index_current(ix), "ckpt.1", "CURRENT is what is left");
	kvtree_set(t, "CURRENT", "ckpt.1", NULL);
	ok(tree_same(index_tree(ix, NULL), t, true), "... else it is s7");
	kvtree_free(t);
	is_int(index_remove(ix, "ckpt.1", NULL), 0, "drop ckpt.1");
	t = read_tree(scr3, "index_multi", "s8_drop_last/index.scr");
	kvtree_remove(t, "CURRENT");
	ok(tree_same(index_tree(ix, NULL), t, false), "... gives s8");
	kvtree_free(t);
	index_free(ix);
	index_free(s4);
	kvtree_free(summary);
}

int
main(void)
{
	const char *golden = getenv("SCRKIT_GOLDEN");
	int fd = golden_open("scr3", "golden data");
	char scr3[4000];

	if (fd < 0)
		return tap_done();
	close(fd);
	snprintf(scr3, sizeof(scr3), "%s/scr3", golden);
	test_redset(scr3);
	test_all_files(scr3);
	test_build(scr3);
	test_load(golden);
	test_steps(scr3);
	return tap_done();
}
