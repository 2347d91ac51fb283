/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pairs - run two commands in turn and compare their times, so that other load
 * on the machine affects both.
 *
 *   pairs NAME GOAL ROUNDS [-w] [-s CMD] [-t CMD] -a CMD -b CMD
 *
 * Runs ROUNDS times, after one round that does not count: `-s` (set-up before
 * a), a, `-t` (set-up before b), b, each by /bin/sh -c.  Prints one TSV line:
 * name, median seconds of a and b (wall), median of the ratios a/b with least
 * and greatest (wall), median ratio (processor time), goal, verdict.  GOAL "-":
 * none.  A goal is met if the wall or the processor ratio meets it, because on
 * a busy machine the wall ratio means little.  With -w only the wall ratio
 * counts: other processes do the work.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define ROUNDS_MAX 99

struct sample {
	double wall, cpu;
};

static double
children(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static struct sample
run(const char *cmd)
{
	struct sample s = { now(), children() };
	int status = 0;
	pid_t pid = 0;

	if (cmd == NULL)
		return s;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", cmd, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0) {
		fprintf(stderr, "pairs: failed: %s\n", cmd);
		exit(1);
	}
	s.wall = now() - s.wall;
	s.cpu = children() - s.cpu;
	return s;
}

int
main(int argc, char **argv)
{
	const char *a = NULL, *b = NULL, *before_a = NULL, *before_b = NULL;
	double wa[ROUNDS_MAX], wb[ROUNDS_MAX], rw[ROUNDS_MAX], rc[ROUNDS_MAX];
	int opt = 0, rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
	const char *goal = argc > 2 ? argv[2] : "-";
	double wall = 0, cpu = 0;
	bool wall_only = false;

	optind = 4;
	while ((opt = getopt(argc, argv, "a:b:s:t:w")) != -1) {
		if (opt == 'a')
			a = optarg;
		else if (opt == 'b')
			b = optarg;
		else if (opt == 's')
			before_a = optarg;
		else if (opt == 'w')
			wall_only = true;
		else
			before_b = optarg;
	}
	if (a == NULL || b == NULL || rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	for (int i = -1; i < rounds; i++) {
		struct sample sa, sb;

		(void)run(before_a);
		sa = run(a);
		(void)run(before_b);
		sb = run(b);
		if (i < 0)
			continue;
		wa[i] = sa.wall;
		wb[i] = sb.wall;
		rw[i] = sa.wall / sb.wall;
		rc[i] = sb.cpu > 0 ? sa.cpu / sb.cpu : 0;
	}
	wall = median(rw, rounds);
	cpu = median(rc, rounds);
	printf("%s\t%.4f\t%.4f\t%.2f\t%.2f..%.2f\t%.2f\t%s\t%s\n", argv[1],
	       median(wa, rounds), median(wb, rounds), wall, rw[0],
	       rw[rounds - 1], cpu, goal,
	       goal[0] == '-' ? "-"
	       : wall <= strtod(goal, NULL) ||
			       (!wall_only && cpu <= strtod(goal, NULL))
		       ? "met"
		       : "MISSED");
	return 0;
}
