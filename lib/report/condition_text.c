/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition_text.c - prefixes and their datasets as text and JSON.
 */
#include <inttypes.h>

#include "buf.h"
#include "error.h"
#include "json.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "num.h"
#include "report/condition.h"
#include "report/containers.h"
#include "report/packing.h"
#include "report/plan_text.h"
#include "rescue/plan.h"
#include "str.h"

/* Lines about files that are shown without -v. */
#define FILES_SHOWN 40

/* --- A prefix --- */

static void
put_time(struct buf *out, const char *what, int64_t when)
{
	if (when >= 0)
		buf_printf(out, ", %s %s", what, index_stamp_str(when));
}

void
report_prefix(const struct overview *s, struct buf *out)
{
	const char *current = s->index ? index_current(s->index) : NULL;
	size_t n = s->index ? index_count(s->index) : 0;
	const struct halt *h = &s->halt;

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
	if (s->has_halt && (h->reason != NULL || h->checkpoints_left >= 0 ||
			    h->exit_before >= 0 || h->exit_after >= 0 ||
			    h->halt_seconds >= 0)) {
		buf_printf(out, "  halt        %s",
			   h->reason != NULL ? str_shown(h->reason)
					     : "requested");
		if (h->checkpoints_left >= 0)
			buf_printf(
				out, ", after %" PRId64 " more %s",
				str_count(h->checkpoints_left, "checkpoint"));
		put_time(out, "before", h->exit_before);
		put_time(out, "after", h->exit_after);
		if (h->halt_seconds >= 0)
			buf_printf(out,
				   ", %" PRId64 " s before the allocation ends",
				   h->halt_seconds);
		buf_printf(out, "\n");
	} else {
		buf_printf(out, "  halt        none requested\n");
	}
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

void
report_overview_row(struct table *t, const struct condition *h)
{
	const struct overview_entry *e = h->entry;
	const char *name = e != NULL ? e->name : h->group->job;
	const bool described =
		e != NULL && e->desc.id > 0 && e->desc.files >= 0;

	table_cells(t, "%" PRId64 "\t%s", h->id,
		    e != NULL && e->current ? "*" : "");
	table_name(t, name != NULL ? name : "");
	if (e == NULL)
		table_cell(t, "%zu %s", h->group->ndirs,
			   h->group->ndirs == 1 ? "directory" : "directories");
	else if (e->has_dir)
		table_cell(t, "prefix%s", e->in_cache ? ", cache" : "");
	else
		table_cell(t, "%s", e->in_cache ? "cache" : "");
	table_cell(t, "%s",
		   h->plan != NULL && h->plan->nranks >= 0
			   ? num_str(h->plan->nranks)
			   : "");
	/* Number of files and bytes, from the best source there is. */
	if (h->plan == NULL && h->verify.files == 0 && !described) {
		table_cells(t, "%s\t%s", "", "");
	} else {
		table_cell(t, "%" PRIu64,
			   h->plan != NULL	 ? (uint64_t)h->plan->nfiles
			   : h->verify.files > 0 ? (uint64_t)h->verify.files
						 : (uint64_t)e->desc.files);
		table_size(t, h->plan != NULL	    ? h->plan->bytes
			      : h->verify.files > 0 ? h->verify.bytes
						    : e->desc.bytes);
	}
	table_cells(t, "%s\t%s\t%s",
		    h->plan		  ? report_scheme(h->plan)
		    : h->verify.files > 0 ? "none"
					  : "",
		    condition_state(h),
		    report_may_lose(h->plan, h->status)
			    ? report_spare(h->plan, false)
			    : "");
}

void
report_reasons(const struct condition *h, struct buf *out)
{
	const struct overview_entry *e = h->entry;
	/* Most messages of the library begin with these words. */
	const char *dataset = str_printed(48, "dataset %" PRId64 ": ", h->id);

	if (h->why[0] != '\0')
		buf_printf(out, "  %s%s\n",
			   str_starts(h->why, dataset) ? "" : dataset,
			   str_shown(h->why));
	if (e != NULL && e->indexed && !e->valid)
		buf_printf(out, "  %sin the index as NO: %s\n", dataset,
			   e->reason);
	/* Should it be added to the index?  Not if its condition is unknown or
	 * bad. */
	if (e != NULL && e->has_dir && !e->indexed && h->namesake == 0 &&
	    (h->status == STATUS_OK || h->status == STATUS_DAMAGED) &&
	    !(h->deep_done && h->deep.nfindings > 0))
		buf_printf(out, "  %snot in the index\n", dataset);
}

/* --- One dataset --- */

/* What stands for the redundancy of a dataset without filemaps. */
#define FLUSHED "not kept for flushed datasets; checked by its rank2file"

/* If only some nodes were checked, caches of the others may be whole: how many
 * ranks have files here; 0: it does not matter. */
static int64_t
ranks_here(const struct condition *h)
{
	const struct plan *p = h->plan;
	int64_t here = 0;

	if (p == NULL || !p->places[0].cache || h->status != STATUS_LOST)
		return 0;
	for (int64_t r = 0; r < p->nranks; r++)
		here += p->ranks[r].map.name != NULL &&
			p->ranks[r].map.fate == FATE_KEEP;
	return here < p->nranks ? here : 0;
}

/* Is it unknown whether what is damaged can be rebuilt? */
static bool
is_undecided(const struct condition *h)
{
	return h->plan->undecided && h->plan->flaw == NULL &&
	       plan_status(h->plan) == STATUS_DAMAGED;
}

static void
put_facts(const struct condition *h, struct buf *out)
{
	const struct overview_entry *e = h->entry;
	const struct plan *p = h->plan;
	const int data = p != NULL ? plan_data_status(p) : STATUS_OK;
	const char *at = h->problems.data, *line = NULL;
	size_t len = 0;
	const int64_t here = ranks_here(h);

	if (p == NULL) {
		/* Without filemaps, its files come from rank2file. */
		buf_printf(out, "dataset %" PRId64 "  %s\n", h->id,
			   e != NULL && e->name != NULL ? str_shown(e->name)
							: "");
		if (h->verify.files > 0)
			buf_printf(
				out,
				"  size        %zu %s, %s\n  redundancy  " FLUSHED
				"\n",
				str_count(h->verify.files, "file"),
				str_size(h->verify.bytes));
		if (h->containers != NULL)
			report_containers_head(h->containers, out);
		buf_printf(out, "  state       %s", condition_state(h));
		if (at == NULL && h->why[0] != '\0')
			buf_printf(out, ": %s", str_shown(h->why));
		buf_printf(out, "\n");
		while ((line = str_line(&at, &len)) != NULL)
			buf_printf(out, "  %.*s\n", (int)len, line);
		return;
	}
	report_summary(p, e != NULL ? &e->desc : NULL, h->containers, h->status,
		       out);
	/* The problems of the metadata that a restart needs; if there are none,
	 * why a dataset is damaged although it lacks no file. */
	if (data != STATUS_LOST && data != STATUS_FAILED) {
		while ((line = str_line(&at, &len)) != NULL)
			buf_printf(out, "  because     %.*s\n", (int)len, line);
		if (h->namesake > 0 || (h->problems.len == 0 && !h->deep_done &&
					h->status != data))
			buf_printf(out, "  because     %s\n",
				   str_shown(h->why));
	}
	if (here > 0)
		buf_printf(out,
			   "  note        files of %" PRId64 " of %" PRId64
			   " ranks were found here; caches of other nodes can "
			   "be named, too\n",
			   here, p->nranks);
	if (h->deep_done)
		report_deep(p, &h->deep, out);
}

void
report_detail(const struct condition *h, const struct report_choice *c,
	      struct buf *out)
{
	const struct containers *k = h->containers;
	const struct plan *p = h->plan;

	put_facts(h, out);
	if (p != NULL) {
		buf_printf(out, "\n");
		report_sets(p, out);
	}
	if (p != NULL && c->map) {
		buf_printf(out, "\n");
		report_map(p, &c->style, out);
	}
	if (k != NULL && c->map) {
		buf_printf(out, "\n");
		report_containers_map(k, &c->style, out);
	}
	if (p != NULL && (c->all_files || plan_status(p) != STATUS_OK))
		buf_printf(out, "\n");
	if (p != NULL)
		report_files(p, c->all_files, c->all_files ? 0 : FILES_SHOWN,
			     out);
	if (k == NULL)
		return;
	if (c->all_containers || k->damaged > 0)
		buf_printf(out, "\n");
	report_containers_table(k, c->all_containers, out);
}

/* --- JSON --- */

struct json *
condition_json(const struct condition *h, bool detail, bool all_files)
{
	const struct overview_entry *e = h->entry;
	const bool flushed = h->plan == NULL && h->verify.files > 0;
	const char *at = h->problems.data, *line = NULL;
	struct json *j = json_new_object(), *list = NULL;
	struct buf text = BUF_INIT;
	size_t len = 0;

	if (e != NULL && e->desc.id > 0)
		dataset_json(&e->desc, j);
	else
		json_set_i64(j, "id", h->id);
	if (e != NULL && e->desc.id <= 0)
		json_set_known_str(j, "name", e->name);
	if (flushed && (e == NULL || e->desc.id <= 0)) {
		json_set_u64(j, "file_count", h->verify.files);
		json_set_u64(j, "bytes", h->verify.bytes);
	}
	if (flushed)
		json_set_str(j, "redundancy", FLUSHED);
	if (e != NULL) {
		json_set_bool(j, "indexed", e->indexed);
		json_set_bool(j, "valid", e->valid);
		json_set_bool(j, "is_current", e->current);
		json_set_bool(j, "on_prefix", e->has_dir);
		json_set_bool(j, "in_cache", e->in_cache);
	} else {
		json_set_str(j, "job_id", h->group->job);
	}
	json_set_str(j, "state", condition_state(h));
	json_set_known_str(j, "reason", h->why);
	json_set_known_str(j, "next", h->next);
	if (h->plan != NULL) {
		json_set_str(j, "redundancy", report_scheme(h->plan));
		if (report_may_lose(h->plan, h->status))
			json_set_str(j, "tolerates",
				     is_undecided(h)
					     ? "no loss"
					     : report_spare(h->plan, false));
		if (ranks_here(h) > 0)
			json_set_i64(j, "ranks_found", ranks_here(h));
		if (detail)
			json_set(j, "plan", plan_json(h->plan, all_files));
	}
	if (h->problems.len > 0) {
		list = json_new_array();
		while ((line = str_line(&at, &len)) != NULL) {
			buf_clear(&text);
			buf_printf(&text, "%.*s", (int)len, line);
			report_push_problem(list, text.data);
		}
		buf_free(&text);
		json_set(j, "problems", list);
	}
	if (h->packed)
		json_set_bool(j, "packed", true);
	if (h->deep_done)
		json_set(j, "deep", plan_json_deep(h->plan, &h->deep));
	if (detail && h->containers != NULL)
		report_containers_json(h->containers, all_files, j);
	return j;
}

struct json *
condition_prefix_json(const struct overview *s, struct json *datasets)
{
	struct json *j = json_new_object(), *halt = NULL;
	const char *current = s->index ? index_current(s->index) : NULL;
	const struct halt *h = &s->halt;

	json_set_str(j, "prefix", catalogue_path(s->catalogue));
	json_set_bool(j, "has_index", s->index != NULL);
	json_set_known_str(j, "current", current);
	if (s->has_halt) {
		halt = json_new_object();
		json_set_known_str(halt, "reason", h->reason);
		json_set_known_i64(halt, "checkpoints_left",
				   h->checkpoints_left);
		if (h->exit_before >= 0)
			json_set_time(halt, "exit_before", h->exit_before);
		if (h->exit_after >= 0)
			json_set_time(halt, "exit_after", h->exit_after);
		json_set_known_i64(halt, "halt_seconds", h->halt_seconds);
		json_set(j, "halt", halt);
	}
	json_set_known_i64(j, "node_count", s->nodes);
	json_set(j, "datasets", datasets);
	return j;
}
