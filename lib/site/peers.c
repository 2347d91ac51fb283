/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "dir.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "mem.h"
#include "num.h"
#include "remote/remote.h"
#include "str.h"

#define NAME 32
#define WORD 24 /* of a process, with NUL: another one each time */
#define PAUSE INT64_C(50000000) /* ns between two looks of a few */
#define COME_SECONDS 10		/* for the others to come */
#define LEAVE_SECONDS 5		/* for the others to see the end */
#define OUT_MAX ((size_t)1 << 20)

/* Processes of launchers, as the kernel cuts their names. */
static const char *const launchers[] = {
	"hydra_pmi_proxy", "slurmstepd", "orted",      "prted",
	"prterun",	   "mpirun",	 "flux-shell",
};

/* What they tell a process. */
static const struct {
	const char *rank, *size;
} told[] = {
	{ "PMI_RANK", "PMI_SIZE" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
	{ "FLUX_TASK_RANK", "FLUX_JOB_SIZE" },
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* --- The launcher --- */

static bool
launched(void)
{
	struct buf name = BUF_INIT;
	char path[64];
	bool is = false;

	snprintf(path, sizeof(path), "/proc/%ld/comm", (long)getppid());
	if (io_read_file(AT_FDCWD, path, 64, &name, NULL) == 0)
		for (size_t i = 0; i < COUNT(launchers); i++)
			is = is || (str_starts(name.data, launchers[i]) &&
				    name.data[strlen(launchers[i])] == '\n');
	buf_free(&name);
	return is;
}

bool
peers_find(struct peers *p)
{
	uint64_t rank = 0, size = 0;

	*p = (struct peers){ .board = -1, .dirfd = -1 };
	for (size_t i = 0; i < COUNT(told) && size == 0; i++) {
		const char *r = getenv(told[i].rank), *n = getenv(told[i].size);

		if (r == NULL || n == NULL ||
		    num_u64(r, 0, UINT32_MAX, &rank, NULL) < 0 ||
		    num_u64(n, 0, UINT32_MAX, &size, NULL) < 0 || rank >= size)
			size = 0;
	}
	if (size < 2 || !launched())
		return false;
	p->rank = (unsigned)rank;
	p->size = (unsigned)size;
	return true;
}

/* --- The board --- */

static const char *
file_of(char to[static NAME], unsigned number, const char *what)
{
	snprintf(to, NAME, "%u.%s", number, what);
	return to;
}

static int
write_file(const struct peers *p, unsigned number, const char *what,
	   const char *text, struct error *err)
{
	char name[NAME];

	return io_replace_lazy(p->board, file_of(name, number, what), text,
			       strlen(text), 0600, err);
}

/* Read a small file into `to`, without its newline.  False: it is not there. */
static bool
read_file(const struct peers *p, const char *name, char *to, size_t size)
{
	struct buf text = BUF_INIT;
	const bool is =
		io_read_file(p->board, name, size - 1, &text, NULL) == 0;

	if (is)
		snprintf(to, size, "%.*s", (int)strcspn(text.data, "\n"),
			 text.data);
	buf_free(&text);
	return is;
}

/* The more there are, the less often each of them looks. */
static void
pause_once(const struct peers *p)
{
	const int64_t ns = PAUSE * (1 + (int64_t)p->size / 32);
	const struct timespec t = {
		.tv_sec = ns >= 1000000000,
		.tv_nsec = ns >= 1000000000 ? 0 : ns,
	};

	nanosleep(&t, NULL);
}

static void
new_word(char to[static WORD])
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint64_t)(clock_seconds() * 1e9) ^
			 ((uint64_t)getpid() << 40);
	snprintf(to, WORD, "%016" PRIx64, random);
}

/* Open it, or NULL: make it. */
static int
open_board(struct peers *p, int dirfd, bool make)
{
	if (make && mkdirat(dirfd, PEERS_BOARD, 0700) < 0 && errno != EEXIST)
		return -1;
	io_close(p->board);
	p->board = dir_open_plain(dirfd, PEERS_BOARD);
	p->dirfd = dirfd;
	return p->board < 0 ? -1 : 0;
}

