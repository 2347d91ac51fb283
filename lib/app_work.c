/* SPDX-License-Identifier: BSD-3-Clause */
/* app_work.c - the part shared by commands that work on datasets: threads and
 * progress, options restricted to some verbs, results on stdout. */
#include <stdio.h>

#include "app.h"
#include "buf.h"
#include "error.h"
#include "json.h"
#include "progress.h"
#include "work.h"

int
app_work_start(struct work *w, uint64_t jobs, const char *what,
	       struct error *err)
{
	if (work_start(w, (unsigned)jobs, err) < 0)
		return -1;
	if (what != NULL)
		w->progress = progress_start(what, app_verbosity() < 0);
	return 0;
}

void
app_work_end(struct work *w)
{
	progress_end(w->progress);
	work_end(w);
	w->progress = NULL;
}

void
app_check_rules(const struct app_rule *rules, size_t count, int verb)
{
	for (size_t i = 0; i < count; i++)
		if (rules[i].given && (rules[i].verbs & APP_VERB(verb)) == 0)
			app_usage("%s does not go with what is to be done",
				  rules[i].name);
}

int
app_print(struct buf *text)
{
	struct error err = ERROR_INIT;

	if (buf_check(text, &err) == 0 && text->len > 0)
		fwrite(text->data, 1, text->len, stdout);
	buf_free(text);
	return app_report(STATUS_OK, &err);
}

int
app_print_unless_quiet(struct buf *text)
{
	if (app_verbosity() < 0)
		buf_free(text);
	return app_print(text);
}

int
app_print_json(struct json *j)
{
	struct error err = ERROR_INIT;

	json_print(j, stdout, &err);
	return app_report(STATUS_OK, &err);
}
