/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store - seconds to write files in memory, in several ways in turn.
 *
 *   store [-p PROCESSES] [-r ROUNDS] [-n FILES] [-s SIZE] [-c CHUNK] [-a]
 *         [-S STORE] WAY=DIRECTORY...
 *
 * A round runs every WAY once, each by all processes at once, pinned: write
 * FILES files of SIZE bytes, CHUNK bytes a call (-a: with O_APPEND).  One file
 * is removed before the next round, which is not measured; more than one are
 * all removed at the end of the round, which is.
 *
 *   new     new files, by the kernel
 *   place   the same file each time
 *   copy    no file: copied past the cache into one that is mapped and warm
 *   store   new files in the store DIRECTORY, with libscr_preload.so; between
 *           the rounds the pages of deleted files are cleaned
 *   first   as store, by new processes, in a new store that is populated
 *   fresh   as new, by new processes
 *   apart   as place, with libscr_preload.so, and a store in STORE
 *
 * Environment: BENCH_PRELOAD, the path of libscr_preload.so.
 *
 * Prints a line for each round but the first, which does not count: the seconds
 * of each way, from the first start to the last end.  Then for each way a line
 * "# WAY: median and best GB/s".  All ways have the same source.  They run with
 * a real-time priority if the system permits it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "common.h"
#include "error.h"
#include "io.h"
#include "store/store.h"
#include "store/tend.h"

enum { WAYS = 8, PROCS = 16, ROUNDS = 1000 };

/* Descriptors that processes inherit, besides their two pipes. */
enum { FD_SHARED = 300, FD_SOURCE, FD_DO, FD_DONE };

struct shared {
	int procs, rounds;
	size_t files, size, chunk;
	bool append;
	atomic_int arrived;
	struct timespec start[PROCS], end[PROCS];
};

struct way {
	const char *arg, *dir; /* WAY=DIRECTORY, and the latter */
	const char *store;     /* under libscr_preload.so, with this store */
	bool place, fresh, recycles, maps;
	struct store *s; /* of one that recycles */
	pid_t pid[PROCS];
	int go[PROCS]; /* takes a letter: what to do; closed: end */
	int done[PROCS];
	double took[ROUNDS];
};

static struct shared *sh;
static const char *source; /* sh->size bytes for each process */

/* --- A process ----------------------------------------------------------- */

#ifdef __x86_64__
/* Four pages in turn, because the processor fetches ahead within a page. */
__attribute__((target("avx512f"))) static void
copy_512(char *to, const char *from, size_t n)
{
	size_t at = 0, page = 4096, i = 0, k = 0;

	for (; at + 4 * page <= n; at += 4 * page)
		for (i = at; i < at + page; i += 64)
			for (k = i; k < i + 4 * page; k += page)
				_mm512_stream_si512(
					(void *)(to + k),
					_mm512_loadu_si512(from + k));
	_mm_sfence();
	memcpy(to + at, from + at, n - at);
}
#endif

static void
copy(char *to, const char *from, size_t n)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f")) {
		copy_512(to, from, n);
		return;
	}
#endif
	memcpy(to, from, n);
}

static const char *
file_name(const struct way *w, int rank, int round, size_t file)
{
	static char name[64];

	if (w->place)
		snprintf(name, sizeof(name), "rank_%d", rank);
	else
		snprintf(name, sizeof(name), "rank_%d.%d.%zu", rank, round,
			 file);
	return name;
}

static void
remove_files(const struct way *w, int rank, int round)
{
	for (size_t f = 0; f < sh->files && !w->place; f++)
		if (unlink(file_name(w, rank, round, f)) < 0)
			die("unlink");
}

static void
write_files(const struct way *w, int rank, int round)
{
	const char *from = source + (size_t)rank * sh->size;
	int how = O_WRONLY | O_CREAT | (sh->append ? O_APPEND : 0);
	ssize_t n = 0;

	for (size_t f = 0; f < sh->files; f++) {
		int fd = open(file_name(w, rank, round, f),
			      w->place ? how : how | O_TRUNC, 0600);

		for (size_t at = 0; at < sh->size; at += (size_t)n) {
			n = write(fd, from + at,
				  sh->size - at < sh->chunk ? sh->size - at
							    : sh->chunk);
			if (n <= 0)
				die("write");
		}
		if (close(fd) < 0)
			die("close");
	}
	if (sh->files > 1)
		remove_files(w, rank, round);
}

