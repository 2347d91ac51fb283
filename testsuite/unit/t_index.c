/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/index.h"

#include "metatest.h"

#define STAMP "2026-11-20T23:00:34"

/* A checkpoint, an output, a failed and an unfinished checkpoint. */
static const char full[] =
	"CURRENT>b\n"
	"NAME>d>DSET>40\nNAME>c>DSET>30\nNAME>b>DSET>20\nNAME>a>DSET>1\n"
	"DSET>40>COMPLETE>0\nDSET>40>DSET>ID>40\nDSET>40>DSET>NAME>d\n"
	"DSET>40>DSET>FLAG_CKPT>1\n"
	"DSET>30>FAILED>2026-11-20T23:00:42\nDSET>30>COMPLETE>1\n"
	"DSET>30>DSET>ID>30\nDSET>30>DSET>NAME>c\nDSET>30>DSET>FLAG_CKPT>1\n"
	"DSET>30>FETCHED>2026-11-20T23:00:40\n"
	"DSET>30>FETCHED>2026-11-20T23:00:41\n"
	"DSET>30>FETCHED>2026-11-20T23:00:39\n"
	"DSET>20>FLUSHED>" STAMP "\nDSET>20>COMPLETE>1\n"
	"DSET>20>DSET>ID>20\nDSET>20>DSET>NAME>b\nDSET>20>DSET>FLAG_CKPT>1\n"
	"DSET>20>OURS>x\n"
	"DSET>1>COMPLETE>1\nDSET>1>DSET>ID>1\nDSET>1>DSET>NAME>a\n"
	"DSET>1>DSET>FLAG_CKPT>0\n"
	"VERSION>2\n";

/* Written by SCR 1.1.8: two datasets, and a third with the id of the first. */
static const char old_one[] =
	"VERSION>1\nCURRENT>two\n"
	"DIR>one>DSET>1\nDIR>two>DSET>20\nDIR>sub/three>DSET>1\n"
	"DSET>1>DIR>one>COMPLETE>1\nDSET>1>DIR>one>FLUSHED>" STAMP "\n"
	"DSET>1>DIR>one>DSET>ID>1\nDSET>1>DIR>one>DSET>NAME>x\n"
	"DSET>20>DIR>two>COMPLETE>0\nDSET>20>DIR>two>FAILED>" STAMP "\n"
	"DSET>20>DIR>two>DSET>FILES>7\n"
	"DSET>1>DIR>sub/three>COMPLETE>1\nDSET>1>DIR>sub/three>DSET>ID>1\n";

/* A descriptor with additional, unknown keys. */
static struct kvtree *
desc_of(int id, const char *name, bool ckpt)
{
	struct kvtree *t = kvtree_new(NULL);

	kvtree_set_i64(t, "ID", id, NULL);
	kvtree_set(t, "NAME", name, NULL);
	kvtree_set_i64(t, "FLAG_CKPT", ckpt, NULL);
	tree_add(t, "NEW>x>y\n");
	return t;
}

static int
add(struct index *ix, int id, const char *name, bool ckpt, int complete)
{
	auto_kvtree *desc = desc_of(id, name, ckpt);

	return index_add(ix, desc, complete, STAMP, NULL);
}

static struct kvtree *another;

/* Read a copy of the tree, and change the index. */
static int
read_copy(const struct kvtree *t, struct error *err)
{
	struct kvtree *copy = kvtree_new(err);
	auto_index *ix = NULL;
	struct index_entry e;
	size_t count = 0;

	if (copy == NULL || kvtree_merge(copy, t, err) < 0) {
		kvtree_free(copy);
		return -1;
	}
	ix = index_from_tree(copy, err);
	if (ix == NULL)
		return -1;
	mem_free(index_entries(ix, &count, err));
	index_find_name(ix, "b", &e, NULL);
	index_remove(ix, "b", NULL);
	index_add(ix, another, 1, STAMP, NULL);
	return count == (size_t)-1 ? -1 : 0;
}

