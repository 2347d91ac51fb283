/* SPDX-License-Identifier: BSD-3-Clause */
/* app_answer.c - what a command prints, with --json as one object; its threads
 * and progress. */
#include "app_impl.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "buf.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "opt.h"
#include "progress.h"
#include "str.h"
#include "style.h"
#include "work.h"

/* Messages kept of each kind; the others are counted. */
#define MESSAGES_MAX 1000

struct messages {
	struct json *list;
	size_t count;
};

/* A process runs one command, so this state may be static. */
static struct {
	bool wanted;
	char command[64];
	struct json *facts, *lines;
	struct messages errors, warnings;
} answer;

void
app_answer_start(const char *command, const char *verb)
{
	answer.wanted = true;
	snprintf(answer.command, sizeof(answer.command), "%s%s%s", command,
		 verb != NULL ? " " : "", verb != NULL ? verb : "");
	answer.errors.list = json_new_array();
	answer.warnings.list = json_new_array();
}

bool
app_json(void)
{
	return answer.wanted;
}

void
app_answer_message(enum app_level level, const char *text)
{
	struct messages *m =
		level == APP_ERROR ? &answer.errors : &answer.warnings;

	if (!answer.wanted || level > APP_WARN)
		return;
	if (m->count++ < MESSAGES_MAX)
		json_push_str(m->list, text);
}

void
app_answer(struct json *object)
{
	json_free(answer.facts);
	answer.facts = object;
}

void
app_answer_list(const char *key, struct json *list)
{
	struct json *j = json_new_object();

	json_set(j, key, list);
	app_answer(j);
}

void
app_answer_stop(void)
{
	json_free(answer.facts);
	json_free(answer.lines);
	json_free(answer.errors.list);
	json_free(answer.warnings.list);
	memset(&answer, 0, sizeof(answer));
}

static void
set_messages(struct json *j, const char *key, const struct messages *m)
{
	if (m->count > MESSAGES_MAX)
		json_push_str(m->list, str_printed(64, "%zu more",
						   m->count - MESSAGES_MAX));
	json_set(j, key, m->list);
}

int
app_answer_print(int status)
{
	struct json *j = NULL;
	struct error err = ERROR_INIT;

	if (!answer.wanted)
		return STATUS_OK;
	answer.wanted = false;
	j = json_new_object();
	json_set_u64(j, "schema", APP_SCHEMA);
	json_set_str(j, "command", answer.command);
	json_set_str(j, "version", SCRKIT_VERSION);
	json_set_i64(j, "status", status);
	set_messages(j, "errors", &answer.errors);
	set_messages(j, "warnings", &answer.warnings);
	if (answer.facts != NULL)
		json_append(j, answer.facts);
	if (answer.lines != NULL)
		json_set(j, "answer", answer.lines);
	/* app_finish() reports what cannot be written. */
	return json_print(j, stdout, &err) < 0 && !ferror(stdout)
		       ? app_report(STATUS_OK, &err)
		       : STATUS_OK;
}

/* --- Commands that work on datasets --- */

int
app_work_start(struct work *w, uint64_t jobs, const char *what,
	       struct error *err)
{
	if (work_start(w, (unsigned)jobs, err) < 0)
		return -1;
	if (what != NULL)
		w->progress = progress_start(what, app_verbosity() < 0, NULL);
	return 0;
}

static void
beat(void *unused, uint64_t done, uint64_t total)
{
	(void)unused;
	if (printf("progress %" PRIu64 " %" PRIu64 "\n", done, total) < 0 ||
	    fflush(stdout) != 0)
		(void)kill(getpid(), SIGTERM);
}

const struct progress_beat app_heart = { 1, beat, NULL };

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
	const char *at = text->data, *from = NULL;
	struct buf line = BUF_INIT;
	size_t len = 0;

	if (text->len > 0 && app_json()) {
		/* The answer of a command without facts of its own. */
		if (answer.lines == NULL)
			answer.lines = json_new_array();
		while ((from = str_line(&at, &len)) != NULL) {
			buf_clear(&line);
			buf_add(&line, from, len);
			json_push_str(answer.lines, line.data);
		}
		buf_free(&line);
	} else if (text->len > 0) {
		style_dress(&style, text);
		fwrite(text->data, 1, text->len, stdout);
	}
	buf_free(text);
	return STATUS_OK;
}

int
app_print_unless_quiet(struct buf *text)
{
	if (app_verbosity() < 0)
		buf_free(text);
	return app_print(text);
}

/* --- Commands whose first argument is a verb --- */

#define VERBS_MAX 32

void
app_without_verb(const struct app_info *info, const struct opt *opts, int argc,
		 char **argv)
{
	const char *names[VERBS_MAX + 1] = { NULL }, *meant = NULL;
	int count = 0;

	for (size_t i = 0; i < VERBS_MAX && info->verbs[i].name != NULL; i++)
		names[i] = info->verbs[i].name;
	argv = app_start(info, argc, argv, opts, &count);
	if (count == 0)
		return;
	meant = str_meant(argv[0], names);
	if (meant != NULL && str_eq(meant, argv[0]))
		app_usage("%s: give the verb before all options", meant);
	if (meant != NULL)
		app_usage("%s: no such verb; did you mean %s?", argv[0], meant);
	app_usage("%s: no such verb", argv[0]);
}

int
app_verb_run(const struct app_info *given, const struct app_action *verbs,
	     size_t count, int argc, char **argv)
{
	const struct opt opts[] = { OPT_END };
	struct app_verb list[VERBS_MAX + 1] = { { NULL, NULL } };
	struct app_info info = *given;
	struct app_call c = { .argc = argc - 1, .argv = argv + 1 };

	for (size_t i = 0; argc > 1 && i < count; i++)
		if (str_eq(argv[1], verbs[i].name)) {
			c.verb = &verbs[i];
			app_catch_signals();
			return app_finish(c.verb->run(&c));
		}
	for (size_t i = 0; i < count; i++)
		list[i] = (struct app_verb){ verbs[i].name, verbs[i].summary };
	info.verbs = list;
	app_without_verb(&info, opts, argc, argv);
	app_usage("no verb given");
}
