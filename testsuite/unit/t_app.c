/* SPDX-License-Identifier: BSD-3-Clause */
#include "app.h"

#include <poll.h>
#include <sys/mman.h>

#include "opt.h"
#include "scratch.h"

#ifndef SCRKIT_VERSION
#define SCRKIT_VERSION "unknown"
#endif
#ifndef SCRKIT_LIBRARIES
#define SCRKIT_LIBRARIES "unknown libraries"
#endif

#define VERSION \
	"scr_dummy (scrkit) " SCRKIT_VERSION "\nbuilt with " SCRKIT_LIBRARIES \
	"\n"

#define WORDS_MAX 8
#define TEXT_MAX 40000

/* Where a command's stdout goes. */
enum out { OUT_FILE, OUT_FULL, OUT_CLOSED, OUT_PIPE };

/* What a command printed, and how it ended. */
struct run {
	int status; /* exit status, or -signal */
	char out[TEXT_MAX], err[TEXT_MAX];
};

static const struct app_info info = {
	.name = "scr_dummy",
	.summary = "do what the test says",
	.usage = "[OPTION]... [WORD]...",
	.notes = "Exit status: 0 done.",
};

/* Report an error of this kind. */
static int
report(int status, enum error_kind kind, const char *text)
{
	struct error err = ERROR_INIT;

	error_set(&err, kind, "%s", text);
	status = app_report(status, &err);
	if (err.kind != ERROR_NONE || err.text[0] != '\0')
		printf("the error is not cleared\n");
	return status;
}

/* Run one word of the dummy's command line. */
static int
obey(const char *word, int status)
{
	struct error none = ERROR_INIT;
	char text[10001];

	if (strcmp(word, "print") == 0)
		printf("hello\n");
	else if (strcmp(word, "much") == 0)
		for (int i = 0; i < 20000; i++)
			printf("%d\n", i);
	else if (strcmp(word, "speak") == 0) {
		app_error("error %d", app_verbosity());
		app_warn("warning");
		app_note("note");
		app_debug("debug");
	} else if (strcmp(word, "odd") == 0)
		app_error("%s", "a\nb\tc\033[31m\x7f\xff\xc3\xa4\\n\\");
	else if (strcmp(word, "long") == 0) {
		memset(text, '\001', sizeof(text) - 1);
		text[sizeof(text) - 1] = '\0';
		app_error("%s", text);
	} else if (strcmp(word, "errno") == 0) {
		errno = EXDEV;
		app_error("x");
		printf("%d\n", errno == EXDEV);
	} else if (strcmp(word, "corrupt") == 0)
		return report(status, ERROR_CORRUPT, "file: broken");
	else if (strcmp(word, "lost") == 0)
		return report(status, ERROR_LOST, "gone");
	else if (strcmp(word, "damaged") == 0)
		return report(status, ERROR_DAMAGED, "bent");
	else if (strcmp(word, "nothing") == 0)
		return app_report(status, &none);
	else if (strcmp(word, "usage") == 0)
		app_usage("too many %s", "words");
	else if (strcmp(word, "fd") == 0)
		app_error("%d", dup(open("/", O_RDONLY)));
	else if (strcmp(word, "signals") == 0) {
		raise(SIGUSR1);
		raise(SIGPIPE);
		app_catch_signals();
		printf("%d", app_stop());
		raise(SIGINT);
		printf(" %d", app_stop());
		raise(SIGTERM);
		printf(" %d\n", app_stop());
	} else if (strcmp(word, "term") == 0)
		raise(SIGTERM);
	return status;
}

static int
dummy(int argc, char **argv)
{
	const char *arg = NULL;
	int verb = 0, count = -1, status = 0, i;
	const struct opt opts[] = {
		OPT_VERB('l', "list", &verb, 1, "list"),
		OPT_VERB_ARG('b', "build", &verb, 2, &arg, "ID", OPT_ANY,
			     "build"),
		OPT_END,
	};

	argv = app_start(&info, argc, argv, opts, &count);
	if (verb > 0)
		printf("verb %d %s\n", verb, arg != NULL ? arg : "-");
	for (i = 0; argv[i] != NULL; i++)
		status = obey(argv[i], status);
	if (i != count)
		app_error("%d words, but %d counted", i, count);
	return app_finish(status);
}

/* A command whose own options have the names of common ones. */
static int
stubborn(int argc, char **argv)
{
	const struct app_info other = { .name = "scr_stubborn",
					.summary = "Be different.",
					.usage = "[FILE]",
					.notes = NULL };
	const char *host = NULL;
	bool mine = false;
	const struct opt opts[] = {
		OPT_GROUP("Its own"),
		OPT_STRING('h', "host", &host, "NAME", OPT_ANY, "a host"),
		OPT_FLAG('z', "quiet", &mine, "quiet in its way"),
		OPT_FLAG('V', "version", &mine, NULL),
		OPT_END,
	};

	app_start(&other, argc, argv, opts, NULL);
	printf("%s %d %d\n", host != NULL ? host : "-", mine, app_verbosity());
	return app_finish(0);
}

