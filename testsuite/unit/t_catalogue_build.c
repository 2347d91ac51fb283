/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_catalogue_build.c - datasets built, added, checked and deleted.
 */
#include "json.h"
#include "par.h"
#include "unit/cattest.h"
#include "unit/scene.h"

static struct scene xor4 = {
	.type = REDSET_XOR,
	.ranks = 4,
	.sets = 1,
	.failures = 1,
	.files = 2,
};

/* What the log was told, a line each. */
static struct buf said;

static void
hear(void *arg, const char *what)
{
	(void)arg;
	must(buf_add_str(&said, what) == 0 && buf_add_char(&said, '\n') == 0);
}

static bool
heard(const char *words)
{
	if (said.len > 0 && strstr(said.data, words) != NULL)
		return true;
	printf("# heard \"%s\"\n", said.len > 0 ? said.data : "");
	return false;
}

static struct catalogue_options options = { .log = hear };

static int
build(const char *prefix, struct build_result *r, struct error *err)
{
	struct catalogue *c = catalogue_open(prefix, NULL);
	int rc = -1;

	must(c != NULL);
	buf_clear(&said);
	rc = catalogue_build(c, SCENE_ID, &options, r, err);
	catalogue_close(c);
	return rc;
}

/* The entry of the dataset, or id 0. */
static struct index *
entry(const char *prefix, struct index_entry *e)
{
	struct catalogue *c = catalogue_open(prefix, NULL);
	struct index *ix = catalogue_read(c, NULL);

	*e = (struct index_entry){ .id = 0 };
	if (ix != NULL)
		(void)index_find_id(ix, SCENE_ID, e, NULL);
	catalogue_close(c);
	return ix;
}

static void
put_tree(const char *path, const char *text)
{
	struct kvtree *t = tree_of(text);

	make_parents(path);
	must(kvtree_write_file(t, AT_FDCWD, path, NULL) == 0);
	kvtree_free(t);
}

/* --- Build --- */

static void
test_build(void)
{
	struct error err = ERROR_INIT;
	struct build_result r;
	struct index_entry e;
	struct index *ix = NULL;
	struct buf text = BUF_INIT;

	scene_make(&xor4);
	scene_lose(&xor4, 2);
	ok(build(scene_prefix(&xor4), &r, &err) == 0 && r.status == STATUS_OK,
	   "a dataset that lost a rank is built");
	ok(r.ranks == 4 && r.files == 8 && r.rebuild.files == 2 &&
		   r.rebuild.maps == 1,
	   "... what was done");
	ok(r.descriptor_guessed && heard("no descriptor"),
	   "... without a descriptor");
	is_str(r.name, "ckpt", "... named by the directory of its files");
	catalogue_build_text(SCENE_ID, &r, &text);
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
	index_free(ix);

	scene_keep(&xor4);
	ok(build(scene_prefix(&xor4), &r, &err) == 0 && r.rebuild.files == 0 &&
		   scene_same(&xor4),
	   "a second build changes nothing");
	scene_lose_data(&xor4, 0);
	scene_lose_data(&xor4, 1);
	scene_keep(&xor4);
	ok(build(scene_prefix(&xor4), &r, &err) == -1 &&
		   err.kind == ERROR_LOST && r.status == STATUS_LOST &&
		   says(&err, "ranks 0") && scene_same(&xor4),
	   "two lost are too many, and nothing changes");
	options.dry_run = true;
	ok(build(scene_prefix(&xor4), &r, &err) == -1 && r.dry_run &&
		   scene_same(&xor4),
	   "... nor without need to");
	scene_make(&xor4);
	scene_lose_data(&xor4, 1);
	scene_keep(&xor4);
	ok(build(scene_prefix(&xor4), &r, &err) == 0 &&
		   r.status == STATUS_DAMAGED && r.rebuild.files == 2 &&
		   scene_same(&xor4),
	   "a dry run says what would be done");
	options.dry_run = false;
}

