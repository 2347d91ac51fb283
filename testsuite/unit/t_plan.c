/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_plan.c - plans for datasets with data files and filemaps in any state.
 * (Redundancy files: t_plan_sets, t_plan_open; roots: t_plan_root; files given
 * by hand: t_plan_files; malicious input: t_plan_limits.)
 */
#include "rescue/plan.h"
#include "rescue/rescue_impl.h"

#include "planat.h"
#include "scene.h"

static struct scene xor4 = { SCENE(XOR, 4, 1, 1, 2) };

/* The message and status of the plan; frees it. */
static int
verdict(struct plan *p, struct error *err)
{
	int status = STATUS_FAILED;

	if (p != NULL) {
		status = plan_status(p);
		error_clear(err);
		plan_error(p, err);
	}
	plan_free(p);
	return status;
}

/* --- Whole datasets --- */

static void
whole(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	uint64_t bytes = 0;

	scene_make(&xor4);
	p = scene_plan(&xor4, 0, &err);
	must(p != NULL);
	is_int(p->verdict, SET_WHOLE, "whole");
	is_int(plan_status(p), STATUS_OK, "status of a whole dataset");
	ok(plan_error(p, &err) == 0, "there is nothing to say");
	is_int(p->id, SCENE_ID, "number");
	is_int(p->nranks, 4, "ranks");
	is_int((int64_t)p->nfiles, 8, "files");
	is_int((int64_t)p->nsets, 2, "one set over filemaps, one over data");
	ok(p->sets[0].map && !p->sets[1].map, "in this order");
	ok(!p->sets[0].opened && !p->sets[1].opened, "unopened: no need");
	is_int(p->sets[1].members[2].state, RED_UNCHECKED, "nor looked into");
	for (unsigned r = 0; r < 4; r++)
		for (unsigned i = 0; i < 2; i++)
			bytes += scene_default_size(r, i);
	is_int((int64_t)p->bytes, (int64_t)bytes, "bytes");
	is_int((int64_t)(p->files_missing + p->files_lost + p->red_missing +
			 p->maps_missing + p->maps_lost + p->ranks_lost +
			 p->bytes_written),
	       0, "nothing is missing");
	ok(!p->moved && strcmp(p->recorded_root, scene_prefix(&xor4)) == 0,
	   "the prefix is where it was");
	ok(strcmp(scene_find(p, 2, 1)->path, "ckpt/dir_2/rank_2_1.dat") == 0,
	   "a file's path below the prefix");
	plan_free(p);

	p = scene_plan(&xor4, PLAN_HEADERS, &err);
	ok(p->sets[0].opened && p->sets[1].opened, "opened if wanted");
	is_int(p->sets[1].members[2].state, RED_PRESENT, "present");
	is_int(p->sets[1].spare, 1, "one member more could be lost");
	is_int(p->verdict, SET_WHOLE, "and whole");
	plan_free(p);
	ok(scene_same(&xor4), "a plan changes nothing on disk");
	plan_free(NULL);
}

static void
absent(void)
{
	struct error err = ERROR_INIT;
	const char *none = NULL;

	scene_make(&xor4);
	ok(plan_at(scene_prefix(&xor4), 8, NULL, &err) == NULL &&
		   err.kind == ERROR_ABSENT,
	   "no such dataset");
	make_parents(fmt("%s/.scr/scr.dataset.8/x", scene_prefix(&xor4)));
	ok(plan_at(scene_prefix(&xor4), 8, NULL, &err) == NULL &&
		   err.kind == ERROR_ABSENT && says(&err, "no filemap"),
	   "a directory without metadata");
	ok(plan_at("/nonexistent", 8, NULL, &err) == NULL &&
		   err.kind == ERROR_ABSENT,
	   "no such prefix");
	ok(plan_caches(&none, 0, NULL, &err) == NULL && err.kind == ERROR_USAGE,
	   "no cache at all");
	none = xor4.root;
	ok(plan_caches(&none, 1, NULL, &err) == NULL &&
		   err.kind == ERROR_ABSENT && says(&err, xor4.root),
	   "a cache without metadata");
	write_text(fmt("%s/.scr/scr.dataset.9", scene_prefix(&xor4)), "");
	ok(plan_at(scene_prefix(&xor4), 9, NULL, &err) == NULL &&
		   err.kind == ERROR_SYSTEM,
	   "a file in the place of the directory");
}

/* --- Files --- */

