/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * others SIZE ROUNDS STUB - for `make bench`: an MPI program that opens, writes
 * and closes a file of SIZE bytes that belongs to no checkpoint, again and
 * again: by the functions it is linked with, which may be preloaded; by those
 * of libc itself; and by those of the library STUB (shim/stub.c), which only
 * call these, as any preload; in turn.  Prints a line for each round: the
 * nanoseconds of one file by each of the three, of the fastest of 40 times 100.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 40, FILES = 100 };

struct calls {
	int (*open)(const char *, int, ...);
	ssize_t (*write)(int, const void *, size_t);
	int (*close)(int);
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The functions of a library, whatever is preloaded. */
static void
find(const char *path, const char *const names[static 3], struct calls *to)
{
	void *library = dlopen(path, RTLD_NOW);
	void *f[3] = { NULL };

	for (int i = 0; library != NULL && i < 3; i++)
		f[i] = dlsym(library, names[i]);
	if (f[0] == NULL || f[1] == NULL || f[2] == NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memcpy(&to->open, &f[0], sizeof(f[0]));
	memcpy(&to->write, &f[1], sizeof(f[1]));
	memcpy(&to->close, &f[2], sizeof(f[2]));
}

static void
files(const struct calls *by, const void *data, size_t n, double *best)
{
	const double since = now();
	double took = 0;

	for (int k = 0; k < FILES; k++) {
		int fd = by->open("results/output.0", O_WRONLY | O_CREAT, 0600);

		if (fd < 0 || by->write(fd, data, n) != (ssize_t)n ||
		    by->close(fd) < 0)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	took = now() - since;
	if (*best == 0 || took < *best)
		*best = took;
}

int
main(int argc, char **argv)
{
	const size_t n = argc > 1 ? (size_t)atol(argv[1]) : 1024;
	const int rounds = argc > 2 ? atoi(argv[2]) : 1;
	static const char *const plain[] = { "open", "write", "close" };
	static const char *const stubs[] = { "stub_open", "stub_write",
					     "stub_close" };
	const struct calls linked = { open, write, close };
	struct calls libc, stub;
	char *data = malloc(n);

	MPI_Init(&argc, &argv);
	find("libc.so.6", plain, &libc);
	find(argc > 3 ? argv[3] : "stub.so", stubs, &stub);
	memset(data, 1, n);
	for (int r = 0; r < rounds; r++) {
		double took[3] = { 0 };

		for (int i = 0; i < TIMES; i++) {
			files(&linked, data, n, &took[0]);
			files(&libc, data, n, &took[1]);
			files(&stub, data, n, &took[2]);
		}
		printf("%.1f %.1f %.1f\n", took[0] / FILES, took[1] / FILES,
		       took[2] / FILES);
	}
	MPI_Finalize();
	free(data);
	return 0;
}