static struct index *
from(const char *text)
{
	struct index *ix = index_from_tree(tree_of(text), NULL);

	must(ix != NULL);
	return ix;
}

#define WORD(text) ((text) != NULL ? (text) : "-")

/* All members of these entries. */
static const char *
shown(const struct index_entry *e, size_t n)
{
	char *to = fmt("%s", ""), reason[64];

	for (size_t i = 0; i < n; i++, e++)
		to = fmt("%s%d %s%s%s %d files, complete %d flushed %s failed "
			 "%s fetched %s x%zu: %s%s\n",
			 to, (int)e->id, WORD(e->name), e->current ? "*" : "",
			 e->desc.is_ckpt ? " ckpt" : "", (int)e->desc.files,
			 e->complete, WORD(e->flushed), WORD(e->failed),
			 WORD(e->fetched), e->fetches,
			 index_entry_valid(e) ? "valid" : "",
			 index_entry_reason(e, reason, sizeof(reason)));
	return to;
}

TEST(old)
{
	static const char *const bad[] = {
		"VERSION>1\nDIR>one>DSET>x\n",
		"VERSION>1\nDIR>one>DSET>1\n",
	};
	struct index *ix = from(old_one);
	struct index_entry e;

	ok(index_is_old(ix), "an index of SCR 1.1.8 is read");
	is_str(index_current(ix), "two", "... current");
	is_int(index_find_name(ix, "two", &e, NULL), 0, "... by its directory");
	is_str(shown(&e, 1),
	       "20 two* 7 files, complete 0 flushed - failed " STAMP
	       " fetched - x0: never completed\n",
	       "... as it was");
	is_int(index_find_id(ix, 1, &e, NULL), 0, "... by its number");
	is_str(e.name, "sub/three", "... where it was last");
	is_str(kvtree_value(index_tree(ix), "VERSION"), "2",
	       "it would be written as one of today");
	index_free(ix);
	ix = from("VERSION>1\n");
	is_int(index_count(ix), 0, "an empty one");
	index_free(ix);
	ix = from("VERSION>1\nDIR>one>DSET>1\nDSET>1>DIR>one\n");
	is_int(index_find_id(ix, 1, &e, NULL), 0,
	       "a dataset without a descriptor");
	index_free(ix);
	trees_refused(bad, 2, read_copy);
}

TEST(read)
{
	auto_index *ix = from(full);
	struct index_entry *e = NULL, one;
	size_t count = 0;

	is_int(index_count(ix), 4, "an index is read");
	is_str(index_current(ix), "b", "... current");
	e = index_entries(ix, &count, NULL);
	is_str(shown(e, count),
	       "40 d ckpt -1 files, complete 0 flushed - failed - fetched - "
	       "x0: never completed\n"
	       "30 c ckpt -1 files, complete 1 flushed - failed "
	       "2026-11-20T23:00:42 fetched 2026-11-20T23:00:41 x3: last fetch "
	       "failed 2026-11-20T23:00:42\n"
	       "20 b* ckpt -1 files, complete 1 flushed " STAMP
	       " failed - fetched - x0: valid\n"
	       "1 a -1 files, complete 1 flushed - failed - fetched - x0: "
	       "valid\n",
	       "... entries, newest first");
	mem_free(e);

	ok(index_find_name(ix, "b", &one, NULL) == 0 && one.id == 20 &&
		   one.current,
	   "found by name");
	ok(index_find_id(ix, 1, &one, NULL) == 0 && strcmp(one.name, "a") == 0,
	   "found by id");
	refuses(index_find_name(ix, "x", &one, &why), ERROR_ABSENT, NULL,
		"no such name");
	for (int id = 2; id > -6; id -= 7)
		refuses(index_find_id(ix, id, &one, &why), ERROR_ABSENT, NULL,
			fmt("no id %d", id));
	is_str(index_extra(ix, 20, "OURS"), "x", "an extra key");
	ok(index_extra(ix, 30, "OURS") == NULL &&
		   index_extra(ix, 2, "OURS") == NULL,
	   "... others do not have");
	for (int i = 0; i < 2; i++) {
		const char *value = i == 0 ? "y" : NULL;

		is_int(index_set_extra(ix, 30, "OURS", value, NULL), 0, "set");
		is_str(index_extra(ix, 30, "OURS"), value, "... is what it is");
	}
	is_int(index_set_extra(ix, 2, "OURS", "y", &why), -1, "no such id");
	index_free(NULL);
}

