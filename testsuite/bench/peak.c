/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peak CMD... - run a command and print its peak resident memory in KiB.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct rusage u;
	int status = 0;
	pid_t pid = 0;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	getrusage(RUSAGE_CHILDREN, &u);
	printf("peak\t%ld\n", u.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
