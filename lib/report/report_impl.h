/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report_impl.h - shared by the texts, tables and maps of a plan.
 */
#ifndef REPORT_REPORT_IMPL_H
#define REPORT_REPORT_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "rescue/plan.h"

/* State of a set member, its data and its redundancy file together.  In a set
 * over filemaps the data is the filemap. */
enum report_cell_state {
	REPORT_WHOLE,
	REPORT_REDUNDANCY, /* only its redundancy file must be rebuilt */
	REPORT_REBUILD,
	REPORT_LOST,
};

enum report_cell_state report_member(const struct plan *p,
				     const struct plan_set *s, uint32_t m);

/* Does the set consist of files of an older attempt, which the plan ignores? */
bool report_unused(const struct plan_set *s);

/* Are there sets over the data files?  In bypass mode only the filemaps are
 * protected. */
bool report_has_data_sets(const struct plan *p);

/* "lost"; "unknown" if seemingly lost data may exist. */
const char *report_loss(const struct plan *p);

/* "whole", "damaged", or the loss.  A set without members has lost its
 * redundancy, but perhaps no data. */
const char *report_set_state(const struct plan *p, const struct plan_set *s);

#endif /* REPORT_REPORT_IMPL_H */
