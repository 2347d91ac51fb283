/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue.h - operations on the index of a prefix and the datasets in it.
 *
 * Every change: lock PREFIX/.scr/index.lock, read, change, replace index.scr
 * atomically.  A damaged index is never overwritten: it is kept as
 * index.scr.bak (a second one as index.scr.bak.1 ...), and a new one is made
 * from the dataset directories, as it is where the index is missing;
 * catalogue_notice() tells.
 */
#ifndef CATALOGUE_CATALOGUE_H
#define CATALOGUE_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rescue/rebuild.h"
#include "work.h"

struct buf;
struct error;
struct index;
struct index_entry;
struct json;
struct packed;
struct packed_health;
struct plan;

struct catalogue; /* opaque: an open prefix */

/* Open prefix directory `path`; its .scr need not exist.  ERROR_ABSENT. */
struct catalogue *catalogue_open(const char *path, struct error *err);
void catalogue_close(struct catalogue *c);

const char *catalogue_path(const struct catalogue *c); /* as given */
int catalogue_prefix_fd(const struct catalogue *c);
int catalogue_scr_fd(const struct catalogue *c); /* PREFIX/.scr, or -1 */

/* What reading the index ran into, for the user: lines without the last
 * newline, or NULL.  It stays until catalogue_close(). */
const char *catalogue_notice(const struct catalogue *c);

/*
 * Read the index (no lock).  ERROR_ABSENT: there is none and no dataset
 * directory either.  Damaged, or missing beside dataset directories: an index
 * made from the directories in memory, with catalogue_notice() set and nothing
 * written.  For index_free().
 */
struct index *catalogue_read(struct catalogue *c, struct error *err);

/*
 * Lock, read, `change`, replace.  `change` returns 0 to have the index
 * written, 1 to leave it (a damaged one is repaired all the same), -1 to fail
 * (nothing is written).  PREFIX/.scr is made if missing.
 */
int catalogue_change(struct catalogue *c,
		     int (*change)(struct index *ix, void *arg,
				   struct error *err),
		     void *arg, struct error *err);

enum catalogue_edit_kind {
	CATALOGUE_DROP,	      /* `name` */
	CATALOGUE_DROP_AFTER, /* all with a larger id than `name` */
	CATALOGUE_DROP_ALL,
	CATALOGUE_CURRENT, /* `name`, a checkpoint, is the restart point */
	CATALOGUE_UNCURRENT,
};

/* A change of the index alone; no file of a dataset is touched. */
struct catalogue_edit {
	enum catalogue_edit_kind kind;
	const char *name;
	struct json *names; /* an array for those dropped; or NULL */
	/* What came of it. */
	size_t count;	    /* dropped */
	char current[1024]; /* restart point after it; "": none */
	bool moved;	    /* it was another before */
	char reason[128];   /* why the new restart point is marked NO; "" */
};

/* ERROR_ABSENT: no such dataset, or no checkpoint. */
int catalogue_edit(struct catalogue *c, struct catalogue_edit *e,
		   struct error *err);

/* Remove dataset `id` from the index, also one without a name; see
 * index_remove().  ERROR_ABSENT. */
int catalogue_forget(struct index *ix, int64_t id, struct error *err);

/* --- Datasets --- */

struct catalogue_options {
	struct work work;
	const char *moved_from; /* recorded root, given by hand; or NULL */
	bool checksums; /* read every file: compare recorded checksums, and
			   record those of files that have none (rank2file) */
	bool deep;	/* check the redundancy against the data first */
};

/* plan_prefix() with PLAN_* `flags`; where the recorded root cannot be told,
 * with the one that the index remembers. */
struct plan *catalogue_plan(struct catalogue *c, int64_t id, unsigned flags,
			    const struct catalogue_options *o,
			    struct error *err);

struct build_result {
	char name[1024]; /* of the dataset */
	int status;	 /* STATUS_OK; else not indexed.  A dry run:
			    STATUS_DAMAGED if anything is to be rebuilt */
	size_t ranks, files;
	uint64_t bytes;
	struct rebuild_result rebuild; /* a dry run: what would be */
	bool descriptor_guessed; /* flush.scr had none: see scr_index(1) */
	bool dry_run;
};

/*
 * scr_index --build: plan, rebuild what is missing, write rank2file and
 * summary, put the dataset into the index.  Idempotent; a failed build leaves
 * nothing behind.  A dataset that was flushed, and has no filemaps, is checked
 * against its rank2file instead.  ERROR_LOST, ERROR_DAMAGED (deep check failed
 * and cannot be mended), ERROR_ABSENT, ...
 */
int catalogue_build(struct catalogue *c, int64_t id,
		    const struct catalogue_options *o, struct build_result *out,
		    struct error *err);

/* scr_index --add: index the dataset whose summary bears `name`, if its files
 * are there (sizes, where known).  *id receives its number. */
int catalogue_add(struct catalogue *c, const char *name,
		  const struct catalogue_options *o, int64_t *id,
		  struct error *err);

/* --- Checking --- */

