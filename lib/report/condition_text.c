/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition_text.c - prefixes and several datasets as text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "meta/index.h"
#include "report/condition.h"
#include "report/report_impl.h"
#include "str.h"

/* Lines about files that are shown unasked. */
#define FILES_SHOWN 40

#define COLUMNS 10

#define NAME_TEXT 1024

/* --- A prefix --- */

static void
put_time(struct report_out *o, const char *what, int64_t when)
{
	char stamp[INDEX_STAMP_SIZE];

	if (when >= 0)
		report_put(o, ", %s %s", what, index_stamp(stamp, when));
}

static void
put_halt(struct report_out *o, const struct halt *h)
{
	char reason[256];

	report_put(o, "  halt        %s",
		   h->reason != NULL
			   ? str_printable(reason, sizeof(reason), h->reason)
			   : "asked for");
	if (h->checkpoints_left >= 0)
		report_put(o, ", after %" PRId64 " more %s",
			   h->checkpoints_left,
			   str_plural(h->checkpoints_left, "checkpoint"));
	put_time(o, "before", h->exit_before);
	put_time(o, "after", h->exit_after);
	if (h->halt_seconds >= 0)
		report_put(o, ", %" PRId64 " s before the allocation ends",
			   h->halt_seconds);
	report_put(o, "\n");
}

static bool
halts(const struct overview *s)
{
	return s->has_halt &&
	       (s->halt.reason != NULL || s->halt.checkpoints_left >= 0 ||
		s->halt.exit_before >= 0 || s->halt.exit_after >= 0 ||
		s->halt.halt_seconds >= 0);
}

int
report_prefix(const struct overview *s, struct buf *out, struct error *err)
{
	struct report_out o = { .buf = out };
	const char *current = s->index ? index_current(s->index) : NULL;
	size_t n = s->index ? index_count(s->index) : 0;
	char text[NAME_TEXT];

	report_put(&o, "prefix %s\n",
		   str_printable(text, sizeof(text),
				 catalogue_path(s->catalogue)));
	if (s->index == NULL)
		report_put(&o, "  index       none\n");
	else
		report_put(&o, "  index       %zu %s%s%s%s\n", n,
			   str_plural(n, "dataset"),
			   current ? ", restart from " : "",
			   current ? str_printable(text, sizeof(text), current)
				   : "",
			   s->remade ? " (found again: the file is damaged)"
				     : "");
	if (halts(s))
		put_halt(&o, &s->halt);
	else
		report_put(&o, "  halt        not asked for\n");
	if (s->nodes >= 0)
		report_put(&o, "  nodes       %" PRId64 " in the last run\n",
			   s->nodes);
	return report_end(&o, err);
}

/* --- The table --- */

void
report_overview_start(struct report_table *t)
{
	static const char *const heads[COLUMNS] = {
		"ID",	 "",	 "NAME",       "WHERE", "RANKS",
		"FILES", "SIZE", "REDUNDANCY", "STATE", "COULD LOSE",
	};

	report_table_start(t, COLUMNS, 1U << 0 | 1U << 4 | 1U << 5 | 1U << 6);
	for (int c = 0; c < COLUMNS; c++)
		report_cell(t, "%s", heads[c]);
}

static void
where_cell(struct report_table *t, const struct condition *h)
{
	const struct overview_entry *e = h->entry;

	if (e == NULL)
		report_cell(t, "%zu %s", h->group->ndirs,
			    h->group->ndirs == 1 ? "directory" : "directories");
	else if (e->has_dir)
		report_cell(t, "prefix%s", e->in_cache ? ", cache" : "");
	else
		report_cell(t, "%s", e->in_cache ? "cache" : "");
}

/* Number of files and bytes, from the best source there is. */
static void
size_cells(struct report_table *t, const struct condition *h)
{
	const struct dataset *d = h->entry != NULL ? &h->entry->desc : NULL;
	bool known = d != NULL && d->id > 0 && d->files >= 0;
	uint64_t files = known ? (uint64_t)d->files : 0;
	uint64_t size = known ? d->bytes : 0;
	char bytes[32];

	if (h->plan != NULL) {
		files = h->plan->nfiles;
		size = h->plan->bytes;
	} else if (h->verify.files > 0) {
		files = h->verify.files;
		size = h->verify.bytes;
	} else if (!known) {
		report_cell(t, "%s", "");
		report_cell(t, "%s", "");
		return;
	}
	report_cell(t, "%" PRIu64, files);
	report_cell(t, "%s", str_bytes(bytes, sizeof(bytes), size));
}

void
report_overview_row(struct report_table *t, const struct condition *h)
{
	const struct overview_entry *e = h->entry;
	const char *name = e != NULL ? e->name : h->group->job;
	char text[512];

	report_cell(t, "%" PRId64, h->id);
	report_cell(t, "%s", e != NULL && e->current ? "*" : "");
	report_cell_name(t, name != NULL ? name : "");
	where_cell(t, h);
	if (h->plan != NULL && h->plan->nranks >= 0)
		report_cell(t, "%" PRId64, h->plan->nranks);
	else
		report_cell(t, "%s", "");
	size_cells(t, h);
	report_cell(t, "%s",
		    h->plan ? report_scheme(h->plan, text, sizeof(text))
		    : h->verify.files > 0 ? "none"
					  : "");
	report_cell(t, "%s", condition_state(h));
	report_cell(t, "%s",
		    h->plan ? report_spare(h->plan, false, text, sizeof(text))
			    : "");
}

