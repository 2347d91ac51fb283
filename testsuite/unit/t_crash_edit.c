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
		const char *verb, *value;
		int64_t deletes;
	} list[] = {
		{ "--add", "%s.3", 0 },	      { "--drop", "%s.3", 0 },
		{ "--drop-all", "", 0 },      { "--drop-after", "ckpt.1", 0 },
		{ "--current", "ckpt.1", 0 }, { "--uncurrent", "", 0 },
		{ "--delete", "%s.3", 3 },
	};
	static const char from[] = "scr3/index_multi/prefix_after_run";
	bool golden = have_golden(from);

	each (l, list) {
		char value[32], command[64];
		struct scene s = {
			.name = l->verb,
			.command = command,
			.deletes = l->deletes,
		};

		snprintf(value, sizeof(value), l->value,
			 golden ? "both" : "ckpt");
		snprintf(command, sizeof(command), "scr_index %s %s", l->verb,
			 value);
		if (!start_with(made_index, golden ? from : NULL))
			ok(false, s.name);
		else
			play(&s, 12, true, 0);
	}
}

int
main(void)
{
	return crash_main(test_edits);
}
