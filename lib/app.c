/* SPDX-License-Identifier: BSD-3-Clause */
/* app.c - the frame of every command: options, messages, exit. */
#include "app_impl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "buf.h"
#include "columns.h"
#include "error.h"
#include "libc.h"
#include "mem.h"
#include "opt.h"
#include "path.h"
#include "stop.h"
#include "str.h"
#include "stream.h"
#include "style.h"

/* Bytes of a message, and of the same message with every byte as "\xHH". */
#define MESSAGE_MAX 8192
#define PRINTABLE_MAX (4 * MESSAGE_MAX)

/* Enough open files for any number of threads. */
#define FILES_ENOUGH 65536

/* Arenas of malloc(), which the threads share. */
#define ARENAS 4

/* A process runs one command, so this state may be static.  Everywhere else in
 * the library the caller passes the state. */
static struct {
	const char *name;
	bool quiet;
	int verbose;
	bool terminal;	    /* stderr is a terminal that can erase a line */
	struct buf next;    /* what app_next() noted, one command a line */
	struct buf words;   /* of its command line, but -q and -v */
	const char *prefix; /* of app_prefix() */
	bool failed;	    /* a system call did, and it was reported */
} app = { .name = "scrkit" };

static atomic_int signal_caught;

/* Print the message as one line without control characters.  Backslashes are
 * kept as they are, because the library has already escaped some names. */
static void
say(enum app_level level, const char *fmt, va_list ap)
{
	char text[MESSAGE_MAX], line[PRINTABLE_MAX];
	int saved = errno;
	size_t len = 0;

	vsnprintf(text, sizeof(text), fmt, ap);
	for (char *from = text, *slash = text; slash != NULL;
	     from = slash + 1) {
		slash = strchr(from, '\\');
		if (slash != NULL)
			*slash = '\0';
		str_printable(line + len, sizeof(line) - len, from);
		len += strlen(line + len);
		if (slash == NULL || len + 2 > sizeof(line))
			break;
		line[len++] = '\\';
		line[len] = '\0';
	}
	/* Erase what is left of a progress line behind the message. */
	fprintf(stderr, "%s: %s%s\n", app.name, line,
		app.terminal ? "\033[K" : "");
	app_answer_message(level, line);
	errno = saved;
}

/* An answer or the output of a command would need memory. */
static void
out_of_memory(void)
{
	fprintf(stderr, "%s: out of memory%s\n", app.name,
		app.terminal ? "\033[K" : "");
	_exit(STATUS_FAILED);
}

void
app_say(enum app_level level, const char *fmt, ...)
{
	va_list ap;

	if (app_verbosity() < (int)level)
		return;
	va_start(ap, fmt);
	say(level, fmt, ap);
	va_end(ap);
}

void
app_next(const char *command)
{
	const char *at = app.next.data, *line = NULL;
	size_t len = 0;

	if (command == NULL || command[0] == '\0' || app_json())
		return;
	while ((line = str_line(&at, &len)) != NULL)
		if (strlen(command) == len && memcmp(line, command, len) == 0)
			return;
	buf_printf(&app.next, "%s\n", command);
}

/* The next word of a line, and its length; 0: none. */
static size_t
next_word(const char **at, const char *end)
{
	*at += strspn(*at, " ");
	return *at < end ? strcspn(*at, " \n") : 0;
}

/* Does `line` have all words of `of`? */
static bool
has_words(const char *line, size_t len, const char *of, size_t of_len)
{
	for (const char *w = of; w < of + of_len;) {
		const size_t n = next_word(&w, of + of_len);
		const char *at = line;
		size_t k = next_word(&at, line + len);

		for (; k > 0 && (k != n || memcmp(at, w, n) != 0);
		     k = next_word(&at, line + len))
			at += k;
		if (n > 0 && k == 0)
			return false;
		w += n;
	}
	return true;
}

void
app_warn_lines(const char *text)
{
	const char *line = NULL;
	size_t len = 0;

	while ((line = str_line(&text, &len)) != NULL)
		app_warn("%.*s", (int)len, line);
}