static void
test_refused(void)
{
	struct error err = ERROR_INIT;
	struct build_result r;
	const char *meta = NULL;

	scratch_dir(root, sizeof(root));
	ok(build(root, &r, &err) == -1 && err.kind == ERROR_ABSENT &&
		   says(&err, "scr.dataset.7"),
	   "no .scr");
	make_parents(fmt("%s/.scr/scr.dataset.7/x", root));
	ok(build(root, &r, &err) == -1 && err.kind == ERROR_ABSENT,
	   "no metadata");
	meta = fmt("%s/.scr/scr.dataset.7", root);
	must(rmdir(meta) == 0 && symlink("/", meta) == 0);
	ok(build(root, &r, &err) == -1 && err.kind == ERROR_UNSAFE,
	   "a dataset directory that is a link");
	scene_make(&xor4);
	put_tree(fmt("%s/.scr/flush.scr", scene_prefix(&xor4)),
		 "DATASET>7>DSETDESC>ID>7\nDATASET>7>DSETDESC>NAME>x\n"
		 "DATASET>7>DSETDESC>COMPLETE>0\n");
	scene_keep(&xor4);
	ok(build(scene_prefix(&xor4), &r, &err) == -1 &&
		   err.kind == ERROR_LOST &&
		   says(&err, "declared it invalid") && scene_same(&xor4),
	   "a dataset that the job gave up");
}

/* --- Descriptors --- */

#define FLUSH "DATASET>7>DSETDESC>"

static void
test_sources(void)
{
	static const struct {
		const char *what, *flush, *name, *words;
	} cases[] = {
		{ "flush.scr",
		  FLUSH "ID>7\n" FLUSH "NAME>by flush\n" FLUSH "FILES>8\n" FLUSH
			"SIZE>1\n",
		  "by flush", "its descriptor says" },
		{ "the name beside the descriptor",
		  FLUSH "ID>7\nDATASET>7>NAME>beside\n", "beside", NULL },
		{ "another number in flush.scr",
		  FLUSH "ID>8\n" FLUSH "NAME>x\n", "by summary", "dataset 8" },
		{ "no name in flush.scr", FLUSH "ID>7\n", "by summary",
		  "no NAME" },
		{ "a bad name in flush.scr", FLUSH "ID>7\n" FLUSH "NAME>a\tb\n",
		  "by summary", "a\\tb" },
		{ "an entry of a fetch", "DATASET>7>LOCATION>CACHE\n",
		  "by summary", NULL },
		{ "a number that is none", FLUSH "ID>7x\n", "by summary",
		  "flush.scr" },
		{ "no flush.scr", NULL, "by summary", NULL },
	};
	struct build_result r;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scene_make(&xor4);
		put_tree(fmt("%s/summary.scr", scene_meta(&xor4, 0)),
			 "DSET>NAME>by summary\nDSET>ID>7\n");
		if (cases[i].flush != NULL)
			put_tree(fmt("%s/.scr/flush.scr", scene_prefix(&xor4)),
				 cases[i].flush);
		must(build(scene_prefix(&xor4), &r, NULL) == 0);
		is_str(r.name, cases[i].name, cases[i].what);
		ok(!r.descriptor_guessed, "... not guessed");
		if (cases[i].words != NULL)
			ok(heard(cases[i].words), "... and why");
	}
}

