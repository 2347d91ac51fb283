/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stripe.h - a logical byte string that lies in pieces: in files, in stretches
 * of files (a redundancy body behind its header, segments of containers), or
 * in memory.  What a redundancy set calls a member's data or body.
 */
#ifndef TRANSFER_STRIPE_H
#define TRANSFER_STRIPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct put_file;

#define STRIPE_NO_SUM SIZE_MAX

/* One piece.  Either `mem`; or `put`, which is only written; or `path` beneath
 * `dirfd`, at `off`.  With none of them what is written is summed up and
 * dropped. */
struct stripe_part {
	uint64_t start, len; /* in the string; len > 0 */
	int dirfd;
	const char *path; /* clean and relative; resolved beneath dirfd */
	uint64_t off;	  /* in the file */
	unsigned char *mem;
	struct put_file *put; /* a file that is put in its place; borrowed */
	bool create;	  /* path: made for writing where there is none, 0600 */
	size_t sum;	  /* which running checksum, or STRIPE_NO_SUM */
	uint64_t sum_off; /* offset of the piece in what is summed */
};

/* Parts ascending, without overlap; a gap reads as zero bytes (a padding), and
 * swallows what is written. */
struct stripe {
	size_t nparts;
	struct stripe_part *parts;
};

/*
 * A CRC-32 of `size` bytes that arrive in any order, from any thread, each
 * byte once: crc_shift() makes the parts add up.
 */
struct stripe_sum {
	uint64_t size;
	_Atomic uint64_t seen;
	_Atomic uint32_t crc;
};

/*
 * What one worker keeps from block to block: open files, and running
 * checksums, which are cheap only while blocks follow each other.  `sums`
 * (indexed by part.sum) may be NULL; it is complete once all caches that add
 * to it are freed or dropped.  Threads: one each.
 */
struct stripe_cache; /* opaque */
struct stripe_cache *stripe_cache_new(size_t slots, bool write,
				      struct stripe_sum *sums);
void stripe_cache_free(struct stripe_cache *c);

/* Slots for each of the two caches of each worker, at most `most`: half of the
 * descriptors that the process may have, in all. */
size_t stripe_cache_slots(unsigned nworkers, size_t most);

/* Close everything, complete the sums. */
void stripe_cache_drop(struct stripe_cache *c);

/* Where the part that `off` lies in ends, or else the next one begins; without
 * either UINT64_MAX. */
uint64_t stripe_cut(const struct stripe *s, uint64_t off);

/* `len` bytes at `off`: read, or written.  Errors name the file. */
int stripe_read(const struct stripe *s, struct stripe_cache *c, uint64_t off,
		void *data, size_t len, struct error *err);
int stripe_write(const struct stripe *s, struct stripe_cache *c, uint64_t off,
		 const void *data, size_t len, struct error *err);

#endif /* TRANSFER_STRIPE_H */