int
report_reasons(const struct condition *h, struct buf *out, struct error *err)
{
	struct report_out o = { .buf = out };
	const struct overview_entry *e = h->entry;
	char text[sizeof(h->why) + 64];

	char dataset[48];

	/* The library's sentences mostly begin with these words. */
	snprintf(dataset, sizeof(dataset), "dataset %" PRId64 ": ", h->id);
	if (h->why[0] != '\0')
		report_put(&o, "  %s%s\n",
			   str_starts(h->why, dataset) ? "" : dataset,
			   str_printable(text, sizeof(text), h->why));
	if (e != NULL && e->indexed && !e->valid)
		report_put(&o,
			   "  dataset %" PRId64 ": in the index as NO: %s\n",
			   h->id, e->reason);
	if (e != NULL && e->has_dir && !e->indexed && h->status != STATUS_LOST)
		report_put(
			&o, "  %snot in the index: %s puts it there\n", dataset,
			report_command("scr_index --build",
				       h->plan ? h->plan->places[0].root : ".",
				       h->id, text, sizeof(text)));
	return report_end(&o, err);
}

/* --- One dataset --- */

/* What rank2file says of a dataset that has no filemaps. */
static int
report_flushed(const struct condition *h, struct buf *out, struct error *err)
{
	struct report_out o = { .buf = out };
	const struct overview_entry *e = h->entry;
	const char *at = h->problems.data;
	char text[NAME_TEXT], bytes[32];

	report_put(&o, "dataset %" PRId64 "  %s\n", h->id,
		   e != NULL && e->name != NULL
			   ? str_printable(text, sizeof(text), e->name)
			   : "");
	if (h->verify.files > 0)
		report_put(&o,
			   "  size        %zu %s, %s\n"
			   "  redundancy  none kept: it was flushed; checked "
			   "by its rank2file\n",
			   h->verify.files, str_plural(h->verify.files, "file"),
			   str_bytes(bytes, sizeof(bytes), h->verify.bytes));
	report_put(&o, "  state       %s", condition_state(h));
	if (at == NULL && h->why[0] != '\0')
		report_put(&o, ": %s",
			   str_printable(text, sizeof(text), h->why));
	report_put(&o, "\n");
	while (at != NULL && *at != '\0') {
		int len = (int)strcspn(at, "\n");

		report_put(&o, "  %.*s\n", len, at);
		at += len + (at[len] == '\n');
	}
	return report_end(&o, err);
}

/* Only a part of the nodes was looked at: the rest may be all right. */
static void
hint_nodes(struct report_out *o, const struct plan *p)
{
	int64_t here = 0;

	for (int64_t r = 0; r < p->nranks; r++)
		here += p->ranks[r].map.name != NULL &&
			p->ranks[r].map.fate == FATE_KEEP;
	if (here > 0 && here < p->nranks)
		report_put(o,
			   "  note        files of %" PRId64 " of %" PRId64
			   " ranks were found here; caches of other nodes can "
			   "be named, too\n",
			   here, p->nranks);
}

static void
hint_rebuild(struct report_out *o, const struct condition *h)
{
	const char *prefix = h->plan->places[0].root;
	char text[NAME_TEXT];

	if (plan_status(h->plan) != STATUS_DAMAGED || h->entry == NULL)
		return;
	report_put(o, "  next        %s: brings it back\n",
		   report_command("scr_rebuild", prefix, h->id, text,
				  sizeof(text)));
	report_put(o,
		   "              %s: does, too, and puts it into the "
		   "index\n",
		   report_command("scr_index --build", prefix, h->id, text,
				  sizeof(text)));
}

int
report_detail(struct condition *h, const struct report_choice *c,
	      struct buf *out, struct error *err)
{
	struct report_out o = { .buf = out };
	const struct dataset *d = h->entry != NULL ? &h->entry->desc : NULL;
	struct plan *p = h->plan;

	if (p == NULL)
		return report_flushed(h, out, err);
	if (report_summary(p, d, out, err) < 0)
		return -1;
	if (p->places[0].cache && h->status == STATUS_LOST)
		hint_nodes(&o, p);
	hint_rebuild(&o, h);
	if (h->deep_done && report_deep(p, &h->deep, out, err) < 0)
		return -1;
	report_put(&o, "\n");
	if (report_sets(p, out, err) < 0)
		return -1;
	if (c->map) {
		report_put(&o, "\n");
		if (report_map(p, &c->style, out, err) < 0)
			return -1;
	}
	if (c->all_files || plan_status(p) != STATUS_OK)
		report_put(&o, "\n");
	if (report_files(p, c->all_files, c->all_files ? 0 : FILES_SHOWN, out,
			 err) < 0)
		return -1;
	return report_end(&o, err);
}
