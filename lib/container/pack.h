/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack.h - pack the files of a dataset into containers, unpack them, and repack
 * them into other containers.
 *
 * The dataset is valid at every moment, packed or unpacked.  New files are
 * written beside the old ones, synced, read again and compared.  One rename (of
 * rank2file's top file) then switches to them.  Superfluous files are removed
 * last.  After an interruption, the same call resumes or cleans up.
 */
#ifndef CONTAINER_PACK_H
#define CONTAINER_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/packed.h"
#include "transfer/put.h"

enum pack_order {
	PACK_AS_IS, /* pack: as PACK_NODE; repack: order unchanged */
	PACK_NODE,  /* ranks of one node together, if known */
	PACK_RANK,
	PACK_NAME,
};

/* The effect of losing one container, judged by the names of the redundancy
 * files. */
enum pack_spare {
	PACK_SPARE_UNKNOWN, /* not judged */
	PACK_SPARE_NONE,    /* files are lost: they have no redundancy */
	PACK_SPARE_MAYBE, /* files may be lost: a container has data of several
			       members of a set */
	PACK_SPARE_ONE,	  /* nothing is lost: each set loses one member */
};

/* Called by pack() before it removes originals: set keep[i] if another dataset
 * owns the file paths[i], too. -1: no file is removed. */
struct pack_keep {
	int (*fn)(void *arg, const char *const *paths, size_t count, bool *keep,
		  struct error *err);
	void *arg;
};

struct pack_options {
	/* bytes of a container; 0: unchanged, or the default */
	uint64_t size;
	enum pack_order order;
	/* pack filemaps and redundancy files, too, and, unless the order is
	 * given, put no two members of a redundancy set into one container */
	bool redundancy;
	bool keep; /* do not remove the originals */
	/* 1: pack a copy in the layout of SCR 1.1.8, and leave the dataset
	 * unchanged; else 0 */
	int layout;
	bool force;		 /* unpack: replace files that differ */
	struct put_guard guard;	 /* unpack */
	struct pack_keep others; /* pack; fn NULL: none */
	const struct work *work;
};

struct pack_result {
	size_t files, containers; /* packed user files; containers */
	size_t hidden;	/* packed metadata files; repack: they stay there */
	size_t adopted; /* unpack: existing files that are right */
	size_t removed; /* removed originals or containers; a dry run counts
			   those to be removed */
	size_t left;	/* originals not removed: changed meanwhile */
	size_t shared;	/* the same: another dataset owns them, too */
	enum pack_spare spare;
	uint64_t bytes;
	bool done_before; /* nothing to do except to clean up */
};

/*
 * Pack dataset `p`, which must be whole.  If it is packed already, only
 * leftovers of an interrupted run are removed.  ERROR_DAMAGED: a file is
 * missing, has another size than recorded, or a wrong checksum.  ERROR_SYSTEM
 * with ENOSPC: not enough room; nothing was written.
 */
int pack(struct packed *p, const struct pack_options *po,
	 struct pack_result *out, struct error *err);

/* The attributes of containers: only users who may access all files of both
 * maps may access them; the owner is that of all, if it is the same. */
struct attr pack_attr(const struct segmap *files, const struct segmap *more);

/* Unpack dataset `p`, with modes, owners and times.  ERROR_DAMAGED: bytes are
 * missing or wrong.  ERROR_SYSTEM, also if another file is in the way. */
int unpack(struct packed *p, const struct pack_options *po,
	   struct pack_result *out, struct error *err);

/*
 * Move a packed dataset into other containers: of another size, or with the
 * files in another order.  Needs room for an eighth of the dataset, or for one
 * container.  ERROR_DAMAGED: repair the dataset first.
 */
int repack(struct packed *p, const struct pack_options *po,
	   struct pack_result *out, struct error *err);

/*
 * After a rebuild: remove packed metadata files from the map if a file has
 * replaced them, and remove marks that are no longer needed.  The caller holds
 * the lock.
 */
int pack_forget_replaced(struct packed *p, const struct work *work,
			 struct error *err);

#endif /* CONTAINER_PACK_H */
