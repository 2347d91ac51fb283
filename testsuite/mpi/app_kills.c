/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app_kills ROUND JOURNAL [OPTION=VALUE]...: an application that may be killed
 * at any moment, linked with libscr.so alone.  It restarts from the checkpoint
 * that SCR offers, verifies every byte of it, and writes more.  Each file names
 * the round that wrote it; those of a checkpoint must be of one round.
 *
 *   steps=N     checkpoints to write (1000000)
 *   size=N      bytes of the largest file (1000); some are empty
 *   files=N     files of a rank (2)
 *   same=1      the files of each checkpoint replace those of the one before
 *   pause=MS    a step takes so long beside (0)
 *   lone=R      rank R kills itself in the second step, in the middle of its
 *               files; lone=all: all ranks do
 *   die=N:R:TEXT  rank R is killed in step N, before its first file operation
 *               on a path that contains TEXT; by the fault shim, which must be
 *               preloaded, with SHIM_PATH=/none
 *   hold=N:FILE the ranks wait before step N, after rank 0 made FILE, until
 *               somebody renames it to FILE.over, which is then the end of
 *               holding
 *   abort=N:R   rank R aborts before step N
 *   exit=1      ask SCR_Should_exit() after each step, and leave if it says so
 *
 * Rank 0 appends to JOURNAL, each time in one write:
 *
 *   round N; restart STEP ROUND, or restart none
 *   begin STEP; written STEP; complete STEP, if all ranks said so, or failed
 *   STEP; end
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scr.h"

#include "shared.h"

#define HEAD 64

static int this_round, journal = -1;

static void __attribute__((format(printf, 1, 2))) note(const char *fmt, ...)
{
	char line[128];
	va_list ap;
	int len = 0;

	if (rank != 0)
		return;
	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[len++] = '\n';
	if (write(journal, line, (size_t)len) != len)
		MPI_Abort(MPI_COMM_WORLD, 96);
}

static int
all_say(int yes)
{
	int all = 0;

	MPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	return all;
}

/* --- Files --- */

static void
name_of(char *to, size_t size, int step, int file)
{
	snprintf(to, size, "ckpt.%d/d%d/rank_%d.%d",
		 number("same", 0) ? 0 : step, rank % 2, rank, file);
}

/* The contents: a line that says what it is, and bytes that depend on it. */
static size_t
contents(char *to, int step, int round, int file)
{
	const long most = number("size", 1000);
	uint32_t seed = (uint32_t)(step * 10007 + rank * 101 + file);
	size_t len = HEAD;

	memset(to, ' ', HEAD);
	snprintf(to, HEAD, "%d %d %d %d", step, round, rank, file);
	seed = seed * 2654435761U;
	len += (seed >> 8) % 5 == 0 ? 0 : (seed >> 8) % (size_t)(most + 1);
	seed += (uint32_t)round;
	for (size_t i = HEAD; i < len; i++) {
		seed = seed * 1664525U + 1013904223U;
		to[i] = (char)(seed >> 24);
	}
	return len;
}

static char *
room(void)
{
	char *data = malloc((size_t)number("size", 1000) + HEAD + 1);

	if (data == NULL)
		MPI_Abort(MPI_COMM_WORLD, 95);
	return data;
}

/* In two halves, as a kill may come between them. */
static int
write_file(const char *path, int step, int file)
{
	char *data = room();
	const size_t len = contents(data, step, this_round, file);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	int right = fd >= 0;

	right = right && write(fd, data, len / 2) == (ssize_t)(len / 2);
	right = right && write(fd, data + len / 2, len - len / 2) ==
				 (ssize_t)(len - len / 2);
	if (fd >= 0 && close(fd) < 0)
		right = 0;
	if (!right)
		perror(path);
	free(data);
	return right;
}

/* *round: which one wrote the file. */
static int
verify_file(const char *path, int step, int file, int *round)
{
	char *want = room(), *is = room();
	/* Not by read(), which a test may let fail. */
	FILE *f = fopen(path, "r");
	ssize_t n = f == NULL ? -1
			      : (ssize_t)fread(
					is, 1,
					(size_t)number("size", 1000) + HEAD, f);
	size_t len = 0;
	int right = 0;

	if (n >= HEAD && sscanf(is, "%*d %d", round) == 1) {
		len = contents(want, step, *round, file);
		right = (size_t)n == len && memcmp(is, want, len) == 0;
	}
	if (!right)
		fprintf(stderr, "WRONG: rank %d: %s: %zd bytes, expected %zu\n",
			rank, path, n, len);
	if (f != NULL)
		fclose(f);
	free(want);
	free(is);
	return right;
}

/* --- Restart --- */

