/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparison with files of LLNL's scr_index ($SCRKIT_GOLDEN), byte for byte:
 * summary, index and rank2file of its builds, and the index after each command.
 */
#include <dirent.h>

#include "arena.h"
#include "meta/filemap.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "meta/rank2file.h"
#include "meta/summary.h"
#include "metatest.h"
#include "path.h"

/* --- Builds --- */

static struct kvtree *
read_tree(const char *dir, const char *below)
{
	char path[1024];

	snprintf(path, sizeof(path), "scr3/%.255s/%.255s", dir, below);
	return kvtree_read_file(AT_FDCWD, path, NULL);
}

/* Make summary and index of one case from its flush file. */
static void
check_build(const char *dir)
{
	struct kvtree *flush = read_tree(dir, "cache/prefix/.scr/flush.scr");
	struct kvtree *want = NULL, *got = NULL;
	struct index *ix = index_new(NULL);
	struct index_entry e;
	struct flush_entry f;
	char what[512];
	bool complete = strcmp(dir, "single_4_lost") != 0;

	snprintf(what, sizeof(what), "%s: flush file", dir);
	ok(flush != NULL && flush_find(flush, 1, &f, NULL) == 0, what);
	want = read_tree(dir, "rebuilt/prefix/.scr/scr.dataset.1/summary.scr");
	if (want != NULL) { /* LLNL's tool leaves this behind */
		kvtree_remove(want, "RS");
		kvtree_remove(want, "MAPRS");
	}
	got = summary_build(f.desc, complete, NULL);
	snprintf(what, sizeof(what), "%s: summary as LLNL's", dir);
	ok(want != NULL && got != NULL && tree_same(got, want, false), what);
	kvtree_free(got);
	kvtree_free(want);
	want = read_tree(dir, "rebuilt/prefix/.scr/index.scr");
	if (want != NULL) {
		struct index *theirs = index_from_tree(want, NULL);

		snprintf(what, sizeof(what), "%s: index as LLNL's", dir);
		ok(index_find_id(theirs, 1, &e, NULL) == 0 &&
			   index_add(ix, f.desc, 1, e.flushed, NULL) == 0 &&
			   tree_same(index_tree(ix), want, false),
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

/* Make the lists of a job of `n` ranks from the filemaps below `dir`. */
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
check_store(const char *dir, const char *scratch)
{
	static const char *const names[] = { "rank2file", "rank2file.0.0" };
	struct rank2file r = { .nranks = 0 };
	char path[512], mine[4096], prefix[512], what[512];
	bool lost[64] = { false };
	bool good = false;
	int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t i = 0;

	snprintf(path, sizeof(path),
		 "scr3/%s/rebuilt/prefix/.scr/scr.dataset.1", dir);
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
	snprintf(path, sizeof(path), "scr3/%s/cache/nodes", dir);
	snprintf(prefix, sizeof(prefix), "/tmp/scrgold/%s/prefix", dir);
	good = good && list_ranks(path, prefix, lost, &r) &&
	       rank2file_store(fd, "rank2file", &r, NULL) == 0;
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path),
			 "scr3/%s/rebuilt/prefix/.scr/scr.dataset.1/%s", dir,
			 names[i]);
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
test_build(void)
{
	char path[512], scratch[3072];
	const char *tmp = getenv("TMPDIR");
	DIR *d = opendir("scr3");
	const struct dirent *e = NULL;
	size_t cases = 0;

	snprintf(scratch, sizeof(scratch), "%s/metaXXXXXX",
		 tmp == NULL ? "/tmp" : tmp);
	ok(mkdtemp(scratch) != NULL, "scratch directory");
	while (d != NULL && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "scr3/%s/rebuilt", e->d_name);
		if (access(path, F_OK) < 0)
			continue;
		check_build(e->d_name);
		check_store(e->d_name, scratch);
		cases++;
	}
	if (d != NULL)
		closedir(d);
	ok(cases >= (golden_whole() ? 15 : 2), "all cases were found");
	is_int(rmdir(scratch), 0, "nothing is left behind");
}

/* Load every rank2file of LLNL's writers. */
static void
test_load(void)
{
	struct error err = ERROR_INIT;
	size_t bad = 0, total = 0, i = 0, r = 0;
	struct rank2file map;

	ok(find_files("."), "golden files are found");
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
			       (strstr(path, "/single_4_lost/rebuilt/") !=
				NULL);
			rank2file_free(&map);
		}
		close(fd);
	}
	forget_files();
	printf("# %zu rank2files\n", total);
	is_int((int64_t)bad, 0, "every rank2file loads");
	ok(total >= (golden_whole() ? 50 : 3), "all of them were found");
}

