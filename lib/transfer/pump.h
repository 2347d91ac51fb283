/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pump.h - copy a file: for the scavenge, the flush and the fetch.
 *
 * Each byte is read once, in blocks that stay in the processor's cache while
 * they are summed and written.  Long runs of zeros become holes, and holes are
 * not read.  The kernel starts to write to disk during the copy.  Memory does
 * not depend on the size of the file.
 */
#ifndef TRANSFER_PUMP_H
#define TRANSFER_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct put_file;
struct stripe;
struct stripe_cache;
struct work;

#define PUMP_BLOCK ((size_t)256 << 10)
/* Blocks are whole pages, so that the kernel copies page by page. */
#define PUMP_ALIGN ((size_t)4096)

struct pump {
	int from;
	/* If set, the source instead of `from`: a string without gaps, read
	 * through `cache`. */
	const struct stripe *stripe;
	struct stripe_cache *cache;
	const char *name; /* of the source, for messages */
	uint64_t begin;	  /* offset of the first byte to copy */
	uint64_t size;	  /* offset behind the last one */
	/* Other threads copy the rest of the file: the checksum is not
	 * compared, the length not set. */
	bool part;
	/* The target, without `put`, has bytes of others, too, which copy them:
	 * its length is not set.  The first byte goes to offset `place`. */
	bool shared;
	uint64_t place;
	/* ... and may have bytes of an interrupted run: those that are right
	 * are not written again.  `wrote` is set if others were. */
	bool resumed, wrote;
	bool has_crc; /* the file must have this checksum */
	uint32_t crc; /* CRC-32; set to that of the bytes */
	/* Opened by put_open(), or created empty by the caller; -1: the bytes
	 * are only summed. */
	int to;
	struct put_file *put; /* `to` belongs to it; or NULL */
	const char *to_name;  /* for messages, if `put` is NULL */
	char *block;
	size_t room; /* of `block`; at least 1 */
	/* Called with each block after it was written.  Not called for holes,
	 * unless `to` is -1. -1 ends the copy with *err.  NULL: not called. */
	int (*step)(void *arg, const void *data, size_t len, uint64_t at,
		    struct error *err);
	void *arg;
	const struct work *work; /* for its pace and stop(); or NULL */
};

/*
 * Copy.  Returns 1; 0 if the source is bad: *why says that it cannot be read
 * (ERROR_SYSTEM), ends early (ERROR_CORRUPT) or has another checksum
 * (ERROR_DAMAGED), or why a file of a stripe cannot be opened; or -1 with *err
 * if writing or step() failed, or a stop was requested.
 */
int pump_run(struct pump *p, struct error *why, struct error *err);

/* Bytes that a thread copies at a time. */
#define PUMP_PIECE ((uint64_t)8 << 20)

/*
 * Files that the threads of a pool copy together, large ones in pieces.  Each
 * thread has a block of memory of its own, which it is the first to touch, and
 * a cache of open files for stripes.  Any
 * thread may call the functions below; calls for the same file never overlap.
 */
struct pump_list {
	struct par *par; /* NULL: the calling thread alone */
	size_t count;
	/* The bytes to copy of file `i`; 0 if it is not known before open(). */
	uint64_t (*size)(void *arg, size_t i);
	/* Fill in all of *p except `block`, `room` and `cache`. Returns 1; else
	 * as pump_run(). */
	int (*open)(void *arg, size_t i, struct pump *p, struct error *err);
	/*
	 * Called for each opened file after its last byte:  `rc` and p->crc are
	 * those of pump_run() for the whole file.  Returns `rc`, or -1 with
	 * *err.
	 */
	int (*close)(void *arg, size_t i, const struct pump *p, int rc,
		     struct error *err);
	void *arg;
};

/* Copy all files.  Returns as pump_run(): after the first failure, its result,
 * and some files may not be copied. */
int pump_each(const struct pump_list *l, struct error *err);

#endif /* TRANSFER_PUMP_H */
