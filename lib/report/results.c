/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results.c - results of edit and build, as text and JSON.
 */
#include "report/results.h"

#include <inttypes.h>

#include "buf.h"
#include "error.h"
#include "json.h"
#include "str.h"

struct json *
results_new(int64_t id, const char *name)
{
	struct json *j = json_new_object();

	json_set_i64(j, "id", id);
	json_set_str(j, "name", name != NULL && name[0] == '\0' ? NULL : name);
	return j;
}

void
results_push_problem(struct json *list, const char *text)
{
	struct json *j = json_new_object();

	json_set_str(j, "problem", text);
	json_push(list, j);
}

/* --- Edit --- */

void
results_edit_text(const struct catalogue_edit *e, struct buf *out)
{
	if (e->kind == CATALOGUE_CURRENT && e->reason[0] != '\0')
		buf_printf(out,
			   "%s is marked NO (%s): a job may not be able to "
			   "restart from it",
			   str_shown(e->current_word), e->reason);
	else if (e->kind == CATALOGUE_CURRENT ||
		 e->kind == CATALOGUE_UNCURRENT || !e->moved)
		return;
	else if (e->current[0] == '\0' && e->next_word[0] == '\0')
		buf_add_str(out, "no valid checkpoint is left");
	else if (e->current[0] == '\0')
		buf_printf(out,
			   "no checkpoint is marked as the restart point: the "
			   "next job tries %s",
			   str_shown(e->next_word));
	else
		buf_printf(out, "the restart point is %s now",
			   str_shown(e->current_word));
}

/* --- Build --- */

void
results_build_text(int64_t id, const struct build_result *r, struct buf *out)
{
	const struct rebuild_result *b = &r->rebuild;

	buf_printf(out, "dataset %" PRId64 " (%s): %zu %s of %zu %s, %s", id,
		   str_shown(r->name != NULL ? r->name : "-"),
		   str_count(r->files, "file"), str_count(r->ranks, "rank"),
		   str_size(r->bytes));
	if (b->files + b->maps + b->redundancy > 0)
		buf_printf(out, "; %s %zu %s, %zu %s and %zu redundancy %s",
			   r->dry_run ? "to rebuild are" : "rebuilt",
			   str_count(b->files, "file"),
			   str_count(b->maps, "filemap"),
			   str_count(b->redundancy, "file"));
	buf_add_str(out, r->dry_run ? ": can be added to the index"
				    : ": in the index");
}

struct json *
results_rebuild_json(const struct rebuild_result *r)
{
	struct json *j = json_new_object();

	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "filemap_count", r->maps);
	json_set_u64(j, "redundancy_file_count", r->redundancy);
	json_set_u64(j, "descriptor_count", r->descriptors);
	json_set_u64(j, "bytes_read", r->bytes_read);
	json_set_u64(j, "bytes_written", r->bytes_written);
	json_set_u64(j, "checksums_compared", r->crc_checked);
	json_set_u64(j, "checksums_wrong", r->crc_wrong);
	return j;
}

struct json *
results_build_json(int64_t id, const struct build_result *r)
{
	struct json *j = results_new(id, r->name);

	json_set_u64(j, "rank_count", r->ranks);
	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "bytes", r->bytes);
	json_set_bool(j, "descriptor_guessed", r->descriptor_guessed);
	json_set_bool(j, "dry_run", r->dry_run);
	json_set(j, "rebuilt", results_rebuild_json(&r->rebuild));
	return j;
}
