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
#include "meta/dataset_dir.h"
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

/* LLNL's tables.  What the log does not say is NULL. */
static const char scheme[] =
	"CREATE TABLE IF NOT EXISTS types ("
	" id INTEGER PRIMARY KEY, name VARCHAR(512) NOT NULL UNIQUE);"
	"CREATE TABLE IF NOT EXISTS usernames ("
	" id INTEGER PRIMARY KEY, name VARCHAR(512) NOT NULL UNIQUE);"
	"CREATE TABLE IF NOT EXISTS jobnames ("
	" id INTEGER PRIMARY KEY, name VARCHAR(512) NOT NULL UNIQUE);"
	"CREATE TABLE IF NOT EXISTS jobs ("
	" id INTEGER PRIMARY KEY, username_id INTEGER NOT NULL,"
	" jobname_id INTEGER NOT NULL, start DATETIME, prefix TEXT NOT NULL,"
	" UNIQUE (username_id, jobname_id, prefix));"
	"CREATE TABLE IF NOT EXISTS transfers ("
	" id INTEGER PRIMARY KEY, job_id INTEGER NOT NULL,"
	" type_id INTEGER NOT NULL, dset_id INTEGER, dset_name VARCHAR(512),"
	" start DATETIME NOT NULL, \"end\" DATETIME, secs FLOAT, bytes FLOAT,"
	" files INTEGER, bw FLOAT, \"from\" BLOB, \"to\" BLOB);"
	"CREATE TABLE IF NOT EXISTS events ("
	" id INTEGER PRIMARY KEY, job_id INTEGER NOT NULL,"
	" type_id INTEGER NOT NULL, dset_id INTEGER, dset_name VARCHAR(512),"
	" start DATETIME NOT NULL, secs FLOAT, note BLOB);"
	"CREATE INDEX IF NOT EXISTS transfers_job"
	" ON transfers (job_id, type_id, start);"
	"CREATE INDEX IF NOT EXISTS transfers_type"
	" ON transfers (type_id, start);"
	"CREATE INDEX IF NOT EXISTS events_job"
	" ON events (job_id, type_id, start);"
	"CREATE INDEX IF NOT EXISTS events_type ON events (type_id, start);"
	/* Ours: how far each log is imported. */
	"CREATE TABLE IF NOT EXISTS logs ("
	" prefix TEXT PRIMARY KEY, bytes INTEGER NOT NULL,"
	" crc INTEGER NOT NULL, newest DATETIME NOT NULL);";

enum statement {
	FIND_TYPE,
	ADD_TYPE,
	FIND_USER,
	ADD_USER,
	FIND_NAME,
	ADD_NAME,
	FIND_JOB,
	ADD_JOB,
	BEGIN_JOB,
	ADD_EVENT,
	ADD_TRANSFER,
	FIND_LOG,
	ADD_LOG,
	STATEMENTS
};

static const char *const statements[STATEMENTS] = {
	[FIND_TYPE] = "SELECT id FROM types WHERE name = ?",
	[ADD_TYPE] = "INSERT INTO types (name) VALUES (?)",
	[FIND_USER] = "SELECT id FROM usernames WHERE name = ?",
	[ADD_USER] = "INSERT INTO usernames (name) VALUES (?)",
	[FIND_NAME] = "SELECT id FROM jobnames WHERE name = ?",
	[ADD_NAME] = "INSERT INTO jobnames (name) VALUES (?)",
	[FIND_JOB] = "SELECT id FROM jobs WHERE username_id = ? AND "
		     "jobname_id = ? AND prefix = ?",
	[ADD_JOB] = "INSERT INTO jobs (username_id, jobname_id, prefix) "
		    "VALUES (?, ?, ?)",
	[BEGIN_JOB] = "UPDATE jobs SET start = ? WHERE id = ? AND start IS "
		      "NULL",
	[ADD_EVENT] = "INSERT INTO events (job_id, type_id, dset_id, "
		      "dset_name, start, secs, note) "
		      "VALUES (?, ?, ?, ?, ?, ?, ?)",
	[ADD_TRANSFER] = "INSERT INTO transfers (job_id, type_id, dset_id, "
			 "dset_name, start, \"end\", secs, bytes, files, bw, "
			 "\"from\", \"to\") "
			 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[FIND_LOG] = "SELECT bytes, crc, newest FROM logs WHERE prefix = ?",
	[ADD_LOG] = "INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?)",
};

