/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results.c - results of edit, build, delete and verify, as text and JSON.
 */
#include "report/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "json.h"
#include "str.h"

/* An object that begins with the dataset. */
static struct json *
new_object(int64_t id, const char *name)
{
	struct json *j = json_new_object();

	json_set_i64(j, "id", id);
	if (name != NULL && name[0] == '\0')
		name = NULL;
	json_set_str(j, "name", name);
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
	struct json *j = new_object(id, r->name);

	json_set_u64(j, "rank_count", r->ranks);
	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "bytes", r->bytes);
	json_set_bool(j, "descriptor_guessed", r->descriptor_guessed);
	json_set_bool(j, "dry_run", r->dry_run);
	json_set(j, "rebuilt", results_rebuild_json(&r->rebuild));
	return j;
}

/* --- Delete --- */

void
results_delete_row(int64_t id, const char *name, const struct delete_result *r,
		   struct buf *out)
{
	if (r == NULL)
		buf_add_str(out, "DSET   FILES  DIRS       SIZE NAME\n");
	else
		buf_printf(out, "%4" PRId64 " %7zu %5zu %10s %s\n", id,
			   r->files, r->dirs, str_size(r->bytes),
			   str_shown(name != NULL ? name : "-"));
}

struct json *
results_delete_json(int64_t id, const char *name, const struct delete_result *r)
{
	struct json *j = new_object(id, name);

	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "directory_count", r->dirs);
	json_set_u64(j, "bytes", r->bytes);
	json_set_u64(j, "files_kept", r->kept);
	return j;
}

/* --- Verify --- */

/* The extent of the comparison:  "sizes only", "sizes, checksums of 3.9 KiB".
 * Returns `to`. */
static const char *
compared_text(const struct verify_result *r, char *to, size_t size)
{
	const size_t present = r->files - r->bad_files;
	const bool sizes = r->unchecked == 0 || r->total_compared;
	size_t n = 0;

	if (present == 0)
		n = (size_t)snprintf(to, size, "nothing");
	else if (r->unchecked == 0)
		n = (size_t)snprintf(to, size, "sizes");
	else if (r->total_compared)
		n = (size_t)snprintf(to, size, "total size");
	else
		n = (size_t)snprintf(to, size, "sizes of %zu of %zu",
				     present - r->unchecked, present);
	if (r->crc_checked > 0)
		snprintf(to + n, size - n, ", checksums of %s%s",
			 str_size(r->crc_bytes),
			 r->deep_sets > 0 ? ", redundancy" : "");
	else if (r->deep_sets > 0)
		snprintf(to + n, size - n, ", redundancy");
	else if (present > 0 && sizes)
		snprintf(to + n, size - n, " only");
	n = strlen(to);
	if (r->fetch.packed)
		snprintf(to + n, size - n, ", packed");
	return to;
}

void
results_verify_row(int64_t id, const char *name, const char *state,
		   const struct verify_result *r, struct buf *out)
{
	char compared[128], bad[24] = "?"; /* lost: which file is unknown */

	if (r == NULL) {
		buf_add_str(
			out,
			"DSET STATE        FILES     BAD       SIZE COMPARED"
			"                       NAME\n");
		return;
	}
	if (r->bad_files > 0 || r->status != STATUS_LOST)
		snprintf(bad, sizeof(bad), "%zu", r->bad_files);
	buf_printf(out, "%4" PRId64 " %-10s %7zu %7s %10s %-30s %s\n", id,
		   state, r->files, bad, str_size(r->bytes),
		   compared_text(r, compared, sizeof(compared)),
		   str_shown(name != NULL ? name : "-"));
}

struct json *
results_verify_json(int64_t id, const char *name, const char *state,
		    const struct verify_result *r)
{
	struct json *j = new_object(id, name);
	char compared[128];

	json_set_str(j, "state", state);
	json_set_u64(j, "file_count", r->files);
	json_set_u64(j, "files_bad", r->bad_files);
	json_set_u64(j, "files_without_size", r->unchecked);
	json_set_u64(j, "checksums_compared", r->crc_checked);
	json_set_u64(j, "bytes_compared", r->crc_bytes);
	json_set_u64(j, "bytes", r->bytes);
	json_set_str(j, "compared",
		     compared_text(r, compared, sizeof(compared)));
	json_set_bool(j, "packed", r->fetch.packed);
	return j;
}