/* A fetch of an unknown dataset may leave an entry without a descriptor. */
TEST(nameless)
{
	auto_index *ix = from("VERSION>2\nNAME>a>DSET>5\n"
			      "DSET>5>FETCHED>" STAMP "\nDSET>7>FETCHED>" STAMP
			      "\nDSET>9>DSET>NAME>z\nDSET>9>DSET>ID>9\n");
	struct index_entry *e = NULL, one;
	size_t count = 0;

	/* A name from the table, none, and one that is not in the table. */
	e = index_entries(ix, &count, NULL);
	is_str(shown(e, count),
	       "9 z -1 files, complete -1 flushed - failed - fetched - x0: not "
	       "recorded as complete\n"
	       "7 - -1 files, complete -1 flushed - failed - fetched " STAMP
	       " x1: not recorded as complete\n"
	       "5 a -1 files, complete -1 flushed - failed - fetched " STAMP
	       " x1: not recorded as complete\n",
	       "entries without descriptors");
	mem_free(e);
	ok(index_find_id(ix, 5, &one, NULL) == 0 &&
		   strcmp(one.name, "a") == 0 && one.complete == -1,
	   "... by id");
	ok(index_find_name(ix, "a", &one, NULL) == 0 && one.id == 5,
	   "... by name");
}

#define ENTRY(id, name) \
	"DSET>" id ">FLUSHED>" STAMP "\nDSET>" id ">COMPLETE>1\nDSET>" id \
	">DSET>ID>" id "\nDSET>" id ">DSET>NAME>" name "\nDSET>" id \
	">DSET>FLAG_CKPT>1\nDSET>" id ">DSET>NEW>x>y\n"

/* Changes, and the index then (NULL: not compared).  A word is "+ID" and a name
 * to add a complete checkpoint, "~ID" an unfinished one, "-" to remove, "!" to
 * make a name the restart point; "?" if the name is absent, "#" if it is no
 * checkpoint; "=" and the restart point afterwards. */
static const struct {
	const char *from, *words, *is;
} changes[] = {
	/* Newest first, as in scr_index. */
	{ "VERSION>2\n", "+1a= +2b=",
	  "VERSION>2\nNAME>b>DSET>2\nNAME>a>DSET>1\n" ENTRY("2", "b")
		  ENTRY("1", "a") },
	/* The same name, then the same id: in the place of the old one. */
	{ "VERSION>2\n", "+1a= +2b= !a=a +3a=a",
	  "CURRENT>a\nVERSION>2\nNAME>a>DSET>3\n"
	  "NAME>b>DSET>2\n" ENTRY("3", "a") ENTRY("2", "b") },
	{ "VERSION>2\n", "+2b= +3a= !a=a +3c=a",
	  "CURRENT>a\nVERSION>2\nNAME>c>DSET>3\n"
	  "NAME>b>DSET>2\n" ENTRY("3", "c") ENTRY("2", "b") },
	/* Old entries without a name are removed by their ids. */
	{ "VERSION>2\nNAME>o>DSET>5\nDSET>5>COMPLETE>1\n",
	  "+5n=", "VERSION>2\nNAME>n>DSET>5\n" ENTRY("5", "n") },
	{ full, "!c=c !c=c !a#=c !x?=c !=", NULL },
	/* The latest complete one before it follows a removed restart point;
	 * no empty table is left. */
	{ full, "-x?=b +10j=b ~15k=b +50l=b -b=j -l=j -j= -a= -c= -d= -k=",
	  "VERSION>2\n" },
	{ full, "!c=c -c=b", NULL }, /* the last fetch of c failed */
};