struct db {
	const char *file, *prefix;
	sqlite3 *lite;
	sqlite3_stmt *all[STATEMENTS];
	int64_t user;
	/* The job of the last line. */
	char job_name[LOG_LINE_MAX + 1];
	int64_t job;
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

/* Run a statement with arguments of the types in `kinds`: t text, i int64_t, d
 * double; NULL and negative numbers are NULL.  Returns SQLITE_ROW, with the
 * values in d->all[s], or SQLITE_DONE, or -1. */
static int
run(struct db *d, enum statement s, struct error *err, const char *kinds, ...)
{
	sqlite3_stmt **st = &d->all[s];
	va_list ap;
	int rc = SQLITE_OK;

	if (*st == NULL && sqlite3_prepare_v2(d->lite, statements[s], -1, st,
					      NULL) != SQLITE_OK)
		return failed(d, err);
	sqlite3_reset(*st);
	sqlite3_clear_bindings(*st);
	va_start(ap, kinds);
	for (int i = 1; rc == SQLITE_OK && kinds[i - 1] != '\0'; i++) {
		const char *text = NULL;
		int64_t n = -1;
		double x = -1;

		if (kinds[i - 1] == 't') {
			text = va_arg(ap, const char *);
			if (text != NULL)
				rc = sqlite3_bind_text(*st, i, text, -1,
						       SQLITE_TRANSIENT);
		} else if (kinds[i - 1] == 'i') {
			n = va_arg(ap, int64_t);
			if (n >= 0)
				rc = sqlite3_bind_int64(*st, i, n);
		} else {
			x = va_arg(ap, double);
			if (x >= 0)
				rc = sqlite3_bind_double(*st, i, x);
		}
	}
	va_end(ap);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(*st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? rc : failed(d, err);
}

/* The id of `name` by the statement `find`, added by the next one if it is
 * missing.  -1: error. */
static int64_t
name_id(struct db *d, enum statement find, const char *name, struct error *err)
{
	const int rc = run(d, find, err, "t", name);

	if (rc == SQLITE_ROW)
		return sqlite3_column_int64(d->all[find], 0);
	return rc < 0 || run(d, find + 1, err, "t", name) < 0
		       ? -1
		       : sqlite3_last_insert_rowid(d->lite);
}

static int
find_job(struct db *d, const char *name, struct error *err)
{
	int64_t id = 0;
	int rc = 0;

	if (d->job > 0 && str_eq(d->job_name, name))
		return 0;
	id = name_id(d, FIND_NAME, name, err);
	rc = id < 0 ? -1 : run(d, FIND_JOB, err, "iit", d->user, id, d->prefix);
	if (rc == SQLITE_ROW)
		d->job = sqlite3_column_int64(d->all[FIND_JOB], 0);
	else if (rc < 0 ||
		 run(d, ADD_JOB, err, "iit", d->user, id, d->prefix) < 0)
		return -1;
	else
		d->job = sqlite3_last_insert_rowid(d->lite);
	snprintf(d->job_name, sizeof(d->job_name), "%s", name);
	return 0;
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
	const bool timed = l->secs >= 0 && l->secs < SECS_MAX;
	const char *when = STAMP(l->time);
	int64_t type = 0;

	/* Without a job the line tells nothing. */
	if (l->job_id == NULL)
		return 0;
	type = name_id(d, FIND_TYPE, l->event != NULL ? l->event : l->xfer,
		       err);
	if (type < 0 || find_job(d, l->job_id, err) < 0)
		return -1;
	if (strcmp(when, d->newest) > 0)
		snprintf(d->newest, sizeof(d->newest), "%s", when);
	if (l->event == NULL)
		return run(d, ADD_TRANSFER, err, "iiitttddidtt", d->job, type,
			   l->dataset, l->name, when,
			   timed ? STAMP(l->time + (int64_t)l->secs) : NULL,
			   timed ? l->secs : -1., l->bytes, l->files,
			   timed && l->secs > 0 && l->bytes >= 0
				   ? l->bytes / l->secs
				   : -1.,
			   l->from, l->to);
	if (str_eq(l->event, "START") &&
	    run(d, BEGIN_JOB, err, "ti", when, d->job) < 0)
		return -1;
	return run(d, ADD_EVENT, err, "iiittdt", d->job, type, l->dataset,
		   l->name, when, timed ? l->secs : -1., l->note);
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

/* Open the log where the last import ended; a new one at its start. */
static int
open_log(struct db *d, int dir, struct log_reader *r, struct error *err)
{
	struct stat st;
	struct passwd *owner = NULL;
	uint32_t crc = 0;
	const int rc = run(d, FIND_LOG, err, "t", d->prefix);

	if (rc == SQLITE_ROW) {
		sqlite3_stmt *s = d->all[FIND_LOG];
		const char *newest = (const char *)sqlite3_column_text(s, 2);

		d->bytes = (uint64_t)sqlite3_column_int64(s, 0);
		d->crc = (uint32_t)sqlite3_column_int64(s, 1);
		snprintf(d->newest, sizeof(d->newest), "%s",
			 newest != NULL ? newest : "");
	}
	sqlite3_reset(d->all[FIND_LOG]);
	if (rc < 0 || log_open(r, dir, "log", d->bytes, err) < 0)
		return -1;
	if (!sum_tail(fileno(r->file), d->bytes, &crc) || crc != d->crc) {
		log_close(r);
		d->bytes = 0;
		if (log_open(r, dir, "log", 0, err) < 0)
			return -1;
	}
	if (fstat(fileno(r->file), &st) < 0)
		return error_sys(err, "log");
	owner = getpwuid(st.st_uid);
	d->user = name_id(
		d, FIND_USER,
		owner != NULL ? owner->pw_name
			      : str_printed(32, "%ju", (uintmax_t)st.st_uid),
		err);
	return d->user < 0 ? -1 : 0;
}

static int
import(struct db *d, int dir, uint64_t *lines, struct error *err)
{
	struct log_reader r = { .file = NULL };
	const char *before = NULL;
	struct log_line l;
	char newest[INDEX_STAMP_SIZE];
	uint32_t crc = 0;
	int rc = open_log(d, dir, &r, err);

	snprintf(newest, sizeof(newest), "%s", d->newest);
	before = d->bytes == 0 && newest[0] != '\0' ? newest : NULL;
	while (rc >= 0 && (rc = log_next(&r, &l, err)) > 0) {
		/* A log that takes the place of an imported one is newer. */
		if (before != NULL && strcmp(STAMP(l.time), before) <= 0)
			rc = error_set(err, ERROR_CORRUPT,
				       "log: what was imported into %s has "
				       "changed since: import it into a new "
				       "file",
				       d->file);
		else
			rc = add_line(d, &l, err);
		before = NULL;
		++*lines;
	}
	if (rc == 0 && !sum_tail(fileno(r.file), r.next, &crc))
		rc = error_sys(err, "log: cannot read");
	if (rc == 0)
		rc = run(d, ADD_LOG, err, "tiit", d->prefix, (int64_t)r.next,
			 (int64_t)crc, d->newest);
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
	    sqlite3_open_v2(file, &d.lite,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
			    NULL) != SQLITE_OK)
		rc = failed(&d, err);
	if (rc == 0) {
		sqlite3_busy_timeout(d.lite, WAIT_MS);
		if (sqlite3_exec(d.lite, "BEGIN IMMEDIATE", NULL, NULL, NULL) !=
			    SQLITE_OK ||
		    sqlite3_exec(d.lite, scheme, NULL, NULL, NULL) != SQLITE_OK)
			rc = failed(&d, err);
	}
	if (rc == 0)
		rc = import(&d, dir, lines, err);
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(d.all[i]);
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
