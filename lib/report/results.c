/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results.c - results of a build, as text and JSON.
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
