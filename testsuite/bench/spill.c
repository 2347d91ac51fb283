/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spill - files that are written to a store in memory, of which some percent go
 * to a disk meanwhile.
 *
 *   spill [-i] [-p PROCESSES] [-n FILES] [-s SIZE] STORE DISK
 *
 * Each process writes FILES files of SIZE bytes, with libscr_preload.so's
 * functions, into a store that is populated.  Its limit makes 0, 3, 6, 12, 25,
 * 50 or 100 percent of them go to DISK, while one more process tends the store
 * (-i: with the lowest priority, as `scr_store run`).  Then all are compared.
 *
 * Prints for each percentage, in GB/s of all files:
 *   returned   until all writes and closes have returned
 *   durable    until the files are on the disk, synced, and linked
 *   sum        total / (memory / T_mem + disk / T_ssd)
 *   max        total / max(memory / T_mem, disk / T_ssd)
 * T_mem is what was returned at 0 %, T_ssd what was durable at 100 %.
 */
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "common.h"
#include "error.h"
#include "io.h"
#include "store/file.h"
#include "store/tend.h"

enum { PROCS = 64, CHUNK = 4 << 20 };

static const unsigned percents[] = { 0, 3, 6, 12, 25, 50, 100 };
#define ROWS (sizeof(percents) / sizeof(*percents))

static struct {
	unsigned procs, files;
	size_t size;
	bool idle;
	const char *store, *disk;
} opt = { .procs = 8, .files = 16, .size = (size_t)16 << 20 };

static struct shared {
	atomic_uint ready, end;
	atomic_bool go;
	double start[PROCS], stop[PROCS];
	struct tend_done tended;
} * sh;

/* Let no other work of the machine come between, if that is permitted. */
static void
first(int priority)
{
	const struct sched_param p1 = { .sched_priority = priority };

	(void)sched_setscheduler(0, SCHED_FIFO, &p1);
}

static void
path_of(char *to, unsigned proc, unsigned file)
{
	snprintf(to, PATH_MAX, "%s/rank_%u.%u.ckpt", opt.store, proc, file);
}

static void
writer(unsigned proc, const unsigned char *data)
{
	char path[PATH_MAX];
	struct error err = ERROR_INIT;

	first(2);
	if (store_use(opt.store, &err) < 0)
		die(err.text);
	atomic_fetch_add(&sh->ready, 1);
	while (!atomic_load(&sh->go))
		usleep(100);
	sh->start[proc] = clock_seconds();
	for (unsigned i = 0; i < opt.files; i++) {
		const int flags = O_WRONLY | O_CREAT | O_TRUNC;
		int fd = -1;

		path_of(path, proc, i);
		fd = store_create(AT_FDCWD, path, flags, 0600);
		if (fd < 0)
			fd = open(path, flags, 0600);
		if (fd < 0)
			die(path);
		for (size_t at = 0; at < opt.size; at += CHUNK) {
			const size_t n =
				opt.size - at < CHUNK ? opt.size - at : CHUNK;
			ssize_t done = store_write(fd, data + at, n);

			if (done == STORE_KERNEL)
				done = write(fd, data + at, n);
			if (done != (ssize_t)n)
				die("write");
		}
		store_closing(fd);
		close(fd);
	}
	sh->stop[proc] = clock_seconds();
	store_leave();
	_exit(0);
}

static bool
ended(void *unused)
{
	(void)unused;
	return atomic_load(&sh->end) != 0;
}

static void
tender(void)
{
	const struct sched_param none = { .sched_priority = 0 };
	struct error err = ERROR_INIT;
	struct store *s = store_open(opt.store, &err);

	first(1);
	if (opt.idle)
		(void)sched_setscheduler(0, SCHED_IDLE, &none);
	atomic_fetch_add(&sh->ready, 1);
	if (s == NULL || tend_run(s, ended, NULL, &sh->tended, &err) < 0)
		die(err.text);
	_exit(0);
}

/* All files have what was written. */
static void
compare(const unsigned char *data, unsigned spilled)
{
	unsigned char *now = malloc(opt.size);
	char path[PATH_MAX];
	struct stat is;
	unsigned links = 0;

	for (unsigned k = 0; k < opt.procs; k++) {
		for (unsigned i = 0; i < opt.files; i++) {
			int fd = -1;

			path_of(path, k, i);
			links += lstat(path, &is) == 0 && S_ISLNK(is.st_mode);
			fd = open(path, O_RDONLY);
			if (fd < 0 ||
			    io_pread(fd, path, now, opt.size, 0, NULL) ||
			    memcmp(now, data, opt.size) != 0) {
				fprintf(stderr, "%s: differs\n", path);
				exit(1);
			}
			close(fd);
		}
	}
	free(now);
	if (links != spilled) {
		fprintf(stderr, "%u links, expected %u\n", links, spilled);
		exit(1);
	}
}

