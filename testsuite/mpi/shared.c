/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scr/scr.h"

int rank;

static int nargs;
static char **args;

void
start(int argc, char **argv)
{
	nargs = argc;
	args = argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

void
need(int rc, const char *call)
{
	if (rc == SCR_SUCCESS)
		return;
	fprintf(stderr, "rank %d: %s failed\n", rank, call);
	MPI_Abort(MPI_COMM_WORLD, 99);
}

const char *
text(const char *option, const char *otherwise)
{
	const size_t len = strlen(option);

	for (int i = 1; i < nargs; i++)
		if (strncmp(args[i], option, len) == 0 && args[i][len] == '=')
			return args[i] + len + 1;
	return otherwise;
}

long
number(const char *option, long otherwise)
{
	const char *value = text(option, NULL);

	return value == NULL ? otherwise : atol(value);
}

static int
next_byte(unsigned *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return (int)(*seed >> 24);
}

int
write_bytes(const char *path, unsigned seed, long size)
{
	FILE *f = fopen(path, "w");
	int good = f != NULL;

	for (long i = 0; good && i < size; i++)
		good = fputc(next_byte(&seed), f) != EOF;
	good = f != NULL && fclose(f) == 0 && good;
	if (!good)
		perror(path);
	return good;
}

int
verify_bytes(const char *path, unsigned seed, long size)
{
	FILE *f = fopen(path, "r");
	int right = f != NULL;

	for (long i = 0; right && i < size; i++)
		right = fgetc(f) == next_byte(&seed);
	right = right && fgetc(f) == EOF;
	if (f != NULL)
		fclose(f);
	if (!right)
		fprintf(stderr, "%s: missing, or not the bytes written\n",
			path);
	return right;
}
