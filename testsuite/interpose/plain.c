/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plain STEPS [OPTION=VALUE]...: an application that knows nothing of SCR: it
 * reads its checkpoint, verifies every byte, and writes STEPS more, in files
 * ckpt.RANK.FILE of the working directory.
 *
 *   way=WAY     open (the default), fopen, openat, creat, mmap, both (open with
 *               O_RDWR alone, to read and to write)
 *   look=WAY    how it looks for a checkpoint first: none, access, stat, fopen
 *   named=1     the step is part of the names, and it looks for the newest
 *   dir=NAME    the files are in this directory, which rank 0 makes
 *   files=N     files of a rank (1)
 *   tmp=SUFFIX  it writes NAME SUFFIX, and renames it
 *   old=1       it renames the file before to NAME.old first
 *   append=1    it closes the file in the middle, and goes on with O_APPEND
 *   again=1     it reads what it has written, and deletes the step before
 *   dup=1       it writes by a duplicate, which it closes last
 *   thread=1    a thread writes; 2: without MPI_THREAD_MULTIPLE
 *   child=1     a child closes all descriptors, another writes ckpt.child
 *   fail=STEP   on rank 1, writes of this step fail
 *   open=1      the last file is closed after MPI_Finalize()
 *   size=N      bytes of a file (3000)
 *
 * Rank 0 prints "none" or "restart STEP", "wrote STEP", and "end".
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, nargs, left_open = -1;
static char **args;

static const char *
text(const char *option, const char *otherwise)
{
	const size_t len = strlen(option);

	for (int i = 2; i < nargs; i++)
		if (strncmp(args[i], option, len) == 0 && args[i][len] == '=')
			return args[i] + len + 1;
	return otherwise;
}

static long
number(const char *option, long otherwise)
{
	const char *value = text(option, NULL);

	return value == NULL ? otherwise : atol(value);
}

static int
is(const char *option, const char *value)
{
	return strcmp(text(option, "open"), value) == 0;
}

static void
must(int good, const char *what, const char *name)
{
	if (good)
		return;
	fprintf(stderr, "plain: rank %d: %s: %s: %s\n", rank, name, what,
		strerror(errno));
	MPI_Abort(MPI_COMM_WORLD, 9);
}

static void
name_of(char to[static 256], int step, int file)
{
	const char *dir = text("dir", NULL);

	if (number("named", 0))
		snprintf(to, 256, "%s%sckpt.%d.%d.%d", dir != NULL ? dir : "",
			 dir != NULL ? "/" : "", step, rank, file);
	else
		snprintf(to, 256, "%s%sckpt.%d.%d", dir != NULL ? dir : "",
			 dir != NULL ? "/" : "", rank, file);
}

/* The bytes of a file: its step, and what differs with all three. */
static void
fill(char *data, long n, int step, int file)
{
	for (long i = 0; i < n; i++)
		data[i] = (char)(i * 7 + step * 31 + rank * 3 + file);
	data[0] = (char)step;
}

/* --- Read --- */

static int
looks(const char *name)
{
	struct stat st;
	FILE *f = NULL;

	if (is("look", "access"))
		return access(name, R_OK) == 0;
	if (is("look", "stat"))
		return stat(name, &st) == 0 && st.st_size > 0;
	if (!is("look", "fopen"))
		return 1;
	f = fopen(name, "r");
	if (f != NULL)
		fclose(f);
	return f != NULL;
}

/* The step of the file; 0: there is none. */
static int
read_file(const char *name, int file)
{
	const long n = number("size", 3000);
	char *data = malloc((size_t)n + 1), *right = malloc((size_t)n);
	long got = -1;
	FILE *f = NULL;
	int fd = -1, step = 0;

	if (is("way", "fopen")) {
		f = fopen(name, "r");
		got = f != NULL ? (long)fread(data, 1, (size_t)n + 1, f) : -1;
		if (f != NULL)
			fclose(f);
	} else {
		fd = open(name, is("way", "both") ? O_RDWR : O_RDONLY);
		got = fd >= 0 ? read(fd, data, (size_t)n + 1) : -1;
		if (fd >= 0)
			close(fd);
	}
	if (got >= 0) {
		step = data[0];
		fill(right, n, step, file);
		must(got == n && memcmp(data, right, (size_t)n) == 0,
		     "not the bytes written", name);
	}
	free(data);
	free(right);
	return step;
}

