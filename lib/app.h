/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app.h - what every command does alike: its name, the common options, its
 * messages on stderr, and its end.  Only this module prints messages or ends
 * the process.
 *
 * Common options, appended to each table: -h/--help (stdout, exit 0),
 * -V/--version (exit 0), -q/--quiet, -v/--verbose, and the hidden
 * --dump-options, for completions and checks of man pages: the lines of
 * opt_dump() and those of usage_dump(), or for a command with `verbs` (below)
 * "verb", TAB, VERB, TAB, "-", TAB, "any", TAB, "usage", TAB, summary.
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

struct app_info {
	const char *name;    /* "scr_index" */
	const char *summary; /* one clause for --help */
	const char
		*usage; /* "[OPTION]... [NAME]": what stands behind the name */
	const struct app_verb *verbs; /* ended by a NULL name; or NULL */
	const char *notes; /* text after the options in --help; may be NULL */
};

/*
 * Parse the command line; --help, --version, --dump-options and usage errors
 * end the process here (usage errors: one line and a hint, STATUS_USAGE).
 * Ignores SIGPIPE so that a closed stdout is an error, not a death.
 * Returns the arguments that are not options, ended by NULL; *count if
 * wanted.
 */
char **app_start(const struct app_info *info, int argc, char **argv,
		 const struct opt *opts, int *count);

/* -1 with -q, 0, 1 with -v, 2 with -vv. */
int app_verbosity(void);

/* "name: sentence" on stderr, unless err is empty; *err is cleared.  Returns
 * the worse of `status` and the error's own. */
int app_report(int status, struct error *err);

/* Add what the user can do to the sentence of *err.  Returns -1. */
int app_advise(struct error *err, const char *advice);

/* "name: ..." on stderr: always; not with -q; only with -v; only with -vv. */
void app_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void app_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void app_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void app_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Each line of `text` as a warning of its own; NULL is ignored. */
void app_warn_lines(const char *text);

/* A usage error found after parsing: message and hint, exit STATUS_USAGE. */
void app_usage(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* Flush stdout; a full disk or a closed pipe is an error.  Returns the status
 * for main() to return. */
int app_finish(int status);

/*
 * SIGINT and SIGTERM set a flag instead of killing; loops that can stop
 * cleanly poll app_interrupted() (0, or the signal's number).
 */
void app_catch_signals(void);
int app_interrupted(void);

/* For the options of the library: has the user asked to stop?  And a line of
 * its log as a warning (app_warn) or a note (app_note). */
bool app_stop(void);
void app_log(void *unused, const char *line);
void app_log_note(void *unused, const char *line);

/* The prefix directory: as given, else $SCR_PREFIX, else the working
 * directory. */
const char *app_prefix(const char *given);

/* --- Commands that work on datasets (app_work.c) --- */

/* Options that several commands have (opt.h). */
#define APP_OPT_PREFIX(to) \
	OPT_STRING('p', "prefix", to, "DIR", OPT_DIR, \
		   "prefix directory (default $SCR_PREFIX, then .)")
#define APP_OPT_MOVED_FROM(to) \
	OPT_STRING(0, "moved-from", to, "DIR", OPT_ANY, \
		   "where the prefix was when the job wrote it")
#define APP_OPT_JSON(to) OPT_FLAG(0, "json", to, "print JSON")
#define APP_OPT_JOBS(to) \
	OPT_U64('j', "jobs", to, "N", 1, 1024, \
		"threads (default: one a processor)")
#define APP_OPT_MEMORY(to, least, h) \
	OPT_BYTES(0, "memory", to, "SIZE", least, UINT64_C(1) << 50, h)

/* Members of a struct work: it is stopped by signals and logged as warnings. */
#define APP_WORK .stop = app_stop, .log = app_log

/*
 * Give `w` its threads, `jobs` or one a processor for 0, and a line of
 * progress that begins with `what`, or none for NULL.  For app_work_end(), also
 * after a failure: ERROR_NOMEM, ERROR_SYSTEM.
 */
int app_work_start(struct work *w, uint64_t jobs, const char *what,
		   struct error *err);
void app_work_end(struct work *w);

/* An option that some verbs take; with another verb it is a mistake, and
 * "--drop NAME --dry-run" a costly one. */
struct app_rule {
	bool given;
	const char *name; /* "--dry-run" */
	unsigned verbs;	  /* APP_VERB() of each that takes it */
};
#define APP_VERB(verb) (1u << (verb))

/* A usage error if an option does not go with `verb`. */
void app_check_rules(const struct app_rule *rules, size_t count, int verb);

/* Put `text` on stdout, whole or not at all, and free it; the second not with
 * -q.  Returns an exit status. */
int app_print(struct buf *text);
int app_print_unless_quiet(struct buf *text);

/* Print and free `j`.  Returns an exit status. */
int app_print_json(struct json *j);

/* The program `name` of this package, into `to` (`size` bytes): the one beside
 * the running program, else `name` itself, for PATH. */
const char *app_beside(char *to, size_t size, const char *name);

#endif /* APP_H */
