/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds of datasets, and the sources of their descriptors; datasets that are
 * described only by a rank2file: built, listed and verified, with checksums.
 * Second builds, dry runs and losses: cmd/scr_index.bats.
 */
#include "cattest.h"

TEST(refused)
{
	struct build_result r;

	scratch_new();
	make_parents(here(".scr/scr.dataset.7/x"));
	refuses(build(scratch_root, &r, &why), ERROR_ABSENT, "scr.dataset.7",
		"no metadata");
	scene_make(&xor4);
	put_tree(fmt("%s/.scr/flush.scr", scene_prefix(&xor4)),
		 "DATASET>7>DSETDESC>ID>7\nDATASET>7>DSETDESC>NAME>x\n"
		 "DATASET>7>DSETDESC>COMPLETE>0\n");
	scene_keep(&xor4);
	ok(build(scene_prefix(&xor4), &r, &why) == -1 &&
		   why.kind == ERROR_LOST &&
		   says(&why, "declared it invalid") && scene_same(&xor4),
	   "a dataset that the job gave up");
}

/* A prefix that was moved after the job wrote it. */
TEST(moved)
{
	auto_scene moved = xor4;
	struct build_result r;
	struct verify_result v;
	struct index_entry e;
	struct index *ix = NULL;
	struct told t;

	moved.was = "/job/run 7";
	moved.root[0] = '\0';
	moved.kept = (struct tree){ .count = 0 };
	moved.maps = NULL;
	moved.lists[0] = moved.lists[1] = NULL;
	moved.arena = NULL;
	scene_make(&moved);
	scene_lose(&moved, 1);
	ok(build(scene_prefix(&moved), &r, &why) == 0, "a prefix that moved");
	ix = entry(scene_prefix(&moved), &e);
	is_str(index_extra(ix, SCENE_ID, "ROOT"), "/job/run 7",
	       "... where it was is remembered");
	index_free(ix);
	for (unsigned i = 0; i < moved.ranks; i++)
		scene_lose_data(&moved, i);
	ok(verify(scene_prefix(&moved), &v, &t) == 0 &&
		   v.status == STATUS_LOST && v.bad_files == 8,
	   "... also when no file is left to tell it");
	must(unlink(fmt("%s/.scr/index.scr", scene_prefix(&moved))) == 0);
	ok(verify(scene_prefix(&moved), &v, &t) == -1,
	   "... but not without the index");
	options.moved_from = "/job/run 7";
	ok(verify(scene_prefix(&moved), &v, &t) == 0 && v.status == STATUS_LOST,
	   "... unless it is given by hand");
	options.moved_from = NULL;
}

#define FLUSH "DATASET>7>DSETDESC>"

#define LINE "2026-11-20T22:53:38: host=n, jobid=1, event="

/* The descriptor is that of flush.scr, else of a summary; without them it is
 * inferred from the log, else from the files. */