int
app_verbosity(void)
{
	if (app.quiet)
		return -1;
	return app.verbose < 2 ? app.verbose : 2;
}

int
app_report(int status, struct error *err)
{
	const int own = error_status(err->kind);

	app.failed = app.failed || err->kind == ERROR_SYSTEM;
	(void)stop_say(err, app.prefix, true);
	if (err->kind != ERROR_NONE)
		app_error("%s", err->text);
	error_clear(err);
	return error_worse_status(status, own);
}

void
app_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(APP_ERROR, fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try '%s --help' for more information.\n", app.name);
	exit(app_finish(STATUS_USAGE));
}

void
app_unexpected(const char *argument)
{
	char scr[PATH_MAX];

	snprintf(scr, sizeof(scr), "%s/.scr", argument);
	if (access(scr, F_OK) == 0)
		app_usage("%s: unexpected argument: name a prefix with -p %s",
			  str_shown(argument), str_shown(argument));
	app_usage("%s: unexpected argument", str_shown(argument));
}

void
app_columns(struct columns *c, const char *words, const char *columns,
	    const char *order, const char *sort)
{
	struct error err = ERROR_INIT;

	if (columns != NULL && columns_choose(c, words, columns, &err) < 0)
		app_usage("--columns: %s", err.text);
	if (sort != NULL && columns_sort(c, words, sort, &err) < 0)
		app_usage("%s: %s", order, err.text);
}

int
app_finish(int status)
{
	const struct buf *own = &app.words;
	struct pollfd out = { .fd = STDOUT_FILENO };
	bool pending = false, failed = false, gone = false;
	const char *at = NULL, *line = NULL;
	size_t len = 0;

	status = error_worse_status(status, app_answer_print(status));
	pending = __fpending(stdout) > 0;
	failed = ferror(stdout) != 0;
	/* An earlier stdio failure (ferror) left no errno. */
	errno = 0;
	if (fflush(stdout) != 0)
		failed = true;
	/* A reader that has closed it, as "| head" does, is not an error. */
	gone = failed && poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
	/* Some file systems report a full disk only at close.  A stdout that
	 * was closed from the start matters only if there was data. */
	if (close(STDOUT_FILENO) < 0 && (pending || errno != EBADF))
		failed = true;
	if (failed && !gone) {
		app_error("standard output: cannot write%s%s",
			  errno != 0 ? ": " : "",
			  errno != 0 ? strerror(errno) : "");
		status = error_worse_status(status, STATUS_FAILED);
	}
	/* With -q, only after a failure.  What has just failed, the command
	 * line of this process with its options in any order, would fail
	 * again. */
	at = app.next.data;
	while ((line = str_line(&at, &len)) != NULL)
		if (!app.failed || own->data == NULL ||
		    !has_words(own->data, own->len, line, len) ||
		    !has_words(line, len, own->data, own->len))
			app_say(status == STATUS_OK ? APP_WARN : APP_ERROR,
				"next: %.*s", (int)len, line);
	buf_free(&app.next);
	buf_free(&app.words);
	return status;
}

static void
do_nothing(int sig)
{
	(void)sig;
}

static void
catch_signal(int sig)
{
	atomic_store(&signal_caught, sig);
}

/* Write the buffer of stdout.  Less than `len`: failed, or stopped. */
static ssize_t
write_stdout(void *unused, const char *data, size_t len)
{
	size_t done = 0;
	ssize_t n = 0;

	(void)unused;
	for (; done < len && n >= 0; done += n > 0 ? (size_t)n : 0)
		n = stream_write(STDOUT_FILENO, data + done, len - done,
				 app_stop);
	return (ssize_t)done;
}

/* From now on a signal does not end a write to a pipe that nobody reads. */
static void
divert_stdout(void)
{
#if LIBC_GLIBC(2, 0) /* others do not let us */
	const cookie_io_functions_t how = { .write = write_stdout };
	FILE *out = fopencookie(NULL, "w", how);

	if (out == NULL)
		return;
	if (isatty(STDOUT_FILENO))
		setvbuf(out, NULL, _IOLBF, BUFSIZ);
	stdout = out;
#else
	(void)write_stdout;
#endif
}

