/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * offload.h - copy files out of memory to a disk, while others work: past the
 * page cache, with the I/O class "idle", at a limited rate, and only as long as
 * nobody changes the file.
 */
#ifndef STORE_OFFLOAD_H
#define STORE_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;
struct pace;

struct offload {
	struct pace *pace;
	int from;
	const char *name; /* of both, for messages */
	bool leased;
	struct stat is; /* of `from` */
	int to;		/* a new file; -1: only sum */
	uint32_t crc;	/* set: CRC-32 of the bytes */
	bool unread;	/* set: the error is one of reading */
};

/* Put the I/O of the calling thread, and of those that it starts, into the idle
 * class of ioprio_set(2), or into what this returned before. */
#define OFFLOAD_IDLE (3 << 13)
int offload_class(int io);

/*
 * Take a lease of o->from, F_RDLCK or F_WRLCK: nobody has it open for writing,
 * or at all.  Who opens it so waits until the lease is given back, by close(2).
 * Sets o->is.  False: somebody has.  A file system without leases: true,
 * without o->leased.
 */
bool offload_lease(struct offload *o, int lease);

/* Does the lease hold?  Who wants to read goes on. */
bool offload_holds(const struct offload *o);

/*
 * Copy, with mode, owner, times and extended attributes as far as they can be
 * kept, and sync.  Returns 1; 0: somebody changes the file, or stop() says so;
 * -1: an error of reading or writing.
 */
int offload(struct offload *o, struct error *err);

#endif /* STORE_OFFLOAD_H */
