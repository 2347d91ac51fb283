/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npy.h - headers of NumPy's .npy files: element type and shape of the raw
 * bytes that follow.  Version 1.0 is written, 1.0 to 3.0 are read.
 */
#ifndef FTI_NPY_H
#define FTI_NPY_H

#include <stdint.h>

struct buf;
struct error;
struct fti_posix_var;
struct fti_source;

struct fti_dtype {
	char text[16]; /* "<f8": byte order, kind, bytes */
	uint32_t size; /* of an element */
};

/* A type as NumPy writes it, such as "<f8" or "u1"; without a byte order it is
 * little-endian.  ERROR_USAGE. */
int fti_dtype_parse(const char *text, struct fti_dtype *out, struct error *err);

/* The type that metadata of POSIX files record: bytes ("|u1") if they record
 * none or `v` is NULL, and "|V<size>" for a type of the application. */
void fti_dtype_recorded(const struct fti_posix_var *v, struct fti_dtype *out);

/*
 * Append the header for `size` bytes.  They have the dimensions that `v`
 * records, if these fit; else one.  `v` may be NULL.  ERROR_USAGE: the bytes
 * are not a whole number of elements.
 */
int fti_npy_header(const struct fti_dtype *type, uint64_t size,
		   const struct fti_posix_var *v, struct buf *out,
		   struct error *err);

/*
 * Check the header of a file, untrusted, and set *at to the offset of the
 * array, which ends with the file.  ERROR_CORRUPT: it is no such file, or its
 * size is not that of the array; ERROR_USAGE: its elements are not plain
 * little-endian numbers or bytes.
 */
int fti_npy_read(const struct fti_source *s, uint64_t *at, struct error *err);

#endif /* FTI_NPY_H */