static void
one_file(const char *what, enum file_state state, int status)
{
	struct error err = ERROR_INIT;
	struct plan *p = scene_plan(&xor4, 0, &err);
	const struct plan_file *f = p ? scene_find(p, 1, 0) : NULL;

	if (p == NULL)
		printf("# %s\n", err.text);
	ok(f != NULL && f->state == state, what);
	ok(p != NULL && plan_status(p) == status,
	   fmt("%s: status %d", what, status));
	if (state != FILE_PRESENT && p != NULL)
		ok(f->fate == FATE_REBUILD && p->files_missing == 1 &&
			   p->files_rebuild == 1 && p->bytes_written > 0 &&
			   p->sets[1].missing == 1 && p->sets[1].spare == 0,
		   fmt("%s: it will be rebuilt", what));
	plan_free(p);
}

static void
file_states(void)
{
	const char *path = NULL;
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor4);
	path = scene_data(&xor4, 1, 0);
	must(truncate(path, 5) == 0);
	one_file("a file too short", FILE_WRONG_SIZE, STATUS_DAMAGED);
	p = scene_plan(&xor4, 0, NULL);
	is_int((int64_t)scene_find(p, 1, 0)->found_size, 5, "its size");
	plan_free(p);
	must(truncate(path, 5000) == 0);
	one_file("a file too long", FILE_WRONG_SIZE, STATUS_DAMAGED);
	must(unlink(path) == 0);
	one_file("a missing file", FILE_MISSING, STATUS_DAMAGED);
	must(mkdir(path, 0777) == 0);
	one_file("a directory", FILE_WRONG_TYPE, STATUS_DAMAGED);
	must(rmdir(path) == 0 && mkfifo(path, 0666) == 0);
	one_file("a FIFO", FILE_WRONG_TYPE, STATUS_DAMAGED);
	must(unlink(path) == 0 && symlink("nowhere", path) == 0);
	one_file("a dangling link", FILE_MISSING, STATUS_DAMAGED);
	must(unlink(path) == 0 && symlink("..", path) == 0);
	one_file("a link to a directory", FILE_WRONG_TYPE, STATUS_DAMAGED);
	write_text(fmt("%s/elsewhere", scene_prefix(&xor4)), "");
	must(truncate(fmt("%s/elsewhere", scene_prefix(&xor4)),
		      (off_t)scene_default_size(1, 0)) == 0);
	must(unlink(path) == 0 && symlink("../../elsewhere", path) == 0);
	one_file("a link within the prefix", FILE_PRESENT, STATUS_OK);
	must(unlink(path) == 0 && symlink("/etc/passwd", path) == 0);
	ok(scene_refused(&xor4, ERROR_UNSAFE, ""),
	   "a link out of the prefix is refused");
	must(unlink(path) == 0 && symlink("rank_1_0.dat", path) == 0);
	ok(scene_refused(&xor4, ERROR_UNSAFE, ""),
	   "so is one that goes round in circles");
	remove_tree(fmt("%s/ckpt/dir_1", scene_prefix(&xor4)));
	write_text(fmt("%s/ckpt/dir_1", scene_prefix(&xor4)), "");
	p = scene_plan(&xor4, 0, &err);
	ok(p != NULL && p->files_missing == 2 && p->verdict == SET_REBUILDABLE,
	   "a file where a directory should be: its files are missing");
	plan_free(p);
}

static void
empty_files(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor4);
	must(scene_default_size(1, 1) == 0);
	must(unlink(scene_data(&xor4, 1, 1)) == 0);
	p = scene_plan(&xor4, 0, &err);
	ok(p != NULL && scene_find(p, 1, 1)->fate == FATE_REBUILD,
	   "an empty file that is missing comes back");
	is_int((int64_t)p->bytes_written, 0, "without a byte written");
	is_int(verdict(p, &err), STATUS_DAMAGED, "the dataset is damaged");
	ok(says(&err, "1 file, 0 filemaps and 0 redundancy files"),
	   "which is told");
}

static void
mark_incomplete(struct kvtree *t, void *arg)
{
	struct kvtree *f = kvtree_get(t, "FILE");

	(void)arg;
	kvtree_set(kvtree_get(kvtree_first(f), "META"), "COMPLETE", "0", NULL);
}

