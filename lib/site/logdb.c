/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/logdb.h"

#include "error.h"

#ifdef SCRKIT_SQLITE
#include <inttypes.h>
#include <pwd.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc.h"
#include "io.h"
#include "meta/index.h"
#include "meta/log.h"
#include "site/jobfiles.h"
#include "str.h"

/* Another import may hold the file for so long. */
#define WAIT_MS (60 * 1000)

/* Bytes before the place of the last import by which the log is recognised. */
#define TAIL 4096

/* A transfer of more is a malformed line. */
#define SECS_MAX 1e9

/* The job and type of a new line. */
#define FROM_JOB \
	" FROM jobs j, usernames u, jobnames n, types t" \
	" WHERE u.name = new.user AND n.name = new.job" \
	" AND j.username_id = u.id AND j.jobname_id = n.id" \
	" AND j.prefix = new.prefix AND t.name = ifnull(new.event, new.xfer)"

/* LLNL's tables; what the log does not say is NULL.  And ours: how far each log
 * is imported, and a view into which its lines are inserted. */
static const char scheme[] =
	"CREATE TABLE IF NOT EXISTS types (id INTEGER PRIMARY KEY,"
	" name VARCHAR(512) NOT NULL UNIQUE);"
	"CREATE TABLE IF NOT EXISTS usernames (id INTEGER PRIMARY KEY,"
	" name VARCHAR(512) NOT NULL UNIQUE);"
	"CREATE TABLE IF NOT EXISTS jobnames (id INTEGER PRIMARY KEY,"
	" name VARCHAR(512) NOT NULL UNIQUE);"
	"CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY,"
	" username_id INTEGER NOT NULL, jobname_id INTEGER NOT NULL,"
	" start DATETIME, prefix TEXT NOT NULL,"
	" UNIQUE (username_id, jobname_id, prefix));"
	"CREATE TABLE IF NOT EXISTS transfers (id INTEGER PRIMARY KEY,"
	" job_id INTEGER NOT NULL, type_id INTEGER NOT NULL, dset_id INTEGER,"
	" dset_name VARCHAR(512), start DATETIME NOT NULL, \"end\" DATETIME,"
	" secs FLOAT, bytes FLOAT, files INTEGER, bw FLOAT, \"from\" BLOB,"
	" \"to\" BLOB);"
	"CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY,"
	" job_id INTEGER NOT NULL, type_id INTEGER NOT NULL, dset_id INTEGER,"
	" dset_name VARCHAR(512), start DATETIME NOT NULL, secs FLOAT,"
	" note BLOB);"
	"CREATE INDEX IF NOT EXISTS transfers_job"
	" ON transfers (job_id, type_id, start);"
	"CREATE INDEX IF NOT EXISTS events_job"
	" ON events (job_id, type_id, start);"
	"CREATE TABLE IF NOT EXISTS logs (prefix TEXT PRIMARY KEY,"
	" bytes INTEGER NOT NULL, crc INTEGER NOT NULL,"
	" newest DATETIME NOT NULL);"
	"CREATE TEMP VIEW lines (user, prefix, job, event, xfer, dset, name,"
	" start, \"end\", secs, note, bytes, files, bw, source, target)"
	" AS SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16;"
	"CREATE TEMP TRIGGER add_line INSTEAD OF INSERT ON lines BEGIN "
	"INSERT OR IGNORE INTO usernames (name) VALUES (new.user);"
	"INSERT OR IGNORE INTO jobnames (name) VALUES (new.job);"
	"INSERT OR IGNORE INTO types (name)"
	" VALUES (ifnull(new.event, new.xfer));"
	"INSERT OR IGNORE INTO jobs (username_id, jobname_id, prefix)"
	" SELECT u.id, n.id, new.prefix FROM usernames u, jobnames n"
	" WHERE u.name = new.user AND n.name = new.job;"
	"UPDATE jobs SET start = new.start WHERE new.event = 'START'"
	" AND start IS NULL AND prefix = new.prefix"
	" AND username_id = (SELECT id FROM usernames WHERE name = new.user)"
	" AND jobname_id = (SELECT id FROM jobnames WHERE name = new.job);"
	"INSERT INTO events SELECT NULL, j.id, t.id, new.dset, new.name,"
	" new.start, new.secs, new.note" FROM_JOB " AND new.event IS NOT NULL;"
	"INSERT INTO transfers SELECT NULL, j.id, t.id, new.dset, new.name,"
	" new.start, new.\"end\", new.secs, new.bytes, new.files, new.bw,"
	" new.source, new.target" FROM_JOB " AND new.event IS NULL;"
	"END;";

