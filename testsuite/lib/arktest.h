/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arktest.h - what tests of archives share: files to pack, packing them in
 * every format that is read, and a look at what is in an archive.
 */
#ifndef ARKTEST_H
#define ARKTEST_H

#include "container/ark.h"
#include "scratch.h"

#define MIB ((size_t)1 << 20)

/* What is read.  All but PAX bsdtar makes, of an archive that we wrote. */
enum made { PAX, CPIO, ZIP, SEVEN };

/* Every pair of format and filter that goes together, first those that we
 * write. */
#define PAIRS 13
#define OWN_PAIRS 4

extern const struct pair {
	enum made format;
	enum ark_filter filter;
	bool sums; /* of all bytes, or at least of the data */
} pairs[PAIRS];

struct file {
	const char *path;
	size_t size;
};

extern const struct file few[];
extern char root[128], path[140];     /* for scratch; the archive in it */
extern unsigned char *content, *back; /* of 10 MiB */

/* What stands in file number `i`: runs, noise, and what ends data in zip. */
void fill(size_t i, size_t size);

/* --- Writing --- */

/* Add file number `i` to an archive. */
int put(struct ark_out *out, size_t i, const struct file *f, struct error *err);

/* Does an archive of that format, if it is ours or bsdtar made it, hold the
 * name unchanged? */
bool holds(enum made format, const char *name);

/* An archive of ours, of those files which that format can hold. */
int write_to(int fd, enum ark_filter filter, enum made format,
	     const struct file *files, size_t count, struct error *err);

/* Can archives of that pair be made here?  Make one. */
bool can_make(size_t pair);
void write_archive(size_t pair, const struct file *files, size_t count);

/* --- Reading --- */

struct result {
	size_t count;  /* files */
	bool in_order; /* they are all there, and nothing else */
	bool data;     /* contents are right where the name is */
	bool attrs;    /* so is the rest, as far as the format keeps it */
	struct error err;
};

/* Read an archive and compare its files with the list. */
struct result read_from(int fd, enum made format, const struct file *files,
			size_t count);
struct result read_archive(enum made format, const struct file *files,
			   size_t count);

/* The same through a pipe, which a child fills by `cat`. */
struct result read_piped(enum made format, const struct file *files,
			 size_t count);

/* Was all as it should be?  Says what was not. */
bool is_right(const struct result *r);

/* "FORMAT FILTER", as fmt() makes it. */
const char *pair_name(size_t pair);

/* Is there such a command? */
bool have(const char *tool);

/* Run a command of the shell in the scratch directory. */
bool run(const char *command);

/* For main(): memory and a scratch directory; free them and end the test. */
void start(void);
int finish(void);

#endif /* ARKTEST_H */