static void
incomplete(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&xor4);
	/* "1" becomes "0": the length does not change. */
	edit_tree(scene_map(&xor4, 2), mark_incomplete, NULL);
	p = scene_plan(&xor4, 0, &err);
	ok(p != NULL && scene_find(p, 2, 1)->state == FILE_INCOMPLETE &&
		   scene_find(p, 2, 1)->fate == FATE_LOST && p->files_lost == 1,
	   "a file that was never completed");
	plan_free(p);
	is_int(scene_status(&xor4, 0, &err), STATUS_LOST, "is lost");
	ok(says(&err, "a file was never completed"), "for that reason");
	scene_lose_data(&xor4, 1);
	is_int(scene_status(&xor4, 0, &err), STATUS_LOST,
	       "and parity over it is worth nothing");
}

static uint64_t
sizes_apart(unsigned rank, unsigned file)
{
	/* Small files at different offsets of long strings. */
	return file == rank ? 10 : 400;
}

static void
two_small_losses(void)
{
	static struct scene s = { SCENE(XOR, 4, 1, 1, 4), .size = sizes_apart };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&s);
	must(unlink(scene_data(&s, 0, 0)) == 0);
	must(unlink(scene_data(&s, 2, 2)) == 0);
	p = scene_plan(&s, 0, &err);
	ok(p != NULL && p->sets[1].missing == 2 && p->sets[1].spare == 0,
	   "two ranks lack a small file each");
	is_int(verdict(p, &err), STATUS_DAMAGED,
	       "apart from each other: XOR brings both back");
	must(unlink(scene_data(&s, 2, 1)) == 0);
	is_int(scene_status(&s, 0, &err), STATUS_LOST,
	       "in the same place: lost");
	ok(says(&err, "members (ranks 0 2) are missing; XOR can restore 1"),
	   "the ranks are named");
	scene_end(&s);
}

/* --- Filemaps --- */

/* The filemap of rank 1 is bad for the reason `why`, and is rebuilt. */
static void
bad_map(const char *what, const char *why)
{
	struct error err = ERROR_INIT;
	struct plan *p = scene_plan(&xor4, PLAN_HEADERS, &err);
	const struct plan_rank *r = p ? &p->ranks[1] : NULL;

	if (p == NULL)
		printf("# %s\n", err.text);
	if (r != NULL && r->map.why != NULL)
		snprintf(err.text, sizeof(err.text), "%s", r->map.why);
	ok(r != NULL && r->map.fate == FATE_REBUILD && r->map_known &&
		   says(&err, why),
	   what);
	ok(r != NULL && r->map.image_size == xor4.maps[1].len &&
		   memcmp(r->map.image, xor4.maps[1].data, r->map.image_size) ==
			   0,
	   "it is rebuilt in memory");
	is_int(p ? plan_status(p) : -1, STATUS_DAMAGED, "the rest is fine");
	plan_free(p);
}

static void
rename_key(struct kvtree *t, void *arg)
{
	kvtree_remove(t, "FILE");
	kvtree_set(t, arg, "1", NULL);
}

static void
filemaps(void)
{
	const char *path = NULL;

	scene_make(&xor4);
	path = scene_map(&xor4, 1);
	must(unlink(path) == 0);
	bad_map("a missing filemap", "missing");
	write_text(path, "");
	bad_map("an empty file", "empty file");
	write_text(path, "garbage that is no tree at all, but long enough");
	bad_map("garbage", "byte");
	write_file(path, xor4.maps[1].data, xor4.maps[1].len - 1);
	bad_map("a filemap cut short", "byte");
	write_file(path, xor4.maps[1].data, xor4.maps[1].len);
	flip(path, 60);
	bad_map("a filemap with a flipped bit", "checksum");
	write_file(path, xor4.maps[1].data, xor4.maps[1].len);
	edit_tree(path, rename_key, (void *)"OTHER");
	bad_map("another tree", "not a filemap");
	must(unlink(path) == 0 && mkdir(path, 0777) == 0);
	bad_map("a directory", "regular file");
	must(rmdir(path) == 0 && symlink("/etc/passwd", path) == 0);
	bad_map("a link that leads out", "leads out");
	must(unlink(path) == 0 && symlink("nowhere", path) == 0);
	bad_map("a dangling link", "filemap_1");
	must(unlink(path) == 0 && mkfifo(path, 0666) == 0);
	bad_map("a FIFO", "regular file");
	must(unlink(path) == 0);
	write_file(path, xor4.maps[2].data, xor4.maps[2].len);
	must(truncate(path, (off_t)xor4.maps[2].len + 1) == 0);
	bad_map("one of another length than its set protects",
		"not as long as its redundancy set says");
}

