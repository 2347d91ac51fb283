/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * haltfile.h - halt.scr: when a job shall stop (formats.md 3.6).
 */
#ifndef META_HALTFILE_H
#define META_HALTFILE_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct kvtree;

#define HALT_FILE "halt.scr"

struct halt {
	const char *reason; /* ExitReason or NULL; borrowed from the tree */
	int64_t checkpoints_left;	 /* -1: not set; 0: this was the last */
	int64_t exit_before, exit_after; /* epoch seconds; -1: not set */
	int64_t halt_seconds;		 /* -1: not set */
};

/* ERROR_CORRUPT: a value that is none; the sentence names the key.  What is
 * below zero, as a count or a time, is read as 0. */
int halt_read(const struct kvtree *t, struct halt *out, struct error *err);

/* CheckpointsLeft as LLNL's tools show it: they keep it in 32 bits, so that -1
 * is written as 4294967295. */
int halt_read_checkpoints(const struct kvtree *t, int64_t *out,
			  struct error *err);

/* Set or (value NULL / -1) remove one condition; a set one becomes the first
 * key, as LLNL's tool leaves it. */
int halt_set_reason(struct kvtree *t, const char *reason, struct error *err);
int halt_set_number(struct kvtree *t, const char *key, int64_t value,
		    struct error *err);

#endif /* META_HALTFILE_H */
