/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_impl.h - what the parts of check share.
 */
#ifndef FTI_CHECK_IMPL_H
#define FTI_CHECK_IMPL_H

struct error;
struct fti_checked;
struct hash;

/* Compare the sums of a file with the stored ones: findings, verdict.  `h` is
 * an MD5 sum without data. */
int fti_judge(struct fti_checked *c, struct hash *h, struct error *err);

#endif /* FTI_CHECK_IMPL_H */
