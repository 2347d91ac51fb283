/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every metadata file of LLNL SCR 3.1 ($SCRKIT_GOLDEN) is decoded and encoded
 * again, read by its typed view and written again.  What LLNL's tools print,
 * build and refuse, and redundancy files of lost nodes: testsuite/golden.
 */
#include "meta/cindex.h"
#include "meta/filemap.h"
#include "meta/flush.h"
#include "meta/haltfile.h"
#include "meta/index.h"
#include "meta/log.h"
#include "meta/rank2file.h"
#include "meta/redset.h"
#include "meta/summary.h"
#include "metatest.h"

/* This file has a flipped bit. */
#define DAMAGED \
	"scr3/dmg_corrupt_redset/before/.scr/scr.dataset.1/" \
	"reddesc.er.1.xor.grp_1_of_1.mem_2_of_4.redset"

/* --- Trees --- */

/* Is the image at the start of the file reproduced?  -1: there is none. */
static int
survives(const char *path)
{
	auto_buf raw = BUF_INIT;
	struct error err = ERROR_INIT;
	auto_kvtree *t = NULL;
	size_t used = 0;
	int good = -1;

	if (io_read_file(AT_FDCWD, path, SIZE_MAX, &raw, &err) < 0) {
		good = 0;
	} else if (raw.len >= 4 &&
		   memcmp(raw.data, "\x95\x1f\xc3\xf5", 4) == 0) {
		t = kvtree_decode(raw.data, raw.len, &used, &err);
		good = tree_is(t, raw.data, used);
	}
	if (good == 0)
		printf("# %s: %s\n", path, t != NULL ? "differs" : err.text);
	return good;
}

static void
test_images(const char *dir, int least)
{
	int count = 0, bad = 0;

	ok(find_files(dir), dir);
	for (size_t i = 0; i < found.count; i++) {
		int good = -1;

		if (strstr(found.paths[i], "/kvtree_bad/") == NULL &&
		    !str_ends(found.paths[i], DAMAGED))
			good = survives(found.paths[i]);
		count += good >= 0;
		bad += good == 0;
	}
	forget_files();
	printf("# %d images\n", count);
	is_int(bad, 0, "decoded and encoded bit for bit");
	ok(count >= (golden_whole() ? least : 1), "... all that there are");
}

/* --- Redundancy files --- */

/* The header must agree with the name of its file. */
static bool
check_header(const char *path, struct error *err)
{
	auto_arena *arena = arena_new();
	struct redset_header h, by_rank;
	struct redset_name n;
	auto_buf raw = BUF_INIT;
	auto_kvtree *t = NULL;
	size_t stem = 0, used = 0;

	if (!redset_name_parse(base_name(path), &n, &stem) ||
	    io_read_file(AT_FDCWD, path, SIZE_MAX, &raw, err) < 0)
		return false;
	t = kvtree_decode(raw.data, raw.len, &used, err);
	return t != NULL &&
	       redset_header_read(t, used, n.member - 1, arena, &h, err) == 0 &&
	       redset_header_read(t, used, UINT32_MAX, arena, &by_rank, err) ==
		       0 &&
	       by_rank.desc.member == n.member - 1 &&
	       h.desc.member == n.member - 1 && h.desc.members == n.members &&
	       h.desc.set == n.set - 1 && h.desc.sets == n.sets &&
	       h.desc.rank == n.rank && h.desc.type == n.type && h.size == used;
}

/* --- Every file of every case --- */

/* Is the descriptor `t` unchanged by reading and writing it? */
static bool
descriptor_kept(const struct kvtree *t, struct error *err)
{
	auto_kvtree *copy = kvtree_new(NULL);
	struct dataset d;

	return t == NULL ||
	       (dataset_read(t, &d, err) == 0 &&
		dataset_write(copy, &d, err) == 0 && tree_same(copy, t, true));
}

static bool
check_filemap(const struct kvtree *t, struct error *err)
{
	auto_arena *arena = arena_new();
	auto_kvtree *copy = kvtree_new(NULL);
	struct filemap map;
	bool same = filemap_read(t, arena, &map, err) == 0;

	for (size_t i = 0; same && i < map.nfiles; i++)
		same = filemap_add(copy, &map.files[i], err) == 0;
	/* After a fetch the library puts COMPLETE first, so ignore the
	 * order. */
	return same && tree_same(copy, t, true);
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
	auto_mem struct cindex_entry *e = cindex_entries(t, &count, err);
	bool good = count != (size_t)-1;

	for (i = 0; good && i < count; i++)
		good = e[i].path != NULL && descriptor_kept(e[i].desc, err);
	return good;
}

