/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_catalogue_flush.c - datasets that are described only by a rank2file: built,
 * listed and verified, with checksums.
 */
#include "par.h"

#include "cattest.h"

#define FLUSH "DATASET>7>DSETDESC>"
#define FLUSHED FLUSH "ID>7\n" FLUSH "NAME>x\n"

static int
add(const char *prefix, const char *name, int64_t *id, struct error *err)
{
	auto_catalogue *c = catalogue_open(prefix, NULL);
	auto_buf added = BUF_INIT;
	int rc = -1;

	must(c != NULL);
	*id = catalogue_resolve_now(c, name, true, err);
	if (*id > 0)
		rc = catalogue_add(c, *id, &options, &added, err);
	return rc;
}

enum damage { MISSING, LONGER, A_DIR, LINK_OUT, NO_PARENT, NO_RANK, DOTDOT };

/* Damage a flushed dataset. */
static void
damage(enum damage how)
{
	char *file = here("d/f1"), *dir = here("d");
	char *part = here(".scr/scr.dataset.7/rank2file.0.0");

	if (how == LONGER) {
		write_text(file, "xx");
	} else if (how == NO_PARENT) {
		remove_tree(dir);
		write_text(dir, "x");
	} else if (how == NO_RANK) {
		put_tree(part, "RANKS>2\nLEVEL>0\nRANK>0>FILE>d/f1\n");
	} else if (how == DOTDOT) {
		put_tree(part, "RANKS>2\nLEVEL>0\nRANK>1\n"
			       "RANK>0>FILE>d/../../f\n");
	} else {
		must(unlink(file) == 0);
		must(how != A_DIR || mkdir(file, 0777) == 0);
		if (how == LINK_OUT)
			link_by_anyone("/etc/passwd", file);
	}
}

TEST(flushed)
{
	static const struct {
		const char *what, *words;
		enum damage damage;
		enum error_kind kind;
	} cases[] = {
		{ "missing", "d/f1 of rank 0: missing", MISSING, ERROR_LOST },
		{ "longer", "add up to 4 bytes", LONGER, ERROR_LOST },
		{ "a directory", "d/f1 of rank 0: not a file", A_DIR,
		  ERROR_LOST },
		{ "a link out", "d/f1", LINK_OUT, ERROR_UNSAFE },
		{ "a file in the way", "of rank 0: missing", NO_PARENT,
		  ERROR_LOST },
		{ "a rank missing", "filemap_1", NO_RANK, ERROR_SYSTEM },
		{ "a path that leaves", "d/../../f", DOTDOT, ERROR_UNSAFE },
	};
	struct build_result r;
	struct verify_result v;
	struct told t;
	int64_t id = 0;

	make_flushed(NULL);
	ok(build(scratch_root, &r, &why) == 0 && r.ranks == 2 && r.files == 3 &&
		   r.bytes == 3,
	   "a flushed dataset");
	is_int(add(scratch_root, "fl", &id, &why), 0, "... added");
	is_int(id, SCENE_ID, "... its number");
	ok(verify(scratch_root, &v, &t) == 0 && v.status == STATUS_OK &&
		   t.count == 0 && v.files == 3 && v.unchecked == 3 &&
		   v.crc_checked == 0,
	   "... checked");
	each (c, cases) {
		make_flushed(NULL);
		damage(c->damage);
		ok(build(scratch_root, &r, &why) == -1 && why.kind == c->kind &&
			   says(&why, c->words),
		   c->what);
		ok(add(scratch_root, "fl", &id, &why) == -1 &&
			   why.kind == c->kind,
		   "... not added");
		ok(c->kind == ERROR_UNSAFE
			   ? verify(scratch_root, &v, &t) < 0
			   : verify(scratch_root, &v, &t) == 0 &&
				     v.status == error_status(c->kind) &&
				     t.count > 0,
		   "... told");
		ok(!exists(here(".scr/index.scr")), "... no index");
	}
	make_flushed(NULL);
	must(unlink(here(".scr/scr.dataset.7/summary.scr")) == 0);
	refuses(build(scratch_root, &r, &why), ERROR_SYSTEM, NULL,
		"without a descriptor");
	put_tree(here(".scr/flush.scr"), FLUSHED);
	refuses(build(scratch_root, &r, &why), ERROR_SYSTEM,
		"they cannot be checked", "without a summary or a size");
	put_tree(here(".scr/flush.scr"),
		 FLUSHED FLUSH "FILES>4\n" FLUSH "SIZE>3\n");
	ok(build(scratch_root, &r, &why) == -1 &&
		   says(&why, "cannot be checked"),
	   "without a summary, another count");
	put_tree(here(".scr/flush.scr"),
		 FLUSHED FLUSH "FILES>3\n" FLUSH "SIZE>3\n");
	ok(build(scratch_root, &r, &why) == 0,
	   "without a summary, but it adds up");
}