/* Called by the sanitizer of leaks at the end of a process.  Its search takes
 * much longer than a command, so it looks at each sixth one. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
static bool unsearched;

int
__lsan_is_turned_off(void)
{
	return unsearched;
}

static void
read_all(int fd, char *to)
{
	ssize_t n = pread(fd, to, TEXT_MAX - 1, 0);

	to[n > 0 ? n : 0] = '\0';
	close(fd);
}

/* Run the command in the child. */
static void
live(int (*command)(int, char **), enum out kind, int out, int err, char *line)
{
	char name[] = "scr_dummy", *argv[WORDS_MAX + 2] = { name }, *rest;
	int argc = 1, fds[2];

	for (line = strtok_r(line, " ", &rest);
	     line != NULL && argc <= WORDS_MAX;
	     line = strtok_r(NULL, " ", &rest))
		argv[argc++] = line;
	if (kind == OUT_FULL)
		out = open("/dev/full", O_WRONLY);
	if (kind == OUT_PIPE && pipe(fds) == 0) {
		close(fds[0]); /* no reader */
		out = fds[1];
	}
	dup2(err, STDERR_FILENO);
	dup2(out, STDOUT_FILENO);
	if (kind == OUT_CLOSED)
		close(STDOUT_FILENO);
	exit(command(argc, argv));
}

static struct run
run_to(int (*command)(int, char **), enum out kind, const char *words)
{
	static unsigned runs;
	struct run r = { .status = -1000 };
	int out = memfd_create("out", MFD_CLOEXEC);
	int err = memfd_create("err", MFD_CLOEXEC), status = 0;
	char line[256];
	pid_t pid;

	snprintf(line, sizeof(line), "%s", words);
	fflush(stdout);
	unsearched = ++runs % 6 != 0 && getenv("SCRKIT_SLOW") == NULL;
	pid = fork();
	if (pid == 0)
		live(command, kind, out, err, line);
	unsearched = false;
	waitpid(pid, &status, 0);
	r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	read_all(out, r.out);
	read_all(err, r.err);
	return r;
}

static struct run
run(const char *words)
{
	return run_to(dummy, OUT_FILE, words);
}

#define COMMON \
	"Common options:\n" \
	"  -q, --quiet             no warnings and no progress, only errors\n" \
	"  -v, --verbose           more messages; -vv: still more\n" \
	"  -h, --help              show this help and exit\n" \
	"  -V, --version           show versions and exit\n" \
	"      --json              print JSON: scrkit-json(5)\n"

#define HELP \
	"Usage: scr_dummy [OPTION]... [WORD]...\n" \
	"\n" \
	"Do what the test says.\n" \
	"\n" \
	"Options:\n" \
	"  -l, --list              list\n" \
	"  -b, --build=ID          build\n" \
	"\n" COMMON "\nExit status: 0 done.\n"

#define TRY "Try 'scr_dummy --help' for more information.\n"

static const struct {
	const char *words;
	int status;
	const char *out, *err;
} runs[] = {
	{ "", 0, "", "" },
	{ "--bu=7 print", 0, "verb 2 7\nhello\n", "" },
	{ "--help", 0, HELP, "" },
	{ "--he --version", 0, HELP, "" },
	{ "--version", 0, VERSION, "" },
	{ "--dump-options", 0,
	  "l\tlist\t-\tany\tshown\tlist\n"
	  "b\tbuild\tID\tany\tshown\tbuild\n"
	  "q\tquiet\t-\tany\tshown\tno warnings and no progress, only errors\n"
	  "v\tverbose\t-\tany\tshown\tmore messages; -vv: still more\n"
	  "h\thelp\t-\tany\tshown\tshow this help and exit\n"
	  "V\tversion\t-\tany\tshown\tshow versions and exit\n"
	  "-\tdump-options\t-\tany\thidden\t\n"
	  "-\tjson\t-\tany\tshown\tprint JSON: scrkit-json(5)\n"
	  "verb\t-\tWORD\tany\tusage\t\n",
	  "" },
	/* usage errors; --help before one prints the help */
	{ "--foo", 2, "", "scr_dummy: unrecognized option '--foo'\n" TRY },
	{ "print --fo\033[1m", 2, "",
	  "scr_dummy: unrecognized option '--fo\\x1b[1m'\n" TRY },
	{ "--list --build=1", 2, "",
	  "scr_dummy: options '--list' and '--build' cannot be used together\n" TRY },
	{ "usage", 2, "", "scr_dummy: too many words\n" TRY },
	{ "--help --foo", 0, HELP, "" },
	/* verbosity */
	{ "speak", 0, "", "scr_dummy: error 0\nscr_dummy: warning\n" },
	{ "-q speak", 0, "", "scr_dummy: error -1\n" },
	{ "-qv speak", 0, "", "scr_dummy: error -1\n" },
	{ "-v speak", 0, "",
	  "scr_dummy: error 1\nscr_dummy: warning\nscr_dummy: note\n" },
	{ "-vvv speak", 0, "",
	  "scr_dummy: error 2\nscr_dummy: warning\nscr_dummy: note\n"
	  "scr_dummy: debug\n" },
	{ "odd", 0, "",
	  "scr_dummy: a\\nb\\tc\\x1b[31m\\x7f\\xff\xc3\xa4\\n\\\n" },
	{ "errno", 0, "1\n", "scr_dummy: x\n" },
	/* errors and statuses */
	{ "corrupt lost damaged", 4, "",
	  "scr_dummy: file: broken\nscr_dummy: gone\nscr_dummy: bent\n" },
	{ "damaged nothing", 3, "", "scr_dummy: bent\n" },
	{ "signals", 0, "0 1 1\n", "" },
	{ "term", -SIGTERM, "", "" },
};

