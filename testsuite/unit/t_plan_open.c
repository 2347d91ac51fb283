/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan_open.c - redundancy files that are damaged, belong to another dataset,
 * or cannot be used together or the filemaps: how they are classified, and that
 * the rest is rebuilt with them.
 */
#include "rescue/plan.h"

#include "rescue/rebuild.h"
#include "scene.h"

static struct scene xor4 = { SCENE(XOR, 4, 1, 1, 2) };

static struct scene rs5 = { SCENE(RS, 5, 1, 2, 2) };

static const char *
red(const struct scene *s, unsigned rank)
{
	return scene_red(s, rank, false, false);
}

/* Rebuild, and compare every file with the copy that was kept. */
static void
comes_back(struct scene *s, const char *what)
{
	struct error err = ERROR_INIT;
	struct plan *p = scene_plan(s, PLAN_HEADERS, &err);

	ok(p != NULL && rebuild(p, NULL, NULL, &err) == 0 && scene_same(s),
	   what);
	if (err.kind != ERROR_NONE)
		printf("# %s\n", err.text);
	plan_free(p);
}

/* --- Changing headers --- */

/* Set one value in a header.  The path is like "DESC>1>FILE>0>*>SIZE" ("*": the
 * first child).  NULL removes the node. */
struct edit {
	const char *path, *value;
};

static void
edit_node(struct kvtree *t, void *arg)
{
	const struct edit *e = arg;
	char path[256], *key = path, *end = NULL;

	snprintf(path, sizeof(path), "%s", e->path);
	for (; (end = strchr(key, '>')) != NULL; key = end + 1) {
		*end = '\0';
		t = strcmp(key, "*") == 0 ? kvtree_first(t)
					  : kvtree_get(t, key);
		must(t != NULL);
	}
	if (strcmp(key, "*") == 0)
		key = (char *)(uintptr_t)kvtree_key(kvtree_first(t));
	must(kvtree_get(t, key) != NULL);
	if (e->value == NULL)
		kvtree_remove(t, key);
	else
		must(kvtree_set(t, key, e->value, NULL) == 0);
}

static void
edit(const char *file, const char *path, const char *value)
{
	struct edit e = { path, value };

	edit_tree(file, edit_node, &e);
}

/* --- One bad file --- */

/* Check state and problem of member 2's redundancy file, all other files being
 * right.  The dataset can be rebuilt; unless `alone`, also if a file of another
 * rank is missing. */
static void
bad_file(const char *what, enum red_state state, const char *problem,
	 bool alone)
{
	struct error err = ERROR_INIT;
	struct plan *p = scene_plan(&xor4, PLAN_HEADERS, &err);
	const struct plan_member *m = p ? &p->sets[1].members[2] : NULL;

	if (p == NULL)
		printf("# %s\n", err.text);
	ok(m != NULL && m->state == state, what);
	if (m != NULL && m->problem != NULL)
		snprintf(err.text, sizeof(err.text), "%s", m->problem);
	ok(m != NULL && m->problem != NULL && says(&err, problem),
	   fmt("%s: \"%s\"", what, problem));
	ok(m != NULL && m->fate == FATE_REBUILD &&
		   plan_status(p) == STATUS_DAMAGED && !p->sets[1].salvage,
	   fmt("%s: will be written anew", what));
	plan_free(p);
	if (alone)
		comes_back(&xor4, fmt("%s: comes back", what));
}

