/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app_restart STEPS [OPTION=VALUE]...: an application that restarts from the
 * checkpoint that SCR offers, verifies every byte of it, and writes STEPS more,
 * linked with libscr.so alone.
 *
 *   size=N      bytes of a file (1000); rank R and step S have N + 17 R + S
 *   files=N     files of a rank (1); "rank": rank % 4; the second is empty
 *   shared=1    one file more, which rank 0 writes and all ranks read
 *   pair=1      SCR_Start_checkpoint(), so that the library names the datasets
 *   equal=1     all files have one name, in different directories
 *   base=1      files of the restart are asked for by their last component
 *   reject=R    rank R rejects the first checkpoint that is offered
 *   times=N     and the next ones, N in all
 *   die=1       the job is killed while it reads
 *   skip=1      nothing is read: only SCR_Init() and SCR_Finalize()
 *   again=N     all that N times, from SCR_Init() to SCR_Finalize()
 *
 * Rank 0 prints "restart NAME" for a checkpoint that was read, "from PATH" for
 * the first file of it, "rejected NAME" for one that a rank rejected, "none" if
 * there is no other, "complete STEP RESULT" for a step, and "end".
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scr.h"

#include "shared.h"

/* --- Files --- */

static int
file_count(void)
{
	if (strcmp(text("files", "1"), "rank") == 0)
		return rank % 4;
	return (int)number("files", 1);
}

static long
size_of(int step, int file)
{
	return file == 1 ? 0 : number("size", 1000) + 17 * rank + step;
}

static unsigned
seed_of(int step, int file)
{
	return (unsigned)(step * 10007 + rank * 101 + file);
}

static void
name_of(char *to, size_t size, int step, int file)
{
	if (number("equal", 0))
		snprintf(to, size, "ckpt.%d/d%d/%d/f", step, rank, file);
	else
		snprintf(to, size, "ckpt.%d/d%d/rank_%d.%d", step, rank, rank,
			 file);
}

/* Write the shared file on rank 0.  Returns 1; on rank 0, 0 if that failed. */
static int
write_shared(const char *path, int step)
{
	FILE *f = rank == 0 ? fopen(path, "w") : NULL;

	return rank != 0 || (f != NULL && fprintf(f, "step %d\n", step) > 0 &&
			     fclose(f) == 0);
}

static int
verify_shared(const char *path, int step)
{
	FILE *f = fopen(path, "r");
	int is = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "step %d", &is) != 1)
		is = -1;
	fclose(f);
	return is == step;
}

/* Write all files, or (`from` is not NULL) read and verify them; `from`
 * receives the path of the first one. */
static int
each_file(int step, char *from)
{
	char name[512], path[SCR_MAX_FILENAME];
	int valid = 1;

	for (int i = 0; i < file_count(); i++) {
		const unsigned seed = seed_of(step, i);
		const char *ask = name;

		name_of(name, sizeof(name), step, i);
		if (from != NULL && number("base", 0))
			ask = strrchr(name, '/') + 1;
		valid = SCR_Route_file(ask, path) == SCR_SUCCESS &&
			(from == NULL
				 ? write_bytes(path, seed, size_of(step, i))
				 : verify_bytes(path, seed,
						size_of(step, i))) &&
			valid;
		if (from != NULL && i == 0)
			strcpy(from, path);
	}
	if (number("shared", 0)) {
		snprintf(name, sizeof(name), "ckpt.%d/shared", step);
		valid = SCR_Route_file(name, path) == SCR_SUCCESS &&
			(from == NULL ? write_shared(path, step)
				      : verify_shared(path, step)) &&
			valid;
	}
	return valid;
}

/* --- Restart --- */

/* Returns the step of the checkpoint; 0: none. */
static int
restart(void)
{
	long rejections = number("reject", -1) < 0 ? 0 : number("times", 1);
	char name[SCR_MAX_FILENAME], again[SCR_MAX_FILENAME];
	char from[SCR_MAX_FILENAME] = "";
	int flag = 0, step = 0, valid = 0;

	for (;;) {
		need(SCR_Have_restart(&flag, name), "SCR_Have_restart");
		if (!flag)
			return 0;
		need(SCR_Start_restart(again), "SCR_Start_restart");
		if (strcmp(name, again) != 0)
			MPI_Abort(MPI_COMM_WORLD, 98);
		step = atoi(strrchr(name, '.') + 1);
		valid = each_file(step, from);
		if (number("die", 0)) {
			MPI_Barrier(MPI_COMM_WORLD);
			kill(getpid(), SIGKILL);
		}
		if (rejections-- > 0)
			valid = valid && rank != number("reject", -1);
		if (SCR_Complete_restart(valid) == SCR_SUCCESS)
			break;
		if (rank == 0)
			printf("rejected %s\n", name);
	}
	if (rank == 0)
		printf("restart %s\nfrom %s\n", name, from);
	return step;
}

static void
write_step(int step)
{
	const int pair = number("pair", 0) != 0;
	char name[64];
	int rc = 0;

	snprintf(name, sizeof(name), "ckpt.%d", step);
	need(pair ? SCR_Start_checkpoint()
		  : SCR_Start_output(name, SCR_FLAG_CHECKPOINT),
	     "SCR_Start_output");
	rc = each_file(step, NULL);
	rc = pair ? SCR_Complete_checkpoint(rc) : SCR_Complete_output(rc);
	if (rank == 0)
		printf("complete %d %d\n", step, rc);
}

static void
run(int more)
{
	int step = 0;

	need(SCR_Init(), "SCR_Init");
	if (!number("skip", 0))
		step = restart();
	if (step == 0 && rank == 0)
		puts("none");
	for (; more > 0; more--)
		write_step(++step);
	need(SCR_Finalize(), "SCR_Finalize");
}

int
main(int argc, char **argv)
{
	start(argc, argv);
	for (long i = number("again", 1); i > 0; i--)
		run(atoi(argv[1]));
	MPI_Finalize();
	if (rank == 0)
		puts("end");
	return 0;
}
