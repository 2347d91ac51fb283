/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refuse.c - refuse a checkpoint that is not whole, with the command that mends
 * it.
 */
#include <inttypes.h>

#include "error.h"
#include "fti.h"
#include "ftijob/set.h"
#include "report/hint.h"

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
	else if (!fti_next_repair(n, set, next, FTI_NEXT_MAX))
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