static void
bad_files(void)
{
	const char *path = NULL;
	struct buf b = BUF_INIT;

	scene_make(&xor4);
	path = mem_strdup(red(&xor4, 2));
	read_whole(path, &b);
	flip(path, 60);
	bad_file("a header with a flipped bit", RED_HEADER_DAMAGED, "checksum",
		 true);
	flip(path, 60);
	must(truncate(path, (off_t)b.len + 1) == 0);
	bad_file("and of another size", RED_DAMAGED, "checksum", false);
	write_file(path, b.data, b.len - 1);
	bad_file("a body cut short", RED_DAMAGED, "truncated", true);
	write_file(path, b.data, 50);
	bad_file("a header cut short", RED_DAMAGED, "the file has 50", false);
	write_file(path, b.data, 19);
	bad_file("not even that", RED_DAMAGED, "ends at byte 19", false);
	write_text(path, "");
	bad_file("an empty file", RED_DAMAGED, "ends at byte 0", false);
	write_text(path, "something else, and long enough for a header");
	bad_file("garbage", RED_DAMAGED, "not a", false);
	must(unlink(path) == 0 && mkfifo(path, 0666) == 0);
	bad_file("a FIFO", RED_DAMAGED, "not a regular file", true);
	must(unlink(path) == 0 && symlink("/etc/passwd", path) == 0);
	bad_file("a link that leads out", RED_DAMAGED, "leads out", true);
	must(unlink(path) == 0 && symlink("nowhere", path) == 0);
	bad_file("a dangling link", RED_DAMAGED, "cannot open", false);
	must(unlink(path) == 0 && mkdir(path, 0777) == 0);
	bad_file("a directory", RED_DAMAGED, "not a regular file", false);
	must(rmdir(path) == 0);
	mem_free((void *)(uintptr_t)path);
	buf_free(&b);
}

/* Well-formed headers with wrong contents. */
static void
wrong_headers(void)
{
	static const struct {
		const char *what, *path, *value, *problem;
		enum red_state state;
	} cases[] = {
		{ "no descriptor", "DESC>2>DESC", NULL, "descriptor",
		  RED_DAMAGED },
		{ "no chunk size", "CHUNK", NULL, "CHUNK", RED_DAMAGED },
		{ "chunk size zero", "CHUNK", "0", "CHUNK", RED_DAMAGED },
		{ "huge chunk size", "CHUNK", "9000000000000000000", "CHUNK",
		  RED_DAMAGED },
		{ "no group", "GROUP>RANK", NULL, "GROUP", RED_DAMAGED },
		{ "another rank in it", "GROUP>RANK>2", "3", "twice",
		  RED_DAMAGED },
		{ "another chunk size", "CHUNK", "346", "contradicts the rest",
		  RED_DAMAGED },
		{ "larger chunks", "CHUNK", "2000000000000000000",
		  "contradicts the rest", RED_DAMAGED },
		{ "files longer than chunks", "CHUNK", "100", "longer",
		  RED_DAMAGED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scene_make(&xor4);
		edit(red(&xor4, 2), cases[i].path, cases[i].value);
		bad_file(cases[i].what, cases[i].state, cases[i].problem,
			 i == 6);
	}
}

static void
belongs_elsewhere(void)
{
	static struct scene xor8 = { SCENE(XOR, 8, 2, 1, 1) };
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;
	struct plan *p = NULL;

	scene_make(&xor4);
	read_whole(red(&xor4, 1), &b);
	write_file(red(&xor4, 2), b.data, b.len);
	bad_file("a copy of another member's", RED_DAMAGED,
		 "no descriptor of member 3", true);
	read_whole(red(&xor4, 3), &b);
	write_file(red(&xor4, 2), b.data, b.len);
	bad_file("of the right neighbour's, which lists both", RED_DAMAGED,
		 "that of another member", true);

	scene_make(&xor8);
	read_whole(red(&xor8, 2), &b);
	write_file(red(&xor8, 3), b.data, b.len);
	p = scene_plan(&xor8, PLAN_HEADERS, &err);
	ok(p != NULL && p->sets[3].members[1].state == RED_DAMAGED &&
		   plan_status(p) == STATUS_DAMAGED,
	   "a copy of another set's");
	is_str(p->sets[3].members[1].problem,
	       "its header belongs to another file", "is recognised");
	plan_free(p);
	comes_back(&xor8, "and replaced");
	scene_end(&xor8);
	buf_free(&b);
}

/* The first header is not always the right one: the majority decides. */
static void
majority(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor4);
	edit(red(&xor4, 0), "CHUNK", "999");
	p = scene_plan(&xor4, PLAN_HEADERS, &err);
	ok(p != NULL && p->sets[1].members[0].state == RED_DAMAGED &&
		   p->sets[1].members[1].state == RED_PRESENT,
	   "three against one");
	plan_free(p);
	comes_back(&xor4, "three are right");
	edit(red(&xor4, 0), "CHUNK", "999");
	edit(red(&xor4, 2), "CHUNK", "999");
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_DAMAGED,
	       "two against two, and all data there");
	scene_lose_data(&xor4, 1);
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_LOST,
	       "a rank missing: it cannot be told which are right");

	scene_make(&rs5);
	edit(red(&rs5, 0), "DESC>0>DESC>CKSUM", "1");
	edit(red(&rs5, 0), "DESC>4>DESC>CKSUM", "1");
	p = scene_plan(&rs5, PLAN_HEADERS, &err);
	ok(p != NULL && p->sets[1].failures == 2 &&
		   p->sets[1].members[0].state == RED_DAMAGED,
	   "other failures to survive");
	plan_free(p);
	scene_lose(&rs5, 3);
	comes_back(&rs5, "the rest rebuilds it, and a lost rank");
}

