/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h - lines of the event log PREFIX/.scr/log (scr_env(1)).
 */
#ifndef META_LOG_H
#define META_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct buf;
struct error;

#define LOG_LINE_MAX \
	1023 /* bytes without newline; longer lines are
			     truncated */

#define LOG_SCAVENGE \
	"SCAVENGE" /* our value of xfer: files copied by a
				   scavenge */

/* One line.  Strings are borrowed from the buffer given to log_parse().  Absent
 * fields are NULL, or -1 if they are numbers. */
struct log_line {
	int64_t time; /* seconds since the epoch, parsed as local time */
	const char *host, *job_id;
	const char *user;  /* for syslog: not part of the line */
	const char *event; /* event=..., or NULL */
	const char *xfer;  /* xfer=..., or NULL */
	const char *note, *name, *from, *to;
	int64_t dataset, procs, nodes, files;
	double secs, bytes; /* negative: absent */
};

/* Initializer: no number is known. */
#define LOG_LINE_NONE \
	.time = -1, .dataset = -1, .procs = -1, .nodes = -1, .files = -1, \
	.secs = -1, .bytes = -1

/* Parse one line (NUL terminated, without newline) in place.  Values may
 * contain ", " and quotes, which are not escaped; a field ends only before ",
 * <known key>=".  A number at the end of a line of LOG_LINE_MAX bytes may have
 * lost digits, and is absent.  ERROR_CORRUPT: no time stamp, or neither event
 * nor xfer. */
int log_parse(char *line, struct log_line *out, struct error *err);

/* A log that is read line by line, in fixed memory.  Opened by log_open(). */
struct log_reader {
	FILE *file;
	const char *path; /* borrowed */
	uint64_t lines;	  /* read so far, without empty ones */
	/* Not used: no line of a log, or the start of one whose writer ended in
	 * it, with the line of the next writer behind. */
	uint64_t unreadable;
	bool unfinished; /* the last line has no newline yet */
	uint64_t next;	 /* offset behind the lines read */
	char text[4 * LOG_LINE_MAX];
};

/* Open the log `path` (io_open_read()) for reading from offset `from` on, the
 * start of a line.  ERROR_CORRUPT: longer than 1 GiB. */
int log_open(struct log_reader *r, int dirfd, const char *path, uint64_t from,
	     struct error *err);

/* Read the next line that can be used.  It is valid until the next call.
 * Returns 1, or 0 at the end, or -1. */
int log_next(struct log_reader *r, struct log_line *out, struct error *err);

void log_close(struct log_reader *r);

/* Append the line for `l` with a newline, truncated to LOG_LINE_MAX.  Control
 * characters in values become '?'.  Return -1 if out of memory. */
int log_format(const struct log_line *l, struct buf *out);

#endif /* META_LOG_H */