TEST(sources)
{
	static const struct {
		const char *what, *flush, *log, *name, *words;
		bool output;
	} cases[] = {
		{ "flush.scr",
		  FLUSH "ID>7\n" FLUSH "NAME>by flush\n" FLUSH "FILES>8\n" FLUSH
			"SIZE>1\n",
		  NULL, "by flush", "its descriptor says", false },
		{ "the name beside the descriptor",
		  FLUSH "ID>7\nDATASET>7>NAME>beside\n", NULL, "beside", "",
		  false },
		{ "another number in flush.scr",
		  FLUSH "ID>8\n" FLUSH "NAME>x\n", NULL, "by summary",
		  "dataset 8", false },
		{ "no name in flush.scr", FLUSH "ID>7\n", NULL, "by summary",
		  "no NAME", false },
		{ "a bad name in flush.scr", FLUSH "ID>7\n" FLUSH "NAME>a\tb\n",
		  NULL, "by summary", "a\\tb", false },
		{ "an entry of a fetch", "DATASET>7>LOCATION>CACHE\n", NULL,
		  "by summary", "", false },
		{ "a number that is none", FLUSH "ID>7x\n", NULL, "by summary",
		  "flush.scr", false },
		{ "no flush.scr", NULL, NULL, "by summary", "", false },
		{ "a checkpoint in the log", NULL,
		  LINE "CHECKPOINT_START, note=\"/x\", dset=7, "
		       "name=\"in, log\"\n",
		  "in, log", "", false },
		{ "an output in the log", NULL,
		  LINE "OUTPUT_END, dset=7, name=\"out\", secs=1.0\n", "out",
		  "", true },
		{ "another dataset in the log", NULL,
		  LINE "CHECKPOINT_END, dset=77, name=\"x\"\nrubbish\n", "ckpt",
		  "", false },
		{ "the later of two lines", NULL,
		  LINE "CHECKPOINT_END, dset=7, name=\"old\"\n"
		       "2026-11-20T22:53:39: host=n, jobid=2, "
		       "event=CHECKPOINT_END, dset=7, name=\"new\"\n",
		  "new", "", false },
		{ "a log without lines", NULL, "", "ckpt", "", false },
	};
	struct build_result r;
	struct index_entry e;
	auto_buf longer = BUF_INIT;

	each (c, cases) {
		const bool guess = c->log != NULL;

		scene_make(&xor4);
		if (guess)
			write_text(fmt("%s/.scr/log", scene_prefix(&xor4)),
				   c->log);
		else
			put_tree(fmt("%s/summary.scr", scene_meta(&xor4, 0)),
				 "DSET>NAME>by summary\nDSET>ID>7\n");
		if (c->flush != NULL)
			put_tree(fmt("%s/.scr/flush.scr", scene_prefix(&xor4)),
				 c->flush);
		must(build(scene_prefix(&xor4), &r, NULL) == 0);
		is_str(r.name, c->name, c->what);
		index_free(entry(scene_prefix(&xor4), &e));
		ok(r.descriptor_guessed == guess &&
			   (!guess || e.desc.is_output == c->output),
		   "... guessed or not");
		if (*c->words != '\0')
			ok(heard(c->words), "... and why");
	}
	/* A log with lines longer than any block that is read. */
	scene_make(&xor4);
	for (int i = 0; i < 3000; i++)
		must(buf_printf(
			     &longer,
			     "2026-11-20T22:53:38: host=n, jobid=1, "
			     "event=CHECKPOINT_END, dset=%d, name=\"n%0*d\"\n",
			     i, i % 300, i) == 0);
	for (int i = 0; i < 200000; i++)
		must(buf_add_char(&longer, 'x') == 0);
	write_text(fmt("%s/.scr/log", scene_prefix(&xor4)), longer.data);
	must(build(scene_prefix(&xor4), &r, NULL) == 0);
	is_str(r.name, "n0000007", "one line of many");
}

/* Make a dataset of one rank without redundancy; its filemap has this path in
 * the cache. */
static void
make_cached(const char *cache_path)
{
	struct filemap_file f = {
		.cache_path = cache_path,
		.dir = scratch_root,
		.name = "file",
		.complete = true,
		.ranks = 1,
		.attr = { .size = 1, .has_size = true },
	};
	auto_kvtree *t = kvtree_new(NULL);

	scratch_new();
	must(filemap_add(t, &f, NULL) == 0);
	write_text(here("file"), "x");
	make_parents(here(".scr/scr.dataset.7/x"));
	must(kvtree_write_file(t, AT_FDCWD,
			       here(".scr/scr.dataset.7/filemap_0"),
			       NULL) == 0);
}

