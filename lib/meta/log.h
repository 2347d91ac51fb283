/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h - lines of PREFIX/.scr/log (formats.md 9).
 */
#ifndef META_LOG_H
#define META_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;

#define LOG_LINE_MAX 1023 /* bytes without the newline; longer ones are cut */

#define LOG_SCAVENGE "SCAVENGE" /* our xfer: what a scavenge has copied */

/* One line; strings are borrowed from the buffer given to log_parse(), NULL
 * or -1 for what the line does not have. */
struct log_line {
	int64_t time; /* epoch seconds, read as local time */
	const char *host, *job_id;
	const char *event; /* event=..., or NULL */
	const char *xfer;  /* xfer=..., or NULL */
	const char *note, *name, *from, *to;
	int64_t dataset, procs, nodes, files;
	double secs, bytes; /* negative: none */
};

/* Parse one line (without newline, NUL ended), cutting it up in place.
 * Values may hold ", " and quotes (nothing is escaped): a field ends only
 * before ", <known key>=".  ERROR_CORRUPT: no time stamp or neither event nor
 * xfer. */
int log_parse(char *line, struct log_line *out, struct error *err);

/* Append the line for `l` with newline, cut to LOG_LINE_MAX; control
 * characters in values become '?'. */
int log_format(const struct log_line *l, struct buf *out);

#endif /* META_LOG_H */
