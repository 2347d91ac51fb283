/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_word.c - what the words mean that name a dataset; and which dataset of a
 * prefix they name.
 */
#include "catalogue/word.h"

#include "cattest.h"
#include "meta/summary.h"

/* --- Words alone --- */

TEST(parse)
{
	static const struct {
		const char *text, *name;
		int64_t id;
		bool marked;
	} cases[] = {
		{ "ckpt.4", "ckpt.4", -1, false },
		{ "4", "4", 4, false },
		{ "04", "04", 4, false },
		{ "2147483647", "2147483647", 2147483647, false },
		{ "2147483648", "2147483648", -1, false },
		{ "0", "0", -1, false },
		{ "-4", "-4", -1, false },
		{ " 4", " 4", -1, false },
		{ "4x", "4x", -1, false },
		{ "", "", -1, false },
		{ "id:4", NULL, 4, true },
		{ "id:0", "id:0", -1, false },
		{ "id:x", "id:x", -1, false },
		{ "id:", "id:", -1, false },
		{ "id: 4", "id: 4", -1, false },
		{ "ID:4", "ID:4", -1, false },
		{ "name:4", "4", -1, true },
		{ "name:id:4", "id:4", -1, true },
		{ "name:name:4", "name:4", -1, true },
		{ "name:", "", -1, true },
	};
	struct word w;

	each (c, cases) {
		const char *text = c->text, *name = c->name;
		const bool id = c->id > 0, marked = c->marked;

		word_parse(text, &w);
		ok(w.id == c->id && w.marked == marked &&
			   (w.name == NULL) == (name == NULL) &&
			   (name == NULL || str_eq(w.name, name)),
		   fmt("\"%s\"", text));
		ok(id || marked
			   ? word_parse_id(text, &w, &why) == 0 &&
				     w.id == c->id && (w.name == NULL) == id
			   : fails_as(word_parse_id(text, &w, &why), &why,
				      ERROR_USAGE, NULL),
		   "... as an id");
	}
}

/* --- In a prefix --- */

/* Datasets 1 to 4 in the index; 1 is named 2, 2 is named 3, 3 is named 3x, 4 is
 * named name:y.  Dataset 7, in a directory only, is named 4, and 8 like 9. */
static const char *const datasets[] = {
	"ID>1\nNAME>2\n",      "ID>2\nNAME>3\n", "ID>3\nNAME>3x\n",
	"ID>4\nNAME>name:y\n", "ID>7\nNAME>4\n", "ID>8\nNAME>same\n",
	"ID>9\nNAME>same\n",
};

TEST(make_names)
{
	static const int ids[] = { 1, 2, 3, 4, 7, 8, 9 };
	auto_index *ix = index_new(NULL);

	scratch_new();
	must(mkdir(here(".scr"), 0777) == 0);
	for (int i = 0; i < 7; i++) {
		auto_kvtree *d = tree_of(datasets[i]);
		auto_kvtree *s = summary_build(d, 1, NULL);
		const char *dir = here(".scr/scr.dataset.%d", ids[i]);

		must(i >= 4 || index_add(ix, d, 1, NULL, NULL) == 0);
		must(mkdir(dir, 0777) == 0);
		must(kvtree_write_file(s, AT_FDCWD, fmt("%s/summary.scr", dir),
				       NULL) == 0);
	}
	must(kvtree_write_file(index_tree(ix), AT_FDCWD, here(".scr/index.scr"),
			       NULL) == 0);
	put_tree(here(".scr/flush.scr"),
		 "DATASET>12>NAME>flushed\nDATASET>12>DSETDESC>ID>12\n"
		 "DATASET>12>LOCATION>CACHE\n");
}

/* What catalogue_resolve() makes of a word: an id, or minus the error. */
static int64_t
resolved(struct catalogue *c, const struct index *ix, const char *word)
{
	struct error err = ERROR_INIT;
	const int64_t id = catalogue_resolve(c, ix, word, &err);

	return id > 0 ? id : -(int64_t)err.kind;
}

TEST(resolve)
{
	static const struct {
		const char *word;
		int64_t id;
	} cases[] = {
		{ "1", 1 },
		{ "2", -ERROR_USAGE },
		{ "id:2", 2 },
		{ "name:2", 1 },
		{ "3", -ERROR_USAGE },
		{ "03", 3 },
		{ "3x", 3 },
		{ "4", -ERROR_USAGE },
		{ "name:4", 7 },
		{ "id:4", 4 },
		{ "7", 7 },
		{ "id:7", 7 },
		{ "same", -ERROR_USAGE },
		{ "name:same", -ERROR_USAGE },
		{ "id:9", 9 },
		{ "name:y", -ERROR_ABSENT },
		{ "name:name:y", 4 },
		{ "12", 12 },
		{ "flushed", 12 },
		{ "5", -ERROR_ABSENT },
		{ "name:7", -ERROR_ABSENT },
		{ "id:5", -ERROR_ABSENT },
	};
	auto_catalogue *c = NULL;
	auto_index *ix = NULL;

	c = open_prefix();
	ix = catalogue_read(c, NULL);
	must(ix != NULL);
	each (t, cases)
		is_int(resolved(c, ix, t->word), t->id, t->word);
	is_int(catalogue_resolve_now(c, "name:3", false, NULL), 2,
	       "in the index as it is");
	is_int(catalogue_resolve_now(c, "name:3", true, NULL), 2,
	       "the same name in the summary of the same dataset");
}

TEST(words)
{
	static const char *const names[] = { "name:2", "name:3", "3x",
					     "name:name:y" };
	char word[WORD_ID_SIZE];
	auto_buf scratch = BUF_INIT;
	auto_catalogue *c = open_prefix();
	auto_index *ix = catalogue_read(c, NULL);
	struct index_entry e;

	is_str(catalogue_word(c, ix, 1, word), "1", "no other is named 1");
	is_str(catalogue_word(c, ix, 2, word), "id:2", "another is named 2");
	is_str(catalogue_word(c, ix, 4, word), "id:4",
	       "one that is not in the index is named 4");
	is_str(catalogue_word_now(c, 3, word), "id:3", "read now");
	for (int i = 0; i < 4; i++) {
		must(index_find_id(ix, i + 1, &e, NULL) == 0);
		is_str(catalogue_name_word(c, ix, &e, &scratch), names[i],
		       "a name, with a mark if it is like a number or a mark");
	}
}
