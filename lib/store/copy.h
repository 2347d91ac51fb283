/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.h - copy memory past the cache: the destination is not read, and not
 * kept in the cache.  Faster than memcpy() if it is warm and large. */
#ifndef STORE_COPY_H
#define STORE_COPY_H

#include <stddef.h>

/* As memcpy(). */
void copy_past(void *to, const void *from, size_t n);

/* "avx512", "avx2", "sse2" or "memcpy". */
const char *copy_name(void);

#endif /* STORE_COPY_H */
