/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h - bytes to read: a file, or bytes that are computed from other files
 * while they are read; and the variables that they hold.
 */
#ifndef FTI_INPUT_H
#define FTI_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;
struct fti_file;
struct fti_posix_var;
struct fti_source;
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

/*
 * A content: the variables that a checkpoint of one rank holds, whatever the
 * format of its file, and where the bytes of each are.
 *
 * Everything that works on variables (extract, compare, convert) takes a
 * content.  It is made from an FTI-FF file here, from a POSIX file by posix.h,
 * from a file of differential checkpoints by dcp.c.
 *
 * Ownership: the content owns its lists; the source is borrowed.  Threads: any
 * number may read it.
 */

/* Bytes of a variable. */
struct fti_range {
	uint64_t off, len;
};

/* A run of bytes of a variable.  The pieces of a variable are in the order of
 * their bytes, without gaps. */
struct fti_piece {
	uint64_t off; /* in the variable */
	uint64_t at;  /* in the file */
	uint64_t len;
};

struct fti_content_var {
	int32_t id;
	uint64_t size;
	size_t first, count; /* pieces */
	/* Type, name and dimensions, which only POSIX files have; borrowed.
	 * NULL: not known. */
	const struct fti_posix_var *described;
};

struct fti_content {
	const struct fti_source *source;
	struct fti_content_var *vars; /* in the order of the file */
	size_t nvars, room_vars;
	struct fti_piece *pieces;
	size_t npieces, room_pieces;
};

/* The content of an FTI-FF file.  ERROR_CORRUPT: its structure is damaged. */
int fti_content_file(struct fti_content *c, const struct fti_file *f,
		     const struct fti_source *s, struct error *err);
void fti_content_fini(struct fti_content *c);

/* For modules that make a content: begin the next variable, and add the next
 * piece of the last one. */
void fti_content_add_var(struct fti_content *c, int32_t id);
void fti_content_add_piece(struct fti_content *c, uint64_t at, uint64_t len);

/* The variables by id, for mem_free().  NULL: ERROR_CORRUPT (an id occurs
 * twice). */
const struct fti_content_var **fti_content_sorted(const struct fti_content *c,
						  struct error *err);

/* The number of the piece with byte `off` of the variable, which has such a
 * byte. */
size_t fti_content_piece(const struct fti_content *c,
			 const struct fti_content_var *v, uint64_t off);

/* Read `len` bytes of the variable from `off`. */
int fti_content_read(const struct fti_content *c,
		     const struct fti_content_var *v, void *to, size_t len,
		     uint64_t off, struct error *err);

#endif /* FTI_INPUT_H */
