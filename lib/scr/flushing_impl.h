/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_impl.h - shared by the files of module flushing. */
#ifndef SCR_FLUSHING_IMPL_H
#define SCR_FLUSHING_IMPL_H

#include "scr/flushing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/written.h"
#include "error.h"
#include "meta/attr.h"
#include "transfer/pace.h"

struct arena;
struct flush_pack;
struct held_set;
struct kvtree;
struct pump_list;
struct put;
struct put_file;
struct rank2file;
struct rank2file_file;
struct rank2file_seg;
struct run;
struct segmap;

struct flush_file {
	const char *from; /* absolute, in cache; with bypass on the prefix */
	const char *rel;  /* below the prefix */
	struct attr attr;
	bool has_crc; /* from the filemap, or computed during the copy */
	uint32_t crc;
	struct put_file *to; /* NULL: it is in place */
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
	 * each with its NUL; NULL: not known yet. */
	char *homed;
	size_t homed_len;
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

/* --- Into containers (flushing_pack.h) --- */

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
 * them is missing, and the table of those that this rank placed goes into
 * `ctr`.  Collective. */
int flushing_pack_place(struct flushing *f, struct kvtree *ctr,
			struct error *err);

/* Set the segments of a file of this rank; `to` has room for them, as many as
 * flushing_pack_count(). */
size_t flushing_pack_count(const struct flushing *f, size_t file);
void flushing_pack_segs(const struct flushing *f, size_t file,
			struct rank2file_seg *to, struct rank2file_file *is);

/* Write the part of the map for the ranks from this one, whose files are in `r`
 * and in `m`, and record it in `ctr`. */
int flushing_pack_part(const struct flushing *f, int fd,
		       const struct rank2file *r, const struct segmap *m,
		       struct kvtree *ctr, struct error *err);

/* Rank 0 writes the top file with what all ranks have recorded.  Collective. */
int flushing_pack_top(const struct flushing *f, int fd, struct kvtree *ctr,
		      struct error *err);

/* The flush has failed: remove what it wrote, unless a map names it. */
void flushing_pack_undo(const struct flushing *f);

#endif /* SCR_FLUSHING_IMPL_H */
