/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * events.h - what the job does, for PREFIX/.scr/log and syslog
 * (site/eventlog.h).  Rank 0 writes; on other ranks nothing happens.  A log
 * that cannot be written is no failure: there is one warning.
 */
#ifndef SCR_EVENTS_H
#define SCR_EVENTS_H

#include <stdbool.h>

#include "meta/log.h"

struct dataset;
struct run;

/* A line about dataset `d`, or none (NULL), without event, transfer, numbers
 * and time. */
struct log_line events_line(const struct dataset *d);

/* Add it.  Host and job are filled in, and the time, if it is 0. */
void events_add(struct run *run, const struct log_line *l);

/* Add a line about dataset `d` (NULL: none); `secs` is negative if nothing has
 * ended. */
void events_dataset(struct run *run, const struct dataset *d, const char *event,
		    double secs);

/* The application computes from now on, or until now. */
void events_compute(struct run *run, bool begins);

#endif /* SCR_EVENTS_H */