struct db {
	const char *file, *prefix, *user;
	sqlite3 *lite;
	sqlite3_stmt *line;
	/* How far the log was imported. */
	uint64_t bytes;
	uint32_t crc;
	char newest[INDEX_STAMP_SIZE];
};

static int
failed(const struct db *d, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, "%s: %s", d->file,
			 sqlite3_errmsg(d->lite));
}

/* Run *s, prepared from `sql` if it is NULL, with arguments of the types in
 * `kinds`: t text, i int64_t, d double; NULL and negative numbers are NULL.
 * Returns SQLITE_ROW or SQLITE_DONE, or -1. */
static int
run(struct db *d, sqlite3_stmt **s, const char *sql, struct error *err,
    const char *kinds, ...)
{
	va_list ap;
	int rc = *s == NULL ? sqlite3_prepare_v2(d->lite, sql, -1, s, NULL)
			    : sqlite3_reset(*s);

	va_start(ap, kinds);
	for (int i = 1; rc == SQLITE_OK && kinds[i - 1] != '\0'; i++)
		if (kinds[i - 1] == 't') {
			rc = sqlite3_bind_text(*s, i, va_arg(ap, const char *),
					       -1, SQLITE_TRANSIENT);
		} else if (kinds[i - 1] == 'i') {
			const int64_t n = va_arg(ap, int64_t);

			rc = n < 0 ? sqlite3_bind_null(*s, i)
				   : sqlite3_bind_int64(*s, i, n);
		} else {
			const double x = va_arg(ap, double);

			rc = x >= 0 ? sqlite3_bind_double(*s, i, x)
				    : sqlite3_bind_null(*s, i);
		}
	va_end(ap);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(*s);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? rc : failed(d, err);
}

/* "YYYY-MM-DD HH:MM:SS", as the log has it. */
static const char *
stamp(char to[static INDEX_STAMP_SIZE], int64_t t)
{
	char *middle = strchr(index_stamp(to, t), 'T');

	if (middle != NULL)
		*middle = ' ';
	return to;
}
#define STAMP(t) stamp((char[INDEX_STAMP_SIZE]){ 0 }, t)

static int
add_line(struct db *d, const struct log_line *l, struct error *err)
{
	const double secs = l->secs < SECS_MAX ? l->secs : -1;
	const char *when = STAMP(l->time);

	/* Without a job the line tells nothing. */
	if (l->job_id == NULL)
		return 0;
	if (strcmp(when, d->newest) > 0)
		snprintf(d->newest, sizeof(d->newest), "%s", when);
	return run(d, &d->line,
		   "INSERT INTO lines VALUES "
		   "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		   err, "tttttitttdtdidtt", d->user, d->prefix, l->job_id,
		   l->event, l->xfer, l->dataset, l->name, when,
		   secs >= 0 ? STAMP(l->time + (int64_t)secs) : NULL, secs,
		   l->note, l->bytes, l->files,
		   secs > 0 && l->bytes >= 0 ? l->bytes / secs : -1., l->from,
		   l->to);
}

/* The sum of the bytes before `end`.  False: the log is shorter. */
static bool
sum_tail(int fd, uint64_t end, uint32_t *crc)
{
	char tail[TAIL];
	const size_t n = end < TAIL ? (size_t)end : TAIL;

	*crc = 0;
	if (io_pread(fd, "log", tail, n, end - n, NULL) < 0)
		return false;
	*crc = crc_update(0, tail, n);
	return true;
}

