/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arktest.h - shared by the tests of archives: files to pack, archives of them
 * in every format that can be read, and a check of what an archive holds.
 */
#ifndef ARKTEST_H
#define ARKTEST_H

#include "archive/ark.h"
#include "scratch.h"

#define MIB ((size_t)1 << 20)

/* The formats that are read.  Only PAX is written by scrkit; bsdtar converts it
 * to the others. */
enum made { PAX, CPIO, ZIP, SEVEN };

/* All pairs of format and filter that work together.  Those that scrkit writes
 * come first. */
#define PAIRS 13
#define OWN_PAIRS 4

extern const struct pair {
	enum made format;
	enum ark_filter filter;
	bool sums; /* does it sum all bytes, or at least the data? */
} pairs[PAIRS];

struct file {
	const char *path;
	size_t size;
};

extern const struct file few[];
extern char root[128], path[140]; /* scratch directory; the archive inside it */
extern unsigned char *content, *back; /* 10 MiB each */

/* Fill `content` with file number `i`: runs, noise, and the byte sequence that
 * ends the data of a zip member. */
void fill(size_t i, size_t size);

/* --- Writing --- */

/* Add file number `i` to an archive. */
int put(struct ark_out *out, size_t i, const struct file *f, struct error *err);

/* Can an archive of that format, written by scrkit or bsdtar, hold the name
 * unchanged? */
bool holds(enum made format, const char *name);

/* Write a scrkit archive of the files that `made` can hold. */
int write_to(int fd, enum ark_filter filter, enum made format,
	     const struct file *files, size_t count, struct error *err);

/* Is this pair left out, because it cannot be made on this machine, or because
 * compression is slow under valgrind?  Otherwise make an archive of it. */
bool is_left_out(size_t pair);
void write_archive(size_t pair, const struct file *files, size_t count);

/* --- Reading --- */

struct result {
	size_t count;  /* number of files */
	bool in_order; /* all files are present, and no others */
	bool data;     /* contents are right for every entry whose name is */
	bool attrs;    /* so are the attributes that the format keeps */
	struct error err;
};

/* Read an archive and compare its files with the list. */
struct result read_from(int fd, enum made format, const struct file *files,
			size_t count);
struct result read_archive(enum made format, const struct file *files,
			   size_t count);

/* The same, with the archive read from a pipe that a child fills with `cat`. */
struct result read_piped(enum made format, const struct file *files,
			 size_t count);

/* Was everything right?  Prints what was not. */
bool is_right(const struct result *r);

/* "FORMAT FILTER"; the string is from fmt(). */
const char *pair_name(size_t pair);

/* Is the command installed? */
bool have(const char *tool);

/* Run a shell command in the scratch directory. */
bool run(const char *command);

/* For main(): allocate memory and make the scratch directory. */
void start(void);

#endif /* ARKTEST_H */
