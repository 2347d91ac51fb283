/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_crash_edit.c - commands that change the index, and --delete, killed and
 * failing at every file operation: afterwards the index is the old or the new
 * one.
 */
#include "crashsweep.h"

/* Used without golden data: two checkpoints and an output. */
static const char made_index[] =
	"for i in 1 2 3; do %1$s/gen_dataset --prefix '%2$s' --id $i --size 2K "
	"$([ $i = 2 ] && echo --output) >/dev/null && "
	"\"$BIN\"/scr_index -q --prefix '%2$s' --build $i || exit 1; done; "
	"\"$BIN\"/scr_index -q --prefix '%2$s' --current ckpt.3";

static void
test_edits(void)
{
	static const struct {
		const char *name, *verb, *value;
		int64_t deletes;
	} list[] = {
		{ "--add", "--add", "%s.3", 0 },
		{ "--drop", "--drop", "%s.3", 0 },
		{ "--drop-after", "--drop-after", "ckpt.1", 0 },
		{ "--drop-all", "--drop-all", NULL, 0 },
		{ "--current", "--current", "ckpt.1", 0 },
		{ "--uncurrent", "--uncurrent", NULL, 0 },
		{ "--delete", "--delete", "%s.3", 3 },
	};
	static const char from[] = "scr3/index_multi/prefix_after_run";
	bool golden = have_golden(from);
	char value[32];

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct scene s = {
			.name = list[i].name,
			.argv = { "scr_index", "--prefix", prefix, list[i].verb,
				  value },
			.deletes = list[i].deletes,
		};

		if (list[i].value == NULL)
			s.argv[4] = NULL;
		else
			snprintf(value, sizeof(value), list[i].value,
				 golden ? "both" : "ckpt");
		if (!start_with(made_index, golden ? from : NULL))
			ok(false, s.name);
		else
			play(&s, !slow, 0);
		scene_fini(&s);
	}
}

int
main(void)
{
	return crash_main(test_edits);
}
