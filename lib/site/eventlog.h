/* SPDX-License-Identifier: BSD-3-Clause */
/* eventlog.h - the log of job events, PREFIX/.scr/log and syslog.  The format
 * of its lines: meta/log.h. */
#ifndef SITE_EVENTLOG_H
#define SITE_EVENTLOG_H

struct conf;
struct error;
struct log_line;

/*
 * Append a line to PREFIX/.scr/log if SCR_LOG_TXT_ENABLE is set in `c`, and
 * send it to syslog if SCR_LOG_SYSLOG_ENABLE is set.  Without SCR_LOG_ENABLE
 * neither is done.  The prefix directory must exist.  A negative time is now,
 * an unset host is this one.
 */
int eventlog_add(const char *prefix, const struct conf *c,
		 const struct log_line *l, struct error *err);

#endif /* SITE_EVENTLOG_H */