/* Import the log from where the last import ended, a new one from its start. */
static int
import(struct db *d, int dir, uint64_t *lines, struct error *err)
{
	struct log_reader r = { .file = NULL };
	sqlite3_stmt *find = NULL, *add = NULL;
	const struct passwd *owner = NULL;
	char before[INDEX_STAMP_SIZE] = "";
	struct log_line l;
	struct stat st = { .st_uid = 0 };
	uint32_t crc = 0;
	int rc = run(d, &find,
		     "SELECT bytes, crc, newest FROM logs "
		     "WHERE prefix = ?",
		     err, "t", d->prefix);

	if (rc == SQLITE_ROW) {
		d->bytes = (uint64_t)sqlite3_column_int64(find, 0);
		d->crc = (uint32_t)sqlite3_column_int64(find, 1);
		snprintf(d->newest, sizeof(d->newest), "%s",
			 (const char *)sqlite3_column_text(find, 2));
	}
	sqlite3_finalize(find);
	if (rc >= 0)
		rc = log_open(&r, dir, "log", d->bytes, err);
	if (rc == 0 &&
	    (!sum_tail(fileno(r.file), d->bytes, &crc) || crc != d->crc)) {
		log_close(&r);
		d->bytes = 0;
		rc = log_open(&r, dir, "log", 0, err);
	}
	if (rc == 0 && fstat(fileno(r.file), &st) < 0)
		rc = error_sys(err, "log");
	if (rc == 0)
		owner = getpwuid(st.st_uid);
	d->user = owner != NULL ? owner->pw_name
				: str_printed(32, "%ju", (uintmax_t)st.st_uid);
	if (d->bytes == 0)
		snprintf(before, sizeof(before), "%s", d->newest);
	for (; rc >= 0 && (rc = log_next(&r, &l, err)) > 0; ++*lines) {
		/* A log that takes the place of an imported one is newer. */
		if (before[0] != '\0' && strcmp(STAMP(l.time), before) <= 0)
			rc = error_set(err, ERROR_CORRUPT,
				       "log: what was imported into %s has "
				       "changed since: import it into a new "
				       "file",
				       d->file);
		else
			rc = add_line(d, &l, err);
		before[0] = '\0';
	}
	if (rc == 0 && !sum_tail(fileno(r.file), r.next, &crc))
		rc = error_sys(err, "log: cannot read");
	if (rc == 0)
		rc = run(d, &add,
			 "INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?)", err,
			 "tiit", d->prefix, (int64_t)r.next, (int64_t)crc,
			 d->newest);
	sqlite3_finalize(add);
	log_close(&r);
	return rc < 0 ? -1 : 0;
}

int
logdb_import(const char *file, const char *prefix, uint64_t *lines,
	     struct error *err)
{
	struct db d = { .file = file, .prefix = prefix };
	const int dir = jobfiles_open(prefix, false, err);
	int rc = dir < 0 ? -1 : 0;

	*lines = 0;
	if (rc == 0 &&
	    (sqlite3_open(file, &d.lite) != SQLITE_OK ||
	     sqlite3_busy_timeout(d.lite, WAIT_MS) != SQLITE_OK ||
	     sqlite3_exec(d.lite, "BEGIN IMMEDIATE", NULL, NULL, NULL) !=
		     SQLITE_OK ||
	     sqlite3_exec(d.lite, scheme, NULL, NULL, NULL) != SQLITE_OK))
		rc = failed(&d, err);
	if (rc == 0)
		rc = import(&d, dir, lines, err);
	sqlite3_finalize(d.line);
	/* Without a commit, closing undoes all. */
	if (rc == 0 &&
	    sqlite3_exec(d.lite, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		rc = failed(&d, err);
	sqlite3_close(d.lite);
	io_close(dir);
	return rc;
}

#else

int
logdb_import(const char *file, const char *prefix, uint64_t *lines,
	     struct error *err)
{
	(void)prefix;
	*lines = 0;
	return error_set(err, ERROR_USAGE, "%s: built without SQLite", file);
}

#endif
