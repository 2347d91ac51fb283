/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_plan.c - the files that rebuild and protect an FTI checkpoint, as text.
 */
#include <inttypes.h>

#include "buf.h"
#include "ftijob/cover.h"
#include "ftijob/renew.h"
#include "report/fti.h"
#include "report/table.h"
#include "str.h"

const char *
report_fti_part(enum fti_part part)
{
	static const char *const names[FTI_PARTS] = {
		[FTI_OWN] = "data",
		[FTI_COPY] = "copy",
		[FTI_PARITY] = "parity",
	};

	return names[part];
}

void
report_fti_name(const struct fti_set *set, struct buf *out)
{
	buf_printf(out, "%s, checkpoint %" PRIu32, fti_level_name(set->level),
		   set->id);
	if (set->exec[0] != '\0')
		buf_printf(out, " of %s", str_shown(set->exec));
}

void
report_fti_plan(const struct fti_rebuild *r, bool done, struct buf *out)
{
	const char *join = ": ";

	report_fti_name(r->set, out);
	buf_printf(out, ": %s%zu %s", done ? "rebuilt " : "",
		   str_count(r->count, "file"));
	for (int p = 0; p < FTI_PARTS; p++) {
		if (r->parts[p] == 0)
			continue;
		buf_printf(out, "%s%zu %s", join, r->parts[p],
			   p == FTI_COPY && r->parts[p] > 1
				   ? "copies"
				   : report_fti_part((enum fti_part)p));
		join = ", ";
	}
	buf_printf(out, "; %s %s", str_size(r->bytes_read),
		   done ? "read" : "to read");
	buf_printf(out, ", %s %s\n", str_size(r->bytes_written),
		   done ? "written" : "to write");
}

void
report_fti_plan_files(const struct fti_rebuild_file *files, size_t count,
		      bool now, struct buf *out)
{
	struct table t;

	table_start(&t, now ? ">RANK|>NODE|KIND|>SIZE|NOW|FILE"
			    : ">RANK|>NODE|KIND|>SIZE|FILE");
	for (size_t i = 0; i < count; i++) {
		const struct fti_rebuild_file *f = &files[i];

		table_cell(&t, "%" PRIu32, f->rank->rank);
		table_cell(&t, "%" PRIu32, f->rank->node);
		table_cell(&t, "%s", report_fti_part(f->part));
		table_cell(&t, "%s", str_size(f->size));
		if (now)
			table_cell(
				&t, "%s",
				fti_state_name(f->rank->parts[f->part].state));
		table_name(&t, f->path);
	}
	table_end(&t, 2, out);
}

/* --- Protection --- */

void
report_fti_protect(const struct fti_protect *p, bool done, struct buf *out)
{
	report_fti_name(p->from, out);
	if (p->count == 0) {
		buf_printf(out, ": is protected at %s already\n",
			   fti_level_name(p->level));
		return;
	}
	buf_printf(out, ": %s %s: %zu data, %zu %s; %s %s",
		   done ? "protected at" : "to protect at",
		   fti_level_name(p->level), p->parts[FTI_OWN],
		   p->parts[FTI_COPY] + p->parts[FTI_PARITY],
		   p->level == FTI_L2 ? "copies" : "parity",
		   str_size(p->bytes_read), done ? "read" : "to read");
	buf_printf(out, ", %s %s\n", str_size(p->bytes_written),
		   done ? "written" : "to write");
}
