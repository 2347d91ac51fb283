/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild.h - carry out a plan: compute missing files and restore them bit for
 * bit with mode, owner and times.
 *
 * Files that are present and good are not changed.  Each result is written to a
 * temporary file (temp.h) beside its target, synced, and renamed only when all
 * results are verified: data files first, then redundancy files, filemaps last.
 * Files in containers are written in place, protected by a mark on disk
 * (plan_begin_packed()).  An interrupted rebuild never leaves the dataset worse
 * than before and can be started again.
 *
 * Files with a recorded checksum are verified while they are read.  A file with
 * a wrong checksum is marked damaged, and its set is solved again.
 */
#ifndef RESCUE_REBUILD_H
#define RESCUE_REBUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transfer/put.h"

struct deep_result;
struct error;
struct json;
struct json_value;
struct plan;
struct work;

/* What is rebuilt of a dataset; lost redundancy alone never prevents it. */
enum rebuild_extent {
	REBUILD_ALL,	  /* all data, or nothing */
	REBUILD_PARTIAL,  /* what can be, although other data are lost */
	REBUILD_UNPROVED, /* and what nothing confirms (plan.unproved) */
};

struct rebuild_options {
	const struct work *work; /* damaged files that are found are reported
				    with work_detail() */
	enum rebuild_extent extent;
	struct put_guard guard;
	bool trial; /* compute, compare recorded checksums, and write nothing */
	/* Another process may write the same files: put_options. */
	bool unlocked;
};

struct rebuild_result {
	size_t files, maps, redundancy, descriptors; /* numbers of files
							written */
	uint64_t bytes_read, bytes_written;
	size_t crc_checked; /* files whose checksum was verified */
	size_t crc_wrong;   /* files present but damaged, and rebuilt */
	bool deep;	    /* redundancy was compared, and differs */
	bool undecided;	    /* failed: data and redundancy differ, and it is
			       unknown which is wrong */
};

/* As JSON; add what another process printed of a rebuild; add two of them. */
struct json *rebuild_json(const struct rebuild_result *r);
void rebuild_result_read(const struct json_value *j, struct rebuild_result *r);
void rebuild_result_add(struct rebuild_result *r,
			const struct rebuild_result *more);

/* Has it written anything? */
static inline bool
rebuild_wrote(const struct rebuild_result *r)
{
	return r->files + r->maps + r->redundancy + r->descriptors > 0;
}

/*
 * Carry out `p`, or in a dry run only count what that would do, and check the
 * room for it; `o` and `result` may be NULL.  If data are lost, nothing is
 * written (with REBUILD_ALL), and the error is ERROR_LOST with the sentence of
 * plan_error().  After other errors renamed files stay and temporary files are
 * removed.
 */
int rebuild(struct plan *p, const struct rebuild_options *o,
	    struct rebuild_result *result, struct error *err);

/* Finish an interrupted rebuild of a packed dataset that lacks nothing any
 * more. rebuild() calls this, too. */
int rebuild_finish(const struct plan *p, const struct work *work,
		   struct error *err);

/*
 * Look before words: with `deep` deep_search(); with `sums` the rebuild is
 * carried out in memory: what it shows to be wrong is marked, and if the result
 * has not its recorded checksums nevertheless, p.flaw says so.  Nothing is
 * looked at while a renamed directory is away.
 */
int rebuild_search(struct plan *p, bool deep, bool sums,
		   const struct work *work, struct deep_result *out,
		   struct error *err);

#endif /* RESCUE_REBUILD_H */
