/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees in memory: order, changes, merging, sorting, depth.  t_kvtree_value.c
 * tests values and printing, t_kvtree_code.c the file format.
 */
#include "kvtree/kvtree_impl.h"
#include "metatest.h"

/* The keys of `t` in order, each followed by a blank; borrowed. */
static const char *
keys(const struct kvtree *t)
{
	static char text[4096];
	const struct kvtree *n = NULL;
	size_t len = 0;

	text[0] = '\0';
	kvtree_foreach (n, t)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ",
					kvtree_key(n));
	return text;
}

/* Beside what test_model() compares. */
TEST(values)
{
	struct kvtree *t = kvtree_new(NULL), *a = kvtree_put(t, "a", NULL);
	struct kvtree *b = kvtree_put(t, "b", NULL);

	is_str(kvtree_key(t), "", "the root has the key \"\"");
	ok(kvtree_put(t, "a", NULL) == a && kvtree_put_first(t, "b", NULL) == b,
	   "put and put_first find what is there");
	kvtree_set(t, "a", "1", NULL);
	kvtree_put(a, "3", NULL);
	is_str(keys(a), "1 3 ", "two values");
	ok(kvtree_value(t, "a") == NULL, "are not one");
	kvtree_put(kvtree_get(a, "1"), "deeper", NULL);
	kvtree_set(t, "a", "1", NULL);
	is_str(keys(a), "1 ", "set removes other values");
	ok(kvtree_first(kvtree_first(a)) == NULL, "and what was below");
	kvtree_set(t, "a", "4", NULL);
	is_str(kvtree_value(t, "a"), "4", "set replaces a value");
	kvtree_put(t, "", NULL);
	kvtree_put(t, "x/y z\n\xff", NULL);
	ok(kvtree_get(t, "") != NULL && kvtree_get(t, "x/y z\n\xff") != NULL,
	   "keys are any bytes, or none");
	ok(kvtree_get2(t, "b", "q") == NULL && kvtree_get2(t, "q", "b") == NULL,
	   "get2 of what is not there");
	ok(kvtree_put(b, "q", NULL) == kvtree_get2(t, "b", "q"),
	   "get2 of what is");
	ok(kvtree_get(NULL, "a") == NULL && kvtree_first(NULL) == NULL &&
		   kvtree_next(NULL) == NULL && kvtree_value(NULL, "a") == NULL,
	   "NULL has no children");
	kvtree_free(t);
	kvtree_free(NULL);
}

/* Keys too long for a segment, and many in one segment. */
TEST(long_keys)
{
	struct kvtree *t = kvtree_new(NULL), *n = NULL;
	auto_free char *key = malloc(100001);
	bool good = true;

	memset(key, 'k', 100000);
	for (int again = 0; again < 2; again++)
		for (size_t len = 0; len <= 100000;
		     len += len < 5000 ? 97 : 10007) {
			key[len] = '\0';
			n = again ? kvtree_get(t, key)
				  : kvtree_put(t, key, NULL);
			good = good && n != NULL &&
			       strlen(kvtree_key(n)) == len;
			key[len] = 'k';
		}
	ok(good, "keys of up to 100,000 bytes are put and found");
	kvtree_free(t);
}

/* --- Comparison with a simple model --- */

#define MODEL_KEYS 300

static struct {
	int order[MODEL_KEYS]; /* numbers of keys */
	int count;
} model;

static int
model_find(int key)
{
	for (int i = 0; i < model.count; i++)
		if (model.order[i] == key)
			return i;
	return -1;
}

/* Move what begins at `from` to `to`, one place up or down. */
static void
model_move(int from, int to)
{
	memmove(model.order + to, model.order + from,
		(size_t)(model.count - from) * sizeof(int));
	model.count += to - from;
}

static void
model_insert(int at, int key)
{
	model_move(at, at + 1);
	model.order[at] = key;
}

