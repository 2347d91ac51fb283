/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_impl.h - what the parts of job share.
 */
#ifndef JOB_JOB_IMPL_H
#define JOB_JOB_IMPL_H

#include "job/job.h"

/* Fill in the control and cache directories; all else is known. */
int job_find_dirs(struct job *j, const struct job_where *w, struct error *err);

#endif /* JOB_JOB_IMPL_H */
