/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job_impl.h - what the parts of job share.
 */
#ifndef SITE_JOB_IMPL_H
#define SITE_JOB_IMPL_H

#include "site/job.h"

/* Fill in the control and cache directories; all else is known. */
int job_find_dirs(struct job *j, const struct job_where *w, struct error *err);

#endif /* SITE_JOB_IMPL_H */
