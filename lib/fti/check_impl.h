/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_impl.h - what the parts of check share.
 */
#ifndef FTI_CHECK_IMPL_H
#define FTI_CHECK_IMPL_H

#include <stdint.h>

struct error;
struct fti_checked;
struct fti_file_container;
struct hash;
struct work;

/* Compare the sums of a file with the stored ones: findings, verdict.  `h` is
 * an MD5 sum without data. */
int fti_judge(struct fti_checked *c, struct hash *h, struct error *err);

/* The data of a container differ from their sum.  Perhaps a byte of chunksize
 * is damaged, or all of it: with which one is the sum right?  Else *out stays.
 */
int fti_check_length(const struct fti_checked *c,
		     const struct fti_file_container *of, int64_t *out,
		     const struct work *w, struct error *err);

#endif /* FTI_CHECK_IMPL_H */
