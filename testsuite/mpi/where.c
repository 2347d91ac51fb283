/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * where - each rank writes a line into the storage of its node: the test bed
 * tests itself.  With an argument, it never ends.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	char host[256] = "", path[PATH_MAX];
	int rank = 0, size = 0;
	FILE *f = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	while (argc > 1)
		pause();
	gethostname(host, sizeof(host) - 1);
	snprintf(path, sizeof(path), "%s/rank_%d", getenv("SSD"), rank);
	f = fopen(path, "w");
	if (f == NULL || fprintf(f, "%s %d\n", host, size) < 0 ||
	    fclose(f) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Finalize();
	return 0;
}
