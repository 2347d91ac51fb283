/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parity.h - a group of level 3 (fti-format(5)): its lost files, data and
 * parity, as sources whose bytes are computed from k others while they are
 * read.
 *
 * Each data file is extended with zeros to the `length` of the group, which is
 * the size of all parity.  In C to F the last 8 of these bytes are the size of
 * the file.
 *
 * The code works on words of 2 bytes.  Of an odd length, FTI writes only the
 * low byte of the last word of each parity, and so it cannot compute the last
 * byte of the largest files.  But their last words have one byte only, so the
 * low bytes are a system of linear equations over GF(2).  Mostly it has one
 * solution; otherwise the checksum of the file decides among few.
 *
 * Ownership: everything belongs to the struct fti_parity, which borrows its
 * members.  Threads: after fti_parity_open() any number may use it.
 */
#ifndef FTIJOB_PARITY_H
#define FTIJOB_PARITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encode/cauchy.h"
#include "fti/input.h"
#include "fti/layout.h"

#define FTI_SIZE_UNKNOWN UINT64_MAX

/* What a process of the group has. */
struct fti_member {
	/* The files; NULL: lost.  Of parity only `length` bytes are read. */
	const struct fti_source *data, *parity;
	const char *data_name, *parity_name; /* for messages */
	uint64_t size;	 /* of the data file; fti_parity_open() finds it */
	const char *sum; /* POSIX: MD5 of the data file as text, or NULL */
};

/* A lost file, computed. */
struct fti_computed {
	struct fti_source source;
	const struct fti_parity *group;
	struct cauchy *recipe;
};

struct fti_parity {
	/* The caller sets these; all others to 0. */
	unsigned k;
	bool posix;
	enum fti_layout layout; /* unless posix */
	uint64_t length;
	struct fti_member members[CAUCHY_MAX];
	/* Of fti_parity_open().  A last word that is cut has these bytes. */
	unsigned char tail[CAUCHY_MEMBERS_MAX];
	struct fti_computed computed[CAUCHY_MEMBERS_MAX];
	const struct work *work; /* for the pace of what is computed */
};

/*
 * Find sizes and last bytes.  ERROR_LOST: less than k members left;
 * ERROR_CORRUPT: the members contradict each other; or a reading error.  Call
 * fti_parity_close() also after a failure.
 */
int fti_parity_open(struct fti_parity *p, const struct work *w,
		    struct error *err);
void fti_parity_close(struct fti_parity *p);

/* Which members are lost, as cauchy.h numbers them. */
void fti_parity_lost(const struct fti_parity *p, bool lost[CAUCHY_MEMBERS_MAX]);

/* Data (0 ... k-1) or parity (k ... 2k-1, `length` bytes) of the group: the
 * file, or if it is lost its computed bytes. */
const struct fti_source *fti_parity_source(const struct fti_parity *p,
					   unsigned member);

/* A part of all members: bytes `off` ... off + len - 1.  `off` is even; all
 * buffers have room for `len` rounded up to even. */
struct fti_slice {
	uint64_t off;
	size_t len;
	void **in, **out; /* by the numbers of the recipe */
};

/* Compute the slice of all outputs of the recipe.  Bytes of data behind the end
 * of their file are computed, too. */
int fti_parity_run(const struct fti_parity *p, const struct cauchy *c,
		   const struct fti_slice *s, struct error *err);

/* Do the members that are left agree with each other, and is what they give
 * padding behind the data that are lost?  1, 0 or -1. */
int fti_parity_agrees(const struct fti_parity *p, const struct work *w,
		      struct error *err);

/* Are the `len` bytes at `off` what stands behind a data file of `size` bytes:
 * zeros, and in C to F its size? */
bool fti_parity_is_padding(const struct fti_parity *p, uint64_t size,
			   const unsigned char *bytes, size_t len,
			   uint64_t off);

#endif /* FTIJOB_PARITY_H */
