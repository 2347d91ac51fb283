/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_sets.c - the checkpoints of FTI below a directory, and the files that
 * rebuild and protect one, as text and JSON.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "ftijob/renew.h"
#include "ftijob/set.h"
#include "json.h"
#include "num.h"
#include "report/fti.h"
#include "report/table.h"
#include "str.h"
#include "when.h"

/* --- Files that are rebuilt and that protect a checkpoint --- */

const char *const report_fti_parts[FTI_PARTS] = {
	[FTI_OWN] = "data",
	[FTI_COPY] = "copy",
	[FTI_PARITY] = "parity",
};

void
report_fti_name(const struct fti_set *set, struct buf *out)
{
	buf_printf(out, "%s, checkpoint %" PRIu32, fti_levels[set->level].name,
		   set->id);
	if (set->exec[0] != '\0')
		buf_printf(out, " of %s", str_shown(set->exec));
}

/* End the line: what is read and written. */
static void
put_bytes(struct buf *out, uint64_t read, uint64_t written, bool done)
{
	buf_printf(out, "; %s %s", str_size(read), done ? "read" : "to read");
	buf_printf(out, ", %s %s\n", str_size(written),
		   done ? "written" : "to write");
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
				   : report_fti_parts[(enum fti_part)p]);
		join = ", ";
	}
	put_bytes(out, r->bytes_read, r->bytes_written, done);
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

		table_cells(&t, "%" PRIu32 "\t%" PRIu32 "\t%s\t%s",
			    f->rank->rank, f->rank->node,
			    report_fti_parts[f->part], str_size(f->size));
		if (now)
			table_cell(
				&t, "%s",
				fti_state_names[f->rank->parts[f->part].state]);
		table_name(&t, f->path);
	}
	table_end(&t, 2, out);
}

void
report_fti_protect(const struct fti_rebuild *p, bool done, struct buf *out)
{
	report_fti_name(p->set, out);
	if (p->count == 0) {
		buf_printf(out, ": is protected at %s already\n",
			   fti_levels[p->level].name);
		return;
	}
	buf_printf(out, ": %s %s: %zu data, %zu %s",
		   done ? "protected at" : "to protect at",
		   fti_levels[p->level].name, p->parts[FTI_OWN],
		   p->parts[FTI_COPY] + p->parts[FTI_PARITY],
		   p->level == FTI_L2 ? "copies" : "parity");
	put_bytes(out, p->bytes_read, p->bytes_written, done);
}

/* --- Checkpoints --- */

/* The end of the checkpoints of the execution that begin with `first`. */
static size_t
execution_end(const struct fti_sets *s, size_t first)
{
	size_t end = first;

	while (end < s->count && str_eq(s->list[end].exec, s->list[first].exec))
		end++;
	return end;
}

/* Which checkpoint FTI restarts from, and why from no other one. */
static void
add_choice(const struct fti_sets *s, size_t first, size_t end, struct buf *out)
{
	const struct fti_set *best = fti_sets_choice(s, s->list[first].exec);
	size_t same = 0;
	bool archive = true;

	for (size_t i = first; i < end; i++) {
		archive = archive && s->list[i].level == FTI_ARCHIVE;
		same += best != NULL && s->list[i].level == best->level;
	}
	if (archive)
		return;
	if (best == NULL)
		buf_add_str(out, "  FTI finds no checkpoint that it accepts\n");
	else
		buf_printf(
			out,
			"  FTI restarts from %s, checkpoint %" PRIu32 "%s%s\n",
			fti_levels[best->level].name, best->id,
			best->has_topology ? "" : ", if it finds Topology.fti",
			same > 1
				? ", or any rank from another one of this level: "
				  "its directories have several"
				: "");
	for (size_t i = first; i < end; i++) {
		const struct fti_set *set = &s->list[i];

		if (set == best || set->level == FTI_ARCHIVE ||
		    (set->refusal == NULL &&
		     (best == NULL || set->level == best->level)))
			continue;
		buf_printf(out, "  FTI %s %s",
			   set->refusal != NULL && set->conflict != NULL
				   ? "may mix up"
				   : "skips",
			   fti_levels[set->level].name);
		if (set->id != 0)
			buf_printf(out, ", checkpoint %" PRIu32, set->id);
		if (set->refusal != NULL)
			buf_printf(out, ": %s\n", set->refusal);
		else
			buf_printf(out, ": it takes %s first\n",
				   fti_levels[best->level].name);
	}
}