struct verify_result {
	int status; /* STATUS_OK, _DAMAGED (can be rebuilt), _LOST */
	size_t files, bad_files, unchecked; /* unchecked: no size recorded */
	size_t crc_checked;
	uint64_t bytes;
};

/* Called for each problem, with a sentence. */
struct verify_listener {
	void (*tell)(void *arg, const char *what);
	void *arg;
};

/*
 * scr_index --verify: every file of dataset `id`: there, right size, and with
 * o->checksums right contents where a checksum is recorded; o->deep also
 * parity.  `problems` may be NULL.
 */
int catalogue_verify(struct catalogue *c, int64_t id,
		     const struct catalogue_options *o,
		     const struct verify_listener *problems,
		     struct verify_result *out, struct error *err);

/* --- Packed datasets --- */

/*
 * packed_open() for the dataset that `what` names: a name or number in the
 * index, or a directory of layout 1.
 */
int catalogue_packed_open(struct catalogue *c, const char *what, bool lock,
			  const struct catalogue_options *o, struct packed *p,
			  struct error *err);

/*
 * Can redundancy repair what `h` found?  STATUS_DAMAGED or STATUS_LOST, and a
 * sentence with what to do next into `text`.  On failure of our own the status
 * of *err.
 */
int catalogue_packed_outlook(struct catalogue *c, const struct packed *p,
			     const struct packed_health *h,
			     const struct catalogue_options *o,
			     struct buf *text, struct error *err);

/* --- Removing --- */

struct delete_result {
	size_t files, dirs;
	size_t kept;	/* named, but left: another dataset names them too, or
			   they are not plain files below the prefix */
	uint64_t bytes; /* freed */
};

/*
 * Delete the files of dataset `id` that its rank2file or filemaps name, its
 * metadata directory, directories that became empty (never the prefix), then
 * its index entry.  Files nobody names survive, and so do files that another
 * dataset in the index names too.  The entry is marked COMPLETE = 0 before the
 * first file goes, so an interrupted delete is never taken for a valid
 * checkpoint, and can be run again.  ERROR_CORRUPT: it cannot be told which
 * files it has, or which another dataset has; nothing was changed.
 */
int catalogue_delete(struct catalogue *c, int64_t id,
		     const struct catalogue_options *o,
		     struct delete_result *out, struct error *err);

/*
 * Ids of the datasets that scr_index --prune takes away, oldest first, for
 * mem_free(): checkpoints older than the `keep` newest valid ones, valid or
 * not, but never the current one; none if there are not that many.  With
 * `outputs` the same among the datasets that are output and no checkpoint;
 * without, whatever is output stays.  *count is (size_t)-1 on failure:
 * ERROR_DAMAGED (`ix` had to be made anew, so that what is worth keeping is a
 * guess), ERROR_NOMEM.
 */
int64_t *catalogue_prune(const struct catalogue *c, const struct index *ix,
			 size_t keep, bool outputs, size_t *count,
			 struct error *err);

/* The dataset that a user means by `text`: a name of the index, else the
 * number of a dataset in the index (NULL: none) or of a directory.  -1:
 * ERROR_ABSENT. */
int64_t catalogue_resolve(struct catalogue *c, const struct index *ix,
			  const char *text, struct error *err);

/* The ids of all datasets in the index, newest first, or with `text` the one
 * of catalogue_resolve(), likewise. */
int64_t *catalogue_ids(struct catalogue *c, const struct index *ix,
		       const char *text, size_t *count, struct error *err);

/* Dataset ids that have a directory PREFIX/.scr/scr.dataset.ID, ascending, for
 * mem_free(). */
int64_t *catalogue_dirs(struct catalogue *c, size_t *count, struct error *err);

/* --- Listing --- */

struct catalogue_filter {
	bool valid;		    /* only valid ones */
	bool checkpoints, outputs;  /* only these; none of them: all */
	const char *before, *after; /* stamps or their beginnings: FLUSHED <
				       before, >= after; NULL: any */
};

bool catalogue_match(const struct catalogue_filter *f,
		     const struct index_entry *e);

/* Is `text` a stamp or the beginning of one, a day at least, or NULL?
 * ERROR_USAGE. */
int catalogue_check_stamp(const char *text, struct error *err);

enum catalogue_style {
	CATALOGUE_LLNL,	 /* formats.md 12, byte for byte */
	CATALOGUE_WIDE,	 /* with kind, files, size and the reason for NO */
	CATALOGUE_NAMES, /* one a line */
};

/* Write the list of the entries that match; names with control characters are
 * made printable.  Whether `to` took it all, ferror() tells. */
int catalogue_list(const struct index_entry *entries, size_t count,
		   const struct catalogue_filter *f, enum catalogue_style style,
		   FILE *to, struct error *err);

/* One entry as a JSON object; NULL: no memory. */
struct json *catalogue_json(const struct index *ix,
			    const struct index_entry *e);

/* The entries that match, with prefix, restart point and notice. */
struct json *catalogue_list_json(const struct catalogue *c,
				 const struct index *ix,
				 const struct index_entry *entries,
				 size_t count,
				 const struct catalogue_filter *f);

#endif /* CATALOGUE_CATALOGUE_H */