void
app_catch_signals(void)
{
	/* SA_RESTART, as stdio treats an interrupted write as an error. */
	struct sigaction action = { .sa_handler = catch_signal,
				    .sa_flags = SA_RESTART };
	struct sigaction was;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGQUIT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* Under nohup(1) the end of the session does not matter. */
	if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	divert_stdout();
}

/*
 * The command's table followed by the `more` entries of the common one.  A
 * common option loses its letter or name if the command uses that for an option
 * of its own.  Free with mem_free().  NULL: ENOMEM.
 */
static struct opt *
join_tables(const struct opt *own, const struct opt *common, size_t more)
{
	size_t n = 0, mine, i, k;
	struct opt *all = NULL;

	while (own[n].type != OPT_TYPE_END)
		n++;
	all = mem_calloc(n + more + 1, sizeof(*all));
	memcpy(all, own, n * sizeof(*all));
	mine = n;
	for (i = 0; i < more; i++) {
		struct opt o = common[i];

		for (k = 0; k < mine && o.type != OPT_TYPE_GROUP; k++) {
			if (own[k].type == OPT_TYPE_GROUP)
				continue;
			if (own[k].letter == o.letter)
				o.letter = 0;
			if (own[k].name != NULL && o.name != NULL &&
			    str_eq(own[k].name, o.name))
				o.name = NULL;
		}
		if (o.type == OPT_TYPE_GROUP || o.letter != 0 || o.name != NULL)
			all[n++] = o;
	}
	all[n].type = OPT_TYPE_END;
	return all;
}

/* Handle --help, --version and --dump-options, which end the process, so the
 * buf is not freed. */
static void
answer(const struct app_info *info, const struct opt *opts, bool help,
       bool version)
{
	struct buf out = BUF_INIT;

	if (help) {
		buf_printf(&out, "Usage: %s %s\n\n", info->name, info->usage);
		if (info->summary[0] != '\0')
			buf_printf(&out, "%c%s%s\n\n",
				   toupper((unsigned char)info->summary[0]),
				   info->summary + 1,
				   str_ends(info->summary, ".") ? "" : ".");
		opt_help(opts, &out);
		if (info->verbs != NULL)
			buf_printf(&out,
				   "\nVerbs, each with options of its own (%s "
				   "VERB --help):\n",
				   info->name);
		for (const struct app_verb *v = info->verbs;
		     v != NULL && v->name != NULL; v++)
			buf_printf(&out, "  %-12s  %s\n", v->name, v->summary);
		if (info->notes != NULL)
			buf_printf(&out, "\n%s%s", info->notes,
				   str_ends(info->notes, "\n") ? "" : "\n");
	} else if (version) {
		buf_printf(&out, "%s (scrkit) %s\nbuilt with %s\n", info->name,
			   SCRKIT_VERSION, SCRKIT_LIBRARIES);
	} else {
		opt_dump(opts, &out);
		if (info->verbs == NULL)
			opt_dump_usage(info->name, info->usage, &out);
		for (const struct app_verb *v = info->verbs;
		     v != NULL && v->name != NULL; v++)
			buf_printf(&out, "verb\t%s\t-\tany\tusage\t%s\n",
				   v->name, v->summary);
	}
	app_answer_stop();
	fwrite(out.data, 1, out.len, stdout);
	exit(app_finish(STATUS_OK));
}