/* --- Damaged headers, good bodies --- */

static void
salvage(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor4);
	flip(red(&xor4, 1), 60);
	scene_lose(&xor4, 3);
	p = scene_plan(&xor4, 0, &err);
	ok(p != NULL && p->sets[1].salvage && plan_status(p) == STATUS_DAMAGED,
	   "XOR: parity behind a damaged header is used if needed");
	is_int(p->sets[1].members[1].state, RED_HEADER_DAMAGED, "its state");
	plan_free(p);
	comes_back(&xor4, "and brings the rank back, header and all");

	flip(red(&xor4, 1), 60);
	must(truncate(red(&xor4, 1), 100) == 0);
	scene_lose(&xor4, 3);
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_LOST,
	       "not if the body is not whole");
	ok(says(&err, "(ranks 1 3) are missing"), "both are named");

	scene_make(&xor4);
	flip(red(&xor4, 1), 60);
	flip(red(&xor4, 0), 60);
	scene_lose(&xor4, 3);
	comes_back(&xor4, "also if only the filemap has the list of the rank");

	scene_make(&rs5);
	flip(red(&rs5, 0), 60);
	flip(red(&rs5, 1), 60);
	scene_lose(&rs5, 3);
	p = scene_plan(&rs5, 0, &err);
	ok(p == NULL || plan_status(p) == STATUS_LOST || p->sets[1].salvage,
	   "RS k=2: a rank and two headers need salvage");
	plan_free(p);
	comes_back(&rs5, "all three come back");
	flip(red(&rs5, 0), 60);
	scene_lose(&rs5, 1);
	p = scene_plan(&rs5, 0, &err);
	ok(p != NULL && !p->sets[1].salvage && plan_status(p) == STATUS_DAMAGED,
	   "a rank and one header do not");
	plan_free(p);
	comes_back(&rs5, "both come back");
}

/* Which lists of files survive depends on the neighbours. */
static void
lists(void)
{
	struct error err = ERROR_INIT;

	scene_make(&xor4);
	for (unsigned r = 0; r < 4; r++)
		write_text(red(&xor4, r), "");
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_DAMAGED,
	       "four empty files beside whole data are computed again");
	must(unlink(red(&xor4, 1)) == 0);
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_DAMAGED,
	       "three as well: the rank in no set is the fourth member");
	scene_lose(&xor4, 2);
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_LOST,
	       "not if data are lost, too");
}

/* --- Headers and filemaps --- */

static void
flaws(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor4);
	for (unsigned r = 1; r < 3; r++)
		edit(red(&xor4, r), "DESC>1>FILE>0>*>SIZE", "336");
	p = scene_plan(&xor4, PLAN_HEADERS, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK && p->sets[1].flaw != NULL,
	   "sizes that contradict the filemap do no harm while all is there");
	is_str(p->sets[1].flaw,
	       "filemap_1 says ckpt/dir_1/rank_1_0.dat has 337 bytes, the "
	       "redundancy file 336",
	       "but they are noted");
	plan_free(p);
	scene_lose_data(&xor4, 3);
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_LOST,
	       "nothing can be rebuilt with them");
	ok(says(&err, "has 337 bytes"), "for that reason");

	scene_make(&xor4);
	for (unsigned r = 1; r < 3; r++)
		edit(red(&xor4, r), "DESC>1>FILE>0", "/cache/other");
	edit(red(&xor4, 1), "DESC>1>FILE>0>*", "x");
	ok(scene_status(&xor4, PLAN_HEADERS, &err) != STATUS_OK,
	   "a file that has no size in the header");

	scene_make(&xor4);
	for (unsigned r = 1; r < 3; r++) {
		char path[] = "DESC>1>FILE>1>*>SIZE";

		/* Swap two files, so that names do not match sizes. */
		edit(red(&xor4, r), path, "337");
		edit(red(&xor4, r), "DESC>1>FILE>0>*>SIZE", "0");
	}
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_OK,
	       "sizes the other way");
	must(unlink(scene_data(&xor4, 1, 0)) == 0);
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_LOST,
	       "are found out when they matter");
}

