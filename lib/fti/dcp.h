/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dcp.h - differential checkpoints that FTI writes with POSIX I/O: one file of
 * layers for each rank (fti.md 7).
 *
 * The first layer has all variables, cut into blocks; each later one has the
 * blocks that changed.  Only the ini file of the group (posix.h) says where a
 * layer ends, and has its sum.  An ini of an earlier checkpoint fits, too: it
 * has fewer layers.
 *
 * Ownership: the struct fti_dcp owns its lists, and borrows file and source.
 * Threads: any number may read it.
 */
#ifndef FTI_DCP_H
#define FTI_DCP_H

#include <stddef.h>
#include <stdint.h>

#include "hash.h"

struct fti_content;
struct fti_posix_file;
struct fti_source;
struct work;

#define FTI_DCP_BLOCK_MIN 512
#define FTI_DCP_BLOCK_MAX 65535

/* A layer: its header, then records. */
struct fti_dcp_layer {
	uint64_t at, end; /* of its records; in layer 0 of the first variable */
	int32_t before;	  /* id of the checkpoint before this one */
	uint64_t blocks;
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
 * The content after `layer`: each block of its newest version up to there.
 * Returns 0; 1: `c` lacks variables, because no file records what size they had
 * then; -1: ERROR_CORRUPT (a block is in no layer), ERROR_USAGE (no such
 * layer).  Call fti_content_fini() in any case.
 *
 * Sizes: an ini has those of its own checkpoint, the newest; layer 0 has its
 * own.  Between them a variable is known if both agree, and no layer has a
 * block beyond this size.
 */
int fti_content_dcp(struct fti_content *c, const struct fti_dcp *d,
		    size_t layer, struct error *err);

/*
 * Nothing protects the numbers of blocks in later layers.  But FTI writes the
 * blocks of a variable in order: find the first record of the layer that breaks
 * this, or is of an unknown variable.  Returns 1, and *at is where the record
 * is; 0: none; -1: as fti_content_dcp().
 */
int fti_dcp_odd(const struct fti_dcp *d, size_t layer, uint64_t *at,
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

#endif /* FTI_DCP_H */
