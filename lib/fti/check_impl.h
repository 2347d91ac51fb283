/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_impl.h - what the parts of check share.
 */
#ifndef FTI_CHECK_IMPL_H
#define FTI_CHECK_IMPL_H

#include <stdbool.h>

struct error;
struct fti_checked;
struct hash;
struct work;

/* Compare a POSIX file with its sizes and, if c->data_read, with its sums. */
int fti_check_posix(struct fti_checked *c, const struct work *w,
		    struct error *err);

/* Compare the sums of a file with the stored ones: findings, verdict.  `h` is
 * an MD5 sum without data. */
int fti_judge(struct fti_checked *c, struct hash *h, struct error *err);

#endif /* FTI_CHECK_IMPL_H */