/* A file of `size` bytes, with all pages mapped. */
static char *
map_file(const struct way *w, int rank)
{
	int fd = open(file_name(w, rank, 0, 0), O_RDWR | O_CREAT, 0600);
	char *map = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)sh->size) == 0)
		map = mmap(NULL, sh->size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	memset(map, 1, sh->size);
	close(fd);
	return map;
}

static void
burst(const struct way *w, int rank, int round, char *map)
{
	struct sched_param fifo = { .sched_priority = 10 }, none = { 0 };

	sched_setscheduler(0, SCHED_FIFO, &fifo);
	atomic_fetch_add(&sh->arrived, 1);
	while (atomic_load(&sh->arrived) < sh->procs)
		;
	clock_gettime(CLOCK_MONOTONIC, &sh->start[rank]);
	if (map != NULL)
		copy(map, source + (size_t)rank * sh->size, sh->size);
	else
		write_files(w, rank, round);
	clock_gettime(CLOCK_MONOTONIC, &sh->end[rank]);
	sched_setscheduler(0, SCHED_OTHER, &none);
}

/* Go to the processor of `rank` among those allowed. */
static void
pin(int rank)
{
	cpu_set_t all, one;
	int n = 0;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	rank %= CPU_COUNT(&all);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &all) && n++ == rank)
			CPU_SET(c, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* An application has made its data itself: what a virtual machine does at the
 * first access of a process to its pages is over. */
static void
read_source(int rank)
{
	const volatile char *from = source + (size_t)rank * sh->size;

	for (size_t at = 0; at < sh->size; at += 4096)
		(void)from[at];
}

/* Do what the letters say: w, write the files; u, remove them. */
static int
work(const struct way *w, int rank)
{
	char *map = NULL;
	int round = 0;
	char c = 0;

	pin(rank);
	read_source(rank);
	if (chdir(w->dir) < 0)
		die(w->dir);
	if (w->maps)
		map = map_file(w, rank);
	while (write(FD_DONE, "", 1) == 1 && read(FD_DO, &c, 1) == 1)
		if (c == 'u')
			remove_files(w, rank, round++);
		else if (c == 'w')
			burst(w, rank, round, map);
	return 0;
}

/* --- All of them --------------------------------------------------------- */

/* Tell the processes to do `c`, if it is a letter; wait until they have. */
static void
all(const struct way *w, char c)
{
	char done = 0;

	for (int i = 0; i < sh->procs && c != 0; i++)
		if (write(w->go[i], &c, 1) != 1)
			die("write");
	for (int i = 0; i < sh->procs; i++)
		if (read(w->done[i], &done, 1) != 1)
			die("a process ended");
}

/* Start the process `rank`, and wait until it is ready. */
static void
start(struct way *w, int rank)
{
	int go[2], done[2];
	char id[16], ready = 0;

	snprintf(id, sizeof(id), "%d", rank);
	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(done, O_CLOEXEC) < 0)
		die("pipe");
	w->pid[rank] = fork();
	if (w->pid[rank] == 0) {
		dup2(go[0], FD_DO);
		dup2(done[1], FD_DONE);
		if (w->store != NULL) {
			setenv("SCR_STORE", w->store, 1);
			setenv("LD_PRELOAD", getenv("BENCH_PRELOAD"), 1);
		}
		execl("/proc/self/exe", "store", "-R", id, w->arg, NULL);
		die("exec");
	}
	close(go[0]);
	close(done[1]);
	w->go[rank] = go[1];
	w->done[rank] = done[0];
	if (read(done[0], &ready, 1) != 1)
		die("a process ended");
}

static void
stop(struct way *w)
{
	for (int i = 0; i < sh->procs; i++) {
		close(w->go[i]);
		close(w->done[i]);
		waitpid(w->pid[i], NULL, 0);
	}
}

