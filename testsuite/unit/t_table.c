/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_table.c - tables with columns that a user chooses.
 */
#include "report/table.h"

#include "scratch.h"

static const struct table_column columns[] = {
	{ "id", ">ID" },     { "current", "" }, { "name", "NAME" },
	{ "size", ">SIZE" }, { NULL, NULL },
};

/* A table of four rows, as `how` says, into `out`. */
static void
print(const struct columns *how, size_t most, unsigned indent, struct buf *out)
{
	static const struct {
		unsigned id;
		const char *current, *name;
		uint64_t size;
	} rows[] = {
		{ 2, "", "ckpt.10", 2000 },
		{ 10, "*", "ckpt.9", 1500000 },
		{ 7, "", "", 999 },
		{ 9, "", "bad\nname", 0 },
	};
	struct table t;

	buf_clear(out);
	table_start_named(&t, columns);
	each (r, rows) {
		table_cell(&t, "%u", r->id);
		table_cell(&t, "%s", r->current);
		table_name(&t, r->name);
		table_size(&t, r->size);
	}
	table_choose(&t, how, most);
	table_end(&t, indent, out);
}

TEST(choice)
{
	static const struct {
		const char *columns, *sort;
		size_t most;
		const char *text, *what;
	} cases[] = {
		{ NULL, NULL, 0,
		  "ID     NAME          SIZE\n"
		  " 2     ckpt.10    2.0 KiB\n"
		  "10  *  ckpt.9     1.4 MiB\n"
		  " 7                  999 B\n"
		  " 9     bad\\nname      0 B\n",
		  "as it is" },
		{ "name,id", NULL, 0,
		  "NAME       ID\n"
		  "ckpt.10     2\n"
		  "ckpt.9     10\n"
		  "-           7\n"
		  "bad\\nname   9\n",
		  "chosen columns, in this order, without an empty cell" },
		{ "id,current", "-id", 0,
		  "ID  CURRENT\n10  *\n 9  -\n 7  -\n 2  -\n",
		  "numbers descending; a column without a heading has one" },
		{ "id", "size", 0, "ID\n 9\n 7\n 2\n10\n",
		  "sizes by their bytes, also of a column not shown" },
		{ "id", "name", 0, "ID\n 9\n10\n 2\n 7\n",
		  "names: ckpt.9 before ckpt.10, unknown last" },
		{ "id", "-name", 0, "ID\n 2\n10\n 9\n 7\n",
		  "... in both directions" },
		{ "id", "current", 2, "ID\n10\n 2\n",
		  "equal ones as they were, and the first two only" },
		{ "id,id", NULL, 1, "ID  ID\n 2   2\n", "a column twice" },
	};
	char words[COLUMNS_WORDS];
	auto_buf out = BUF_INIT;

	is_str(table_words(columns, words), "id|current|name|size",
	       "the words");
	each (c, cases) {
		struct columns how = { .count = 0 };

		if (c->columns != NULL)
			must(columns_choose(&how, words, c->columns, NULL) ==
			     0);
		if (c->sort != NULL)
			must(columns_sort(&how, words, c->sort, NULL) == 0);
		print(&how, c->most, 0, &out);
		is_str(out.data, c->text, c->what);
	}
}

TEST(words)
{
	static const char words[] = "id|name";
	struct columns how = { .count = 0 };

	refuses(columns_choose(&how, words, "id,colour", &why), ERROR_USAGE,
		"unknown column 'colour': one of id, name",
		"a wrong column is named, with all that there are");
	refuses(columns_choose(&how, words, "", &why), ERROR_USAGE, NULL,
		"no column");
	refuses(columns_choose(&how, words, "i", &why), ERROR_USAGE, NULL,
		"half a word");
	refuses(columns_sort(&how, words, "-", &why), ERROR_USAGE, NULL,
		"no order");
	must(columns_sort(&how, words, "+name", NULL) == 0);
	ok(how.sort == 2 && !how.descending, "ascending");
}

TEST(empty)
{
	const struct columns how = { { 0 }, 1, 1, false };
	auto_buf out = BUF_INIT;
	struct table t;

	table_start(&t, ">SIZE|NAME|");
	table_cell(&t, "%d", 1);
	table_cell(&t, "%s", "a");
	table_cell(&t, "%s", "last");
	table_end(&t, 1, &out);
	is_str(out.data, " SIZE  NAME\n    1  a     last\n",
	       "headings in one text, the last one empty");
	for (int drop = 0; drop < 2; drop++) {
		buf_clear(&out);
		table_start_named(&t, columns);
		if (drop)
			table_drop_empty(&t);
		table_choose(&t, &how, 0);
		table_end(&t, 0, &out);
		is_str(out.data, drop ? "" : "ID\n", "no rows; nor headings");
	}
}

TEST(no_memory)
{
	without_memory (m, 2, "each allocation may fail") {
		const struct columns how = { { 1, 2 }, 2, 4, true };
		auto_buf out = BUF_INIT;

		m.rc = 0;
		print(&how, 0, 2, &out);
		m.rc = buf_check(&out, &m.err);
	}
}
