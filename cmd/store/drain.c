/* SPDX-License-Identifier: BSD-3-Clause */
/* drain.c - verb drain of scr_store. */
#include "store/drain.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "json.h"
#include "pace.h"
#include "progress.h"
#include "store/offload.h"
#include "str.h"
#include "verbs.h"
#include "work.h"

static const char *const words[] = {
	"not reached", "copied", "there", "unfinished", "deleted", "unreadable",
};

/* Name what was not copied. Returns the exit status. */
static int
report(const char *to, const struct drained *d)
{
	uint64_t files[DRAIN_STATES] = { 0 }, bytes[DRAIN_STATES] = { 0 };
	struct json *list = json_new_array();
	int status = STATUS_OK;

	for (size_t i = 0; i < d->names.count; i++) {
		const struct drain_file *f = &d->files[i];
		const char *path = d->names.list[i].path;
		struct json *j = json_new_object();

		files[f->state]++;
		bytes[f->state] += f->size;
		json_set_str(j, "path", path);
		json_set_str(j, "state", words[f->state]);
		json_set_u64(j, "size", f->size);
		if (f->state == DRAIN_COPIED || f->state == DRAIN_THERE)
			json_set_str(j, "crc32",
				     str_printed(16, "0x%08" PRIx32, f->crc));
		json_push(list, j);
		if (f->state == DRAIN_UNFINISHED)
			app_error("%s: unfinished: a process writes it, or "
				  "died doing so (scr_store gc)",
				  str_shown(path));
		else if (f->state == DRAIN_BAD)
			app_error("%s: cannot read: %s", str_shown(path),
				  strerror(f->errnum));
	}
	if (files[DRAIN_LISTED] + files[DRAIN_UNFINISHED] + files[DRAIN_BAD] >
	    0)
		status = STATUS_FAILED;
	app_answer_list("files", list);
	if (!app_json() && app_verbosity() >= 0)
		printf("%s: %" PRIu64 " files (%s) copied, %" PRIu64
		       " (%s) were there, %" PRIu64 " not copied\n",
		       to, files[DRAIN_COPIED], str_size(bytes[DRAIN_COPIED]),
		       files[DRAIN_THERE], str_size(bytes[DRAIN_THERE]),
		       files[DRAIN_LISTED] + files[DRAIN_UNFINISHED] +
			       files[DRAIN_BAD]);
	return status;
}

int
store_run_drain(const struct app_call *c)
{
	const struct sched_param none = { .sched_priority = 0 };
	struct error err = ERROR_INIT;
	struct work work = { APP_WORK };
	struct pace pace = { .stop = store_stop };
	struct drained drained = { .files = NULL };
	uint64_t jobs = 2;
	const struct opt opts[] = {
		APP_OPT_LIMIT_RATE(&pace.rate),
		OPT_U64('j', "jobs", &jobs, "N", 1, 1024,
			"files that are copied at a time (default: 2)"),
		OPT_END,
	};
	struct store *s = NULL;
	int count = 0, status = STATUS_OK;
	char **args = store_start(c, opts, &count);

	if (count != 2)
		app_usage("name a store, and the directory to copy to");
	/* Only when nobody else wants the processor or the disk. */
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)offload_class(OFFLOAD_IDLE);
	s = store_entered(args[0], &err);
	if (s != NULL && app_work_start(&work, jobs, "scr_store", &err) == 0)
		(void)drain(s, args[1], &pace, &work, &drained, &err);
	app_work_end(&work);
	store_left(s);
	if (drained.names.count > 0 || err.kind == ERROR_NONE)
		status = report(args[1], &drained);
	drain_free(&drained);
	return app_report(status, &err);
}
