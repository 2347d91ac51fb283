/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * written.h - the index as a job keeps it: datasets that it writes to the
 * prefix itself, and those that it restarts from.
 */
#ifndef CATALOGUE_WRITTEN_H
#define CATALOGUE_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

struct catalogue;
struct error;
struct kvtree;

/* Raise *id and *ckpt to the highest ids of a dataset and of a checkpoint that
 * the prefix has: in the index, or as a directory of an interrupted run. */
int catalogue_written_ids(struct catalogue *c, int64_t *id, int64_t *ckpt,
			  struct error *err);

/*
 * Before the first file of a dataset is written: add an index entry that is
 * not complete, and make the directory, without an older summary and rank2file.
 * The children of `desc` are its descriptor, with ID and NAME.  An entry of the
 * same name is removed; if it is valid, or was until it was retired for this
 * dataset, it stays until catalogue_written_end(), and nothing is added.
 */
int catalogue_written_begin(struct catalogue *c, const struct kvtree *desc,
			    struct error *err);

/* The files and rank2file are there: write the summary, then a complete index
 * entry, without marks of the past.  A checkpoint becomes CURRENT. */
int catalogue_written_end(struct catalogue *c, const struct kvtree *desc,
			  struct error *err);

enum catalogue_stamp {
	CATALOGUE_FETCHED,   /* a fetch has begun */
	CATALOGUE_FAILED,    /* it failed; CURRENT is unset if it is this */
	CATALOGUE_RESTARTED, /* it succeeded: make it CURRENT */
};

/* Note a fetch of dataset `id` in its entry; without one nothing happens. */
int catalogue_stamp(struct catalogue *c, int64_t id, enum catalogue_stamp stamp,
		    struct error *err);

#endif /* CATALOGUE_WRITTEN_H */
