/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_rebuild_sums.c - recorded checksums: existing but damaged files are found
 * while the plan is made or during the rebuild, and are rebuilt.
 */
#include "rescue/rebuild.h"

#include "par.h"
#include "progress.h"
#include "scene.h"
#include "work.h"

static struct scene rs6 = { SCENE(RS, 6, 1, 2, 2), .crc = true };

static struct scene xor4 = { SCENE(XOR, 4, 1, 1, 2), .crc = true };

static uint64_t
even_size(unsigned rank, unsigned file)
{
	(void)rank;
	(void)file;
	return 400;
}

struct events {
	int count;
	char all[4096];
};

static void
note(void *arg, const char *what)
{
	struct events *e = arg;
	size_t len = strlen(e->all);

	e->count++;
	snprintf(e->all + len, sizeof(e->all) - len, "%s\n", what);
}

/* Rebuild from a plan that was made without reading files. */
static int
rebuild_now(const struct scene *s, struct events *e, struct rebuild_result *r,
	    struct error *err)
{
	const struct rebuild_options o = {
		.work = &(struct work){ .detail = note, .log_arg = e },
	};
	struct plan *p = scene_plan(s, 0, err);
	int rc = p != NULL ? rebuild(p, &o, r, err) : -1;

	plan_free(p);
	return rc;
}

/* --- While planning --- */

static void
planned(unsigned threads)
{
	struct par *par = par_new(threads, NULL);
	struct progress *progress = progress_start("test", true);
	const struct plan_options o = {
		.flags = PLAN_CHECKSUMS,
		.work = &(struct work){ .par = par, .progress = progress },
	};
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	rs6.size = even_size;
	scene_make(&rs6);
	rs6.size = NULL;
	p = scene_plan_with(&rs6, &o, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK,
	   fmt("all checksums are right, %u threads", threads));
	plan_free(p);
	flip(scene_data(&rs6, 1, 0), 0);
	flip(scene_data(&rs6, 4, 0), -1);
	p = scene_plan_with(&rs6, &o, &err);
	ok(p != NULL && plan_status(p) == STATUS_DAMAGED &&
		   scene_find(p, 1, 0)->state == FILE_WRONG_CRC &&
		   scene_find(p, 4, 0)->state == FILE_WRONG_CRC &&
		   p->files_missing == 2,
	   "two are not");
	ok(p != NULL && rebuild(p, NULL, NULL, &err) == 0 && scene_same(&rs6),
	   "the files are put right");
	plan_free(p);
	for (unsigned rank = 1; rank < 5; rank++)
		for (unsigned i = 0; i < 2; i++)
			flip(scene_data(&rs6, rank, i), 0);
	p = scene_plan_with(&rs6, &o, &err);
	ok(p != NULL && plan_status(p) == STATUS_LOST,
	   "four ranks are too many");
	plan_error(p, &err);
	ok(says(&err, "members (ranks 1-4) are missing; RS can restore 2"),
	   "they are named");
	plan_free(p);
	progress_end(progress);
	par_free(par);
}

static uint64_t
large(unsigned rank, unsigned file)
{
	return rank == 0 && file == 0 ? (uint64_t)17 << 20 : 300000;
}

/* Files of several blocks, of which several are damaged. */
static void
large_files(void)
{
	static struct scene s = { SCENE(SINGLE, 2, 2, 0, 2), .crc = true,
				  .size = large };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	scene_make(&s);
	p = scene_plan(&s, PLAN_CHECKSUMS, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK, "17 MiB are summed up");
	plan_free(p);
	flip(scene_data(&s, 0, 0), 1000);
	flip(scene_data(&s, 0, 0), -1000);
	flip(scene_data(&s, 1, 1), 270000);
	p = scene_plan(&s, PLAN_CHECKSUMS, &err);
	ok(p != NULL && plan_status(p) == STATUS_LOST && p->files_lost == 2,
	   "and found wrong");
	plan_error(p, &err);
	ok(says(&err, "rank 0 missing; SINGLE keeps no redundancy"),
	   "without redundancy they are lost");
	plan_free(p);
	scene_end(&s);
}

/* --- During the rebuild --- */

