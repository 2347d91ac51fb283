/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgrtest.h - stand-ins for the commands of resource managers: small
 * scripts first in PATH that print what the real ones print.
 */
#ifndef RESMGRTEST_H
#define RESMGRTEST_H

#include <time.h>

#include "hostlist.h"
#include "scratch.h"
#include "site/resmgr.h"

extern char resmgr_root[128];

/* A path below the scratch directory. */
const char *file(const char *name);

/* An empty environment, and a PATH of our own: what it takes to be a script,
 * and the stand-ins in front. */
void clean(void);

/* A command that runs this script; its arguments are kept. */
void command(const char *name, const char *script);

/* A command that prints this. */
void prints(const char *name, const char *text);

/* Was it called with these words? */
bool called(const char *name, const char *words);

/* The resource manager of that name; for resmgr_close(). */
struct resmgr *open_as(const char *name);

/* The nodes as a plain list, "!" and a sentence if there are none. */
const char *nodes_of(struct resmgr *r);

/* The nodes among these that are down, as a plain list. */
const char *down_of(struct resmgr *r, const char *among);

/* The end of the job as seconds since the epoch. */
int64_t end_of(struct resmgr *r);

/* About so many seconds from now. */
bool from_now(int64_t epoch, int64_t seconds);

/* Does resmgr_notice() hold these words? */
bool notes(const struct resmgr *r, const char *words);

#endif /* RESMGRTEST_H */
