/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenged.h - the plan and the result of a scavenge (scr_postrun(1)).
 */
#ifndef REPORT_SCAVENGED_H
#define REPORT_SCAVENGED_H

struct buf;
struct json;
struct salvage;
struct scavenge;

/* A heading and a line for each dataset, newest first.  `rate`: expected bytes
 * per second; 0: unknown. */
void report_salvage(const struct salvage *p, double rate, struct buf *out);
/* The same as an array of objects. */
struct json *report_salvage_json(const struct salvage *p, double rate);

/* One line, without newline: the datasets that are, or will be, saved. */
void report_verdict(const struct scavenge *s, struct buf *out);

/* Nodes, plan and result. */
struct json *report_scavenge_json(const struct scavenge *s);

#endif /* REPORT_SCAVENGED_H */
