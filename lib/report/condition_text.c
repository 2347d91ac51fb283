/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition_text.c - prefixes and their datasets as text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "meta/index.h"
#include "report/condition.h"
#include "report/condition_text.h"
#include "report/containers.h"
#include "report/hint.h"
#include "rescue/plan.h"
#include "str.h"

/* Lines about files that are shown without -v. */
#define FILES_SHOWN 40

/* --- A prefix --- */

static void
put_time(struct buf *out, const char *what, int64_t when)
{
	char stamp[INDEX_STAMP_SIZE];

	if (when >= 0)
		buf_printf(out, ", %s %s", what, index_stamp(stamp, when));
}

static void
put_halt(struct buf *out, const struct halt *h)
{
	buf_printf(out, "  halt        %s",
		   h->reason != NULL ? str_shown(h->reason) : "requested");
	if (h->checkpoints_left >= 0)
		buf_printf(out, ", after %" PRId64 " more %s",
			   str_count(h->checkpoints_left, "checkpoint"));
	put_time(out, "before", h->exit_before);
	put_time(out, "after", h->exit_after);
	if (h->halt_seconds >= 0)
		buf_printf(out, ", %" PRId64 " s before the allocation ends",
			   h->halt_seconds);
	buf_printf(out, "\n");
}

static bool
halts(const struct overview *s)
{
	return s->has_halt &&
	       (s->halt.reason != NULL || s->halt.checkpoints_left >= 0 ||
		s->halt.exit_before >= 0 || s->halt.exit_after >= 0 ||
		s->halt.halt_seconds >= 0);
}

void
report_prefix(const struct overview *s, struct buf *out)
{
	const char *current = s->index ? index_current(s->index) : NULL;
	size_t n = s->index ? index_count(s->index) : 0;

	buf_printf(out, "prefix %s\n", str_shown(catalogue_path(s->catalogue)));
	if (s->index == NULL)
		buf_printf(out, "  index       none\n");
	else
		buf_printf(out, "  index       %zu %s%s%s%s\n",
			   str_count(n, "dataset"),
			   current ? ", restart from " : "",
			   current ? str_shown(current) : "",
			   s->remade ? " (read from the summaries: the file "
				       "is damaged)"
				     : "");
	if (halts(s))
		put_halt(out, &s->halt);
	else
		buf_printf(out, "  halt        none requested\n");
	if (s->nodes >= 0)
		buf_printf(out, "  nodes       %" PRId64 " in the last run\n",
			   s->nodes);
}

/* --- The table --- */

/* A new one needs a line here and a cell in report_overview_row(). */
const struct table_column report_overview[] = {
	{ "id", ">ID" },       { "current", "" },
	{ "name", "NAME" },    { "where", "WHERE" },
	{ "ranks", ">RANKS" }, { "files", ">FILES" },
	{ "size", ">SIZE" },   { "redundancy", "REDUNDANCY" },
	{ "state", "STATE" },  { "tolerates", "TOLERATES" },
	{ NULL, NULL },
};

static void
where_cell(struct table *t, const struct condition *h)
{
	const struct overview_entry *e = h->entry;

	if (e == NULL)
		table_cell(t, "%zu %s", h->group->ndirs,
			   h->group->ndirs == 1 ? "directory" : "directories");
	else if (e->has_dir)
		table_cell(t, "prefix%s", e->in_cache ? ", cache" : "");
	else
		table_cell(t, "%s", e->in_cache ? "cache" : "");
}

/* Number of files and bytes, from the best source there is. */
static void
size_cells(struct table *t, const struct condition *h)
{
	const struct dataset *d = h->entry != NULL ? &h->entry->desc : NULL;
	bool known = d != NULL && d->id > 0 && d->files >= 0;
	uint64_t files = known ? (uint64_t)d->files : 0;
	uint64_t size = known ? d->bytes : 0;

	if (h->plan != NULL) {
		files = h->plan->nfiles;
		size = h->plan->bytes;
	} else if (h->verify.files > 0) {
		files = h->verify.files;
		size = h->verify.bytes;
	} else if (!known) {
		table_cell(t, "%s", "");
		table_cell(t, "%s", "");
		return;
	}
	table_cell(t, "%" PRIu64, files);
	table_size(t, size);
}

void
report_overview_row(struct table *t, const struct condition *h)
{
	const struct overview_entry *e = h->entry;
	const char *name = e != NULL ? e->name : h->group->job;
	char text[512];

	table_cell(t, "%" PRId64, h->id);
	table_cell(t, "%s", e != NULL && e->current ? "*" : "");
	table_name(t, name != NULL ? name : "");
	where_cell(t, h);
	if (h->plan != NULL && h->plan->nranks >= 0)
		table_cell(t, "%" PRId64, h->plan->nranks);
	else
		table_cell(t, "%s", "");
	size_cells(t, h);
	table_cell(t, "%s",
		   h->plan ? report_scheme(h->plan, text, sizeof(text))
		   : h->verify.files > 0 ? "none"
					 : "");
	table_cell(t, "%s", condition_state(h));
	table_cell(t, "%s",
		   report_may_lose(h->plan, h->status)
			   ? report_spare(h->plan, false, text, sizeof(text))
			   : "");
}

/* Should the dataset be added to the index?  Not if its condition is unknown or
 * bad. */
