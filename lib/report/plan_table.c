/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_table.c - tables of a plan: sets, files, actions of a rebuild.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "mem.h"
#include "report/plan_text.h"
#include "report/report_impl.h"
#include "report/table.h"
#include "str.h"

/* --- Sets --- */

/* Members of a set: all, those that lack something, and those whose data or
 * redundancy file a rebuild reads. */
enum members { ALL, LACKING, SOURCES };

/* World ranks of members; borrowed from the plan. */
static const char *
ranks_text(struct plan *p, const struct plan_set *s, enum members wanted)
{
	uint32_t *ranks = mem_alloc((size_t)s->n + 1, sizeof(*ranks));
	const char *text = ranks != NULL ? "" : "?";
	size_t n = 0;

	for (uint32_t m = 0; ranks != NULL && m < s->n; m++)
		if (s->members[m].rank != PLAN_NONE &&
		    (wanted == ALL ||
		     (wanted == LACKING ? report_member(p, s, m) != REPORT_WHOLE
					: s->members[m].source)))
			ranks[n++] = s->members[m].rank;
	if (n > 0)
		text = plan_ranks_text(p, ranks, n);
	mem_free(ranks);
	return text;
}

/* Can two neighbouring sets share a row? */
static bool
alike(const struct plan_set *a, const struct plan_set *b)
{
	return a->map == b->map && a->type == b->type && a->n == b->n &&
	       a->sets == b->sets && a->verdict == SET_WHOLE &&
	       b->verdict == SET_WHOLE && a->n > 0 && a->spare == b->spare &&
	       a->failures == b->failures;
}

/* Runs shorter than this keep a row for each set. */
#define RUN_MIN 9

static void
set_cells(struct table *t, struct plan *p, size_t first, size_t last)
{
	const struct plan_set *s = &p->sets[first];
	const char *members = first == last ? ranks_text(p, s, ALL) : "...";

	if (first == last)
		table_cell(t, "%u of %u", s->number, s->sets);
	else
		table_cell(t, "%u-%u of %u", s->number, p->sets[last].number,
			   s->sets);
	table_cells(t, "%s\t%s", s->map ? "filemaps" : "files",
		    redset_type_name(s->type));
	if (s->n > 0)
		table_cell(t, "%u of %u", s->verdict == SET_LOST ? 0 : s->spare,
			   s->failures);
	else
		table_cell(t, "%s", "");
	table_cell(t, "%s",
		   s->chunk > 0 && first == last ? str_size(s->chunk) : "");
	table_cell(t, "%s", members[0] != '\0' ? members : "?");
	table_cell(t, "%s", ranks_text(p, s, LACKING));
	table_cell(t, "%s",
		   s->verdict == SET_REBUILDABLE ? "can be rebuilt"
						 : report_set_state(p, s));
	table_cell(t, "%s", s->n > 0 ? "" : s->reason ? s->reason : "");
}

void
report_sets(struct plan *p, struct buf *out)
{
	struct table t;

	if (p->nsets == 0)
		return;
	table_start(&t,
		    "SET|PROTECTS|SCHEME|>SPARE|>CHUNK|RANKS|LACKING|STATE|");
	for (size_t i = 0, last; i < p->nsets; i = last + 1) {
		last = i;
		if (report_unused(&p->sets[i]))
			continue;
		while (last + 1 < p->nsets &&
		       alike(&p->sets[i], &p->sets[last + 1]) &&
		       !report_unused(&p->sets[last + 1]))
			last++;
		if (last - i + 1 < RUN_MIN)
			last = i;
		set_cells(&t, p, i, last);
	}
	table_end(&t, 2, out);
}

/* --- Files --- */

static const char *
fate_name(const struct plan *p, enum fate f)
{
	return f == FATE_KEEP	   ? ""
	       : f == FATE_REBUILD ? "can be rebuilt"
				   : report_loss(p);
}

void
report_files(const struct plan *p, bool all, size_t limit, struct buf *out)
{
	struct table t;
	size_t rows = 0, most = limit > 0 ? limit : SIZE_MAX;

	table_start(&t, ">RANK|FILE|>SIZE|FOUND|");
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if ((!all && f->fate == FATE_KEEP) || rows++ >= most)
			continue;
		table_cell(&t, "%" PRIu32, f->rank);
		table_name(&t, f->path);
		table_cell(&t, "%s", str_size(f->attr.size));
		if (f->state == FILE_WRONG_SIZE)
			table_cell(&t, "%s: %" PRIu64 " B, not %" PRIu64,
				   file_state_name(f->state), f->found_size,
				   f->attr.size);
		else
			table_cell(&t, "%s", file_state_name(f->state));
		table_cell(&t, "%s", fate_name(p, f->fate));
	}
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_meta *m = &p->ranks[i].map;

		if ((m->fate == FATE_KEEP && (!all || m->name == NULL)) ||
		    rows++ >= most)
			continue;
		table_cell(&t, "%" PRId64, i);
		if (m->name != NULL)
			table_name(&t, m->name);
		else
			table_cell(&t, "filemap_%" PRId64, i);
		table_cell(&t, "%s", "");
		table_name(&t, m->why != NULL ? m->why : "present");
		table_cell(&t, "%s", fate_name(p, m->fate));
	}
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		for (uint32_t k = 0; k < s->n && !report_unused(s); k++) {
			const struct plan_member *m = &s->members[k];
			uint64_t size = m->fate == FATE_KEEP ? m->file_size : 0;

			if (m->rank == PLAN_NONE ||
			    (!all && m->fate == FATE_KEEP) || rows++ >= most)
				continue;
			table_cell(&t, "%" PRIu32, m->rank);
			table_name(&t, m->name != NULL ? m->name
						       : "redundancy file");
			table_cell(&t, "%s", size > 0 ? str_size(size) : "");
			table_name(&t,
				   m->problem != NULL && m->state != RED_PRESENT
					   ? m->problem
					   : red_state_name(m->state));
			table_cell(&t, "%s", fate_name(p, m->fate));
		}
	}
	table_drop_empty(&t);
	table_end(&t, 2, out);
	if (rows > most)
		buf_printf(out, "  ... and %zu more\n", rows - most);
}

/* --- Actions of a rebuild --- */

void
report_actions(struct plan *p, struct buf *out)
{
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];
		const char *from = NULL, *to = NULL;

		if (s->verdict == SET_WHOLE)
			continue;
		from = ranks_text(p, s, SOURCES);
		to = ranks_text(p, s, LACKING);
		buf_printf(out, "  set %u of %u, %s over the %s: ", s->number,
			   s->sets, redset_type_name(s->type),
			   s->map ? "filemaps" : "files");
		if (s->verdict == SET_LOST)
			buf_printf(out, "%s: %s\n", report_loss(p), s->reason);
		else if (from[0] == '\0')
			buf_printf(out, "rank %s, from its recorded list\n",
				   to);
		else
			buf_printf(out, "%s %s, computed from %s %s\n",
				   strpbrk(to, " -") ? "ranks" : "rank", to,
				   strpbrk(from, " -") ? "ranks" : "rank",
				   from);
	}
	buf_printf(out, "  to be read: %s, to be written: %s\n",
		   str_size(p->bytes_read), str_size(p->bytes_written));
}