/* --- The steps of index_multi --- */

static struct index *
read_step(const char *step)
{
	struct kvtree *t = read_tree("index_multi", step);

	return t == NULL ? NULL : index_from_tree(t, NULL);
}

/* Does `ix` equal the index of that step, ignoring order? */
static void
is_step(struct index *ix, const char *step, const char *what)
{
	struct kvtree *t = read_tree("index_multi", step);

	ok(t != NULL && tree_same(index_tree(ix), t, true), what);
	kvtree_free(t);
}

static void
test_steps(void)
{
	struct index *ix = read_step("s0_after_run/index.scr");
	struct index *s4 = read_step("s4_add_both.3/index.scr");
	struct kvtree *t =
		read_tree("index_multi", "s7_drop_after_ckpt.1/index.scr");
	struct kvtree *summary =
		read_tree("index_multi",
			  "prefix_after_run/.scr/scr.dataset.3/summary.scr");
	struct index_entry e;
	struct summary s;

	ok(ix != NULL && s4 != NULL && t != NULL && summary != NULL,
	   "index_multi is there");
	is_int(index_set_current(ix, "ckpt.1", NULL), 0, "--current ckpt.1");
	is_step(ix, "s1_current_ckpt.1/index.scr", "... gives s1");
	is_int(index_set_current(ix, "out.2", NULL), -1, "--current out.2");
	is_int(index_set_current(ix, "nosuch", NULL), -1, "--current nosuch");
	is_int(index_remove(ix, "nosuch", NULL), -1, "--drop nosuch");
	is_step(ix, "s2_bad_commands/index.scr", "... give s2");
	is_int(index_remove(ix, "both.3", NULL), 0, "--drop both.3");
	is_step(ix, "s3_drop_both.3/index.scr", "... gives s3");
	index_find_id(s4, 3, &e, NULL);
	summary_read(summary, &s, NULL);
	is_int(index_add(ix, s.desc, 1, e.flushed, NULL), 0, "--add both.3");
	is_step(ix, "s4_add_both.3/index.scr", "... gives s4");
	index_free(ix);

	/* s6 has marks of the library: continue from its file. */
	ix = read_step("s6_fetch_failed/index.scr");
	is_int(index_find_name(ix, "ckpt.5", &e, NULL), 0, "ckpt.5");
	ok(!index_entry_valid(&e), "... failed to be fetched");
	/* --drop-after ckpt.1; LLNL's tool leaves CURRENT dangling. */
	is_int(index_remove(ix, "ckpt.5", NULL), 0, "drop ckpt.5");
	is_int(index_remove(ix, "both.3", NULL), 0, "drop both.3");
	is_int(index_remove(ix, "out.2", NULL), 0, "drop out.2");
	is_str(index_current(ix), "ckpt.1", "CURRENT is what is left");
	kvtree_set(t, "CURRENT", "ckpt.1", NULL);
	ok(tree_same(index_tree(ix), t, true), "... else it is s7");
	kvtree_free(t);
	is_int(index_remove(ix, "ckpt.1", NULL), 0, "drop ckpt.1");
	t = read_tree("index_multi", "s8_drop_last/index.scr");
	kvtree_remove(t, "CURRENT");
	ok(tree_same(index_tree(ix), t, false), "... gives s8");
	kvtree_free(t);
	index_free(ix);
	index_free(s4);
	kvtree_free(summary);
}

int
main(void)
{
	if (golden_enter("what LLNL's tools built")) {
		test_build();
		test_load();
		test_steps();
	}
	return tap_done();
}
