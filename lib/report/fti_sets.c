/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_sets.c - the checkpoints of FTI below a directory, and the files that
 * rebuild and protect one, as text.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "ftijob/cover.h"
#include "ftijob/renew.h"
#include "ftijob/set.h"
#include "ftijob/tree.h"
#include "report/fti.h"
#include "report/table.h"
#include "str.h"
#include "when.h"

/* --- Files that are rebuilt and that protect a checkpoint --- */

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

/* --- Checkpoints --- */

static const char *
id_text(const struct fti_set *set, char to[static 16])
{
	if (set->id == 0)
		return "";
	snprintf(to, 16, "%" PRIu32, set->id);
	return to;
}

static void
add_exec(const struct fti_sets *s, size_t first, size_t end, struct buf *out)
{
	struct table t;
	char format[16], id[16], when[WHEN_TEXT];

	table_start(&t, "LEVEL|>ID|FORMAT|>RANKS|>SIZE|WRITTEN|STATE|PROBLEM");
	for (size_t i = first; i < end; i++) {
		const struct fti_set *set = &s->list[i];

		/* "F", "POSIX", "?" */
		if (set->whole != NULL)
			snprintf(format, 16, "MPI-IO");
		else if (set->posix)
			snprintf(format, 16, "POSIX");
		else if (set->layout_known)
			snprintf(format, 16, "FTI-FF %s",
				 fti_format(set->layout)->letter);
		else
			snprintf(format, 16, "?");
		table_cell(&t, "%s", fti_level_name(set->level));
		table_cell(&t, "%s", id_text(set, id));
		table_cell(&t, "%s", format);
		table_cell(&t, "%zu/%zu", set->nranks - set->bad, set->nranks);
		table_cell(&t, "%s", str_size(set->bytes));
		table_cell(&t, "%s", when_shown(when, set->written, false));
		table_cell(&t, "%s", fti_set_state_name(set->state));
		table_cell(&t, "%s", set->reason != NULL ? set->reason : "");
	}
	table_end(&t, 2, out);
}

/* Why FTI does not restart from the checkpoint, if it restarts from `best`. */
static void
add_skipped(const struct fti_set *set, const struct fti_set *best,
	    struct buf *out)
{
	const bool passed = best != NULL && set->level != best->level;
	const bool mixed = set->refusal != NULL && set->conflict != NULL;
	char id[16];

	if (set == best || set->level == FTI_ARCHIVE ||
	    (set->refusal == NULL && !passed))
		return;
	buf_printf(out, "  FTI %s %s%s%s: ", mixed ? "may mix up" : "skips",
		   fti_level_name(set->level),
		   set->id == 0 ? "" : ", checkpoint ", id_text(set, id));
	if (set->refusal != NULL)
		buf_printf(out, "%s\n", set->refusal);
	else
		buf_printf(out, "it takes %s first\n",
			   fti_level_name(best->level));
}

static void
add_choice(const struct fti_sets *s, size_t first, size_t end, struct buf *out)
{
	const struct fti_set *best = fti_sets_choice(s, s->list[first].exec);
	size_t same = 0;
	bool archive = true;

	for (size_t i = first; i < end; i++)
		archive = archive && s->list[i].level == FTI_ARCHIVE;
	if (archive)
		return;
	for (size_t i = first; i < end; i++)
		same += best != NULL && s->list[i].level == best->level;
	if (best == NULL)
		buf_add_str(out, "  FTI finds no checkpoint that it accepts\n");
	else
		buf_printf(
			out,
			"  FTI restarts from %s, checkpoint %" PRIu32 "%s%s\n",
			fti_level_name(best->level), best->id,
			best->has_topology ? "" : ", if it finds Topology.fti",
			same > 1
				? ", or any rank from another one of this level: "
				  "its directories have several"
				: "");
	for (size_t i = first; i < end; i++)
		add_skipped(&s->list[i], best, out);
}

void
report_fti_sets(const struct fti_sets *s, struct buf *out)
{
	for (size_t i = 0, k = 0; i < s->count; i = k) {
		const struct fti_geometry *g = &s->list[i].geometry;

		while (k < s->count && str_eq(s->list[k].exec, s->list[i].exec))
			k++;
		buf_printf(out, "execution %s",
			   s->list[i].exec[0] == '\0'
				   ? "?"
				   : str_shown(s->list[i].exec));
		if (g->nodes > 0 && g->node_size > 0)
			buf_printf(out,
				   ": %" PRIu32 " nodes of %" PRIu32 " ranks%s",
				   g->nodes, g->node_size,
				   g->head > 0 ? ", the first one a head" : "");
		if (g->group_size > 0)
			buf_printf(out, ", groups of %" PRIu32 " nodes",
				   g->group_size);
		buf_add_str(out, "\n\n");
		add_exec(s, i, k, out);
		buf_add_char(out, '\n');
		add_choice(s, i, k, out);
		if (k < s->count)
			buf_add_char(out, '\n');
	}
}

void
report_fti_ranks(const struct fti_set *set, struct buf *out)
{
	struct table t;

	table_start(&t, ">RANK|>NODE|FILE|COPY|PARITY|PROBLEM");
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *r = &set->ranks[i];
		const char *problem = "";

		table_cell(&t, "%" PRIu32, r->rank);
		table_cell(&t, "%" PRIu32, r->node);
		for (int p = 0; p < FTI_PARTS; p++) {
			const bool has =
				p == FTI_OWN ||
				(p == FTI_COPY && set->level == FTI_L2) ||
				(p == FTI_PARITY && set->level == FTI_L3);

			table_cell(&t, "%s",
				   has ? fti_state_name(r->parts[p].state)
				       : "-");
			if (problem[0] == '\0' && r->parts[p].problem != NULL)
				problem = r->parts[p].problem;
		}
		table_name(&t, problem);
	}
	table_drop_empty(&t);
	table_end(&t, 2, out);
}
