/* SPDX-License-Identifier: BSD-3-Clause */
/* app_work.c - the part shared by commands that work on datasets: threads and
 * progress, options restricted to some verbs, results on stdout. */
#include <stdio.h>
#include <unistd.h>

#include "app_impl.h"
#include "buf.h"
#include "error.h"
#include "progress.h"
#include "style.h"
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
app_check_rules(const struct app_rule *rules, size_t count, int verb,
		const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (rules[i].given && (rules[i].verbs & APP_VERB(verb)) == 0)
			app_usage("%s cannot be used with %s", rules[i].name,
				  name);
}

int
app_print(struct buf *text)
{
	const struct style style = style_of(STDOUT_FILENO);
	struct error err = ERROR_INIT;

	if (buf_check(text, &err) == 0 && text->len > 0) {
		if (app_json())
			app_answer_lines(text);
		else if (style_dress(&style, text) == 0)
			fwrite(text->data, 1, text->len, stdout);
	}
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