static void
fail(const struct error *err)
{
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

/* Make the store, with a file for each process in its pool. */
static void
make(struct way *w)
{
	struct error err = ERROR_INIT;
	struct tend_populate pool = { .size = sh->files > 1 ? 4 << 20
							    : sh->size,
				      .count = (uint64_t)sh->procs };
	/* Pages of files that take none from the pool are freed: the system has
	 * used them before. */
	struct store_options o = { .pool = pool.size * pool.count };

	store_close(w->s);
	if (io_remove_tree(AT_FDCWD, w->store, &err) < 0 ||
	    mkdir(w->store, 0700) < 0 || store_make(w->store, &o, &err) < 0)
		fail(&err);
	w->s = store_open(w->store, &err);
	if (w->s == NULL || tend_measure(w->s, &err) < 0 ||
	    tend_populate(w->s, &pool, &err) < 0)
		fail(&err);
}

/* Make everything ready for a round. */
static void
prepare(struct way *w, int round)
{
	struct tend_done done = { 0 };
	struct error err = ERROR_INIT;

	if (round == 0 || w->fresh) {
		if (round > 0)
			stop(w);
		if (w->store != NULL)
			make(w);
		else if (w->fresh && io_remove_tree(AT_FDCWD, w->dir, &err) < 0)
			fail(&err);
		if (mkdir(w->dir, 0700) < 0 && errno != EEXIST)
			die(w->dir);
		for (int i = 0; i < sh->procs; i++)
			start(w, i);
		return;
	}
	if (sh->files == 1)
		all(w, 'u');
	if (w->recycles && tend_once(w->s, &done, &err) < 0)
		fail(&err);
}

/* Is the file of each process what it should be? */
static void
check(const struct way *w)
{
	char path[4096], *data = malloc(sh->size);

	for (int i = 0; i < sh->procs; i++) {
		int fd = -1;

		snprintf(path, sizeof(path), "%s/%s", w->dir,
			 file_name(w, i, 0, 0));
		fd = open(path, O_RDONLY);
		if (fd < 0 || data == NULL ||
		    read(fd, data, sh->size) != (ssize_t)sh->size ||
		    read(fd, path, 1) != 0 ||
		    memcmp(data, source + (size_t)i * sh->size, sh->size) != 0)
			die(path);
		close(fd);
	}
	free(data);
}

static double
seconds(const struct timespec *t)
{
	return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
}

static double
once(struct way *w, int round)
{
	double from = 0, to = 0, t = 0;

	prepare(w, round);
	atomic_store(&sh->arrived, 0);
	all(w, 'w');
	for (int i = 0; i < sh->procs; i++) {
		t = seconds(&sh->start[i]);
		from = i == 0 || t < from ? t : from;
		t = seconds(&sh->end[i]);
		to = t > to ? t : to;
	}
	if (round == 0 && sh->files == 1)
		check(w);
	return to - from;
}

static int
compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

static void
report(struct way *w)
{
	double bytes = (double)sh->size * (double)sh->files * sh->procs / 1e9;

	qsort(w->took, (size_t)sh->rounds, sizeof(double), compare);
	printf("# %s: %.2f %.2f GB/s\n", w->arg,
	       bytes / w->took[sh->rounds / 2], bytes / w->took[0]);
}

static int
rounds(struct way *ways, int n)
{
	/* Each way comes first as often as the others. */
	for (int r = 0; r <= sh->rounds; r++) {
		for (int i = r; i < r + n; i++)
			ways[i % n].took[r == 0 ? 0 : r - 1] =
				once(&ways[i % n], r);
		for (int i = 0; i < n && r > 0; i++)
			printf("%.9f%c", ways[i].took[r - 1],
			       i + 1 < n ? ' ' : '\n');
	}
	for (int i = 0; i < n; i++) {
		stop(&ways[i]);
		report(&ways[i]);
	}
	return fflush(stdout) == 0 ? 0 : 1;
}

/* Memory that the processes inherit as a descriptor. */
static void *
memory(int fd, size_t n)
{
	int new = memfd_create("bench", 0);
	void *map = MAP_FAILED;

	if (new >= 0 && ftruncate(new, (off_t)n) == 0 && dup2(new, fd) == fd)
		map = mmap(NULL, n, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		die("memory");
	close(new);
	return map;
}

/* What the source consists of differs everywhere. */
static void
make_source(void)
{
	size_t n = sh->size * (size_t)sh->procs;
	uint64_t *to = memory(FD_SOURCE, n + sizeof(*to)), x = 1;

	for (size_t i = 0; i <= n / sizeof(*to); i++)
		to[i] = x = x * 6364136223846793005 + 1442695040888963407;
	source = (const char *)to;
}

static struct way
parse(char *arg, const char *apart)
{
	struct way w = { .arg = arg, .dir = strchr(arg, '=') };

	if (w.dir == NULL) {
		fprintf(stderr, "store: %s: no WAY=DIRECTORY\n", arg);
		exit(2);
	}
	w.dir++;
	w.recycles = strncmp(arg, "first=", 6) == 0 ||
		     strncmp(arg, "store=", 6) == 0;
	w.fresh = arg[0] == 'f'; /* first, fresh */
	w.maps = strncmp(arg, "copy=", 5) == 0;
	w.place = !w.recycles && !w.fresh && strncmp(arg, "new=", 4) != 0;
	w.store = strncmp(arg, "apart=", 6) == 0 ? apart
		  : w.recycles			 ? w.dir
						 : NULL;
	return w;
}

/* Pages that a virtual machine never used cost its host more than we do here:
 * use all that will be needed. */
static void
touch(size_t n)
{
	size_t most = (size_t)sysconf(_SC_AVPHYS_PAGES) / 2 *
		      (size_t)sysconf(_SC_PAGESIZE);
	void *map = MAP_FAILED;

	n = n < most ? n : most;
	map = mmap(NULL, n, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (map != MAP_FAILED)
		munmap(map, n);
}

/* In a process: -R RANK WAY=DIRECTORY. */
static int
process(int rank, struct way *w)
{
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED,
		  FD_SHARED, 0);
	if (sh == MAP_FAILED)
		die("mmap");
	source = mmap(NULL, sh->size * (size_t)sh->procs, PROT_READ,
		      MAP_SHARED | MAP_POPULATE, FD_SOURCE, 0);
	if (source == MAP_FAILED)
		die("mmap");
	return work(w, rank);
}

int
main(int argc, char **argv)
{
	struct shared o = { .procs = 1,
			    .rounds = 5,
			    .files = 1,
			    .size = 64 << 20,
			    .chunk = 1 << 20 };
	struct way *ways = calloc(WAYS, sizeof(*ways));
	const char *apart = NULL;
	int c = 0, n = 0, rank = -1;

	while ((c = getopt(argc, argv, "p:r:n:s:c:aS:R:")) != -1)
		switch (c) {
		case 'p':
			o.procs = atoi(optarg);
			break;
		case 'r':
			o.rounds = atoi(optarg);
			break;
		case 'n':
			o.files = strtoull(optarg, NULL, 10);
			break;
		case 's':
			o.size = strtoull(optarg, NULL, 10);
			break;
		case 'c':
			o.chunk = strtoull(optarg, NULL, 10);
			break;
		case 'a':
			o.append = true;
			break;
		case 'S':
			apart = optarg;
			break;
		case 'R':
			rank = atoi(optarg);
			break;
		default:
			return 2;
		}
	for (; optind < argc && n < WAYS && ways != NULL; optind++)
		ways[n++] = parse(argv[optind], apart);
	if (n == 0 || o.procs < 1 || o.procs > PROCS || o.rounds < 1 ||
	    o.rounds > ROUNDS || o.size == 0 || o.chunk == 0)
		return 2;
	if (rank >= 0)
		return process(rank, ways);
	touch(o.size * (size_t)o.procs * (size_t)(n + 1));
	sh = memory(FD_SHARED, sizeof(*sh));
	*sh = o;
	make_source();
	return rounds(ways, n);
}
