/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heat.c [STEPS [MILLISECONDS]] - an MPI application that uses libscr for all
 * that it writes.  It computes how heat spreads in a rod.  Each rank has a
 * piece of the rod.
 *
 *   cc heat.c -o heat $(pkg-config --cflags --libs scr)
 *   mpiexec -n 4 ./heat
 *
 * Kill it and start it again: it restarts from its newest checkpoint, and its
 * result is the same, bit by bit.  The rod is short, so a step takes almost no
 * time; it takes MILLISECONDS longer on request.
 *
 * What libscr asks of an application:
 *   1. Each rank writes files of its own, under names of its choice.
 *   2. It opens each file where SCR_Route_file() says.
 *   3. It says whether its files are good.
 * In return the application does not care where its files are, which of them
 * died with a node, or when they are copied to the parallel file system.
 */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CELLS 10000 /* of a rank */

struct rod {
	int rank, ranks;
	int step;		/* steps that are computed */
	double now[CELLS + 2];	/* temperatures; the first and the last cell */
	double next[CELLS + 2]; /* belong to the neighbours */
};

/* --- The computation, which knows nothing of SCR --- */

static void
start(struct rod *r)
{
	memset(r, 0, sizeof(*r));
	MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r->ranks);
	for (int i = 1; i <= CELLS; i++) {
		const long cell = (long)r->rank * CELLS + i;

		r->now[i] = (double)(cell * cell % 1013 % 100);
	}
}

/* Get the neighbours' cells beside ours.  The left end of the rod stays hot,
 * the right end cold. */
