/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * results.h - results of scr_index's build as text and JSON.  A buf remembers a
 * failure: buf_check().
 */
#ifndef REPORT_RESULTS_H
#define REPORT_RESULTS_H

#include <stdint.h>

#include "catalogue/catalogue.h"

struct buf;
struct json;

/* An object that begins with a dataset; "" is no name. */
struct json *results_new(int64_t id, const char *name);

/* Append a problem to a JSON array. */
void results_push_problem(struct json *list, const char *text);

/* One line, without newline, for a dataset that was or can be built. */
void results_build_text(int64_t id, const struct build_result *r,
			struct buf *out);
/* What was rebuilt. */
struct json *results_rebuild_json(const struct rebuild_result *r);
struct json *results_build_json(int64_t id, const struct build_result *r);

#endif /* REPORT_RESULTS_H */