TEST(cache_paths)
{
	static const struct {
		const char *path, *user, *job;
	} cases[] = {
		{ "/dev/shm/me/scr.1000/scr.dataset.7/file", "me", "1000" },
		{ "/me/scr.1000/node.3/scr.dataset.7/file", "me", "1000" },
		{ "/me/scr.1000/scr.dataset.8/file", NULL, NULL },
		{ "/scr.1000/scr.dataset.7/file", NULL, NULL },
		{ "/me/scr.dataset.7/file", NULL, NULL },
		{ "/scr.dataset.7/file", NULL, NULL },
		{ "/me//scr.dataset.7/file", NULL, NULL },
		{ "/me/node.3/scr.dataset.7/file", NULL, NULL },
	};
	struct build_result r;
	struct index_entry e;

	each (c, cases) {
		auto_index *ix = NULL;

		make_cached(c->path);
		must(build(scratch_root, &r, NULL) == 0);
		ix = entry(scratch_root, &e);
		is_str(e.desc.user, c->user, c->path);
		is_str(e.desc.job_id, c->job, "... and the job");
		/* The files are in the prefix itself, so no directory gives a
		 * name. */
		is_str(e.name, "scr.dataset.7", "... but no name");
	}
}

TEST(memory)
{
	options.work.log = be_deaf;
	for (int cached = 0; cached < 2; cached++) {
		without_memory_after (
			m,
			cached ? make_cached("/me/scr.1/scr.dataset.7/file")
			       : make_flushed(),
			2, cached ? "filemaps" : "flushed") {
			struct build_result r;

			said.len = 0;
			m.rc = build(scratch_root, &r, &m.err);
		}
		options.checksums = true;
		without_memory (x, 2, "... checked") {
			struct verify_result v;
			struct told t;

			x.rc = verify(scratch_root, &v, &t);
			x.err = why;
		}
	}
	options.checksums = false;
	options.work.log = hear;
}

/* --- Datasets with a rank2file alone --- */

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

TEST(flush_flushed)
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

	make_flushed();
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
		make_flushed();
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
	make_flushed();
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

TEST(flush_add)
{
	auto_buf added = BUF_INIT;
	auto_catalogue *c = NULL;
	struct build_result r;
	int64_t id = 0;

	make_flushed();
	put_tree(here(".scr/scr.dataset.7/summary.scr"),
		 "DSET>ID>7\nDSET>NAME>fl\n");
	refuses(add(scratch_root, "fl", &id, &why), ERROR_DAMAGED, NULL,
		"add what is not complete");
	put_tree(here(".scr/scr.dataset.7/summary.scr"),
		 "DSET>ID>8\nDSET>NAME>fl\nCOMPLETE>1\n");
	refuses(add(scratch_root, "fl", &id, &why), ERROR_ABSENT, NULL,
		"a name that only another's summary gives");
	refuses(add(scratch_root, "7", &id, &why), ERROR_CORRUPT, NULL,
		"add with another's summary");
	make_flushed();
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

static void
take_result(void *arg, int64_t id, const struct delete_result *r,
	    const struct error *e)
{
	(void)id;
	(void)e;
	*(struct delete_result *)arg = *r;
}

static int
delete_once(struct delete_result *r, struct error *err)
{
	auto_catalogue *c = catalogue_open(scratch_root, err);
	const struct delete_listener listener = { take_result, r };
	const int64_t id = SCENE_ID;
	int rc = -1;

	*r = (struct delete_result){ .files = 0 };
	if (c != NULL)
		rc = catalogue_delete_all(c, &id, 1, &options, &listener, err);
	return rc;
}

static void
flushed_anew(void)
{
	struct build_result r;

	make_flushed();
	must(build(scratch_root, &r, NULL) == 0);
}

TEST(flush_delete)
{
	struct delete_result r;

	/* A file with two names: deleting it frees no space. */
	flushed_anew();
	must(link(here("d/f0"), here("copy")) == 0);
	must(unlink(here("d/f1")) == 0);
	ok(delete_once(&r, &why) == 0 && r.files == 2 && r.bytes == 1,
	   "what is freed");

	/* The index has the dataset, but its metadata are missing. */
	flushed_anew();
	remove_tree(here(".scr/scr.dataset.7"));
	ok(delete_once(&r, &why) == 0 && r.files == 0 &&
		   heard("metadata are missing") && exists(here("d/f1")),
	   "a dataset without metadata keeps its files");

	options.work.log = be_deaf;
	without_memory_after (m, flushed_anew(), 2, "deleting")
		m.rc = delete_once(&r, &m.err);
	options.work.log = hear;
}
