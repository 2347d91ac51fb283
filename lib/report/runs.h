/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runs.h - what the jobs of a prefix did with their time (site/joblog.h), as
 * tables and as JSON (scr_env(1), log).
 */
#ifndef REPORT_RUNS_H
#define REPORT_RUNS_H

#include <stdbool.h>

struct buf;
struct catalogue;
struct error;
struct joblog;
struct json;

/*
 * Report job `id` of the log, or all jobs (NULL).  Append tables to `out`, with
 * `all` also of each dataset; or, if `to` is not NULL, set the members that
 * scr_env log --json has, with `all`, for a page, also log_events, the last of
 * the spans as log_spans, and whether that is not all as log_spans_cut.
 * ERROR_ABSENT: the log does not have the job.
 */
int runs_report(struct joblog *g, const char *id, bool all, struct buf *out,
		struct json *to, struct error *err);

/* For a page: set `log` of the JSON of a prefix, if it has a log.  -1: that
 * cannot be read; `log_problem` says why, too. */
int runs_page(const struct catalogue *c, struct json *prefix,
	      struct error *err);

#endif /* REPORT_RUNS_H */
