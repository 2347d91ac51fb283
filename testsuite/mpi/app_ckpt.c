/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * app_ckpt [OPTION=VALUE]...: an application that writes datasets, linked with
 * libscr.so alone.
 *
 *   steps=N       steps of the computation (1); each writes a dataset
 *   size=N        bytes of each file (1000)
 *   files=N       files of a rank (1); "rank": rank % 4; "none3": 0 on rank 3
 *   name=TEXT     name of a dataset, with %d for the step ("ckpt.%d"); "":
 *                 the library gives it a name
 *   dir=DIR       directory of the files (default: the name of the dataset)
 *   die=N         the job is killed in step N, before the last rank writes
 *   flags=N       SCR_FLAGs (1); flags2=N: those of every second step
 *   from=DIR      the files of rank R are in the file DIR.R: of a line NAME it
 *                 copies DIR/NAME, with mode and times; of a line NAME TAB N it
 *                 writes N bytes; below=DIR/: it asks for DIR/NAME
 *   show=R        rank R prints "NAME -> PATH" for each file
 *   shared=1      all ranks route one more file, which rank 0 writes
 *   equal=1       all files of a rank have the same name, in different
 *                 directories
 *   invalid=R     rank R reports in step 1 that its files are not valid
 *   unwritten=R   rank R does not write its last file in step 1
 *   silent=N      files of step N are routed, but not written, and not valid
 *   rotate=1      in each step another rank writes the file
 *   pair=1        use SCR_Start_checkpoint() and SCR_Complete_checkpoint()
 *   need=1        a step writes only if SCR_Need_checkpoint() asks for it
 *   exit=1        end after a step if SCR_Should_exit() asks for it
 *   pause=MS      sleep for MS milliseconds in each step
 *   finalize=0    end without SCR_Finalize()
 *   usage=N       every N steps, print "usage STEP" and the largest value of
 *                 all ranks: resident KiB, bytes allocated, open descriptors
 *   sparse=1      files have their size, but consist of a hole
 *   peak=1        at the end print "peak KIB", the largest resident memory that
 *                 any rank had
 *
 * Rank 0 prints a line for each call: "CALL STEP RESULT [FLAG]", and "end".
 */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libc.h"
#include "scr.h"

#include "shared.h"
#include "uppers.h"

/* Rank 0 reports; all ranks must have the same result. */
static int
report(const char *call, int step, int rc, const int *flag)
{
	int mine[2] = { rc, flag == NULL ? 0 : *flag }, first[2];

	if (uppers_used()) {
		fprintf(stderr, "%s %d: vector registers are left in use\n",
			call, step);
		MPI_Abort(MPI_COMM_WORLD, 98);
	}
	memcpy(first, mine, sizeof(first));
	MPI_Bcast(first, 2, MPI_INT, 0, MPI_COMM_WORLD);
	if (memcmp(mine, first, sizeof(mine)) != 0) {
		fprintf(stderr, "%s %d: rank %d differs\n", call, step, rank);
		MPI_Abort(MPI_COMM_WORLD, 99);
	}
	if (rank == 0 && flag != NULL)
		printf("%s %d %d %d\n", call, step, rc, *flag);
	else if (rank == 0)
		printf("%s %d %d\n", call, step, rc);
	return rc;
}

/* --- Files --- */

static int
file_count(void)
{
	const char *files = text("files", "1");

	if (strcmp(files, "rank") == 0)
		return rank % 4;
	if (strcmp(files, "none3") == 0)
		return rank != 3;
	return atoi(files);
}

/* Bytes that differ from rank to rank, from file to file, and by step. */
static int
write_file(const char *path, int step, int file)
{
	const unsigned seed = (unsigned)(step * 10007 + rank * 101 + file);

	if (number("sparse", 0)) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (fd < 0 || ftruncate(fd, number("size", 1000)) < 0) {
			perror(path);
			return -1;
		}
		return close(fd);
	}
	return write_bytes(path, seed, number("size", 1000)) ? 0 : -1;
}

static int
route(const char *name, char *path)
{
	if (SCR_Route_file(name, path) != SCR_SUCCESS) {
		fprintf(stderr, "rank %d: %s: no route\n", rank, name);
		return -1;
	}
	if (number("show", -1) == rank)
		printf("%s -> %s\n", name, path);
	return 0;
}

/* Copy a file of the option `from`. */
static int
copy_file(const char *from, const char *to)
{
	char block[65536];
	struct stat st;
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	size_t n = 0;

	if (in == NULL || out == NULL || fstat(fileno(in), &st) < 0) {
		perror(from);
		return -1;
	}
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		fwrite(block, 1, n, out);
	fclose(in);
	if (fclose(out) != 0 || chmod(to, st.st_mode & 07777) < 0)
		return -1;
	return utimensat(AT_FDCWD, to,
			 (struct timespec[]){ st.st_atim, st.st_mtim }, 0);
}

