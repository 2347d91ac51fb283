/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_table.c - a plan as tables (sets, files, actions of a rebuild), and as
 * JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "report/containers.h"
#include "report/plan_text.h"
#include "report/report_impl.h"
#include "report/table.h"
#include "rescue/deep.h"
#include "str.h"

/* --- Sets --- */

/* Members of a set: all, those that lack something, and those whose data or
 * redundancy file a rebuild reads. */
enum members { ALL, LACKING, SOURCES };

/* World ranks of members; borrowed from the plan. */
static const char *
ranks_text(const struct plan *p, const struct plan_set *s, enum members wanted)
{
	uint32_t *ranks = mem_alloc((size_t)s->n + 1, sizeof(*ranks));
	const char *text = "";
	size_t n = 0;

	for (uint32_t m = 0; m < s->n; m++)
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

void
report_sets(const struct plan *p, struct buf *out)
{
	struct table t;

	table_start(&t,
		    "SET|PROTECTS|SCHEME|>SPARE|>CHUNK|RANKS|LACKING|STATE|");
	for (size_t i = 0, last; i < p->nsets; i = last + 1) {
		const struct plan_set *s = &p->sets[i];
		const char *members = NULL;

		last = i;
		if (report_unused(s))
			continue;
		while (last + 1 < p->nsets && alike(s, &p->sets[last + 1]) &&
		       !report_unused(&p->sets[last + 1]))
			last++;
		if (last - i + 1 < RUN_MIN)
			last = i;
		if (i == last)
			table_cell(&t, "%u of %u", s->number, s->sets);
		else
			table_cell(&t, "%u-%u of %u", s->number,
				   p->sets[last].number, s->sets);
		table_cells(&t, "%s\t%s", s->map ? "filemaps" : "files",
			    redset_type_name(s->type));
		if (s->n > 0)
			table_cell(&t, "%u of %u",
				   s->verdict == SET_LOST ? 0 : s->spare,
				   s->failures);
		else
			table_cell(&t, "%s", "");
		table_cell(&t, "%s",
			   s->chunk > 0 && i == last ? str_size(s->chunk) : "");
		members = i == last ? ranks_text(p, s, ALL) : "...";
		table_cell(&t, "%s", members[0] != '\0' ? members : "?");
		table_cell(&t, "%s", ranks_text(p, s, LACKING));
		table_cell(&t, "%s",
			   s->verdict == SET_REBUILDABLE
				   ? "can be rebuilt"
				   : report_set_state(p, s));
		table_cell(&t, "%s",
			   s->n > 0 || s->reason == NULL ? "" : s->reason);
	}
	table_drop_empty(&t);
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
	size_t rows = 0, most = limit > 0 ? limit : SIZE_MAX;
	struct table t;

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
		table_cell(&t, "%s",
			   f->astray ? "renamed" : fate_name(p, f->fate));
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
report_actions(const struct plan *p, struct buf *out)
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

/* --- JSON; scr_inspect(1) documents it --- */

static const char *
action_of(const struct plan *p, enum fate f)
{
	return f == FATE_KEEP	   ? "keep"
	       : f == FATE_REBUILD ? "rebuild"
				   : report_loss(p);
}

static void
set_rank(struct json *j, uint32_t rank)
{
	json_set_or_null(j, "rank", rank == PLAN_NONE ? -1 : (int64_t)rank);
}

static struct json *
redset_json(const struct plan *p, const struct plan_set *s)
{
	struct json *j = json_new_object(), *members = json_new_array();

	json_set_str(j, "over", s->map ? "filemaps" : "files");
	json_set_str(j, "scheme", redset_type_name(s->type));
	json_set_u64(j, "number", s->number);
	json_set_u64(j, "set_count", s->sets);
	json_set_str(j, "state", report_set_state(p, s));
	json_set_known_str(j, "reason", s->reason);
	json_set_u64(j, "members_missing", s->missing);
	json_set_bool(j, "used", s->n == 0 || s->opened || s->sampled);
	if (s->opened || s->sampled) {
		json_set_u64(j, "tolerance", s->failures);
		if (s->verdict != SET_LOST)
			json_set_u64(j, "tolerance_left", s->spare);
		json_set_u64(j, "chunk", s->chunk);
	}
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		struct json *e = json_new_object();

		json_set_u64(e, "member", i);
		set_rank(e, m->rank);
		if (p->nplaces > 1 && m->rank < p->nranks)
			json_set_u64(e, "place", p->ranks[m->rank].map.place);
		json_set_known_str(e, "file", m->name);
		json_set_str(e, "found", red_state_name(m->state));
		json_set_known_str(e, "problem", m->problem);
		json_set_str(e, "action", action_of(p, m->fate));
		json_push(members, e);
	}
	json_set(j, "members", members);
	return j;
}

static struct json *
file_json(const struct plan *p, const struct plan_file *f)
{
	struct json *j = json_new_object();

	json_set_str(j, "path", f->path);
	json_set_u64(j, "rank", f->rank);
	if (p->nplaces > 1)
		json_set_u64(j, "place", f->place);
	json_set_u64(j, "size", f->attr.size);
	if (f->has_crc)
		report_set_crc(j, f->crc);
	json_set_str(j, "found", file_state_name(f->state));
	if (f->state == FILE_WRONG_SIZE)
		json_set_u64(j, "found_size", f->found_size);
	json_set_str(j, "action", f->astray ? "rename" : action_of(p, f->fate));
	return j;
}

struct json *
plan_json(const struct plan *p, bool all_files)
{
	struct json *j = json_new_object(), *places = json_new_array();
	struct json *sets = json_new_array(), *maps = json_new_array();
	struct json *files = json_new_array(), *totals = json_new_object();
	struct error why = ERROR_INIT;

	for (size_t i = 0; i < p->nplaces; i++) {
		const struct place *at = &p->places[i];
		struct json *e = json_new_object();

		json_set_str(e, "kind", at->cache ? "cache" : "prefix");
		json_set_str(e, "root", at->root);
		json_set_str(e, "metadata", at->meta);
		json_push(places, e);
	}
	for (size_t i = 0; i < p->nsets; i++)
		json_push(sets, redset_json(p, &p->sets[i]));
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_meta *m = &p->ranks[i].map;
		struct json *e = NULL;

		if (!all_files && m->fate == FATE_KEEP)
			continue;
		e = json_new_object();
		json_set_i64(e, "rank", i);
		if (p->nplaces > 1)
			json_set_u64(e, "place", m->place);
		json_set_known_str(e, "file", m->name);
		json_set_str(e, "found", m->why != NULL ? m->why : "present");
		json_set_str(e, "action", action_of(p, m->fate));
		json_push(maps, e);
	}
	for (size_t i = 0; i < p->nfiles; i++)
		if (all_files || p->files[i].fate != FATE_KEEP)
			json_push(files, file_json(p, &p->files[i]));
	json_set_u64(totals, "files_missing", p->files_missing);
	json_set_u64(totals, "files_to_rebuild", p->files_rebuild);
	json_set_u64(totals, "files_lost", p->files_lost);
	json_set_u64(totals, "filemaps_missing", p->maps_missing);
	json_set_u64(totals, "filemaps_lost", p->maps_lost);
	json_set_u64(totals, "filemaps_unplaced", p->maps_unplaced);
	json_set_u64(totals, "redundancy_to_rebuild", p->red_missing);
	json_set_u64(totals, "ranks_lost", p->ranks_lost);
	json_set_u64(totals, "bytes_to_read", p->bytes_read);
	json_set_u64(totals, "bytes_to_write", p->bytes_written);
	if (p->id > 0)
		json_set_i64(j, "id", p->id);
	json_set_str(j, "state", report_state(plan_status(p)));
	if (plan_error(p, &why) < 0)
		json_set_str(j, "reason", why.text);
	json_set_known_i64(j, "rank_count", p->nranks);
	json_set_u64(j, "file_count", p->nfiles);
	json_set_u64(j, "bytes", p->bytes);
	json_set(j, "places", places);
	json_set_known_str(j, "recorded_root", p->recorded_root);
	json_set_bool(j, "moved", p->moved);
	if (p->undecided)
		json_set_bool(j, "undecided", true);
	json_set(j, "totals", totals);
	json_set(j, "sets", sets);
	json_set(j, "filemaps", maps);
	json_set(j, "files", files);
	return j;
}

