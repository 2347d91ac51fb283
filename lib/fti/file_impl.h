/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_impl.h - what the parts of file share.
 */
#ifndef FTI_FILE_IMPL_H
#define FTI_FILE_IMPL_H

struct fti_file;

/* Check the records against the rules of fti.md 10, and make the list of
 * variables. */
void fti_file_check(struct fti_file *f);

#endif /* FTI_FILE_IMPL_H */