/* Write the files, `spilled` of which go to the disk.  Returns the seconds
 * until the writes returned, and until all is durable. */
static void
run(const unsigned char *data, unsigned spilled, double seconds[2])
{
	const unsigned count = opt.procs * opt.files;
	const uint64_t total = (uint64_t)count * opt.size;
	struct store_options o = { .pool = total };
	struct tend_populate fill = { .size = opt.size, .count = count };
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	double start = 1e18, stop = 0;
	pid_t tending = 0;

	o.size = o.pool + (total - (uint64_t)spilled * opt.size);
	snprintf(o.spill, sizeof(o.spill), "%s", opt.disk);
	if (mkdir(opt.store, 0700) < 0)
		die(opt.store);
	if (store_make(opt.store, &o, &err) < 0 ||
	    (s = store_open(opt.store, &err)) == NULL ||
	    tend_measure(s, &err) < 0 || tend_populate(s, &fill, &err) < 0)
		die(err.text);
	if (fill.added != count)
		fprintf(stderr, "# only %u of %u files are warm\n",
			(unsigned)fill.added, count);
	store_close(s);
	sync();
	memset(sh, 0, sizeof(*sh));
	for (unsigned k = 0; k <= opt.procs; k++) {
		const pid_t pid = fork();

		if (pid == 0 && k < opt.procs)
			writer(k, data);
		if (pid == 0)
			tender();
		tending = pid;
	}
	while (atomic_load(&sh->ready) <= opt.procs)
		usleep(1000);
	atomic_store(&sh->go, true);
	for (unsigned k = 0; k < opt.procs; k++)
		(void)wait(NULL);
	for (unsigned k = 0; k < opt.procs; k++) {
		start = sh->start[k] < start ? sh->start[k] : start;
		stop = sh->stop[k] > stop ? sh->stop[k] : stop;
	}
	seconds[0] = stop - start;
	while (((volatile struct tend_done *)&sh->tended)->spilled < spilled &&
	       clock_seconds() < stop + 300)
		usleep(500);
	seconds[1] = spilled == 0 ? seconds[0] : clock_seconds() - start;
	if (seconds[1] < seconds[0])
		seconds[1] = seconds[0];
	atomic_store(&sh->end, 1);
	(void)waitpid(tending, NULL, 0);
	compare(data, spilled);
	if (io_remove_tree(AT_FDCWD, opt.store, &err) < 0 ||
	    io_remove_tree(AT_FDCWD, opt.disk, &err) < 0)
		die(err.text);
}

int
main(int argc, char **argv)
{
	double seconds[ROWS][2], total = 0;
	unsigned char *data = NULL;
	int c = 0;

	while ((c = getopt(argc, argv, "ip:n:s:")) != -1) {
		if (c == 'i')
			opt.idle = true;
		else if (c == 'p')
			opt.procs = (unsigned)atoi(optarg);
		else if (c == 'n')
			opt.files = (unsigned)atoi(optarg);
		else if (c == 's')
			opt.size = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (argc != optind + 2 || opt.procs < 1 || opt.procs >= PROCS)
		return 2;
	opt.store = argv[optind];
	opt.disk = argv[optind + 1];
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	data = malloc(opt.size);
	if (sh == MAP_FAILED || data == NULL)
		die("memory");
	srand(1);
	for (size_t i = 0; i < opt.size; i++)
		data[i] = (unsigned char)rand();
	total = (double)opt.procs * opt.files * (double)opt.size / 1e9;
	for (size_t i = 0; i < ROWS; i++)
		run(data, (opt.procs * opt.files * percents[i] + 50) / 100,
		    seconds[i]);
	printf("# %u processes, %u files of %zu MiB each, GB/s%s\n", opt.procs,
	       opt.files, opt.size >> 20, opt.idle ? "; tended when idle" : "");
	printf("# percent\treturned\tdurable\tsum\tmax\n");
	for (size_t i = 0; i < ROWS; i++) {
		const double disk =
			(double)((opt.procs * opt.files * percents[i] + 50) /
				 100) /
			(opt.procs * opt.files);
		const double in_memory = (1 - disk) * seconds[0][0];
		const double on_disk = disk * seconds[ROWS - 1][1];

		printf("%u\t%.2f\t%.2f\t%.2f\t%.2f\n", percents[i],
		       total / seconds[i][0], total / seconds[i][1],
		       total / (in_memory + on_disk),
		       total / (in_memory > on_disk ? in_memory : on_disk));
	}
	return 0;
}
