/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_hidden_read.c - packed metadata with invalid contents, other files in its
 * place, and the removal of old parts.
 */
#include "container/hidden.h"

#include "maptest.h"
#include "meta/dataset_dir.h"

/* Only old parts are removed from the metadata directory. */
TEST(sweeping)
{
	static const char *const stay[] = { "packed.0.scr", "packed.01.scr",
					    "packed.7.scr.bak", "rank2file" };
	auto_kvtree *table = tree_of("HIDDEN>packed.0.scr\n");
	struct rank2file r = { .containers = table };
	bool good = true;

	map_enter();
	for (size_t i = 0; i < 4; i++)
		write_text(here("%s", stay[i]), "");
	write_text(here("packed.1.scr"), "");
	write_text(here("packed.8192.scr"), "");
	is_int(hidden_sweep(map_dir, &r, &why), 0, "swept");
	for (size_t i = 0; i < 4; i++)
		good &= exists(here("%s", stay[i]));
	ok(good && !exists(here("packed.1.scr")) &&
		   !exists(here("packed.8192.scr")),
	   "old parts go, all else stays");
	r.containers = NULL;
	is_int(hidden_sweep(map_dir, &r, &why), 0, "swept");
	is_int(parts_there(scratch_root), 0, "none listed: all go");
	must(mkdir(here("packed.1.scr"), 0777) == 0);
	refuses(hidden_sweep(map_dir, &r, &why), ERROR_SYSTEM, "packed.1.scr",
		"what cannot be removed is named");
	ok(hidden_sweep(-1, &r, &why) < 0, "no directory");
}

/* Load these parts, packed.0.scr and (unless NULL) packed.8192.scr, for a map
 * with the file "f", whose attributes are stored in *attr. */
static int
load(struct hidden *h, const char *first, const char *second, struct attr *attr,
     struct error *err)
{
	auto_kvtree *table = tree_of("HIDDEN>packed.0.scr\n");
	struct rank2file r = { .containers = table };
	const char *text[2] = { first, second };
	auto_segmap m;
	int rc = 0;

	for (size_t i = 0; i < 2 && text[i] != NULL; i++) {
		auto_kvtree *t = tree_of(text[i]);
		const char *name = i == 0 ? "packed.0.scr" : "packed.8192.scr";

		must(kvtree_write_file(t, map_dir, name, NULL) == 0);
		must(kvtree_put(kvtree_get(table, "HIDDEN"), name, NULL));
	}
	must(segmap_init(&m, 1, NULL) == 0);
	add_file(&m, 0, "f", 5);
	rc = hidden_load(h, map_dir, &r, &m, err);
	*attr = m.files[0].attr;
	return rc;
}

#define RED \
	"RED>r>SIZE>5\nRED>r>SEG>0>FILE>.scr/red.0.scr\n" \
	"RED>r>SEG>0>OFFSET>0\n"

TEST(refused)
{
	static const struct {
		const char *first, *second, *says;
		enum error_kind kind;
	} bad[] = {
		{ "META>../x>TREE>A\n", NULL,
		  "packed.0.scr: ../x:", ERROR_UNSAFE },
		{ "META>a/b>TREE>A\n", NULL, "a/b: not a plain file name",
		  ERROR_UNSAFE },
		{ "META>>TREE>A\n", NULL, "packed.0.scr: :", ERROR_UNSAFE },
		{ "META>..>TREE>A\n", NULL, "..: not", ERROR_UNSAFE },
		{ "META>/etc>TREE>A\n", NULL, "/etc: not", ERROR_UNSAFE },
		{ "META>a>ATTR\n", NULL, "packed.0.scr: a: has no TREE",
		  ERROR_CORRUPT },
		{ "META>a>TREE>A\nMETA>a>ATTR>MODE>x\n", NULL,
		  "packed.0.scr: MODE:", ERROR_CORRUPT },
		{ "", "META>a>ATTR\n", "packed.8192.scr: a:", ERROR_CORRUPT },
		{ "META>a>TREE>A\n", "META>a>TREE>B\n",
		  "packed.8192.scr: a: named twice", ERROR_CORRUPT },
		{ "META>r>TREE>A\n" RED "RED>r>SEG>0>LENGTH>5\n", NULL,
		  "r: named twice", ERROR_CORRUPT },
		{ "RED>../r>SIZE>0\n", NULL, "../r: not", ERROR_UNSAFE },
		{ "RED>r>SIZE>5\n", NULL, "packed.0.scr: r: has no SEG",
		  ERROR_CORRUPT },
		{ "RED>r>SIZE>x\n", NULL,
		  "packed.0.scr: SIZE:", ERROR_CORRUPT },
		{ RED, NULL, "packed.0.scr: SEG: incomplete", ERROR_CORRUPT },
		{ RED "RED>r>SEG>0>LENGTH>0\n", NULL,
		  "r, segment 0: of no bytes", ERROR_CORRUPT },
		{ "RED>r>ATTR>UID>-1\n", NULL,
		  "packed.0.scr: UID:", ERROR_CORRUPT },
		{ "RED>r>SIZE>5\nRED>r>SEG>0>FILE>../c\nRED>r>SEG>0>LENGTH>5\n"
		  "RED>r>SEG>0>OFFSET>0\n",
		  NULL, "container ../c:", ERROR_UNSAFE },
		{ "FILE>f>SIZE>-5\n", NULL,
		  "packed.0.scr: FILE: SIZE:", ERROR_CORRUPT },
	};

	map_enter();
	each (b, bad) {
		struct hidden h;
		struct attr attr;
		int rc = load(&h, b->first, b->second, &attr, &why);

		ok(rc < 0 && why.kind == b->kind && says(&why, b->says),
		   label(why.text));
		ok(h.arena == NULL && h.map.files == NULL && h.ntrees == 0,
		   "... nothing is left");
	}
}

