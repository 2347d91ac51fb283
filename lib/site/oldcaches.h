/* SPDX-License-Identifier: BSD-3-Clause */
/* oldcaches.h - what other jobs of the user have left in the caches of this
 * node. */
#ifndef SITE_OLDCACHES_H
#define SITE_OLDCACHES_H

struct buf;
struct error;
struct job;

/*
 * Append a line for each base directory BASE of `j` in which other jobs have
 * directories, BASE/USER/scr.ID, with files: their number, size and names.
 * Only this node is looked at.  Directories that cannot be read are passed
 * over.  -1: ERROR_NOMEM.
 */
int oldcaches_describe(const struct job *j, struct buf *out, struct error *err);

#endif /* SITE_OLDCACHES_H */
