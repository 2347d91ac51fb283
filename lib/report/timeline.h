/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline.h - what the log of a prefix (PREFIX/.scr/log) says happened, as a
 * part of an HTML page: lanes of marks over time, and a table of the last
 * events.
 */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include <stdint.h>

struct buf;
struct error;

/*
 * Append the timeline of the log in directory `scr`; of a long log its last 4
 * MiB are read.  Events of dataset `id` are marked.  Nothing is appended if
 * there is no log.  Errors: ERROR_SYSTEM, ERROR_NOMEM.
 */
int timeline_html(int scr, int64_t id, struct buf *out, struct error *err);

/* The style that the part needs. */
extern const char timeline_css[];

#endif /* REPORT_TIMELINE_H */
