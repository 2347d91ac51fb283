/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pump.h - the bytes of one file to its new place: the scavenge, the flush and
 * the fetch copy with it.
 *
 * Each byte is read once, in blocks that stay in the cache of the processor
 * while they are summed and written.  Long runs of zeros become holes, and
 * holes are not read.  The
 * kernel starts to write to disk while the copy goes on.  Memory does not
 * depend on the size of the file.
 */
#ifndef TRANSFER_PUMP_H
#define TRANSFER_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct put_file;

#define PUMP_BLOCK ((size_t)256 << 10)
/* Blocks are whole pages, so that the kernel copies page by page. */
#define PUMP_ALIGN ((size_t)4096)

struct pump {
	int from;
	const char *name; /* of `from`, for messages */
	uint64_t size;	  /* bytes to copy, from offset 0 */
	bool has_crc;	  /* the source must have this checksum */
	uint32_t crc;	  /* CRC-32; set to that of the bytes */
	/* Opened by put_open(), or created empty by the caller; -1: the bytes
	 * are only summed. */
	int to;
	struct put_file *put; /* `to` belongs to it; or NULL */
	const char *to_name;  /* for messages, if `put` is NULL */
	char *block;
	size_t room; /* of `block`; at least 1 */
	/* Called with each block, when it is written; not for holes, except if
	 * `to` is -1.  -1 ends the copy with
	 * *err.  NULL: not called. */
	int (*step)(void *arg, const void *data, size_t len, uint64_t at,
		    struct error *err);
	void *arg;
};

/*
 * Copy.  Returns 1; 0 if the source is bad: *why says that it cannot be read
 * (ERROR_SYSTEM), ends early (ERROR_CORRUPT) or has another checksum
 * (ERROR_DAMAGED); or -1 with *err if writing or step() failed.
 */
int pump_run(struct pump *p, struct error *why, struct error *err);

#endif /* TRANSFER_PUMP_H */
