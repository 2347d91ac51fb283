/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arktest.h - shared by the tests of archives: files to pack, archives of them,
 * and a check of what an archive holds.
 */
#ifndef ARKTEST_H
#define ARKTEST_H

#include "archive/ark.h"
#include "scratch.h"

#define MIB ((size_t)1 << 20)

#define FILTERS (ARK_ZSTD + 1)

struct file {
	const char *path;
	size_t size;
};

extern const struct file few[];
extern char root[128], path[140]; /* scratch directory; the archive inside it */
extern unsigned char *content, *back; /* 10 MiB each */

/* Fill `content` with file number `i`: runs and noise. */
void fill(size_t i, size_t size);

/* --- Writing --- */

/* Add file number `i` to an archive. */
int put(struct ark_out *out, size_t i, const struct file *f, struct error *err);

/* Write an archive of the files that it can hold. */
int write_to(int fd, enum ark_filter filter, const struct file *files,
	     size_t count, struct error *err);

/* Is this compression left out, because it is slow under valgrind?  Otherwise
 * make an archive with it. */
bool is_left_out(enum ark_filter filter);
void write_archive(enum ark_filter filter, const struct file *files,
		   size_t count);

/* --- Reading --- */

struct result {
	size_t count;  /* number of files */
	bool in_order; /* all files are present, and no others */
	bool data;     /* contents are right for every entry whose name is */
	bool attrs;    /* so are the attributes */
	struct error err;
};

/* Read an archive and compare its files with the list. */
struct result read_from(int fd, const struct file *files, size_t count);
struct result read_archive(const struct file *files, size_t count);

/* The same, with the archive read from a pipe that a child fills with `cat`. */
struct result read_piped(const struct file *files, size_t count);

/* Was everything right?  Prints what was not. */
bool is_right(const struct result *r);

/* Is the command installed? */
bool have(const char *tool);

/* Run a shell command in the scratch directory. */
bool run(const char *command);

/* For main(): allocate memory and make the scratch directory. */
void start(void);

#endif /* ARKTEST_H */
