/* SPDX-License-Identifier: BSD-3-Clause */
/* app_verb.c - commands whose first argument is a verb (app.h). */
#include "app.h"
#include "error.h"
#include "mem.h"
#include "opt.h"
#include "str.h"

/* Options of the command alone, or a mistake. */
static void
without_verb(const struct app_info *given, const struct app_action *verbs,
	     size_t verb_count, int argc, char **argv)
{
	const struct opt opts[] = { OPT_END };
	struct app_verb *list = mem_calloc(verb_count + 1, sizeof(*list));
	const char **names = mem_calloc(verb_count + 1, sizeof(*names));
	const char *meant = NULL;
	struct app_info info = *given;
	int count = 0;

	if (list == NULL || names == NULL)
		app_usage("out of memory");
	for (size_t i = 0; i < verb_count; i++) {
		list[i] = (struct app_verb){ verbs[i].name, verbs[i].summary };
		names[i] = verbs[i].name;
	}
	info.verbs = list;
	argv = app_start(&info, argc, argv, opts, &count);
	if (count == 0)
		app_usage("no verb given");
	meant = str_meant(argv[0], names);
	if (meant != NULL && str_eq(meant, argv[0]))
		app_usage("%s: give the verb before all options", meant);
	if (meant != NULL)
		app_usage("%s: no such verb; did you mean %s?", argv[0], meant);
	app_usage("%s: no such verb", argv[0]);
}

int
app_verb_run(const struct app_info *info, const struct app_action *verbs,
	     size_t count, int argc, char **argv)
{
	struct app_call c = { .argc = argc - 1, .argv = argv + 1 };

	for (size_t i = 0; argc > 1 && i < count; i++)
		if (str_eq(argv[1], verbs[i].name)) {
			c.verb = &verbs[i];
			app_catch_signals();
			return app_finish(c.verb->run(&c));
		}
	without_verb(info, verbs, count, argc, argv);
	return STATUS_USAGE;
}