struct renaming {
	const char *member, *to;
};

/* Rename the first file of a member. */
static void
rename_file(struct kvtree *t, void *arg)
{
	const struct renaming *r = arg;
	struct kvtree *file =
		kvtree_get2(kvtree_get2(t, "DESC", r->member), "FILE", "0");
	struct kvtree *copy = kvtree_put(file, r->to, NULL);

	must(kvtree_merge(copy, kvtree_first(file), NULL) == 0);
	kvtree_remove(file, kvtree_key(kvtree_first(file)));
}

static void
other_names(void)
{
	struct renaming r = { "1", "/cache/scr.dataset.7/other.dat" };
	struct error err = ERROR_INIT;

	scene_make(&xor4);
	edit_tree(red(&xor4, 1), rename_file, &r);
	edit_tree(red(&xor4, 2), rename_file, &r);
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_LOST,
	       "a header that names a file the filemap does not");
	ok(says(&err, "filemap_1 does not name /cache/scr.dataset.7/other.dat"),
	   "is of no use");
}

/* --- Redundancy of filemaps --- */

static void
map_sets(void)
{
	struct error err = ERROR_INIT;
	const char *path = NULL;

	scene_make(&xor4);
	must(unlink(scene_map(&xor4, 2)) == 0);
	path = scene_red(&xor4, 1, true, false);
	flip(path, -1);
	flip(path, -40);
	flip(scene_red(&xor4, 0, true, false), -20);
	flip(scene_red(&xor4, 3, true, false), -60);
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_LOST,
	       "parity that is wrong gives no filemap");
	ok(says(&err, "rebuilt, but not a valid filemap: "), "that is told");

	scene_make(&xor4);
	must(unlink(scene_map(&xor4, 2)) == 0);
	for (unsigned r = 2; r < 4; r++) {
		edit(scene_red(&xor4, r, true, false), "DESC>2>FILES", "0");
		edit(scene_red(&xor4, r, true, false), "DESC>2>FILE>0", NULL);
	}
	is_int(scene_status(&xor4, PLAN_HEADERS, &err), STATUS_LOST,
	       "a set over filemaps that does not list them: lost");

	scene_make(&xor4);
	for (unsigned r = 0; r < 4; r++) {
		const char *path_r = scene_red(&xor4, r, true, false);

		edit(path_r, "CHUNK", "100000000");
		if (r >= 2)
			edit(path_r, "DESC>2>FILE>0>*>SIZE", "300000000");
		must(truncate(path_r, 100010000) == 0);
	}
	must(unlink(scene_map(&xor4, 2)) == 0);
	ok(scene_refused(&xor4, ERROR_CORRUPT, "protects no filemap"),
	   "a filemap of 300 MB is none");
}

/* --- PARTNER --- */

static void
partner_sizes(void)
{
	static struct scene s = { SCENE(PARTNER, 4, 1, 2, 1) };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&s);
	for (unsigned r = 0; r < 4; r++)
		for (unsigned m = r + 2; m <= r + 4; m++)
			edit(red(&s, r), fmt("DESC>%u>FILE>0>*>SIZE", m % 4),
			     "9000000000000000000");
	p = scene_plan(&s, PLAN_HEADERS, &err);
	ok(p != NULL && p->sets[1].members[1].state == RED_DAMAGED,
	   "sizes that add up to no size");
	is_str(p->sets[1].members[1].problem, "impossible sizes in its header",
	       "are damage");
	plan_free(p);
	scene_end(&s);
}

int
main(void)
{
	umask(022);
	bad_files();
	wrong_headers();
	belongs_elsewhere();
	majority();
	salvage();
	lists();
	flaws();
	other_names();
	map_sets();
	partner_sizes();
	scene_end(&xor4);
	scene_end(&rs5);
	return tap_done();
}