/* Carry out one word. */
static void
change(struct index *ix, char *word)
{
	const char *what = fmt("%s", word), *now = index_current(ix);
	char *name = NULL, *end = NULL;
	int id = (int)strtol(word + 1, &name, 10), rc = -1;
	int fails = ERROR_NONE;

	error_clear(&why);
	end = strchr(name, '=');
	*end++ = '\0';
	if (strpbrk(name, "?#") != NULL)
		fails = name[1] == '?' ? ERROR_ABSENT : ERROR_USAGE;
	name[name[0] != '\0'] = '\0';
	/* The name may be a string of the index itself. */
	if (now == NULL || strcmp(now, name) != 0)
		now = name[0] != '\0' ? name : NULL;
	if (word[0] == '-')
		rc = index_remove(ix, now, &why);
	else if (word[0] == '!')
		rc = index_set_current(ix, now, &why);
	else
		rc = add(ix, id, name, true, word[0] == '+');
	ok((rc < 0) == (fails != ERROR_NONE) && (int)why.kind == fails, what);
	is_str(index_current(ix), end[0] != '\0' ? end : NULL, "... current");
}

TEST(changes)
{
	each (c, changes) {
		auto_index *ix = from(c->from);
		char *rest = fmt("%s", c->words), *word = NULL;

		while ((word = strsep(&rest, " ")) != NULL)
			change(ix, word);
		if (c->is != NULL)
			ok(tree_says(index_tree(ix), c->is), c->words);
	}
}

/* What must be in a descriptor, and what need not be. */
TEST(desc)
{
	auto_index *ix = index_new(NULL);
	struct kvtree *t = desc_of(9, "i", false);

	ok(tree_says(index_tree(ix), "VERSION>2\n"), "a new index");
	is_int(index_add(ix, t, -1, NULL, NULL), 0, "an entry that says less");
	ok(tree_says(kvtree_get(index_tree(ix), "DSET"),
		     "9>DSET>ID>9\n9>DSET>NAME>i\n9>DSET>FLAG_CKPT>0\n"
		     "9>DSET>NEW>x>y\n"),
	   "... has no more");
	kvtree_remove(t, "NAME");
	refuses(index_add(ix, t, 1, NULL, &why), ERROR_CORRUPT, NULL,
		"no name");
	tree_clear(t);
	tree_add(t, "NAME>x\n");
	refuses(index_add(ix, t, 1, NULL, &why), ERROR_CORRUPT, NULL, "no id");
	kvtree_free(t);
	index_free(ix);
	/* LLNL's --drop-after can leave a restart point without a dataset. */
	ix = from("VERSION>2\nCURRENT>gone\n");
	is_str(index_current(ix), "gone", "a restart point that is gone");
}

/* Seconds to add `n` datasets, find all, and drop them from the newest down,
 * with the restart point among them. */
static double
time_changes(int n)
{
	auto_index *ix = index_new(NULL);
	auto_mem struct index_entry *e = NULL;
	clock_t begun = clock();
	char name[32];
	size_t count = 0;
	bool good = true;

	for (int i = 1; i <= n; i++) {
		snprintf(name, sizeof(name), "ckpt.%d", i);
		good = good && add(ix, i, name, true, 1) == 0;
	}
	good = good && index_set_current(ix, name, NULL) == 0;
	e = index_entries(ix, &count, NULL);
	good = good && count == (size_t)n;
	for (int i = 0; good && i < n; i++)
		good = index_remove(ix, e[i].name, NULL) == 0;
	begun = clock() - begun;
	ok(good && index_current(ix) == NULL && index_count(ix) == 0,
	   "many datasets");
	return (double)begun / CLOCKS_PER_SEC;
}

TEST(growth)
{
	const int n = getenv("SCRKIT_SLOW") != NULL ? 10000 : 1000;
	double once = 0, four = 0;

	once = time_changes(n);
	four = time_changes(4 * n);
	printf("# %d: %.3f s, %d: %.3f s\n", n, once, 4 * n, four);
	/* Linear time gives 4, quadratic 16. */
	ok(four < 10 * once, "time grows with their number");
}

