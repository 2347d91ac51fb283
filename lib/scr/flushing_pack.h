/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flushing_pack.h - a flush into containers (containers.md 1).
 *
 *   flushing_pack.c   the plan, and the transfers
 *   flushing_place.c  the containers get their names; the map
 *
 * The place of a rank's bytes is the sum of those of the ranks before it: node
 * after node, on each rank after rank.  Every rank writes its own into the
 * containers, and tells what it wrote to the rank that places the container.
 * That one knows then that no byte is missing, and its checksum.
 *
 * With SCR_CONTAINER_REDUNDANCY, the redundancy and the metadata of the cache
 * are packed, too, and no two members of a redundancy set share a container:
 * the ranks are ordered by their number in their set, and each number begins a
 * new container, as scr_container(1) does it.
 */
#ifndef SCR_FLUSHING_PACK_H
#define SCR_FLUSHING_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/hidden.h"
#include "container/joint.h"
#include "container/segmap.h"
#include "meta/attr.h"
#include "team/team.h"

/* A segment of a file of this rank. */
struct piece {
	size_t file;
	uint64_t begin; /* in the file */
	uint32_t crc;
};

/* Bytes of all ranks that begin in a new container. */
struct span {
	uint64_t start, bytes;
};

/* All files of a kind, one after the other; of this rank: */
struct string {
	struct segmap *map;
	const char *const *from; /* by file of the map: absolute */
	struct piece *pieces;	 /* by segment */
	struct joint *joint;
	uint64_t start; /* of its bytes */
	uint64_t bytes; /* of all ranks */
	struct span *groups;
};

/* Data; and the redundancy and metadata of the cache. */
enum { DATA, RED, STRINGS };

struct flush_pack {
	struct string s[STRINGS];
	struct segmap map;
	struct hidden hidden;
	int root_fd;
	uint64_t layout;  /* joint_layout() */
	bool mapped;	  /* by the same map: containers have their names */
	bool resume;	  /* they may have right bytes */
	struct attr attr; /* of containers */
	/* If redundancy is packed, too, the number of this rank in its set, or
	 * 0; and one more than the highest one: there are so many groups. */
	uint32_t member;
	size_t ngroups;
	struct team_mail tables; /* part leader: of hidden files */
};

struct joint_how flushing_pack_how(const struct flush_pack *k);

#endif /* SCR_FLUSHING_PACK_H */