TEST(accepted)
{
	auto_hidden h;
	struct rank2file r = { .nranks = 0 };
	struct attr attr;
	auto_segmap m;

	map_enter();
	is_int(load(&h,
		    "FILE>g>SIZE>x\nFILE>f>MODE>5\nFILE>f>UID>1\n"
		    "FILE>f>GID>2\nFUTURE>x\nMETA>empty>TREE\n",
		    RED "RED>r>SEG>0>LENGTH>5\nRED>e>SIZE>0\n", &attr, &why),
	       0, "parts are read");
	ok(h.has_attrs && attr.has_owner && attr.mode == 5,
	   "... with what they say of files of the map");
	ok(h.map.nfiles == 3 &&
		   kvtree_count(hidden_find(&h, "empty")->tree) == 0,
	   "... a tree of nothing");
	is_int(hidden_find(&h, "e")->nsegs, 0, "... a file of no bytes");
	hidden_free(&h);
	must(segmap_init(&m, 0, NULL) == 0);
	is_int(hidden_load(&h, map_dir, &r, &m, &why), 0, "no list");
	ok(!h.has_attrs && h.map.nfiles == 0 && hidden_find(&h, "a") == NULL,
	   "... is none");
}

/* Other types of files in place of a part. */
TEST(odd_files)
{
	static const struct {
		const char *part, *says;
		enum error_kind kind;
	} cases[] = {
		{ "../packed.0.scr", "not the name", ERROR_UNSAFE },
		{ "rank2file", "rank2file: not the name", ERROR_UNSAFE },
		{ "packed.1.scr\n", "packed.1.scr\\n: not", ERROR_UNSAFE },
		{ "packed.1.scr", "packed.1.scr", ERROR_NONE },
		{ "packed.2.scr", "packed.2.scr", ERROR_NONE },
		{ "packed.3.scr", "packed.3.scr", ERROR_UNSAFE },
		{ "packed.4.scr", "packed.4.scr", ERROR_NONE },
		{ "packed.5.scr", "packed.5.scr", ERROR_NONE },
	};
	auto_segmap m;

	map_enter();
	must(segmap_init(&m, 0, NULL) == 0);
	must(mkdir(here("packed.2.scr"), 0777) == 0);
	link_by_anyone("/dev/zero", here("packed.3.scr"));
	must(mkfifo(here("packed.4.scr"), 0666) == 0);
	write_text(here("packed.5.scr"), "no tree");
	each (c, cases) {
		auto_kvtree *table = kvtree_new(NULL);
		struct rank2file r = { .containers = table };
		struct hidden h;
		const char *twice = NULL, *text = NULL;
		int rc = 0;

		must(kvtree_set(table, "HIDDEN", c->part, NULL) == 0);
		error_clear(&why);
		rc = hidden_load(&h, map_dir, &r, &m, &why);
		text = rc == 0 && h.flaw != NULL ? h.flaw : why.text;
		ok(why.kind == c->kind && (rc < 0 || h.unread) &&
			   strstr(text, c->says) != NULL,
		   label(text));
		twice = strstr(text, c->part);
		ok(twice == NULL || strstr(twice + 1, c->part) == NULL,
		   "... names it once");
		if (rc == 0)
			hidden_free(&h);
	}
}
