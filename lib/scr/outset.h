/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outset.h - the dataset that the application writes, between
 * SCR_Start_output() and SCR_Complete_output().
 *
 * The order of calls: held_start() makes its directories, outset_begin(),
 * outset_route() for each file, outset_complete() puts everything on disk,
 * held_commit() lists it, and onprefix_note() records it on the prefix.  If
 * outset_complete() fails, held_remove() removes the dataset.
 */
#ifndef SCR_OUTSET_H
#define SCR_OUTSET_H

#include <stdbool.h>
#include <stdint.h>

#include "scr/scr.h"

struct dataset;
struct error;
struct level;
struct outset; /* opaque */
struct run;

/*
 * Begin a dataset protected by `level`; `dir` is its directory in cache, which
 * holds .scr.  `id` is its id if the application writes it; 0: its files are on
 * the prefix already.  NULL:  ERROR_NOMEM, ERROR_SYSTEM.  Local.
 */
struct outset *outset_begin(const struct run *run, const struct level *level,
			    const char *dir, int64_t id, struct error *err);
void outset_free(struct outset *o); /* NULL is ignored */

/*
 * Get the path to write the file `name` to: in cache, or with bypass on the
 * prefix, where its directory is made.  Local; the same file may be routed
 * twice.  If ranks of a node use a name in several directories, all but one of
 * these files get a suffix in cache.  With bypass, a dataset that has the file
 * on the prefix is retired (owned.h).  Ends the job if the file is not below
 * the prefix, or its path too long.  ERROR_NOMEM, ERROR_SYSTEM.
 */
int outset_route(struct outset *o, const char *name,
		 char file[static SCR_MAX_FILENAME], struct error *err);

/* Record the CRC-32 of the routed file `name`, so that it need not be read for
 * its checksum.  Local. */
void outset_summed(struct outset *o, const char *name, uint32_t crc);

/*
 * Check that all files are present and valid.  Then protect them, and write all
 * metadata of the dataset in cache, down to the disk.  Numbers of files and
 * bytes go to *d.  A file of several ranks belongs to the lowest one; in a
 * cache that ranks do not share, such a file ends the job.  Collective.
 * ERROR_LOST: a rank declared its files invalid; ERROR_ABSENT: a file was not
 * written; and others.
 */
int outset_complete(struct outset *o, bool valid, struct dataset *d,
		    struct error *err);

#endif /* SCR_OUTSET_H */