static int
restart(void)
{
	char name[256];
	int step = 0, least = 0, most = 0;

	for (int try = number("named", 0) ? 20 : 1; try > 0 && step == 0;
	     try--) {
		name_of(name, try, 0);
		if (looks(name))
			step = read_file(name, 0);
		for (int i = 1; step > 0 && i < number("files", 1); i++) {
			name_of(name, try, i);
			must(read_file(name, i) == step, "another step", name);
		}
	}
	MPI_Allreduce(&step, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	MPI_Allreduce(&step, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	must(least == most, "ranks have different steps", "restart");
	return step;
}

/* --- Write --- */

struct part {
	const char *name;
	const char *data;
	long n;
	int fail, last;
};

static void
by_mapping(int fd, const char *data, long n)
{
	char *map = NULL;

	must(ftruncate(fd, n) == 0, "ftruncate", "map");
	map = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED, "mmap", "map");
	memcpy(map, data, (size_t)n);
	munmap(map, (size_t)n);
}

static int
opens(const char *name, int flags)
{
	if (is("way", "creat"))
		return creat(name, 0644);
	if (is("way", "openat"))
		return openat(AT_FDCWD, name, flags | O_WRONLY, 0644);
	if (is("way", "both") && access(name, F_OK) == 0)
		return open(name, O_RDWR);
	return open(name,
		    flags | (is("way", "mmap") || is("way", "both") ? O_RDWR
								    : O_WRONLY),
		    0644);
}

static void *
write_file(void *arg)
{
	const struct part *p = arg;
	const long half = number("append", 0) ? p->n / 2 : p->n;
	int fd = -1, other = -1;
	FILE *f = NULL;

	if (is("way", "fopen")) {
		f = fopen(p->name, "w");
		must(f != NULL, "fopen", p->name);
		must((fwrite(p->data, 1, (size_t)half, f) == (size_t)half &&
		      fflush(f) == 0) == !p->fail,
		     "fwrite", p->name);
		must((fclose(f) == 0) || p->fail, "fclose", p->name);
	} else {
		fd = opens(p->name, O_CREAT | O_TRUNC);
		must(fd >= 0, "open", p->name);
		if (is("way", "mmap"))
			by_mapping(fd, p->data, half);
		else
			must((write(fd, p->data, (size_t)half) == half) ==
				     !p->fail,
			     "write", p->name);
		other = number("dup", 0) ? dup(fd) : -1;
		if (number("open", 0) && p->last)
			left_open = fd;
		else
			must(close(fd) == 0, "close", p->name);
		if (other >= 0) {
			must(pwrite(other, p->data, 1, 0) == 1, "pwrite",
			     p->name);
			must(close(other) == 0, "close", p->name);
		}
	}
	if (half == p->n)
		return NULL;
	fd = open(p->name, O_WRONLY | O_APPEND);
	must(fd >= 0 && write(fd, p->data + half, (size_t)(p->n - half)) ==
				p->n - half,
	     "append", p->name);
	close(fd);
	return NULL;
}

static void
children(void)
{
	int status = 0;

	if (fork() == 0) {
		for (int fd = 3; fd < 200; fd++)
			close(fd);
		_exit(0);
	}
	if (fork() == 0) {
		execlp("sh", "sh", "-c", "echo child >ckpt.child", NULL);
		_exit(1);
	}
	while (wait(&status) > 0)
		must(status == 0, "child", "wait");
}

/* Writes fail beyond the first byte, or no more. */
static void
limit(rlim_t to)
{
	struct rlimit now;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &now);
	now.rlim_cur = to;
	setrlimit(RLIMIT_FSIZE, &now);
}

static void
checkpoint(int step, int last)
{
	const long n = number("size", 3000);
	char name[256], at[300], old[300], *data = malloc((size_t)n);
	struct part p = { .data = data, .n = n };
	pthread_t thread;

	p.fail = rank == 1 && step == number("fail", 0);
	for (int i = 0; i < number("files", 1); i++) {
		name_of(name, step, i);
		fill(data, n, step, i);
		snprintf(at, sizeof(at), "%s%s", name, text("tmp", ""));
		snprintf(old, sizeof(old), "%s.old", name);
		if (number("old", 0) && access(name, F_OK) == 0)
			must(rename(name, old) == 0, "rename", old);
		p.name = at;
		p.last = last;
		if (p.fail)
			limit(0);
		if (i == 0 && number("child", 0))
			children();
		if (number("thread", 0)) {
			pthread_create(&thread, NULL, write_file, &p);
			pthread_join(thread, NULL);
		} else {
			write_file(&p);
		}
		if (p.fail)
			limit(RLIM_INFINITY);
		if (strcmp(at, name) != 0)
			must(rename(at, name) == 0, "rename", name);
	}
	for (int i = 0; number("again", 0) && i < number("files", 1); i++) {
		name_of(name, step, i);
		must(read_file(name, i) == step, "another step", name);
		name_of(name, step - 1, i);
		if (number("named", 0) && access(name, F_OK) == 0)
			must(unlink(name) == 0 && access(name, F_OK) != 0,
			     "unlink", name);
	}
	free(data);
}

int
main(int argc, char **argv)
{
	const char *dir = NULL;
	int step = 0, end = 0, provided = 0;

	nargs = argc;
	args = argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (number("thread", 0) == 1)
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	dir = text("dir", NULL);
	if (dir != NULL && rank == 0)
		must(mkdir(dir, 0755) == 0 || errno == EEXIST, "mkdir", dir);
	MPI_Barrier(MPI_COMM_WORLD);
	step = restart();
	if (rank == 0 && step > 0)
		printf("restart %d\n", step);
	else if (rank == 0)
		printf("none\n");
	for (end = step + atoi(argv[1]); step < end;) {
		step++;
		checkpoint(step, step == end);
		if (rank == 0)
			printf("wrote %d\n", step);
	}
	MPI_Finalize();
	if (left_open >= 0 && close(left_open) < 0)
		return 1;
	if (rank == 0)
		printf("end\n");
	return 0;
}
