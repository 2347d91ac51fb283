/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * logdb.h - import the logs of prefixes (meta/log.h) into a database, for
 * questions over many jobs.  It is a file of SQLite with the tables of LLNL's
 * scheme for MySQL: usernames, jobnames, types, jobs, events, transfers; `jobs`
 * also has the prefix, and `logs` remembers what was imported.
 *
 * An import adds the new lines, or none: rows and place are one transaction.
 * Only scr_env links it: libscr writes the text, and no database.
 */
#ifndef SITE_LOGDB_H
#define SITE_LOGDB_H

#include <stdint.h>

struct error;

/*
 * Import what was added to PREFIX/.scr/log since the last import into `file`,
 * which is created if it is missing; *lines is their number.  `prefix` is an
 * absolute path.  ERROR_CONFLICT: the log is not the one that was imported, and
 * not a newer one; ERROR_USAGE: built without SQLite.
 */
int logdb_import(const char *file, const char *prefix, uint64_t *lines,
		 struct error *err);

#endif /* SITE_LOGDB_H */
