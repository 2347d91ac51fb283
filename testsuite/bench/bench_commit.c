/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_commit - the cost of replacing a metadata file, compared to the bare
 * system calls: create, write, fsync, rename, fsync of the directory.
 *
 *   bench_commit DIR [ROUNDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "error.h"
#include "io.h"

#define BATCH 100

static char data[4096];

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static double
ours(int dir)
{
	struct error err = ERROR_INIT;
	double start = now();

	for (int i = 0; i < BATCH; i++)
		if (io_replace(dir, "ours", data, sizeof(data), 0666, &err) <
		    0) {
			fprintf(stderr, "%s\n", err.text);
			exit(1);
		}
	return now() - start;
}

static double
bare(int dir)
{
	double start = now();

	for (int i = 0; i < BATCH; i++) {
		int fd = openat(dir, "bare.tmp", O_WRONLY | O_CREAT | O_EXCL,
				0666);

		if (fd < 0 ||
		    write(fd, data, sizeof(data)) != (ssize_t)sizeof(data) ||
		    fsync(fd) < 0 || close(fd) < 0 ||
		    renameat(dir, "bare.tmp", dir, "bare") < 0 ||
		    fsync(dir) < 0)
			die("bare");
	}
	return now() - start;
}

int
main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 9;
	double ratio[99], noise[99], a = 0, b = 0;
	int dir = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (dir < 0 || rounds < 1 || rounds > 99)
		return 2;
	memset(data, 'x', sizeof(data));
	ours(dir);
	bare(dir);
	for (int i = 0; i < rounds; i++) {
		a = ours(dir);
		b = bare(dir);
		ratio[i] = a / b;
		noise[i] = bare(dir) / bare(dir);
	}
	median(ratio, rounds);
	median(noise, rounds);
	printf("commit\t%.6f\t%.6f\t%.2f\t%.2f..%.2f\t-\t1.2\t%s\n", a / BATCH,
	       b / BATCH, ratio[rounds / 2], ratio[0], ratio[rounds - 1],
	       ratio[rounds / 2] <= 1.2 ? "met" : "MISSED");
	printf("commit A/A\t-\t-\t%.2f\t%.2f..%.2f\t-\t-\t-\n",
	       noise[rounds / 2], noise[0], noise[rounds - 1]);
	unlinkat(dir, "ours", 0);
	unlinkat(dir, "bare", 0);
	return 0;
}
