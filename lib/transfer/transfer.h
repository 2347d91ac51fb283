/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer.h - copy one logical byte string to another on a pool of threads,
 * summing up on the way: packing, unpacking and checking are all this, with
 * files on one side and containers on the other.
 */
#ifndef TRANSFER_TRANSFER_H
#define TRANSFER_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transfer/stripe.h"

struct error;
struct work;

/* A block is read, summed and written while it is in the second-level cache. */
#define TRANSFER_BLOCK ((size_t)256 << 10)
#define TRANSFER_BLOCK_MIN ((size_t)4 << 10)

struct transfer_options {
	const struct work *work;    /* threads, memory, progress, stop (which is
				       ERROR_SYSTEM EINTR); NULL: none */
	struct stripe_sum *sums;    /* of what is read; may be NULL */
	struct stripe_sum *sums_to; /* of what is written; may be NULL */
	/* What to do where reading fails: NULL, or returning -1, ends it; 0:
	 * the bytes that go to the same part count as not seen by any sum, and
	 * the rest is copied.  May be called by any thread. */
	int (*unreadable)(void *arg, const struct error *why);
	void *arg;
};

/* Copy bytes 0 ... len - 1. */
int transfer(const struct stripe *from, const struct stripe *to, uint64_t len,
	     const struct transfer_options *o, struct error *err);

#endif /* TRANSFER_TRANSFER_H */