/* What is put together from traces. */
static void
test_traces(void)
{
	static const struct {
		const char *what, *log, *name;
		bool is_ckpt;
	} cases[] = {
		{ "a checkpoint in the log",
		  "2026-11-20T22:53:38: host=n, jobid=1, "
		  "event=CHECKPOINT_START, note=\"/x\", dset=7, "
		  "name=\"in, log\"\n",
		  "in, log", true },
		{ "an output in the log",
		  "2026-11-20T22:53:38: host=n, jobid=1, event=OUTPUT_END, "
		  "dset=7, name=\"out\", secs=1.0\n",
		  "out", false },
		{ "another dataset in the log",
		  "2026-11-20T22:53:38: host=n, jobid=1, "
		  "event=CHECKPOINT_END, dset=77, name=\"x\"\nrubbish\n",
		  "ckpt", true },
		{ "the later of two lines",
		  "2026-11-20T22:53:38: host=n, jobid=1, "
		  "event=CHECKPOINT_END, dset=7, name=\"old\"\n"
		  "2026-11-20T22:53:39: host=n, jobid=2, "
		  "event=CHECKPOINT_END, dset=7, name=\"new\"\n",
		  "new", true },
		{ "a log without lines", "", "ckpt", true },
	};
	struct build_result r;
	struct index_entry e;
	struct buf longer = BUF_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scene_make(&xor4);
		write_text(fmt("%s/.scr/log", scene_prefix(&xor4)),
			   cases[i].log);
		must(build(scene_prefix(&xor4), &r, NULL) == 0);
		is_str(r.name, cases[i].name, cases[i].what);
		index_free(entry(scene_prefix(&xor4), &e));
		ok(r.descriptor_guessed, "... guessed");
	}
	/* Of a log with long lines, longer than any block. */
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
	buf_free(&longer);
}

/* One rank, no redundancy: a filemap with this path in the cache. */
static void
make_cached(const char *cache_path)
{
	struct filemap_file f = {
		.cache_path = cache_path,
		.dir = root,
		.name = "file",
		.complete = true,
		.ranks = 1,
		.attr = { .size = 1, .has_size = true },
	};
	struct kvtree *t = kvtree_new(NULL);

	scratch_dir(root, sizeof(root));
	must(filemap_add(t, &f, NULL) == 0);
	write_text(fmt("%s/file", root), "x");
	make_parents(fmt("%s/.scr/scr.dataset.7/x", root));
	must(kvtree_write_file(t, AT_FDCWD,
			       fmt("%s/.scr/scr.dataset.7/filemap_0", root),
			       NULL) == 0);
	kvtree_free(t);
}

static void
test_cache_paths(void)
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct index *ix = NULL;

		make_cached(cases[i].path);
		must(build(root, &r, NULL) == 0);
		ix = entry(root, &e);
		is_str(e.desc.user, cases[i].user, cases[i].path);
		is_str(e.desc.job_id, cases[i].job, "... and the job");
		/* All files lie in the prefix itself. */
		is_str(e.name, "scr.dataset.7", "... but no name");
		index_free(ix);
	}
}

/* --- Datasets that were flushed --- */

/* Two ranks, three files of a byte. */
static void
make_flushed(const char *size)
{
	scratch_dir(root, sizeof(root));
	for (int i = 0; i < 3; i++)
		write_text(fmt("%s/d/f%d", root, i), "x");
	put_tree(fmt("%s/.scr/scr.dataset.7/summary.scr", root),
		 fmt("DSET>ID>7\nDSET>NAME>fl\nDSET>FLAG_CKPT>1\nDSET>CKPT>1\n"
		     "DSET>FILES>3\nDSET>SIZE>%s\nCOMPLETE>1\nVERSION>6\n",
		     size));
	put_tree(fmt("%s/.scr/scr.dataset.7/rank2file", root),
		 "RANKS>2\nLEVEL>1\nRANK>0>FILE>.0.0\nRANK>0>OFFSET>0\n");
	put_tree(fmt("%s/.scr/scr.dataset.7/rank2file.0.0", root),
		 "RANKS>2\nLEVEL>0\nRANK>1>FILE>d/f2\nRANK>0>FILE>d/f1\n"
		 "RANK>0>FILE>d/f0\n");
}

struct told {
	int count;
	char last[1024];
};

static void
count_told(void *arg, const char *what)
{
	struct told *t = arg;

	t->count++;
	snprintf(t->last, sizeof(t->last), "%s", what);
}

