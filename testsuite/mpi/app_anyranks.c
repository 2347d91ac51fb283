/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app_anyranks [OPTION=VALUE]...: an application that restarts with another
 * number of ranks: every rank lists all files of the checkpoint and verifies
 * every byte of them.
 *
 *   write=N   write checkpoints "ckpt.1" to N; rank R has R % 3 files + 1
 *   then=N    after the restart, write checkpoint "ckpt.N"
 *   reject=1  rank 0 rejects the first checkpoint that is offered
 *   die=1     the job is killed while it reads
 *   alien=F   each rank asks for the file F first, which must fail
 *
 * Rank 0 prints "restart NAME RANKS FILES", "rejected NAME" or "none"; for each
 * file of rank 0 "from PATH"; and "complete STEP RESULT".
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scr.h"

#include "shared.h"

static long
size_of(int of, int step, int file)
{
	return file == 1 ? 0 : 1000 + 17 * of + step + 200000 * file;
}

static unsigned
seed_of(int of, int step, int file)
{
	return (unsigned)(step * 10007 + of * 101 + file);
}

/* Verify all files.  Returns 1, and their number in *files, or 0. */
static int
verify_all(int step, int *files)
{
	char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
	int from = -1, of = -1, file = -1, last = 0, valid = 1;

	*files = 0;
	while (SCR_Restart_files(*files, &from, name) == SCR_SUCCESS) {
		const char *base = strrchr(name, '/');

		++*files;
		if (base == NULL ||
		    sscanf(base, "/rank_%d.%d", &of, &file) != 2 ||
		    of != from || from < last ||
		    SCR_Route_file(name, path) != SCR_SUCCESS ||
		    !verify_bytes(path, seed_of(of, step, file),
				  size_of(of, step, file))) {
			fprintf(stderr, "rank %d: %s of rank %d: wrong\n", rank,
				name, from);
			valid = 0;
		}
		last = from;
		if (rank == 0 && from == 0)
			printf("from %s\n", path);
	}
	return valid;
}

static void
restart(void)
{
	char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
	long rejections = number("reject", 0);
	int flag = 0, ranks = 0, files = 0, valid = 0;

	for (;;) {
		need(SCR_Have_restart(&flag, name), "SCR_Have_restart");
		if (!flag) {
			if (rank == 0)
				printf("none\n");
			return;
		}
		need(SCR_Start_restart(name), "SCR_Start_restart");
		need(SCR_Restart_ranks(&ranks), "SCR_Restart_ranks");
		if (*text("alien", "") != '\0' &&
		    SCR_Route_file(text("alien", ""), path) == SCR_SUCCESS)
			MPI_Abort(MPI_COMM_WORLD, 97);
		valid = verify_all(atoi(strrchr(name, '.') + 1), &files);
		if (number("die", 0)) {
			MPI_Barrier(MPI_COMM_WORLD);
			kill(getpid(), SIGKILL);
		}
		if (rejections-- > 0)
			valid = rank != 0;
		if (SCR_Complete_restart(valid) == SCR_SUCCESS) {
			if (rank == 0)
				printf("restart %s %d %d\n", name, ranks,
				       files);
			return;
		}
		if (rank == 0)
			printf("rejected %s\n", name);
	}
}

static void
checkpoint(int step)
{
	char name[64], path[SCR_MAX_FILENAME];
	int valid = 1, rc = 0;

	snprintf(name, sizeof(name), "ckpt.%d", step);
	need(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), "SCR_Start_output");
	for (int i = 0; i < rank % 3 + 1; i++) {
		snprintf(name, sizeof(name), "ckpt.%d/d/rank_%d.%d", step, rank,
			 i);
		valid = SCR_Route_file(name, path) == SCR_SUCCESS &&
			write_bytes(path, seed_of(rank, step, i),
				    size_of(rank, step, i)) &&
			valid;
	}
	rc = SCR_Complete_output(valid);
	if (rank == 0)
		printf("complete %d %d\n", step, rc);
}

int
main(int argc, char **argv)
{
	start(argc, argv);
	need(SCR_Init(), "SCR_Init");
	if (number("write", 0) == 0)
		restart();
	if (number("then", 0) > 0)
		checkpoint((int)number("then", 0));
	for (int step = 1; step <= number("write", 0); step++)
		checkpoint(step);
	need(SCR_Finalize(), "SCR_Finalize");
	MPI_Finalize();
	return 0;
}
