/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_packed_impl.h - the containers of a plan.  Private to plan_packed.c
 * (reading) and plan_packed_write.c (rebuild in place).
 */
#ifndef RESCUE_PLAN_PACKED_IMPL_H
#define RESCUE_PLAN_PACKED_IMPL_H

#include "container/hidden.h"
#include "container/marks.h"
#include "container/segmap.h"
#include "meta/rank2file.h"
#include "rescue/plan_impl.h"

struct plan_packed {
	struct rank2file r2f;
	struct segmap map;
	struct hidden hidden;
	struct map *by_path;
	struct kvtree *marks;
};

/* The containers of a plan; NULL: none. */
static inline struct plan_packed *
plan_containers(const struct plan *p)
{
	return ((const struct planner *)p)->packed;
}

#endif /* RESCUE_PLAN_PACKED_IMPL_H */
