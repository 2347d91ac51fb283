/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h - bytes to read: a file, or bytes that are computed from other files
 * while they are read.
 */
#ifndef FTI_INPUT_H
#define FTI_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;
struct hash;
struct work;

struct fti_source {
	uint64_t size;
	const char *name; /* for messages; borrowed */
	/* Read exactly `len` bytes at `off`, below size - len.  Any thread may
	 * call it at any time. */
	int (*read)(const struct fti_source *s, void *to, size_t len,
		    uint64_t off, struct error *err);
	void *arg;
	/* Of fti_source_part(). */
	const struct fti_source *whole;
	uint64_t at;
	/* Of fti_source_open(); else -1, or for the caller. */
	int fd;
	struct stat st;
};

/* The regular file `path` below `dirfd` (AT_FDCWD: the user's choice).  The
 * name is borrowed until fti_source_close(). */
int fti_source_open(struct fti_source *s, int dirfd, const char *path,
		    struct error *err);
void fti_source_close(struct fti_source *s);

/* The bytes of `whole`, which is borrowed, from `at` on: `size`, or as many as
 * it has. */
struct fti_source fti_source_part(const struct fti_source *whole, uint64_t at,
				  uint64_t size);

/* Read with a check of the range: ERROR_CORRUPT. */
int fti_source_read(const struct fti_source *s, void *to, size_t len,
		    uint64_t off, struct error *err);

/* Add `len` bytes from `off` to a sum, and to the progress of `w`, which may be
 * NULL.  -1: they cannot be read, or stopped. */
int fti_source_sum(const struct fti_source *s, uint64_t off, uint64_t len,
		   struct hash *h, const struct work *w, struct error *err);

#endif /* FTI_INPUT_H */