/* Is the board the one that has the name now? */
static bool
is_current(const struct peers *p)
{
	struct stat ours, there;

	return p->board >= 0 && fstat(p->board, &ours) == 0 &&
	       fstatat(p->dirfd, PEERS_BOARD, &there, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* --- Processes that work --- */

/* Run the part in a child process, and wait for it. */
static int
run_part(const struct peers *p, unsigned number)
{
	char out[NAME], err[NAME];
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC;
	const int to[] = {
		openat(p->board, file_of(out, number, "out"), flags, 0600),
		openat(p->board, file_of(err, number, "err"), flags, 0600),
	};
	int status = 0;
	pid_t pid = -1;

	if (to[0] >= 0 && to[1] >= 0)
		pid = fork();
	if (pid == 0) {
		(void)dup2(to[0], STDOUT_FILENO);
		(void)dup2(to[1], STDERR_FILENO);
		return 1;
	}
	io_close(to[0]);
	io_close(to[1]);
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		/* Process 0 has started again, or its board is gone. */
		if (!is_current(p) || p->stop())
			(void)kill(pid, SIGTERM);
		pause_once(p);
	}
	status = pid < 0	     ? STATUS_FAILED
		 : WIFEXITED(status) ? WEXITSTATUS(status)
				     : 128 + WTERMSIG(status);
	(void)write_file(p, number, "end", num_str((uint64_t)status), NULL);
	return 0;
}

int
peers_serve(struct peers *p, unsigned number, int dirfd,
	    char part[static PEERS_PART], int *status, struct error *err)
{
	char word[WORD], name[NAME], text[PEERS_PART + WORD], last[WORD] = "";
	double seen = clock_seconds();
	uint64_t end = 0;

	new_word(word);
	for (; clock_seconds() - seen < p->patience && !p->stop();
	     pause_once(p)) {
		if (!is_current(p) &&
		    (open_board(p, dirfd, true) < 0 ||
		     write_file(p, number, "here", word, err) < 0))
			break;
		if (read_file(p, "end", text, sizeof(text)) &&
		    num_u64(text, 0, 255, &end, NULL) == 0) {
			*status = (int)end;
			(void)unlinkat(p->board, file_of(name, number, "here"),
				       0);
			return 0;
		}
		if (read_file(p, "0.beat", text, sizeof(text)) &&
		    strncmp(text, last, sizeof(last)) != 0) {
			snprintf(last, sizeof(last), "%.*s", WORD - 1, text);
			seen = clock_seconds();
		}
		/* "WORD PART" */
		if (!read_file(p, file_of(name, number, "part"), text,
			       sizeof(text)) ||
		    !str_starts(text, word) || strlen(text) <= strlen(word) + 1)
			continue;
		(void)unlinkat(p->board, name, 0);
		snprintf(part, PEERS_PART, "%s", text + strlen(word) + 1);
		if (run_part(p, number) == 1)
			return 1;
		seen = clock_seconds();
	}
	if (p->board >= 0)
		(void)unlinkat(p->board, file_of(name, number, "here"), 0);
	(void)unlinkat(dirfd, PEERS_BOARD, AT_REMOVEDIR);
	if (err != NULL && err->kind != ERROR_NONE)
		return -1;
	return error_set(err, ERROR_SYSTEM, "process 0 of this launch %s",
			 last[0] == '\0' ? "has not come" : "is gone");
}

/* --- Process 0 --- */

/* Say once a second that we live. */
static void
beat(struct peers *p)
{
	const double now = clock_seconds();

	if (now - p->beat < 1)
		return;
	p->beat = now;
	(void)write_file(p, 0, "beat", num_str((uint64_t)(now * 1000)), NULL);
}

int
peers_gather(struct peers *p, int dirfd, struct hostlist *here,
	     struct error *err)
{
	const double end =
		clock_seconds() +
		(p->patience < COME_SECONDS ? p->patience : COME_SECONDS);
	char word[WORD], name[NAME];
	unsigned count = 0;

	/* One that another run has left; its processes may still be there. */
	if (renameat(dirfd, PEERS_BOARD, dirfd, PEERS_BOARD ".old") == 0 ||
	    errno != ENOENT)
		(void)io_remove_tree(dirfd, PEERS_BOARD ".old", NULL);
	if (open_board(p, dirfd, true) < 0)
		return error_sys(err, PEERS_BOARD);
	for (; count < p->size && clock_seconds() < end && !p->stop();
	     pause_once(p)) {
		beat(p);
		count = 0;
		for (unsigned i = 1; i <= p->size; i++)
			count += read_file(p, file_of(name, i, "here"), word,
					   sizeof(word));
	}
	for (unsigned i = 1; i <= p->size; i++) {
		char node[NAME];

		snprintf(node, sizeof(node), "process-%u", i);
		if (read_file(p, file_of(name, i, "here"), word, sizeof(word)))
			(void)hostlist_add_name(here, node, NULL);
	}
	return 0;
}

/* A peer with a part. */
struct working {
	unsigned number;
	size_t read; /* bytes of its output */
	double last; /* when it last said anything */
	bool ended;
};

/* Pass on the whole lines of its output that are new. */
static void
read_lines(const struct peers *p, struct working *w, size_t node,
	   const struct remote_options *o)
{
	struct buf text = BUF_INIT;
	char name[NAME];
	const char *rest = NULL, *line = NULL;
	size_t len = 0, whole = 0;
	int fd = openat(p->board, file_of(name, w->number, "out"),
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = 0;

	if (fd >= 0 && buf_reserve(&text, OUT_MAX) == 0)
		n = pread(fd, text.data, OUT_MAX - 1, (off_t)w->read);
	io_close(fd);
	if (n > 0) {
		text.data[n] = '\0';
		w->last = clock_seconds();
		for (whole = (size_t)n; whole > 0; whole--)
			if (text.data[whole - 1] == '\n')
				break;
		text.data[whole] = '\0';
		w->read += whole;
		rest = text.data;
		while (whole > 0 && (line = str_line(&rest, &len)) != NULL) {
			text.data[line - text.data + (ptrdiff_t)len] = '\0';
			if (o->line != NULL)
				o->line(o->arg, node, line);
		}
	}
	buf_free(&text);
}

/* Look at one; set its result when it has ended. */
static void
look_at(struct peers *p, struct working *w, size_t node,
	const struct remote_options *o, struct remote_result *r)
{
	char name[NAME], text[NAME];
	uint64_t status = 0;
	const bool over = read_file(p, file_of(name, w->number, "end"), text,
				    sizeof(text));

	read_lines(p, w, node, o);
	if (over && num_u64(text, 0, 255, &status, NULL) == 0) {
		w->ended = true;
		r->state = REMOTE_DONE;
		r->status = (int)status;
		r->why = NULL;
		(void)io_read_file(p->board, file_of(name, w->number, "err"),
				   OUT_MAX, &r->err, NULL);
	} else if (o->idle > 0 && clock_seconds() - w->last > o->idle) {
		w->ended = true;
		r->state = REMOTE_TIMEOUT;
		buf_printf(&r->text, "no output for %g s", o->idle);
		r->why = r->text.data;
	}
}

int
peers_run(struct peers *p, const struct hostlist *nodes,
	  const struct remote_options *o, struct remote_result *results,
	  struct error *err)
{
	struct working *w = mem_calloc(nodes->count + 1, sizeof(*w));
	char name[NAME], word[WORD];
	size_t left = nodes->count;
	bool stopped = false;

	for (size_t i = 0; i < nodes->count; i++) {
		const char *part = strchr(o->more[i], '=') + 1;
		uint64_t number = 0;

		results[i] = (struct remote_result){
			.state = REMOTE_NOT_STARTED,
			.status = -1,
			.why = "it is not there any more",
			.begun = true,
		};
		(void)num_u64(strchr(nodes->names[i], '-') + 1, 0, UINT32_MAX,
			      &number, NULL);
		w[i] = (struct working){ .number = (unsigned)number,
					 .last = clock_seconds() };
		(void)unlinkat(p->board, file_of(name, w[i].number, "end"), 0);
		(void)unlinkat(p->board, file_of(name, w[i].number, "out"), 0);
		if (!read_file(p, file_of(name, w[i].number, "here"), word,
			       sizeof(word)) ||
		    write_file(
			    p, w[i].number, "part",
			    str_printed(PEERS_PART + WORD, "%s %s", word, part),
			    NULL) < 0) {
			w[i].ended = true;
			left--;
		}
	}
	while (left > 0 && !stopped) {
		pause_once(p);
		beat(p);
		stopped = o->stop != NULL && o->stop();
		for (size_t i = 0; i < nodes->count; i++) {
			if (w[i].ended)
				continue;
			look_at(p, &w[i], i, o, &results[i]);
			left -= w[i].ended;
		}
	}
	mem_free(w);
	if (!stopped)
		return 0;
	errno = EINTR;
	return error_sys(err, "processes of this launch were stopped");
}

void
peers_dismiss(struct peers *p, int dirfd, int status)
{
	const double end = clock_seconds() + LEAVE_SECONDS;
	char name[NAME], word[WORD];
	unsigned count = p->size;

	if (p->board < 0 && open_board(p, dirfd, true) < 0)
		return;
	(void)io_replace_lazy(p->board, "end", num_str((uint64_t)status),
			      strlen(num_str((uint64_t)status)), 0600, NULL);
	for (; count > 0 && clock_seconds() < end; pause_once(p)) {
		count = 0;
		for (unsigned i = 1; i <= p->size; i++)
			count += read_file(p, file_of(name, i, "here"), word,
					   sizeof(word));
	}
	io_close(p->board);
	p->board = -1;
	(void)renameat(dirfd, PEERS_BOARD, dirfd, PEERS_BOARD ".old");
	(void)io_remove_tree(dirfd, PEERS_BOARD ".old", NULL);
}
