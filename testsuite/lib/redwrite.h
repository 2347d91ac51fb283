/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redwrite.h - write the files of a redundancy set (formats.md 5).  The bodies
 * come from code_plain.h, which shares no code with lib/encode.
 */
#ifndef REDWRITE_H
#define REDWRITE_H

#include "meta/redset.h"

struct redwrite {
	const struct redset_member *members; /* with lists, sizes */
	const uint32_t *ranks;		     /* rank of each member */
	void *arg;			     /* argument of both functions */

	/* Read `len` bytes at `off` of a member's data string (its files end to
	 * end).  Never called for bytes behind the end. */
	void (*read)(void *arg, uint32_t member, uint64_t off, size_t len,
		     unsigned char *to);

	/* Write bytes of the member's descriptor or redundancy file.  The first
	 * call for a file has offset 0. */
	void (*write)(void *arg, uint32_t member, bool descriptor, uint64_t off,
		      const void *data, size_t len);
};

/* Write the set described by members[0].desc. */
void redwrite(const struct redwrite *w);

#endif /* REDWRITE_H */
