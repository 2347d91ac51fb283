/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls CALL...: an MPI program that knows nothing of SCR: each rank makes
 * these calls, one after the other.  `%` in them is the number of the rank, and
 * a call "R:CALL" is one of rank R alone.
 *
 *   w NAME TEXT   write a new file     a NAME TEXT   append to it, or make it
 *   x NAME TEXT   the same, but it must not exist, by open()
 *   X NAME TEXT   the same by fopen()
 *   r NAME        read it              e NAME        is there one?
 *   m NAME TO     rename it            u NAME TEXT   append with O_RDWR
 *   d NAME TEXT   append with O_RDWR, by fdopen()
 *   c NAME TEXT   write a new file, which another thread writes and closes
 *   n NAME        a null pointer to access()
 *   f NAME        no descriptors are left for open()
 *   s COMMAND     by system()          b             MPI_Barrier()
 *
 * All but s and b print "RANK CALL NAME RESULT", the last one what was read,
 * "ok", or the name of the error.
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int rank;

/* Replace each % by the rank. */
static void
expand(const char *from, char to[static 1024])
{
	size_t n = 0;

	for (; *from != '\0' && n < 1000; from++)
		if (*from == '%')
			n += (size_t)sprintf(to + n, "%d", rank);
		else
			to[n++] = *from;
	to[n] = '\0';
}

static int
writes(const char *name, int flags, const char *what)
{
	const int fd = open(name, flags, 0644);
	const size_t n = strlen(what);
	int rc = 0;

	if (fd < 0)
		return -1;
	if ((flags & O_ACCMODE) == O_RDWR)
		lseek(fd, 0, SEEK_END);
	rc = write(fd, what, n) == (ssize_t)n ? 0 : -1;
	return close(fd) == 0 ? rc : -1;
}

static int
stream(const char *name, const char *what)
{
	FILE *f = fopen(name, "wx");

	if (f == NULL)
		return -1;
	fputs(what, f);
	return fclose(f);
}

static int
by_fdopen(const char *name, const char *what)
{
	const int fd = open(name, O_RDWR);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r+");

	if (f == NULL || fseek(f, 0, SEEK_END) != 0)
		return -1;
	fputs(what, f);
	return fclose(f);
}

struct part {
	int fd, rc;
	const char *what;
};

static void *
write_part(void *arg)
{
	struct part *p = arg;
	const size_t n = strlen(p->what);

	p->rc = write(p->fd, p->what, n) == (ssize_t)n ? 0 : -1;
	p->rc |= close(p->fd);
	return NULL;
}

static int
by_thread(const char *name, const char *what)
{
	struct part p = { open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644), -1,
			  what };
	pthread_t thread;

	if (p.fd < 0 || pthread_create(&thread, NULL, write_part, &p) != 0)
		return -1;
	pthread_join(thread, NULL);
	return p.rc;
}

static int
reads(const char *name, char data[static 1024])
{
	const int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, data, 1000);

	if (fd >= 0)
		close(fd);
	data[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -1 : 0;
}

/* Open it when there are no descriptors. */
static int
opens_full(const char *name)
{
	struct rlimit was, none;
	int fd = -1, error = 0;

	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	error = errno;
	setrlimit(RLIMIT_NOFILE, &was);
	if (fd >= 0)
		close(fd);
	errno = error;
	return fd < 0 ? -1 : 0;
}

static const char *
error_name(int error)
{
	return error == ENOENT	 ? "ENOENT"
	       : error == EEXIST ? "EEXIST"
	       : error == EMFILE ? "EMFILE"
	       : error == EFAULT ? "EFAULT"
				 : strerror(error);
}

static void
call(char *text)
{
	const char *name = strtok(text + 1, " "), *rest = strtok(NULL, "");
	const char *what = rest != NULL ? rest : "";
	const char *volatile none = NULL;
	char data[1024] = "ok";
	int rc = 0;

	switch (text[0]) {
	case 'w':
		rc = writes(name, O_WRONLY | O_CREAT | O_TRUNC, what);
		break;
	case 'a':
		rc = writes(name, O_WRONLY | O_CREAT | O_APPEND, what);
		break;
	case 'u':
		rc = writes(name, O_RDWR | O_CREAT, what);
		break;
	case 'x':
		rc = writes(name, O_WRONLY | O_CREAT | O_EXCL, what);
		break;
	case 'X':
		rc = stream(name, what);
		break;
	case 'r':
		rc = reads(name, data);
		break;
	case 'd':
		rc = by_fdopen(name, what);
		break;
	case 'c':
		rc = by_thread(name, what);
		break;
	case 'n':
		rc = access(none, F_OK);
		break;
	case 'e':
		rc = access(name, F_OK);
		break;
	case 'm':
		rc = rename(name, what);
		break;
	case 'f':
		rc = opens_full(name);
		break;
	default:
		errno = EINVAL;
		rc = -1;
	}
	printf("%d %c %s %s\n", rank, text[0], name,
	       rc < 0 ? error_name(errno) : data);
}

int
main(int argc, char **argv)
{
	char text[1024];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 1; i < argc; i++) {
		const char *at = argv[i];

		if (at[0] >= '0' && at[0] <= '9') {
			if (at[0] - '0' != rank)
				continue;
			at += 2;
		}
		expand(at, text);
		if (text[0] == 'b')
			MPI_Barrier(MPI_COMM_WORLD);
		else if (text[0] == 's')
			rank = system(text + 2) == 0 ? rank : -1;
		else
			call(text);
	}
	MPI_Finalize();
	return 0;
}