static bool
model_agrees(const struct kvtree *t)
{
	const struct kvtree *n = kvtree_first(t);
	char key[16];
	int i = 0;

	for (i = 0; i < model.count; i++, n = kvtree_next(n)) {
		snprintf(key, sizeof(key), "key%d", model.order[i]);
		if (n == NULL || strcmp(kvtree_key(n), key) != 0 ||
		    kvtree_get(t, key) != n)
			return false;
	}
	return n == NULL && kvtree_count(t) == (size_t)model.count;
}

/* Make one random change in both. */
static void
model_step(struct kvtree *t, int range)
{
	int key = (int)below((uint32_t)range), at = model_find(key);
	char text[16];

	snprintf(text, sizeof(text), "key%d", key);
	switch (below(6)) {
	case 0:
	case 1:
		kvtree_put(t, text, NULL);
		break;
	case 2:
		kvtree_put_first(t, text, NULL);
		if (at < 0)
			model_insert(0, key);
		return;
	case 3:
		kvtree_set(t, text, "v", NULL);
		break;
	default:
		kvtree_remove(t, text);
		if (at >= 0)
			model_move(at + 1, at);
		return;
	}
	if (at < 0)
		model_insert(model.count, key);
}

TEST(model)
{
	static const int ranges[] = { 3, 16, 17, 20, 60, 300 };
	auto_kvtree *t = kvtree_new(NULL);

	each (r, ranges) {
		bool good = true;

		tree_clear(t);
		model.count = 0;
		for (int step = 0; good && step < 1500; step++) {
			model_step(t, *r);
			if (step % 8 == 0 || step > 1450)
				good = model_agrees(t);
		}
		ok(good, fmt("random changes, %d keys", *r));
	}
}

TEST(large)
{
	const size_t count = getenv("SCRKIT_SLOW") != NULL ? 1000000 : 20000;
	auto_kvtree *t = kvtree_new(NULL);
	bool good = true;

	for (size_t i = 0; i < count; i++)
		good &= kvtree_put(t, fmt("%zu", i), NULL) != NULL;
	ok(good, "put a large level");
	is_int(kvtree_count(t), count, "it has all");
	for (size_t i = 0; i < count; i++)
		good &= kvtree_get(t, fmt("%zu", i)) != NULL;
	ok(good, "all are found");
	ok(kvtree_get(t, "x") == NULL && kvtree_get(t, "") == NULL,
	   "others are not");
	for (size_t i = 0; i < count; i += 2)
		kvtree_remove(t, fmt("%zu", i));
	is_int(kvtree_count(t), (count / 2), "remove half of it");
	is_str(kvtree_key(kvtree_first(t)), "1", "the first one was removed");
	ok(kvtree_sort(t, NULL) == 0, "sort it");
	is_str(kvtree_key(kvtree_next(kvtree_first(t))),
	       count > 100000 ? "100001" : "10001", "by bytes, not numbers");
	for (size_t i = 0; i < count; i++)
		good &= (kvtree_get(t, fmt("%zu", i)) != NULL) == (i % 2 == 1);
	ok(good, "the index is right after that");
	/* Keys that were removed must not fill the index. */
	for (size_t i = 0; i < count; i++) {
		kvtree_put(t, "again", NULL);
		kvtree_remove(t, "again");
	}
	is_int(kvtree_count(t), (count / 2), "put and remove in turn");
}