/* The launcher may drop messages if the job is aborted: end it in order. */
static void
call(int rc, const char *name)
{
	if (all_say(rc == SCR_SUCCESS))
		return;
	note("failed %s", name);
	MPI_Finalize();
	exit(99);
}

/* Verify all files; returns the round that wrote them, or -1. */
static int
verify(int step)
{
	char name[512], path[SCR_MAX_FILENAME];
	int is[2], all[2], round = -1, right = 1;

	for (int i = 0; i < number("files", 2); i++) {
		int one = -1;

		name_of(name, sizeof(name), step, i);
		call(SCR_Route_file(name, path), "SCR_Route_file");
		right = verify_file(path, step, i, &one) && right;
		if (round >= 0 && one != round)
			right = 0;
		round = one;
	}
	is[0] = round;
	is[1] = -round;
	MPI_Allreduce(is, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	return all_say(right) && all[0] == -all[1] ? round : -1;
}

/* Returns the step of the checkpoint; 0: none.  A wrong one is not tolerated:
 * SCR must not offer it. */
static int
restart(void)
{
	char name[SCR_MAX_FILENAME];
	int flag = 0, step = 0, round = 0;

	call(SCR_Have_restart(&flag, name), "SCR_Have_restart");
	if (!flag) {
		note("restart none");
		return 0;
	}
	call(SCR_Start_restart(name), "SCR_Start_restart");
	step = atoi(strrchr(name, '.') + 1);
	round = verify(step);
	if (round < 0) {
		note("wrong %d", step);
		MPI_Abort(MPI_COMM_WORLD, 97);
	}
	call(SCR_Complete_restart(1), "SCR_Complete_restart");
	note("restart %d %d", step, round);
	return step;
}

/* --- Steps --- */

static void
die_alone(int nth)
{
	const char *who = text("lone", "");

	if (nth == 2 &&
	    (strcmp(who, "all") == 0 || (*who != '\0' && atoi(who) == rank)))
		kill(getpid(), SIGKILL);
}

/* `value` is "N:REST": its REST if N is `nth`, else NULL. */
static const char *
in_step(const char *value, int nth)
{
	const char *rest = strchr(value, ':');

	return rest != NULL && atoi(value) == nth ? rest + 1 : NULL;
}

static void
die_at_path(int nth)
{
	const char *who = in_step(text("die", ""), nth);

	if (who == NULL || atoi(who) != rank)
		return;
	setenv("SHIM_KILL_AT", "1", 1);
	setenv("SHIM_PATH", strchr(who, ':') + 1, 1);
}

static void
hold(int nth)
{
	const char *file = in_step(text("hold", ""), nth);
	const struct timespec some = { 0, 20000000 };
	char over[1024];

	if (file == NULL)
		return;
	snprintf(over, sizeof(over), "%s.over", file);
	if (rank == 0 && access(over, F_OK) < 0)
		close(open(file, O_WRONLY | O_CREAT, 0666));
	MPI_Barrier(MPI_COMM_WORLD);
	while (access(over, F_OK) < 0)
		nanosleep(&some, NULL);
}

static void
abort_before(int nth)
{
	const char *who = in_step(text("abort", ""), nth);

	if (who != NULL && atoi(who) == rank)
		abort();
}

static void
write_step(int step, int nth)
{
	char name[512], path[SCR_MAX_FILENAME];
	int right = 1, rc = 0;

	hold(nth);
	abort_before(nth);
	note("begin %d", step);
	die_at_path(nth);
	snprintf(name, sizeof(name), "ckpt.%d", step);
	call(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), "SCR_Start_output");
	for (int i = 0; i < number("files", 2); i++) {
		name_of(name, sizeof(name), step, i);
		right = SCR_Route_file(name, path) == SCR_SUCCESS &&
			write_file(path, step, i) && right;
		die_alone(nth);
	}
	note("written %d", step);
	rc = SCR_Complete_output(right);
	note("%s %d", all_say(rc == SCR_SUCCESS) ? "complete" : "failed", step);
}

int
main(int argc, char **argv)
{
	struct timespec wait = { 0, 0 };
	int step = 0, leave = 0;

	start(argc, argv);
	this_round = atoi(argv[1]);
	if (rank == 0)
		journal = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0666);
	note("round %s", argv[1]);
	wait.tv_sec = number("pause", 0) / 1000;
	wait.tv_nsec = number("pause", 0) % 1000 * 1000000;
	call(SCR_Init(), "SCR_Init");
	step = restart();
	for (int nth = 1; nth <= number("steps", 1000000) && !leave; nth++) {
		nanosleep(&wait, NULL);
		write_step(++step, nth);
		if (number("exit", 0))
			call(SCR_Should_exit(&leave), "SCR_Should_exit");
	}
	call(SCR_Finalize(), "SCR_Finalize");
	MPI_Finalize();
	note("end");
	return 0;
}
