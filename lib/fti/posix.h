/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * posix.h - checkpoints that FTI writes with POSIX I/O.
 *
 * The file of a rank is its variables, one after the other.  An ini file of its
 * group, sector<s>-group<g>.fti (fti-format(5)), describes it: for each member
 * the file, its size and sum, and the variables.  Files of differential
 * checkpoints have layers instead (dcp.c).
 *
 * Ownership: everything belongs to the struct fti_posix.  Threads: any number
 * may read it.
 */
#ifndef FTI_POSIX_H
#define FTI_POSIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

struct arena;
struct buf;
struct fti_content;
struct fti_draft;
struct fti_ini;
struct fti_source;
struct work;

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

/* Write the ini file as FTI does, of files without layers and parity.
 * ERROR_USAGE: a name that such a file cannot hold. */
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

/*
 * --- Layers ---
 *
 * Differential checkpoints that FTI writes with POSIX I/O: one file of
 * layers for each rank (fti-format(5)).
 *
 * The first layer has all variables, cut into blocks; each later one has the
 * blocks that changed.  Only the ini file of the group says where a
 * layer ends, and has its sum.  An ini of an earlier checkpoint fits, too: it
 * has fewer layers.
 *
 * Ownership: the struct fti_dcp owns its lists, and borrows file and source.
 * Threads: any number may read it.
 */

#define FTI_DCP_BLOCK_MIN 512
#define FTI_DCP_BLOCK_MAX 65535

/* A layer: its header, then records. */
struct fti_dcp_layer {
	uint64_t at, end; /* of its records; in layer 0 of the first variable */
	int32_t before;	  /* id of the checkpoint before this one */
	uint64_t blocks;
	/* Of fti_content_dcp().  Nothing protects the numbers of blocks in
	 * later layers.  But FTI writes the blocks of a variable in order: the
	 * first record that breaks this, or is of an unknown variable; 0:
	 * none. */
	uint64_t odd;
};

/* A variable in layer 0. */
struct fti_dcp_var {
	int32_t id;
	uint64_t size, at;
};

struct fti_dcp {
	const struct fti_posix_file *file;
	const struct fti_source *source;
	uint32_t block; /* bytes */
	struct fti_dcp_layer *layers;
	size_t nlayers;
	struct fti_dcp_var *vars; /* of layer 0 */
	size_t nvars;
};

#define FTI_DCP_LAST SIZE_MAX /* the newest layer */

/* Read the headers of all layers.  ERROR_CORRUPT; ERROR_ABSENT: the ini has no
 * layers.  Call fti_dcp_fini() also after a failure. */
int fti_dcp_read(struct fti_dcp *d, const struct fti_posix_file *f,
		 const struct fti_source *s, struct error *err);
void fti_dcp_fini(struct fti_dcp *d);

/*
 * The content after layer `newest`: each block of its newest version up to
 * there.
 * Returns 0; 1: `c` lacks variables, because no file records what size they had
 * then; -1: ERROR_CORRUPT (a block is in no layer), ERROR_USAGE (no such
 * layer).  Call fti_content_fini() in any case.
 *
 * Sizes: an ini has those of its own checkpoint, the newest; layer 0 has its
 * own.  Between them a variable is known if both agree, and no layer has a
 * block beyond this size.
 */
int fti_content_dcp(struct fti_content *c, struct fti_dcp *d, size_t newest,
		    struct error *err);

/* The layer that has byte `at` of the file; nlayers: none. */
size_t fti_dcp_layer(const struct fti_dcp *d, uint64_t at);

/* The id of the checkpoint that `layer` made; -1: the newest, whose id is in
 * the ini. */
int32_t fti_dcp_id(const struct fti_dcp *d, size_t layer);

/*
 * Sum a layer: the MD5 sum of the sums of its blocks.  FTI sums a block by MD5
 * or, in dcp_mode 2, by CRC-32: both results are made, as text.  -1: the bytes
 * cannot be read, or stopped.
 */
struct fti_dcp_sums {
	char md5[HASH_MD5_TEXT], crc[HASH_MD5_TEXT];
};
int fti_dcp_sum(const struct fti_dcp *d, size_t layer,
		struct fti_dcp_sums *sums, const struct work *w,
		struct error *err);

#endif /* FTI_POSIX_H */