TEST(merge)
{
	auto_kvtree *t = tree_of("A>1\nB>C>D\nE\n");
	struct kvtree *u = tree_of("Z>9\nB>C>F\nB>G\nA>2\nE>1\n");
	auto_kvtree *v = kvtree_new(NULL);

	ok(kvtree_merge(v, t, NULL) == 0 && tree_says(v, "A>1\nB>C>D\nE\n"),
	   "merging into an empty tree keeps the order");
	ok(kvtree_merge(t, u, NULL) == 0, "merge two trees");
	ok(tree_says(t, "A>1\nA>2\nB>C>D\nB>C>F\nB>G\nE>1\nZ>9\n"),
	   "keys of both stay where they were, others follow");
	ok(tree_says(u, "Z>9\nB>C>F\nB>G\nA>2\nE>1\n"),
	   "the source is as it was");
	kvtree_free(u);
	ok(tree_says(t, "A>1\nA>2\nB>C>D\nB>C>F\nB>G\nE>1\nZ>9\n"),
	   "and may be freed");
	ok(kvtree_merge(v, v, NULL) == 0 && tree_says(v, "A>1\nB>C>D\nE\n"),
	   "a tree merged into itself is the same");
	ok(kvtree_merge(kvtree_get2(v, "B", "C"), v, NULL) == 0 &&
		   tree_says(v, "A>1\nB>C>D\nB>C>A>1\nB>C>B>C>D\nB>C>E\nE\n"),
	   "and into a part of itself");
	ok(kvtree_merge(v, kvtree_get2(v, "B", "C"), NULL) == 0,
	   "and a part into the whole");
	is_str(keys(v), "A B E D ", "gives the keys of both");
}

TEST(sort)
{
	auto_kvtree *t = tree_of("b>2\nb>10\nb>1\na\nB\nabcdefghZ\nabcdefghA\n"
				 "abcdefgh\n\xff\n\x01\n>x\n");
	struct kvtree *n = NULL;

	ok(kvtree_sort(t, NULL) == 0, "sort");
	is_str(keys(t), " \x01 B a abcdefgh abcdefghA abcdefghZ b \xff ",
	       "by bytes");
	is_str(keys(kvtree_get(t, "b")), "1 10 2 ", "at all levels");
	ok(kvtree_sort(kvtree_get(t, "a"), NULL) == 0, "a leaf is sorted");
	for (int i = 99; i >= 10; i--)
		kvtree_put(kvtree_get(t, "B"), fmt("%d", i), NULL);
	ok(kvtree_sort(t, NULL) == 0, "sort with a larger level inside");
	n = kvtree_get(t, "B");
	ok(strcmp(kvtree_key(kvtree_first(n)), "10") == 0 &&
		   kvtree_get(n, "57") != NULL && kvtree_count(n) == 90,
	   "which is sorted, too");
	ok(kvtree_set(t, "B", "57", NULL) == 0 && kvtree_count(n) == 1 &&
		   kvtree_get(n, "58") == NULL,
	   "a value takes its place");
	is_str(kvtree_value(t, "B"), "57", "and is found");
	kvtree_put(n, "99", NULL);
	is_str(keys(n), "57 99 ", "and followed by another");
	tree_clear(t);
	ok(kvtree_sort(t, NULL) == 0, "an empty tree too");
}

/* Make `levels` levels below `t`, each of one key. */
static struct kvtree *
chain(struct kvtree *t, int levels)
{
	while (levels-- > 0)
		t = kvtree_put(t, "d", NULL);
	return t;
}

