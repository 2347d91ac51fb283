/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_impl.h - shared by the files of module flushing. */
#ifndef SCR_FLUSHING_IMPL_H
#define SCR_FLUSHING_IMPL_H

#include "scr/flushing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/written.h"
#include "container/hidden.h"
#include "container/joint.h"
#include "container/segmap.h"
#include "error.h"
#include "meta/attr.h"
#include "pace.h"
#include "team/team.h"

struct arena;
struct flush_pack;
struct held_set;
struct kvtree;
struct pump_list;
struct put;
struct put_file;
struct run;

struct flush_file {
	const char *from; /* absolute, in cache; with bypass on the prefix */
	const char *rel;  /* below the prefix */
	struct attr attr;
	bool has_crc; /* from the filemap, or computed during the copy */
	uint32_t crc;
	struct put_file *to; /* NULL: bypass, or it is in place */
};

struct flushing {
	struct run *run;
	struct held_set *s;
	bool resume;   /* an interrupted flush may have put files in place */
	bool replaces; /* files on the prefix */
	double since;  /* clock_seconds() */
	int prefix_fd;
	struct arena *arena;
	struct put *put;	 /* NULL with bypass, or into containers */
	struct flush_pack *pack; /* NULL: not into containers */
	size_t nfiles;
	struct flush_file *files;
	/* In the background (flushing_async.c). */
	struct flushing *next; /* the one that began after it */
	int ended;	       /* 1: its transfers have; -1: failed */
	struct error why;
	/* Of the paths that all ranks write, those that have their home here,
	 * each with its NUL; if they are known (`shared`). */
	bool shared;
	struct team_mail homed;
};

/* Begin to flush: log it, and plan.  `resume`: an interrupted run may have
 * begun before.  ERROR_LOST, ERROR_ABSENT: a file in cache does not match its
 * filemap.  NULL: the flush has failed. */
struct flushing *flushing_begin(struct run *run, struct held_set *s,
				bool resume, struct error *err);

/* The plan. */
struct flushing *flushing_plan(struct run *run, struct held_set *s, bool resume,
			       struct error *err);

/* stop(), if not NULL, is asked by any thread. */
int flushing_transfer(struct flushing *f, bool (*stop)(void *arg), void *arg,
		      struct error *err);

/* With the result of the transfers, commit or give up.  Frees `f`. */
int flushing_end(struct flushing *f, int rc, struct error *err);

void flushing_free(struct flushing *f); /* NULL is ignored */

/* Flush in the background.  False, reported: it cannot begin. */
bool flushing_start(struct run *run, struct held_set *s, bool resume);

/* Rank 0 reports why the dataset stays in the cache. */
void flushing_say(const struct run *run, int64_t id, const struct error *why);

/* --- Transfers: struct pump_list --- */

struct flush_copy {
	struct flushing *f;
	struct pace pace;
};

/* For struct pump, with a struct flush_copy. */
int flushing_pace(void *arg, const void *data, size_t len, uint64_t at,
		  struct error *err);

/*
 * --- Into containers (scr-container.5) ---
 *
 *   flushing_pack.c   the plan, and the transfers
 *   flushing_place.c  the containers get their names
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
	struct joint_how how;
	bool resume;	  /* they may have right bytes */
	struct attr attr; /* of containers */
	/* If redundancy is packed, too, the number of this rank in its set, or
	 * 0; and one more than the highest one: there are so many groups. */
	uint32_t member;
	size_t ngroups;
	/* Tables, of what this rank knows: of the containers; part leader: of
	 * hidden files. */
	struct kvtree *table, *others;
};

/* Plan: lay out the files of all ranks; sets f->pack, and what becomes of a map
 * that is on the prefix.  Nothing is written.  Collective. */
int flushing_pack(struct flushing *f, enum catalogue_map *map,
		  struct error *err);
/* After onprefix_begin(): begin to write.  Collective. */
int flushing_pack_begin(struct flushing *f, struct error *err);
void flushing_pack_free(struct flush_pack *k); /* NULL is ignored */

/* The segments that this rank copies, with a struct flush_copy. */
void flushing_pack_list(const struct flushing *f, struct pump_list *l);
/* After that: the checksums of its files.  ERROR_DAMAGED. */
int flushing_pack_sums(struct flushing *f, struct error *err);

/* When all ranks have copied: the containers get their names, if no byte of
 * them is missing.  Collective. */
int flushing_pack_place(struct flushing *f, struct error *err);

/* --- When all is in place (flushing_place.c) --- */

/* Send the list of this rank's files to its part leader, one in 8192 ranks. */
int flushing_gather(struct flushing *f, struct team_mail *in,
		    struct error *err);

/* Record where all files are: the parts of rank2file, then its top. */
int flushing_record(struct flushing *f, const struct team_mail *in,
		    struct error *err);

#endif /* SCR_FLUSHING_IMPL_H */
