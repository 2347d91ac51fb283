/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app_growth MODE [FILES]: an application that counts what each of its calls of
 * SCR costs, linked with libscr.so alone.
 *
 *   write     four datasets; of the last two, one that is evicted for and not
 *             flushed (SCR_CACHE_SIZE=2), and one that is flushed (SCR_FLUSH=4)
 *   restart   from what is in the caches or on the prefix
 *
 * FILES is the number of files of a rank (2).  At the end, rank 0 prints for
 * each call and counter
 *
 *   CALL COUNTER RANK0 OTHERS
 *
 * what rank 0 counted, and the most that any other rank did.  Counters:
 *
 *   collectives  reductions, broadcasts, barriers, gathers, splits
 *   bytes        that this rank gives to or gets from reductions and
 *                broadcasts
 *   gathers      numbers that this rank gives to MPI_Iallgather(), which is
 *                the one collective whose result grows with the job
 *   messages     from and to other ranks, one by one
 *   msgbytes     in them
 *   fileops      calls on files: CALLS_OPEN and CALLS_PLAIN of shim/calls.h,
 *                which are all but reading, writing, closing
 *
 * The functions that are counted are defined here: libscr.so finds these before
 * the real ones.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scr.h"

#include "shim/calls.h"
#include "shim/openat2.h"

/* --- Counters --- */

enum counter { COLLECTIVES, BYTES, GATHERS, MESSAGES, MSGBYTES, FILEOPS, N };

static const char *const counter_names[N] = {
	"collectives", "bytes", "gathers", "messages", "msgbytes", "fileops",
};

#define CALLS_MAX 32

static uint64_t now[N];
static struct {
	const char *name;
	uint64_t count[N];
} calls[CALLS_MAX];
static int ncalls;

static void
add(enum counter c, int count, MPI_Datatype type)
{
	int size = 0;

	PMPI_Type_size(type, &size);
	now[c] += (uint64_t)count * (uint64_t)size;
}

static void
begin(void)
{
	memset(now, 0, sizeof(now));
}

static void
end(const char *name)
{
	calls[ncalls].name = name;
	memcpy(calls[ncalls++].count, now, sizeof(now));
}

/* --- What is counted: MPI --- */

#pragma GCC visibility push(default)

int
MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type,
	       MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	now[COLLECTIVES]++;
	add(BYTES, count, type);
	return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

int
MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
	   MPI_Request *request)
{
	now[COLLECTIVES]++;
	add(BYTES, count, type);
	return PMPI_Ibcast(data, count, type, root, comm, request);
}

int
MPI_Iallgather(const void *from, int nfrom, MPI_Datatype tfrom, void *to,
	       int nto, MPI_Datatype tto, MPI_Comm comm, MPI_Request *request)
{
	now[COLLECTIVES]++;
	now[GATHERS]++;
	return PMPI_Iallgather(from, nfrom, tfrom, to, nto, tto, comm, request);
}

int
MPI_Barrier(MPI_Comm comm)
{
	now[COLLECTIVES]++;
	return PMPI_Barrier(comm);
}

int
MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	now[COLLECTIVES]++;
	return PMPI_Ibarrier(comm, request);
}

int
MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out)
{
	now[COLLECTIVES]++;
	return PMPI_Comm_split(comm, color, key, out);
}

int
MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
	now[COLLECTIVES]++;
	return PMPI_Comm_dup(comm, out);
}

static void
message(int count, MPI_Datatype type)
{
	now[MESSAGES]++;
	add(MSGBYTES, count, type);
}

int
MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag,
	 MPI_Comm comm)
{
	message(count, type);
	return PMPI_Send(data, count, type, to, tag, comm);
}

int
MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
	  MPI_Comm comm, MPI_Request *request)
{
	message(count, type);
	return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int
MPI_Issend(const void *data, int count, MPI_Datatype type, int to, int tag,
	   MPI_Comm comm, MPI_Request *request)
{
	message(count, type);
	return PMPI_Issend(data, count, type, to, tag, comm, request);
}

/* The size of a receive is that of its buffer: the sender counts the bytes. */
int
MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag,
	  MPI_Comm comm, MPI_Request *request)
{
	now[MESSAGES]++;
	return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

int
MPI_Mrecv(void *data, int count, MPI_Datatype type, MPI_Message *m,
	  MPI_Status *status)
{
	message(count, type);
	return PMPI_Mrecv(data, count, type, m, status);
}

/* --- What is counted: files --- */

#define COUNTED(type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		now[FILEOPS]++; \
		return REAL(name) args; \
	}

#define OPENS(name, params, args, fd) \
	int name params \
	{ \
		const mode_t mode = MODE_AFTER(flags); \
\
		now[FILEOPS]++; \
		return REAL(name) args; \
	}

