/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_catalogue_build.c - builds of datasets, and the sources of their
 * descriptors.  Second builds, dry runs and losses: cmd/scr_index.bats.
 */
#include "scene.h"

#include "cattest.h"
#include "report/results.h"

TEST(build)
{
	struct build_result r;
	struct index_entry e;
	auto_index *ix = NULL;
	struct buf text = BUF_INIT;

	scene_make(&xor4);
	scene_lose(&xor4, 2);
	ok(build(scene_prefix(&xor4), &r, &why) == 0 && r.status == STATUS_OK,
	   "a dataset that lost a rank is built");
	ok(r.ranks == 4 && r.files == 8 && r.rebuild.files == 2 &&
		   r.rebuild.maps == 1,
	   "... what was done");
	ok(r.descriptor_guessed && heard("no descriptor"),
	   "... without a descriptor");
	is_str(r.name, "ckpt", "... named by the directory of its files");
	results_build_text(SCENE_ID, &r, &text);
	ok(strstr(text.data, "(ckpt): 8 files of 4 ranks") != NULL &&
		   strstr(text.data, "rebuilt 2 files, 1 filemap and") != NULL,
	   "... told in a line");
	buf_free(&text);
	ix = entry(scene_prefix(&xor4), &e);
	ok(e.id == SCENE_ID && index_entry_valid(&e) && e.desc.is_ckpt &&
		   e.desc.ckpt_id == SCENE_ID && e.desc.files == 8 &&
		   e.desc.bytes == r.bytes && e.desc.created_us > 0,
	   "... its entry");
	ok(index_current(ix) == NULL, "... which is not the restart point");
}

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

static int
build_once(void *arg, struct error *err)
{
	struct build_result r;

	(void)arg;
	said.len = 0;
	return build(scratch_root, &r, err);
}

static int
verify_once(void *arg, struct error *err)
{
	auto_catalogue *c = catalogue_open(scratch_root, err);
	struct verify_result r;
	struct told t = { .count = 0 };
	const struct verify_listener problems = { count_told, &t };
	const struct index_entry entry = { .id = SCENE_ID, .complete = -1 };
	int rc = -1;

	(void)arg;
	if (c != NULL)
		rc = catalogue_verify(c, &entry, &options, &problems, &r, err);
	return rc;
}

static void
cached_anew(void *arg)
{
	(void)arg;
	make_cached("/me/scr.1/scr.dataset.7/file");
}

TEST(memory)
{
	options.work.log = be_deaf;
	ok(fails_well(build_once, make_flushed, NULL),
	   "a flushed dataset without memory");
	options.checksums = true;
	ok(fails_well(verify_once, NULL, NULL), "... checked");
	ok(fails_well(build_once, cached_anew, NULL),
	   "one with filemaps without memory");
	ok(fails_well(verify_once, NULL, NULL), "... checked");
	options.checksums = false;
	options.work.log = hear;
}
