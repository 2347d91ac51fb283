/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npyread.h - files of NumPy (.npy): where the bytes of the array begin.
 */
#ifndef FTI_NPYREAD_H
#define FTI_NPYREAD_H

#include <stdint.h>

struct error;
struct fti_source;

/*
 * Check the header, untrusted, and set *at to the offset of the array, which
 * ends with the file.  ERROR_CORRUPT: it is no such file, or its size is not
 * that of the array; ERROR_USAGE: its elements are not plain little-endian
 * numbers or bytes.
 */
int fti_npyread(const struct fti_source *s, uint64_t *at, struct error *err);

#endif /* FTI_NPYREAD_H */
