/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drain.h - copy the finished files of a store to a directory on a disk or a
 * parallel file system, while the application computes.
 *
 * A file is finished if no process has it open for writing, or died so.  Links
 * to files, such as those to spilled ones, are followed.  A file that is there
 * already is read, and copied only if size, time or checksum (CRC-32) differ:
 * so an interrupted drain is resumed, and a second one compares.
 */
#ifndef STORE_DRAIN_H
#define STORE_DRAIN_H

#include <stdint.h>

#include "store/names.h"

struct error;
struct pace;
struct work;
struct store;

enum drain_state {
	DRAIN_LISTED, /* the drain ended before */
	DRAIN_COPIED,
	DRAIN_THERE,
	DRAIN_UNFINISHED,
	DRAIN_GONE, /* deleted meanwhile */
	DRAIN_BAD,  /* it cannot be read, for `errnum` (EISDIR: no file) */
	DRAIN_STATES
};

struct drain_file {
	enum drain_state state;
	int errnum;
	uint64_t size;
	uint32_t crc; /* if it is copied or there */
};

/* The files of `names`, in their order. */
struct drained {
	struct names names;
	struct drain_file *files;
};

/*
 * Copy to the directory `to`, which is made if it is missing, with the threads
 * of `w`.  The states of all files go to *d, also after an error, to be
 * freed by drain_free().  Returns 0 also if there are unfinished or bad ones.
 * -1: `to` is in the store, or cannot be written to.
 */
int drain(const struct store *s, const char *to, struct pace *p,
	  const struct work *w, struct drained *d, struct error *err);
void drain_free(struct drained *d);

#endif /* STORE_DRAIN_H */
