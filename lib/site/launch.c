/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch.c - what each launcher tells a process, and PMI-1: commands and
 * answers are lines of NAME=VALUE on an inherited socket.
 */
#include "site/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "fnv.h"
#include "hostlist.h"
#include "io.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "site/resmgr.h"
#include "str.h"

/* Processes that start later than this after the first one are not waited
 * for. */
#define MEET_MS 30000
#define COMMAND_MAX ((size_t)1 << 20)

/* The value of a variable; UINT64_MAX: it is no number. */
static uint64_t
number(const char *name)
{
	const char *text = getenv(name);
	uint64_t n = UINT64_MAX;

	if (text != NULL)
		(void)num_u64(text, 0, INT32_MAX, &n, NULL);
	return n;
}

static bool
is_rank(uint64_t rank, uint64_t size)
{
	return rank < size && size > 1 && size <= INT32_MAX;
}

static bool
starts(const char *text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (str_starts(text, *words))
			return true;
	return false;
}

/* Does the name of our parent begin with one of these? */
static bool
parent_is(const char *const *names)
{
	struct buf name = BUF_INIT;
	const bool is =
		io_read_file(AT_FDCWD,
			     str_printed(64, "/proc/%ld/comm", (long)getppid()),
			     COMMAND_MAX, &name, NULL) == 0 &&
		starts(name.data, names);

	buf_free(&name);
	return is;
}

/* --- PMI-1 --- */

/* Read a line, and return the value of `field` in it. */
static char *
answer(struct launch *l, const char *field)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };
	size_t have = 0;
	char *end = NULL, *at = l->line;

	while (end == NULL) {
		const size_t room = sizeof(l->line) - 1 - have;
		ssize_t n = -1;

		if (room > 0 && poll(&p, 1, MEET_MS) == 1)
			n = recv(l->fd, l->line + have, room, 0);
		if (n <= 0)
			return NULL;
		have += (size_t)n;
		end = memchr(l->line, '\n', have);
	}
	*end = '\0';
	while (at != NULL &&
	       (!str_starts(at, field) || at[strlen(field)] != '='))
		at = strchr(at, ' ') != NULL ? strchr(at, ' ') + 1 : NULL;
	if (at == NULL)
		return NULL;
	at += strlen(field) + 1;
	at[strcspn(at, " ")] = '\0';
	return at;
}

static char *
ask(struct launch *l, const char *command, const char *field)
{
	const size_t len = strlen(command);

	return send(l->fd, command, len, MSG_NOSIGNAL) == (ssize_t)len
		       ? answer(l, field)
		       : NULL;
}

/* Two commands with the same sum do the same.  0: unknown. */
static uint64_t
command_sum(const char *app)
{
	char *dir = getcwd(NULL, 0);
	const char *prefix = getenv("SCR_PREFIX");
	struct buf b = BUF_INIT;
	uint64_t sum = 0;

	if (io_read_file(AT_FDCWD, "/proc/self/cmdline", COMMAND_MAX, &b,
			 NULL) == 0 &&
	    dir != NULL) {
		buf_printf(&b, "%s\n%s\n%s", app, dir, prefix ? prefix : "");
		sum = fnv_bytes(b.data, b.len);
	}
	free(dir);
	buf_free(&b);
	return sum;
}

/* Give each process the host and the command of the others.  Returns what
 * process 0 and we have to do. */
