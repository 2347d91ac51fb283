/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/haltfile.h"

#include "metatest.h"

static const char full[] = "HaltSeconds>30\nExitAfter>1900000000\n"
			   "ExitBefore>2000000000\nCheckpointsLeft>10\n"
			   "ExitReason>reason with spaces\n";

TEST(read)
{
	auto_kvtree *t = tree_of(full);
	struct halt h;

	is_int(halt_read(t, &h, NULL), 0, "halt file");
	is_str(h.reason, "reason with spaces", "... reason");
	is_int(h.checkpoints_left, 10, "... checkpoints");
	is_int(h.exit_before, 2000000000, "... before");
	is_int(h.exit_after, 1900000000, "... after");
	is_int(h.halt_seconds, 30, "... seconds");
	tree_clear(t);
	is_int(halt_read(t, &h, NULL), 0, "nothing set");
	ok(h.reason == NULL && h.checkpoints_left == -1 &&
		   h.exit_before == -1 && h.exit_after == -1 &&
		   h.halt_seconds == -1,
	   "... is nothing");
	tree_add(t, "CheckpointsLeft>-3\n");
	ok(halt_read(t, &h, NULL) == 0 && h.checkpoints_left == 0,
	   "less than none left is none");
	tree_clear(t);
	tree_add(t, "CheckpointsLeft>4294967295\n");
	ok(halt_read(t, &h, NULL) == 0 && h.checkpoints_left == 0 &&
		   halt_read_checkpoints(t, &h.checkpoints_left, NULL) == 0 &&
		   h.checkpoints_left == -1,
	   "... also as LLNL's tool writes it");
	tree_clear(t);
	is_int(halt_read_checkpoints(t, &h.checkpoints_left, &why), -1,
	       "no count");
	is_int(why.kind, ERROR_ABSENT, "... is absent");
	tree_add(t, "ExitAfter>soon\n");
	is_int(halt_read(t, &h, &why), -1, "no number");
	is_int(why.kind, ERROR_CORRUPT, why.text);
	tree_clear(t);
	tree_add(t, "ExitReason\n");
	is_int(halt_read(t, &h, &why), -1, "no reason");
}

/* Values set in the order of LLNL's tool are stored in the order of its
 * file. */
TEST(set)
{
	auto_kvtree *t = tree_of("HaltSeconds>1\nOurs>x\n");
	auto_kvtree *want = tree_of(full);

	ok(halt_set_reason(t, "reason with spaces", NULL) == 0 &&
		   halt_set_number(t, "CheckpointsLeft", 10, NULL) == 0 &&
		   halt_set_number(t, "ExitBefore", 2000000000, NULL) == 0 &&
		   halt_set_number(t, "ExitAfter", 1900000000, NULL) == 0 &&
		   halt_set_number(t, "HaltSeconds", 30, NULL) == 0,
	   "conditions are set");
	tree_add(want, "Ours>x\n");
	ok(tree_same(t, want, false), "... each as the first key");
	ok(halt_set_reason(t, NULL, NULL) == 0 &&
		   halt_set_number(t, "ExitAfter", -1, NULL) == 0,
	   "conditions are removed");
	kvtree_remove(want, "ExitReason");
	kvtree_remove(want, "ExitAfter");
	ok(tree_same(t, want, false), "... those alone");
}

static void
read_any(const struct kvtree *t, void *arg)
{
	struct halt h;

	if (halt_read(t, &h, &why) < 0 && why.kind != ERROR_CORRUPT)
		++*(int *)arg;
}

static int
set_all(void *arg, struct error *err)
{
	auto_kvtree *t = kvtree_new(err);

	return t == NULL || halt_set_reason(t, arg, err) < 0 ||
			       halt_set_number(t, "ExitAfter", 1, err) < 0
		       ? -1
		       : 0;
}

TEST(damage)
{
	auto_kvtree *t = tree_of(full);
	char long_reason[5000];
	int odd = 0;

	ok(tree_flip_each(t, read_any, &odd) > 30, "flipped bytes");
	is_int(tree_drop_each(t, read_any, &odd), 10, "missing keys");
	is_int(odd, 0, "... are read or corrupt");
	memset(long_reason, 'x', sizeof(long_reason));
	long_reason[sizeof(long_reason) - 1] = '\0';
	ok(fail_each_alloc(set_all, long_reason) > 0, "no memory to set");
}
