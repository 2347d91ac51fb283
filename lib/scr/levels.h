/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * levels.h - the redundancy descriptors: how a dataset is stored and protected
 * (CKPT lines; libscr.md 4.3).  Without CKPT lines, the one that SCR_COPY_TYPE
 * asks for.
 */
#ifndef SCR_LEVELS_H
#define SCR_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scr/sets.h"
#include "scr/team.h"

struct run;
struct store;

struct level {
	const char *word;  /* value of CKPT, "0" */
	uint32_t interval; /* for each so many checkpoints */
	bool output;	   /* for output datasets */
	bool bypass;	   /* files are written to the prefix */
	struct store *store;
	enum redset_type type; /* asked for; SINGLE if all ranks fail or
				     share the store together */
	struct sets_mine set;  /* of this rank */
	struct team members;   /* its set */
};

struct levels {
	size_t count;
	struct level *list;
};

/*
 * Read them from the configuration.  One that cannot be used (unknown type,
 * store or group) is left out, with a warning; a scheme that the nodes do not
 * allow is replaced by what they allow, with one warning about the ranks that
 * are not protected.  If none is left with INTERVAL 1, one of the defaults is
 * added, with a warning.  Collective.  ERROR_NOMEM, ERROR_USAGE.
 */
int levels_make(struct levels *l, struct run *run, struct error *err);
void levels_free(struct levels *l);

/* The descriptor for a dataset with these SCR_FLAGs; `ckpt` is its checkpoint
 * number, if it is one. */
const struct level *levels_choose(const struct levels *l, int flags,
				  int64_t ckpt);

#endif /* SCR_LEVELS_H */
