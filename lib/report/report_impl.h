/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report_impl.h - what the texts, tables and pictures of a plan share.
 */
#ifndef REPORT_REPORT_IMPL_H
#define REPORT_REPORT_IMPL_H

#include "rescue/plan.h"

/* What a member of a set is like, its data and its redundancy file together.
 * For a set over filemaps its data is the filemap. */
enum report_cell_state {
	REPORT_WHOLE,
	REPORT_REDUNDANCY, /* only its redundancy file is to be rebuilt */
	REPORT_REBUILD,
	REPORT_LOST,
};

enum report_cell_state report_member(const struct plan *p,
				     const struct plan_set *s, uint32_t m);

/* Is the set made of files of an older attempt, which the plan leaves alone? */
bool report_unused(const struct plan_set *s);

/* Are there sets over the data files?  In bypass mode only the filemaps are
 * protected. */
bool report_has_data_sets(const struct plan *p);

#endif /* REPORT_REPORT_IMPL_H */
