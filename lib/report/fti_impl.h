/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fti_impl.h - shared by the texts of files of FTI.
 */
#ifndef REPORT_FTI_IMPL_H
#define REPORT_FTI_IMPL_H

struct buf;
struct fti_rankfile;

/* report_fti_list() and report_fti_dump() of a POSIX file, without the
 * verdict. */
void report_fti_list_posix(const struct fti_rankfile *r, struct buf *out);
void report_fti_dump_posix(const struct fti_rankfile *r, struct buf *out);

#endif /* REPORT_FTI_IMPL_H */