TEST(runs)
{
	char what[300];
	struct run r;

	each (t, runs) {
		r = run(t->words);
		snprintf(what, sizeof(what), "'%s'", t->words);
		is_int(r.status, t->status, what);
		is_str(r.out, t->out, "on stdout");
		is_str(r.err, t->err, "on stderr");
	}
	r = run("long");
	ok(strlen(r.err) > 4 * 4000 &&
		   strchr(r.err, '\n') == r.err + strlen(r.err) - 1 &&
		   strchr(r.err, '\001') == NULL,
	   "10000 control characters are one line");
}

TEST(own_options)
{
	static const char *const own[][2] = {
		{ "--help",
		  "Usage: scr_stubborn [FILE]\n\nBe different.\n\nIts own:\n"
		  "  -h, --host=NAME         a host\n"
		  "  -z, --quiet             quiet in its way\n"
		  "\n"
		  "Common options:\n"
		  "  -q                      no warnings and no progress, only "
		  "errors\n"
		  "  -v, --verbose           more messages; -vv: still more\n"
		  "      --help              show this help and exit\n"
		  "      --json              print JSON: scrkit-json(5)\n" },
		{ "-h x -v", "x 0 1\n" },
		{ "--quiet", "- 1 0\n" },
		{ "-q --version", "- 1 -1\n" }, /* -q is the common one */
	};

	for (size_t i = 0; i < COUNT(own); i++)
		is_str(run_to(stubborn, OUT_FILE, own[i][0]).out, own[i][1],
		       own[i][0]);
}

#define CANNOT "scr_dummy: standard output: cannot write"

TEST(output)
{
	static const struct {
		enum out kind;
		const char *words;
		int status;
		const char *err;
	} ends[] = {
		{ OUT_FULL, "lost print", 4,
		  "scr_dummy: gone\n" CANNOT ": No space left on device\n" },
		{ OUT_FULL, "much", 1, CANNOT ": No space left on device\n" },
		{ OUT_FULL, "", 0, "" },
		/* The reader has what it wanted. */
		{ OUT_PIPE, "lost print", 4, "scr_dummy: gone\n" },
		{ OUT_PIPE, "much", 0, "" },
		{ OUT_CLOSED, "print", 1, CANNOT ": Bad file descriptor\n" },
		{ OUT_CLOSED, "", 0, "" },
	};
	struct run r;
	char *end = NULL;
	size_t i;

	for (i = 0; i < COUNT(ends); i++) {
		r = run_to(dummy, ends[i].kind, ends[i].words);
		is_int(r.status, ends[i].status, ends[i].words);
		is_str(r.err, ends[i].err, "and says so");
	}
	r = run_to(dummy, OUT_CLOSED, "fd");
	ok(strncmp(r.err, "scr_dummy: ", 11) == 0 &&
		   strtol(r.err + 11, &end, 10) > 2 && *end == '\n',
	   "no file takes the place of a closed stdout");
}

/* On a terminal, a message clears the rest of a progress line. */
TEST(terminal)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1, status = -1;
	const char *want = "scr_dummy: too many words\033[K\r\n";
	char words[] = "usage", text[256] = "";
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0) {
		skip("a terminal", "no pseudo terminal to be had");
		return;
	}
	setenv("TERM", "xterm", 1);
	pid = fork();
	if (pid == 0)
		live(dummy, OUT_FILE, slave, slave, words);
	waitpid(pid, &status, 0);
	while (strchr(text, '\n') == NULL && len < sizeof(text) - 1) {
		struct pollfd p = { .fd = master, .events = POLLIN };

		if (poll(&p, 1, 5000) <= 0)
			break;
		n = read(master, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	ok(strncmp(text, want, strlen(want)) == 0, "a message on a terminal");
	close(slave);
	close(master);
}

TEST(no_memory)
{
	static const char *const words[] = { "print", "--help", "--version",
					     "--dump-options" };
	size_t i;
	long n;

	for (i = 0; i < 4; i++) {
		struct run r = { .status = -1 };

		for (n = 0; n < 10; n++) {
			mem_fail_after(n); /* inherited by the child */
			r = run(words[i]);
			mem_fail_after(-1);
			if (r.status == 0)
				break;
			is_int(r.status, STATUS_FAILED, words[i]);
			is_str(r.err, "scr_dummy: out of memory\n", "is told");
			is_str(r.out, "", "instead of a part of the output");
		}
		ok(n > 0 && r.status == 0, "until there is enough memory");
	}
}

int
main(void)
{
	unsetenv("TERM");
	return tap_run();
}
