/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stripe.h - a logical byte string that is stored in pieces: in files, in
 * ranges of files (the body of a redundancy file behind its header, segments of
 * containers), or in memory.  The data and the body of a member of a redundancy
 * set are such strings.
 */
#ifndef TRANSFER_STRIPE_H
#define TRANSFER_STRIPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct par;
struct put_file;

#define STRIPE_NO_SUM SIZE_MAX

/* One piece.  It is in memory (`mem`); or in a file written by the put engine
 * (`put`, write only); or in file `path` beneath `dirfd`, at offset `off`.  If
 * none of them is set, data written are summed and dropped. */
struct stripe_part {
	uint64_t start, len; /* offset and length in the string; len > 0 */
	int dirfd;
	bool readable;	  /* path_owner_reads(): a stat has said so */
	const char *path; /* clean and relative; resolved beneath dirfd */
	uint64_t off;	  /* offset in the file */
	unsigned char *mem;
	struct put_file *put; /* file of the put engine; borrowed */
	size_t sum;	      /* index of the checksum, or STRIPE_NO_SUM */
	uint64_t sum_off;     /* offset of the piece in the checksummed data */
};

/* Parts are in ascending order and do not overlap.  A gap reads as zero bytes
 * (padding); bytes written to a gap are dropped. */
struct stripe {
	size_t nparts;
	struct stripe_part *parts;
};

/* Make `s` an empty string with room for `n` parts, in `arena`. */
int stripe_room(struct stripe *s, struct arena *arena, size_t n,
		struct error *err);

/* Append a part to a string with room for it.  If the part continues the last
 * one in its file, and neither has a checksum, the last one becomes longer. */
void stripe_add(struct stripe *s, const struct stripe_part *part);

/*
 * A CRC-32 of `size` bytes.  The bytes may arrive in any order and from any
 * thread, but each byte exactly once: crc_shift() makes it possible to combine
 * the parts.
 */
struct stripe_sum {
	uint64_t size;
	_Atomic uint64_t seen;
	_Atomic uint32_t crc;
};

/*
 * State of one worker from block to block: open files, and running checksums,
 * which are cheap only for consecutive blocks.  `sums` (indexed by part.sum)
 * may be NULL.  The checksums are complete when all caches that add to them are
 * freed or dropped.  A cache is used by one thread at a time.  NULL: no memory.
 */
struct stripe_cache; /* opaque */
struct stripe_cache *stripe_cache_new(size_t slots, bool write,
				      struct stripe_sum *sums);
void stripe_cache_free(struct stripe_cache *c);

/* Close all files and complete the checksums. */
void stripe_cache_drop(struct stripe_cache *c);

/* What a thread needs to work on strings. */
struct stripe_worker {
	unsigned char *block; /* memory, aligned to a page */
	struct stripe_cache *in, *out;
};

/*
 * Return an array with a worker for each thread of `par`: `block` bytes of
 * memory, and two caches of at most `slots` slots, which add to `in_sums` and
 * `out_sums`.  All caches together use at most half of the process's
 * descriptors, but each cache has at least 16 slots.  NULL: ERROR_NOMEM.
 */
struct stripe_worker *stripe_workers_new(struct par *par, size_t block,
					 size_t slots,
					 struct stripe_sum *in_sums,
					 struct stripe_sum *out_sums,
					 struct error *err);

/* Close all files and complete the checksums, on the threads of `par`: on a
 * parallel file system, closing a file takes long.  NULL is allowed. */
void stripe_workers_free(struct par *par, struct stripe_worker *w);

/* Return where the part that contains `off` ends.  If `off` is in a gap, return
 * where the next part begins, or UINT64_MAX behind the last part. */
uint64_t stripe_cut(const struct stripe *s, uint64_t off);

/* The part that contains `off`, or the next one; NULL: there is none. */
const struct stripe_part *stripe_part_at(const struct stripe *s, uint64_t off);

/* Read or write `len` bytes at `off`.  Errors name the file. */
int stripe_read(const struct stripe *s, struct stripe_cache *c, uint64_t off,
		void *data, size_t len, struct error *err);
int stripe_write(const struct stripe *s, struct stripe_cache *c, uint64_t off,
		 const void *data, size_t len, struct error *err);

#endif /* TRANSFER_STRIPE_H */
