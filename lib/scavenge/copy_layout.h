/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy_layout.h - the place of each rank's files in the containers that a
 * scavenge writes straight from the caches (containers.md 1).
 *
 * Who plans the scavenge writes it as a kvtree file, JOINT_MARK in the
 * directory of the dataset, and the nodes read it there:
 *
 *   SIZE -> bytes of a container
 *   LAYOUT -> joint_layout()
 *   RESUME, if an earlier run may have left some of the bytes
 *   RANK -> rank -> { START -> place of its first byte in the string of all
 *                     containers, BYTES -> of all its files }
 */
#ifndef SCAVENGE_COPY_LAYOUT_H
#define SCAVENGE_COPY_LAYOUT_H

#include <stdint.h>

struct error;
struct kvtree;

struct layout_rank {
	uint64_t start, bytes;
};

int copy_layout_add(struct kvtree *t, int64_t rank, struct layout_rank r,
		    struct error *err);

/* The place of a rank, and the size of the containers.  ERROR_CORRUPT: it has
 * none, or an absurd one. */
int copy_layout_get(const struct kvtree *t, int64_t rank,
		    struct layout_rank *out, uint64_t *size, struct error *err);

#endif /* SCAVENGE_COPY_LAYOUT_H */
