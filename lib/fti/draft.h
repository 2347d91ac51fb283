/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * draft.h - the description of an FTI-FF file to write: its blocks and
 * containers, and where the bytes of each come from.  write.h writes it.
 *
 * The fti_describe functions make a draft from a file, from variables, or from
 * raw bytes; then the caller may change layout, ckpt_id, timestamp, max_fs and
 * pt_fs.  fti_draft_plan() computes all offsets and sizes, and refuses what the
 * layout cannot hold.
 *
 * Ownership: a draft owns its lists.  It borrows what it was made from, until
 * fti_draft_fini().  Threads: any number may read it.
 */
#ifndef FTI_DRAFT_H
#define FTI_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fti/layout.h"

struct fti_checked;
struct fti_content;
struct fti_content_var;
struct fti_draft;
struct fti_source;

struct fti_draft_block {
	size_t first; /* number of its first container */
	/* Of fti_draft_plan(). */
	uint64_t at; /* offset of its record */
	uint64_t dbsize;
};

struct fti_draft_container {
	/* fti_draft_plan() sets `fptr`, writing sets `hash`. */
	struct fti_container c;
	/* The bytes in use are those of this variable from c.dptr. */
	const struct fti_content *content;
	const struct fti_content_var *var;
	const unsigned char *expected; /* sum that they must have, or NULL */
};

struct fti_draft {
	enum fti_layout layout;
	bool raw;	  /* only the containers: a POSIX file */
	bool plain;	  /* raw, and without sums */
	const void *head; /* bytes before the containers, or NULL */
	size_t head_size;
	int64_t ckpt_id;    /* -1: not known; C to F need it */
	uint64_t timestamp; /* nanoseconds since 1970 */
	int64_t max_fs;	    /* -1: not of level 3 */
	int64_t pt_fs;	    /* -1: not of level 2 */
	/* fti_describe_repair(): the old sum of the metadata does not prove
	 * that max_fs, pt_fs and timestamp are right. */
	bool unproven;
	struct fti_draft_block *blocks;
	size_t nblocks, room_blocks;
	struct fti_draft_container *containers;
	size_t ncontainers, room_containers;
	/* Of fti_draft_plan(). */
	uint64_t data_size;   /* of all containers */
	uint64_t meta_size;   /* of all records */
	uint64_t size;	      /* of the file */
	uint64_t live;	      /* bytes in use */
	struct fti_meta meta; /* as written */
	struct fti_content *own;
	size_t nown;
};

/*
 * The same blocks and containers as in the file.  fti_check() has read it with
 * data, and fti_proven() holds, or its error is returned.  max_fs and pt_fs are
 * kept if the layout is, because else the sizes of all files change.  E and F
 * have only a part of the timestamp: for other layouts the caller may set it to
 * the time of the file.
 */
int fti_describe_same(struct fti_draft *d, const struct fti_checked *c,
		      enum fti_layout layout, struct error *err);

/* The same in its own layout: only sums and sizes in the records are computed
 * again.  If the record of metadata is damaged, its old sum decides which
 * fields are right; if it is right with none, the draft is `unproven`. */
int fti_describe_repair(struct fti_draft *d, const struct fti_checked *c,
			struct error *err);

/* One block, with one container for each variable.  A container has `room`
 * percent more bytes than its variable.  The caller knows that the data are
 * good (fti_proven()), and sets ckpt_id and timestamp. */
int fti_describe_compact(struct fti_draft *d, const struct fti_content *c,
			 unsigned room, enum fti_layout layout,
			 struct error *err);

/* The same from raw variables. */
struct fti_raw {
	int32_t id;
	const struct fti_source *source;
};
int fti_describe_pack(struct fti_draft *d, const struct fti_raw *vars,
		      size_t count, unsigned room, enum fti_layout layout,
		      struct error *err);

/* The variables one after the other, without records: a POSIX file.  After
 * writing, meta.checksum is the sum of the file, and `fptr` of container i the
 * offset of variable i. */
int fti_describe_posix(struct fti_draft *d, const struct fti_content *c,
		       struct error *err);

/* `len` bytes of a variable from `off` on, behind `d->head`, which the caller
 * may set: of such a file no sums are made. */
void fti_describe_bytes(struct fti_draft *d, const struct fti_content *c,
			const struct fti_content_var *v, uint64_t off,
			uint64_t len);

/* Compute the offsets and sizes.  ERROR_USAGE: the layout cannot hold them, or
 * ckpt_id is not known; the text does not name the file. */
int fti_draft_plan(struct fti_draft *d, struct error *err);

/* Set d->meta, with this checksum. */
void fti_draft_meta(struct fti_draft *d, const char *checksum, struct hash *h);

/* Write the records of a block: `to` has fti_draft_records_size() bytes. */
size_t fti_draft_records_size(const struct fti_draft *d, size_t block);
void fti_draft_records(const struct fti_draft *d, size_t block,
		       unsigned char *to);

/* The number behind that of the last container of the block. */
size_t fti_draft_block_end(const struct fti_draft *d, size_t block);

/* Call it also after a failed fti_describe function. */
void fti_draft_fini(struct fti_draft *d);

#endif /* FTI_DRAFT_H */
