/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refuse.c - refuse a checkpoint that is not whole, with the command that mends
 * it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti.h"
#include "fti/set.h"
#include "fti/tree.h"
#include "path.h"
#include "report/hint.h"

/* The command that repairs the files that FTI refuses.  false: it would be too
 * long. */
static bool
next_repair(const struct fti_next *n, const struct fti_set *set, char *to,
	    size_t size)
{
	char command[FTI_NEXT_MAX] = "scr_fti repair --in-place";
	struct buf path = BUF_INIT;
	bool fits = true;

	for (size_t i = 0; fits && i < set->nranks; i++) {
		const struct fti_part_file *f = &set->ranks[i].parts[FTI_OWN];

		if (f->entry == NULL || f->state != FTI_STATE_REFUSED)
			continue;
		fits = path_join(&path, n->dir, f->entry->path, NULL) == 0 &&
		       strlen(command) + 5 * path.len + 64 < size;
		if (!fits)
			break;
		report_command(command, NULL, path.data, to, size);
		/* report_command() sets the name of the program. */
		snprintf(command, sizeof(command), "%s", strstr(to, "scr_fti"));
	}
	buf_free(&path);
	return fits;
}

int
fti_refuse(const struct fti_next *n, const struct fti_sets *s,
	   const struct fti_set *set, char next[static FTI_NEXT_MAX],
	   struct error *err)
{
	static const enum error_kind kinds[] = {
		[FTI_SET_WHOLE] = ERROR_DAMAGED,
		[FTI_SET_REFUSED] = ERROR_DAMAGED,
		[FTI_SET_REBUILDABLE] = ERROR_DAMAGED,
		[FTI_SET_LOST] = ERROR_LOST,
		[FTI_SET_UNKNOWN] = ERROR_SYSTEM,
	};

	if (set->state == FTI_SET_REBUILDABLE)
		fti_next_rebuild(n, s, set, next, FTI_NEXT_MAX);
	else if (set->state != FTI_SET_REFUSED || set->level == FTI_L3 ||
		 !next_repair(n, set, next, FTI_NEXT_MAX))
		report_command("scr_fti scan --checksums --files", NULL, n->dir,
			       next, FTI_NEXT_MAX);
	return error_set(err, kinds[set->state],
			 "checkpoint %" PRIu32 " of %s is %s, not whole: %s",
			 set->id, fti_level_name(set->level),
			 fti_set_state_name(set->state),
			 set->reason != NULL	? set->reason
			 : set->refusal != NULL ? set->refusal
						: "");
}
