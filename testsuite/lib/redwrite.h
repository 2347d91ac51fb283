/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redwrite.h - write the files of a redundancy set (formats.md 5).  The bodies
 * are computed by code_plain.h, which shares nothing with lib/encode.
 */
#ifndef REDWRITE_H
#define REDWRITE_H

#include "meta/redset.h"

struct error;

struct redwrite {
	const struct redset_member *members; /* descriptors, lists, sizes */
	const uint32_t *ranks;		     /* of each member */
	void *arg;			     /* of both functions */

	/* `len` bytes from `off` of the data string of a member: its files end
	 * to end.  Nothing behind the end is asked for. */
	void (*read)(void *arg, uint32_t member, uint64_t off, size_t len,
		     unsigned char *to);

	/* Bytes of the member's descriptor, or of its redundancy file: the
	 * first call for a file has offset 0.  Returns 0 or -1. */
	int (*write)(void *arg, uint32_t member, bool descriptor, uint64_t off,
		     const void *data, size_t len, struct error *err);
};

/* Write the set that members[0].desc describes.  Returns 0, or -1 with the
 * error of write() or ERROR_NOMEM. */
int redwrite(const struct redwrite *w, struct error *err);

#endif /* REDWRITE_H */
