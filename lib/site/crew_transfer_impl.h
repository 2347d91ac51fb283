/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crew_transfer_impl.h - the list that crew_transfer.c writes and
 * crew_transfer_part.c reads.
 */
#ifndef SITE_CREW_TRANSFER_IMPL_H
#define SITE_CREW_TRANSFER_IMPL_H

#include <stdint.h>

#include "site/crew_transfer.h"

#define DIRS_MAX 8

/* A section: its head, then these arrays.  All nodes are alike. */
enum { RANGES, DIRS, FROM, TO, TEXT, ARRAYS };
#define MAGIC UINT64_C(0x73637278666572)

struct head {
	uint64_t magic, bytes[ARRAYS];
};

struct range {
	uint64_t begin, len;
};

struct place {
	uint64_t ino, path; /* in TEXT */
};

/* The bytes of a part of the string in these ranges. */
struct item {
	uint64_t start, len, off;
	uint64_t sum_size, sum_off; /* of the checksum; size 0: none */
	uint64_t lent;		    /* TO: the inode of the temporary file */
	uint32_t dir;		    /* UINT32_MAX: only summed */
	uint32_t path;		    /* in TEXT */
};

#endif /* SITE_CREW_TRANSFER_IMPL_H */
