/* SPDX-License-Identifier: BSD-3-Clause */
/* minimal.c - the least that an application does with libscr.  It counts, and
 * a crash does not make it start over.  heat.c explains each call. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>

/* A checkpoint may exist: end the job, and do not start over. */
static void
must(int result)
{
	if (result == SCR_SUCCESS)
		return;
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1); /* MPI_Abort() may return */
}

int
main(int argc, char **argv)
{
	char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME], file[2048];
	int rank = 0, have = 0, valid = 0, count = 0;
	FILE *f = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	must(SCR_Init());
	for (;;) {
		must(SCR_Have_restart(&have, name));
		if (!have)
			break;
		SCR_Start_restart(name);
		snprintf(file, sizeof(file), "%s/rank_%d", name, rank);
		f = SCR_Route_file(file, path) ? NULL : fopen(path, "r");
		valid = f != NULL && fscanf(f, "%d", &count) == 1;
		if (f != NULL)
			fclose(f);
		if (SCR_Complete_restart(valid) == SCR_SUCCESS)
			break;
		count = 0;
	}
	if (rank == 0)
		printf("counting from %d\n", count);
	for (int end = count + 3; count++ < end;) {
		snprintf(name, sizeof(name), "count.%d", count);
		SCR_Start_output(name, SCR_FLAG_CHECKPOINT);
		snprintf(file, sizeof(file), "%s/rank_%d", name, rank);
		f = SCR_Route_file(file, path) ? NULL : fopen(path, "w");
		valid = f != NULL && fprintf(f, "%d\n", count) > 0;
		valid = f != NULL && fclose(f) == 0 && valid;
		SCR_Complete_output(valid);
	}
	SCR_Finalize();
	MPI_Finalize();
	return 0;
}
