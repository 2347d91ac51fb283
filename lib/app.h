/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app.h - the frame of every command: name, common options, messages on stderr,
 * and exit.  Only this module prints messages or ends the process.
 *
 * Options appended to every command's table: -h/--help (stdout, exit 0),
 * -V/--version (exit 0), -q/--quiet, -v/--verbose, --json, and the hidden
 * --dump-options.  Completions and the checks of man pages read the last: it
 * prints opt_dump() and then opt_dump_usage().  A command with `verbs` (below)
 * prints this line per verb instead of the latter: "verb", TAB, VERB, TAB, "-",
 * TAB, "any", TAB, "usage", TAB, summary.
 */
#ifndef APP_H
#define APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;
struct json;
struct opt;
struct work;

/* A verb with options of its own: `NAME VERB --help`. */
struct app_verb {
	const char *name;
	const char *summary; /* one clause */
};

struct app_call;

/* A verb that is the first argument: a command of its own. */
struct app_action {
	const char *name, *usage, *summary;
	int (*run)(const struct app_call *c); /* returns an exit status */
};

struct app_call {
	const struct app_action *verb;
	int argc; /* of the verb: argv[0] is its name */
	char **argv;
};

struct app_info {
	const char *name;    /* "scr_index" */
	const char *summary; /* one clause for --help */
	const char *usage;   /* "[OPTION]... [NAME]": the text after the name */
	const struct app_verb *verbs; /* ends with a NULL name; may be NULL */
	const char *notes; /* text after the options in --help; may be NULL */
	const char *verb;  /* whose options these are; may be NULL */
	bool raw;	   /* prints data: no --json */
	bool command;	   /* its arguments are a command line to run */
};

/*
 * Parse the command line.  --help, --version, --dump-options and usage errors
 * end the process here; a usage error prints one line and a hint and exits with
 * STATUS_USAGE.  SIGPIPE is ignored, so that writing to a closed stdout is an
 * error instead of a silent death.  Returns the arguments that are not options,
 * terminated by NULL.  Their number goes to *count; NULL: the command takes
 * none.
 */
char **app_start(const struct app_info *info, int argc, char **argv,
		 const struct opt *opts, int *count);

/* For main(): run the verb that the command line names, which calls
 * app_start(), and app_finish().  `info` is that of the command without a
 * verb. */
int app_verb_run(const struct app_info *info, const struct app_action *verbs,
		 size_t count, int argc, char **argv);

/* app_start() for a command line without a verb of info->verbs, at most 32.  An
 * argument is a usage error. */
void app_without_verb(const struct app_info *info, const struct opt *opts,
		      int argc, char **argv);

/* The verbosity: -1 with -q, 0 by default, 1 with -v, 2 with -vv. */
int app_verbosity(void);

/* Print "name: sentence" on stderr, unless *err is ERROR_NONE, and clear *err.
 * Returns the worse of `status` and the exit status of the error. */
int app_report(int status, struct error *err);

/* Append `advice`, what the user can do, to the sentence of *err.  Returns
 * -1. */
int app_advise(struct error *err, const char *advice);

/* The least verbosity with which a message is printed. */
enum app_level { APP_ERROR = -1, APP_WARN, APP_NOTE, APP_DEBUG };

/* Print "name: ..." on stderr.  Errors are always printed, warnings not with
 * -q, notes only with -v, debug messages only with -vv. */