/* A link to a valid filemap is accepted. */
static void
linked_map(void)
{
	struct error err = ERROR_INIT;
	const char *path = NULL;

	scene_make(&xor4);
	path = scene_map(&xor4, 1);
	must(rename(path, fmt("%s/real", scene_meta(&xor4, 1))) == 0 &&
	     symlink("real", path) == 0);
	is_int(scene_status(&xor4, 0, &err), STATUS_OK,
	       "a link to the filemap beside it will do");
}

static void
set_ranks(struct kvtree *t, void *arg)
{
	struct kvtree *f = NULL;

	kvtree_foreach (f, kvtree_get(t, "FILE"))
		kvtree_set(kvtree_get(f, "META"), "RANKS", arg, NULL);
}

static void
drop_key(struct kvtree *t, void *arg)
{
	struct kvtree *f = NULL;

	kvtree_foreach (f, kvtree_get(t, "FILE"))
		kvtree_remove(kvtree_get(f, "META"), arg);
}

static void
contradictions(void)
{
	struct error err = ERROR_INIT;

	scene_make(&xor4);
	edit_tree(scene_map(&xor4, 1), set_ranks, (void *)"5");
	ok(scene_refused(&xor4, ERROR_CORRUPT, "filemap_1") &&
		   scene_refused(&xor4, ERROR_CORRUPT, "5"),
	   "filemaps that disagree on the number of ranks");
	scene_make(&xor4);
	for (unsigned r = 0; r < 4; r++)
		edit_tree(scene_map(&xor4, r), set_ranks, (void *)"2");
	ok(scene_refused(&xor4, ERROR_CORRUPT, "filemap_3") &&
		   scene_refused(&xor4, ERROR_CORRUPT, "2 ranks"),
	   "a filemap beyond the last rank");
	scene_make(&xor4);
	edit_tree(scene_map(&xor4, 1), drop_key, (void *)"SIZE");
	ok(scene_refused(&xor4, ERROR_CORRUPT, "no SIZE"),
	   "a file without a size");
	scene_make(&xor4);
	edit_tree(scene_map(&xor4, 1), drop_key, (void *)"PATH");
	ok(scene_refused(&xor4, ERROR_CORRUPT, "no PATH or NAME"),
	   "a file without a place");
	scene_make(&xor4);
	for (unsigned r = 0; r < 4; r++)
		edit_tree(scene_map(&xor4, r), drop_key, (void *)"RANKS");
	is_int(scene_status(&xor4, 0, &err), STATUS_OK,
	       "filemaps that say nothing of it agree");
}

/* The filemap lists more files than the redundancy covers. */
static void
add_entry(struct kvtree *t, void *arg)
{
	struct scene *s = arg;
	struct filemap_file f = {
		.cache_path = "/cache/scr.dataset.7/extra",
		.dir = fmt("%s/ckpt/dir_1", scene_prefix(s)),
		.name = "extra",
		.attr = { .has_size = true, .size = 4 },
		.complete = true,
		.ranks = 4,
	};

	must(filemap_add(t, &f, NULL) == 0);
}

static void
unprotected(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	const char *extra = NULL;

	scene_make(&xor4);
	edit_tree(scene_map(&xor4, 1), add_entry, &xor4);
	extra = fmt("%s/ckpt/dir_1/extra", scene_prefix(&xor4));
	write_text(extra, "more");
	is_int(scene_status(&xor4, 0, &err), STATUS_OK,
	       "a file that nothing protects, but is there");
	must(unlink(extra) == 0);
	is_int(scene_status(&xor4, 0, &err), STATUS_LOST,
	       "it is missing: lost");
	ok(says(&err, "dir_1/extra of rank 1: missing"), "it is named");
	/* The damaged set must not hide the lost file. */
	must(unlink(scene_data(&xor4, 2, 0)) == 0);
	p = scene_plan(&xor4, 0, &err);
	ok(p != NULL && p->files_lost >= 1 && plan_status(p) == STATUS_LOST,
	   "and so it stays when the set can be rebuilt");
	plan_free(p);
}