TEST(stamp)
{
	static const struct {
		int64_t time;
		const char *stamp;
	} times[] = {
		{ 0, "1970-01-01T00:00:00" },
		{ 1795215218, "2026-11-20T22:53:38" },
		{ INT64_MAX, "9999-12-31T23:59:59" },
		{ 253402300800, "9999-12-31T23:59:59" }, /* the year 10000 */
	};
	char stamp[INDEX_STAMP_SIZE], now[INDEX_STAMP_SIZE];

	each (t, times)
		is_str(index_stamp(stamp, t->time), t->stamp, "a stamp");
	index_stamp(stamp, time(NULL));
	index_stamp(now, -1);
	ok(strcmp(stamp, now) <= 0 && strlen(now) == 19, "now");
}

TEST(damage)
{
	static const char *const bad[] = {
		"",
		"NAME>a>DSET>1\nDSET>1>COMPLETE>1\n",
		"VERSION>3\n",
		"VERSION>2\nVERSION>3\n",
		"VERSION>two\n",
		"VERSION>2\nNAME>a>DSET>1\n",
		"VERSION>2\nNAME>a\nDSET>1>COMPLETE>1\n",
		"VERSION>2\nNAME>a>DSET>1\nNAME>a>DSET>2\nDSET>1\nDSET>2\n",
		"VERSION>2\nNAME>a>DSET>x\nDSET>x>COMPLETE>1\n",
		"VERSION>2\nDSET>x>COMPLETE>1\n",
		"VERSION>2\nDSET>0>COMPLETE>1\n",
		"VERSION>2\nDSET>01>COMPLETE>1\n",
		"VERSION>2\nDSET>2147483648>COMPLETE>1\n",
		"VERSION>2\nNAME>a>DSET>1\nDSET>1>DSET>NAME>b\n",
		("VERSION>2\nNAME>a>DSET>1\nDSET>1>DSET>NAME>a\n"
		 "DSET>1>DSET>ID>2\n"),
		"VERSION>2\nDSET>1>DSET>ID>2\n",
		/* Dropping `a` would drop dataset 2, which has no name. */
		("VERSION>2\nNAME>a>DSET>2\nDSET>1>DSET>NAME>a\n"
		 "DSET>2>COMPLETE>1\n"),
		/* values of an entry */
		"VERSION>2\nDSET>1>COMPLETE>5\n",
		"VERSION>2\nDSET>2>COMPLETE>1\nDSET>1>REPLACED>x\n",
		("VERSION>2\nNAME>a>DSET>1\nDSET>1>DSET>NAME>a\n"
		 "DSET>1>DSET>FILES>-1\n"),
	};
	auto_kvtree *desc = desc_of(7, "long", true);
	char text[6000];

	trees_refused(bad, COUNT(bad), read_copy);
	tree_damaged(full, 100, 68, read_copy);
	tree_damaged(old_one, 50, 43, read_copy);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	kvtree_set(desc, text, text, NULL);
	without_memory (m, 5, "no memory to change") {
		auto_index *ix = index_new(&m.err);
		size_t count = 0;

		m.rc = -1;
		if (ix == NULL)
			continue;
		if (index_add(ix, desc, 1, STAMP, &m.err) < 0) {
			if (kvtree_check(index_tree(ix), NULL) == 0)
				error_set(&m.err, ERROR_USAGE, "half an entry");
			continue;
		}
		if (index_set_current(ix, "long", &m.err) < 0)
			continue;
		mem_free(index_entries(ix, &count, &m.err));
		if (count != (size_t)-1)
			m.rc = index_remove(ix, "long", &m.err);
	}
}

int
main(void)
{
	int rc = 0;

	another = desc_of(30, "a", true);
	rc = tap_run();
	kvtree_free(another);
	return rc;
}