void app_say(enum app_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
#define app_error(...) app_say(APP_ERROR, __VA_ARGS__)
#define app_warn(...) app_say(APP_WARN, __VA_ARGS__)
#define app_note(...) app_say(APP_NOTE, __VA_ARGS__)
#define app_debug(...) app_say(APP_DEBUG, __VA_ARGS__)

/* Note the command to run next, unless it is "" or NULL: app_finish() prints
 * "name: next: ..." on stderr, behind everything else.  One that was noted
 * before is not printed twice; with --json none is, as the answer has it. */
void app_next(const char *command);

/* Print each line of `text` as a warning.  NULL is ignored. */
void app_warn_lines(const char *text);

/* Report a usage error found after parsing: print the message and a hint, and
 * exit with STATUS_USAGE. */
void app_usage(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* Report an argument that the command does not take: a usage error.  If it is a
 * prefix, the message names -p. */
void app_unexpected(const char *argument) __attribute__((noreturn));

/* Take the values of the options --columns and `order` (NULL: not given), words
 * as columns_choose() takes them; a wrong one is a usage error. */
struct columns;
void app_columns(struct columns *c, const char *words, const char *columns,
		 const char *order, const char *sort);

/* Flush stdout and report a failure, such as a full disk or a closed pipe;
 * print what app_next() noted.  Returns the exit status for main() to
 * return. */
int app_finish(int status);

/* Make SIGINT and SIGTERM set a flag instead of ending the process.  Loops that
 * can stop cleanly poll app_stop(). */
void app_catch_signals(void);

/* Callbacks for struct work: whether a signal asked to stop, and a line of the
 * log printed as a warning (app_warn) or as a note (app_note). */
bool app_stop(void);
void app_log(void *unused, const char *line);
void app_log_note(void *unused, const char *line);

/* The prefix directory: `given`, or if that is NULL $SCR_PREFIX, or the working
 * directory. */
const char *app_prefix(const char *given);

/* --- Commands that work on datasets (app_answer.c) --- */

/* Options that several commands have (opt.h). */
#define APP_OPT_PREFIX(to) \
	OPT_STRING('p', "prefix", to, "DIR", OPT_DIR, \
		   "prefix directory (default $SCR_PREFIX, then .)")
#define APP_OPT_MOVED_FROM(to) \
	OPT_STRING(0, "moved-from", to, "DIR", OPT_ANY, \
		   "path of the prefix when the job wrote it")
#define APP_OPT_JOBS(to) \
	OPT_U64('j', "jobs", to, "N", 1, 1024, \
		"threads (default: one for each processor)")
#define APP_OPT_MEMORY(to, least, h) \
	OPT_BYTES(0, "memory", to, "SIZE", least, UINT64_C(1) << 50, h)
#define APP_OPT_LIMIT_RATE(to) \
	OPT_BYTES(0, WORK_RATE, to, "RATE", WORK_RATE_LEAST, \
		  UINT64_C(1) << 50, \
		  "bytes per second at most (default: no limit)")

/* Initialisers of struct work: signals stop the work, its log is printed as
 * warnings. */
#define APP_WORK .stop = app_stop, .log = app_log

/*
 * Start `jobs` threads for `w` (0: one per processor) and a progress line that
 * begins with `what` (NULL: no line).  Call app_work_end() afterwards, also
 * after a failure.  Errors: ERROR_NOMEM, ERROR_SYSTEM.
 */
int app_work_start(struct work *w, uint64_t jobs, const char *what,
		   struct error *err);
void app_work_end(struct work *w);

/* Between the two, for what a command does for that of another node
 * (site/crew.h): a line of progress every second, and what was done, unless it
 * is NULL. */
void app_part_start(struct work *w, const char *name);
void app_part_end(struct work *w, struct json *done);

/* An option that only some verbs take.  With another verb it is a usage error:
 * ignoring it in "--drop NAME --dry-run" would cost data. */
struct app_rule {
	bool given;
	const char *name; /* "--dry-run" */
	unsigned verbs;	  /* APP_VERB() of each verb that takes it */
};
#define APP_VERB(verb) (1u << (verb))

/* Exit with a usage error if an option was given that `verb`, called `name`,
 * does not take. */
void app_check_rules(const struct app_rule *rules, size_t count, int verb,
		     const char *name);

/* Print `text` on stdout, and free it.  With --json its lines become the member
 * "answer".  The second function prints nothing with -q.  Both return
 * STATUS_OK. */
int app_print(struct buf *text);
int app_print_unless_quiet(struct buf *text);

/* --- Answers in JSON (app_answer.c, scrkit-json(5)) --- */

/* Grows when a member is removed, or changes its type. */
#define APP_SCHEMA 1

/* Was --json given?  Then app_finish() prints one object on stdout, also after
 * an error: schema, command, version, status, errors and warnings (the messages
 * on stderr), and what these functions got. */
bool app_json(void);

/* The facts: an object, or an array as the member `key`.  A later call replaces
 * an earlier one. */
void app_answer(struct json *object);
void app_answer_list(const char *key, struct json *list);

/* Print no answer, because other data is written to stdout. */
void app_answer_stop(void);

/* The name by which the program was called, without its directory and what an
 * installation beside LLNL's commands has put before it: "scr_index" if it is
 * called as "sk-scr_index". */
const char *app_called(int argc, char **argv);

/* Write the path of the toolkit's program `name` to `to` (`size` bytes): the
 * file in the directory of the running program if there is one, else `name`
 * itself, to be found in PATH.  Returns `to`. */
const char *app_beside(char *to, size_t size, const char *name);

#endif /* APP_H */