TEST(add)
{
	auto_buf added = BUF_INIT;
	auto_catalogue *c = NULL;
	struct build_result r;
	int64_t id = 0;

	make_flushed(NULL);
	put_tree(here(".scr/scr.dataset.7/summary.scr"),
		 "DSET>ID>7\nDSET>NAME>fl\n");
	refuses(add(scratch_root, "fl", &id, &why), ERROR_DAMAGED, NULL,
		"add what is not complete");
	put_tree(here(".scr/scr.dataset.7/summary.scr"),
		 "DSET>ID>8\nDSET>NAME>fl\nCOMPLETE>1\n");
	refuses(add(scratch_root, "fl", &id, &why), ERROR_CORRUPT, NULL,
		"add with another's summary");
	make_flushed(NULL);
	must(unlink(here(".scr/scr.dataset.7/rank2file")) == 0);
	ok(add(scratch_root, "fl", &id, &why) == -1 &&
		   why.kind == ERROR_DAMAGED &&
		   says(&why, "scr.dataset.7: not added: ") &&
		   says(&why, "--build"),
	   "add without the top of rank2file");
	must(unlink(here(".scr/scr.dataset.7/rank2file.0.0")) == 0);
	ok(add(scratch_root, "fl", &id, &why) == -1 &&
		   why.kind == ERROR_SYSTEM && !says(&why, "--build"),
	   "add without rank2file: no build can help");
	scene_make(&xor4);
	must(build(scene_prefix(&xor4), &r, NULL) == 0);
	scene_lose_reds(&xor4, 1, false);
	ok(add(scene_prefix(&xor4), "ckpt", &id, &why) == 0,
	   "add although redundancy is missing");
	must(unlink(fmt("%s/.scr/scr.dataset.7/summary.scr",
			scene_prefix(&xor4))) == 0);
	ok(add(scene_prefix(&xor4), "7", &id, &why) == -1 &&
		   says(&why, "not added: summary.scr: ") &&
		   says(&why, ": repair it with --build 7"),
	   "... without a summary");
	must(build(scene_prefix(&xor4), &r, NULL) == 0);
	scene_lose_reds(&xor4, 1, false);
	scene_lose_data(&xor4, 3);
	refuses(add(scene_prefix(&xor4), "ckpt", &id, &why), ERROR_LOST, NULL,
		"... and then data, too");
	c = catalogue_open(scene_prefix(&xor4), NULL);
	ok(catalogue_add(c, id, &options, &added, NULL) == -1,
	   "without asking why");
}

/* --- Checksums (one wrong file: cmd/scr_index.bats) --- */

TEST(sums)
{
	struct build_result r;

	options.checksums = true;
	options.work.par = par_new(2, NULL);
	scene_make(&xor4);
	must(build(scene_prefix(&xor4), &r, NULL) == 0);
	scene_lose_data(&xor4, 2);
	flip(scene_data(&xor4, 1, 0), 5);
	refuses(build(scene_prefix(&xor4), &r, &why), ERROR_LOST, NULL,
		"a wrong one beside a lost one");

	/* Damaged redundancy gives a file with a wrong checksum. */
	scene_make(&xor4);
	must(build(scene_prefix(&xor4), &r, NULL) == 0);
	for (long at = -200; at < 0; at++)
		flip(scene_red(&xor4, 0, false, false), at);
	(void)unlink(scene_data(&xor4, 1, 0));
	(void)unlink(scene_data(&xor4, 1, 1));
	ok(build(scene_prefix(&xor4), &r, &why) == -1,
	   "what is rebuilt is compared, too");

	par_free(options.work.par);
	options.work.par = NULL;
	options.checksums = false;
}

static void
take_result(void *arg, int64_t id, const struct delete_result *r,
	    const struct error *e)
{
	(void)id;
	(void)e;
	*(struct delete_result *)arg = *r;
}

static int
delete_once(void *arg, struct error *err)
{
	auto_catalogue *c = catalogue_open(scratch_root, err);
	const struct delete_listener listener = { take_result, arg };
	const int64_t id = SCENE_ID;
	int rc = -1;

	memset(arg, 0, sizeof(struct delete_result));
	if (c != NULL)
		rc = catalogue_delete_all(c, &id, 1, &options, &listener, err);
	return rc;
}

static void
flushed_anew(void *arg)
{
	struct build_result r;

	(void)arg;
	make_flushed(NULL);
	must(build(scratch_root, &r, NULL) == 0);
}

TEST(delete)
{
	struct delete_result r;

	/* A file with two names: deleting it frees no space. */
	flushed_anew(NULL);
	must(link(here("d/f0"), here("copy")) == 0);
	must(unlink(here("d/f1")) == 0);
	ok(delete_once(&r, &why) == 0 && r.files == 2 && r.bytes == 1,
	   "what is freed");

	/* The index has the dataset, but its metadata are missing. */
	flushed_anew(NULL);
	remove_tree(here(".scr/scr.dataset.7"));
	ok(delete_once(&r, &why) == 0 && r.files == 0 &&
		   heard("metadata are missing") && exists(here("d/f1")),
	   "a dataset without metadata keeps its files");

	options.work.log = be_deaf;
	ok(fails_well(delete_once, flushed_anew, &r),
	   "deleting without memory");
	options.work.log = hear;
}