/* A rank without files. */
static void
rank_without_files(void)
{
	static struct scene s = { SCENE(PARTNER, 4, 1, 1, 0) };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&s);
	is_int(scene_status(&s, 0, &err), STATUS_OK, "a dataset without files");
	p = scene_plan(&s, PLAN_HEADERS, &err);
	ok(p != NULL && p->nfiles == 0 && p->nranks == 4 &&
		   p->verdict == SET_WHOLE,
	   "ranks are there, files are not");
	plan_free(p);
	scene_lose(&s, 2);
	is_int(scene_status(&s, 0, &err), STATUS_DAMAGED,
	       "a filemap is missing");
	ok(says(&err, "0 files, 1 filemap and 2 redundancy files"), "only it");
	scene_end(&s);
}

/* --- Messages and queries --- */

static void
words(void)
{
	struct error err = ERROR_INIT;
	uint32_t ranks[] = { 9, 1, 0, 4, 2, 7, 8, 12 };
	struct plan *p = NULL;

	for (int i = 0; i < FILE_STATES; i++)
		ok(file_state_name((enum file_state)i)[0] != '\0' &&
			   strcmp(file_state_name((enum file_state)i),
				  "unknown") != 0,
		   fmt("state %d of files has a name", i));
	is_str(file_state_name(FILE_STATES), "unknown", "no more have");
	is_str(red_state_name(RED_PRESENT), "present", "redundancy present");
	is_str(red_state_name(RED_UNCHECKED), "unchecked", "or not checked");
	is_str(red_state_name((enum red_state)99), "unknown", "no more");
	scene_make(&xor4);
	p = scene_plan(&xor4, 0, &err);
	is_str(plan_ranks_text(p, ranks, 8), "0-2 4 7-9 12", "ranks");
	is_str(plan_ranks_text(p, ranks, 3), "0 1 9", "two are no range");
	is_str(plan_ranks_text(p, ranks, 1), "9", "one");
	is_str(plan_ranks_text(p, ranks, 0), "", "none");
	mem_fail_after(0);
	is_str(plan_ranks_text(p, ranks, 8), "?", "no memory for words");
	mem_fail_after(-1);
	plan_free(p);
}

/* A file is marked bad after the plan was made. */
static void
marking(void)
{
	struct error err = ERROR_INIT;
	struct plan *p = NULL;
	const struct plan_file *f = NULL;

	scene_make(&xor4);
	p = scene_plan(&xor4, 0, &err);
	f = scene_find(p, 1, 0);
	ok(!p->sets[1].opened, "a set that nobody has looked at");
	ok(plan_mark(p, (size_t)(f - p->files), FILE_WRONG_CRC, &err) == 0,
	   "one of its files is marked");
	is_int(plan_status(p), STATUS_DAMAGED, "the dataset is damaged");
	ok(p->sets[1].opened && f->fate == FATE_REBUILD, "the file will be "
							 "rebuilt");
	f = scene_find(p, 2, 0);
	ok(plan_mark(p, (size_t)(f - p->files), FILE_MISSING, &err) == 0,
	   "one of another rank is marked");
	is_int(plan_status(p), STATUS_LOST, "that is too much");
	ok(f->fate == FATE_LOST && p->ranks_lost == 2, "both are lost");
	plan_free(p);

	p = scene_plan(&xor4, 0, &err);
	ok(plan_mark_body(p, 1, 2, &err) == 0 && p->red_missing == 1 &&
		   plan_status(p) == STATUS_DAMAGED,
	   "a body is marked, of a set that nobody has looked at");
	ok(p->sets[1].members[2].red->header_size > 0 &&
		   p->sets[1].members[2].fate == FATE_REBUILD,
	   "it will be written anew");
	f = scene_find(p, 3, 1);
	ok(plan_mark(p, (size_t)(f - p->files), FILE_MISSING, &err) == 0 &&
		   plan_status(p) == STATUS_LOST,
	   "with a file of another rank it is too much");
	plan_free(p);

	/* A set without any header. */
	scene_make(&xor4);
	p = scene_plan(&xor4, 0, &err);
	for (unsigned r = 0; r < 4; r++)
		scene_lose_reds(&xor4, r, false);
	f = scene_find(p, 1, 0);
	ok(plan_mark(p, (size_t)(f - p->files), FILE_MISSING, &err) == 0 &&
		   plan_status(p) == STATUS_LOST && f->fate == FATE_LOST,
	   "the redundancy has vanished since: the file is lost");
	plan_free(p);
}

int
main(void)
{
	umask(022);
	whole();
	absent();
	file_states();
	empty_files();
	incomplete();
	two_small_losses();
	filemaps();
	linked_map();
	contradictions();
	unprotected();
	rank_without_files();
	words();
	marking();
	scene_end(&xor4);
	return tap_done();
}
