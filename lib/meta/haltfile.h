/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * haltfile.h - halt.scr: the conditions under which a job is to stop
 * (scr-dataset(5)).
 */
#ifndef META_HALTFILE_H
#define META_HALTFILE_H

#include <stdint.h>

struct error;
struct kvtree;

#define HALT_FILE "halt.scr"

/* Our own key beside those of LLNL's library: the reason that a job had when it
 * came to its end, and recorded that as its reason. */
#define HALT_OBEYED "ObeyedReason"

struct halt {
	const char *reason; /* ExitReason or NULL; borrowed from the tree */
	int64_t checkpoints_left;	 /* -1: not set; 0: the last checkpoint
					    was written */
	int64_t exit_before, exit_after; /* epoch seconds; -1: not set */
	int64_t halt_seconds;		 /* -1: not set */
	const char *obeyed; /* HALT_OBEYED or NULL; borrowed, too */
};

/* Read all conditions.  Counts and times below zero are read as 0.
 * ERROR_CORRUPT names the key of an invalid value. */
int halt_read(const struct kvtree *t, struct halt *out, struct error *err);

/* Read CheckpointsLeft as LLNL's tools print it: they store it in 32 bits and
 * write -1 as 4294967295. */
int halt_read_checkpoints(const struct kvtree *t, int64_t *out,
			  struct error *err);

/* Set one condition, or remove it (value NULL or -1).  A condition that is set
 * becomes the first key, as with LLNL's tool.  A reason removes HALT_OBEYED. */
int halt_set_reason(struct kvtree *t, const char *reason, struct error *err);
int halt_set_number(struct kvtree *t, const char *key, int64_t value,
		    struct error *err);

#endif /* META_HALTFILE_H */
