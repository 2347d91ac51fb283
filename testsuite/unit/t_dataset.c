/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/dataset.h"
#include "meta/dataset_dir.h"

#include <errno.h>

#include "arena.h"
#include "json.h"
#include "metatest.h"

static const char full[] =
	"ID>7\nNAME>ckpt.7\nFLAG_CKPT>1\nFLAG_OUTPUT>0\n"
	"CREATED>1795215218613360\nUSER>golduser\nJOBNAME>goldjob\n"
	"JOBID>1000\nCLUSTER>goldcluster\nCKPT>3\nFILES>14\nSIZE>158686\n"
	"COMPLETE>1\n";

static void
test_round_trip(void)
{
	struct kvtree *t = tree_of(full), *copy = kvtree_new(NULL);
	struct dataset d;

	is_int(dataset_read(t, &d, NULL), 0, "a descriptor is read");
	is_int(d.id, 7, "... id");
	is_str(d.name, "ckpt.7", "... name");
	ok(d.is_ckpt && !d.is_output, "... flags");
	is_int(d.ckpt_id, 3, "... checkpoint id");
	is_int(d.created_us, 1795215218613360, "... time");
	is_str(d.user, "golduser", "... user");
	is_str(d.job_name, "goldjob", "... job name");
	is_str(d.job_id, "1000", "... job id");
	is_str(d.cluster, "goldcluster", "... cluster");
	is_int(d.files, 14, "... files");
	is_int((int64_t)d.bytes, 158686, "... bytes");
	is_int(d.complete, 1, "... complete");
	is_int(dataset_write(copy, &d, NULL), 0, "it is written");
	ok(tree_same(copy, t, false), "... in the library's order");
	kvtree_free(t);
	kvtree_free(copy);
}

static void
test_parts(void)
{
	struct kvtree *t = kvtree_new(NULL), *copy = kvtree_new(NULL);
	struct dataset d;

	is_int(dataset_read(NULL, &d, NULL), 0, "no descriptor");
	ok(d.id == 0 && d.name == NULL && !d.is_ckpt && !d.is_output &&
		   d.ckpt_id == -1 && d.created_us == -1 && d.user == NULL &&
		   d.files == -1 && d.complete == -1,
	   "... is nothing known");
	tree_add(t, "ID>1\nNAME>a/b c\nFLAG_CKPT>0\nFLAG_OUTPUT>1\n"
		    "CREATED>5\nUSER>u\nJOBID>j\n");
	is_int(dataset_read(t, &d, NULL), 0, "one not completed");
	ok(!d.is_ckpt && d.is_output && d.files == -1 && d.complete == -1 &&
		   d.cluster == NULL && d.job_name == NULL,
	   "... has no count of files");
	is_int(dataset_write(copy, &d, NULL), 0, "... is written");
	ok(tree_same(copy, t, false), "... as it was");
	tree_clear(t);
	tree_add(t, "ID>1\nCKPT>1\nNEW>x\n");
	is_int(dataset_read(t, &d, NULL), 0, "SCR 1.1.8's has no flags");
	ok(d.is_ckpt, "... but is a checkpoint");
	kvtree_free(t);
	kvtree_free(copy);
}

static void
test_copy(void)
{
	struct kvtree *t = tree_of("ID>1\nNAME>a\nFLAG_CKPT>1\nFLAG_OUTPUT>0\n"
				   "USER>u\nJOBNAME>n\nJOBID>j\nCLUSTER>c\n");
	struct kvtree *want = tree_of("ID>1\nNAME>a\nFLAG_CKPT>1\n"
				      "FLAG_OUTPUT>0\nUSER>u\nJOBNAME>n\n"
				      "JOBID>j\nCLUSTER>c\n");
	struct kvtree *got = kvtree_new(NULL);
	struct arena *a = arena_new();
	struct dataset d, copy;

	ok(dataset_read(t, &d, NULL) == 0 &&
		   dataset_copy(&copy, &d, a, NULL) == 0,
	   "a record is copied");
	ok(copy.name != d.name && copy.user != d.user &&
		   copy.job_name != d.job_name && copy.job_id != d.job_id &&
		   copy.cluster != d.cluster,
	   "... with its strings");
	kvtree_free(t);
	ok(dataset_write(got, &copy, NULL) == 0 && tree_same(got, want, false),
	   "... and lasts longer");
	arena_free(a);
	kvtree_free(got);
	kvtree_free(want);
}

static void
test_refused(void)
{
	static const char *const bad[] = {
		"ID>x\n",
		"ID>2147483648\n",
		"ID>1\nID>2\n",
		"NAME>a\nNAME>b\n",
		"NAME\n",
		"FLAG_CKPT>2\n",
		"FLAG_OUTPUT>yes\n",
		"CREATED>-5\n",
		"CKPT>-1\n",
		"FILES>-1\n",
		"SIZE>-1\n",
		"COMPLETE>\n",
		"USER\n",
		"JOBID>1\nJOBID>2\n",
		"SIZE>9223372036854775808\n",
	};
	size_t i = 0;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kvtree *t = tree_of(bad[i]);
		struct error err = ERROR_INIT;
		struct dataset d;

		is_int(dataset_read(t, &d, &err), -1, label(bad[i]));
		ok(err.kind == ERROR_CORRUPT &&
			   strncmp(err.text, bad[i], strcspn(bad[i], ">\n")) ==
				   0,
		   err.text);
		kvtree_free(t);
	}
}

static void
read_any(const struct kvtree *t, void *arg)
{
	struct error err = ERROR_INIT;
	struct dataset d;

	if (dataset_read(t, &d, &err) < 0 && err.kind != ERROR_CORRUPT)
		++*(int *)arg;
}

