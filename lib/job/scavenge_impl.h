/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scavenge_impl.h - what the parts of scavenge_plan.h share.
 */
#ifndef JOB_SCAVENGE_IMPL_H
#define JOB_SCAVENGE_IMPL_H

#include "job/scavenge_plan.h"

/* Set state, why and missing of `d`, whose ranks have been shared out. */
int scavenge_judge(struct scavenge_plan *p, struct scavenge_dataset *d,
		   struct error *err);

#endif /* JOB_SCAVENGE_IMPL_H */
