/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.h - the redundancy descriptors: how a dataset is stored and protected
 * (CKPT lines; scrkit.conf(5)).  Without CKPT lines, SCR_COPY_TYPE gives one.
 */
#ifndef SCR_LEVELS_H
#define SCR_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "team/sets.h"
#include "team/team.h"

struct group;
struct run;
struct device;

struct level {
	const char *word;  /* value of CKPT, "0" */
	uint32_t interval; /* every `interval` checkpoints */
	bool output;	   /* for output datasets */
	bool bypass;	   /* files are written to the prefix */
	struct device *store;
	/*
	 * as configured; SINGLE if all ranks fail or share the store together
	 */
	enum redset_type type;
	const struct group *group; /* as configured, like the next two */
	uint64_t size, failures;   /* of a set */
	struct sets_mine set;	   /* of this rank */
	struct team members;	   /* its set */
};

struct levels {
	size_t count;
	struct level *list;
};

/*
 * Read them from the configuration.  A descriptor that cannot be used (unknown
 * type, store or group) is left out, with a warning.  A scheme that the nodes
 * do not allow is replaced by one that they allow, with one warning about the
 * ranks that are not protected.  If no descriptor with INTERVAL 1 remains, one
 * of the defaults is added, with a warning.  Collective.  ERROR_NOMEM,
 * ERROR_USAGE.
 */
int levels_make(struct run *run, struct error *err);
void levels_free(struct levels *l);

/* The descriptor for a dataset with these SCR_FLAGs; `ckpt` is its checkpoint
 * number, if it is one. */
const struct level *levels_choose(const struct levels *l, int flags,
				  int64_t ckpt);

#endif /* SCR_LEVELS_H */
