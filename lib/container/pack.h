/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack.h - the files of a dataset into containers, back, and into others.
 *
 * The dataset is valid at every moment, in one of its two forms: what is new
 * is written beside what is there, synced, read again and compared; then one
 * rename (of rank2file's top file) decides; what is superfluous then goes
 * last.  Whatever interrupts it, the same call can be made again, and goes on
 * or cleans up.
 */
#ifndef CONTAINER_PACK_H
#define CONTAINER_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/packed.h"

enum pack_order {
	PACK_AS_IS, /* pack: as PACK_NODE; repack: as they are */
	PACK_NODE,  /* ranks of one node together, as far as it is known */
	PACK_RANK,
	PACK_NAME,
};

struct pack_options {
	uint64_t size; /* of a container, in bytes; 0: as it is, or the
			  default */
	enum pack_order order;
	bool redundancy; /* pack filemaps and redundancy files, too */
	bool keep;	 /* leave the originals where they are */
	int layout; /* 1: pack a copy in the layout of SCR 1.1.8, and keep the
			    dataset as it is; else 0 */
	bool force; /* unpack: over files that differ */
	const struct work *work;
};

struct pack_result {
	size_t files, containers; /* of user files; with bytes, containers */
	size_t hidden;		  /* of metadata */
	size_t adopted;		  /* unpack: were there, and right */
	size_t removed;		  /* originals, or containers */
	size_t left;		  /* originals that changed meanwhile: left */
	uint64_t bytes;
	bool done_before; /* nothing was to be done but cleaning up */
};

/*
 * Pack the dataset `p`, which must be whole: files that are missing or not as
 * long as recorded, or whose checksum is wrong, are ERROR_DAMAGED.  Of one
 * that is packed only what an interrupted run left is cleaned up.
 * ERROR_SYSTEM with ENOSPC: not enough room, before anything was written.
 */
int pack(struct packed *p, const struct pack_options *po,
	 struct pack_result *out, struct error *err);

/* The reverse, with modes, owners and times.  ERROR_DAMAGED: some bytes are
 * missing or wrong; ERROR_SYSTEM with EEXIST: another file is in the way. */
int unpack(struct packed *p, const struct pack_options *po,
	   struct pack_result *out, struct error *err);

/*
 * Other containers for a packed dataset: of another size, or with the files in
 * another order.  Needs room for an eighth of it, or for one container.
 * ERROR_DAMAGED: repair it first.
 */
int repack(struct packed *p, const struct pack_options *po,
	   struct pack_result *out, struct error *err);

#endif /* CONTAINER_PACK_H */
