/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * without.c - run a command on an older kernel: one in which the system calls
 * named do not exist (ENOSYS), for it and all that it starts.
 *     without NAME,NAME... COMMAND [ARGUMENT]...
 * "all" stands for all names.  77: no filter is possible here.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers from 424 on are the same on all processors; headers may not have
 * them. */
static const struct call {
	const char *name;
	uint32_t number;
} calls[] = {
	{ "copy_file_range", SYS_copy_file_range },
	{ "renameat2", SYS_renameat2 },
	{ "statx", SYS_statx },
	{ "pidfd_open", 434 },
	{ "clone3", 435 },
	{ "close_range", 436 },
	{ "openat2", 437 },
	{ "faccessat2", 439 },
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static int
forbid(uint32_t number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = code,
	};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int
main(int argc, char **argv)
{
	unsigned known = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: without NAME,NAME... COMMAND...\n");
		return 2;
	}
	/* Root keeps its rights: programs with other rights are to run, too. */
	if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 77;
	for (char *name = strtok(argv[1], ","); name != NULL;
	     name = strtok(NULL, ","), known = 0) {
		for (size_t i = 0; i < CALLS; i++) {
			if (strcmp(name, "all") != 0 &&
			    strcmp(name, calls[i].name) != 0)
				continue;
			if (forbid(calls[i].number) < 0)
				return 77;
			known++;
		}
		if (known == 0) {
			fprintf(stderr, "without: %s: unknown\n", name);
			return 2;
		}
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
