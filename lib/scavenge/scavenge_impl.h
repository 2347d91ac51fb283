/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenge_impl.h - shared by the sources of scavenge.h and salvage.h.
 */
#ifndef SCAVENGE_SCAVENGE_IMPL_H
#define SCAVENGE_SCAVENGE_IMPL_H

#include "scavenge/scavenge.h"

struct buf;

/* Set state, why and missing of `d`, after its ranks were assigned to nodes. */
int scavenge_judge(struct salvage *p, struct salvage_dataset *d,
		   struct error *err);

/* Write a line to the log. */
void scavenge_say(const struct scavenge *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Was a stop requested?  Once true, s->stopped stays set. */
bool scavenge_stop(struct scavenge *s);

/* The arguments that all calls of scr_copy share: *count of them, then NULL,
 * with room for `more` arguments.  In the arena.  NULL: ERROR_NOMEM. */
const char **scavenge_argv(struct scavenge *s, size_t *count, size_t more,
			   struct error *err);

/* Copy, rebuild and index one dataset, and set d->done if it is saved.  -1: the
 * scavenge could not act, or was stopped. */
int scavenge_save(struct scavenge *s, struct salvage_dataset *d,
		  struct error *err);

/* Mark `d` in the index as the checkpoint to restart from. */
int scavenge_make_current(struct scavenge *s, const struct salvage_dataset *d,
			  struct error *err);

/* Delete checkpoints older than the newest s->o->keep. */
int scavenge_prune(struct scavenge *s, struct error *err);

#endif /* SCAVENGE_SCAVENGE_IMPL_H */
