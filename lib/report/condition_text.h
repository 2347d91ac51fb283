/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * condition_text.h - a prefix and the condition of its datasets, as text
 * (scr_inspect(1)).  A buf remembers a failure: buf_check().
 */
#ifndef REPORT_CONDITION_TEXT_H
#define REPORT_CONDITION_TEXT_H

#include <stdbool.h>

#include "report/plan_text.h"
#include "report/table.h"
#include "style.h"

struct condition;
struct overview;

/* A prefix: index, halt conditions, nodes. */
void report_prefix(const struct overview *s, struct buf *out);

/* A table of datasets: its columns, and the row of one. */
extern const struct table_column report_overview[];
void report_overview_row(struct table *t, const struct condition *h);

/* Why a dataset is not whole, and the next step: one line for each reason, or
 * none. */
void report_reasons(const struct condition *h, struct buf *out);

/* Add the next step if it is for all datasets, unless `out` has it.  The other
 * functions leave it out: it comes once, and last. */
void report_next_for_all(const struct condition *h, struct buf *out);

struct report_choice {
	bool map, all_files;
	bool all_containers; /* list the whole ones, too */
	struct style style;
};

/* Everything about one dataset and its containers. */
void report_detail(struct condition *h, const struct report_choice *c,
		   struct buf *out);

#endif /* REPORT_CONDITION_TEXT_H */
