/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app_config TEXT... [-- TEXT...]: call SCR_Config() with each text, before
 * SCR_Init() and, behind "--", after it.  Rank 0 prints "TEXT -> ANSWER" for
 * each, the results of SCR_Init() and SCR_Finalize() as "init N", "final N".
 * Without "--" SCR_Init() is not called.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scr.h"

static int rank;

static void
ask(const char *text)
{
	const char *answer = SCR_Configf("%s", text);

	if (rank == 0)
		printf("%s -> %s\n", text, answer != NULL ? answer : "(none)");
	free((void *)answer);
}

int
main(int argc, char **argv)
{
	int i = 1, rc = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		ask(argv[i]);
	if (i++ < argc) {
		rc = SCR_Init();
		if (rank == 0)
			printf("init %d\n", rc);
		for (; i < argc; i++)
			ask(argv[i]);
		rc = SCR_Finalize();
		if (rank == 0)
			printf("final %d\n", rc);
	}
	MPI_Finalize();
	return 0;
}
