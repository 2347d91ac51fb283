/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * where [forever | late] - each rank writes a line into the storage of its
 * node, for the tests of the test bed itself.  "late": rank 0 comes a second
 * late to a barrier; then rank 1 prints how many milliseconds of processor time
 * it has used.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void
wait_for_rank_0(int rank)
{
	if (rank == 0)
		sleep(1);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		printf("%ld\n", (long)(clock() / (CLOCKS_PER_SEC / 1000)));
}

int
main(int argc, char **argv)
{
	char host[256] = "", path[PATH_MAX];
	int rank = 0, size = 0;
	FILE *f = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	while (argc > 1 && strcmp(argv[1], "forever") == 0)
		pause();
	if (argc > 1)
		wait_for_rank_0(rank);
	gethostname(host, sizeof(host) - 1);
	snprintf(path, sizeof(path), "%s/rank_%d", getenv("SSD"), rank);
	f = fopen(path, "w");
	if (f == NULL || fprintf(f, "%s %d\n", host, size) < 0 ||
	    fclose(f) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Finalize();
	return 0;
}