static void
bad_input(void)
{
	struct events e = { .count = 0 };
	struct error err = ERROR_INIT;
	struct rebuild_result r;

	rs6.size = even_size;
	scene_make(&rs6);
	rs6.size = NULL;
	scene_lose(&rs6, 2);
	flip(scene_data(&rs6, 4, 0), 30);
	ok(rebuild_now(&rs6, &e, &r, &err) == 0 && scene_same(&rs6),
	   "RS: a damaged file is found while a lost rank is rebuilt, and is "
	   "put right as well");
	ok(r.crc_wrong == 1 && r.files == 3 && r.crc_checked > 2,
	   "which is counted");
	ok(strstr(e.all, "rank_4_0.dat: its checksum is not") != NULL &&
		   strstr(e.all, "damaged") != NULL,
	   "and told");

	scene_lose(&rs6, 2);
	flip(scene_data(&rs6, 4, 1), 30);
	flip(scene_data(&rs6, 0, 0), 30);
	scene_keep(&rs6);
	ok(rebuild_now(&rs6, &e, &r, &err) < 0 && err.kind == ERROR_LOST,
	   "two damaged files and a lost rank are too much");
	ok(says(&err, "members (ranks 0 2 4) are missing; RS can restore 2"),
	   "told in words");
	(void)rmdir(fmt("%s/ckpt/dir_2", scene_prefix(&rs6)));
	ok(scene_same(&rs6) && r.files == 0, "nothing was changed");

	scene_make(&xor4);
	scene_lose(&xor4, 1);
	flip(scene_data(&xor4, 3, 1), 30);
	scene_keep(&xor4);
	ok(rebuild_now(&xor4, &e, &r, &err) < 0 && err.kind == ERROR_LOST,
	   "XOR: one is too much, though only a part of it was needed");
	(void)rmdir(fmt("%s/ckpt/dir_1", scene_prefix(&xor4)));
	ok(scene_same(&xor4), "nothing was changed");

	/* Only redundancy is lost, so only a part of each file is read. */
	scene_make(&rs6);
	must(unlink(scene_red(&rs6, 5, false, false)) == 0);
	flip(scene_data(&rs6, 1, 0), -1);
	ok(rebuild_now(&rs6, &e, &r, &err) == 0 && scene_same(&rs6),
	   "nor does redundancy come from a damaged file");
	is_int((int64_t)r.crc_wrong, 1, "which is put right");
}

/* For a small file only parts of the other files are read, so their checksums
 * are not verified.  That of the result is. */
static void
bad_output(void)
{
	struct events e = { .count = 0 };
	struct error err = ERROR_INIT;
	struct rebuild_result r;

	scene_make(&rs6);
	must(unlink(scene_data(&rs6, 0, 0)) == 0);
	flip(scene_data(&rs6, 3, 1), 200);
	ok(rebuild_now(&rs6, &e, &r, &err) == 0 && scene_same(&rs6),
	   "RS: an output that is wrong leads to the damaged input");
	is_int((int64_t)r.crc_wrong, 1, "of which there is one");

	/* A redundancy file's body has no checksum, but all data have. */
	scene_make(&xor4);
	must(unlink(scene_data(&xor4, 3, 1)) == 0);
	for (unsigned r1 = 0; r1 < 3; r1++)
		for (long off = 1; off < 340; off += 8)
			flip(scene_red(&xor4, r1, false, false), -off);
	scene_keep(&xor4);
	ok(rebuild_now(&xor4, &e, &r, &err) < 0 && err.kind == ERROR_LOST,
	   "parity that does not fit the data cannot rebuild them");
	ok(says(&err, "its contents are damaged"), "and is blamed");
	ok(scene_same(&xor4) && r.files == 0, "nothing was changed");
}

/* The damaged file was truncated after the plan was made, in a part that is not
 * read. */
static void
cut_short(void)
{
	struct error err = ERROR_INIT;
	struct rebuild_result r;
	struct plan *p = NULL;

	scene_make(&rs6);
	must(unlink(scene_data(&rs6, 0, 0)) == 0);
	flip(scene_data(&rs6, 3, 1), 200);
	p = scene_plan(&rs6, 0, &err);
	must(truncate(scene_data(&rs6, 3, 1),
		      (off_t)scene_default_size(3, 1) - 1) == 0);
	ok(p != NULL && rebuild(p, NULL, &r, &err) == 0 && scene_same(&rs6),
	   "a damaged file that cannot be read to its end is put right");
	plan_free(p);
}