static void
exchange(struct rod *r)
{
	const int left = r->rank > 0 ? r->rank - 1 : MPI_PROC_NULL;
	const int right = r->rank < r->ranks - 1 ? r->rank + 1 : MPI_PROC_NULL;

	r->now[0] = 100;
	r->now[CELLS + 1] = 0;
	MPI_Sendrecv(&r->now[CELLS], 1, MPI_DOUBLE, right, 0, &r->now[0], 1,
		     MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(&r->now[1], 1, MPI_DOUBLE, left, 0, &r->now[CELLS + 1], 1,
		     MPI_DOUBLE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void
compute(struct rod *r, long milliseconds)
{
	const struct timespec longer = { milliseconds / 1000,
					 milliseconds % 1000 * 1000000 };

	exchange(r);
	for (int i = 1; i <= CELLS; i++)
		r->next[i] = r->now[i] + 0.25 * (r->now[i - 1] - 2 * r->now[i] +
						 r->now[i + 1]);
	memcpy(r->now + 1, r->next + 1, CELLS * sizeof(double));
	nanosleep(&longer, NULL);
	r->step++;
}

/* --- Files --- */

/* The file of this rank in dataset `name`, and where libscr has it.  Returns 1,
 * or 0: it has not. */
static int
route(const struct rod *r, const char *name, char *path)
{
	char file[SCR_MAX_FILENAME + 32];

	/* Relative to the prefix, which is the working directory unless
	 * SCR_PREFIX is set.  This is where the file goes if it is flushed. */
	snprintf(file, sizeof(file), "%s/rod.%d", name, r->rank);
	return SCR_Route_file(file, path) == SCR_SUCCESS;
}

/* A checkpoint: the step, and the temperatures as they are in memory.  Returns
 * 1 if the file is good. */
static int
save(const struct rod *r, const char *path)
{
	FILE *f = fopen(path, "wb");
	int good = f != NULL && fwrite(&r->step, sizeof(int), 1, f) == 1 &&
		   fwrite(r->now + 1, sizeof(double), CELLS, f) == CELLS;

	/* A full disk may be reported by fclose() only. */
	return f != NULL && fclose(f) == 0 && good;
}

/* The opposite of save(). */
static int
load(struct rod *r, const char *path)
{
	FILE *f = fopen(path, "rb");
	int good = f != NULL && fread(&r->step, sizeof(int), 1, f) == 1 &&
		   fread(r->now + 1, sizeof(double), CELLS, f) == CELLS;

	return f != NULL && fclose(f) == 0 && good;
}

/* The result, as text. */
static int
print(const struct rod *r, const char *path)
{
	FILE *f = fopen(path, "w");
	int good = f != NULL;

	for (int i = 1; good && i <= CELLS; i++)
		good = fprintf(f, "%.6f\n", r->now[i]) > 0;
	return f != NULL && fclose(f) == 0 && good;
}

/* --- SCR --- */

/*
 * Read the newest checkpoint that is whole.  libscr has rebuilt in the caches
 * what died with a node, or else fetched the checkpoint from the prefix.
 */
static void
restart(struct rod *r)
{
	char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
	int have = 0, good = 0;

	for (;;) {
		/* A checkpoint may exist, but nobody can read it now.  A job
		 * that starts from the beginning would in time replace it. */
		if (SCR_Have_restart(&have, name) != SCR_SUCCESS) {
			MPI_Abort(MPI_COMM_WORLD, 1);
			exit(1); /* MPI_Abort() may return */
		}
		if (!have)
			break;
		SCR_Start_restart(name);
		good = route(r, name, path) && load(r, path);
		/* If any rank says 0, no rank gets SCR_SUCCESS, and libscr
		 * offers the checkpoint before this one. */
		if (SCR_Complete_restart(good) == SCR_SUCCESS)
			break;
		start(r);
	}
	if (r->rank == 0 && r->step > 0)
		printf("heat: restarts from %s\n", name);
	else if (r->rank == 0)
		printf("heat: starts\n");
}

/*
 * Write a dataset.  A checkpoint is written to storage of the node, protected
 * by redundancy on other nodes, and copied to the prefix now and then.  Output
 * is always copied.
 */
static void
dataset(const struct rod *r, const char *name, int flags,
	int (*write)(const struct rod *, const char *))
{
	char path[SCR_MAX_FILENAME];
	int good = 0, rc = SCR_Start_output(name, flags);

	if (rc == SCR_SUCCESS) {
		good = route(r, name, path) && write(r, path);
		rc = SCR_Complete_output(good);
	}
	/* A failed checkpoint is no reason to stop: a later one may succeed.
	 * Until then the job can restart from an older one only if that was
	 * flushed, or if the caches keep two: SCR_CACHE_SIZE=2. */
	if (r->rank == 0)
		printf("heat: %s %s\n", name, rc ? "failed" : "is complete");
}

int
main(int argc, char **argv)
{
	const int steps = argc > 1 ? atoi(argv[1]) : 50;
	const long milliseconds = argc > 2 ? atol(argv[2]) : 0;
	static struct rod rod;
	char name[64];
	int flag = 0, stop = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	MPI_Init(&argc, &argv);
	/* Files go to the cache of the node first, and each tenth step is a
	 * checkpoint.  The environment can change both: config.c. */
	SCR_Config("SCR_CACHE_BYPASS=0");
	SCR_Config("SCR_CACHE_SIZE=2"); /* the output must not replace it */
	SCR_Config("SCR_CHECKPOINT_INTERVAL=10");
	if (SCR_Init() != SCR_SUCCESS) { /* or it would start over */
		MPI_Abort(MPI_COMM_WORLD, 1);
		exit(1); /* MPI_Abort() may return */
	}
	start(&rod);
	restart(&rod);
	while (rod.step < steps && !stop) {
		compute(&rod, milliseconds);
		/* libscr knows how often checkpoints are worth their cost. */
		SCR_Need_checkpoint(&flag);
		if (!flag)
			continue;
		snprintf(name, sizeof(name), "ckpt.%d", rod.step);
		dataset(&rod, name, SCR_FLAG_CHECKPOINT, save);
		/* After a checkpoint is the time to stop: when scr_halt asks
		 * for it, or the time of the job runs out. */
		SCR_Should_exit(&stop);
	}
	if (rod.step >= steps)
		dataset(&rod, "result", SCR_FLAG_OUTPUT, print);
	else if (rod.rank == 0)
		printf("heat: stops after step %d\n", rod.step);
	/* Copies the last checkpoint to the prefix. */
	SCR_Finalize();
	MPI_Finalize();
	return 0;
}
