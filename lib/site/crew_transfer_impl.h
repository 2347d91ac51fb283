/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crew_transfer_impl.h - the list that crew_transfer.c writes and
 * crew_transfer_part.c reads.
 */
#ifndef SITE_CREW_TRANSFER_IMPL_H
#define SITE_CREW_TRANSFER_IMPL_H

#include <stdint.h>
#include <sys/stat.h>

#include "site/crew_transfer.h"

#define DIRS_MAX 8

/* A section: its head, then these arrays.  All nodes are alike. */
enum { RANGES, DIRS, FROM, TO, TEXT, ARRAYS };
#define MAGIC UINT64_C(0x7363727866657201) /* its layout */

struct head {
	uint64_t magic, bytes[ARRAYS];
};

struct range {
	uint64_t begin, len;
};

struct place {
	uint64_t ino, owner; /* user and group, of 32 bits each */
	uint64_t path;	     /* in TEXT */
};

static inline uint64_t
place_owner(const struct stat *st)
{
	return (uint64_t)st->st_uid << 32 | st->st_gid;
}

/* The bytes of a part of the string in these ranges. */
struct item {
	uint64_t start, len, off;
	uint64_t sum_size, sum_off; /* of the checksum; size 0: none */
	uint32_t dir;		    /* UINT32_MAX: only summed */
	uint32_t path;		    /* in TEXT */
};

#endif /* SITE_CREW_TRANSFER_IMPL_H */
