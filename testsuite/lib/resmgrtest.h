/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgrtest.h - mock commands of resource managers: short scripts first in
 * PATH that print what the real commands print.
 */
#ifndef RESMGRTEST_H
#define RESMGRTEST_H

#include <time.h>

#include "conf.h"
#include "hostlist.h"
#include "scratch.h"
#include "site/resmgr.h"

extern char resmgr_root[128];

/* A path below the scratch directory. */
const char *file(const char *name);

/* Clear the environment and set PATH to the mocks and the tools that scripts
 * need. */
void clean(void);

/* Make a mock command of this script; its arguments are recorded. */
void command(const char *name, const char *script);

/* Make a mock command that prints this text. */
void prints(const char *name, const char *text);

/* Was the mock called with these words among its arguments? */
bool called(const char *name, const char *words);

/* Open the resource manager of that name, by a configuration or without;
 * clean() or the next one closes it. */
extern struct resmgr *rm;
void open_with(const struct conf *c, const char *name);
void open_as(const char *name);

/* The nodes as a plain list, or "!" and the error message. */
const char *nodes_of(void);

/* The nodes of `among` that are down, as a plain list. */
const char *down_of(const char *among);

/* The end of the job, in seconds since the epoch. */
int64_t end_of(void);

/* Is `epoch` about `seconds` from now? */
bool from_now(int64_t epoch, int64_t seconds);

/* Does resmgr_notice() contain these words? */
bool notes(const char *words);

#endif /* RESMGRTEST_H */