static int
verify(const char *prefix, struct verify_result *r, struct told *t)
{
	struct catalogue *c = catalogue_open(prefix, NULL);
	int rc = -1;

	must(c != NULL);
	t->count = 0;
	t->last[0] = '\0';
	rc = catalogue_verify(c, SCENE_ID, &options, count_told, t, r, NULL);
	catalogue_close(c);
	return rc;
}

static int
add(const char *prefix, const char *name, int64_t *id, struct error *err)
{
	struct catalogue *c = catalogue_open(prefix, NULL);
	int rc = -1;

	must(c != NULL);
	rc = catalogue_add(c, name, &options, id, err);
	catalogue_close(c);
	return rc;
}

/* Damage to a flushed dataset. */
static void
flush_missing(void)
{
	must(unlink(fmt("%s/d/f1", root)) == 0);
}
static void
flush_longer(void)
{
	write_text(fmt("%s/d/f1", root), "xx");
}
static void
flush_dir(void)
{
	flush_missing();
	must(mkdir(fmt("%s/d/f1", root), 0777) == 0);
}
static void
flush_link_out(void)
{
	flush_missing();
	must(symlink("/etc/passwd", fmt("%s/d/f1", root)) == 0);
}
static void
flush_no_parent(void)
{
	remove_tree(fmt("%s/d", root));
	write_text(fmt("%s/d", root), "x");
}
static void
flush_no_rank(void)
{
	put_tree(fmt("%s/.scr/scr.dataset.7/rank2file.0.0", root),
		 "RANKS>2\nLEVEL>0\nRANK>0>FILE>d/f1\n");
}
static void
flush_dotdot(void)
{
	put_tree(fmt("%s/.scr/scr.dataset.7/rank2file.0.0", root),
		 "RANKS>2\nLEVEL>0\nRANK>1\nRANK>0>FILE>d/../../f\n");
}

static void
test_flushed(void)
{
	static const struct {
		const char *what, *words;
		void (*damage)(void);
		enum error_kind kind;
	} cases[] = {
		{ "missing", "d/f1: missing", flush_missing, ERROR_LOST },
		{ "longer", "add up to 4 bytes", flush_longer, ERROR_LOST },
		{ "a directory", "d/f1: not a file", flush_dir, ERROR_LOST },
		{ "a link out", "d/f1", flush_link_out, ERROR_UNSAFE },
		{ "a file in the way", "3 of 3 files", flush_no_parent,
		  ERROR_LOST },
		{ "a rank missing", "rank 1 of 2", flush_no_rank, ERROR_LOST },
		{ "a path that leaves", "d/../../f", flush_dotdot,
		  ERROR_UNSAFE },
	};
	struct error err = ERROR_INIT;
	struct build_result r;
	struct verify_result v;
	struct told t;
	int64_t id = 0;

	make_flushed("3");
	ok(build(root, &r, &err) == 0 && r.ranks == 2 && r.files == 3 &&
		   r.bytes == 3,
	   "a flushed dataset");
	is_int(add(root, "fl", &id, &err), 0, "... added");
	is_int(id, SCENE_ID, "... its number");
	ok(verify(root, &v, &t) == 0 && v.status == STATUS_OK && t.count == 0 &&
		   v.files == 3 && v.unchecked == 3 && v.crc_checked == 0,
	   "... checked");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_flushed("3");
		cases[i].damage();
		ok(build(root, &r, &err) == -1 && err.kind == cases[i].kind &&
			   says(&err, cases[i].words),
		   cases[i].what);
		ok(add(root, "fl", &id, &err) == -1 &&
			   err.kind == cases[i].kind,
		   "... not added");
		ok(verify(root, &v, &t) == 0 && v.status == STATUS_LOST &&
			   t.count > 0,
		   "... told");
		ok(!exists(fmt("%s/.scr/index.scr", root)), "... no index");
	}
	make_flushed("3");
	must(unlink(fmt("%s/.scr/scr.dataset.7/summary.scr", root)) == 0);
	ok(build(root, &r, &err) == -1 && err.kind == ERROR_ABSENT,
	   "without a descriptor");
	put_tree(fmt("%s/.scr/flush.scr", root),
		 FLUSH "ID>7\n" FLUSH "NAME>x\n");
	ok(build(root, &r, &err) == -1 && err.kind == ERROR_LOST &&
		   says(&err, "cannot be told whether"),
	   "without a summary or a size");
	put_tree(fmt("%s/.scr/flush.scr", root), FLUSH
		 "ID>7\n" FLUSH "NAME>x\n" FLUSH "FILES>4\n" FLUSH "SIZE>3\n");
	ok(build(root, &r, &err) == -1 && says(&err, "counts 4"),
	   "without a summary, another count");
	put_tree(fmt("%s/.scr/flush.scr", root), FLUSH
		 "ID>7\n" FLUSH "NAME>x\n" FLUSH "FILES>3\n" FLUSH "SIZE>3\n");
	ok(build(root, &r, &err) == 0, "without a summary, but it adds up");
}

