/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpiio FILE - a program that writes one file by MPI-IO (ROMIO), in its ways:
 * collectively through a view, each rank a large piece of its own, by a shared
 * pointer, at the end.  All ranks read it, and the first prints what was found.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20, STRIDES = 64 };

static int failed;

static void
must(int rc, const char *what)
{
	if (rc != MPI_SUCCESS) {
		fprintf(stderr, "mpiio: %s failed\n", what);
		failed = 1;
	}
}

int
main(int argc, char **argv)
{
	static char piece[PIECE], is[PIECE];
	int rank = 0, ranks = 0, wrong = 0, all = 0;
	MPI_Datatype stride;
	MPI_Offset size = 0;
	MPI_File f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	memset(piece, 'a' + rank, sizeof(piece));
	must(MPI_File_open(MPI_COMM_WORLD, argv[argc - 1],
			   MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
	     "open");
	must(MPI_File_preallocate(f, PIECE), "preallocate");
	/* The first ranks * PIECE bytes, in turn. */
	MPI_Type_vector(STRIDES, PIECE / STRIDES, ranks * (PIECE / STRIDES),
			MPI_CHAR, &stride);
	MPI_Type_commit(&stride);
	must(MPI_File_set_view(f, (MPI_Offset)rank * (PIECE / STRIDES),
			       MPI_CHAR, stride, "native", MPI_INFO_NULL),
	     "set_view");
	must(MPI_File_write_all(f, piece, PIECE, MPI_CHAR, MPI_STATUS_IGNORE),
	     "write_all");
	must(MPI_File_set_view(f, 0, MPI_CHAR, MPI_CHAR, "native",
			       MPI_INFO_NULL),
	     "set_view");
	/* The next ones, one behind the other. */
	must(MPI_File_write_at(f, (MPI_Offset)(ranks + rank) * PIECE, piece,
			       PIECE, MPI_CHAR, MPI_STATUS_IGNORE),
	     "write_at");
	must(MPI_File_sync(f), "sync");
	MPI_Barrier(MPI_COMM_WORLD);
	must(MPI_File_seek_shared(f, 0, MPI_SEEK_END), "seek_shared");
	must(MPI_File_write_ordered(f, piece, PIECE / 2, MPI_CHAR,
				    MPI_STATUS_IGNORE),
	     "write_ordered");
	must(MPI_File_sync(f), "sync");
	MPI_Barrier(MPI_COMM_WORLD);
	must(MPI_File_get_size(f, &size), "get_size");
	for (int r = 0; r < ranks; r++) {
		must(MPI_File_read_at(f, (MPI_Offset)(ranks + r) * PIECE, is,
				      PIECE, MPI_CHAR, MPI_STATUS_IGNORE),
		     "read_at");
		for (int i = 0; i < PIECE; i++)
			wrong += is[i] != 'a' + r;
	}
	must(MPI_File_set_size(f, size + 100), "set_size");
	must(MPI_File_close(&f), "close");
	MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%lld bytes, %d wrong\n", (long long)size, all);
	MPI_Type_free(&stride);
	MPI_Finalize();
	return failed;
}