CALLS_OPEN(OPENS)
CALLS_PLAIN(COUNTED)

/* The C library has no function for openat2(). */
long
syscall(long number, ...)
{
	long a[6];

	SYSCALL_ARGUMENTS(number, a);
	now[FILEOPS] += number == SYS_openat2;
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#pragma GCC visibility pop

/* --- The table --- */

static void
report(int rank, int size)
{
	uint64_t mine[N], *all = calloc((size_t)size, sizeof(mine));

	for (int i = 0; i < ncalls; i++) {
		PMPI_Gather(calls[i].count, N, MPI_UINT64_T, all, N,
			    MPI_UINT64_T, 0, MPI_COMM_WORLD);
		for (int c = 0; rank == 0 && c < N; c++) {
			uint64_t most = 0;

			for (int r = 1; r < size; r++)
				if (all[r * N + c] > most)
					most = all[r * N + c];
			printf("%s %s %llu %llu\n", calls[i].name,
			       counter_names[c], (unsigned long long)all[c],
			       (unsigned long long)most);
		}
	}
	free(all);
}

/* --- The application --- */

static int rank, size, nfiles = 2;

static void
need(int rc, const char *call)
{
	if (rc == SCR_SUCCESS)
		return;
	fprintf(stderr, "rank %d: %s failed\n", rank, call);
	MPI_Abort(MPI_COMM_WORLD, 99);
}

static void
file_name(char *to, size_t room, const char *dataset, int file)
{
	snprintf(to, room, "%s/%d/rank_%d", dataset, file, rank);
}

/* `start`, `route`, `complete`: names under which the calls are reported; NULL:
 * they are not. */
static void
write_dataset(int step, const char *start, const char *route,
	      const char *complete)
{
	char dataset[64], path[SCR_MAX_FILENAME];
	char name[SCR_MAX_FILENAME + 64];

	snprintf(dataset, sizeof(dataset), "ckpt.%d", step);
	begin();
	need(SCR_Start_output(dataset, SCR_FLAG_CHECKPOINT), "Start_output");
	if (start != NULL)
		end(start);
	for (int i = 0; i < nfiles; i++) {
		FILE *f = NULL;

		file_name(name, sizeof(name), dataset, i);
		begin();
		need(SCR_Route_file(name, path), "Route_file");
		if (route != NULL && i == nfiles - 1)
			end(route);
		f = fopen(path, "w");
		if (f == NULL || fprintf(f, "%s\n", name) < 0 || fclose(f) != 0)
			need(1, path);
	}
	begin();
	need(SCR_Complete_output(1), "Complete_output");
	if (complete != NULL)
		end(complete);
}

static void
write_all(void)
{
	int flag = 0;

	begin();
	need(SCR_Init(), "Init");
	end("Init_fresh");
	write_dataset(1, NULL, NULL, NULL);
	write_dataset(2, NULL, NULL, NULL);
	begin();
	need(SCR_Need_checkpoint(&flag), "Need_checkpoint");
	end("Need_checkpoint");
	write_dataset(3, "Start_output", "Route_file", "Complete_output");
	begin();
	need(SCR_Should_exit(&flag), "Should_exit");
	end("Should_exit");
	write_dataset(4, NULL, NULL, "with_flush");
	begin();
	need(SCR_Finalize(), "Finalize");
	end("Finalize");
}

static void
read_files(const char *dataset)
{
	char name[SCR_MAX_FILENAME + 64], path[SCR_MAX_FILENAME];
	char line[sizeof(name)];

	for (int i = 0; i < nfiles; i++) {
		FILE *f = NULL;

		file_name(name, sizeof(name), dataset, i);
		need(SCR_Route_file(name, path), "Route_file");
		f = fopen(path, "r");
		if (f == NULL || fgets(line, sizeof(line), f) == NULL ||
		    strncmp(line, name, strlen(name)) != 0)
			need(1, path);
		fclose(f);
	}
}

static void
restart(void)
{
	char dataset[SCR_MAX_FILENAME];
	int flag = 0;

	begin();
	need(SCR_Init(), "Init");
	end("Init");
	begin();
	need(SCR_Have_restart(&flag, dataset), "Have_restart");
	end("Have_restart");
	if (!flag)
		need(1, "no restart");
	begin();
	need(SCR_Start_restart(dataset), "Start_restart");
	end("Start_restart");
	read_files(dataset);
	begin();
	need(SCR_Complete_restart(1), "Complete_restart");
	end("Complete_restart");
	need(SCR_Finalize(), "Finalize");
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 2)
		nfiles = atoi(argv[2]);
	if (argc > 1 && strcmp(argv[1], "restart") == 0)
		restart();
	else
		write_all();
	report(rank, size);
	MPI_Finalize();
	return 0;
}