static void
test_add(void)
{
	struct error err = ERROR_INIT;
	struct catalogue *c = NULL;
	struct build_result r;
	int64_t id = 0;

	make_flushed("3");
	ok(add(root, "f", &id, &err) == -1 && err.kind == ERROR_ABSENT &&
		   id == -1,
	   "add what is not there");
	put_tree(fmt("%s/.scr/scr.dataset.7/summary.scr", root),
		 "DSET>ID>7\nDSET>NAME>fl\n");
	ok(add(root, "fl", &id, &err) == -1 && err.kind == ERROR_DAMAGED,
	   "add what is not complete");
	put_tree(fmt("%s/.scr/scr.dataset.7/summary.scr", root),
		 "DSET>ID>8\nDSET>NAME>fl\nCOMPLETE>1\n");
	ok(add(root, "fl", &id, &err) == -1 && err.kind == ERROR_CORRUPT,
	   "add with another's summary");
	make_flushed("3");
	must(unlink(fmt("%s/.scr/scr.dataset.7/rank2file", root)) == 0);
	ok(add(root, "fl", &id, &err) == -1 && says(&err, "--build 7"),
	   "add without rank2file");
	scene_make(&xor4);
	must(build(scene_prefix(&xor4), &r, NULL) == 0);
	scene_lose_reds(&xor4, 1, false);
	ok(add(scene_prefix(&xor4), "ckpt", &id, &err) == 0,
	   "add although redundancy is missing");
	scene_lose_data(&xor4, 3);
	ok(add(scene_prefix(&xor4), "ckpt", &id, &err) == -1 &&
		   err.kind == ERROR_LOST,
	   "... and then data, too");
	c = catalogue_open(scene_prefix(&xor4), NULL);
	ok(catalogue_add(c, "ckpt", &options, &id, NULL) == -1,
	   "without asking why");
	catalogue_close(c);
}

/* --- Checksums --- */

