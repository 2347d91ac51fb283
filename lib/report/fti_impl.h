/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_impl.h - shared by the texts and the JSON of files of FTI.
 */
#ifndef REPORT_FTI_IMPL_H
#define REPORT_FTI_IMPL_H

#include "fti/layout.h"

struct buf;
struct fti_rankfile;

/* A number of the metadata record: fields FTI_CKPT_ID to FTI_TIMESTAMP. */
int64_t report_fti_number(const struct fti_meta *m, enum fti_field field);

#endif /* REPORT_FTI_IMPL_H */
