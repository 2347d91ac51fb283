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
 *   collectives  reductions, broadcasts, barriers, gathers, splits,
 *                communicators of teams
 *   members      ranks in the communicators of this rank's teams
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "scr.h"

#include "shared.h"

#include "shim/calls.h"
#include "shim/openat2.h"

/* --- Counters --- */

enum counter {
	COLLECTIVES,
	MEMBERS,
	BYTES,
	GATHERS,
	MESSAGES,
	MSGBYTES,
	FILEOPS,
	N
};

static const char *const counter_names[N] = {
	"collectives", "members",  "bytes",   "gathers",
	"messages",    "msgbytes", "fileops",
};

#define CALLS_MAX 32

static int size, nfiles = 2;
static uint64_t now[N];
static struct {
	const char *name;
	uint64_t count[N];
} calls[CALLS_MAX];
static int ncalls;

static void
add(enum counter c, int count, MPI_Datatype type)
{
	int bytes = 0;

	PMPI_Type_size(type, &bytes);
	now[c] += (uint64_t)count * (uint64_t)bytes;
}

static void
begin(void)
{
	memset(now, 0, sizeof(now));
}

static void
end(const char *name)
{
	if (name == NULL)
		return;
	calls[ncalls].name = name;
	memcpy(calls[ncalls++].count, now, sizeof(now));
}

/* Make a call of SCR, and report what it costs under this name. */
#define MEASURE(name, call) (begin(), need(SCR_##call, name), end(name))

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
MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out)
{
	int members = 0;

	PMPI_Group_size(group, &members);
	now[COLLECTIVES]++;
	now[MEMBERS] += (uint64_t)members;
	return PMPI_Comm_create_group(comm, group, tag, out);
}

#define COLLECTIVE(name, params, args) \
	int name params \
	{ \
		now[COLLECTIVES]++; \
		return P##name args; \
	}

COLLECTIVE(MPI_Barrier, (MPI_Comm comm), (comm))
COLLECTIVE(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
COLLECTIVE(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *out),
	   (comm, color, key, out))
COLLECTIVE(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *out), (comm, out))

#define MESSAGE(name, params, args) \
	int name params \
	{ \
		now[MESSAGES]++; \
		add(MSGBYTES, count, type); \
		return P##name args; \
	}

MESSAGE(MPI_Send,
	(const void *data, int count, MPI_Datatype type, int to, int tag,
	 MPI_Comm comm),
	(data, count, type, to, tag, comm))
MESSAGE(MPI_Isend,
	(const void *data, int count, MPI_Datatype type, int to, int tag,
	 MPI_Comm comm, MPI_Request *request),
	(data, count, type, to, tag, comm, request))
MESSAGE(MPI_Issend,
	(const void *data, int count, MPI_Datatype type, int to, int tag,
	 MPI_Comm comm, MPI_Request *request),
	(data, count, type, to, tag, comm, request))
MESSAGE(MPI_Mrecv,
	(void *data, int count, MPI_Datatype type, MPI_Message *m,
	 MPI_Status *status),
	(data, count, type, m, status))

/* The size of a receive is that of its buffer: the sender counts the bytes. */
int
MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag,
	  MPI_Comm comm, MPI_Request *request)
{
	now[MESSAGES]++;
	return PMPI_Irecv(data, count, type, from, tag, comm, request);
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

static void
report(void)
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
	end(start);
	for (int i = 0; i < nfiles; i++) {
		FILE *f = NULL;

		file_name(name, sizeof(name), dataset, i);
		begin();
		need(SCR_Route_file(name, path), "Route_file");
		end(i == nfiles - 1 ? route : NULL);
		f = fopen(path, "w");
		if (f == NULL || fprintf(f, "%s\n", name) < 0 || fclose(f) != 0)
			need(1, path);
	}
	begin();
	need(SCR_Complete_output(1), "Complete_output");
	end(complete);
}

static void
write_all(void)
{
	int flag = 0;

	MEASURE("Init_fresh", Init());
	write_dataset(1, NULL, NULL, NULL);
	write_dataset(2, NULL, NULL, NULL);
	MEASURE("Need_checkpoint", Need_checkpoint(&flag));
	write_dataset(3, "Start_output", "Route_file", "Complete_output");
	MEASURE("Should_exit", Should_exit(&flag));
	write_dataset(4, NULL, NULL, "with_flush");
	MEASURE("Finalize", Finalize());
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

	MEASURE("Init", Init());
	MEASURE("Have_restart", Have_restart(&flag, dataset));
	if (!flag)
		need(1, "no restart");
	MEASURE("Start_restart", Start_restart(dataset));
	read_files(dataset);
	MEASURE("Complete_restart", Complete_restart(1));
	need(SCR_Finalize(), "Finalize");
}

int
main(int argc, char **argv)
{
	start(argc, argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 2)
		nfiles = atoi(argv[2]);
	if (argc > 1 && strcmp(argv[1], "restart") == 0)
		restart();
	else
		write_all();
	report();
	MPI_Finalize();
	return 0;
}