static int
listed_files(const char *dir)
{
	char line[512], from[1024], name[1024], path[SCR_MAX_FILENAME];
	FILE *list = NULL;
	unsigned seed = (unsigned)rank * 100;
	int rc = 0;

	snprintf(from, sizeof(from), "%s.%d", dir, rank);
	list = fopen(from, "r");
	while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
		const char *bytes = strchr(line, '\t');

		line[strcspn(line, "\t\n")] = '\0';
		snprintf(from, sizeof(from), "%s/%s", dir, line);
		snprintf(name, sizeof(name), "%s%s", text("below", ""), line);
		if (route(name, path) < 0)
			rc = -1;
		else if (bytes == NULL)
			rc = copy_file(from, path) < 0 ? -1 : rc;
		else if (!write_bytes(path, seed++, atol(bytes + 1)))
			rc = -1;
	}
	if (list != NULL)
		fclose(list);
	return rc;
}

/* The last rank kills the job, when all have routed a file. */
static void
die(void)
{
	int size = 0;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1)
		raise(SIGKILL);
}

/* Write the files of a step below `dir`. */
static int
write_files(const char *dir, int step)
{
	const int count = text("from", NULL) == NULL ? file_count() : 0;
	const int last = number("unwritten", -1) == rank && step == 1;
	char name[512], path[SCR_MAX_FILENAME];
	int rc = 0, size = 1, as = rank;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (number("rotate", 0))
		as = (rank + step) % size;
	if (text("from", NULL) != NULL)
		rc = listed_files(text("from", NULL));
	for (int i = 0; i < count; i++) {
		if (number("equal", 0))
			snprintf(name, sizeof(name), "%s/%d/f.%d", dir, i, as);
		else
			snprintf(name, sizeof(name), "%s/rank_%d.%d", dir, as,
				 i);
		if (route(name, path) < 0)
			rc = -1;
		if (number("die", 0) == step)
			die();
		if (rc == 0 && (i < count - 1 || !last) &&
		    number("silent", 0) != step &&
		    write_file(path, step, i) < 0)
			rc = -1;
	}
	if (number("shared", 0)) {
		snprintf(name, sizeof(name), "%s/shared", dir);
		if (route(name, path) < 0 ||
		    (rank == 0 && write_file(path, step, 77) < 0))
			rc = -1;
	}
	return rc;
}

/* --- Steps --- */

static void
write_dataset(int step)
{
	const char *pattern = text("name", "ckpt.%d");
	const long flags = number("flags", 1);
	char name[256], dir[300];
	int valid = 1, rc = 0;

	/* The pattern is from the test. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(name, sizeof(name), pattern, step);
#pragma GCC diagnostic pop
	snprintf(dir, sizeof(dir), "%s",
		 text("dir", *name != '\0' ? name : "step"));
	if (number("pair", 0))
		rc = SCR_Start_checkpoint();
	else
		rc = SCR_Start_output(
			*name != '\0' ? name : NULL,
			(int)(step % 2 ? flags : number("flags2", flags)));
	if (report("start", step, rc, NULL) != SCR_SUCCESS)
		return;
	if (write_files(dir, step) < 0 ||
	    (number("invalid", -1) == rank && step == 1) ||
	    number("silent", 0) == step)
		valid = 0;
	rc = number("pair", 0) ? SCR_Complete_checkpoint(valid)
			       : SCR_Complete_output(valid);
	report("complete", step, rc, NULL);
}

static long
resident_kib(void)
{
	long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f == NULL || fscanf(f, "%ld %ld", &size, &pages) != 2)
		pages = 0;
	if (f != NULL)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long
descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	long n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

/* Bytes in use on the heap. */
static long
heap_used(void)
{
#if LIBC_GLIBC(2, 33)
	return (long)mallinfo2().uordblks;
#else
	return mallinfo().uordblks;
#endif
}

static void
print_usage(int step)
{
	long mine[3] = { resident_kib(), heap_used(), descriptors() };
	long most[3];

	MPI_Reduce(mine, most, 3, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("usage %d %ld %ld %ld\n", step, most[0], most[1],
		       most[2]);
}

/* Returns 1 if the job must end. */
static int
run_step(int step)
{
	const long ms = number("pause", 0);
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
	int flag = 1, rc = 0;

	nanosleep(&pause, NULL);
	if (number("need", 0)) {
		rc = SCR_Need_checkpoint(&flag);
		report("need", step, rc, &flag);
	}
	if (flag)
		write_dataset(step);
	if (number("usage", 0) && step % number("usage", 0) == 0)
		print_usage(step);
	flag = 0;
	if (number("exit", 0)) {
		rc = SCR_Should_exit(&flag);
		report("exit", step, rc, &flag);
	}
	return flag;
}

static void
print_peak(void)
{
	struct rusage u;
	long most = 0;

	getrusage(RUSAGE_SELF, &u);
	MPI_Reduce(&u.ru_maxrss, &most, 1, MPI_LONG, MPI_MAX, 0,
		   MPI_COMM_WORLD);
	if (rank == 0)
		printf("peak %ld\n", most);
}

int
main(int argc, char **argv)
{
	start(argc, argv);
	report("init", 0, SCR_Init(), NULL);
	for (int step = 1; step <= number("steps", 1); step++)
		if (run_step(step))
			break;
	if (number("finalize", 1))
		report("finalize", 0, SCR_Finalize(), NULL);
	if (number("peak", 0))
		print_peak();
	MPI_Finalize();
	if (rank == 0)
		puts("end");
	return 0;
}