static int
write_all(void *arg, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	int rc = t == NULL ? -1 : dataset_write(t, arg, err);

	kvtree_free(t);
	return rc;
}

static void
test_damage(void)
{
	struct kvtree *t = tree_of(full);
	struct dataset d;
	int odd = 0;

	ok(tree_flip_each(t, read_any, &odd) > 50, "flipped bytes");
	is_int((int64_t)tree_drop_each(t, read_any, &odd), 26, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	dataset_read(t, &d, NULL);
	ok(fail_each_alloc(write_all, &d) > 0, "no memory to write");
	kvtree_free(t);
}

static void
test_names(void)
{
	char name[1025];

	memset(name, 'x', sizeof(name));
	name[1024] = '\0';
	ok(dataset_name_ok("ckpt.1"), "a name");
	ok(dataset_name_ok("a b/c"), "a name with blank and slash");
	ok(dataset_name_ok("\xc3\xa4"), "a name in UTF-8");
	ok(!dataset_name_ok(""), "no name");
	ok(!dataset_name_ok("a\nb"), "a name of two lines");
	ok(!dataset_name_ok("a\x7f"), "a name with DEL");
	ok(!dataset_name_ok(name), "a name of 1024 bytes");
	ok(dataset_name_ok(name + 1), "a name of 1023 bytes");
	is_int(dataset_dir_id("scr.dataset.7"), 7, "a directory");
	is_int(dataset_dir_id("scr.dataset.2147483647"), 2147483647,
	       "the last directory");
	is_int(dataset_dir_id("scr.dataset.2147483648"), -1, "one more");
	is_int(dataset_dir_id("scr.dataset.0"), -1, "id 0");
	is_int(dataset_dir_id("scr.dataset.07"), -1, "leading zero");
	is_int(dataset_dir_id("scr.dataset.-7"), -1, "sign");
	is_int(dataset_dir_id("scr.dataset."), -1, "no id");
	is_int(dataset_dir_id("scr.dataset.7x"), -1, "suffix");
	is_int(dataset_dir_id("xscr.dataset.7"), -1, "prefix");
	is_int(dataset_dir_id(""), -1, "nothing");
}

static void
test_dir(void)
{
	static const struct {
		const char *name;
		enum dataset_dir_kind kind;
		uint32_t rank;
	} cases[] = {
		{ "summary.scr", DATASET_DIR_SUMMARY, 99 },
		{ "rank2file", DATASET_DIR_RANK2FILE, 99 },
		{ "rank2file.0.8192", DATASET_DIR_RANK2FILE_PART, 99 },
		{ "filemap_12", DATASET_DIR_FILEMAP, 12 },
		{ "filemap_12x", DATASET_DIR_FOREIGN, 99 },
		{ "reddesc.er.3.redset", DATASET_DIR_DESCRIPTOR, 3 },
		{ "reddescmap.er.2.xor.grp_1_of_2.mem_2_of_4.redset",
		  DATASET_DIR_REDUNDANCY, 2 },
		{ "copied_4.scr", DATASET_DIR_COPIED, 99 },
		{ "packed.8192.scr", DATASET_DIR_PACKED, 99 },
		{ "packed.1x.scr", DATASET_DIR_FOREIGN, 99 },
		{ "packed.scr", DATASET_DIR_FOREIGN, 99 },
		{ ".scr", DATASET_DIR_CONTAINERS, 99 },
		{ "manifest.sha256", DATASET_DIR_KEPT, 99 },
		{ "rebuild.scr", DATASET_DIR_MARKED, 99 },
		{ ".scrkit.gone", DATASET_DIR_DELETED, 99 },
		{ ".scrkit.lock", DATASET_DIR_LOCK, 99 },
		{ ".scrkit-0123456789abcdef.tmp", DATASET_DIR_TEMP, 99 },
		{ "rank_7.state_file", DATASET_DIR_LEFT, 99 },
		{ "scavenge.o1000", DATASET_DIR_LEFT, 99 },
		{ "notes.txt", DATASET_DIR_FOREIGN, 99 },
		{ "", DATASET_DIR_FOREIGN, 99 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t rank = 99;

		is_int(dataset_dir_kind(cases[i].name, &rank), cases[i].kind,
		       cases[i].name);
		is_int(rank, cases[i].rank, "... and its rank");
	}
	ok(dataset_dir_is_recovery("filemap_0") &&
		   !dataset_dir_is_recovery("rank2file"),
	   "what a rebuild starts from");
}

static void
test_json(void)
{
	struct kvtree *t = tree_of(full);
	struct dataset d;
	struct json *obj = json_new_object();
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	dataset_read(t, &d, NULL);
	dataset_json(&d, obj);
	is_int(json_print(obj, f, NULL), 0, "JSON");
	fclose(f);
	ok(strstr(text, "\"id\": 7") != NULL &&
		   strstr(text, "\"name\": \"ckpt.7\"") != NULL &&
		   strstr(text, "\"checkpoint\": true") != NULL &&
		   strstr(text, "\"bytes\": 158686") != NULL &&
		   strstr(text, "\"complete\": true") != NULL,
	   "... has all");
	free(text);
	obj = json_new_object();
	f = open_memstream(&text, &size);
	dataset_read(NULL, &d, NULL);
	dataset_json(&d, obj);
	is_int(json_print(obj, f, NULL), 0, "JSON of nothing");
	fclose(f);
	ok(strstr(text, "\"id\": null") != NULL &&
		   strstr(text, "\"bytes\": null") != NULL &&
		   strstr(text, "\"complete\": null") != NULL,
	   "... is null");
	free(text);
	kvtree_free(t);
}

int
main(void)
{
	test_round_trip();
	test_parts();
	test_copy();
	test_refused();
	test_damage();
	test_names();
	test_dir();
	test_json();
	return tap_done();
}
