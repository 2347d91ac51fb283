/* SPDX-License-Identifier: BSD-3-Clause */
/* Where files of archives belong. */
#include "ftijob/archive.h"

#include "arena.h"
#include "scratch.h"
#include "str.h"

static const char *const homes[][2] = {
	/* our archive, below the directory, or the directory of a job */
	{ "fti_archive/e/Ckpt_4/Global/e/l4/Ckpt4-Rank0.fti",
	  "Global/e/l4/Ckpt4-Rank0.fti" },
	{ "job/fti_archive/e/Ckpt_4/Meta/e/l4/sector0-group0.fti",
	  "job/Meta/e/l4/sector0-group0.fti" },
	/* elsewhere, and one checkpoint alone */
	{ "e/Ckpt_12/Global/e/l4/Ckpt12-Rank0.fti",
	  "Global/e/l4/Ckpt12-Rank0.fti" },
	{ "Ckpt_4/Global/e/l4/Ckpt4-Rank0.fti", "Global/e/l4/Ckpt4-Rank0.fti" },
	/* FTI's own */
	{ "Global/e/l4_archive/Ckpt1-Rank0.fti",
	  "Global/e/l4/Ckpt1-Rank0.fti" },
	{ "Meta/e/l4_archive/Ckpt_1/sector0-group0.fti",
	  "Meta/e/l4/sector0-group0.fti" },
	/* a backup */
	{ "Global/e/l4/Ckpt1-Rank0.fti", "Global/e/l4/Ckpt1-Rank0.fti" },
	/* no number */
	{ "Ckpt_x/l4/Ckpt1-Rank0.fti", "Ckpt_x/l4/Ckpt1-Rank0.fti" },
	{ "Ckpt_04/l4/Ckpt1-Rank0.fti", "Ckpt_04/l4/Ckpt1-Rank0.fti" },
};

int
main(void)
{
	auto_arena *a = arena_new();

	for (size_t i = 0; i < COUNT(homes); i++) {
		const char *home = fti_archive_home(homes[i][0], a);

		ok(home != NULL && str_eq(home, homes[i][1]),
		   fmt("%s: %s", homes[i][0], home));
	}
	return tap_done();
}
