/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * eventlog.h - the log of what happened to jobs, PREFIX/.scr/log and syslog.
 * The form of its lines: meta/log.h.
 */
#ifndef SITE_EVENTLOG_H
#define SITE_EVENTLOG_H

struct conf;
struct error;
struct log_line;

/*
 * Add a line to PREFIX/.scr/log and to syslog, as SCR_LOG_ENABLE,
 * SCR_LOG_TXT_ENABLE and SCR_LOG_SYSLOG_ENABLE in `c` say; nothing is done
 * unless the first of them is on.  The prefix has to be there.
 */
int eventlog_add(const char *prefix, const struct conf *c,
		 const struct log_line *l, struct error *err);

#endif /* SITE_EVENTLOG_H */
