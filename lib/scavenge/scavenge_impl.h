/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenge_impl.h - what the parts of salvage.h share.
 */
#ifndef SCAVENGE_SCAVENGE_IMPL_H
#define SCAVENGE_SCAVENGE_IMPL_H

#include "scavenge/scavenge.h"

struct buf;

/* Set state, why and missing of `d`, whose ranks have been shared out. */
int scavenge_judge(struct salvage *p, struct salvage_dataset *d,
		   struct error *err);

/* A line for the log. */
void scavenge_say(const struct scavenge *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Shall it stop?  s->stopped then stays. */
bool scavenge_stop(struct scavenge *s);

/* The command line of scr_copy, with room for `more` arguments; *count of them
 * are there.  In the arena. */
const char **scavenge_argv(struct scavenge *s, size_t *count, size_t more,
			   struct error *err);

/* Copy, rebuild, index one dataset: d->done tells whether it is saved.  -1:
 * could not act, or stopped. */
int scavenge_save(struct scavenge *s, struct salvage_dataset *d,
		  struct error *err);

/* It is the checkpoint to restart from. */
int scavenge_make_current(struct scavenge *s, const struct salvage_dataset *d,
			  struct error *err);

/* Delete checkpoints older than the newest s->o->keep. */
int scavenge_prune(struct scavenge *s, struct error *err);

#endif /* SCAVENGE_SCAVENGE_IMPL_H */
