/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"

/* Milliseconds between two calls of `stop`. */
#define PAUSE 200

/* Wait until `fd` is ready.  After a stop, data that are ready are still
 * transferred. */
static int
await(int fd, short events, bool (*stop)(void))
{
	struct pollfd p = { .fd = fd, .events = events };
	bool stopped = false;
	int n = 0;

	for (;;) {
		stopped = stop != NULL && stop();
		n = poll(&p, 1, stopped ? 0 : stop != NULL ? PAUSE : -1);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -1;
		if (stopped) {
			errno = EINTR;
			return -1;
		}
	}
}

int
stream_open(const char *path, struct error *err)
{
	int fd = dir_open_file(AT_FDCWD, path,
			       O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

	if (fd < 0)
		return error_sys(err, "%s: cannot open", path);
	return fd;
}

ssize_t
stream_read(int fd, void *to, size_t room, bool (*stop)(void))
{
	ssize_t n = -1;

	do {
		if (await(fd, POLLIN, stop) < 0)
			return -1;
		n = read(fd, to, room);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n;
}

ssize_t
stream_write(int fd, const void *data, size_t len, bool (*stop)(void))
{
	struct stat st;
	ssize_t n = -1;

	/* A longer write would wait until the pipe has taken all of it. */
	if (len > PIPE_BUF && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		len = PIPE_BUF;
	do {
		if (await(fd, POLLOUT, stop) < 0)
			return -1;
		n = write(fd, data, len);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n;
}

int
stream_put(int fd, const void *data, size_t len, bool (*stop)(void),
	   struct error *err)
{
	while (len > 0) {
		ssize_t n = stream_write(fd, data, len, stop);

		if (n < 0 && errno == EPIPE)
			return 1;
		if (n < 0 && errno == EINTR)
			return error_sys(err, "stopped");
		if (n < 0)
			return error_sys(err, "cannot write the file's bytes");
		data = (const char *)data + n;
		len -= (size_t)n;
	}
	return 0;
}
