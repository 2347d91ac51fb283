/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h - read and write pipes, sockets and terminals: a wait for the other
 * end stops when the user asks for it.
 *
 * A signal does not end a read(2) that waits in the kernel: its handlers
 * restart calls (app.c), and another thread may get it.  So these functions
 * wait in steps, and call `stop` between them (NULL: never).
 */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

/* Open a file or a pipe that the user named for reading, without waiting for
 * the writer of a pipe.  Returns a descriptor to close, or -1. */
int stream_open(const char *path, struct error *err);

/*
 * read(2) and write(2), which wait also on a non-blocking descriptor. -1 with
 * errno EINTR: stopped.  At most PIPE_BUF bytes are written at a time, except
 * to a file.
 */
ssize_t stream_read(int fd, void *to, size_t room, bool (*stop)(void));
ssize_t stream_write(int fd, const void *data, size_t len, bool (*stop)(void));

/* Write all bytes.  1: the reader of a pipe has closed it. */
int stream_put(int fd, const void *data, size_t len, bool (*stop)(void),
	       struct error *err);

#endif /* STREAM_H */