static void
test_sums(void)
{
	struct error err = ERROR_INIT;
	struct build_result r;
	struct verify_result v;
	struct told t;
	struct rank2file r2f;
	int dir = -1;

	options.checksums = true;
	options.par = par_new(2, NULL);
	scene_make(&xor4);
	must(build(scene_prefix(&xor4), &r, NULL) == 0);
	dir = open(scene_meta(&xor4, 0), O_RDONLY | O_DIRECTORY);
	must(rank2file_load(dir, "rank2file", &r2f, NULL) == 0);
	ok(r2f.ranks[1].files[0].has_crc && r2f.ranks[1].files[1].has_size,
	   "sums are recorded");
	rank2file_free(&r2f);
	close(dir);
	flip(scene_data(&xor4, 1, 0), 5);
	ok(verify(scene_prefix(&xor4), &v, &t) == 0 &&
		   v.status == STATUS_DAMAGED && v.bad_files == 1 &&
		   v.crc_checked == 8 && t.count == 1,
	   "a wrong one is found");
	ok(build(scene_prefix(&xor4), &r, &err) == 0 && r.rebuild.files == 1,
	   "... and rebuilt");
	ok(verify(scene_prefix(&xor4), &v, &t) == 0 && v.status == STATUS_OK,
	   "... to what it was");
	scene_lose_data(&xor4, 2);
	flip(scene_data(&xor4, 1, 0), 5);
	ok(build(scene_prefix(&xor4), &r, &err) == -1 && err.kind == ERROR_LOST,
	   "a wrong one beside a lost one");

	/* Damaged redundancy makes a file that is not what is recorded. */
	scene_make(&xor4);
	must(build(scene_prefix(&xor4), &r, NULL) == 0);
	flip(scene_red(&xor4, 0, false, false), -1);
	flip(scene_red(&xor4, 2, false, false), -1);
	flip(scene_red(&xor4, 3, false, false), -1);
	(void)unlink(scene_data(&xor4, 1, 0));
	(void)unlink(scene_data(&xor4, 1, 1));
	ok(build(scene_prefix(&xor4), &r, &err) == -1,
	   "what is rebuilt is compared, too");

	make_flushed("3");
	must(build(root, &r, NULL) == 0);
	ok(verify(root, &v, &t) == 0 && v.status == STATUS_OK &&
		   v.crc_checked == 3 && v.unchecked == 0,
	   "sums of a flushed dataset");
	flip(fmt("%s/d/f2", root), 0);
	ok(verify(root, &v, &t) == 0 && v.status == STATUS_LOST &&
		   strstr(t.last, "wrong checksum") != NULL,
	   "... a wrong one");
	par_free(options.par);
	options.par = NULL;
	options.checksums = false;
	/* A build that does not read them keeps them. */
	must(build(root, &r, NULL) == 0);
	options.checksums = true;
	ok(verify(root, &v, &t) == 0 && v.crc_checked == 2,
	   "... kept by a quick build");
	options.checksums = false;
}

/* --- Out of memory --- */

static int
build_once(void *arg, struct error *err)
{
	struct build_result r;

	(void)arg;
	said.len = 0;
	return build(root, &r, err);
}

static int
verify_once(void *arg, struct error *err)
{
	struct catalogue *c = catalogue_open(root, err);
	struct verify_result r;
	struct told t = { .count = 0 };
	int rc = -1;

	(void)arg;
	if (c != NULL)
		rc = catalogue_verify(c, SCENE_ID, &options, count_told, &t, &r,
				      err);
	catalogue_close(c);
	return rc;
}

static void
cached_anew(void *arg)
{
	(void)arg;
	make_cached("/me/scr.1/scr.dataset.7/file");
}

static void
flushed_anew(void *arg)
{
	(void)arg;
	make_flushed("3");
}

/* hear() must not be what fails. */
static void
be_deaf(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

static void
test_memory(void)
{
	options.log = be_deaf;
	options.checksums = true;
	ok(fails_well(build_once, flushed_anew, NULL),
	   "a flushed dataset without memory");
	ok(fails_well(verify_once, NULL, NULL), "... checked");
	ok(fails_well(build_once, cached_anew, NULL),
	   "one with filemaps without memory");
	ok(fails_well(verify_once, NULL, NULL), "... checked");
	options.checksums = false;
	options.log = hear;
}

int
main(void)
{
	test_build();
	test_refused();
	test_sources();
	test_traces();
	test_cache_paths();
	test_flushed();
	test_add();
	test_sums();
	test_memory();
	buf_free(&said);
	remove_tree(root);
	scene_end(&xor4);
	return tap_done();
}
