/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer.h - copy one logical byte string to another with a pool of threads,
 * and compute checksums on the way.  Packing, unpacking and checking are
 * transfers with files on one side and containers on the other.
 */
#ifndef TRANSFER_TRANSFER_H
#define TRANSFER_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#include "transfer/stripe.h"

struct error;
struct work;

/* A block is small enough to stay in the second-level cache while it is read,
 * summed and written. */
#define TRANSFER_BLOCK ((size_t)256 << 10)
#define TRANSFER_BLOCK_MIN ((size_t)4 << 10)

struct transfer_options {
	/* Threads, memory, progress and stop (ERROR_SYSTEM with EINTR); NULL:
	 * none. */
	const struct work *work;
	uint64_t begin;		    /* offset of the first byte */
	struct stripe_sum *sums;    /* checksums of data read; may be NULL */
	struct stripe_sum *sums_to; /* checksums of data written; may be NULL */
	/*
	 * Called by any thread if a read from `part` fails.  Return 0 to
	 * continue: the unreadable bytes are not written, no checksum counts
	 * them, and the rest is copied.  These are all bytes of the block that
	 * one part of `from` shares with one part of `to`. Return -1 to end the
	 * transfer with error `why`. NULL: the first failed read ends it.
	 */
	int (*unreadable)(void *arg, const struct stripe_part *part,
			  const struct error *why);
	void *arg;
};

/* Copy `len` bytes from o->begin on.  `to` NULL: only read them, for their
 * checksums.  If o->work has help, that does it. */
int transfer(const struct stripe *from, const struct stripe *to, uint64_t len,
	     const struct transfer_options *o, struct error *err);

/* Carries transfers out in another way (struct work): by other nodes.  What it
 * leaves it does itself by transfer(), without help. */
struct transfer_help {
	/* The metadata of the dataset, where it writes what they need to know;
	 * -1: none, transfer() does it. */
	int dirfd;
	int (*fn)(struct transfer_help *h, const struct stripe *from,
		  const struct stripe *to, uint64_t len,
		  const struct transfer_options *o, struct error *err);
};

#endif /* TRANSFER_TRANSFER_H */