/* --- Deep checks --- */

struct json *
plan_json_deep(const struct plan *p, const struct deep_result *r)
{
	struct json *j = json_new_object(), *list = json_new_array();

	for (size_t i = 0; i < r->nfindings; i++) {
		const struct deep_finding *f = &r->findings[i];
		const struct plan_set *s = &p->sets[f->set];
		struct error text = ERROR_INIT;
		struct json *e = json_new_object();

		deep_error(p, f, &text);
		json_set_str(e, "problem", text.text);
		json_set_u64(e, "set", s->number);
		json_set_str(e, "over", s->map ? "filemaps" : "files");
		if (f->unread != NULL) {
			json_set_bool(e, "unknown", true);
			json_push(list, e);
			continue;
		}
		json_set_u64(e, "bytes", f->bytes);
		json_set_u64(e, "stripe", f->stripe);
		json_set_u64(e, "offset", f->first);
		if (f->member != PLAN_NONE && f->member < s->n) {
			set_rank(e, s->members[f->member].rank);
			json_set_str(e, "kind",
				     f->in_body ? "redundancy" : "data");
		}
		if (f->file != PLAN_NONE) {
			json_set_str(e, "path", p->files[f->file].path);
			json_set_u64(e, "path_offset", f->file_off);
		}
		json_push(list, e);
	}
	json_set_u64(j, "sets_checked", r->sets_checked);
	json_set_u64(j, "sets_skipped", r->sets_skipped);
	json_set_u64(j, "bytes_read", r->bytes_read);
	json_set(j, "findings", list);
	return j;
}