char **
app_start(const struct app_info *info, int argc, char **argv,
	  const struct opt *opts, int *count)
{
	bool help = false, version = false, dump = false, json = false;
	const struct opt common[] = {
		OPT_GROUP("Common options"),
		OPT_FLAG('q', "quiet", &app.quiet,
			 "no warnings and no progress, only errors"),
		OPT_COUNT('v', "verbose", &app.verbose,
			  "more messages; -vv: still more"),
		OPT_FLAG('h', "help", &help, "show this help and exit"),
		OPT_FLAG('V', "version", &version, "show versions and exit"),
		OPT_FLAG(0, "dump-options", &dump, NULL),
		OPT_FLAG(0, "json", &json, "print JSON: scrkit-json(5)"),
	};
	const size_t more = sizeof(common) / sizeof(common[0]) - info->raw;
	struct error err = ERROR_INIT;
	const struct sigaction nothing = { .sa_handler = do_nothing,
					   .sa_flags = SA_RESTART };
	struct rlimit files;
	struct opt *all = NULL;
	char **word = argv + 1;
	int n, fd = 0;

	mem_exhausted(out_of_memory);
	app.name = info->name;
	buf_add_str(&app.words, path_base(argv[0]));
	for (char **arg = argv + 1; *arg != NULL; arg++)
		if (!str_eq(*arg, "-q") && !str_eq(*arg, "-v"))
			buf_printf(&app.words, " %s", *arg);
	/* If 0, 1 or 2 were closed, the next file opened would get that number
	 * and receive the command's output.  Occupy them with descriptors that
	 * cannot be read (0) or written (1, 2). */
	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
	signal(SIGPIPE, SIG_IGN);
	/* SIGUSR1 asks for progress (progress.c).  One that arrives before
	 * progress_start() must not end the process. */
	sigaction(SIGUSR1, &nothing, NULL);
	app.terminal = style_can_draw(STDERR_FILENO);
	/* Is --json among the arguments?  Looked up before they are parsed, so
	 * that an error in them is answered in JSON, too. */
	while (*word != NULL && !str_eq(*word, "--") &&
	       !str_eq(*word, "--json"))
		word++;
	if (!info->raw && *word != NULL && str_eq(*word, "--json"))
		app_answer_start(info->name, info->verb);
	all = join_tables(opts, common, more);
	n = opt_parse(all, argc, argv, info->command, &err);
	if (help || version || dump)
		answer(info, all, help, version);
	if (n < 0 && err.kind == ERROR_USAGE)
		app_usage("%s", err.text);
	if (n < 0)
		exit(app_report(STATUS_FAILED, &err));
	mem_free(all);
	/* Each thread keeps dozens of files open: raise the soft limit to the
	 * hard limit, up to FILES_ENOUGH.  Each arena of malloc() reserves 64
	 * MiB of address space, and by default there are eight for a
	 * processor. */
#if LIBC_GLIBC(2, 10)
	(void)mallopt(M_ARENA_MAX, ARENAS);
#endif
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_cur < FILES_ENOUGH) {
		files.rlim_cur = files.rlim_max < FILES_ENOUGH ? files.rlim_max
							       : FILES_ENOUGH;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (count == NULL && n > 0)
		app_unexpected(argv[0]);
	if (count != NULL)
		*count = n;
	return argv;
}

bool
app_stop(void)
{
	return atomic_load_explicit(&signal_caught, memory_order_relaxed) != 0;
}

void
app_log(void *unused, const char *line)
{
	(void)unused;
	app_warn("%s", line);
}

void
app_log_note(void *unused, const char *line)
{
	(void)unused;
	app_note("%s", line);
}

const char *
app_prefix(const char *given)
{
	const char *env = getenv("SCR_PREFIX");

	app.prefix = given != NULL		     ? given
		     : env != NULL && env[0] != '\0' ? env
						     : ".";
	return app.prefix;
}

const char *
app_beside(char *to, size_t size, const char *name)
{
	const size_t len = strlen(name);
	ssize_t n = readlink("/proc/self/exe", to, size);

	while (n > 0 && to[n - 1] != '/')
		n--;
	if (n <= 0 || (size_t)n + len >= size)
		return name;
	memcpy(to + n, name, len + 1);
	return to;
}

const char *
app_called(int argc, char **argv)
{
	static const char *const starts[] = { "scr_", "kvtree_" };
	const char *base = argc > 0 ? path_base(argv[0]) : "";

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const char *at = strstr(base, starts[i]);

		if (at != NULL)
			return at;
	}
	return base;
}

int
app_advise(struct error *err, const char *advice)
{
	const struct error why = *err;

	return error_as(err, &why, "%s; %s", why.text, advice);
}
