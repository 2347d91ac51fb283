/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * renew_impl.h - what the parts of renew share: the files of a group while
 * they are written.
 */
#ifndef FTIJOB_RENEW_IMPL_H
#define FTIJOB_RENEW_IMPL_H

#include "fti/check.h"
#include "ftijob/renew.h"
#include "hash.h"

struct cauchy;
struct fti_parity;
struct fti_recover;

struct put_file;

/* A file that is written. */
struct renew_out {
	const struct fti_rebuild_file *file;
	struct put_file *put; /* NULL: a dry run */
	uint64_t length; /* bytes that are computed; records follow parity */
	uint64_t next;	 /* the block that is to be summed next */
	/* FTI-FF: the file as it has to be, and its sums. */
	struct fti_checked checked;
	struct fti_pass *pass;
	struct hash *hash;    /* else: a sum over all bytes */
	struct fti_meta meta; /* parity of FTI-FF: its record */
	char sum[HASH_TEXT];  /* of `hash`, in the end */
};

/* Files that are computed together: those of a group, or one copy. */
struct renew_unit {
	struct fti_recover *from;
	const struct fti_parity *parity; /* NULL: a copy of `source` */
	const struct fti_source *source;
	struct cauchy *recipe;
	struct renew_out outs[2 * 31]; /* by the numbers of the recipe */
	unsigned count;
	uint64_t length, nblocks;
};

/* Prepare the unit of files first ... end - 1 of the plan, which are of one
 * group.  At L2: of file `first` only. */
int renew_open_unit(struct renew_unit *u, const struct fti_rebuild *r,
		    size_t first, size_t end, struct error *err);
void renew_close_unit(struct renew_unit *u);

/* All bytes are summed: compare, and write the record of parity. */
int renew_end_out(struct renew_out *o, const struct fti_rebuild *r,
		  struct error *err);

#endif /* FTIJOB_RENEW_IMPL_H */
