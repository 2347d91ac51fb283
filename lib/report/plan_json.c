/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_json.c - a plan as JSON; scr_inspect(1) documents it.
 */
#include "error.h"
#include "json.h"
#include "report/containers.h"
#include "report/plan_text.h"
#include "report/report_impl.h"
#include "rescue/deep.h"
#include "rescue/plan.h"

static const char *
fate_name(const struct plan *p, enum fate f)
{
	return f == FATE_KEEP	   ? "keep"
	       : f == FATE_REBUILD ? "rebuild"
				   : report_loss(p);
}

static void
set_rank(struct json *j, uint32_t rank)
{
	if (rank == PLAN_NONE)
		json_set_null(j, "rank");
	else
		json_set_u64(j, "rank", rank);
}

static struct json *
set_json(const struct plan *p, const struct plan_set *s)
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
		json_set_known_str(e, "file", m->name);
		json_set_str(e, "found", red_state_name(m->state));
		json_set_known_str(e, "problem", m->problem);
		json_set_str(e, "action", fate_name(p, m->fate));
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
	json_set_str(j, "action", fate_name(p, f->fate));
	return j;
}

static struct json *
totals_json(const struct plan *p)
{
	struct json *j = json_new_object();

	json_set_u64(j, "files_missing", p->files_missing);
	json_set_u64(j, "files_to_rebuild", p->files_rebuild);
	json_set_u64(j, "files_lost", p->files_lost);
	json_set_u64(j, "filemaps_missing", p->maps_missing);
	json_set_u64(j, "filemaps_lost", p->maps_lost);
	json_set_u64(j, "filemaps_unplaced", p->maps_unplaced);
	json_set_u64(j, "redundancy_to_rebuild", p->red_missing);
	json_set_u64(j, "ranks_lost", p->ranks_lost);
	json_set_u64(j, "bytes_to_read", p->bytes_read);
	json_set_u64(j, "bytes_to_write", p->bytes_written);
	return j;
}

struct json *
plan_json(const struct plan *p, bool all_files)
{
	struct json *j = json_new_object(), *places = json_new_array();
	struct json *sets = json_new_array(), *maps = json_new_array();
	struct json *files = json_new_array();
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
		json_push(sets, set_json(p, &p->sets[i]));
	for (int64_t i = 0; i < p->nranks; i++) {
		const struct plan_meta *m = &p->ranks[i].map;
		struct json *e = NULL;

		if (!all_files && m->fate == FATE_KEEP)
			continue;
		e = json_new_object();
		json_set_i64(e, "rank", i);
		json_set_known_str(e, "file", m->name);
		json_set_str(e, "found", m->why != NULL ? m->why : "present");
		json_set_str(e, "action", fate_name(p, m->fate));
		json_push(maps, e);
	}
	for (size_t i = 0; i < p->nfiles; i++)
		if (all_files || p->files[i].fate != FATE_KEEP)
			json_push(files, file_json(p, &p->files[i]));
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
	json_set(j, "totals", totals_json(p));
	json_set(j, "sets", sets);
	json_set(j, "filemaps", maps);
	json_set(j, "files", files);
	return j;
}

/* --- Deep checks --- */

static struct json *
finding_json(const struct plan *p, const struct deep_finding *f)
{
	struct json *j = json_new_object();
	const struct plan_set *s = &p->sets[f->set];
	struct error text = ERROR_INIT;

	deep_error(p, f, &text);
	json_set_str(j, "problem", text.text);
	json_set_u64(j, "set", s->number);
	json_set_str(j, "over", s->map ? "filemaps" : "files");
	if (f->unread != NULL) {
		json_set_bool(j, "unknown", true);
		return j;
	}
	json_set_u64(j, "bytes", f->bytes);
	json_set_u64(j, "stripe", f->stripe);
	json_set_u64(j, "offset", f->first);
	if (f->member != PLAN_NONE && f->member < s->n) {
		set_rank(j, s->members[f->member].rank);
		json_set_str(j, "kind", f->in_body ? "redundancy" : "data");
	}
	if (f->file != PLAN_NONE) {
		json_set_str(j, "path", p->files[f->file].path);
		json_set_u64(j, "path_offset", f->file_off);
	}
	return j;
}

struct json *
plan_json_deep(const struct plan *p, const struct deep_result *r)
{
	struct json *j = json_new_object(), *list = json_new_array();

	for (size_t i = 0; i < r->nfindings; i++)
		json_push(list, finding_json(p, &r->findings[i]));
	json_set_u64(j, "sets_checked", r->sets_checked);
	json_set_u64(j, "sets_skipped", r->sets_skipped);
	json_set_u64(j, "bytes_read", r->bytes_read);
	json_set(j, "findings", list);
	return j;
}
