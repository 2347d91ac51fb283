/* SPDX-License-Identifier: BSD-3-Clause */
/* written.h - the index entries of datasets that a job writes to the prefix
 * itself, and of those that it restarts from. */
#ifndef CATALOGUE_WRITTEN_H
#define CATALOGUE_WRITTEN_H

#include <stdint.h>

struct catalogue;
struct error;
struct kvtree;

/* Raise *id and *ckpt to the highest ids of a dataset and of a checkpoint on
 * the prefix: in the index, or as a directory of an interrupted run. */
int catalogue_written_ids(struct catalogue *c, int64_t *id, int64_t *ckpt,
			  struct error *err);

/* What becomes of the rank2file in the directory of the dataset. */
enum catalogue_map {
	CATALOGUE_MAP_FREE, /* it goes, but its parts stay until the next one is
			       written: they are true of files in place */
	CATALOGUE_MAP_GONE, /* all of it goes: its containers get other bytes */
	CATALOGUE_MAP_KEPT, /* the dataset has the same one */
};

/*
 * Call before the first file of a dataset is written.  Add an incomplete index
 * entry, and make the directory, without an older summary and, as `map` says,
 * rank2file.  ERROR_USAGE: a valid one, made at another time, has this number:
 * that of another job.  The
 * children of `desc` are its descriptor, with ID and NAME.  An existing entry
 * of the same name is removed.  But an entry that is valid, or was until it was
 * retired for this dataset, stays until catalogue_written_end(), and no new
 * entry is added yet.
 */
int catalogue_written_begin(struct catalogue *c, const struct kvtree *desc,
			    enum catalogue_map map, struct error *err);

/* Call when files and rank2file are complete.  Write the summary, then a
 * complete index entry, without older marks.  A checkpoint becomes CURRENT.
 * The containers of a dataset that had the same name, which leaves the index,
 * are removed. */
int catalogue_written_end(struct catalogue *c, const struct kvtree *desc,
			  struct error *err);

enum catalogue_stamp {
	CATALOGUE_FETCHED, /* a fetch has begun */
	/* it failed; CURRENT is removed if it names this dataset */
	CATALOGUE_FAILED,
	CATALOGUE_RESTARTED, /* it succeeded: make it CURRENT */
};

/* Record a fetch of dataset `id` in its entry, if it has one. */
int catalogue_stamp(struct catalogue *c, int64_t id, enum catalogue_stamp stamp,
		    struct error *err);

#endif /* CATALOGUE_WRITTEN_H */
