/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen_meta - make large metadata files for measurements and tests: an index of
 * many datasets, a tree with many entries on one level.  (For datasets of many
 * ranks or files see gen_dataset --type NONE.)
 */
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

#include "app.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "metatest.h"
#include "opt.h"
#include "scratch.h"

#define BASE_TIME 1700000000

/* Make an index of `count` datasets: every seventh is an output, the others are
 * checkpoints; every tenth is unfinished. */
static struct index *
make_index(uint64_t count)
{
	struct index *ix = index_new(NULL);
	struct kvtree *desc = kvtree_new(NULL);
	char stamp[INDEX_STAMP_SIZE], name[64];

	for (int64_t id = 1; id <= (int64_t)count; id++) {
		const struct dataset d = {
			.id = id,
			.name = name,
			.is_ckpt = id % 7 != 0,
			.is_output = id % 7 == 0,
			.ckpt_id = id % 7 != 0 ? id : -1,
			.created_us = (BASE_TIME + 60 * id) * 1000000,
			.user = "genuser",
			.job_name = "genjob",
			.job_id = "1000",
			.cluster = "gencluster",
			.files = 8,
			.bytes = (uint64_t)id * 4096,
			.complete = 1,
		};

		tree_clear(desc);
		snprintf(name, sizeof(name), "ckpt.%" PRId64, id);
		index_stamp(stamp, BASE_TIME + 60 * id);
		must(dataset_write(desc, &d, NULL) == 0 &&
		     index_add(ix, desc, id % 10 != 0, stamp, NULL) == 0);
	}
	kvtree_free(desc);
	return ix;
}

/* Write PREFIX/.scr/index.scr. */
static int
write_index(const char *prefix, uint64_t count, struct error *err)
{
	struct index *ix = NULL;
	char path[PATH_MAX];
	int rc = -1;

	snprintf(path, sizeof(path), "%s/.scr", prefix);
	if (io_make_dirs(path, 0777, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/.scr/index.scr", prefix);
	ix = make_index(count);
	rc = kvtree_write_file(index_tree(ix), AT_FDCWD, path, err);
	index_free(ix);
	return rc;
}

/* Write a tree of `count` keys on one level, each with a value. */
static int
write_flat(const char *file, uint64_t count, struct error *err)
{
	struct kvtree *t = kvtree_new(NULL);
	int rc = 0;
	char key[32];

	for (uint64_t i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "key.%" PRIu64, i);
		must(kvtree_set_u64(t, key, i, NULL) == 0);
	}
	rc = kvtree_write_file(t, AT_FDCWD, file, err);
	kvtree_free(t);
	return rc;
}

static const struct app_info info = {
	.name = "gen_meta",
	.summary = "make large metadata files",
	.usage = "--index N --prefix DIR | --flat N --output FILE",
};

int
main(int argc, char **argv)
{
	const char *prefix = NULL, *output = NULL;
	uint64_t datasets = 0, entries = 0;
	const struct opt opts[] = {
		OPT_STRING('p', "prefix", &prefix, "DIR", OPT_DIR,
			   "write .scr/index.scr below this directory"),
		OPT_U64(0, "index", &datasets, "N", 1, 10000000,
			"an index of this many datasets"),
		OPT_STRING('o', "output", &output, "FILE", OPT_FILE,
			   "file of --flat"),
		OPT_U64(0, "flat", &entries, "N", 1, 100000000,
			"a tree of this many entries in one level"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	int count = 0, rc = 0;

	app_start(&info, argc, argv, opts, &count);
	if (count > 0 || (datasets > 0) != (prefix != NULL) ||
	    (entries > 0) != (output != NULL) || datasets + entries == 0)
		app_usage("give --index with --prefix, or --flat with "
			  "--output");
	if (datasets > 0)
		rc = write_index(prefix, datasets, &err);
	if (rc == 0 && entries > 0)
		rc = write_flat(output, entries, &err);
	return app_finish(app_report(rc < 0 ? STATUS_FAILED : STATUS_OK, &err));
}
