/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild.h - carry out a plan: compute what is missing, restore it bit for
 * bit with mode, owner and times.
 *
 * Nothing that is there is touched.  Every result is written to a temporary
 * file (temp.h) beside its target, synced, and renamed only when all
 * of its set is right; data files first, filemaps and redundancy files after
 * them.  Interrupted at any point, the dataset is as it was, or further along;
 * the same rebuild can be run again.
 *
 * Files with a recorded checksum are checked while they are read.  One that
 * turns out wrong becomes an erasure, and its set is solved again.
 */
#ifndef RESCUE_REBUILD_H
#define RESCUE_REBUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct plan;
struct work;

struct rebuild_options {
	const struct work *work; /* damage found on the way is a detail */
	bool partial; /* rebuild the sets that can be, although others are
			 lost */
};

struct rebuild_result {
	size_t files, maps, redundancy, descriptors; /* written */
	uint64_t bytes_read, bytes_written;
	size_t crc_checked; /* files whose checksum was compared */
	size_t crc_wrong;   /* present files found damaged, and repaired */
};

/*
 * Execute `p`; `o` and `result` may be NULL.  If anything is lost, nothing is
 * written (unless `partial`), and ERROR_LOST comes back with plan_error()'s
 * sentence.  On other errors renamed files stay, temporary ones are removed.
 */
int rebuild(struct plan *p, const struct rebuild_options *o,
	    struct rebuild_result *result, struct error *err);

#endif /* RESCUE_REBUILD_H */