static bool
check_index(const struct kvtree *t, struct error *err)
{
	struct kvtree *copy = kvtree_new(NULL);
	auto_index *ix = NULL;
	struct index_entry *e = NULL, one;
	size_t count = 0, i = 0;
	bool good = kvtree_merge(copy, t, NULL) == 0;

	ix = index_from_tree(copy, err);
	if (ix == NULL)
		return false;
	good = good && tree_same(index_tree(ix), t, false);
	e = index_entries(ix, &count, err);
	good = good && count == index_count(ix);
	for (i = 0; good && i < count; i++)
		good = index_find_name(ix, e[i].name, &one, err) == 0 &&
		       one.id == e[i].id &&
		       index_find_id(ix, e[i].id, &one, err) == 0 &&
		       one.current == e[i].current;
	mem_free(e);
	return good;
}

static bool
check_nodes(const struct kvtree *t, struct error *err)
{
	int64_t nodes = 0;

	return nodes_read(t, &nodes, err) == 0 && nodes > 0;
}

static bool
check_halt(const struct kvtree *t, struct error *err)
{
	struct halt h;

	return halt_read(t, &h, err) == 0;
}

static bool
check_summary(const struct kvtree *t, struct error *err)
{
	struct summary s;

	return summary_read(t, &s, err) == 0 && s.version == SUMMARY_VERSION &&
	       descriptor_kept(s.desc, err);
}

/* Parse and format every line of a log. */
static bool
check_log(const char *path, struct error *err)
{
	auto_buf raw = BUF_INIT, out = BUF_INIT;
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
	return good;
}

/* Load it; only one has a rank of which nothing is known. */
static bool
check_rank2file(const char *path, struct error *err)
{
	const size_t lost = strstr(path, "/single_4_lost/rebuilt/") != NULL;
	char dir[4096];
	struct rank2file map;
	size_t missing = 0;
	bool good = false;
	auto_fd int fd = -1;

	snprintf(dir, sizeof(dir), "%.*s", (int)(base_name(path) - path), path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (rank2file_load(fd, base_name(path), &map, err) == 0) {
		for (size_t r = 0; r < map.nranks; r++)
			missing += !map.ranks[r].present;
		good = missing == lost;
		rank2file_free(&map);
	}
	return good;
}

/* Files by their names, and what must hold of them or of their trees. */
static const struct {
	const char *what, *name; /* "": by a function; "*": also other files */
	size_t least; /* of the whole collection; 3 of the selection */
	bool (*path)(const char *path, struct error *err);
	bool (*tree)(const struct kvtree *t, struct error *err);
} views[] = {
	{ "redundancy headers", "", 264, check_header, NULL },
	{ "filemaps", "", 4, NULL, check_filemap },
	{ "flush files", FLUSH_FILE, 4, NULL, check_flush },
	{ "cache indices", CINDEX_FILE, 4, NULL, check_cindex },
	{ "indices", "index.scr", 4, NULL, check_index },
	{ "halt files", "*" HALT_FILE, 3, NULL, check_halt },
	{ "nodes files", NODES_FILE, 3, NULL, check_nodes },
	{ "summary files", SUMMARY_FILE, 3, NULL, check_summary },
	{ "logs", "log", 4, check_log, NULL },
	{ "rank2files", "rank2file", 50, check_rank2file, NULL },
};

/* The view of a file; COUNT(views): none. */
static size_t
view_of(const char *name)
{
	struct redset_name redset;
	size_t stem = 0, v = 2;

	if (redset_name_parse(name, &redset, &stem))
		return redset.descriptor ? COUNT(views) : 0;
	if (filemap_name_rank(name) >= 0)
		return 1;
	while (v < COUNT(views) && strcmp(name, views[v].name) != 0 &&
	       (views[v].name[0] != '*' || !str_ends(name, views[v].name + 1)))
		v++;
	return v;
}

static void
test_all_files(void)
{
	size_t total[COUNT(views)] = { 0 }, bad[COUNT(views)] = { 0 };

	ok(find_files("scr3"), "golden files are found");
	for (size_t i = 0; i < found.count; i++) {
		const char *path = found.paths[i];
		const size_t v = view_of(base_name(path));
		struct error err = ERROR_INIT;
		auto_kvtree *t = NULL;
		bool good = false;

		/* Made unreadable on purpose, before and after the repair. */
		if (v == COUNT(views) || strstr(path, "/kvtree_bad/") != NULL ||
		    strstr(path, "/dmg_corrupt_redset/") != NULL)
			continue;
		if (views[v].tree != NULL)
			t = kvtree_read_file(AT_FDCWD, path, &err);
		good = views[v].path != NULL
			       ? views[v].path(path, &err)
			       : t != NULL && views[v].tree(t, &err);
		if (!good)
			printf("# %s: %s\n", path, err.text);
		total[v]++;
		bad[v] += !good;
	}
	for (size_t v = 0; v < COUNT(views); v++) {
		printf("# %zu %s\n", total[v], views[v].what);
		ok(bad[v] == 0 &&
			   total[v] >= (golden_whole() ? views[v].least : 3),
		   views[v].what);
	}
	forget_files();
}

int
main(void)
{
	if (golden_enter("views of golden data")) {
		test_images("scr3", 1000);
		test_images("containers", 10);
		test_all_files();
	}
	return tap_done();
}