void
report_fti_sets(const struct fti_sets *s, struct buf *out)
{
	for (size_t i = 0, k = 0; i < s->count; i = k) {
		const struct fti_geometry *g = &s->list[i].geometry;
		struct table t;

		k = execution_end(s, i);
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
		table_start(&t, "LEVEL|>ID|FORMAT|>RANKS|>SIZE|WRITTEN|STATE|"
				"PROBLEM");
		for (size_t n = i; n < k; n++) {
			const struct fti_set *set = &s->list[n];

			table_cells(&t, "%s\t%s", fti_levels[set->level].name,
				    set->id != 0 ? num_str(set->id) : "");
			if (set->whole != NULL || set->posix)
				table_cell(&t, set->whole != NULL ? "MPI-IO"
								  : "POSIX");
			else if (set->layout_known)
				table_cell(&t, "FTI-FF %s",
					   fti_format(set->layout)->letter);
			else
				table_cell(&t, "?");
			table_cells(&t, "%zu/%zu\t%s\t%s\t%s",
				    set->nranks - set->bad, set->nranks,
				    str_size(set->bytes),
				    when_local(set->written),
				    fti_set_states[set->state].name);
			table_cell(&t, "%s",
				   set->reason != NULL ? set->reason : "");
		}
		table_end(&t, 2, out);
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

		table_cells(&t, "%" PRIu32 "\t%" PRIu32, r->rank, r->node);
		for (int p = 0; p < FTI_PARTS; p++) {
			table_cell(&t, "%s",
				   fti_set_has(set, (enum fti_part)p)
					   ? fti_state_names[r->parts[p].state]
					   : "-");
			if (problem[0] == '\0' && r->parts[p].problem != NULL)
				problem = r->parts[p].problem;
		}
		table_name(&t, problem);
	}
	table_drop_empty(&t);
	table_end(&t, 2, out);
}

static struct json *
set_json(const struct fti_set *set, bool chosen, bool files)
{
	struct json *j = json_new_object(), *list = NULL, *f = NULL;

	json_set_str(j, "level", fti_levels[set->level].name);
	if (set->id != 0)
		json_set_u64(j, "checkpoint_id", set->id);
	if (set->whole != NULL || set->posix || set->layout_known)
		json_set_str(j, "format",
			     set->whole != NULL ? "MPI-IO"
			     : set->posix	? "POSIX"
						: "FTI-FF");
	if (!set->posix && set->layout_known)
		json_set_str(j, "fti_layout", fti_format(set->layout)->letter);
	json_set_str(j, "state", fti_set_states[set->state].name);
	json_set_known_str(j, "reason", set->reason);
	json_set_known_str(j, "refusal", set->refusal);
	json_set_bool(j, "is_current", chosen);
	json_set_u64(j, "rank_count", set->nranks);
	json_set_u64(j, "ranks_bad", set->bad);
	json_set_u64(j, "bytes", set->bytes);
	json_set_time(j, "written", set->written);
	if (!files)
		return j;
	list = json_new_array();
	for (size_t i = 0; i < set->nranks * FTI_PARTS; i++) {
		const enum fti_part part = (enum fti_part)(i % FTI_PARTS);
		const struct fti_rank *r = &set->ranks[i / FTI_PARTS];
		const struct fti_part_file *p = &r->parts[part];

		if (!fti_set_has(set, part))
			continue;
		f = json_new_object();
		if (p->entry != NULL)
			json_set_str(f, "path", p->entry->path);
		json_set_u64(f, "rank", r->rank);
		json_set_u64(f, "node", r->node);
		json_set_str(f, "kind", report_fti_parts[part]);
		if (p->entry != NULL)
			json_set_u64(f, "size", p->entry->size);
		json_set_str(f, "found", fti_state_names[p->state]);
		json_set_known_str(f, "problem", p->problem);
		json_push(list, f);
	}
	json_set(j, "files", list);
	return j;
}

struct json *
report_fti_sets_json(const struct fti_sets *s, bool files)
{
	struct json *all = json_new_array();

	for (size_t i = 0, k = 0; i < s->count; i = k) {
		const struct fti_set *best =
			fti_sets_choice(s, s->list[i].exec);
		const struct fti_geometry *g = &s->list[i].geometry;
		struct json *j = json_new_object(), *list = json_new_array();

		k = execution_end(s, i);
		json_set_str(j, "execution", s->list[i].exec);
		if (g->nodes > 0)
			json_set_u64(j, "node_count", g->nodes);
		if (g->node_size > 0)
			json_set_u64(j, "node_size", g->node_size);
		if (g->group_size > 0)
			json_set_u64(j, "group_size", g->group_size);
		if (g->head >= 0)
			json_set_bool(j, "heads", g->head > 0);
		for (size_t n = i; n < k; n++)
			json_push(list, set_json(&s->list[n],
						 &s->list[n] == best, files));
		json_set(j, "fti_checkpoints", list);
		json_push(all, j);
	}
	return all;
}