TEST(depth)
{
	struct kvtree *t = kvtree_new(NULL), *u = kvtree_new(NULL), *end = NULL;
	auto_buf b = BUF_INIT;
	FILE *null = fopen("/dev/null", "w");

	end = chain(t, KVTREE_MAX_DEPTH);
	ok(kvtree_encode(t, &b, &why) == 0 &&
		   kvtree_print(t, KVTREE_TREE, &b, &why) == 0 &&
		   kvtree_sort(t, &why) == 0 && kvtree_merge(u, t, &why) == 0 &&
		   json_print(kvtree_json(t), null, &why) == 0,
	   "256 levels are no trouble");
	kvtree_put(end, "d", NULL);
	buf_clear(&b);
	refuses(kvtree_encode(t, &b, &why), ERROR_USAGE, NULL,
		"one more cannot be encoded");
	is_str(why.text, "nested deeper than 256 levels", "for that reason");
	ok(kvtree_print(t, KVTREE_KEYVAL, &b, &why) < 0 && b.len == 0,
	   "nor printed");
	ok(kvtree_sort(t, &why) < 0, "nor sorted");
	ok(json_print(kvtree_json(t), null, &why) < 0, "nor shown as JSON");
	is_int(b.len, 0, "... and nothing is left of the image");
	tree_clear(u);
	kvtree_put(u, "a", NULL);
	refuses(kvtree_merge(u, t, &why), ERROR_CORRUPT, NULL, "nor merged");
	is_str(keys(u), "a d ", "what was merged before the error stays");
	is_int(kvtree_count(kvtree_get2(u, "d", "d")), 1, "and is sound");
	chain(end, 100000);
	ok(kvtree_encode(t, &b, &why) < 0 && kvtree_merge(u, t, &why) < 0,
	   "nor 100,000 more");
	fclose(null);
	kvtree_free(u);
	kvtree_free(t);
}

static const char many[] =
	"A>1\nB>C>D\nE\nL>1\nL>2\nL>3\nL>4\nL>5\nL>6\nL>7\n"
	"L>8\nL>9\nL>10\nL>11\nL>12\nL>13\nL>14\nL>15\nL>16\n";

TEST(memory)
{
	auto_kvtree *from = tree_of(many);

	for (int i = 0; i < 300; i++) {
		const char *key = fmt("new%d", i);

		kvtree_put(kvtree_get(from, "L"), key, NULL);
		kvtree_set(kvtree_put(from, "N", NULL), key, "1", NULL);
	}
	/* Lists become indexed levels, below new and old keys.  After a failed
	 * merge the tree is sound: the merge can be repeated. */
	without_memory (m, 6, "merge survives ENOMEM") {
		long left = mem_fail_after(-1);
		auto_kvtree *t = tree_of(many);

		mem_fail_after(left);
		m.rc = kvtree_merge(t, from, &m.err);
		left = mem_fail_after(-1);
		if (m.rc < 0 && kvtree_merge(t, from, NULL) < 0) {
			error_set(&m.err, ERROR_CORRUPT, "tree is broken");
			left = -1;
		}
		mem_fail_after(left);
	}
	without_memory (m, 6, "put and sort do") {
		auto_kvtree *t = kvtree_new(&m.err);
		int i = 0;

		m.rc = t == NULL ? -1 : 0;
		while (t != NULL && i < 3000 && /* several segments and slabs */
		       kvtree_put_first(t, fmt("key%d", i), &m.err) != NULL)
			i++;
		if (t != NULL &&
		    (i < 3000 ||
		     kvtree_set_u64(kvtree_first(t), "a", 1, &m.err) < 0 ||
		     kvtree_sort(t, &m.err) < 0))
			m.rc = -1;
		if (t != NULL && kvtree_count(t) != (size_t)i)
			m.rc = error_set(&m.err, ERROR_CORRUPT,
					 "changed in part");
	}
	without_memory (m, 1, "set does") {
		struct kvtree *t = NULL;
		char value[2000]; /* too long to share a segment */
		long left = mem_fail_after(-1);

		m.rc = 0;
		memset(value, 'v', sizeof(value));
		value[sizeof(value) - 1] = '\0';
		t = tree_of(many);
		mem_fail_after(left);
		m.rc = kvtree_set(t, "A", value, &m.err);
		if (m.rc == 0)
			m.rc = kvtree_set(t, "L", value, &m.err);
		if (m.rc == 0)
			m.rc = kvtree_set(kvtree_get(t, "L"), value, value,
					  &m.err);
		left = mem_fail_after(-1);
		if (m.rc < 0 &&
		    (kvtree_count(t) != 4 || kvtree_value(t, "A") == NULL))
			error_set(&m.err, ERROR_CORRUPT, "tree was changed");
		kvtree_free(t);
		mem_fail_after(left);
	}
}
