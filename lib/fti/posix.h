/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * posix.h - checkpoints that FTI writes with POSIX I/O.
 *
 * The file of a rank is its variables, one after the other.  An ini file of its
 * group, sector<s>-group<g>.fti (fti.md 8), describes it: for each member the
 * file, its size and sum, and the variables.  Files of differential
 * checkpoints have layers instead (dcp.h).
 *
 * Ownership: everything belongs to the struct fti_posix.  Threads: any number
 * may read it.
 */
#ifndef FTI_POSIX_H
#define FTI_POSIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct error;
struct fti_content;
struct fti_draft;
struct fti_ini;
struct fti_source;

#define FTI_POSIX_MEMBERS 31 /* of a group, at most */

struct fti_posix_var {
	int32_t id, type, type_size; /* -1: not recorded */
	uint64_t size;
	uint64_t at; /* in the file; of no meaning if there are layers */
	const char *name, *idchar; /* "" if it has none */
	uint32_t ndims;
	uint64_t *dims;
};

/* A layer of differential checkpoints. */
struct fti_posix_layer {
	uint64_t size;
	const char *sum; /* 30 digits of an MD5 sum, or NULL */
};

struct fti_posix_file {
	const char *name;
	uint64_t size;
	uint64_t max_size; /* largest of the group, and the size of parity */
	const char *sum, *parity_sum; /* MD5 as text; NULL: not recorded */
	struct fti_posix_var *vars;
	size_t nvars;
	struct fti_posix_layer *layers;
	size_t nlayers;
};

struct fti_posix {
	const char *name;	      /* of the ini file */
	bool layered;		      /* ckpt_type is dcp */
	int32_t id;		      /* of the checkpoint; -1: not known */
	struct fti_posix_file *files; /* by member of the group */
	size_t nfiles;
	struct fti_ini *ini; /* of what was read */
	struct arena *arena;
};

/*
 * Read the ini file `path` below `dirfd`, or what was read, which is taken.
 * Whether a variable lies in its file is for the reader of that.  NULL:
 * ERROR_CORRUPT, or a reading error. */
struct fti_posix *fti_posix_read(int dirfd, const char *path,
				 struct error *err);
struct fti_posix *fti_posix_take(struct fti_ini *ini, struct error *err);
void fti_posix_fini(struct fti_posix *p);
void fti_posix_free(struct fti_posix *p); /* NULL is ignored */

/* "int", "double" ... as FTI numbers its own types; NULL: one of the
 * application, or not known. */
const char *fti_type_name(int32_t type);

/* Write the ini file as FTI does.  ERROR_USAGE: a name that such a file cannot
 * hold. */
int fti_posix_print(const struct fti_posix *p, struct buf *out,
		    struct error *err);

/* The same of files that are being written, made from their drafts: a group of
 * `members` files of checkpoint `id`, for fti_posix_fini(). */
void fti_posix_start(struct fti_posix *p, int32_t id, size_t members);

/* The file of a member, after it was written (fti_describe_posix()).  Only what
 * other metadata say of its variables is borrowed, until fti_posix_finish(). */
void fti_posix_set(struct fti_posix *p, size_t member, const char *name,
		   const struct fti_draft *d);

/* Write the ini file, when all members are set.  `name` is for messages. */
int fti_posix_finish(struct fti_posix *p, const char *name, struct buf *out,
		     struct error *err);

/*
 * The content of the file of a rank, which has no layers.  Names are borrowed
 * from `f`.  ERROR_CORRUPT: a variable ends behind the end of the file.  Call
 * fti_content_fini() also after a failure.
 */
int fti_content_posix(struct fti_content *c, const struct fti_posix_file *f,
		      const struct fti_source *s, struct error *err);

#endif /* FTI_POSIX_H */
