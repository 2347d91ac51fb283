/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * where forever|late - a program for the tests of the test bed itself.  "late":
 * rank 0 comes a second late to a barrier; then rank 1 prints how many
 * milliseconds of processor time it has used.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	int rank = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	while (argc > 1 && strcmp(argv[1], "forever") == 0)
		pause();
	if (rank == 0)
		sleep(1);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		printf("%ld\n", (long)(clock() / (CLOCKS_PER_SEC / 1000)));
	MPI_Finalize();
	return 0;
}
