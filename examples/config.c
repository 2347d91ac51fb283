/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.c - an application that sets its own configuration:
 *
 *   cc config.c -o config $(pkg-config --cflags --libs scr)
 *   mpiexec -n 4 ./config
 *
 * What an application sets are its defaults.  A user who knows better says so
 * in the environment, or in PREFIX/.scrconf: these count more.
 */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>

/* Print the value of a parameter, if anybody has set it.  Any rank may query
 * any time after SCR_Init(); before it, all ranks query together. */
static void
show(const char *parameter)
{
	const char *value = SCR_Config(parameter);

	printf("%s is %s\n", parameter, value != NULL ? value : "not set");
	free((void *)value); /* the answer belongs to the caller */
}

int
main(int argc, char **argv)
{
	const int sets = 4; /* ranks that protect one another */
	int rank = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);

	/* Parameters are set before SCR_Init(), by all ranks alike. */
	SCR_Config("SCR_CACHE_SIZE=2");	  /* checkpoints kept in the cache */
	SCR_Config("SCR_CACHE_BYPASS=0"); /* files go to the cache first */
	SCR_Config("SCR_FLUSH=5"); /* each fifth is copied to the prefix */

	/*
	 * Two levels of protection.  Each checkpoint gets XOR parity, which
	 * restores one lost node in a set.  Each fifth gets Reed-Solomon
	 * redundancy, which costs more and restores two.  FILE says that CKPT
	 * lines follow; the properties of a line follow its number.
	 */
	SCR_Config("SCR_COPY_TYPE=FILE");
	SCR_Configf("CKPT=0 INTERVAL=1 TYPE=XOR SET_SIZE=%d", sets);
	SCR_Configf("CKPT=1 INTERVAL=5 TYPE=RS SET_SIZE=%d SET_FAILURES=2",
		    sets);

	SCR_Config("SCR_DEBUG=1"); /* set, ... */
	SCR_Config("SCR_DEBUG=");  /* ... and taken back */

	if (SCR_Init() != SCR_SUCCESS) { /* or it would start over */
		MPI_Abort(MPI_COMM_WORLD, 1);
		exit(1); /* MPI_Abort() may return */
	}
	if (rank == 0) {
		show("SCR_CACHE_SIZE");
		show("SCR_FLUSH");
		show("SCR_DEBUG");
		show("CKPT=1 TYPE");
	}
	SCR_Finalize(); /* forgets what was set */
	MPI_Finalize();
	return 0;
}
