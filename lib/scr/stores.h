/* SPDX-License-Identifier: BSD-3-Clause */
/* stores.h - the devices that hold control and cache directories
 * (scrkit.conf(5)), from STORE lines, SCR_CACHE_BASE and SCR_CNTL_BASE. */
#ifndef SCR_STORES_H
#define SCR_STORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"
#include "team/team.h"

struct memory; /* memory.h */
struct run;

/* Of the directories of a store in memory: links in them are trusted
 * (path.h). */
#define STORES_MEMORY_MODE 0700

struct device {
	const char *base; /* normal path */
	const char *dir;  /* of this job: BASE/USER/scr.JOB, for VIEW=GLOBAL
			     with /node.N below it */
	const struct group *group; /* ranks that share the device */
	/* maximum number of datasets; 0: only the last one */
	uint64_t count;
	bool enabled;	   /* the same on all ranks */
	bool mkdir;	   /* the library makes `dir` */
	bool global;	   /* VIEW=GLOBAL */
	bool threads;	   /* FLUSH=PTHREAD: threads copy its files */
	bool memory;	   /* TYPE=MEMORY: BASE/USER is a store in memory */
	const char *spill; /* SPILL, a normal path, or NULL */
	/* Of the store.  No job: it has the caches of all jobs of the user. */
	struct store_options options; /* spill: SPILL/USER */
	struct memory *tends; /* memory.h: its work on this rank, or NULL */
	struct team sharers;  /* the ranks that share `dir`; its rank 0
				      makes it */
};

struct stores {
	size_t count;
	struct device *list;
	struct device *control; /* of the control directory */
};

/*
 * Read the stores of the run from the configuration, and make the directories
 * of the enabled ones.  A store that cannot be used is disabled on all ranks,
 * with a warning.  Collective.  ERROR_USAGE: no control directory can be made,
 * or nodes share a directory where each should have its own.  ERROR_NOMEM.
 */
int stores_make(struct run *run, struct error *err);
void stores_free(struct stores *s);

/* The store of `path`, by whole components: the longest base above it.  NULL:
 * none. */
struct device *stores_find(const struct stores *s, const char *path);

#endif /* SCR_STORES_H */