static void
drop_crc(struct kvtree *t, void *arg)
{
	struct kvtree *f = NULL;

	(void)arg;
	kvtree_foreach (f, kvtree_get(t, "FILE"))
		kvtree_remove(kvtree_get(f, "META"), "CRC");
}

/* The rebuilt file has no recorded checksum, but an input has. */
static void
some_sums(void)
{
	struct events e = { .count = 0 };
	struct error err = ERROR_INIT;
	struct rebuild_result r;

	scene_make(&rs6);
	edit_tree(scene_map(&rs6, 0), drop_crc, NULL);
	must(utimensat(AT_FDCWD, scene_map(&rs6, 0), NULL, 0) == 0);
	scene_keep(&rs6);
	must(unlink(scene_data(&rs6, 0, 0)) == 0);
	flip(scene_data(&rs6, 3, 1), 200);
	ok(rebuild_now(&rs6, &e, &r, &err) == 0 && scene_same(&rs6),
	   "a file without a checksum does not come from a damaged one");
	is_int((int64_t)r.crc_wrong, 1, "which is put right");
}

static void
no_sums(void)
{
	struct events e = { .count = 0 };
	struct error err = ERROR_INIT;
	struct rebuild_result r;
	struct plan *p = NULL;

	xor4.crc = false;
	scene_make(&xor4);
	xor4.crc = true;
	flip(scene_data(&xor4, 3, 1), 30);
	p = scene_plan(&xor4, PLAN_CHECKSUMS, &err);
	ok(p != NULL && plan_status(p) == STATUS_OK,
	   "without a recorded checksum nothing is noticed");
	plan_free(p);
	scene_lose(&xor4, 1);
	ok(rebuild_now(&xor4, &e, &r, &err) == 0 && r.crc_checked == 0,
	   "nor compared");
}

/* An unreadable file is an erasure like any other. */
static void
unreadable(void)
{
	const struct plan_options o = { .flags = PLAN_CHECKSUMS };
	struct error err = ERROR_INIT;
	struct plan *p = NULL;

	if (geteuid() == 0) {
		skip("a file that may not be read", "root may read all");
		return;
	}
	scene_make(&rs6);
	must(chmod(scene_data(&rs6, 1, 0), 0) == 0);
	p = scene_plan_with(&rs6, &o, &err);
	ok(p == NULL && err.kind == ERROR_SYSTEM,
	   "a file that may not be read is an error");
	plan_free(p);
}

/* --- Memory --- */

static int
rebuild_once(void *arg, struct error *err)
{
	struct events e = { .count = 0 };

	return rebuild_now(arg, &e, NULL, err);
}

static void
lose_input(void *arg)
{
	scene_lose(arg, 2);
	must(truncate(scene_data(arg, 4, 0), 0) == 0);
	must(truncate(scene_data(arg, 4, 0), (off_t)scene_default_size(4, 0)) ==
	     0);
}

static void
lose_output(void *arg)
{
	(void)unlink(scene_data(arg, 0, 0));
	must(truncate(scene_data(arg, 3, 1), 400) == 0);
	must(truncate(scene_data(arg, 3, 1), (off_t)scene_default_size(3, 1)) ==
	     0);
}

static void
no_memory(void)
{
	scene_make(&rs6);
	ok(fails_well(rebuild_once, lose_input, &rs6) && scene_same(&rs6),
	   "every allocation may fail: a bad input");
	ok(fails_well(rebuild_once, lose_output, &rs6) && scene_same(&rs6),
	   "every allocation may fail: a bad output");
}

int
main(void)
{
	umask(022);
	planned(1);
	planned(4);
	large_files();
	bad_input();
	bad_output();
	cut_short();
	some_sums();
	no_sums();
	unreadable();
	no_memory();
	scene_end(&rs6);
	scene_end(&xor4);
	return tap_done();
}