static bool
is_fit(const struct condition *h)
{
	return (h->status == STATUS_OK || h->status == STATUS_DAMAGED) &&
	       !(h->deep_done && h->deep.nfindings > 0);
}

static void
put_next(const struct condition *h, struct buf *out)
{
	if (h->next[0] != '\0' && !h->next_for_all)
		buf_printf(out, "  next:       %s\n", h->next);
}

void
report_next_for_all(const struct condition *h, struct buf *out)
{
	char line[sizeof(h->next) + 32];

	snprintf(line, sizeof(line), "  next:       %s\n", h->next);
	if (h->next_for_all &&
	    (out->len == 0 || strstr(out->data, line) == NULL))
		buf_add_str(out, line);
}

void
report_reasons(const struct condition *h, struct buf *out)
{
	const struct overview_entry *e = h->entry;
	char dataset[48];

	/* Most messages of the library begin with these words. */
	snprintf(dataset, sizeof(dataset), "dataset %" PRId64 ": ", h->id);
	if (h->why[0] != '\0')
		buf_printf(out, "  %s%s\n",
			   str_starts(h->why, dataset) ? "" : dataset,
			   str_shown(h->why));
	if (e != NULL && e->indexed && !e->valid)
		buf_printf(out, "  %sin the index as NO: %s\n", dataset,
			   e->reason);
	if (e != NULL && e->has_dir && !e->indexed && is_fit(h) &&
	    h->namesake == 0)
		buf_printf(out, "  %snot in the index\n", dataset);
	put_next(h, out);
}

/* --- One dataset --- */

/* A dataset without filemaps: its files come from rank2file. */
static void
report_flushed(const struct condition *h, struct buf *out)
{
	const struct overview_entry *e = h->entry;
	const char *at = h->problems.data, *line = NULL;
	size_t len = 0;

	buf_printf(out, "dataset %" PRId64 "  %s\n", h->id,
		   e != NULL && e->name != NULL ? str_shown(e->name) : "");
	if (h->verify.files > 0)
		buf_printf(out,
			   "  size        %zu %s, %s\n  redundancy  not kept "
			   "for flushed datasets; checked by its rank2file\n",
			   str_count(h->verify.files, "file"),
			   str_size(h->verify.bytes));
	report_containers_head(h->containers, out);
	buf_printf(out, "  state       %s", condition_state(h));
	if (at == NULL && h->why[0] != '\0')
		buf_printf(out, ": %s", str_shown(h->why));
	buf_printf(out, "\n");
	while ((line = str_line(&at, &len)) != NULL)
		buf_printf(out, "  %.*s\n", (int)len, line);
	put_next(h, out);
}

static void
put_containers_map(const struct containers *k, const struct report_choice *c,
		   struct buf *out)
{
	if (k == NULL || !c->map)
		return;
	buf_printf(out, "\n");
	report_containers_map(k, &c->style, out);
}

/* Report the problems of the metadata that a restart needs.  If there are none,
 * report why a dataset is damaged although it lacks no file. */
static void
report_causes(const struct condition *h, struct buf *out)
{
	const char *at = h->problems.data, *line = NULL;
	size_t len = 0;

	if (plan_data_status(h->plan) == STATUS_LOST ||
	    plan_data_status(h->plan) == STATUS_FAILED)
		return;
	while ((line = str_line(&at, &len)) != NULL)
		buf_printf(out, "  because     %.*s\n", (int)len, line);
	if (h->namesake > 0 || (h->problems.len == 0 && !h->deep_done &&
				h->status != plan_data_status(h->plan)))
		buf_printf(out, "  because     %s\n", str_shown(h->why));
}

/* A dataset that has a plan. */
static void
report_planned(struct condition *h, const struct report_choice *c,
	       struct buf *out)
{
	const struct dataset *d = h->entry != NULL ? &h->entry->desc : NULL;
	struct plan *p = h->plan;

	report_summary(p, d, h->containers, h->status, out);
	report_causes(h, out);
	if (p->places[0].cache && h->status == STATUS_LOST) {
		int64_t here = 0;

		/* If only some nodes were checked, caches of the others may be
		 * whole. */
		for (int64_t r = 0; r < p->nranks; r++)
			here += p->ranks[r].map.name != NULL &&
				p->ranks[r].map.fate == FATE_KEEP;
		if (here > 0 && here < p->nranks)
			buf_printf(
				out,
				"  note        files of %" PRId64 " of %" PRId64
				" ranks were found here; caches of other nodes can "
				"be named, too\n",
				here, p->nranks);
	}
	if (h->deep_done)
		report_deep(p, &h->deep, out);
	put_next(h, out);
	buf_printf(out, "\n");
	report_sets(p, out);
	if (c->map) {
		buf_printf(out, "\n");
		report_map(p, &c->style, out);
	}
	put_containers_map(h->containers, c, out);
	if (c->all_files || plan_status(p) != STATUS_OK)
		buf_printf(out, "\n");
	report_files(p, c->all_files, c->all_files ? 0 : FILES_SHOWN, out);
}

void
report_detail(struct condition *h, const struct report_choice *c,
	      struct buf *out)
{
	const struct containers *k = h->containers;

	if (h->plan != NULL) {
		report_planned(h, c, out);
	} else {
		report_flushed(h, out);
		put_containers_map(k, c, out);
	}
	if (k == NULL)
		return;
	if (c->all_containers || k->damaged > 0)
		buf_printf(out, "\n");
	report_containers_table(k, c->all_containers, out);
}
