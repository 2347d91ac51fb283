/* SPDX-License-Identifier: BSD-3-Clause */
/* What a path is; which caches lie below it; all datasets of a prefix. */
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "dataset/subject.h"
#include "dataset/survey.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "path.h"
#include "tap.h"

static char top[4096];

/* The path `rel` below the scratch directory. */
static const char *
at(const char *rel)
{
	static char path[8][4352];
	static int next;

	next = (next + 1) % 8;
	snprintf(path[next], sizeof(path[next]), "%s/%s", top, rel);
	return path[next];
}

/* Make a directory, or an empty file, with all directories above it. */
static void
make(const char *rel, bool file)
{
	char path[4352];

	snprintf(path, sizeof(path), "%s", at(rel));
	for (char *p = path + strlen(top) + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	if (file)
		close(open(path, O_WRONLY | O_CREAT, 0644));
	else
		mkdir(path, 0755);
}

static enum survey_kind
kind_of(const char *rel, struct survey_place *p, struct arena *a)
{
	return survey_look(at(rel), a, p, NULL) < 0 ? (enum survey_kind)99
						    : p->kind;
}

static void
test_look(void)
{
	struct arena *a = arena_new();
	struct survey_place p;

	make("run/.scr/scr.dataset.5", false);
	make("run/data", true);
	make("n0/cache/u/scr.7/scr.dataset.5/.scr/filemap_0", true);
	is_int(kind_of("run", &p, a), SURVEY_PREFIX, "a prefix");
	is_str(p.prefix, at("run"), "as it was given");
	is_int(kind_of("run/.scr", &p, a), SURVEY_PREFIX, "its .scr");
	is_str(p.prefix, at("run"), "is the prefix");
	is_int(kind_of("run/.scr/scr.dataset.5", &p, a), SURVEY_DATASET,
	       "a dataset of it");
	is_int(p.id, 5, "its number");
	is_str(p.prefix, at("run"), "its prefix");
	is_int(kind_of("run/data", &p, a), SURVEY_FILE, "a file");
	is_int(kind_of("n0/cache/u/scr.7/scr.dataset.5", &p, a), SURVEY_CACHE,
	       "a dataset in a cache");
	is_int(kind_of("n0/cache/u/scr.7/scr.dataset.5/.scr", &p, a),
	       SURVEY_CACHE, "its metadata");
	is_str(p.prefix, at("n0/cache/u/scr.7/scr.dataset.5"), "the cache");
	is_int(kind_of("n0", &p, a), SURVEY_OTHER, "something above a cache");
	is_int(kind_of("none", &p, a), 99, "nothing");
	arena_free(a);
}

static void
test_caches(void)
{
	struct survey_caches c;
	size_t found = 0;

	make("n1/cache/u/scr.7/scr.dataset.5/.scr/filemap_1", true);
	make("n1/cache/u/scr.7/scr.dataset.10/.scr/filemap_1", true);
	make("n1/cache/u/scr.8/node.3/scr.dataset.5/.scr/filemap_1", true);
	make("n1/cache/u/scr.8/scr.dataset.05/.scr/filemap_1", true);
	make("n1/cache/u/scr.8/scr.dataset.6", false); /* no .scr in it */
	if (symlink(at("n0"), at("n1/link")) < 0)
		abort();
	ok(survey_caches_init(&c, NULL) == 0, "init");
	ok(survey_caches_add(&c, at("n0"), &found, NULL) == 0, "node 0");
	is_int((int64_t)found, 1, "has one");
	ok(survey_caches_add(&c, at("n1"), &found, NULL) == 0, "node 1");
	is_int((int64_t)found, 4, "has three, links not followed");
	is_int((int64_t)c.count, 3, "datasets");
	is_int(c.groups[0].id, 5, "the first");
	is_str(c.groups[0].job, "scr.7", "of job 7");
	is_int((int64_t)c.groups[0].ndirs, 2, "on two nodes");
	is_str(c.groups[1].job, "scr.8", "of another job, below node.3");
	is_int(c.groups[2].id, 10, "by number");
	survey_caches_fini(&c);
}

static void
test_prefix(void)
{
	static const struct catalogue_options none = { .memory = 0 };
	struct error err = ERROR_INIT;
	struct survey_health h;
	struct survey s;

	ok(survey_init(&s, at("run"), NULL) == 0, "a prefix without an index");
	ok(s.index == NULL && s.no_index != NULL, "says so");
	is_int((int64_t)s.count, 1, "has the directory's dataset");
	ok(survey_find(&s, "5", NULL) == &s.entries[0], "by number");
	ok(survey_find(&s, "x", &err) == NULL && err.kind == ERROR_ABSENT,
	   "not by another name");
	ok(survey_check(&s, &s.entries[0], &none, &h, NULL) == 0, "check");
	is_int(h.status, STATUS_LOST, "nothing tells its files");
	json_free(survey_prefix_json(&s, json_new_array()));
	json_free(survey_json(&h, true, true));
	survey_health_fini(&h);
	survey_fini(&s);
	ok(survey_init(&s, at("none"), &err) < 0, "no prefix");
	survey_fini(&s);
}

static void
test_subject(void)
{
	const char *two[2] = { at("n0"), at("n1/cache/u/scr.7/scr.dataset.5") };
	const char *bare[2];
	struct error err = ERROR_INIT;
	struct subject s;

	ok(subject_find(&s, at("run"), two, 2, NULL) == 0 &&
		   s.kind == SUBJECT_CACHES && s.ndirs == 2 && s.id == 5,
	   "two caches");
	subject_fini(&s);
	two[1] = at("n1");
	ok(subject_find(&s, at("run"), two, 2, &err) < 0 &&
		   err.kind == ERROR_USAGE,
	   "several datasets");
	subject_fini(&s);
	bare[0] = "map";
	bare[1] = at("n0/x/red.er.0.xor.grp_1_of_1.mem_1_of_2.redset");
	make("n0/x", false);
	ok(subject_find_files(&s, NULL, REDSET_XOR, bare, 2, NULL) == 0 &&
		   s.map && s.nnames == 1,
	   "a file by hand");
	is_str(s.dir, at("n0/x"), "its directory");
	is_str(s.names[0], path_base(bare[1]), "its name in it");
	subject_fini(&s);
	ok(subject_find_files(&s, NULL, REDSET_RS, bare, 2, &err) < 0 &&
		   err.kind == ERROR_USAGE,
	   "of another type");
	subject_fini(&s);
}

static void
test_memory(void)
{
	struct error err = ERROR_INIT;
	struct survey_caches c;
	struct survey s;
	bool good = true;
	int rc = -1;
	long n = 0;

	for (; rc < 0 && n < 10000; n++) {
		size_t found = 0;

		error_clear(&err);
		mem_fail_after(n);
		rc = survey_init(&s, at("run"), &err);
		survey_fini(&s);
		if (rc == 0) {
			rc = survey_caches_init(&c, &err);
			if (rc == 0)
				rc = survey_caches_add(&c, at("n1"), &found,
						       &err);
			survey_caches_fini(&c);
		}
		mem_fail_after(-1);
		good = good && (rc == 0 || err.kind == ERROR_NOMEM);
	}
	ok(good && rc == 0 && n > 10, "each allocation may fail");
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int
main(void)
{
	const char *tmp = getenv("TMPDIR");
	char dir[4000];
	struct buf real = BUF_INIT;

	snprintf(dir, sizeof(dir), "%s/t_survey.XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL || path_real(dir, &real, NULL) < 0)
		abort();
	snprintf(top, sizeof(top), "%s", real.data);
	buf_free(&real);
	test_look();
	test_caches();
	test_prefix();
	test_subject();
	test_memory();
	ok(nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0,
	   "nothing is left");
	return tap_done();
}
