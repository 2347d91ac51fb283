/* SPDX-License-Identifier: BSD-3-Clause */
/* Which descriptor a dataset gets, and the store of a path. */
#include "scr/levels.h"

#include "scr/scr.h"
#include "scr/stores.h"
#include "scratch.h"

static const char *
chosen(const struct levels *l, int flags, int64_t ckpt)
{
	const struct level *is = levels_choose(l, flags, ckpt);

	return is != NULL ? is->word : "none";
}

TEST(choose)
{
	struct level list[] = {
		{ .word = "0", .interval = 2 },
		{ .word = "1", .interval = 1 },
		{ .word = "2", .interval = 6, .output = true },
		{ .word = "3", .interval = 4, .output = true },
	};
	struct levels l = { 4, list };

	is_str(chosen(&l, SCR_FLAG_CHECKPOINT, 1), "1", "checkpoint 1");
	is_str(chosen(&l, SCR_FLAG_CHECKPOINT, 2), "0", "checkpoint 2");
	is_str(chosen(&l, SCR_FLAG_CHECKPOINT, 4), "3", "checkpoint 4");
	is_str(chosen(&l, SCR_FLAG_CHECKPOINT, 12), "2",
	       "the largest interval that fits");
	is_str(chosen(&l, SCR_FLAG_OUTPUT, -1), "2",
	       "output: the first for output");
	is_str(chosen(&l, SCR_FLAG_OUTPUT | SCR_FLAG_CHECKPOINT, 1), "2",
	       "a checkpoint that is output, too");
	is_str(chosen(&l, SCR_FLAG_NONE, -1), "1", "neither");
	list[2].output = list[3].output = false;
	is_str(chosen(&l, SCR_FLAG_OUTPUT, -1), "1",
	       "output without a descriptor of its own");
}

static const char *
base_of(const struct stores *s, const char *path)
{
	const struct device *is = stores_find(s, path);

	return is != NULL ? is->base : "none";
}

TEST(find)
{
	struct device list[] = {
		{ .base = "/ssd" },
		{ .base = "/ssd/fast" },
		{ .base = "/dev/shm" },
	};
	const struct stores s = { 3, list, &list[2] };

	is_str(base_of(&s, "/ssd"), "/ssd", "the base itself");
	is_str(base_of(&s, "/ssd/x/y"), "/ssd", "a path below");
	is_str(base_of(&s, "/ssd/fast/y"), "/ssd/fast", "the longest base");
	is_str(base_of(&s, "/ssd/faster"), "/ssd", "whole components");
	is_str(base_of(&s, "/ssd2/x"), "none", "another directory");
	is_str(base_of(&s, "x"), "none", "a relative path");
}
