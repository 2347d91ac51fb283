/* SPDX-License-Identifier: BSD-3-Clause */
/* job_impl.h - shared by the sources of job. */
#ifndef SITE_JOB_IMPL_H
#define SITE_JOB_IMPL_H

#include "site/job.h"

/* Fill in the control and cache directories.  All other members must be set. */
int job_find_dirs(struct job *j, const struct job_where *w, struct error *err);

#endif /* SITE_JOB_IMPL_H */