static enum launch_role
join_pmi(struct launch *l, struct hostlist *nodes)
{
	const uint64_t fd = number("PMI_FD"), rank = number("PMI_RANK"),
		       size = number("PMI_SIZE");
	char host[256] = "", sum[32], kvs[256], line[1024];
	uint64_t command = 0;
	char *value = NULL, *comma = NULL;
	bool same = true, met = false;
	struct stat st;

	l->fd = (int)fd;
	if (fd > INT32_MAX || !is_rank(rank, size) || fstat(l->fd, &st) < 0 ||
	    !S_ISSOCK(st.st_mode) || fcntl(l->fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    gethostname(host, sizeof(host) - 1) < 0)
		return LAUNCH_ALONE;
	value = ask(l, "cmd=init pmi_version=1 pmi_subversion=1\n", "rc");
	l->entered = value != NULL && str_eq(value, "0");
	value = l->entered ? ask(l, "cmd=get_appnum\n", "appnum") : NULL;
	command = value != NULL ? command_sum(value) : 0;
	value = command != 0 ? ask(l, "cmd=get_my_kvsname\n", "kvsname") : NULL;
	if (value == NULL)
		return LAUNCH_ALONE;
	str_print(sum, sizeof(sum), "%016llx", (unsigned long long)command);
	str_print(kvs, sizeof(kvs), "%s", value);
	str_print(line, sizeof(line),
		  "cmd=put kvsname=%s key=scr-%llu value=%s,%s\n", kvs,
		  (unsigned long long)rank, host, sum);
	met = ask(l, line, "rc") != NULL &&
	      ask(l, "cmd=barrier_in\n", "cmd") != NULL;
	/* Process 0 reads the nodes of all, the others what it is. */
	for (uint64_t i = 0; met && i < (rank == 0 ? size : 1); i++) {
		str_print(line, sizeof(line),
			  "cmd=get kvsname=%s key=scr-%llu\n", kvs,
			  (unsigned long long)i);
		value = ask(l, line, "value");
		comma = value != NULL ? strrchr(value, ',') : NULL;
		same = comma != NULL && str_eq(comma + 1, sum);
		if (comma != NULL)
			*comma = '\0';
		if (same)
			(void)hostlist_add_name(nodes, value, NULL);
		if (rank > 0)
			return same ? LAUNCH_SURPLUS : LAUNCH_ALONE;
	}
	return met ? LAUNCH_FIRST : LAUNCH_ALONE;
}

/* --- SLURM --- */

/* Was the step told to start this program? */
static bool
is_ours(const char *program)
{
	return program != NULL &&
	       str_eq(path_base(program), program_invocation_short_name);
}

static enum launch_role
join_step(struct hostlist *nodes)
{
	const char *list = getenv("SLURM_STEP_NODELIST");
	const uint64_t rank = number("SLURM_PROCID");
	struct resmgr *r = NULL;
	bool ours = false;

	if (!is_rank(rank, number("SLURM_STEP_NUM_TASKS")) || list == NULL ||
	    getenv("SLURM_HET_SIZE") != NULL ||
	    hostlist_add(nodes, list, NULL) < 0)
		return LAUNCH_ALONE;
	r = resmgr_open(NULL, "slurm", NULL);
	ours = r != NULL && is_ours(resmgr_step_name(r));
	resmgr_close(r);
	return !ours ? LAUNCH_ALONE : rank == 0 ? LAUNCH_FIRST : LAUNCH_SURPLUS;
}

/* --- The launch --- */

/* srun takes many of its variables for options: only those of the job stay. */
static void
forget(void)
{
	static const char *const launch[] = { "SLURM_",	    "PMI_",
					      "PMIX_",	    "MPI_LOCAL",
					      "FLUX_TASK_", NULL };
	static const char *const job[] = { "SLURM_JOB", "SLURM_CONF",
					   "SLURM_CLUSTER", NULL };
	char **to = environ;

	for (char **from = environ; *from != NULL; from++)
		if (!starts(*from, launch) || starts(*from, job))
			*to++ = *from;
	*to = NULL;
}

void
launch_join(struct launch *l)
{
	static const char *const pmi[] = { "hydra_pmi_proxy", "flux-shell",
					   NULL };
	struct hostlist nodes = HOSTLIST_INIT;
	struct buf text = BUF_INIT;

	*l = (struct launch){ .role = LAUNCH_ALONE };
	if (number("SLURM_TASK_PID") == (uint64_t)getpid())
		l->role = join_step(&nodes);
	else if (parent_is(pmi))
		l->role = join_pmi(l, &nodes);
	if (l->role == LAUNCH_FIRST) {
		forget();
		if (hostlist_uniq(&nodes, NULL) == 0 && nodes.count > 1 &&
		    hostlist_text(&nodes, &text, NULL) == 0)
			l->nodes = mem_strdup(text.data);
	}
	buf_free(&text);
	hostlist_free(&nodes);
}

void
launch_leave(struct launch *l)
{
	if (l->entered)
		(void)ask(l, "cmd=finalize\n", "cmd");
	mem_free(l->nodes);
	*l = (struct launch){ .role = LAUNCH_ALONE };
}
