/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * events.h - log events of the job to PREFIX/.scr/log and syslog
 * (site/eventlog.h).  Rank 0 writes; on other ranks nothing happens.  If the
 * log cannot be written, rank 0 warns once, and the job continues.
 */
#ifndef SCR_EVENTS_H
#define SCR_EVENTS_H

#include <stdbool.h>

#include "meta/log.h"

struct dataset;
struct run;

/* A line about dataset `d` (NULL: none), without event, transfer, numbers and
 * time. */
struct log_line events_line(const struct dataset *d);

/* A line about the transfer of all files of dataset `d`. */
struct log_line events_transfer(const struct dataset *d, const char *what,
				const char *from, const char *to, double secs);

/* Log the line.  Host and job are filled in, and the time, if it is 0. */
void events_add(struct run *run, const struct log_line *l);

/* Log an event of dataset `d` (NULL: none); `secs` is its duration, negative at
 * the start of something. */
void events_dataset(struct run *run, const struct dataset *d, const char *event,
		    double secs);

/* Log that the application starts to compute, or stops. */
void events_compute(struct run *run, bool begins);

#endif /* SCR_EVENTS_H */
