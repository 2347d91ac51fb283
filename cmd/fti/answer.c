/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.c - what the verbs of scr_fti that write files answer with --json.
 */
#include "answer.h"

#include "app.h"
#include "json.h"
#include "report/fti.h"

void
fti_answer_file(struct fti_answer *a, const struct report_fti_done *d)
{
	if (!app_json())
		return;
	if (a->files == NULL)
		a->files = json_new_array();
	json_push(a->files, report_fti_done_json(d));
}

void
fti_answer_plan(struct fti_answer *a, const char *action,
		const struct fti_rebuild_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fti_answer_file(a,
				&(struct report_fti_done){
					.path = files[i].path,
					.action = action,
					.kind = report_fti_part(files[i].part),
					.rank = files[i].rank->rank,
					.size = (int64_t)files[i].size,
				});
}

void
fti_answer_end(struct fti_answer *a)
{
	struct json *j = NULL;

	if (!app_json())
		return;
	j = json_new_object();
	json_set_bool(j, "dry_run", a->dry_run);
	if (a->bytes_read > 0)
		json_set_u64(j, "bytes_read", a->bytes_read);
	json_set_u64(j, "bytes_written", a->bytes_written);
	json_set(j, "files", a->files != NULL ? a->files : json_new_array());
	json_set_known_str(j, "next", a->next);
	if (a->more != NULL)
		json_append(j, a->more);
	app_answer(j);
	a->files = NULL;
	a->more = NULL;
}
