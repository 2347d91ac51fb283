/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packing.h - packed datasets (scr_container(1)), and datasets that were built,
 * as text and JSON.
 */
#ifndef REPORT_PACKING_H
#define REPORT_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/export.h"
#include "container/pack.h"
#include "container/packed.h"
#include "report/table.h"

struct buf;
struct build_result;
struct json;

/* The segment map: one line for each file, sorted as `how` says, at most `most`
 * (0: all), and for each container; if columns are chosen, these of all files,
 * alone. */
void report_map_text(const struct packed *p, const struct columns *how,
		     size_t most, struct buf *out);

/* The columns. */
extern const struct table_column report_map_columns[];

/* Set id and name. */
void report_set_packed(struct json *j, const struct packed *p);
struct json *report_map_json(const struct packed *p);

/* Result of packing; `done`: "packed", "unpacked" or "repacked". */
void report_pack_text(const struct packed *p, const char *done,
		      const struct pack_result *r, bool dry_run,
		      struct buf *out);
struct json *report_pack_json(const struct packed *p,
			      const struct pack_result *r);

/* Result of packed_check(), from which the exit status `status` follows. */
void report_health_text(const struct packed *p, const struct packed_health *h,
			int status, struct buf *out);
struct json *report_health_json(const struct packed *p,
				const struct packed_health *h);

/* Result of an export or import. */
struct json *report_archive_json(const struct export_result *r);

/* --- A build --- */

/* An object that begins with a dataset; "" is no name. */
struct json *report_dataset_new(int64_t id, const char *name);

/* Append a problem to a JSON array. */
void report_push_problem(struct json *list, const char *text);

/* One line, without newline, for a dataset that was or can be built. */
void report_build_text(int64_t id, const struct build_result *r,
		       struct buf *out);
/* What was rebuilt. */
struct json *report_build_json(int64_t id, const struct build_result *r);

#endif /* REPORT_PACKING_H */
