/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * puttest.h - shared by tests of transfer/put: files below a scratch directory.
 */
#ifndef PUTTEST_H
#define PUTTEST_H

#include "scratch.h"
#include "transfer/put.h"

extern int puttest_fd; /* open on it */

/* Make another, empty scratch directory. */
void puttest_root_new(void);

/* The same, with a new put_new() of the threads `par`. */
struct put *puttest_start(struct par *par);

/* A file that consists of its image. */
struct put_what puttest_image(enum put_kind kind, const char *path,
			      const char *image);
struct put_file *puttest_add(struct put *p, enum put_kind kind,
			     const char *path, const char *image);

/* Write the temporary file completely. */
void puttest_make(struct put_file *f);

/* The path of the temporary file of `path`. */
const char *puttest_temp(const char *path);

/* The number of files below the scratch directory. */
size_t puttest_count(void);

/* Does the file consist of this text? */
bool puttest_holds(const char *path, const char *want);

#endif /* PUTTEST_H */
